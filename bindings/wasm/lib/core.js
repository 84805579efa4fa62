// An instance of the WebAssembly file, and what the objects made from it share.
//
// Every call into the instance goes through one function. After a panic or any other trap the instance is lost, and every later
// call reports that.

import { LIMITS, ToolglotError, WORDS, choiceText, jsonList, known, present, textOrBytes, word, wrong } from "./words.js";

/** The version of the C interface. */
export const ABI = 1;
/** The size in bytes of the pieces in which chunks are fed. */
export const PIECE = 65536;
/** Strings up to this length are copied here; longer ones are left to the platform. */
export const SHORT = 32;
const CODES = {
  [-1]: "argument", [-2]: "argument", [-3]: "state", [-4]: "memory", [-5]: "internal", [-7]: "internal", [-8]: "limit",
  [-9]: "dialect", [-10]: "internal", [-11]: "snapshot", [-12]: "encode",
};

export const encoder = new TextEncoder();
export const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** One instance of the WebAssembly file: its memory, and the wrapper of its functions. */
export class Core {
  constructor(instance) {
    this.memory = instance.exports.memory;
    this.lost = null;
    this.names = new Map();
    const told = instance.exports.toolglot_wasm_panic;
    /** The message of the last panic. Safe on a trapped instance: it only reads memory. */
    this.panic = () => {
      told(this.out);
      this.look();
      return this.view(this.out);
    };
    this.registry = new FinalizationRegistry((owned) => owned.free());
    this.x = {};
    for (const [name, inner] of Object.entries(instance.exports)) {
      if (typeof inner === "function") this.x[name] = this.door(inner);
    }
    this.look();
    this.x.toolglot_wasm_start();
    // Seeds of hash tables, from the best randomness available.
    const seed = new Uint32Array(2).map(() => Math.random() * 2 ** 32);
    this.x.toolglot_wasm_seed?.(...(globalThis.crypto?.getRandomValues(seed) ?? seed));
    this.out = this.x.toolglot_wasm_alloc(64);
    this.piece = this.x.toolglot_wasm_alloc(PIECE);
    this.look();
    this.buffer = this.made(this.x.toolglot_buffer_new(this.out));
  }

  /** Wraps a function of the instance: turns a trap into an error, and refreshes the views if the memory has moved. */
  door(inner) {
    return (...args) => {
      this.alive();
      try {
        return inner(...args);
      } catch (error) {
        throw this.lose(error);
      } finally {
        if (this.u8.length === 0) this.look();
      }
    };
  }

  /** Creates the views of the memory again. */
  look() {
    this.u8 = new Uint8Array(this.memory.buffer);
    this.u32 = new Uint32Array(this.memory.buffer);
    this.room = this.u8.subarray(this.piece ?? 0, (this.piece ?? 0) + PIECE);
  }

  /** Throws if the instance is lost. */
  alive() {
    if (this.lost !== null) {
      throw new ToolglotError("lost", `this instance of toolglot is lost (${this.lost}); load() another one`);
    }
  }

  /** Marks the instance as lost after a trap. */
  lose(error) {
    this.lost = error.message;
    try {
      this.lost = this.panic() || this.lost;
    } catch {
      // Not a panic, and not only this call failed: a stack overflow, for example.
    }
    const message = `toolglot broke off (${this.lost}); this instance is lost, load() another one`;
    return new ToolglotError("internal", message, { cause: error });
  }

  /** Calls a free function, unless the instance is lost. */
  drop(free, ...args) {
    if (this.lost === null) this.x[free](...args);
  }

  /** Throws for a status other than 0, with the message of the handle's error function. */
  check(status, tell, handle, code) {
    if (status === 0) return;
    let message = "";
    if (tell && handle) {
      this.x[tell](this.out, handle);
      message = this.view(this.out);
    }
    throw new ToolglotError(code ?? CODES[status] ?? "internal", message || this.name("toolglot_status_name", status));
  }

  text(at, len) {
    const u8 = this.u8;
    if (len <= SHORT) {
      let text = "";
      let i = at;
      for (; i < at + len && u8[i] < 0x80; i++) text += String.fromCharCode(u8[i]);
      if (i === at + len) return text;
    }
    return decoder.decode(u8.subarray(at, at + len));
  }

  bytes(at, len) {
    return this.u8.slice(at, at + len);
  }

  /** The text of the view struct at an address. */
  view(at) {
    return this.text(this.u32[at >>> 2], this.u32[(at >>> 2) + 1]);
  }

  /** The offset at an address: exact up to 2^53. */
  offset(at) {
    return this.u32[at >>> 2] + this.u32[(at >>> 2) + 1] * 0x100000000;
  }

  /** The name of a number, from a name function of the interface. */
  name(table, number) {
    const key = `${table} ${number}`;
    let name = this.names.get(key);
    if (name === undefined) {
      const at = this.x[table](number) >>> 0;
      name = this.text(at, this.u8.indexOf(0, at) - at);
      this.names.set(key, name);
    }
    return name;
  }

  issue(code) {
    return this.name("toolglot_issue_name", code);
  }

  /** The issue kinds whose codes are stored at an address, one byte each. */
  issues(at, len) {
    return Array.from(this.bytes(at, len), (code) => this.issue(code));
  }

  /** Copies data into the instance's memory while `step` runs. */
  lend(data, step) {
    const bytes = typeof data === "string" ? encoder.encode(data) : data;
    const at = this.x.toolglot_wasm_alloc(bytes.length) >>> 0;
    if (at === 0) throw new ToolglotError("memory", `there is no memory for ${bytes.length} bytes`);
    this.u8.set(bytes, at);
    try {
      return step(at, bytes.length);
    } finally {
      this.drop("toolglot_wasm_free", at, bytes.length);
    }
  }

  /** What a function writes into the buffer; `of` converts address and length. */
  written(step, of = (at, len) => this.text(at, len)) {
    this.check(step(this.buffer), "toolglot_buffer_error", this.buffer);
    this.x.toolglot_buffer_view(this.out, this.buffer);
    return of(this.u32[this.out >>> 2], this.u32[(this.out >>> 2) + 1]);
  }

  /** Problems in the list of tools of the options. */
  toolIssues(options) {
    const { out } = this;
    this.check(this.x.toolglot_options_tool_issues(options, out, out + 4), "toolglot_options_error", options);
    const [first, count] = [this.u32[out >>> 2], this.u32[(out >>> 2) + 1]];
    return Array.from({ length: count }, (_, at) => this.view(first + 8 * at));
  }

  /** Calls a function that makes a handle, and returns the handle. */
  made(status, tell, handle) {
    this.check(status, tell, handle);
    return this.u32[this.out >>> 2];
  }

  /** Makes an options handle. */
  options(given, base = {}) {
    const x = this.x;
    const options = this.made(x.toolglot_options_new(this.out));
    try {
      const set = (id, value) => this.check(x.toolglot_options_set(options, id, BigInt(value)), "toolglot_options_error", options);
      const all = { ...present(base), ...present(given) };
      set(1, 1);
      for (const [name, [id, words]] of Object.entries(WORDS)) {
        if (all[name] !== undefined) set(id, word(name, all[name], words));
      }
      for (const [name, value] of Object.entries(present(known("limits", all.limits, Object.keys(LIMITS))))) {
        if (!Number.isSafeInteger(value) || value < 0) throw wrong(`limits.${name}: ${value} is not a whole number of at least 0`);
        const status = x.toolglot_options_set(options, LIMITS[name], BigInt(value));
        if (status !== 0) throw wrong(`limits.${name}: ${value} is more than 4294967295`);
      }
      if (all.promptTail !== undefined) {
        this.lend(textOrBytes("promptTail", all.promptTail), (at, len) => {
          this.check(x.toolglot_options_set_prompt_tail(options, at, len), "toolglot_options_error", options);
        });
      }
      if (all.toolChoice !== undefined) {
        this.lend(choiceText("toolChoice", all.toolChoice), (at, len) => {
          this.check(x.toolglot_options_set_tool_choice(options, at, len), "toolglot_options_error", options);
        });
      }
      if (all.tools !== undefined) {
        const json = jsonList("tools", all.tools);
        this.lend(json, (at, len) => {
          this.check(x.toolglot_options_set_tools(options, at, len), "toolglot_options_error", options, "tools");
        });
      }
      return options;
    } catch (error) {
      this.drop("toolglot_options_free", options);
      throw error;
    }
  }
}

/** The handles of an object: freed once, by hand or when the object is collected. */
export class Owned {
  constructor(object, core, what, handles) {
    this.core = core;
    this.what = what;
    this.handles = handles;
    core.registry.register(object, this, this);
  }

  /** The core, if the object is still usable. */
  get() {
    if (this.handles === null) throw new ToolglotError("freed", `the ${this.what} was freed`);
    this.core.alive();
    return this.core;
  }

  free() {
    if (this.handles === null) return;
    const { core, handles } = this;
    this.handles = null;
    core.registry.unregister(this);
    handles.forEach(([free, handle]) => core.drop(free, handle));
  }
}
