// For tests of the element alone: functions that the tests call.
import { load } from "../toolglot/agent.js";
import "../element/turn.js";

/** Marks that only tell nodes apart. */
const IDS = / (?:id|aria-labelledby)="[^"]*"/g;
const SIZES = [0, 1, 2, 3, 7, 64];
const toolglot = await load();
const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());

function texts(turn, selector) {
  return [...turn.shadowRoot.querySelectorAll(selector)].map((node) => node.textContent).join("");
}

/** Shows a reply in chunks, and says what is in the document then. */
function shown(stream, bytes, size, one) {
  const turn = document.createElement("toolglot-turn");
  document.querySelector("main").append(turn);
  stream.reset();
  for (let at = 0; at < bytes.length; at += size || bytes.length) {
    turn.add(stream.feed(bytes.subarray(at, at + (size || bytes.length))));
    // A frame may come at any time.
    if ((at / (size || 1)) % 5 === 0) turn.flush();
  }
  if (one.native_tool_calls) turn.add(stream.nativeCalls(one.native_tool_calls));
  turn.add(stream.finish(one.finish ?? "stop"));
  turn.end();
  turn.flush();
  const made = {
    dom: turn.shadowRoot.querySelector(".turn").innerHTML.replace(IDS, ""),
    text: texts(turn, ".text"),
    reasoning: texts(turn, ".thought > .grow"),
    calls: turn.calls.filter(({ state }) => state !== "void").map(({ name }) => name),
  };
  turn.remove();
  return made;
}

let last = { key: "", engine: null };

function engineOf(one) {
  const { start, prompt_tail, text, limits, ...rest } = one.options ?? {};
  const given = Object.fromEntries(Object.entries(rest).map(([name, value]) => [camel(name), value]));
  if (limits) given.limits = Object.fromEntries(Object.entries(limits).map(([name, value]) => [camel(name), value]));
  const options = { ...given, dialects: one.dialect, ...(one.tools && { tools: one.tools }) };
  const key = JSON.stringify(options);
  if (last.key !== key) {
    last.engine?.free();
    last = { key, engine: new toolglot.Engine(options) };
  }
  return { engine: last.engine, own: { ...(start && { start }), ...(prompt_tail && { promptTail: prompt_tail }) } };
}

/** Runs the vectors of a file; returns what is wrong, and how much was compared. */
async function vectors(file) {
  const wrong = [];
  let cases = 0;
  for (const line of (await (await fetch(`/vectors/${file}`)).text()).split("\n").filter(Boolean)) {
    const one = JSON.parse(line);
    const bytes = one.input_b64
      ? Uint8Array.from(atob(one.input_b64), (unit) => unit.charCodeAt(0))
      : new TextEncoder().encode(one.input);
    const { engine, own } = engineOf(one);
    const stream = engine.stream(own);
    const turn = engine.parse(bytes, { ...own, finish: one.finish ?? "stop", nativeCalls: one.native_tool_calls });
    const whole = shown(stream, bytes, 0, one);
    const differs = (what, a, b) =>
      JSON.stringify(a) !== JSON.stringify(b) && wrong.push(`${one.id}: ${what}\n ${JSON.stringify(a)}\n ${JSON.stringify(b)}`);
    differs("text", whole.text, turn.text);
    differs("reasoning", whole.reasoning, turn.reasoning);
    differs(
      "calls",
      whole.calls,
      turn.calls.map(({ name }) => name),
    );
    for (const size of SIZES) differs(`chunks of ${size}`, shown(stream, bytes, size, one).dom, whole.dom);
    stream.free();
    cases += 1;
  }
  return { wrong: wrong.slice(0, 5), count: wrong.length, cases };
}

Object.assign(globalThis, { testing: { toolglot, vectors, turn: document.querySelector("toolglot-turn") } });
document.documentElement.dataset.ready = "true";
