// Dialects from chat templates.

import { ENGINE_OPTIONS, flag, jsonList, known, string, textOrBytes, toJson, wrong } from "./words.js";

/** What was derived from a chat template. */
export class Derived {
  #core;
  #Engine;
  #template;
  #variables;

  constructor(core, Engine, { template, variables, ...told }) {
    this.#core = core;
    this.#Engine = Engine;
    this.#template = template;
    this.#variables = variables;
    Object.assign(this, told);
  }

  engine(options) {
    const given = known("options", options, ENGINE_OPTIONS);
    for (const fixed of ["dialects", "toml"]) {
      if ((given[fixed] ?? null) !== null) throw wrong(`options: ${fixed} come from the template; make an Engine for others`);
    }
    return new this.#Engine({ ...given, ...(this.toml === null ? { dialects: this.dialects } : { toml: this.toml }) });
  }

  render(messages, options) {
    const { tools, generate } = known("options", options, ["tools", "generate"]);
    const core = this.#core;
    const said = JSON.stringify({
      messages: JSON.parse(jsonList("messages", messages)),
      tools: (tools ?? null) === null ? null : JSON.parse(jsonList("tools", tools)),
      generate: flag("generate", generate ?? true),
      variables: this.#variables,
      now: Math.floor(Date.now() / 1000),
    });
    return core.written((buffer) => core.lend(this.#template, (at, len) => core.lend(said, (text, textLen) => (
      core.x.toolglot_wasm_render(at, len, text, textLen, buffer)
    ))));
  }
}

/** Derives the dialects of a chat template. */
export function derive(core, Engine, template, options) {
  const data = textOrBytes("template", template);
  const { variables, own, id } = known("options", options, ["variables", "own", "id"]);
  const given = toJson("variables", {
    variables: known("variables", variables, Object.keys(variables ?? {})),
    own: flag("own", own ?? false),
    id: string("id", id ?? "derived"),
  });
  const told = core.written((buffer) => core.lend(data, (at, len) => core.lend(given, (text, textLen) => (
    core.x.toolglot_wasm_derive(at, len, text, textLen, buffer)
  ))));
  return new Derived(core, Engine, JSON.parse(told));
}
