// Models: what their replies are made of, and the client of a server.

import { Pairs, ToolglotError, bytesOf, kind, string, whole, wrong } from "./words.js";

export const SOURCES = ["openai", "anthropic", "ollama"];
/** The end of a response, which clients do not pass on. */
const END = {
  openai: "data: [DONE]\n\n",
  anthropic: 'data: {"type":"message_stop"}\n\n',
  ollama: '{"done":true}\n',
};
/** The number of stop sequences that all servers accept. */
const STOPS = 4;
/** The longest delay of a timer, in milliseconds. */
export const LONGEST = 2 ** 31 - 1;

/** Converts the items of a reply to inputs of a run. */
export class Feed {
  #core;
  #source;
  #response = null;
  #objects = false;
  #pairs = new Pairs();

  constructor(agent) {
    this.#core = agent.core();
    this.#source = agent.source;
  }

  feed(item) {
    if (typeof item === "string") return this.#data(this.#pairs.whole(item));
    if (ArrayBuffer.isView(item) || item instanceof ArrayBuffer) {
      return [...this.#data(this.#pairs.rest()), ...this.#data(bytesOf("model", item))];
    }
    const found = shape(item);
    if (found === null) throw wrong(`model: a chunk must be text, bytes or a chunk of a client, not ${kind(item)}`);
    if (!this.#objects) this.#source = found;
    this.#objects = true;
    const json = JSON.stringify(item);
    return this.#data(this.#source === "ollama" ? `${json}\n` : `data: ${json}\n\n`);
  }

  finish() {
    const rest = this.#data(this.#pairs.rest());
    if (this.#source === "text") return [...rest, { told: { ended: "stop" } }];
    const last = this.#objects ? this.#data(END[this.#source]) : [];
    return [...rest, ...last, ...this.#say((core, handle, buffer) => core.x.toolglot_response_finish(handle, buffer))];
  }

  /** Takes text or bytes of the reply. */
  #data(data) {
    if (data.length === 0) return [];
    if (this.#source === "text") return [{ chunk: data }];
    return this.#say((core, handle, buffer) => core.lend(data, (at, len) => core.x.toolglot_response_feed(handle, at, len, buffer)));
  }

  #say(step) {
    const core = this.#core;
    this.#response ??= core.made(core.x.toolglot_response_new(SOURCES.indexOf(this.#source), core.out));
    const lines = core.written((buffer) => step(core, this.#response, buffer)).split("\n");
    return lines.filter((line) => line !== "").map((told) => ({ told }));
  }

  free() {
    if (this.#response !== null) this.#core.drop("toolglot_response_free", this.#response);
    this.#response = null;
  }
}

/** The API that a chunk comes from. */
function shape(item) {
  if (typeof item !== "object" || item === null) return null;
  if (Array.isArray(item.choices) || (item.error && item.type !== "error")) return "openai";
  if (typeof item.type === "string") return "anthropic";
  return ["message", "response", "done"].some((name) => item[name] !== undefined) ? "ollama" : null;
}

/** Yields the pieces of a reply of any type. */
export async function* pieces(reply) {
  if (reply === undefined || reply === null) throw wrong(`model: a reply is needed, not ${kind(reply)}`);
  if (typeof Response === "function" && reply instanceof Response) {
    if (!reply.ok) throw new ToolglotError("model", `model: HTTP ${reply.status}: ${(await reply.text()).slice(0, 4096)}`);
    if (reply.body) yield* pieces(reply.body);
  } else if (typeof reply === "string" || ArrayBuffer.isView(reply) || reply instanceof ArrayBuffer) {
    yield reply;
  } else if (reply[Symbol.asyncIterator] || reply[Symbol.iterator]) {
    yield* reply;
  } else if (typeof reply.getReader === "function") {
    // Some browsers cannot iterate their streams.
    const reader = reply.getReader();
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
    } finally {
      await reader.cancel();
    }
  } else {
    yield reply;
  }
}

/** A model behind an OpenAI-compatible server. */
export function server(address, given) {
  let url;
  try {
    url = new URL(address);
  } catch {
    url = null;
  }
  if (!url || !/^https?:$/.test(url.protocol)) throw wrong(`model: '${address}' is not an address that begins with http:// or https://`);
  const path = url.pathname.replace(/\/+$/, "") || "/v1";
  url.pathname = path.endsWith("/chat/completions") ? path : `${path}/chat/completions`;
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  if (given.apiKey) headers.authorization = `Bearer ${string("apiKey", given.apiKey)}`;
  const patience = whole("patience", given.patience ?? 300_000);
  return async function* ask(messages, { tools, stop, grammar, signal }) {
    const body = { ...given.request, model: given.name ?? "", messages, stream: true };
    if (tools.length > 0) body.tools = tools;
    if (stop.length > 0) body.stop = stop.slice(0, STOPS);
    if (grammar) body.grammar = grammar;
    const request = { method: "POST", headers, body: JSON.stringify(body), redirect: "error" };
    for (let tries = 0; ; tries += 1) {
      const silence = new Silence(signal, patience);
      let answer = null, why, wait = 500 * 2 ** tries, again = true;
      try {
        answer = await fetch(url, { ...request, signal: silence.signal });
        silence.over();
        if (answer.ok) {
          for await (const piece of pieces(answer.body)) {
            silence.over();
            yield piece;
            silence.begin();
          }
          return;
        }
        why = `HTTP ${answer.status} ${words(await answer.text())}`.trim();
        again = answer.status === 429 || answer.status >= 500;
        wait = retryAfter(answer.headers.get("retry-after")) ?? wait;
      } catch (error) {
        if (signal.aborted) throw error;
        why = silence.signal.aborted ? `the server was silent for ${patience / 1000} s` : error.cause?.message || error.message;
        if (answer?.ok) throw new ToolglotError("model", `${url.origin}: the reply broke off: ${why}`, { cause: error });
      } finally {
        silence.over();
      }
      if (wait > 60_000) throw new ToolglotError("model", `${url.origin}: ${why}; it asks to wait for ${Math.round(wait / 1000)} s`);
      if (!again || tries >= 3) throw new ToolglotError("model", `${url.origin}: ${why}`);
      await new Promise((go, stop) => {
        const timer = setTimeout(go, wait);
        signal.addEventListener("abort", () => {
          clearTimeout(timer);
          stop(signal.reason);
        }, { once: true });
      });
    }
  };
}

/** A signal that aborts with another one, or after a time of silence. */
class Silence {
  #controller = new AbortController();
  #wait;
  #timer = null;

  constructor(signal, wait) {
    this.#wait = wait;
    if (signal.aborted) this.#controller.abort(signal.reason);
    signal.addEventListener("abort", () => this.#controller.abort(signal.reason), { once: true });
    this.begin();
  }

  get signal() {
    return this.#controller.signal;
  }

  begin() {
    this.#timer = setTimeout(() => this.#controller.abort(), Math.min(LONGEST, this.#wait));
  }

  over() {
    clearTimeout(this.#timer);
  }
}

/** The error message that a server sends in place of a response. */
function words(text) {
  try {
    const said = JSON.parse(text);
    return said.error?.message ?? said.message ?? text;
  } catch {
    return text.slice(0, 4096);
  }
}

function retryAfter(said) {
  if (said === null) return null;
  const seconds = Number(said);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(said) - Date.now();
  return Number.isNaN(wait) ? null : Math.max(0, wait);
}
