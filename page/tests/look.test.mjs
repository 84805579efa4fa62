// Every state of the page in both themes: axe-core finds nothing, and a picture of each is kept for people to look at.
//
// TOOLGLOT_AXE is the file of axe-core, TOOLGLOT_PICTURES a folder.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import test from "node:test";
import { opened, started } from "./setup.mjs";

const place = await started();
/** A server with a run whose replies broke off, and which nobody carries out now. */
const STOPPED = { id: "r1", task: "When is high water?", state: "stopped", reason: "the server has no agent host now", started: 1 };
const EVENTS = [
  { do: "ask" },
  { event: "text", text: "High water is at " },
  { event: "named", name: "tides", provisional: true },
  { do: "ask" },
  { event: "text", text: "I look." },
  { event: "stands", id: "c0", name: "tides", arguments: '{"port":"Leith"}' },
  { event: "running", id: "c0" },
  { event: "settled", id: "c0", state: "completed", result: "11:45" },
  { event: "message", message: { role: "assistant", content: "I look." } },
  { do: "ask" },
  { event: "text", text: "At 11" },
  { failed: "the server closed the connection" },
];
const TIDES = { id: "tides", description: "High and low water", parameters: { type: "object", properties: { port: { type: "string" } } } };
const CONFIG = { enabled: true, requireConfirmation: true, maxIterations: 5, timeout: 30000, toolToggles: {}, defaultToolEnabled: true };
const served = await started({
  api: async (request, response, path) => {
    const answers = {
      "/api/tools": {
        tools: [TIDES, { ...TIDES, id: "reset" }],
        agents: [{ name: "host", model: "a model", dialect: "hermes", tools: ["tides"], prompt: "", config: CONFIG }],
        version: "0.1",
      },
      "/api/prompt": { prompt: "# Tools\n\nYou may call: tides", tools: ["tides"] },
      "/api/runs": { runs: [STOPPED, { ...STOPPED, id: "r2", state: "finished", task: "Book a berth" }] },
      "/api/runs/r1": STOPPED,
    };
    if (path === "/api/runs/r1/events" && !request.headers.upgrade) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      EVENTS.forEach((event, at) => response.write(`id: ${at + 1}\ndata: ${JSON.stringify({ n: at + 1, ...event })}\n\n`));
      return true;
    }
    if (!path.startsWith("/api/")) return false;
    response.writeHead(path in answers ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(answers[path] ?? { error: { code: "not_found", message: "nothing here" } }));
    return true;
  },
});
const axe = process.env.TOOLGLOT_AXE && readFileSync(process.env.TOOLGLOT_AXE, "utf8");
const folder = process.env.TOOLGLOT_PICTURES;
if (folder) mkdirSync(folder, { recursive: true });

const wait = (page, ms) => page.run((ms) => new Promise((go) => setTimeout(go, ms)), ms);

async function look(page, name) {
  await wait(page, 150);
  if (folder) writeFileSync(`${folder}/${name}.png`, await page.shot(true));
  if (!axe) return;
  await page.ask("Runtime.evaluate", { expression: `${axe}; undefined` });
  const found = await page.run(async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 3)
          .map(({ target, failureSummary }) => `${target.flat().join(" > ")} (${failureSummary.split("\n").at(-1).trim()})`)
          .join("; ")}`,
    );
  });
  assert.deepEqual(found, [], name);
}

/** Cards in every state; `lang` is the language of their words. */
async function cards(page, lang) {
  await page.run((lang) => {
    const { turn, toolglot } = testing;
    document.documentElement.lang = lang;
    turn.setAttribute("lang", lang);
    turn.clear();
    const engine = new toolglot.Engine({ dialects: ["hermes", "tool-call-xml", "vcp", "reasoning-think"] });
    const call = (name, more = "") => `<tool_call>{"name":"${name}","arguments":{"port":"Leith","days":3${more}}}</tool_call>\n`;
    const stream = engine.stream();
    const text = lang === "zh" ? "好的，我来查潮汐。" : "I look up the tides.";
    turn.add(
      stream.feed(
        `<think>First the tides.</think>${text}\n\n${["written", "running", "done", "value", "failed", "timed_out", "denied", "cancelled", "not_run"].map((name) => call(name)).join("")}${call("waiting", ",")}`,
      ),
    );
    turn.add(
      stream.feed(
        `<tool_call name="growing"><param name="path">plan.md</param><param name="text">${"06:10 cast off, then north along the coast\n".repeat(20)}`,
      ),
    );
    turn.flush();
    const settle = (id, state, more = {}) => {
      turn.settle(id, { state: "running" });
      turn.settle(id, { state, ...more });
    };
    turn.settle(1, { state: "running", progress: "page 1 of 3\npage 2 of 3" });
    settle(2, "done", { result: "High water at 11:45", ms: 12 });
    settle(3, "done", {
      result: {
        port: "Leith",
        tides: [
          { high: "11:45", low: "05:30", metres: 5.4 },
          { high: "23:58", low: "17:50", springs: null },
        ],
        ok: true,
      },
      ms: 140,
    });
    settle(4, "failed", { result: "RangeError: no such port", ms: 3 });
    settle(5, "timed_out", { ms: 30000, result: "" });
    settle(6, "denied", { result: "The user denied this call." });
    settle(7, "cancelled");
    settle(8, "not_run");
    turn.confirm(9, { arguments: '{"port":"Leith","days":3}', digest: "00", reason: "books a berth" });
    turn.flush();
    engine.free();
  }, lang);
}

for (const theme of ["light", "dark"]) {
  test(`the element, ${theme}`, async () => {
    const page = await opened(place, "/tests/element.html", { width: 820, height: 900, theme });
    await cards(page, "en");
    await look(page, `cards-${theme}`);
    await page.run(() => testing.turn.decide("edit"));
    await look(page, `editor-${theme}`);
    await page.run(() => {
      const { turn, toolglot } = testing;
      turn.clear();
      const engine = new toolglot.Engine({ dialects: ["hermes", "action"], limits: { maxBlock: 300 } });
      turn.add([
        ...engine.events([
          "<think>Open</think>A <tool_call> that is only a word.\n<ACTION><f><a>1</a></f><g>x",
          `\n\nAnd <tool_call>{"name":"long","arguments":{"a":"${"x".repeat(400)}"}}</tool_call> tail <tool_call>{"name":"cut","arguments":{"a":`,
        ]),
      ]);
      turn.end();
      turn.flush();
      for (const node of turn.shadowRoot.querySelectorAll("details")) node.open = true;
      engine.free();
    });
    await look(page, `retracted-${theme}`);
    await cards(page, "zh");
    await look(page, `chinese-${theme}`);
    assert.deepEqual(page.complaints, []);
  });

  test(`the page, ${theme}`, async () => {
    const page = await opened(place, "/", { width: 1440, height: 900, theme });
    await look(page, `tester-empty-${theme}`);
    await page.run(() => {
      toolglotPage.store.set({ delay: 0, chunk: 3 });
      document.querySelector("#reply button.main").click();
    });
    await page.until(() => document.querySelector(".console").textContent !== "");
    await page.run(() => document.querySelectorAll(".event")[7].focus());
    await look(page, `tester-${theme}`);
    for (let at = 1; at < 5; at += 1) {
      await page.run((at) => document.querySelectorAll("#reply [role=tab]")[at].click(), at);
      await look(page, `tester-tab-${at}-${theme}`);
    }
    await page.run(() => {
      [...document.querySelectorAll(".execute button")].find((one) => one.dataset.w === "execute calls").click();
    });
    await page.until(() => !document.querySelector(".execute pre").hidden);
    await look(page, `executed-${theme}`);
    await page.run(() => (location.hash = "#runs"));
    await look(page, `runs-empty-${theme}`);
    await page.run(() => toolglotPage.runs.start());
    await page.until(() => /2 calls/.test(document.querySelector(".waiting-bar")?.textContent ?? ""));
    await look(page, `run-waiting-${theme}`);
    await page.key("A", { shift: true });
    await page.until(() => document.querySelector(".outcome"));
    await look(page, `run-${theme}`);
    await page.run(() => document.querySelectorAll("#run-main [role=tab]")[1].click());
    await look(page, `run-log-${theme}`);
    await page.run(() => (location.hash = "#market"));
    await page.run(() => document.querySelectorAll(".tool-card details").forEach((one) => (one.open = true)));
    await look(page, `market-${theme}`);
    assert.deepEqual(page.complaints, []);
  });

  test(`with a server: a stopped run, replies that broke off, the agent's editor, ${theme}`, async () => {
    const page = await opened(served, "/#token=f00d", { width: 1440, height: 900, theme });
    await page.run(() => (location.hash = "#runs"));
    await page.until(() => document.querySelector('[data-run="r1"]'));
    await page.run(() => document.querySelector('[data-run="r1"]').click());
    await page.until(() => document.querySelectorAll("#run-main .round.broken").length === 2);
    await page.until(() => /no agent host/.test(document.querySelector("#run-main .run").textContent));
    await page.until(() => /You may call/.test(document.querySelector("#run-side pre").textContent));
    await look(page, `run-stopped-${theme}`);
  });

  test(`a narrow page, ${theme}`, async () => {
    const page = await opened(place, "/", { width: 390, height: 844, theme });
    await page.run(() => document.querySelector("#reply button.main").click());
    await look(page, `narrow-${theme}`);
    assert(await page.run(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than the window");
    await page.run(() => (location.hash = "#runs"));
    assert(await page.run(() => document.documentElement.scrollWidth <= innerWidth), "runs are wider than the window");
  });
}
