// The page and the real server: `toolglot serve` with a scripted model, or with one that a test plays.
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { opened, started } from "./setup.mjs";
import { Place, call, delta, modelServer, skip } from "./served.mjs";

const { browser } = await started();
const options = { skip };

/** Opens the page at the printed address, in the view of runs. */
async function runs(place, options) {
  const page = await opened({ browser, url: place.address.replace(/\/#.*/, "") }, `/#token=${place.token}`, options);
  await page.run(() => (location.hash = "#runs"));
  return page;
}

/** Starts a run as a person does. */
async function start(page, task) {
  await page.run((task) => {
    const area = document.querySelector("#run-side textarea");
    area.value = task;
    area.dispatchEvent(new Event("input"));
    [...document.querySelectorAll("#run-side button")].find((one) => one.dataset.w === "start").click();
  }, task);
}

const states = () =>
  [...document.querySelectorAll("#run-main toolglot-turn")].flatMap((turn) => turn.calls.map(({ state }) => state));
const waits = (page, count) =>
  page.until(
    (count) =>
      [...document.querySelectorAll("#run-main toolglot-turn")].flatMap((turn) =>
        turn.calls.filter(({ state }) => state === "waiting"),
      ).length === count,
    count,
  );
const answered = (page) =>
  page.until(
    () =>
      document.querySelector("#run-main .outcome.answer") &&
      [...document.querySelectorAll("#run-main toolglot-turn")].every((turn) => !turn.pending),
  );
/** The texts of the cards, of the timeline, and the state that the head of the run shows. */
const shown = (page) =>
  page.run(() => ({
    cards: [...document.querySelectorAll("#run-main toolglot-turn")].flatMap((turn) =>
      [...turn.shadowRoot.querySelectorAll(".card")].map((card) => card.textContent),
    ),
    texts: [...document.querySelectorAll("#run-main toolglot-turn")].map((turn) =>
      [...turn.shadowRoot.querySelectorAll(".text")].map((text) => text.textContent).join(""),
    ),
    timeline: document.querySelector("#run-main .timeline")?.textContent ?? "",
    state: document.querySelector("#run-main .run-head .state")?.textContent ?? "",
  }));
/** A button in the first card that waits. */
const press = (page, kind) =>
  page.run((kind) => {
    const cards = [...document.querySelectorAll("#run-main toolglot-turn")].flatMap((turn) => [
      ...turn.shadowRoot.querySelectorAll('.card[data-state="waiting"]'),
    ]);
    cards[0].querySelector(`.ask .${kind}`).click();
  }, kind);
/** The editor of an agent: switches by the words beside them, fields by theirs. */
const editor = {
  set: (page, words, value) =>
    page.run(
      (words, value) => {
        const label = [...document.querySelectorAll("#run-side label")].find((one) => one.textContent.startsWith(words));
        const input = label.querySelector("input");
        if (input.type === "checkbox") {
          if (input.checked !== value) input.click();
          return;
        }
        input.value = value;
        input.dispatchEvent(new Event("change"));
      },
      words,
      value,
    ),
  preview: (page) =>
    page.run(() => {
      const panel = [...document.querySelectorAll("#run-side .panel")].at(-1);
      return { text: panel.querySelector("pre").textContent, tokens: Number(/\d+/.exec(panel.querySelector(".count").textContent)?.[0]) };
    }),
};

const quiet = (page) =>
  assert.deepEqual(
    page.complaints.filter((one) => !/status of 4|ERR_|WebSocket/.test(one)),
    [],
  );

test("a run is started, edited, denied and approved, one by one and all, with its parameters shown (item 96)", options, async () => {
  const four = ["a", "b", "c", "d"].map((what) => call("say", { what }));
  const place = new Place({ replies: [`I say it.\n${four.join("\n")}`, "All is said."] });
  await place.start();
  const page = await runs(place);
  // One after another, a denied call would end the chain.
  await editor.set(page, "Calls in parallel", true);
  await start(page, "Say four things.");
  await waits(page, 4);
  const { cards: asking } = await shown(page);
  ["a", "b", "c", "d"].forEach((what, at) => assert.match(asking[at], new RegExp(`say.*what.*${what}.*it is loud.*Approve.*Deny`, "s")));

  await press(page, "edit");
  await page.run(() => {
    const area = document.querySelector("#run-main toolglot-turn").shadowRoot.querySelector("textarea");
    area.value = '{"how": 1}';
    area.closest(".ask").querySelector(".yes").click();
  });
  // The server checks what was edited, and the call waits on.
  await page.until(() => /what/.test(document.querySelector("#run-main toolglot-turn").shadowRoot.querySelector(".ask .fault, .ask [role=alert]")?.textContent ?? ""));
  await waits(page, 4);
  await page.run(() => {
    const { shadowRoot } = document.querySelector("#run-main toolglot-turn");
    if (!shadowRoot.querySelector("textarea")) shadowRoot.querySelector(".ask .edit").click();
    const area = shadowRoot.querySelector("textarea");
    area.value = '{"what": "edited"}';
    area.closest(".ask").querySelector(".yes").click();
  });
  await waits(page, 3);
  await page.run(() => document.activeElement?.blur());
  await page.key("d");
  await waits(page, 2);
  await page.run(() => [...document.querySelectorAll(".waiting-bar button")].find((one) => one.dataset.w === "approve all").click());
  await answered(page);
  const { cards, state } = await shown(page);
  assert.deepEqual(await page.run(states), ["done", "denied", "done", "done"]);
  assert.match(cards[0], /said edited/);
  assert.match(cards[2], /said c/);
  assert.match(state, /finished/);
  const { runs: list } = await place.ask("/api/runs");
  const { messages } = await place.ask(`/api/runs/${list[0].id}`);
  const told = JSON.stringify(messages);
  assert(told.includes("said edited") && !told.includes("said a") && !told.includes("said b"), told);
  quiet(page);
});

test("events come over a WebSocket, and as server-sent events where none can be opened (item 36)", options, async () => {
  const place = new Place({ replies: [`I say it. ${call("say", { what: "x" })}`, "It is said."] });
  await place.start();
  const seen = [];
  for (const sockets of [true, false]) {
    const page = await browser.page();
    const { length } = page.sockets;
    if (!sockets)
      await page.ask("Page.addScriptToEvaluateOnNewDocument", {
        source: "globalThis.WebSocket = class { constructor() { throw new Error('no'); } };",
      });
    await page.go(`${place.origin}/#token=${place.token}`);
    await page.until(() => document.documentElement.dataset.ready);
    await page.run(() => (location.hash = "#runs"));
    await start(page, "Say x.");
    await waits(page, 1);
    await page.key("a");
    await answered(page);
    const { texts, cards } = await shown(page);
    seen.push([texts, cards.map((text) => text.replace(/\d+ ms/, ""))]);
    const streams = page.requests.filter((url) => /^http:.*\/events\?/.test(url)).length;
    assert.deepEqual([page.sockets.length - length > 0, streams > 0], [sockets, !sockets]);
    assert(page.sockets.every((url) => url.startsWith("ws://127.0.0.1") && !url.includes(place.token)));
    quiet(page);
  }
  assert.deepEqual(seen[1], seen[0]);
  assert.deepEqual(seen[0][0], ["I say it. ", "It is said."]);
});

test("a run that waits survives a restart, and is resumed at the new address", options, async () => {
  const place = new Place({ replies: [`I say it. ${call("say", { what: "x" })}`, "It is said."] });
  await place.start();
  const page = await runs(place);
  await start(page, "Say x.");
  await waits(page, 1);
  await place.end("SIGKILL");
  await page.until(() => /connection was lost/.test([...document.querySelectorAll("#run-main .fault")].filter((one) => !one.hidden).map((one) => one.textContent).join("")));
  // The new server has another token: the old page says so.
  await place.start({ port: place.port });
  await page.until(() => /token/.test([...document.querySelectorAll("#run-main [role=alert]")].map((one) => one.textContent).join("")));

  const other = await runs(place);
  const entry = await other.until(() => document.querySelector("#run-side .entry")?.textContent);
  assert.match(entry, /Say x\..*waiting for you/);
  await other.run(() => document.querySelector("#run-side .entry").click());
  await waits(other, 1);
  await other.key("a");
  await answered(other);
  const { cards } = await shown(other);
  assert.equal(cards.length, 1);
  assert.match(cards[0], /said x/);
  quiet(other);
});

test("an open page goes on by itself when its connection breaks", options, async () => {
  const place = new Place({ replies: [`I say it. ${call("say", { what: "x" })}`, "It is said."] });
  await place.start();
  const page = await runs(place);
  await start(page, "Say x.");
  await waits(page, 1);
  await page.ask("Network.emulateNetworkConditions", { offline: true, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
  // A WebSocket that is open stays so: only new connections fail. Its end is the server's.
  await page.run(() => toolglotPage.runs.view.close());
  await page.run(() => document.querySelector("#run-side .entry").click());
  await page.until(() => [...document.querySelectorAll("#run-main .fault")].some((one) => !one.hidden && /connection was lost/.test(one.textContent)));
  await page.ask("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
  await waits(page, 1);
  await page.key("a");
  await answered(page);
});

test("the address opens the page once more with its token, and --open passes a file that leads there", options, async () => {
  const place = new Place();
  const bin = join(place.folder, "bin");
  mkdirSync(bin);
  const opener = join(bin, "xdg-open");
  writeFileSync(opener, `#!/bin/sh\nprintf %s "$1" > "${place.folder}/new" && mv "${place.folder}/new" "${place.folder}/link"\n`);
  chmodSync(opener, 0o755);
  await place.start({ more: ["--open"], env: { PATH: `${bin}:/usr/bin:/bin`, XDG_RUNTIME_DIR: place.folder } });
  while (!existsSync(join(place.folder, "link"))) await new Promise((go) => setTimeout(go, 20));
  const file = readFileSync(join(place.folder, "link"), "utf8");
  assert(!file.includes(place.token));

  const page = await opened({ browser, url: pathToFileURL(file).href }, "");
  const where = () => ({
    banner: document.getElementById("banner").textContent,
    address: location.href,
    kept: JSON.stringify(Object.entries(localStorage)),
  });
  const said = await page.run(where);
  assert.match(said.banner, /Connected to toolglot serve/);
  assert.deepEqual([said.address, said.kept], [`${place.origin}/`, "[]"]);
  assert(page.requests.every((url) => !new URL(url).search.includes(place.token)));

  const again = await opened({ browser, url: place.origin }, `/#token=${place.token}`);
  assert.match((await again.run(where)).banner, /Connected/);
  const none = await opened({ browser, url: place.origin });
  assert.match((await none.run(where)).banner, /static playground/);
  const wrong = await opened({ browser, url: place.origin }, `/#token=${"0".repeat(64)}`);
  assert.match((await wrong.run(where)).banner, /did not accept/);
});

test("a run that the server cannot continue is shown as stopped, with the reason", options, async () => {
  const place = new Place({ replies: [`I say it. ${call("say", { what: "x" })}`, "It is said."] });
  await place.start({ model: "old=script:replies.txt" });
  const first = await runs(place);
  await start(first, "Say x.");
  await waits(first, 1);
  await first.close();
  await place.end();

  await place.start({ model: "new=script:replies.txt" });
  const page = await runs(place);
  const entry = await page.until(() => document.querySelector("#run-side .entry")?.textContent);
  assert.match(entry, /stopped/);
  await page.run(() => document.querySelector("#run-side .entry").click());
  await page.until(() => document.querySelector("#run-main toolglot-turn")?.calls.length > 0);
  await page.until(() => /The server cannot continue this run: .*no agent old/.test(document.querySelector("#run-main .run").textContent));
  assert.match((await shown(page)).state, /stopped/);
  // It can be cancelled, and is over then.
  await page.run(() => [...document.querySelectorAll(".run-head button")].find((one) => one.dataset.w === "cancel").click());
  await page.until(() => document.querySelector("#run-main .outcome.cancelled"));
  assert.match((await shown(page)).state, /finished/);
  quiet(page);
});

test("a reply that broke off is marked when it is asked for again", options, async () => {
  const model = await modelServer((response, asked) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(delta("Good "));
    // The first one never ends.
    if (asked > 1) response.end(`${delta("day.")}${delta("", "stop")}data: [DONE]\n\n`);
  });
  const place = new Place();
  await place.start({ model });
  const first = await runs(place);
  await start(first, "Hello.");
  await first.until(() => /Good/.test(document.querySelector("#run-main toolglot-turn")?.shadowRoot.textContent ?? ""));
  await first.close();
  await place.end("SIGKILL");

  await place.start({ model });
  const page = await runs(place);
  await page.until(() => document.querySelector("#run-side .entry"));
  await page.run(() => document.querySelector("#run-side .entry").click());
  await answered(page);
  const { texts } = await shown(page);
  assert.deepEqual(texts, ["Good ", "Good day."]);
  const rounds = await page.run(() =>
    [...document.querySelectorAll("#run-main .round")].map((round) => [round.classList.contains("broken"), round.textContent]),
  );
  assert.deepEqual(
    rounds.map(([broken]) => broken),
    [true, false],
  );
  assert.match(rounds[0][1], /broke off and was asked for again/);
});

test("a reply that fails is marked with the reason, without the key", options, async () => {
  const model = await modelServer((response) => {
    response.writeHead(401, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: "wrong key sk-hunter2-hunter2" } }));
  });
  const place = new Place();
  await place.start({ model, more: ["--key-env", "MODEL_KEY"], env: { MODEL_KEY: "sk-hunter2-hunter2" } });
  const page = await runs(place);
  await start(page, "Hello.");
  await page.until(() => document.querySelector("#run-main .outcome.model_failed"));
  const { timeline } = await shown(page);
  assert.match(timeline, /This reply broke off: .*401/);
  // The log is written in the next frame.
  await page.until(() => /"outcome"/.test(document.querySelector("#run-main .console").textContent));
  const log = await page.run(() => document.querySelector("#run-main .console").textContent);
  assert(!`${timeline}${log}`.includes("hunter2"), timeline + log);
  assert.equal(await page.run(() => document.querySelectorAll("#run-main .round.broken").length), 1);
});

test("the timeline is for people, and the developer's log has every event as it came (item 37)", options, async () => {
  const place = new Place({ replies: [`I say it. ${call("say", { what: "x" })}`, call("facts", {}), "It is said."] });
  await place.start();
  const page = await runs(place);
  await start(page, "Say x.");
  await waits(page, 1);
  await page.key("a");
  await answered(page);
  const { runs: list } = await place.ask("/api/runs");
  const headers = { authorization: `Bearer ${place.token}` };
  const stream = await (await fetch(`${place.origin}/api/runs/${list[0].id}/events`, { headers })).text();
  const events = stream.split("\n").filter((line) => line.startsWith("data: "));
  // The log is written in the next frame.
  await page.until(() => /"outcome"/.test(document.querySelector("#run-main .console").textContent));
  const { log, timeline, rounds, tabs } = await page.run(() => ({
    log: document.querySelector("#run-main .console").textContent.trim().split("\n"),
    timeline: document.querySelector("#run-main .timeline").textContent,
    rounds: [...document.querySelectorAll("#run-main .round")].map((round) => [
      round.querySelector("h4").textContent,
      [...round.querySelector("toolglot-turn").shadowRoot.querySelectorAll(".name")].map((one) => one.textContent),
    ]),
    tabs: [...document.querySelectorAll("#run-main [role=tab]")].map((tab) => [tab.textContent, tab.getAttribute("aria-selected")]),
  }));
  assert.deepEqual(
    log.map((line) => JSON.parse(line)),
    events.map((line) => JSON.parse(line.slice(6))),
  );
  assert(log.length > 20 && !/"event"|"n":/.test(timeline), timeline);
  assert.deepEqual(rounds, [
    ["Round 1", ["say"]],
    ["Round 2", ["facts"]],
    ["Round 3", []],
  ]);
  assert.deepEqual(tabs, [
    ["Timeline", "true"],
    ["Developer's log", "false"],
  ]);
  quiet(page);
});

test("a run that is over is deleted", options, async () => {
  const place = new Place();
  await place.start();
  const page = await runs(place);
  await start(page, "Hello.");
  await answered(page);
  await page.until(() => document.querySelector("#run-side .entry"));
  await page.run(() => [...document.querySelectorAll(".run-head button")].find((one) => one.dataset.w === "delete").click());
  await page.until(() => /is deleted/.test(document.getElementById("run-main").textContent));
  await page.until(() => !document.querySelector("#run-side .entry"));
  assert.deepEqual((await place.ask("/api/runs")).runs, []);
  quiet(page);
});

test("a call on the server runs with the arguments that were edited and then shown (item 100)", options, async () => {
  const place = new Place();
  await place.start();
  const page = await opened({ browser, url: place.origin }, `/#token=${place.token}`);
  await page.run(() => {
    const [where] = document.querySelectorAll(".execute select");
    where.value = "server";
    where.dispatchEvent(new Event("change"));
    const single = document.querySelector(".single");
    single.querySelector("select").value = "say";
    single.querySelector("textarea").value = '{"what": "first"}';
    [...single.querySelectorAll("button")].at(-1).click();
  });
  const card = () => document.querySelector(".execute toolglot-turn").shadowRoot.querySelector(".card");
  await page.until(() => document.querySelector(".execute toolglot-turn").calls[0]?.state === "waiting");
  await page.run(() => {
    const { shadowRoot } = document.querySelector(".execute toolglot-turn");
    shadowRoot.querySelector(".ask .edit").click();
    shadowRoot.querySelector("textarea").value = '{"what": "second"}';
    shadowRoot.querySelector(".ask .yes").click();
  });
  // Other arguments are another call: it is shown and asked about again.
  await page.until(
    () =>
      document.querySelector(".execute toolglot-turn").calls[0].state === "waiting" &&
      document.querySelector(".execute toolglot-turn").shadowRoot.querySelector(".ask .edit"),
  );
  const text = `${card}`;
  await page.until(`() => !document.querySelector(".execute toolglot-turn").pending && (${text})().textContent.includes("second")`);
  assert.doesNotMatch(await page.run(`() => (${text})().textContent`), /first/);
  await page.run(() => document.querySelector(".execute toolglot-turn").shadowRoot.querySelector(".ask .yes").click());
  await page.until(() => document.querySelector(".execute toolglot-turn").calls[0].state === "done");
  const done = await page.run(`() => (${text})().textContent`);
  assert.match(done, /\d+ ms.*said second/s);
  quiet(page);
});

test("the agent editor's switches and limits are obeyed, and its preview is what the model is told (items 30, 92, 93, 114)", options, async () => {
  const place = new Place({
    replies: [`Facts: ${call("facts", {})}`, ...[1, 2, 3].map((n) => call("facts", { n })), "Done."],
    policy: { allow: [{}] },
  });
  await place.start();
  const page = await runs(place);
  const preview = async (test) => {
    for (const end = Date.now() + 10000; ; await new Promise((go) => setTimeout(go, 30))) {
      const said = await editor.preview(page);
      if (test(said) || Date.now() > end) return said;
    }
  };
  const names = (text) => ["say", "facts", "sleep"].filter((name) => text.includes(`"${name}"`));
  const over = async (kind) => {
    await start(page, "Facts?");
    await page.until(
      (kind) =>
        document.querySelector(`#run-main .outcome.${kind}`) &&
        [...document.querySelectorAll("#run-main toolglot-turn")].every((turn) => !turn.pending),
      kind,
    );
    const said = await shown(page);
    await page.run(() => document.querySelector("#run-main .run").remove());
    return { ...said, states: said.cards.length };
  };

  const all = await preview(({ text }) => names(text).length === 3);
  const agents = (await place.ask("/api/tools")).agents;
  assert.equal(all.text, agents[0].prompt);
  assert.equal(all.tokens, Math.ceil(all.text.length / 4));

  // What is typed into the tester is no tool of the server.
  await page.run(() => toolglotPage.store.set({ definitions: "[]", config: { ...toolglotPage.store.config, enabled: false } }));
  assert.deepEqual(await editor.preview(page), all);

  // A switch, and the default for what has none.
  await editor.set(page, "say", false);
  const two = await preview(({ text }) => names(text).length === 2);
  assert.deepEqual(names(two.text), ["facts", "sleep"]);
  assert(two.tokens < all.tokens);
  await editor.set(page, "New tools are on", false);
  assert.deepEqual(names((await preview(({ text }) => names(text).length === 0)).text), []);
  await editor.set(page, "facts", true);
  assert.deepEqual(names((await preview(({ text }) => names(text).length === 1)).text), ["facts"]);
  await editor.set(page, "New tools are on", true);
  await editor.set(page, "say", true);

  // Rounds.
  await editor.set(page, "Rounds of calls", 1);
  assert.equal((await over("iterations")).cards.length, 2);
  await editor.set(page, "Rounds of calls", 5);

  // Confirmation, which the policy does not ask for.
  await editor.set(page, "Confirm each call", true);
  await start(page, "Facts?");
  await waits(page, 1);
  await page.run(() => [...document.querySelectorAll(".run-head button")].find((one) => one.dataset.w === "cancel").click());
  await page.until(() => document.querySelector("#run-main .outcome.cancelled"));
  await editor.set(page, "Confirm each call", false);

  // The master switch: calls are text, and the model is told nothing of tools.
  await editor.set(page, "Tool calls enabled", false);
  assert.deepEqual(await preview(({ text }) => text === ""), { text: "", tokens: 0 });
  const off = await over("answer");
  assert.equal(off.cards.length, 0);
  assert.match(off.texts[0], /<tool_call>.*facts/);
  await editor.set(page, "Tool calls enabled", true);
  assert.deepEqual(names((await preview(({ text }) => names(text).length === 3)).text), ["say", "facts", "sleep"]);
  assert.equal((await over("answer")).cards.length, 4);
  quiet(page);
});

test("each model has its own switch (item 114)", options, async () => {
  const place = new Place({ replies: [`Facts: ${call("facts", {})}`, "Done."], policy: { allow: [{}] } });
  await place.start({ model: "one=script:replies.txt", more: ["--model", "two=script:replies.txt"] });
  const page = await runs(place);
  const choose = (name) =>
    page.run((name) => {
      const [agent] = document.querySelectorAll("#run-side select");
      agent.value = name;
      agent.dispatchEvent(new Event("change"));
    }, name);
  const calls = async () => {
    await start(page, "Facts?");
    await answered(page);
    const said = await shown(page);
    await page.run(() => document.querySelector("#run-main .run").remove());
    return said.cards.length;
  };
  await editor.set(page, "Tool calls enabled", false);
  await choose("two");
  assert.equal(await calls(), 1);
  await choose("one");
  assert.equal(await calls(), 0);
  await choose("two");
  assert.equal(await calls(), 1);
  const { runs: list } = await place.ask("/api/runs");
  assert.deepEqual(
    list.map(({ agent }) => agent),
    ["two", "one", "two"],
  );
});

test("the time limit and calls side by side are set in the editor, too (item 92)", options, async () => {
  const place = new Place({
    replies: [`${call("sleep", {})}${call("sleep", { n: 2 })}`, "Over."],
    policy: { allow: [{}] },
  });
  await place.start();
  const page = await runs(place);
  await editor.set(page, "Time limit", 400);
  const run = async (parallel) => {
    await editor.set(page, "Calls in parallel", parallel);
    await start(page, "Sleep.");
    await answered(page);
    const { runs: list } = await place.ask("/api/runs");
    const response = await fetch(`${place.origin}/api/runs/${list[0].id}/events`, { headers: { authorization: `Bearer ${place.token}` } });
    const events = (await response.text()).split("\n").filter((line) => line.startsWith("data: "));
    const kinds = events.map((line) => JSON.parse(line.slice(6))).filter((one) => ["running", "settled"].includes(one.event));
    await page.run(() => document.querySelector("#run-main .run").remove());
    return kinds.map(({ event, state }) => state ?? event);
  };
  assert.deepEqual(await run(false), ["running", "timed_out", "not_run"]);
  assert.deepEqual(await run(true), ["running", "running", "timed_out", "timed_out"]);
});
