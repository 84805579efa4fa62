// Runs: a scripted model in the page, and a server that keeps to the interface of `toolglot serve`.
import assert from "node:assert/strict";
import test from "node:test";
import { opened, started } from "./setup.mjs";

const TOKEN = "f00d";
const TOOL = {
  id: "rm",
  description: "Removes a file",
  agentCallable: true,
  parameters: { type: "object", properties: { path: { type: "string" } } },
};

/** What the server has been asked, and how it answers. */
const fake = { decisions: [], calls: [], started: [], connections: [], authorized: true, refuse: false };
/** The events of its run, until the decision and after it. */
const BEFORE = [
  { do: "ask" },
  { event: "text", text: "I remove " },
  { event: "text", text: "it." },
  { event: "named", name: "rm", provisional: true },
  { event: "written", name: "rm" },
  { event: "stands", id: "c0", name: "rm", arguments: '{"path":"/x"}' },
  { do: "confirm", id: "c0", name: "rm", tool: "rm", arguments: '{"path":"/x"}', digest: "d1", reason: "removes" },
  { event: "waiting", id: "c0" },
];
const AFTER = [
  { do: "start", id: "c0", name: "rm", arguments: '{"path":"/y"}' },
  { event: "running", id: "c0" },
  { event: "progress", id: "c0", text: "50 %" },
  {
    event: "settled",
    id: "c0",
    state: "completed",
    result: { id: "c0", name: "rm", status: "success", content: "gone", duration_ms: 7 },
  },
  { event: "message", message: { role: "assistant", content: "…" } },
  { event: "message", message: { role: "user", content: "<tool_response>gone" } },
  { do: "ask" },
  { event: "text", text: "Done." },
  { outcome: "answer", text: "Done." },
];

async function api(request, response, path) {
  if (!path.startsWith("/api/")) return false;
  const said = (status, body) =>
    response.writeHead(status, { "content-type": "application/json" }).end(body === undefined ? undefined : JSON.stringify(body)) &&
    true;
  let text = "";
  for await (const piece of request) text += piece;
  const body = text === "" ? null : JSON.parse(text);
  if (request.headers.authorization !== `Bearer ${TOKEN}` || !fake.authorized)
    return said(401, { error: { code: "unauthorized", message: "no" } });
  if (path === "/api/tools")
    return said(200, {
      tools: [TOOL],
      dialects: ["hermes", "tam"],
      agents: [{ name: "cleaner", dialect: "hermes", model: "m", tools: ["rm"], prompt: "p" }],
      version: "9.9",
    });
  if (path === "/api/prompt") return said(200, { prompt: "p", tools: ["rm"] });
  if (path === "/api/calls") {
    fake.calls.push(body);
    const shown = JSON.stringify(body.arguments);
    if (body.approved !== `of ${shown}`)
      return said(409, { error: { code: "needs_confirmation", message: "ask", digest: `of ${shown}`, arguments: shown } });
    return said(200, { state: "completed", result: { name: "rm", status: "success", content: "gone", duration_ms: 3 } });
  }
  const run = { id: "r1", task: "Clean <b>up</b>", state: fake.decisions.length > 0 ? "finished" : "waiting", started: 1 };
  if (path === "/api/runs" && request.method === "POST") {
    fake.started.push(body);
    return said(201, { id: "r1" });
  }
  if (path === "/api/runs") return said(200, { runs: fake.started.length > 0 ? [run] : [] });
  if (path === "/api/runs/r1") return said(200, { ...run, messages: [], waiting: [] });
  if (path === "/api/runs/r1/decisions") {
    if (fake.refuse) return said(409, { error: { code: "digest_mismatch", message: "not those arguments" } });
    fake.decisions.push(body);
    return said(204);
  }
  if (path === "/api/runs/r1/events") {
    const after = Number(new URL(request.url, "http://x").searchParams.get("after"));
    fake.connections.push(after);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const all = [...BEFORE, ...AFTER];
    let at = after;
    const send = () => {
      if (response.destroyed) return undefined;
      for (; at < all.length && (at < BEFORE.length || fake.decisions.length > 0); at += 1) {
        // The first connection breaks in the middle of an event.
        if (fake.connections.length === 1 && at === 4) {
          response.write("id: 5\nda");
          return setTimeout(() => response.destroy(), 100);
        }
        response.write(`: quiet\nid: ${at + 1}\r\ndata: ${JSON.stringify({ ...all[at], n: at + 1 })}\n\n`);
      }
      return at === all.length ? response.end() : setTimeout(send, 30);
    };
    send();
    return true;
  }
  return said(404, { error: { code: "not_found", message: "nothing here" } });
}

const place = await started({ api });
const plain = await started();
const states = () =>
  [...document.querySelectorAll("#run-main toolglot-turn")].flatMap((turn) => turn.calls.map(({ state }) => state));
const begin = async (page) => {
  await page.run(() => toolglotPage.runs.start());
};
const offline = async () => {
  const page = await opened(plain, "/#runs");
  await begin(page);
  await page.until(() => /^2 calls wait/.test(document.querySelector(".waiting-bar")?.textContent ?? ""));
  return page;
};

test("approve and deny by keys, and a run that ends", async () => {
  const page = await offline();
  await page.key("a");
  await page.until(() => [...document.querySelectorAll("#run-main toolglot-turn")][1].calls[0].state === "done");
  await page.until(() => /^1 call waits/.test(document.querySelector(".waiting-bar").textContent));
  await page.key("d");
  await page.until(() => document.querySelector(".outcome.answer"));
  assert.deepEqual(await page.run(states), ["done", "done", "denied"]);
  assert.equal(await page.run(() => document.querySelectorAll(".round").length), 3);
  // The log is written in the next frame.
  await page.until(() => /"outcome"/.test(document.querySelector("#run-main .console").textContent));
  const log = await page.run(() =>
    document
      .querySelectorAll("#run-main .console")[0]
      .textContent.trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  );
  assert.deepEqual(
    log.map(({ n }) => n),
    log.map((_, at) => at + 1),
  );
  // A reply begins after the message with the results of the one before, and none of them broke off.
  assert.deepEqual(
    log.filter((one) => one.do === "ask" || one.event === "message").map((one) => one.do ?? one.message.role),
    ["ask", "assistant", "user", "ask", "assistant", "user", "ask", "assistant"],
  );
  assert.equal(await page.run(() => document.querySelectorAll(".round.broken").length), 0);
  assert.match(
    await page.run(() => document.querySelectorAll("#run-main toolglot-turn")[0].shadowRoot.querySelector(".ms").textContent),
    /^\d+ ms$/,
  );
  assert.deepEqual(page.complaints, []);
});

test("approve all by one key, which is off where one writes, and where one has switched keys off", async () => {
  const page = await offline();
  await page.run(() => document.querySelector("#run-side textarea").focus());
  await page.key("a");
  await page.key("A", { shift: true });
  await page.run(() => document.activeElement.blur());
  await page.run(() => document.querySelector(".waiting-bar input").click());
  await page.key("a");
  assert.deepEqual(await page.run(states), ["done", "waiting", "waiting"]);
  await page.run(() => document.querySelector(".waiting-bar input").click());
  await page.run(() => document.activeElement.blur());
  await page.key("A", { shift: true });
  await page.until(() => document.querySelector(".outcome.answer"));
  assert.deepEqual(await page.run(states), ["done", "done", "done"]);
});

test("edit by key: other arguments run, wrong ones are refused", async () => {
  const page = await offline();
  await page.key("e");
  const inside = (step) =>
    page.run(
      `() => { const area = document.querySelectorAll("#run-main toolglot-turn")[1].shadowRoot.querySelector("textarea"); ${step} }`,
    );
  assert.equal(
    await inside("return area === document.querySelectorAll('#run-main toolglot-turn')[1].shadowRoot.activeElement"),
    true,
  );
  await inside("area.value = '[1]'; area.closest('.ask').querySelector('.yes').click();");
  assert.match(await inside("return area.closest('.ask').textContent"), /must be an object/);
  await inside("area.value = JSON.stringify({ port: 'Oban', boat: 'Marie' }); area.closest('.ask').querySelector('.yes').click();");
  await page.until(() => [...document.querySelectorAll("#run-main toolglot-turn")][1].calls[0].state === "done");
  const text = await page.run(
    () => document.querySelectorAll("#run-main toolglot-turn")[1].shadowRoot.querySelector(".card").textContent,
  );
  assert.match(text, /Oban/);
  assert.doesNotMatch(text, /Leith/);
  assert.deepEqual(page.complaints, []);
});

test("everything by Tab and Enter alone, and a cancelled run", async () => {
  const page = await offline();
  await page.run(() => document.querySelector(".waiting-bar button").focus());
  const focused = () => {
    let node = document.activeElement;
    while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
    return `${node.localName} ${node.textContent}`.slice(0, 40);
  };
  const seen = [];
  for (let at = 0; at < 40 && seen.at(-1) !== "button Deny"; at += 1) {
    await page.key("Tab");
    seen.push(await page.run(focused));
  }
  assert(seen.includes("button Approve") && seen.at(-1) === "button Deny", seen.join(" | "));
  await page.key("Enter");
  await page.until(() => [...document.querySelectorAll("#run-main toolglot-turn")][1].calls[0].state === "denied");
  await page.run(() => [...document.querySelectorAll(".run-head button")].find((one) => one.dataset.w === "cancel").click());
  await page.until(() => document.querySelector(".outcome.cancelled"));
  // One after another, up to the first that does not complete.
  assert.equal((await page.run(states)).at(-1), "not_run");
});

test("without the right token the page says so, and is the playground", async () => {
  const none = await opened(place);
  assert.match(await none.run(() => document.getElementById("banner").textContent), /static playground/);
  fake.authorized = false;
  const wrong = await opened(place, `/#token=${TOKEN}`);
  assert.match(await wrong.run(() => document.getElementById("banner").textContent), /did not accept/);
  fake.authorized = true;
});

test("a run on the server: broken connections, a digest with each decision, refusals, results", async () => {
  const page = await opened(place, `/#token=${TOKEN}`);
  assert.match(await page.run(() => document.getElementById("banner").textContent), /toolglot serve 9\.9/);
  assert.equal(await page.run(() => location.hash + JSON.stringify(Object.keys(localStorage))), "[]");
  await page.run(() => (location.hash = "#runs"));
  await begin(page);
  await page.until(() => document.querySelector("#run-main toolglot-turn")?.calls[0]?.state === "waiting");
  const { agent, dialect, config } = fake.started[0];
  assert.deepEqual([agent, dialect, config.enabled, config.toolToggles], ["cleaner", "hermes", true, {}]);
  assert.deepEqual(fake.connections, [0, 4]);
  assert.equal(
    await page.run(() => document.querySelector("#run-main toolglot-turn").shadowRoot.querySelector(".text").textContent),
    "I remove it.",
  );
  fake.refuse = true;
  await page.key("a");
  await page.until(() => /not those arguments/.test(document.querySelector("#run-main toolglot-turn").shadowRoot.textContent));
  fake.refuse = false;
  await page.key("a");
  // The cards follow with the next frame.
  await page.until(() => document.querySelector(".outcome.answer") && !document.querySelector("#run-main toolglot-turn").pending);
  assert.deepEqual(fake.decisions, [{ call: "c0", digest: "d1", decision: "approve" }]);
  const [text, rounds, told] = await page.run(() => [
    document.querySelector("#run-main toolglot-turn").shadowRoot.querySelector(".card").textContent,
    document.querySelectorAll(".round").length,
    document.querySelector(".told").textContent,
  ]);
  assert.match(text, /\/y.*50 %.*7 ms.*gone/s);
  assert.equal(rounds, 2);
  assert.match(told, /<tool_response>gone/);
  // The policy of the page allows no answer of 4xx to go unreported by the browser.
  assert.deepEqual(
    page.complaints.filter((one) => !/status of 4|ERR_|WebSocket/.test(one)),
    [],
  );
});

/** A page in which a single call on the server waits for approval. */
async function asked() {
  fake.calls.length = 0;
  const page = await opened(place, `/#token=${TOKEN}`);
  await page.run(() => {
    const [where] = document.querySelectorAll(".execute select");
    where.value = "server";
    where.dispatchEvent(new Event("change"));
    [...document.querySelectorAll(".single button")].at(-1).click();
  });
  await page.until(() => document.querySelector(".execute toolglot-turn").calls[0]?.state === "waiting");
  return page;
}

test("one call on the server, which asks for approval", async () => {
  const page = await asked();
  await page.run(() => document.querySelector(".execute toolglot-turn").decide("approve"));
  await page.until(() => document.querySelector(".execute toolglot-turn").calls[0]?.state === "done");
  assert.deepEqual(fake.calls, [
    { name: "rm", arguments: {} },
    { name: "rm", arguments: {}, approved: "of {}" },
  ]);
});

test("edited arguments of a call on the server are shown again before they run", async () => {
  const page = await asked();
  await page.run(() => {
    const turn = document.querySelector(".execute toolglot-turn");
    const detail = { call: turn.calls[0].id, digest: "of {}", decision: "approve", arguments: { path: "/x" } };
    turn.dispatchEvent(new CustomEvent("decide", { detail, bubbles: true, composed: true }));
  });
  await page.until(() => document.querySelector(".execute toolglot-turn").calls[0]?.state === "waiting");
  await page.run(() => document.querySelector(".execute toolglot-turn").decide("approve"));
  await page.until(() => document.querySelector(".execute toolglot-turn").calls[0]?.state === "done");
  assert.deepEqual(fake.calls, [
    { name: "rm", arguments: {} },
    { name: "rm", arguments: { path: "/x" } },
    { name: "rm", arguments: { path: "/x" }, approved: 'of {"path":"/x"}' },
  ]);
});

test("a call within a call is asked about, and ends with the outer one", async () => {
  const page = await opened(plain, "/tests/element.html");
  const show = (events) =>
    page.run((events) => {
      testing.turn.add(events);
      testing.turn.flush();
      return testing.turn.calls;
    }, events);
  const question = (id, digest) => ({ do: "confirm", id, name: "inner", tool: "inner", arguments: "{}", digest, reason: "" });
  await show([
    { event: "stands", id: "a", name: "outer", arguments: "{}" },
    { event: "running", id: "a" },
    question("a/1", "d"),
    question("a/2", "e"),
  ]);
  const states = (calls) => calls.map(({ id, state }) => [id, state]);
  assert.deepEqual(states(await show([])).sort(), [
    ["a", "running"],
    ["a/1", "waiting"],
    ["a/2", "waiting"],
  ]);
  await show([{ decision: ["a/1", { edit: '{"x":1}' }] }, { decision: ["a/2", { deny: "no" }] }]);
  assert.deepEqual(states(await show([])).sort(), [
    ["a", "running"],
    ["a/1", "running"],
    ["a/2", "denied"],
  ]);
  const last = await show([{ event: "settled", id: "a", state: "failed", result: "no" }]);
  assert.deepEqual(states(last).sort(), [
    ["a", "failed"],
    ["a/1", "failed"],
    ["a/2", "denied"],
  ]);
});

test("a call shows its state in the message at each step (item 95)", async () => {
  const page = await opened(plain, "/tests/element.html");
  await page.run(() => testing.turn.clear());
  const steps = [
    [{ event: "named", name: "rm", provisional: true }, "being written"],
    [{ event: "written", name: "rm" }, "written"],
    [{ event: "stands", id: "a", name: "rm", arguments: "{}" }, "written"],
    [{ do: "confirm", id: "a", name: "rm", tool: "rm", arguments: "{}", digest: "d", reason: "" }, "waiting for approval"],
    [{ event: "waiting", id: "a" }, "waiting for approval"],
    [{ event: "running", id: "a" }, "running"],
    [{ event: "settled", id: "a", state: "completed", result: "gone" }, "done"],
  ];
  for (const [event, wanted] of steps) {
    const said = await page.run((event) => {
      const { turn } = testing;
      turn.add([event]);
      turn.flush();
      return [...turn.shadowRoot.querySelectorAll(".card .state")].map((one) => one.textContent);
    }, event);
    assert.deepEqual(said, [wanted], JSON.stringify(event));
  }
  // The same while a stream is read, and calls that are retracted.
  const read = await page.run(() => {
    const { turn, toolglot } = testing;
    turn.clear();
    const stream = new toolglot.Engine({ dialects: ["hermes"] }).stream();
    return ['<tool_call>{"name": "a", "argu', 'ments": {}}</tool_call>', '<tool_call>{"name": "b", "argu', null].map((piece) => {
      turn.add(piece === null ? stream.finish() : stream.feed(piece));
      if (piece === null) turn.end();
      turn.flush();
      return [...turn.shadowRoot.querySelectorAll(".card")].map((card) => card.textContent.replace(/hermes.*/s, "") + card.dataset.state);
    });
  });
  assert.deepEqual(read.slice(0, 3), [["awriting"], ["awritten"], ["awritten", "bwriting"]]);
  assert.notEqual(read[3][1], "bwriting");
});

test("the node of a result shows name, state, duration and value, and copies it (item 94)", async () => {
  const page = await opened(plain, "/tests/element.html");
  await page.allow("clipboard-read", "clipboard-write");
  const results = {
    text: ["done", "line one\nline two"],
    value: ["done", { list: [1, { deep: "é中" }], none: null }],
    parts: ["done", [{ type: "text", text: "a" }, { type: "text", text: "b" }]],
    json: ["done", [{ type: "json", json: { x: 1 } }]],
    nothing: ["done", null],
    broken: ["failed", "no such port"],
    late: ["timed_out", "30000 ms"],
  };
  for (const [name, [state, result]] of Object.entries(results)) {
    const said = await page.run(
      async (name, state, result) => {
        const { turn } = testing;
        turn.clear();
        turn.add([{ event: "stands", id: "a", name, arguments: "{}" }, { event: "running", id: "a" }]);
        turn.settle("a", { state, result, ms: 123 });
        turn.flush();
        const card = turn.shadowRoot.querySelector(".card");
        const node = card.querySelector(".result");
        const button = node.querySelector("button.copy");
        button.click();
        while (button.textContent === "Copy") await new Promise((go) => setTimeout(go, 10));
        node.querySelectorAll("details").forEach((one) => (one.open = true));
        return {
          name: card.querySelector(".name").textContent,
          state: card.querySelector(".state").textContent,
          label: node.getAttribute("aria-label"),
          ms: node.querySelector(".ms").textContent,
          text: node.textContent,
          button: button.textContent,
          copied: await navigator.clipboard.readText(),
          tree: node.querySelectorAll("details, dl, ul, ol").length > 0,
        };
      },
      name,
      state,
      result,
    );
    const whole = { parts: "a\nb", json: JSON.stringify({ x: 1 }, null, 2) }[name] ?? (typeof result === "string" ? result : JSON.stringify(result, null, 2));
    assert.deepEqual(
      [said.name, said.state, said.label, said.ms, said.button, said.copied],
      [name, { done: "done", failed: "failed", timed_out: "timed out" }[state], `Result of ${name}`, "123 ms", "Copied", whole],
      name,
    );
    for (const piece of { text: ["line one\nline two"], value: ["list", "deep", "é中", "none"], json: ["x", "1"], broken: ["no such port"] }[name] ?? [])
      assert(said.text.includes(piece), `${name}: ${piece}: ${said.text}`);
    assert.equal(said.tree, name === "value", name);
  }
});

test("the editor of an agent in the page: its switches and limits are obeyed (item 92)", async () => {
  const page = await opened(plain, "/#runs");
  const set = (key, value) =>
    page.run(
      (key, value) => {
        const input = document.querySelector(`#run-side [data-w="${key}"]`).closest("label").querySelector("input");
        if (input.type === "checkbox") return input.checked === value || input.click();
        input.value = value;
        return input.dispatchEvent(new Event("change"));
      },
      key,
      value,
    );
  const over = async (kind) => {
    await page.until((kind) => document.querySelector(`#run-main .outcome.${kind}`), kind);
    await page.until(() => [...document.querySelectorAll("#run-main toolglot-turn")].every((turn) => !turn.pending));
    return page.run(states);
  };
  const script = (text) => page.run((text) => (toolglotPage.store.script = text), text);
  const tides = '<tool_call>{"name":"harbour:tides","arguments":{"port":"Leith"}}</tool_call>';

  await script(`${tides}\n---\nDone.`);
  await begin(page);
  assert.deepEqual(await over("answer"), ["done"]);
  await set("require confirmation", true);
  await begin(page);
  await page.until(() => document.querySelector("#run-main toolglot-turn")?.calls[0]?.state === "waiting");
  await set("require confirmation", false);

  await set("max iterations", 1);
  await script(Array(4).fill(tides).join("\n---\n"));
  await begin(page);
  assert.deepEqual(await over("iterations"), ["done", "not_run"]);
  await set("max iterations", 5);

  await page.run(() => toolglotPage.store.set({ functions: "({ 'harbour:tides': () => { for (;;); } })" }));
  await set("timeout", 300);
  await script(`${tides}${tides.replace("Leith", "Oban")}\n---\nDone.`);
  await begin(page);
  assert.deepEqual(await over("answer"), ["timed_out", "not_run"]);
  await set("parallel", true);
  await begin(page);
  assert.deepEqual(await over("answer"), ["timed_out", "timed_out"]);

  await set("enabled", false);
  await begin(page);
  assert.deepEqual(await over("answer"), []);
  assert.match(await page.run(() => document.querySelector("#run-main toolglot-turn").shadowRoot.textContent), /<tool_call>/);
});

test("the tools of several manifests are shown and searched (item 22)", async () => {
  const page = await opened(plain, "/#market");
  const found = async (words, tag) =>
    page.run(
      async (words, tag) => {
        const search = document.querySelector("#view-market input[type=search]");
        search.value = words;
        search.dispatchEvent(new Event("input"));
        const chip = tag && [...document.querySelectorAll(".chip")].find((one) => one.textContent === tag);
        chip?.click();
        const names = [...document.querySelectorAll("#view-market h3")].map((one) => one.textContent);
        if (chip) [...document.querySelectorAll(".chip")].find((one) => one.textContent === tag).click();
        return names;
      },
      words,
      tag,
    );
  await page.run(() =>
    toolglotPage.market.add([
      new File(
        [
          JSON.stringify([
            { name: "sky", description: "Clouds", parameters: { type: "object", properties: { site: { type: "string" } } } },
          ]),
        ],
        "sky.json",
      ),
      new File([JSON.stringify({ tools: [{ name: "sea", description: "Waves", inputSchema: { type: "object" } }] })], "mcp.json"),
      new File(["{"], "broken.json"),
    ]),
  );
  assert.equal((await found("")).length, 6);
  assert.deepEqual(await found("cloud site"), ["sky"]);
  assert.deepEqual(await found("waves"), ["sea"]);
  assert.deepEqual(await found("", "admin"), ["harbour:reset"]);
  assert.match(await page.run(() => document.querySelector("#view-market .fault").textContent), /broken\.json cannot be read/);
  await page.run(() =>
    [...document.querySelectorAll(".tool-card button")]
      .filter((one) => !one.disabled)
      .forEach((one) => one.isConnected && one.click()),
  );
  assert(await page.run(() => toolglotPage.store.tools.some(({ id, agentCallable }) => id === "sky" && agentCallable)));
});
