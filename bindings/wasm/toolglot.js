// toolglot for Node and browsers: a typed wrapper of toolglot.wasm. Types are in toolglot.d.ts, the manual is docs/WASM.md.
//
// The WebAssembly file exports the C interface, and these files use it like any other host: handles are numbers, chunks are
// written into linear memory, and events are structs read from there.

import { Toolglot, loader } from "./lib/load.js";

export { Calls } from "./lib/calls.js";
export { Engine } from "./lib/engine.js";
export { Reader, Rewriter, toOpenAI } from "./lib/reader.js";
export { Stream } from "./lib/stream.js";
export { ToolglotError } from "./lib/words.js";

/** Loads an instance. See toolglot.d.ts. */
export const load = loader("toolglot.wasm", "toolglot_wasm_start", (core) => new Toolglot(core));
