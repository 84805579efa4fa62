// Loads an instance of a WebAssembly file, and defines its class.

import { ABI, Core } from "./core.js";
import { Engine } from "./engine.js";
import { ToolglotError, bytesOf, known, string, textOrBytes, wrong } from "./words.js";

/** An instance of the WebAssembly file. */
export class Toolglot {
  #core;

  constructor(core) {
    this.#core = core;
    this.Engine = class extends Engine {
      constructor(options) {
        super(core, options);
      }
    };
    Object.defineProperty(this.Engine, "name", { value: "Engine" });
  }

  get version() {
    return this.#core.name("toolglot_version", 0);
  }

  dialects() {
    return JSON.parse(this.#core.written((buffer) => this.#core.x.toolglot_wasm_dialects(buffer)));
  }

  modelDialects(name) {
    const core = this.#core;
    const text = string("name", name);
    return JSON.parse(core.written((buffer) => core.lend(text, (at, len) => core.x.toolglot_wasm_model(at, len, buffer))));
  }

  dialectToml(id) {
    const core = this.#core;
    const name = string("id", id);
    return core.written((buffer) => core.lend(name, (at, len) => core.x.toolglot_wasm_dialect_toml(at, len, buffer)));
  }

  detect(text, options) {
    const core = this.#core;
    const data = textOrBytes("text", text);
    const given = known("options", options, ["tools"]);
    const handle = core.options(given);
    try {
      const ask = (buffer) => core.lend(data, (at, len) => core.x.toolglot_wasm_detect(handle, at, len, buffer));
      return JSON.parse(core.written(ask));
    } finally {
      core.drop("toolglot_options_free", handle);
    }
  }

  get liveStreams() {
    return this.#core.x.toolglot_live_streams();
  }

  get memoryBytes() {
    return this.#core.memory.buffer.byteLength;
  }
}

async function compiled(source) {
  if (source instanceof WebAssembly.Module) return source;
  if (typeof Response === "function" && source instanceof Response) {
    if (!source.ok) throw new ToolglotError("load", `load: ${source.url} answers ${source.status}`);
    return WebAssembly.compile(await source.arrayBuffer());
  }
  if (source instanceof URL || typeof source === "string") {
    const url = at(source);
    if (url.protocol !== "file:") return compiled(await fetch(url));
    const { readFile } = await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:fs/promises");
    return WebAssembly.compile(await readFile(url));
  }
  return WebAssembly.compile(bytesOf("load", source, "a URL, WebAssembly.Module, Response, "));
}

function at(source) {
  try {
    return new URL(source, globalThis.location?.href);
  } catch {
    throw wrong(`load: '${source}' is no URL; where there is no page, give a file: URL or the bytes`);
  }
}

/** Returns a function that loads instances of a file, which is compiled once; `make` wraps the core of each. */
export function loader(file, wants, make) {
  let beside = null;
  return async function load(source) {
    let module;
    try {
      if (source === undefined || source === null) {
        beside ??= compiled(new URL(`../${file}`, import.meta.url));
        module = await beside;
      } else {
        module = await compiled(await source);
      }
    } catch (error) {
      if (source === undefined || source === null) beside = null;
      throw error instanceof ToolglotError ? error : new ToolglotError("load", `load: ${error.message}`, { cause: error });
    }
    const instance = await WebAssembly.instantiate(module, {});
    if (instance.exports.toolglot_abi_version?.() !== ABI || !instance.exports[wants]) {
      throw new ToolglotError("load", `load: this is not the ${file} that belongs to these files`);
    }
    return make(new Core(instance));
  };
}
