// Starts the real `toolglot serve` for tests: TOOLGLOT_CLI is the command, built with the feature `serve`.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { root } from "./setup.mjs";

const { TOOLGLOT_CLI } = process.env;

/** Why there is no server, or `false`. */
export const skip = (() => {
  if (!TOOLGLOT_CLI) return "the command was not built";
  try {
    execFileSync(TOOLGLOT_CLI, ["serve", "--help"], { stdio: "ignore" });
    return false;
  } catch {
    return "the command was built without the feature serve";
  }
})();

export const call = (name, given) => `<tool_call>${JSON.stringify({ name, arguments: given })}</tool_call>`;

const text = { type: "object", properties: { what: { type: "string" } }, required: ["what"] };
const TOOLS = {
  tools: [
    // Its result is what it was given.
    {
      name: "say",
      description: "Says it",
      parameters: text,
      execute: { process: { argv: ["printf", "%s", "said {what}"], stdin: "none" } },
    },
    { name: "facts", description: "Gives facts", execute: { value: { ferries: 2 } } },
    { name: "sleep", description: "Takes its time", execute: { process: { argv: ["sleep", "30"], stdin: "none" } } },
  ],
};
const POLICY = { confirm: [{ tools: ["say"], reason: "it is loud" }], allow: [{}] };

/** A folder with the files of a server, which can be started in it again and again. */
export class Place {
  #running = null;

  constructor({ replies = ["Hello."], policy = POLICY } = {}) {
    this.folder = mkdtempSync(join(tmpdir(), "toolglot-served-"));
    const file = (name, content) => writeFileSync(join(this.folder, name), content);
    file("tools.json", JSON.stringify(TOOLS));
    file("policy.json", JSON.stringify(policy));
    file("replies.txt", replies.join("\n---\n"));
    after(async () => {
      await this.end("SIGKILL");
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  /** Starts the server; returns its printed address. `port` is one that it had before. */
  async start({ model = "script:replies.txt", more = [], env = {}, port = 0 } = {}) {
    const given = ["--listen", `127.0.0.1:${port}`, "--dialect", "hermes", "--tools", "tools.json", "--policy", "policy.json"];
    const options = ["serve", "--page", `${root}page/dist`, "--store", "runs.db", "--model", model, ...given, ...more];
    const child = spawn(TOOLGLOT_CLI, options, { cwd: this.folder, env: { ...process.env, ...env } });
    this.#running = child;
    let said = "";
    const printed = new Promise((resolve, reject) => {
      child.stdout.setEncoding("utf8").on("data", (piece) => {
        said += piece;
        if (said.includes("\n")) resolve(said.trim().replace("listening on ", ""));
      });
      child.stderr.setEncoding("utf8").on("data", (piece) => (said += piece));
      child.on("exit", () => reject(new Error(`the server ended: ${said}`)));
    });
    this.address = await printed;
    const url = new URL(this.address);
    Object.assign(this, { origin: url.origin, port: Number(url.port), token: url.hash.replace("#token=", "") });
    return this.address;
  }

  async end(signal = "SIGTERM") {
    const child = this.#running;
    this.#running = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.on("exit", resolve));
    child.kill(signal);
    await gone;
  }

  /** Asks the server without the page. */
  async ask(path, options = {}) {
    const headers = { "authorization": `Bearer ${this.token}`, "content-type": "application/json" };
    const response = await fetch(this.origin + path, { headers, ...options });
    return response.json();
  }
}

/** A model server whose replies a test writes: `answer` gets the response and the number of the request. */
export async function modelServer(answer) {
  let asked = 0;
  const server = createServer(async (request, response) => {
    for await (const piece of request) void piece;
    asked += 1;
    answer(response, asked);
  });
  server.unref();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

/** A piece of a streamed reply. */
export const delta = (content, finish = null) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content }, finish_reason: finish }] })}\n\n`;
