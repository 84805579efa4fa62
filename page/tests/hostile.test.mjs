// Whatever a model or a tool writes stays text: it makes no element, no attribute that acts, and no report of the policy.
import assert from "node:assert/strict";
import test from "node:test";
import { opened, started } from "./setup.mjs";

const place = await started();
const HOSTILE = [
  "<img src=x onerror=owned()>",
  "<script>owned()</script>",
  "</textarea><script>owned()</script>",
  "<svg/onload=owned()>",
  "<iframe srcdoc='<script>parent.owned()</script>'>",
  '<a href="javascript:owned()">x</a>',
  "javascript:owned()",
  "[x](javascript:owned())",
  "${owned()} {{owned()}} <%= owned() %> #{owned()}",
  '"><style>*{display:none}</style>',
  "' onmouseover='owned()",
  "<template><script>owned()</script></template>",
  "<toolglot-turn></toolglot-turn>",
  "<!--",
  "]]>",
  "&lt;b&gt;&#60;b&#62;",
  "<b>\u202eevil\u2066\u200b",
  "__proto__",
  "constructor",
  "<meta http-equiv=refresh content='0;url=//example.org'>",
  "<base href=//example.org>",
  "<form action=//example.org><input name=x>",
  "data:text/html,<script>owned()</script>",
  "\u0000<b>",
];
/** All elements that the element and the page make. */
const TAGS = new Set(
  (
    "a article aside body button dd details div dl dt form h1 h2 h3 h4 header html head input label legend li link main meta nav noscript ol option output p pre script section select span " +
    "summary style textarea title toolglot-turn ul"
  ).split(" "),
);

/** Tags of a document and of all shadows in it, and attributes that could act. */
function everything() {
  const tags = {};
  const acts = [];
  const walk = (root) => {
    for (const node of root.querySelectorAll("*")) {
      tags[node.localName] = (tags[node.localName] ?? 0) + 1;
      for (const { name, value } of node.attributes) {
        if (
          /^on/i.test(name) ||
          name === "style" ||
          name === "srcdoc" ||
          (/^(href|src|action|formaction|xlink:href)$/.test(name) &&
            !/^(#|app\/|icon\.svg|\/icon\.svg|style\.css|\/tests\/)/.test(value))
        )
          acts.push(`${node.localName} ${name}=${value}`);
      }
      if (node.shadowRoot) walk(node.shadowRoot);
    }
  };
  walk(document);
  return { tags, acts, owned: globalThis.wasOwned === true };
}

function harmless({ tags, acts, owned }, allowed = TAGS) {
  assert.equal(owned, false);
  assert.deepEqual(acts, []);
  assert.deepEqual(
    Object.keys(tags).filter((tag) => !allowed.has(tag)),
    [],
  );
}

test("text, names, arguments, reasoning, results, progress and reasons of the element", async () => {
  const page = await opened(place, "/tests/element.html");
  const fill = (text) =>
    page.run((bad) => {
      globalThis.owned = () => (globalThis.wasOwned = true);
      const { turn } = testing;
      turn.clear();
      const engine = new testing.toolglot.Engine({ dialects: ["hermes", "tool-call-xml", "vcp", "reasoning-think"] });
      const json = JSON.stringify(bad);
      for (const reply of [
        bad,
        `<think>${bad}</think>${bad}`,
        `<tool_call>{"name":${json},"arguments":{${json}:${json}}}</tool_call>`,
        `<tool_call name="f"><param name="a">${bad}</param></tool_call>`,
        `<<<[TOOL_REQUEST]>>>\ntool_name:「始」${bad}「末」,\na:「始」${bad}「末」\n<<<[END_TOOL_REQUEST]>>>`,
        `<tool_call>{"name":"f","arguments":{"a":${bad}`,
      ])
        turn.add([...engine.events([reply])]);
      // The same as the events of a run.
      const id = "x";
      turn.add([
        { event: "named", name: bad },
        { event: "stands", id, name: bad, arguments: JSON.stringify({ [bad]: bad }) },
        { do: "confirm", id, name: bad, arguments: JSON.stringify({ [bad]: [bad] }), digest: bad, reason: bad },
        { event: "running", id },
        { event: "progress", id, text: bad },
        { event: "begun", id, task: bad },
        {
          event: "settled",
          id,
          state: "failed",
          result: { status: "error", content: [{ type: "json", json: { [bad]: { [bad]: bad } } }], duration_ms: 1 },
        },
      ]);
      for (const kind of ["protected", "raw"])
        turn.add([kind === "raw" ? { type: kind, data: new TextEncoder().encode(bad) } : { type: kind, kind: bad, text: bad }]);
      turn.end();
      turn.flush();
      for (const node of turn.shadowRoot.querySelectorAll("details")) node.open = true;
      engine.free();
    }, text);
  for (const text of HOSTILE) {
    await fill(text);
    harmless(await page.run(everything));
    assert(await page.run((bad) => testing.turn.shadowRoot.textContent.includes(bad.replaceAll("\u0000", "\u0000")), text), text);
  }
  assert.deepEqual(page.complaints, []);
});

test("definitions, replies, links, files, tasks and runs of the page", async () => {
  const page = await opened(place);
  for (const text of HOSTILE) {
    await page.run(async (bad) => {
      globalThis.owned = () => (globalThis.wasOwned = true);
      const { store } = toolglotPage;
      const tools = [
        {
          id: `a${bad}`,
          description: bad,
          agentCallable: true,
          tags: [bad],
          parameters: { type: "object", properties: { [bad]: { type: bad, description: bad, enum: [bad] } }, required: [bad] },
        },
      ];
      store.set({
        definitions: JSON.stringify({ tools }),
        reply: `${bad}<tool_call>{"name":${JSON.stringify(bad)},"arguments":{"a":${JSON.stringify(bad)}}}</tool_call>`,
        delay: 0,
        chunk: 0,
        task: bad,
      });
      document.querySelector("#reply button.main").click();
      await toolglotPage.market.add([new File([JSON.stringify({ tools }), bad], bad), new File([JSON.stringify({ tools })], bad)]);
      await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
    }, text);
    harmless(await page.run(everything));
  }
  await page.run(async () => {
    const { store, runs } = toolglotPage;
    store.set({ script: `${store.reply}\n---\n${store.reply}` });
    await runs.start();
    await new Promise((go) => setTimeout(go, 1500));
  });
  harmless(await page.run(everything));
  assert.deepEqual(page.complaints, []);
});
