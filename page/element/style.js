// The style of the element. A sheet in the script and not in the document: a strict content security policy allows it, and pages that
// use the element need no second file.

const CSS = `
:host {
  --bg: light-dark(#ffffff, #16181d); --soft: light-dark(#f5f6f8, #1e2128); --line: light-dark(#dcdfe5, #343842);
  --ink: light-dark(#1b1e24, #e6e8ec); --dim: light-dark(#59606d, #a3abb8); --accent: light-dark(#3450c4, #97a9ff);
  --wait: light-dark(#8a5300, #f0b95a); --run: light-dark(#2a54c9, #8fb0ff); --good: light-dark(#11703c, #6fd39a);
  --bad: light-dark(#b3261e, #ff9a91); --void: light-dark(#5f6571, #9aa1ad);
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono CJK SC", monospace;
  color-scheme: light dark; display: block; color: var(--ink); font: 15px/1.55 var(--sans);
}
:host([theme="light"]) { color-scheme: light; }
:host([theme="dark"]) { color-scheme: dark; }
* { box-sizing: border-box; }
[hidden] { display: none; }
.turn { display: flex; flex-direction: column; gap: 10px; }
.hidden { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.name, .grow, .leaf, .key, dt { unicode-bidi: isolate; }
.grow { white-space: pre-wrap; overflow-wrap: anywhere; }
.page:has(~ .page), .page ~ .page { content-visibility: auto; contain-intrinsic-block-size: auto 320px; }
.text { padding: 10px 14px; background: var(--soft); border-radius: 4px 14px 14px 14px; max-width: 100%; }
.text.blank { display: none; }
.recovered { text-decoration: underline dotted var(--wait) 1.5px; text-underline-offset: 3px; }
.code, .params dd { font: 13px/1.5 var(--mono); }
.grow.long { max-height: 15rem; overflow: auto; }
.card[data-state="writing"] .grow.long { display: flex; flex-direction: column-reverse; }

details > summary { cursor: pointer; color: var(--dim); font-size: 13px; width: fit-content; border-radius: 4px; }
details > summary:hover { color: var(--ink); }
.thought { border-left: 3px solid var(--line); padding-left: 12px; color: var(--dim); }
.thought > .grow { padding: 6px 0; font-size: 14px; }
.thought.open > summary::after { content: ""; display: inline-block; width: 7px; height: 7px; margin-left: 8px; border-radius: 50%; background: var(--accent); animation: pulse 1.2s infinite; }
.region > .grow { padding: 8px 10px; margin-top: 6px; background: var(--soft); border-radius: 8px; max-height: 15rem; }

.block { display: flex; flex-direction: column; gap: 10px; }
.card { --tone: var(--dim); border: 1px solid var(--line); border-left: 3px solid var(--tone); border-radius: 10px; background: var(--bg); padding: 10px 14px 12px; display: flex; flex-direction: column; gap: 8px; }
.card[data-state="writing"], .card[data-state="written"] { --tone: var(--accent); }
.card[data-state="waiting"] { --tone: var(--wait); box-shadow: 0 0 0 1px var(--tone); }
.card[data-state="running"] { --tone: var(--run); }
.card[data-state="done"] { --tone: var(--good); }
.card[data-state="failed"], .card[data-state="timed_out"], .card[data-state="denied"] { --tone: var(--bad); }
.card[data-state="void"], .card[data-state="cancelled"], .card[data-state="not_run"] { --tone: var(--void); border-style: dashed; }
.card[data-state="void"] .name { text-decoration: line-through; }
.head { display: flex; align-items: center; flex-wrap: wrap; gap: 4px 8px; }
.name { font: 600 14px/1.4 var(--mono); overflow-wrap: anywhere; min-width: 0; }
.dialect { color: var(--dim); font-size: 12px; }
.dialect:empty { display: none; }
.grade { font-size: 12px; color: var(--wait); border: 1px solid currentColor; border-radius: 99px; padding: 0 8px; }
.grade[hidden] { display: none; }
.state { margin-left: auto; font-size: 12px; font-weight: 600; color: var(--tone); white-space: nowrap; }
.mark { flex: none; width: 16px; height: 16px; border-radius: 50%; border: 2px solid var(--tone); position: relative; }
.mark::after { position: absolute; inset: -2px; color: var(--bg); font: 700 11px/16px var(--sans); text-align: center; }
[data-state="writing"] > .head .mark { border-style: dotted; animation: turn 2.4s linear infinite; }
[data-state="running"] > .head .mark { border-color: color-mix(in srgb, var(--tone) 25%, transparent); border-top-color: var(--tone); animation: turn 0.8s linear infinite; }
[data-state="waiting"] > .head .mark, [data-state="done"] > .head .mark, [data-state="failed"] > .head .mark, [data-state="timed_out"] > .head .mark, [data-state="denied"] > .head .mark { background: var(--tone); }
[data-state="waiting"] > .head .mark::after { content: "?"; }
[data-state="done"] > .head .mark::after { content: "✓"; }
[data-state="failed"] > .head .mark::after, [data-state="timed_out"] > .head .mark::after { content: "!"; }
[data-state="denied"] > .head .mark::after { content: "×"; }
[data-state="running"] > .head .name { background: linear-gradient(90deg, var(--ink) 35%, var(--run) 50%, var(--ink) 65%) 100% 0 / 300% 100%; background-clip: text; color: transparent; animation: shimmer 1.8s linear infinite; }

.params { margin: 0; display: grid; gap: 4px; }
.params:empty { display: none; }
.param { display: grid; grid-template-columns: minmax(5rem, max-content) 1fr; gap: 2px 14px; align-items: baseline; }
.param dt { color: var(--dim); font: 13px/1.5 var(--mono); overflow-wrap: anywhere; max-width: 14rem; }
.param dd { margin: 0; min-width: 0; }
.param:has(.long) { grid-template-columns: 1fr; }
.depth1 { padding-left: 16px; } .depth2 { padding-left: 32px; } .depth3 { padding-left: 48px; } .depth4 { padding-left: 64px; }
.grow.long { background: var(--soft); border-radius: 8px; padding: 8px 10px; }
.json > .grow { margin-top: 6px; padding: 8px 10px; background: var(--soft); border-radius: 8px; }

.warnings { margin: 0; padding: 0; list-style: none; display: grid; gap: 4px; font-size: 13px; }
.warnings li { padding-left: 18px; position: relative; color: var(--ink); }
.warnings li::before { content: "▲"; position: absolute; left: 0; color: var(--wait); font-size: 11px; line-height: 1.8; }
.warnings li.error::before { color: var(--bad); }
.kind { font: 12px var(--mono); color: var(--wait); }
.error > .kind { color: var(--bad); }
.notes { padding: 0 14px; }

.ask { border-top: 1px solid var(--line); padding-top: 10px; display: grid; gap: 8px; }
.ask p { margin: 0; font-size: 13px; }
.why { color: var(--dim); }
.fault { color: var(--bad); }
.fault:empty { display: none; }
.buttons { display: flex; flex-wrap: wrap; gap: 8px; }
button { font: 600 13px/1.3 var(--sans); color: var(--ink); background: var(--bg); border: 1px solid var(--line); border-radius: 8px; padding: 7px 14px; cursor: pointer; }
button:hover { background: var(--soft); }
button.yes { background: light-dark(#11703c, #6fd39a); border-color: transparent; color: light-dark(#ffffff, #10241a); }
button.no { color: var(--bad); border-color: currentColor; }
button.copy { padding: 2px 8px; font-weight: 500; font-size: 12px; margin-left: auto; }
button:focus-visible, summary:focus-visible, .grow:focus-visible, textarea:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
textarea { display: block; font: 13px/1.5 var(--mono); color: var(--ink); background: var(--soft); border: 1px solid var(--line); border-radius: 8px; padding: 8px 10px; width: 100%; resize: vertical; }
.progress { font: 12px/1.5 var(--mono); color: var(--dim); }
.task { margin: 0; font-size: 13px; color: var(--dim); }
.result { background: color-mix(in srgb, var(--tone) 7%, var(--bg)); border-radius: 8px; padding: 8px 12px; display: grid; gap: 6px; min-width: 0; }
.result .grow.long { background: none; padding: 0; }
.result-head { display: flex; align-items: center; gap: 10px; font-size: 12px; color: var(--dim); }
.label { font-weight: 600; }
.tree { display: grid; grid-template-columns: minmax(0, 1fr); gap: 2px; font: 13px/1.5 var(--mono); min-width: 0; }
.tree summary { max-width: 100%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.tree details { min-width: 0; }
.tree details > .tree { padding-left: 16px; border-left: 1px solid var(--line); margin-left: 4px; }
.tree button { width: fit-content; padding: 2px 8px; font-size: 12px; }
.key { color: var(--accent); margin-right: 10px; }
.brief { color: var(--dim); }
.leaf { white-space: pre-wrap; overflow-wrap: anywhere; }
.leaf.number, .leaf.boolean, .leaf.null { color: var(--good); }
@keyframes pulse { 50% { opacity: 0.2; } }
@keyframes turn { to { transform: rotate(1turn); } }
@keyframes shimmer { from { background-position: 100% 0; } to { background-position: 0 0; } }
@media (prefers-reduced-motion: reduce) { * { animation: none !important; } [data-state="running"] > .head .name { color: var(--ink); background: none; } }
@media (max-width: 480px) { .param { grid-template-columns: 1fr; } }
`;

let made = null;

/** The sheet, which all elements share. */
export function sheet() {
  if (made === null) {
    made = new CSSStyleSheet();
    made.replaceSync(CSS);
  }
  return made;
}
