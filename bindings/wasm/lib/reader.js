// Reads responses of model servers into events, and rewrites them as OpenAI chat completions.

import { Owned, encoder } from "./core.js";
import { Maker } from "./events.js";
import { PRIVATE } from "./stream.js";
import { FINISH, Pairs, ToolglotError, argumentsOf, bytesOf, flag, known, kind, string, whole, word, wrong } from "./words.js";

export const SOURCES = ["text", "openai", "anthropic", "ollama"];
const WRITING = ["model", "id", "created", "recovered", "reasoning", "forced", "idPrefix", "idSeed", "choice"];
/** Options of completions, in addition to those of a stream. */
export const COMPLETION_OPTIONS = [...WRITING, "finish"];
/** Options of chunks, in addition to those of a stream. */
export const REWRITER_OPTIONS = [...WRITING, "calls", "protected"];
/** The response gives the reason. */
const OPEN = 0xffffffff;

/** The number of a finish reason; without one the response gives the reason. */
export function ending(what, reason) {
  return reason === undefined || reason === null ? OPEN : word(what, reason, FINISH);
}

/**
 * How to write a response, as JSON for the engine. An id or time that is not given is generated here: the engine has no clock
 * and no randomness.
 */
export function writing(source, given) {
  const said = (name, read) => ((given[name] ?? null) === null ? undefined : read(name, given[name]));
  const seed = said("idSeed", whole) ?? Math.floor(Math.random() * 2 ** 53);
  const text = (name) => said(name, string) || undefined;
  const made = Array.from({ length: 4 }, () => Math.floor(Math.random() * 2 ** 32).toString(16).padStart(8, "0")).join("");
  return JSON.stringify({
    source,
    close: said("calls", (name, value) => word(name, value, ["live", "close"])) === 1,
    recovered: said("recovered", flag),
    // `null` and an empty name leave reasoning out.
    reasoning: given.reasoning === undefined ? "reasoning_content" : text("reasoning"),
    protected: said("protected", flag),
    forced: said("forced", flag),
    idPrefix: said("idPrefix", string) ?? "call_",
    idSeed: seed,
    choice: said("choice", whole),
    model: text("model"),
    id: text("id"),
    madeId: `chatcmpl-${said("idSeed", whole)?.toString(16).padStart(16, "0") ?? made}`,
    created: said("created", whole),
    now: Math.floor(Date.now() / 1000),
  });
}

/** What readers and rewriters share: chunks into bytes, an end, and the report. */
class Response {
  #own;
  #pairs = new Pairs();
  #what;
  #ended = false;
  /** The engine's report at the end. */
  #last = null;

  constructor(key, core, what, handle) {
    if (key !== PRIVATE) throw wrong(`${what}: use engine.${what.toLowerCase()}()`);
    this.#what = what.toLowerCase();
    this.handle = handle;
    this.#own = new Owned(this, core, this.#what, [[`toolglot_wasm_${this.#what}_free`, handle]]);
  }

  /** Passes the bytes of a chunk to `step`. */
  taken(chunk, step) {
    const core = this.#own.get();
    if (this.#ended) throw new ToolglotError("state", `the ${this.#what} is finished`);
    if (typeof chunk !== "string") {
      const bytes = bytesOf("chunk", chunk);
      if (this.#pairs.half === "" || bytes.length === 0) return step(core, bytes);
      const joined = new Uint8Array(bytes.length + 3);
      joined.set(this.#rest());
      joined.set(bytes, 3);
      return step(core, joined);
    }
    return step(core, encoder.encode(this.#pairs.whole(chunk)));
  }

  /** The bytes for half a surrogate pair that nothing has completed. */
  #rest() {
    return encoder.encode(this.#pairs.rest());
  }

  /** Ends the response once: `rest` are the bytes that were held. */
  ends(reason, step) {
    const core = this.#own.get();
    const number = ending("reason", reason);
    if (this.#ended) return [];
    const done = step(core, number, this.#rest());
    this.#ended = true;
    return done;
  }

  told() {
    const core = this.#own.get();
    if (this.#last !== null) return this.#last;
    const told = JSON.parse(core.written((buffer) => core.x[`toolglot_wasm_${this.#what}_about`](this.handle, buffer)));
    if (this.#ended) this.#last = told;
    return told;
  }

  get errors() {
    return [...this.told().errors];
  }

  get reason() {
    return this.told().reason;
  }

  get finished() {
    this.#own.get();
    return this.#ended;
  }

  free() {
    this.#own.free();
  }
}

/** Reads the body of one response. Made by `engine.reader()`. */
export class Reader extends Response {
  #maker;

  constructor(key, core, handle, keep) {
    super(key, core, "Reader", handle);
    this.#maker = new Maker(keep);
  }

  feed(chunk) {
    return this.taken(chunk, (core, bytes) => this.#fed(core, bytes, []));
  }

  finish(reason) {
    return this.ends(reason, (core, number, rest) => {
      const events = rest.length > 0 ? this.#fed(core, rest, []) : [];
      return this.#read(core, core.x.toolglot_wasm_reader_finish(this.handle, number, core.out), events);
    });
  }

  get held() {
    return this.told().held;
  }

  #fed(core, bytes, events) {
    return core.lend(bytes, (at, len) => this.#read(core, core.x.toolglot_wasm_reader_feed(this.handle, at, len, core.out), events));
  }

  #read(core, status, events) {
    core.check(status);
    this.#maker.read(core, core.u32[core.out >>> 2] >>> 2, core.u32[(core.out >>> 2) + 1], events);
    return events;
  }
}

/** Writes the chunks of one response. Made by `engine.rewriter()`. */
export class Rewriter extends Response {
  constructor(key, core, handle) {
    super(key, core, "Rewriter", handle);
  }

  feed(chunk) {
    return this.taken(chunk, (core, bytes) => this.#fed(core, bytes));
  }

  finish(reason) {
    return this.ends(reason, (core, number, rest) => {
      const before = rest.length > 0 ? this.#fed(core, rest) : [];
      const last = core.written((buffer) => core.x.toolglot_wasm_rewriter_finish(this.handle, number, buffer));
      return [...before, ...lines(last)];
    });
  }

  get void() {
    return [...this.told().void];
  }

  #fed(core, bytes) {
    return lines(core.written((buffer) => core.lend(bytes, (at, len) => (
      core.x.toolglot_wasm_rewriter_feed(this.handle, at, len, buffer)
    ))));
  }
}

function lines(text) {
  return text === "" ? [] : text.slice(0, -1).split("\n");
}

/** A turn as the engine takes it; throws for anything else. */
export function turnJson(turn) {
  if (typeof turn.text !== "string" || !Array.isArray(turn.calls)) {
    throw wrong(`output: a turn, a string, Uint8Array or ArrayBuffer is needed, not ${kind(turn)}`);
  }
  const call = (one, at) => ({
    name: string(`output.calls[${at}].name`, one?.name),
    arguments: argumentsOf(`output.calls[${at}]`, one),
    grade: one.grade ?? "complete", kinds: one.kinds ?? [], dialect: one.dialect ?? "", native: one.native ?? false,
    meta: Object.entries(one.meta ?? {}), span: [one.start ?? 0, one.end ?? 0],
  });
  const { text, reasoning = "", calls, toolglot } = turn;
  return JSON.stringify({ text, reasoning, calls: calls.map(call), dropped: toolglot?.dropped ?? [] });
}

/** A call as an OpenAI message has it. The id is the format's own, else the given one, else a generated one. */
export function toOpenAI(call, id) {
  const given = known("call", call, Object.keys(call ?? {}));
  const own = given.meta?.id || id || `call_${Array.from({ length: 24 }, () => Math.floor(Math.random() * 16).toString(16)).join("")}`;
  const json = argumentsOf("call", given);
  return { id: string("id", own), type: "function", function: { name: string("call.name", given.name), arguments: json } };
}

if (Symbol.dispose) Object.defineProperty(Response.prototype, Symbol.dispose, { value: Response.prototype.free });
