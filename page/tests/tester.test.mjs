// The tester: what it shows, what it saves, what it shares, and what it runs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { pack, unpack } from "../app/share.js";
import { tokens } from "../app/tokens.js";
import { serve } from "./browser.mjs";
import { FOLDERS, opened, started } from "./setup.mjs";

const place = await started();

/** Plays a reply to its end. */
const play = async (page, changes) => {
  await page.run((changes) => {
    toolglotPage.store.set({ delay: 0, ...changes });
    document.querySelector("#reply button.main").click();
  }, changes);
  await page.until(() => document.querySelector("#view-tool-calling-tester pre.console").textContent !== "");
  await page.until(() => !document.querySelector("#becomes toolglot-turn").pending);
};

test("tokens are estimated as in the tools layer", () => {
  assert.deepEqual(["Tells the weather", "天气", "", "ab天"].map(tokens), [5, 1, 0, 2]);
});

test("the discovery filter offers what the tools layer offers (item 97)", async () => {
  // A test of the server writes the table, from `Inventory::discover`.
  const { manifest, cases } = JSON.parse(readFileSync(new URL("discovery.json", import.meta.url), "utf8"));
  const page = await opened(place);
  const found = await page.run(
    (definitions, configs) => {
      const { store } = toolglotPage;
      store.set({ definitions });
      return configs.map((config) => {
        store.load({ config });
        const shown = [...document.querySelectorAll("#setup .tools li")].map((row) => [
          row.querySelector(".tool-name").textContent,
          row.className === "on" && row.querySelector(".why") === null,
        ]);
        return { offered: store.offered.map(({ id }) => id), shown: shown.filter(([, on]) => on).map(([id]) => id) };
      });
    },
    JSON.stringify(manifest),
    cases.map(({ config }) => config),
  );
  assert(cases.length > 50);
  cases.forEach(({ config, offered }, at) => assert.deepEqual(found[at], { offered, shown: offered }, JSON.stringify(config)));
});

test("why a tool is not offered is told (item 97)", async () => {
  const page = await opened(place);
  const why = await page.run(() => {
    const { store } = toolglotPage;
    const tool = (id, more) => ({ id, description: "x", agentCallable: true, ...more });
    const tools = [tool("a"), tool("b", { description: "" }), tool("c", { agentCallable: false }), tool("d"), tool("e")];
    store.set({ definitions: JSON.stringify({ tools }) });
    store.load({ config: { enabled: true, toolToggles: { d: false }, toolIdsInventory: ["a", "b", "c", "d"] } });
    const rows = () => [...document.querySelectorAll("#setup .tools li")].map((row) => row.querySelector(".why")?.textContent ?? "");
    const before = rows();
    store.configure({ enabled: false });
    return [before, rows()];
  });
  assert.deepEqual(why[0], ["", "no description and no parameters", "not agentCallable", "switched off", "not offered by the server"]);
  assert.deepEqual(new Set(why[1]), new Set(["tool calls are disabled"]));
});

/** What the clipboard holds after a button was pressed, and what the button says. */
const copied = async (page, find) => {
  await page.allow("clipboard-read", "clipboard-write");
  await page.run(`() => (${find})().click()`);
  await page.until(`() => (${find})().textContent === "Copied"`);
  return page.run(() => navigator.clipboard.readText());
};

test("the prompt follows definitions, switches, dialect and language, with its tokens, and can be copied (items 93, 98)", async () => {
  const page = await opened(place);
  const preview = () =>
    page.run(() => {
      const panel = [...document.querySelectorAll("#setup .panel")].at(-1);
      return { text: panel.querySelector("pre").textContent, count: panel.querySelector(".count").textContent };
    });
  const set = (changes) => page.run((changes) => toolglotPage.store.set(changes), changes);
  const first = await preview();
  assert.match(first.text, /harbour_tides.*notes_append/s);
  const counted = async () => {
    const { text, count } = await preview();
    assert.match(count, new RegExp(`^about ${tokens(text)} tokens`));
    return text;
  };
  await counted();
  assert.equal(await copied(page, () => [...document.querySelectorAll("#setup .panel button")].at(-1)), first.text);

  // By hand: a switch, then the definitions.
  await page.run(() => document.querySelector("#setup .tools input").click());
  const fewer = await counted();
  assert(fewer.length < first.text.length && !fewer.includes("harbour_tides"), fewer);
  await page.run(() => {
    const area = document.querySelector("#setup textarea");
    area.value = JSON.stringify([{ name: "天气", description: "查询天气", parameters: { type: "object", properties: {} } }]);
    area.dispatchEvent(new Event("input"));
  });
  assert.match(await counted(), /天气/);
  const texts = new Set();
  for (const dialect of ["hermes", "vcp", "tool-call-xml"])
    for (const lang of ["en", "zh"]) {
      await set({ dialect, lang });
      texts.add(await counted());
    }
  // What hermes teaches has no words of its own.
  assert.equal(texts.size, 5);
  await page.run(() => toolglotPage.store.configure({ enabled: false }));
  assert.equal(await counted(), "");
});

test("links hold a state, and refuse others", async () => {
  const state = { reply: "a\u0000é中🙂", chunk: 3 };
  const link = await pack(state);
  assert.match(link, /^#share=[\w-]+$/);
  assert.deepEqual(await unpack(link), state);
  for (const wrong of ["#share=!!", "#share=AAAA", link.slice(0, -4), await pack([1])]) await assert.rejects(unpack(wrong));
  await assert.rejects(unpack(await pack({ reply: "x".repeat(9 * 1024 * 1024) })), /more than/);
});

test("a reply is pasted and parsed: events, spans, turn, deltas, observations (item 99)", async () => {
  const page = await opened(place);
  await play(page, { chunk: 1 });
  const said = await page.run(() => {
    const rows = [...document.querySelectorAll(".event")];
    const named = rows.find((row) => row.textContent.startsWith("call_open"));
    named.focus();
    const turn = document.querySelector("#becomes toolglot-turn");
    return {
      rows: rows.map((row) => row.firstChild.textContent),
      lit: String([...CSS.highlights.get("event")][0]),
      turn: JSON.parse(document.querySelectorAll(".console")[0].textContent),
      deltas: document
        .querySelectorAll(".console")[1]
        .textContent.trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
      observations: document.querySelector(".observations").textContent,
      calls: turn.calls,
      position: document.querySelector(".progress").textContent,
    };
  });
  assert(said.rows.length > 20 && said.rows.includes("issue") && said.rows.includes("reasoning"), said.rows.join(" "));
  assert.equal(said.lit, '"harbour:tides"');
  assert.deepEqual(
    said.turn.calls.map(({ name, grade }) => [name, grade]),
    [
      ["harbour:tides", "complete"],
      ["notes:append", "repaired"],
    ],
  );
  assert.equal(said.deltas.at(-1).choices[0].finish_reason, "tool_calls");
  assert.match(said.observations, /comma/);
  assert.deepEqual(
    said.calls.map(({ state }) => state),
    ["written", "written"],
  );
  assert.match(said.position, /^294 of 294/);
  assert.deepEqual(page.complaints, []);
});

test("what is held back is told while it is held", async () => {
  const page = await opened(place);
  await page.run(() => toolglotPage.store.set({ reply: "Hi <tool_call>{", dialect: "hermes", chunk: 8 }));
  await page.run(() => document.querySelectorAll("#reply .row button")[1].click());
  await page.until(() => /5 bytes held back: they may begin a marker/.test(document.querySelector(".held").textContent));
  assert.equal(await page.run(() => String([...CSS.highlights.get("held")][0])), "<tool");
});

test("every example is detected and read, in each chunk size", async () => {
  const page = await opened(place);
  const replies = await page.run(async () => (await import("/app/examples.js")).REPLIES);
  for (const [name, reply] of Object.entries(replies)) {
    const turns = [];
    for (const chunk of [0, 1, 5]) {
      await play(page, { reply, chunk, dialect: "detect" });
      turns.push(await page.run(() => document.querySelectorAll(".console")[0].textContent));
    }
    assert.equal(new Set(turns).size, 1, name);
    const { calls } = JSON.parse(turns[0]);
    assert.equal(
      calls.length,
      { "hermes: two calls, one repaired": 2, "XML: a file is written": 1, "VCP: quoted keys": 1 }[name] ?? 0,
      name,
    );
  }
});

test(
  "recordings are replayed by the command",
  { skip: process.env.TOOLGLOT_CLI ? false : "the command was not built" },
  async () => {
    const page = await opened(place);
    const folder = mkdtempSync(join(tmpdir(), "toolglot-recordings-"));
    await page.run(() => {
      URL.createObjectURL = (blob) => ((globalThis.saved = blob.text()), "#");
      HTMLAnchorElement.prototype.click = () => {};
    });
    const replies = Object.values(await page.run(async () => (await import("/app/examples.js")).REPLIES));
    replies.push('é<tool_call>{"name":"中","arguments":{"a":[1,{"b":null}]}}</tool_call><|im_end|>x');
    const files = [];
    for (const [at, reply] of replies.entries()) {
      await play(page, { reply, chunk: 3, dialect: "detect" });
      const text = await page.run(
        () => (
          [...document.querySelectorAll("#reply .row button")].find((one) => one.dataset.w === "save recording").click(),
          globalThis.saved
        ),
      );
      assert.equal(JSON.parse(text).dialects.length > 0, true);
      files.push(join(folder, `${at}.json`));
      writeFileSync(files.at(-1), text);
    }
    const said = execFileSync(process.env.TOOLGLOT_CLI, ["replay", "--rechunk", "1", ...files], { encoding: "utf8" });
    assert.match(said, new RegExp(`${files.length} the same, 0 different`));
    rmSync(folder, { recursive: true });
  },
);

test(
  "events that the command prints give the same nodes",
  { skip: process.env.TOOLGLOT_CLI ? false : "the command was not built" },
  async () => {
    const page = await opened(place, "/tests/element.html");
    const { REPLIES } = await import("../app/examples.js");
    const dialects = ["hermes", "tool-call-xml", "vcp", "reasoning-think"];
    for (const reply of [...Object.values(REPLIES), '<|im_end|>é<tool_call>{"name":"中","arguments":{"a":[1]}}</tool_call>']) {
      const args = ["parse", "--output", "events", ...dialects.flatMap((id) => ["--dialect", id])];
      const lines = execFileSync(process.env.TOOLGLOT_CLI, args, { input: reply, encoding: "utf8" });
      const [ours, printed] = await page.run(
        (reply, lines, dialects) => {
          const { turn, toolglot } = testing;
          const engine = new toolglot.Engine({ dialects });
          return [[...engine.events([reply])], lines].map((events) => {
            turn.clear();
            turn.add(events);
            turn.end();
            turn.flush();
            return turn.shadowRoot.innerHTML.replace(/ (?:id|aria-labelledby)="[^"]*"/g, "");
          });
        },
        reply,
        lines
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line)),
        dialects,
      );
      assert.equal(printed, ours);
    }
  },
);

test("a link brings the state to another page, is sent to nobody, and brings no functions", async () => {
  const page = await opened(place);
  await page.run(() => {
    toolglotPage.store.set({ reply: "secret 中文 reply", chunk: 9, finish: "length", functions: "({ evil: () => 1 })" });
    toolglotPage.store.toggle("notes:append", false);
    [...document.querySelectorAll("#reply .row button")].find((one) => one.dataset.w === "share").click();
  });
  const hash = await page.until(() => location.hash.startsWith("#share=") && location.hash);
  const other = await opened(place, `/${hash}`);
  const state = await other.run(() => ({
    ...toolglotPage.store.state,
    functions: toolglotPage.store.functions,
    offered: toolglotPage.store.offered.length,
  }));
  assert.deepEqual([state.reply, state.chunk, state.finish, state.offered], ["secret 中文 reply", 9, "length", 2]);
  assert.doesNotMatch(state.functions, /evil/);
  assert(place.server.asked.every((path) => !path.includes("share=")));
  for (const one of [page, other])
    assert.deepEqual(
      one.requests.filter((url) => !url.startsWith(place.url) && url !== "about:blank"),
      [],
    );
  const broken = await opened(place, "/#share=AAAA");
  assert.match(await broken.run(() => document.getElementById("banner").textContent), /cannot be read/);
});

test("functions run in a worker that is ended at the limit, and where the policy forbids them that is said", async () => {
  const run = (page, name, code, limit) =>
    page.run(
      async (name, code, limit) => {
        const { execute } = await import("/app/execute.js");
        const { w } = await import("/app/ui.js");
        return execute(code, name, { a: 1 }, { limit, w });
      },
      name,
      code,
      limit,
    );
  const page = await opened(place);
  const { ms, ...said } = await run(page, "f", "({ f: async ({ a }) => ({ b: a + 1 }) })", 5000);
  assert.deepEqual(said, { state: "done", result: { b: 2 } });
  assert(ms >= 0);
  for (const [code, state, result] of [
    ["({ f: () => { for (;;); } })", "timed_out", /300 ms/],
    ["({ f: () => { throw new RangeError('no') } })", "failed", /RangeError: no/],
    ["({})", "failed", /no function f/],
    ["(", "failed", /SyntaxError/],
    ["({ f: () => fetch('/api/tools') })", "failed", /TypeError/],
    ["({ f: () => undefined })", "done", /null/],
    ["null", "failed", /no function/],
  ]) {
    const said = await run(page, "f", code, 300);
    assert.equal(said.state, state, code);
    assert.match(String(said.result), result, code);
  }
  const strict = await serve(FOLDERS, { sandbox: false });
  const other = await opened({ ...place, url: strict.url });
  assert.match((await run(other, "f", "({ f: () => 1 })", 5000)).result, /policy/);
  await strict.close();
});

test("one call is run by hand, with its result and how long it took (item 100)", async () => {
  const page = await opened(place);
  await page.run(() => {
    toolglotPage.store.set({ functions: "({ 'notes:append': ({ text }) => ({ noted: text }) })" });
    const single = document.querySelector(".single");
    single.querySelector("select").value = "notes:append";
    single.querySelector("textarea").value = '{"text": "low water"}';
    [...single.querySelectorAll("button")].at(-1).click();
  });
  const state = () => document.querySelector(".execute toolglot-turn").calls[0]?.state;
  await page.until(`() => (${state})() === "done" && !document.querySelector(".execute toolglot-turn").pending`);
  const card = await page.run(() => document.querySelector(".execute toolglot-turn").shadowRoot.querySelector(".card").textContent);
  assert.match(card, /notes:append.*done.*low water.*\d+ ms.*noted.*low water/s);
  // Arguments that the definition does not allow are not run.
  await page.run(() => {
    const single = document.querySelector(".single");
    single.querySelector("textarea").value = "{}";
    [...single.querySelectorAll("button")].at(-1).click();
  });
  await page.until(() => document.querySelector(".execute toolglot-turn").calls[1]?.state === "failed");
  assert.deepEqual(page.complaints, []);
});

test("the tester is at the route tool-calling-tester, and the first view (item 101)", async () => {
  const visible = (page) =>
    page.run(() => [
      [...document.querySelectorAll(".view")].filter((view) => !view.hidden).map(({ id }) => id).join(),
      document.querySelector("nav a[aria-current]").dataset.route,
    ]);
  const tester = ["view-tool-calling-tester", "tool-calling-tester"];
  const page = await opened(place);
  assert.deepEqual(await visible(page), tester);
  await page.run(() => (location.hash = "#runs"));
  await page.until(() => document.getElementById("view-tool-calling-tester").hidden);
  await page.run(() => document.querySelector("nav a").click());
  await page.until(() => !document.getElementById("view-tool-calling-tester").hidden);
  assert.equal(await page.run(() => location.hash), "#tool-calling-tester");
  assert.deepEqual(await visible(await opened(place, "/#tool-calling-tester")), tester);
});

test("the calls of a reply are executed, and recovered ones are asked about", async () => {
  const page = await opened(place);
  await play(page, {
    reply:
      '<tool_call>{"name":"notes:append","arguments":{"text":"a"}}</tool_call>\n<tool_call>{"name":"notes:append","arguments":{"text":"b"},"more":1}</tool_call>\n<tool_call>{"name":"harbour:tides","arguments":{}}</tool_call>',
    dialect: "hermes",
  });
  await page.run(() => [...document.querySelectorAll(".execute button")].find((one) => one.dataset.w === "execute calls").click());
  const turn = () => document.querySelector("#becomes toolglot-turn");
  await page.until(() => document.querySelector("#becomes toolglot-turn").calls[1].state === "waiting");
  assert.equal(await page.run(() => document.querySelector("#becomes toolglot-turn").decide("deny")), true);
  await page.until(() => !document.querySelector(".execute pre").hidden);
  assert.deepEqual(
    await page.run(() => document.querySelector("#becomes toolglot-turn").calls.map(({ state }) => state)),
    ["done", "denied", "failed"],
    String(turn),
  );
  const told = await page.run(() => document.querySelector(".execute pre").textContent);
  assert.match(told, /noted: a/);
  assert.deepEqual(page.complaints, []);
});

test("the static page works from any folder of any server, in both languages", async () => {
  const plain = await serve({ "/deep/er/": `${FOLDERS["/"]}` }, { csp: null });
  const page = await opened({ ...place, url: plain.url }, "/deep/er/index.html");
  assert.match(await page.run(() => document.getElementById("banner").textContent), /static playground/);
  await play(page, {});
  await page.run(() => {
    const lang = document.getElementById("lang");
    lang.value = "zh";
    lang.dispatchEvent(new Event("change"));
  });
  const text = await page.run(
    () => document.body.textContent + document.querySelector("#becomes toolglot-turn").shadowRoot.textContent,
  );
  for (const word of ["静态演示页", "工具定义", "已写完", "已修复", "思考过程", "参数（JSON）"]) assert(text.includes(word), word);
  assert.deepEqual(
    plain.asked.filter((path) => path.startsWith("/api")),
    [],
  );
  assert.deepEqual(page.complaints, []);
  await plain.close();
});
