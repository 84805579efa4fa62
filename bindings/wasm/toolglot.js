// toolglot for Node and browsers: the typed face of toolglot.wasm. Shapes are in toolglot.d.ts, the manual is docs/WASM.md.
//
// The WebAssembly file exports the C interface, and these files are a host of it like any other: handles are numbers,
// chunks are written into linear memory, events are structs that are read there.

import { Toolglot, loader } from "./lib/load.js";

export { Calls } from "./lib/calls.js";
export { Engine } from "./lib/engine.js";
export { Reader, Rewriter, toOpenAI } from "./lib/reader.js";
export { Stream } from "./lib/stream.js";
export { ToolglotError } from "./lib/words.js";

/** Loads an instance. See toolglot.d.ts. */
export const load = loader("toolglot.wasm", "toolglot_wasm_start", (core) => new Toolglot(core));
