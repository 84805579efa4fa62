// Drives headless Chromium through its debugging pipe: no package is needed for that. And serves a folder, with the content security policy
// of `toolglot serve`, or without one like any file server.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";

const TYPES = {
  html: "text/html; charset=utf-8",
  js: "text/javascript",
  mjs: "text/javascript",
  css: "text/css",
  wasm: "application/wasm",
  json: "application/json",
  jsonl: "text/plain; charset=utf-8",
  svg: "image/svg+xml",
};
export const CSP =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; img-src 'self' data:; worker-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** For the worker that runs functions of the person who uses the page. */
export const SANDBOX_CSP = "default-src 'none'; script-src 'unsafe-eval'";
const SANDBOX = "/sandbox.js";

/**
 * Serves folders by the beginning of the path; `api` answers requests to /api/ and what else it likes (it returns whether it did).
 * Returns the address, the paths that were asked for, and a function that ends it.
 */
export async function serve(folders, { csp = CSP, sandbox = true, api = null } = {}) {
  const asked = [];
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    asked.push(path);
    if (api !== null && (await api(request, response, path))) return;
    const [prefix, folder] = Object.entries(folders).find(([prefix]) => path.startsWith(prefix)) ?? [];
    const file = normalize(path.slice(prefix?.length ?? 0) || "index.html");
    const headers = { "content-type": TYPES[path.split(".").pop()] ?? TYPES.html };
    if (csp) headers["content-security-policy"] = sandbox && path === SANDBOX ? SANDBOX_CSP : csp;
    try {
      if (folder === undefined || file.startsWith("..")) throw new Error("no such file");
      const body = await readFile(join(folder, file));
      response.writeHead(200, headers).end(body);
    } catch {
      response.writeHead(404, { "content-type": "text/plain" }).end("no such file");
    }
  });
  // A test that fails may leave it open.
  server.unref();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(resolve);
    });
  return { url: `http://127.0.0.1:${server.address().port}`, asked, close };
}

/** Starts Chromium. */
export async function launch(chromium) {
  const profile = await mkdtemp(join(tmpdir(), "toolglot-browser-"));
  const child = spawn(
    chromium,
    [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--hide-scrollbars",
      "--force-color-profile=srgb",
      `--user-data-dir=${profile}`,
      "--remote-debugging-pipe",
      "about:blank",
    ],
    { stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"] },
  );
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (complaints = (complaints + text).slice(-4000)));
  const [, , , input, output] = child.stdio;
  const waiting = new Map();
  const listeners = new Set();
  let last = 0;
  let rest = "";
  output.setEncoding("utf8").on("data", (text) => {
    const messages = (rest + text).split("\0");
    rest = messages.pop();
    for (const message of messages.map((one) => JSON.parse(one))) {
      const { id, error, result } = message;
      if (id === undefined) listeners.forEach((listener) => listener(message));
      else if (error) waiting.get(id)?.reject(new Error(error.message));
      else waiting.get(id)?.resolve(result);
      waiting.delete(id);
    }
  });
  child.on("exit", () => waiting.forEach(({ reject }) => reject(new Error(`Chromium ended\n${complaints}`))));
  const send = (method, params = {}, sessionId) =>
    new Promise((resolve, reject) => {
      last += 1;
      waiting.set(last, { resolve, reject });
      input.write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`);
    });
  const close = async () => {
    const gone = new Promise((resolve) => child.on("exit", resolve));
    await send("Browser.close").catch(() => child.kill("SIGKILL"));
    await gone;
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  return { page: (options) => open(send, listeners, options), close };
}

/** Opens a page, in a profile of its own. */
async function open(send, listeners, { width = 1280, height = 900 } = {}) {
  const { browserContextId } = await send("Target.createBrowserContext");
  const { targetId } = await send("Target.createTarget", { url: "about:blank", browserContextId });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const ask = (method, params) => send(method, params, sessionId);
  /** What the page said that it should not have: errors, and reports of the policy. */
  const complaints = [];
  const requests = [];
  const sockets = [];
  let loaded = null;
  let traced = null;
  listeners.add(({ method, params, sessionId: from }) => {
    if (from !== sessionId) return;
    if (method === "Page.loadEventFired") loaded?.();
    if (method === "Runtime.exceptionThrown")
      complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === "Log.entryAdded" && params.entry.level === "error")
      complaints.push(`${params.entry.text} ${params.entry.url ?? ""}`);
    if (method === "Tracing.tracingComplete") traced?.(params.stream);
    if (method === "Network.webSocketCreated") sockets.push(params.url);
    if (method === "Network.requestWillBeSent") requests.push(params.request.url);
  });
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await ask(`${domain}.enable`);
  await ask("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
  await ask("Emulation.setFocusEmulationEnabled", { enabled: true });

  const page = {
    ask,
    complaints,
    requests,
    /** Addresses of the WebSockets that it opened. */
    sockets,
    async go(url) {
      const done = new Promise((resolve) => (loaded = resolve));
      await ask("Page.navigate", { url: "about:blank" });
      await done;
      const there = new Promise((resolve) => (loaded = resolve));
      await ask("Page.navigate", { url });
      await there;
    },
    /** Runs a function in the page, with values that JSON can express, and returns its result. */
    async run(step, ...values) {
      const expression = `(${step})(${values.map((value) => JSON.stringify(value) ?? "undefined").join(",")})`;
      const { result, exceptionDetails } = await ask("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      return result.value;
    },
    /** Waits until a function in the page returns something true, and returns it. */
    async until(step, ...values) {
      for (const end = Date.now() + 20000; Date.now() < end; await new Promise((go) => setTimeout(go, 30))) {
        const said = await page.run(step, ...values);
        if (said) return said;
      }
      throw new Error(`waited in vain for ${step} ${JSON.stringify(values)}\n${complaints.join("\n")}`);
    },
    async key(key, { shift = false } = {}) {
      const code = key.length === 1 ? `Key${key.toUpperCase()}` : key;
      const text = key === "Enter" ? "\r" : key.length === 1 ? key : undefined;
      const windowsVirtualKeyCode =
        { Enter: 13, Tab: 9, Escape: 27, ArrowRight: 39, ArrowLeft: 37, ArrowDown: 40 }[key] ?? key.toUpperCase().charCodeAt(0);
      const event = { key, code, text, windowsVirtualKeyCode, modifiers: shift ? 8 : 0 };
      await ask("Input.dispatchKeyEvent", { type: "keyDown", ...event });
      await ask("Input.dispatchKeyEvent", { type: "keyUp", ...event, text: undefined });
    },
    async type(text) {
      await ask("Input.insertText", { text });
    },
    /** Returns the events of Chromium's trace while a step runs: what its threads did, with the time of the processor (`tdur`). */
    async trace(categories, step) {
      const traceConfig = { includedCategories: categories, excludedCategories: ["*"] };
      await ask("Tracing.start", { transferMode: "ReturnAsStream", traceConfig });
      const said = await step();
      const over = new Promise((resolve) => (traced = resolve));
      await ask("Tracing.end");
      const handle = await over;
      let text = "";
      for (let end = false; !end;) {
        const { data, eof, base64Encoded } = await ask("IO.read", { handle, size: 1 << 20 });
        text += base64Encoded ? Buffer.from(data, "base64").toString() : data;
        end = eof;
      }
      await ask("IO.close", { handle });
      return { said, events: JSON.parse(text).traceEvents };
    },
    /** Grants permissions to the page's origin. */
    allow: (...names) =>
      Promise.all(names.map((name) => send("Browser.setPermission", { permission: { name }, setting: "granted", browserContextId }))),
    theme: (value) =>
      ask("Emulation.setEmulatedMedia", {
        features: [
          { name: "prefers-color-scheme", value },
          { name: "prefers-reduced-motion", value: "reduce" },
        ],
      }),
    async shot(full = false) {
      const { data } = await ask("Page.captureScreenshot", { format: "png", captureBeyondViewport: full });
      return Buffer.from(data, "base64");
    },
    close: () => send("Target.disposeBrowserContext", { browserContextId }),
  };
  return page;
}
