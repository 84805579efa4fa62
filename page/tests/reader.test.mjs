// What a screen reader gets: the accessibility tree of Chromium, for a card that grows and for one that asks; and what is read out by
// itself.
import assert from "node:assert/strict";
import test from "node:test";
import { opened, started } from "./setup.mjs";

const place = await started();

/** The tree without what readers skip: `{ role, name, children, ..properties }`. */
async function tree(page) {
  const { nodes } = await page.ask("Accessibility.getFullAXTree");
  const by = new Map(nodes.map((node) => [node.nodeId, node]));
  const build = (node) => {
    const children = (node.childIds ?? []).flatMap((id) => (by.has(id) ? build(by.get(id)) : []));
    if (node.ignored || ["generic", "none", "InlineTextBox"].includes(node.role?.value)) return children;
    const properties = Object.fromEntries((node.properties ?? []).map(({ name, value }) => [name, value.value]));
    return [{ role: node.role.value, name: node.name?.value ?? "", description: node.description?.value ?? "", ...properties, children }];
  };
  return build(nodes[0])[0];
}

function find(node, role, name = /./) {
  if (node.role === role && name.test(node.name)) return node;
  for (const child of node.children) {
    const found = find(child, role, name);
    if (found) return found;
  }
  return null;
}

const all = (node, role) => [...(node.role === role ? [node] : []), ...node.children.flatMap((child) => all(child, role))];
const text = (node) => (node.role === "StaticText" ? node.name : node.children.map(text).join(" "));

/** Notes what the live region of the element says, in the page. */
const listen = (page) =>
  page.run(() => {
    globalThis.heard = [];
    const region = testing.turn.shadowRoot.querySelector("[role=status]");
    new MutationObserver(() => globalThis.heard.push(region.textContent)).observe(region, { childList: true, characterData: true, subtree: true });
  });
const frame = (page) => page.run(() => new Promise((go) => requestAnimationFrame(() => setTimeout(go, 20))));

test("a growing card has a name and a state, is busy until its end, and only its states are read out", async () => {
  const page = await opened(place, "/tests/element.html");
  await listen(page);
  await page.run(() => {
    const { turn, toolglot } = testing;
    turn.clear();
    globalThis.stream = new toolglot.Engine({ dialects: ["hermes"] }).stream();
  });
  const feed = async (piece) => {
    await page.run((piece) => testing.turn.add(stream.feed(piece)), piece);
    await frame(page);
  };
  await feed('I look. <tool_call>{"name": "write_file", "arguments": {"path": "a.txt", "text": "line');
  const growing = await tree(page);
  const reply = find(growing, "group", /^Reply$/);
  assert.equal(reply.busy, 1, JSON.stringify(reply));
  const card = find(reply, "group", /^write_file/);
  assert.equal(card.name, "write_file being written");
  assert.match(text(reply), /I look\./);

  for (let at = 0; at < 50; at += 1) await feed(" more");
  assert.equal(find(await tree(page), "group", /^write_file/).name, "write_file being written");
  await feed('"}}</tool_call>');
  await page.run(() => {
    testing.turn.add(stream.finish());
    testing.turn.end();
    testing.turn.settle(0, { state: "running" });
  });
  await frame(page);
  await page.run(() => testing.turn.settle(0, { state: "done", result: "written", ms: 3 }));
  await frame(page);

  const over = find(await tree(page), "group", /^Reply$/);
  assert.equal(over.busy ?? 0, 0);
  const done = find(over, "group", /^write_file/);
  assert.equal(done.name, "write_file done");
  const [path, content] = all(done, "term").map(text);
  assert.deepEqual([path, content], ["path", "text"]);
  assert.match(all(done, "definition").map(text).join("|"), /a\.txt"\|"line +more/);
  assert.equal(find(done, "group", /^Result of write_file$/) !== null, true);
  // Fifty pieces, and nothing was read out for them.
  assert.deepEqual(await page.run(() => heard), [
    "write_file: being written",
    "write_file: written",
    "write_file: running",
    "write_file: done",
  ]);
  const region = all(await tree(page), "status").find((node) => text(node).includes("write_file"));
  assert.deepEqual([region.live, region.atomic], ["polite", true]);
});

test("a card that asks says who asks for what, with its buttons, its keys and its editor", async () => {
  const page = await opened(place, "/tests/element.html");
  await page.run(() => testing.turn.clear());
  await listen(page);
  await page.run(() => {
    const { turn } = testing;
    const ask = (id, name) => [
      { event: "stands", id, name, arguments: '{"path":"/x"}' },
      { do: "confirm", id, name, tool: name, arguments: '{"path":"/x"}', digest: "d", reason: "it removes a file" },
      { event: "waiting", id },
    ];
    turn.add([...ask("a", "remove"), ...ask("b", "erase")]);
  });
  await frame(page);
  const asks = find(await tree(page), "group", /^remove/);
  assert.equal(asks.name, "remove waiting for approval");
  assert.match(text(asks), /path.*\/x.*it removes a file/s);
  const buttons = all(asks, "button").filter(({ name }) => ["Approve", "Deny", "Edit"].includes(name));
  assert.deepEqual(
    buttons.map(({ name, keyshortcuts, focusable }) => [name, keyshortcuts, focusable]),
    [
      ["Approve", "a", true],
      ["Deny", "d", true],
      ["Edit", "e", true],
    ],
  );
  // Both that wait are read out, though they came together.
  assert.match(await page.run(() => heard.at(-1)), /remove: waiting for approval.*erase: waiting for approval/);

  await page.run(() => testing.turn.decide("edit", "a"));
  await page.run(() => {
    const ask = testing.turn.shadowRoot.querySelector(".ask");
    ask.querySelector("textarea").value = "{";
    ask.querySelector(".yes").click();
  });
  await frame(page);
  const edits = find(await tree(page), "group", /^remove/);
  const area = find(edits, "textbox");
  assert.deepEqual([area.name, area.focused, area.multiline], ["Arguments of remove", true, true]);
  const fault = find(edits, "alert", /^/);
  assert.match(text(fault), /JSON/);
  assert.equal(fault.live, "assertive");

  await page.run(() => testing.turn.refuse("b", "not those arguments"));
  await frame(page);
  assert.match(text(find(find(await tree(page), "group", /^erase/), "alert", /^/)), /not those arguments/);
});

test("a run tells how many calls wait, and loses no focus with a question", async () => {
  const page = await opened(place, "/#runs");
  await page.run(() => toolglotPage.runs.start());
  await page.until(() => /^2 calls wait/.test(document.querySelector(".waiting-bar")?.textContent ?? ""));
  await frame(page);
  const waits = all(await tree(page), "status").find((node) => /calls wait/.test(text(node)));
  assert.equal(text(waits).trim(), "2 calls wait for your decision");
  assert.equal(waits.live, "polite");
  await page.run(() => {
    const turns = [...document.querySelectorAll("#run-main toolglot-turn")];
    turns.find((turn) => turn.calls.some(({ state }) => state === "waiting")).focusWaiting();
  });
  assert.equal(all(await tree(page), "button").find(({ focused }) => focused)?.name, "Approve");
  await page.key("Enter");
  await page.until(() => /^1 call waits/.test(document.querySelector(".waiting-bar").textContent));
  const title = all(await tree(page), "heading").find(({ focused }) => focused);
  assert(title, "the focus is at the title of the run");
  await page.key("a");
  await page.until(() => document.querySelector(".outcome"));
  const outcome = all(await tree(page), "status").find((node) => /Outcome/.test(text(node)));
  assert.match(text(outcome), /the model answered/);
});
