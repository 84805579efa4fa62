// Engines: dialects compiled together, and the functions for whole texts.

import { ABI, Core, Owned } from "./core.js";
import { FLAG, graded, withArguments } from "./events.js";
import { unpack } from "./snapshot.js";
import { COMPLETION_OPTIONS, REWRITER_OPTIONS, Reader, Rewriter, SOURCES, ending, turnJson, writing } from "./reader.js";
import { PRIVATE, Stream } from "./stream.js";
import {
  ENGINE_OPTIONS, FINISH, LIMITS, STREAM_OPTIONS, ToolglotError, bytesOf, choiceText, flag, jsonList, known, string, strings,
  textOrBytes, toJson, toolCall, whole, word, wrong,
} from "./words.js";

/** Size of `toolglot_call` in bytes. */
const CALL = 64;
/** Size of `toolglot_issue` in bytes. */
const ISSUE = 48;
/** The issue kind that only a finished turn has. */
const HINT = "bare_call";

/** Adds the dialects to a config. */
function configure(core, config, given) {
  const x = core.x;
  const check = (status) => core.check(status, "toolglot_config_error", config);
  const toml = given.toml ?? [];
  const files = typeof toml === "string" || Array.isArray(toml)
    ? strings("toml", toml).map((text, at) => [`toml[${at}]`, text])
    : Object.entries(known("toml", toml, Object.keys(toml)));
  for (const [name, text] of files) {
    core.lend(name, (at, len) => core.lend(string(`toml['${name}']`, text), (text, textLen) => {
      check(x.toolglot_config_add_toml(config, at, len, text, textLen));
    }));
  }
  const dialects = strings("dialects", given.dialects ?? []);
  for (const id of dialects.filter((id) => id !== "default")) {
    core.lend(id, (at, len) => check(x.toolglot_config_add_builtin(config, at, len)));
  }
  if (dialects.includes("default")) check(x.toolglot_config_add_defaults(config));
  for (const one of strings("switches", given.switches ?? [])) {
    // The id of a dialect may contain dots and so may the value; the name of a switch may not.
    const dot = one.split("=", 1)[0].lastIndexOf(".");
    if (dot < 1 || dot + 1 === one.length) {
      throw wrong(`switches: '${one}' is not a switch; write 'DIALECT.NAME', for example 'vcp.fuzzy'`);
    }
    core.lend(one.slice(0, dot), (at, len) => core.lend(one.slice(dot + 1), (name, nameLen) => {
      check(x.toolglot_config_switch(config, at, len, name, nameLen));
    }));
  }
}

/** Dialects compiled together, and the options of streams that read them. Immutable. `load()` returns the class. */
export class Engine {
  #own;
  #engine;
  #options;
  #given;
  #about = null;

  constructor(core, options) {
    if (!(core instanceof Core)) throw wrong("Engine: use the class that load() gives");
    const dialects = typeof options === "string" || Array.isArray(options);
    const given = { ...known("options", dialects ? { dialects: options } : options, ENGINE_OPTIONS) };
    if ((given.tools ?? null) !== null) given.tools = jsonList("tools", given.tools);
    if ((given.toolChoice ?? null) !== null) given.toolChoice = choiceText("toolChoice", given.toolChoice);
    if ((given.limits ?? null) !== null) given.limits = { ...known("limits", given.limits, Object.keys(LIMITS)) };
    const x = core.x;
    this.#options = core.options(given);
    let config = 0;
    try {
      config = core.made(x.toolglot_config_new(ABI, core.out));
      configure(core, config, given);
      this.#engine = core.made(x.toolglot_engine_new(config, core.out), "toolglot_config_error", config);
    } catch (error) {
      core.drop("toolglot_options_free", this.#options);
      throw error;
    } finally {
      core.drop("toolglot_config_free", config);
    }
    this.#given = given;
    const handles = [["toolglot_engine_free", this.#engine], ["toolglot_options_free", this.#options]];
    this.#own = new Owned(this, core, "engine", handles);
  }

  /** Its handles, for the other files of this package. */
  handles(key) {
    if (key !== PRIVATE) throw wrong("handles: they are not for you");
    return { core: this.#own.get(), engine: this.#engine, options: this.#options };
  }

  stream(options) {
    return this.#with(options, STREAM_OPTIONS, (core, handle) => this.#stream(core, handle));
  }

  reader(source, options) {
    const name = SOURCES[word("source", source, SOURCES)];
    return this.#with(options, ["choice", ...STREAM_OPTIONS], (core, handle, given) => {
      const choice = whole("choice", given.choice ?? 0);
      const made = core.lend(name, (at, len) => (
        core.made(core.x.toolglot_wasm_reader_new(this.#engine, handle, at, len, choice, core.out))
      ));
      return new Reader(PRIVATE, core, made, this.#keeps());
    });
  }

  rewriter(source, options) {
    const name = SOURCES[word("source", source ?? "text", SOURCES)];
    return this.#with(options, [...REWRITER_OPTIONS, ...STREAM_OPTIONS], (core, handle, given) => {
      const made = core.lend(writing(name, given), (at, len) => (
        core.made(core.x.toolglot_wasm_rewriter_new(this.#engine, handle, at, len, core.out))
      ));
      return new Rewriter(PRIVATE, core, made);
    });
  }

  completion(output, source, options) {
    const plain = typeof output === "object" && output !== null && "calls" in output;
    const name = plain ? "turn" : SOURCES[word("source", source ?? "text", SOURCES)];
    const data = plain ? turnJson(output) : textOrBytes("output", output);
    return this.#with(options, [...COMPLETION_OPTIONS, ...STREAM_OPTIONS], (core, handle, given) => {
      const reason = ending("finish", given.finish);
      return core.written((buffer) => core.lend(writing(name, given), (at, len) => core.lend(data, (text, textLen) => (
        core.x.toolglot_wasm_completion(this.#engine, handle, at, len, text, textLen, reason, buffer)
      ))));
    });
  }

  events(chunks, options) {
    const { source, finish, choice, ...rest } = known("options", options, ["source", "finish", "choice", ...STREAM_OPTIONS]);
    ending("finish", finish);
    const waits = typeof chunks?.[Symbol.asyncIterator] === "function";
    if (!waits && (typeof chunks === "string" || typeof chunks?.[Symbol.iterator] !== "function" || ArrayBuffer.isView(chunks))) {
      throw wrong("chunks: something to iterate over that gives chunks is needed");
    }
    const from = source ?? "text";
    const one = from === "text" ? this.stream(rest) : this.reader(from, { choice, ...rest });
    const end = new End(one, finish ?? undefined);
    return end.tells(waits ? later(one, chunks, end) : now(one, chunks, end));
  }

  restore(snapshot, options) {
    const bytes = bytesOf("snapshot", snapshot, "");
    return this.#with(options, STREAM_OPTIONS, (core, handle) => {
      const [head, parser] = unpack(bytes);
      const raw = this.#raw(core, handle);
      try {
        core.lend(parser, (at, len) => core.check(core.x.toolglot_stream_restore(raw, at, len), "toolglot_stream_error", raw));
      } catch (error) {
        core.drop("toolglot_stream_free", raw);
        throw error;
      }
      return new Stream(PRIVATE, core, raw, this.#keeps(), head, undefined, core.toolIssues(handle));
    });
  }

  parse(text, options) {
    const data = textOrBytes("text", text);
    const finish = options?.finish ?? "stop";
    const native = options?.nativeCalls;
    const guards = flag("guard", options?.guard ?? false);
    const keeps = flag("original", options?.original ?? false);
    word("finish", finish, FINISH);
    return this.#with(options, ["finish", "nativeCalls", "guard", "original", ...STREAM_OPTIONS], (core, handle) => {
      const turn = core.made(core.x.toolglot_turn_new(core.out));
      let stream = null;
      try {
        if (guards) core.check(core.x.toolglot_turn_guard(turn, this.#engine), "toolglot_turn_error", turn);
        if (keeps) core.check(core.x.toolglot_turn_keep_original(turn, 1), "toolglot_turn_error", turn);
        stream = this.#stream(core, handle, undefined, turn);
        const issues = stream.feed(data);
        if (native !== undefined && native !== null) issues.push(...stream.nativeCalls(native));
        issues.push(...stream.finish(finish), ...hints(core, turn, handle));
        return turnOf(core, turn, issues, stream.toolIssues);
      } finally {
        stream?.free();
        core.drop("toolglot_turn_free", turn);
      }
    });
  }

  encode(calls, dialect) {
    const core = this.#own.get();
    const list = (Array.isArray(calls) ? calls : [calls]).map((call, at) => toolCall(`calls[${at}]`, call));
    const id = string("dialect", dialect ?? this.dialects[0]);
    return core.written((buffer) => core.lend(id, (at, len) => core.lend(toJson("calls", list), (calls, callsLen) => (
      core.x.toolglot_encode(this.#engine, this.#options, at, len, calls, callsLen, buffer)
    ))));
  }

  escape(text) {
    return this.#convert("toolglot_escape", text);
  }

  unescape(text) {
    return this.#convert("toolglot_unescape", text);
  }

  get dialects() {
    return this.describe().map((dialect) => dialect.id);
  }

  get tools() {
    return [...this.#told().tools];
  }

  get toolIssues() {
    return [...this.#told().toolIssues];
  }

  get lints() {
    return [...this.#told().lints];
  }

  get bound() {
    return this.#told().bound;
  }

  describe() {
    return structuredClone(this.#told().dialects);
  }

  free() {
    this.#own.free();
  }

  #keeps() {
    return this.#given.retain !== "none";
  }

  #told() {
    const core = this.#own.get();
    const ask = (buffer) => core.x.toolglot_wasm_about(this.#engine, this.#options, buffer);
    return (this.#about ??= JSON.parse(core.written(ask)));
  }

  #stream(core, options, head, turn) {
    return new Stream(PRIVATE, core, this.#raw(core, options), this.#keeps(), head, turn, core.toolIssues(options));
  }

  #raw(core, options) {
    return core.made(core.x.toolglot_stream_new(this.#engine, options, core.out));
  }

  #convert(way, text) {
    const core = this.#own.get();
    const data = textOrBytes("text", text);
    const of = typeof data === "string" ? undefined : (at, len) => core.bytes(at, len);
    return core.written((buffer) => core.lend(data, (at, len) => core.x[way](this.#engine, at, len, buffer)), of);
  }

  /** Runs `step` with the engine's options, or with a copy in which the stream's own options replace them. */
  #with(options, names, step) {
    const core = this.#own.get();
    const given = known("options", options, names);
    const { start, promptTail, tools, toolChoice } = given;
    if ((start ?? promptTail ?? tools ?? toolChoice ?? null) === null) return step(core, this.#options, given);
    const handle = core.options({ start, promptTail, tools, toolChoice }, this.#given);
    try {
      return step(core, handle, given);
    } finally {
      core.drop("toolglot_options_free", handle);
    }
  }
}

/** What the loop over the events of a response can ask afterwards: what could not be read, and why it ended. */
class End {
  #one;
  #left = null;

  constructor(one, finish) {
    this.#one = one;
    this.finish = finish;
  }

  get #now() {
    const { errors = [], reason = this.#one.finished ? (this.finish ?? "stop") : null } = this.#one;
    return { errors, reason };
  }

  /** Keeps the answers, and frees the stream. */
  free() {
    try {
      this.#left = this.#now;
    } finally {
      this.#one.free();
    }
  }

  tells(events) {
    const answer = (name) => ({ get: () => (this.#left ?? this.#now)[name], enumerable: true });
    return Object.defineProperties(events, { errors: answer("errors"), reason: answer("reason") });
  }
}

/** The events of synchronous chunks. Leaving the loop early frees the stream. */
function* now(one, chunks, end) {
  try {
    for (const chunk of chunks) yield* one.feed(chunk);
    yield* one.finish(end.finish);
  } finally {
    end.free();
  }
}

/** The events of asynchronous chunks. */
async function* later(one, chunks, end) {
  try {
    for await (const chunk of chunks) yield* one.feed(chunk);
    yield* one.finish(end.finish);
  } finally {
    end.free();
  }
}

/** Issues for calls that the text of a finished turn contains but that were not read. */
function hints(core, turn, options) {
  const { x, out } = core;
  core.check(x.toolglot_turn_hint(turn, options), "toolglot_turn_error", turn);
  core.check(x.toolglot_turn_issues(turn, out, out + 4), "toolglot_turn_error", turn);
  const [first, count] = [core.u32[out >>> 2], core.u32[(out >>> 2) + 1]];
  const made = [];
  for (let at = first; at < first + count * ISSUE; at += ISSUE) {
    const kind = core.issue(core.u32[at >>> 2]);
    if (kind !== HINT) continue;
    const message = core.view(at + 8);
    const tool = message.slice(message.indexOf(": ") + 2);
    made.push({
      type: "issue", kind, severity: "warning", message, start: core.offset(at + 32), end: core.offset(at + 40), call: null,
      dialect: "", tool, subject: tool, suggestion: "", observation: core.view(at + 16),
    });
  }
  return made;
}

/** Converts the turn of a handle. */
function turnOf(core, turn, issues, odd) {
  const { x, out } = core;
  const text = (get) => {
    x[get](out, turn);
    return core.view(out);
  };
  const made = { text: text("toolglot_turn_text"), reasoning: text("toolglot_turn_reasoning"), calls: [], issues };
  // The name that the list has in JSON.
  Object.defineProperty(made, "errors", { value: issues });
  core.check(x.toolglot_turn_calls(turn, out, out + 4), "toolglot_turn_error", turn);
  const [first, count] = [core.u32[out >>> 2], core.u32[(out >>> 2) + 1]];
  for (let at = first; at < first + count * CALL; at += CALL) {
    const field = (place) => core.u32[(at + place) >>> 2];
    const flags = field(56);
    const meta = [];
    for (let i = 0; i < field(36); i++) meta.push([core.view(field(32) + 16 * i), core.view(field(32) + 16 * i + 8)]);
    const json = core.view(at + 8);
    made.calls.push(withArguments({
      name: core.view(at), argumentsJson: json, index: field(60), ...graded(flags, core.issues(field(24), field(28))),
      dialect: core.view(at + 16), meta: Object.fromEntries(meta), native: (flags & FLAG.native) !== 0,
      start: core.offset(at + 40), end: core.offset(at + 48),
    }, json));
  }
  core.check(x.toolglot_turn_not_delivered(turn, out), "toolglot_turn_error", turn);
  const left = core.view(out);
  if (left !== "") made.toolglot = JSON.parse(left);
  core.check(x.toolglot_turn_original(turn, out, out + 8), "toolglot_turn_error", turn);
  if (core.u32[(out >>> 2) + 2] === 1) made.original = core.view(out);
  if (odd.length > 0) made.toolIssues = odd;
  return made;
}

if (Symbol.dispose) Object.defineProperty(Engine.prototype, Symbol.dispose, { value: Engine.prototype.free });
