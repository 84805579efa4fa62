// toolglot with tools and agents: a typed wrapper of toolglot-agent.wasm, which includes all of toolglot.wasm. Types are in
// agent.d.ts, the manual is docs/WASM.md.

import { Agent, Run } from "./lib/agent.js";
import { derive } from "./lib/derive.js";
import { Toolglot, loader } from "./lib/load.js";
import { middleware } from "./lib/middleware.js";
import { Tools } from "./lib/tools.js";

export * from "./toolglot.js";
export { Agent, Run, Task } from "./lib/agent.js";
export { Derived } from "./lib/derive.js";
export { Tools } from "./lib/tools.js";

/** An instance of the WebAssembly file. */
class Agents extends Toolglot {
  constructor(core) {
    super(core);
    const { Engine } = this;
    this.Tools = class extends Tools {
      constructor(...tools) {
        super(core, Engine, tools);
      }
    };
    const Own = this.Tools;
    this.Agent = class extends Agent {
      constructor(options) {
        super(core, Engine, Own, options);
      }
    };
    this.derive = (template, options) => derive(core, Engine, template, options);
    Engine.forTemplate = (template, options) => {
      const { variables, own, ...rest } = options ?? {};
      return this.derive(template, { variables, own }).engine(rest);
    };
    this.middleware = (options) => middleware(Engine, Own, options);
    for (const name of ["Tools", "Agent"]) Object.defineProperty(this[name], "name", { value: name });
  }
}

/** Loads an instance. See agent.d.ts. */
export const load = loader("toolglot-agent.wasm", "toolglot_agent_new", (core) => new Agents(core));
