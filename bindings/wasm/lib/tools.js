// Tools: the prompt that declares them, the validation of calls, and the rendering of results.

import { Owned } from "./core.js";
import { PRIVATE } from "./stream.js";
import { kind, known, string, toJson, toolCall, word, wrong } from "./words.js";

export const LANG = ["en", "zh"];
/** Members of manifest entries; other members of a definition are kept as `extra`. */
const MEMBERS = ["description", "parameters", "displayName", "aliases", "tags", "usage", "examples", "commands"];

/** Copies several texts into the instance's memory while `step` runs. */
function lendAll(core, texts, step) {
  const [first, ...rest] = texts;
  if (first === undefined) return step();
  return core.lend(first, (at, len) => lendAll(core, rest, (...more) => step(at, len, ...more)));
}

export class Tools {
  #own;
  #engines;
  #functions = new Map();
  #names;

  constructor(core, Engine, tools) {
    const handle = core.made(core.x.toolglot_tools_new(core.out));
    this.#own = new Owned(this, core, "tools", [["toolglot_tools_free", handle]]);
    this.handle = handle;
    this.#engines = new Map();
    this.Engine = Engine;
    try {
      for (const one of tools) this.#read(one);
      this.#names = JSON.parse(this.#json(1)).tools.map((tool) => tool.id);
    } catch (error) {
      this.free();
      throw error;
    }
  }

  #read(one) {
    if (typeof one === "string") return this.#add(one);
    if (one instanceof Tools) {
      for (const [name, run] of one.#functions) this.#functions.set(name, run);
      return this.#add(one.#json(1));
    }
    if (Array.isArray(one)) return one.forEach((inner) => this.#read(inner));
    if (typeof one !== "object" || one === null) throw wrong(`tools: a definition or a list of them is needed, not ${kind(one)}`);
    if (Array.isArray(one.tools)) return one.tools.forEach((inner) => this.#read(inner));
    if (typeof one.run !== "function" && (one.function || one.inputSchema || one.input_schema || one.id)) {
      return this.#add(toJson("tools", one.inputSchema || one.id ? { tools: [one] } : [one]));
    }
    const { name, run, parameters, ...more } = one;
    string("tools: name", name);
    if (run !== undefined && typeof run !== "function") throw wrong(`tools: ${name}.run: a function is needed, not ${kind(run)}`);
    const entry = { id: name, agentCallable: true, extra: {} };
    for (const [key, value] of Object.entries(more)) (MEMBERS.includes(key) ? entry : entry.extra)[key] = value;
    const schema = schemaOf(parameters ?? one.inputSchema);
    delete entry.extra.inputSchema;
    if (schema !== undefined) entry.parameters = schema;
    this.#add(toJson(`tools: ${name}`, { tools: [entry] }));
    if (run) this.#functions.set(name, run);
  }

  #add(json) {
    const core = this.#own.get();
    core.lend(json, (at, len) => {
      core.check(core.x.toolglot_tools_add(this.handle, at, len), "toolglot_tools_error", this.handle, "tools");
    });
  }

  #json(form) {
    const core = this.#own.get();
    return core.written((buffer) => core.x.toolglot_tools_json(this.handle, form, buffer));
  }

  get names() {
    return [...this.#names];
  }

  get definitions() {
    return JSON.parse(this.#json(0));
  }

  /** The complete definitions. */
  manifest() {
    return this.#json(1);
  }

  function(name) {
    return this.#functions.get(name) ?? null;
  }

  /** The engine of a built-in dialect; throws `dialect` for any other. */
  engine(dialect) {
    if (!this.#engines.has(dialect)) this.#engines.set(dialect, new this.Engine(dialect));
    return this.#engines.get(dialect);
  }

  prompt(dialect, options) {
    const { engine, lang } = known("options", options, ["engine", "lang"]);
    const core = this.#own.get();
    const one = (engine ?? this.engine(string("dialect", dialect))).handles(PRIVATE);
    const words = word("lang", lang ?? "en", LANG);
    return core.written((buffer) => core.lend(dialect, (at, len) => (
      core.x.toolglot_tools_prompt(this.handle, one.engine, at, len, words, buffer)
    )));
  }

  check(what, options) {
    const { dialect } = known("options", options, ["dialect"]);
    if (Array.isArray(what?.calls)) return what.calls.map((call) => this.#check(call, dialect));
    return this.#check(what, dialect);
  }

  #check(call, dialect) {
    const core = this.#own.get();
    const { function: made } = toolCall("call", call);
    const own = call.dialect || dialect || "";
    let engine = 0;
    try {
      engine = own === "" ? 0 : this.engine(own).handles(PRIVATE).engine;
    } catch (error) {
      // For a dialect of the host's own, observations use the common wording.
      if (error.code !== "dialect") throw error;
    }
    const text = core.written((buffer) => lendAll(core, [own, made.name, made.arguments], (...places) => (
      core.x.toolglot_tools_check(this.handle, engine, ...places, buffer)
    )));
    const { name, tool, valid, arguments: given, observation, changes, violations } = JSON.parse(text);
    return { name, tool, valid, arguments: given, observation, recovered: Boolean(call.recovered), changes, violations };
  }

  results(results, dialect, options) {
    const { engine, lang } = known("options", options, ["engine", "lang"]);
    const core = this.#own.get();
    const one = (engine ?? this.engine(string("dialect", dialect))).handles(PRIVATE);
    const words = word("lang", lang ?? "en", LANG);
    const given = toJson("results", [...results].map((result) => ({ ...result, content: content(result.content) })));
    return JSON.parse(core.written((buffer) => lendAll(core, [dialect, given], (at, len, text, textLen) => (
      core.x.toolglot_results(one.engine, at, len, words, text, textLen, buffer)
    ))));
  }

  free() {
    this.#own.free();
    for (const engine of this.#engines.values()) engine.free();
    this.#engines.clear();
  }
}

/** JSON Schema from a plain schema, or from an object of a library that can export its schema. */
function schemaOf(given) {
  if (given === undefined || given === null) return undefined;
  if (typeof given.toJSONSchema === "function") return given.toJSONSchema();
  const standard = given["~standard"]?.jsonSchema?.input;
  if (typeof standard === "function") return standard({ target: "draft-2020-12" });
  return given.jsonSchema ?? given;
}

/** The return value of a tool, as results hold it: text, parts as MCP writes them, or any JSON value. */
export function content(value) {
  if (value === undefined || value === null || typeof value === "string") return value ?? null;
  if (Array.isArray(value.content) && value.content.every((part) => typeof part?.type === "string")) return value.content;
  return [{ type: "json", json: JSON.parse(toJson("result", value)) }];
}

