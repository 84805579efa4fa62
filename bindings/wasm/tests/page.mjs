// Runs tests/page.html in headless Chromium against a server on localhost, and compares its result with Node's.
//
//   node page.mjs CHROMIUM
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { load } from "../toolglot.js";
import { REPLY, replay } from "./replay.mjs";

const root = new URL("../", import.meta.url);
const examples = new URL("../../examples/", root);
const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript", mjs: "text/javascript", wasm: "application/wasm", txt: "text/plain; charset=utf-8" };

let finish;
const done = new Promise((resolve) => (finish = resolve));
const server = createServer(async (request, response) => {
  const path = new URL(request.url, "http://localhost").pathname;
  if (path === "/done") {
    response.end();
    finish();
    return;
  }
  if (path === "/done.svg") {
    await done;
    response.writeHead(404).end();
    return;
  }
  const file = path === "/transcript.txt" ? new URL("transcript.txt", examples) : new URL(`.${path}`, root);
  try {
    const body = await readFile(file);
    response.writeHead(200, { "content-type": TYPES[path.split(".").pop()] ?? "application/octet-stream" }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

const profile = await mkdtemp(join(tmpdir(), "toolglot-page-"));
const browser = spawn(process.argv[2], [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", `--user-data-dir=${profile}`, "--dump-dom",
  `http://127.0.0.1:${server.address().port}/tests/page.html`,
], { stdio: ["ignore", "pipe", "pipe"] });
let dom = "";
let complaints = "";
browser.stdout.setEncoding("utf8").on("data", (text) => (dom += text));
browser.stderr.setEncoding("utf8").on("data", (text) => (complaints += text));
const late = setTimeout(() => browser.kill("SIGKILL"), 120000);
const [status] = await new Promise((resolve) => browser.on("close", (...how) => resolve(how)));
clearTimeout(late);
server.closeAllConnections();
server.close();
await rm(profile, { recursive: true, force: true, maxRetries: 5 });

const shown = /<pre id="result">([^<]*)<\/pre>/.exec(dom)?.[1];
if (shown === undefined || shown === "not done") {
  console.error(`the page said nothing (status ${status})\n${dom}\n${complaints}`);
  process.exit(1);
}
const said = JSON.parse(decodeURIComponent(shown));
if (said.failed) {
  console.error(`the page failed: ${said.failed}`);
  process.exit(1);
}
const toolglot = await load();
const transcript = await readFile(new URL("transcript.txt", examples), "utf8");
const want = JSON.parse(JSON.stringify([...[REPLY, transcript].map((text) => replay(toolglot, text)), toolglot.version]));
assert.deepEqual(said, want);
for (const { same, others, live, turn, log } of want.slice(0, 2)) {
  assert(same > 100 && others === 0 && live === 0 && turn.calls.length > 0 && log.length > 5, JSON.stringify({ same, others, live }));
}
const runs = want.slice(0, 2).reduce((sum, { same }) => sum + same, 0);
console.log(`Chromium says what Node says: ${runs} cuts of 2 transcripts`);
