// Carries out the calls of a reply, or one that a person writes: here in a worker, or on the server. Calls that were recovered from
// broken text are asked about first.
import { h } from "../element/dom.js";
import { execute, toolResult } from "./execute.js";
import { area, button, field, said, select, turn as turnElement, w } from "./ui.js";

export class Calls {
  #store;
  #turn;
  #asked = new Map();
  #told = h("pre", {
    "class": "code preview",
    "tabindex": "0",
    "role": "group",
    "data-label": "results message",
    "aria-label": w("results message"),
    "hidden": true,
  });
  #where = "here";
  #one = turnElement({ keys: true });
  #run = button("execute calls", () => this.#all(), { disabled: true });
  #calls = [];
  #engine = null;
  #counted = 0;

  /** `turn` is the element that shows the reply. */
  constructor(store, turn) {
    this.#store = store;
    this.#turn = turn;
    for (const element of [turn, this.#one]) element.addEventListener("decide", (event) => this.#decided(event));
    const places = [["here", { key: "where here" }], ...(store.backend ? [["server", { key: "where server" }]] : [])];
    const code = area("9", store.functions, (functions) => store.set({ functions }), { class: "code" });
    this.node = h(
      "div",
      { class: "execute" },
      field(
        "where",
        select(places, "here", (place) => (this.#where = place)),
      ),
      said("p", "functions help", { class: "help" }),
      field("functions", code),
      h("div", { class: "row" }, this.#run),
      this.#told,
      said("h4", "execute one"),
      this.#single(),
      this.#one,
    );
  }

  /** The reply has ended with these calls: `{ call, name, argumentsJson, grade, dialect }`. */
  ready(calls, engine) {
    this.#calls = calls;
    this.#engine = engine;
    this.#run.disabled = calls.length === 0;
  }

  clear() {
    this.ready([], null);
    this.#asked.clear();
    this.#told.hidden = true;
  }

  #single() {
    const name = h("select");
    const given = area("3", "{}", () => {}, { class: "code" });
    const fault = h("p", { class: "fault", role: "alert" });
    this.#store.watch(["definitions"], () => {
      const before = name.value;
      name.replaceChildren(...this.#store.tools.map(({ id }) => h("option", { value: id }, id)));
      if ([...name.options].some(({ value }) => value === before)) name.value = before;
    });
    const run = async () => {
      fault.textContent = "";
      try {
        JSON.parse(given.value);
      } catch (error) {
        fault.textContent = error.message;
        return;
      }
      this.#counted += 1;
      const call = { call: `own_${this.#counted}`, name: name.value, argumentsJson: given.value, grade: "complete" };
      this.#one.add([{ event: "stands", id: call.call, name: call.name, arguments: call.argumentsJson }]);
      await this.#carry(this.#one, call);
    };
    return h(
      "div",
      { class: "single" },
      field("tool", name),
      field("arguments", given),
      fault,
      h("div", { class: "row" }, button("run", run)),
    );
  }

  async #all() {
    const calls = this.#calls;
    const engine = this.#engine;
    this.#run.disabled = true;
    const results = [];
    for (const call of calls) results.push(toolResult(call.name, await this.#carry(this.#turn, call)));
    if (engine !== this.#engine || results.length === 0) return;
    const tools = new this.#store.toolglot.Tools();
    this.#told.textContent = tools.results(results, calls[0].dialect, { engine, lang: this.#store.lang }).content;
    this.#told.hidden = false;
    tools.free();
  }

  /** Checks a call, asks about it where that is needed, carries it out, and shows the result. */
  async #carry(turn, { call, name, argumentsJson, grade, dialect }) {
    const settle = (made) => {
      turn.settle(call, made);
      return made;
    };
    let checked = this.#check({ name, argumentsJson, dialect });
    if (!checked.valid) return settle({ state: "failed", result: checked.observation });
    const { requireConfirmation, timeout } = this.#store.config;
    if (grade === "recovered" || requireConfirmation) {
      const reason = grade === "recovered" ? w("recovered asks", name) : "";
      const said = await this.#ask(turn, call, { arguments: checked.arguments, digest: "", reason });
      if (said.decision === "deny") return settle({ state: "denied", result: w("state denied") });
      if (said.arguments !== undefined) {
        checked = this.#check({ name, argumentsJson: JSON.stringify(said.arguments), dialect });
        if (!checked.valid) return settle({ state: "failed", result: checked.observation });
      }
    }
    const given = checked.arguments;
    turn.settle(call, { state: "running" });
    if (this.#where === "server") return settle(await this.#onServer(turn, call, checked.tool, given));
    return settle(await execute(this.#store.functions, checked.tool, given, { limit: timeout, w }));
  }

  #check(call) {
    const tools = new this.#store.toolglot.Tools({ tools: this.#store.tools });
    try {
      return tools.check(call);
    } finally {
      tools.free();
    }
  }

  async #onServer(turn, call, tool, given, approved) {
    const began = performance.now();
    try {
      const { state, result } = await this.#store.backend.call(tool, given, approved);
      const content = result?.content ?? result;
      return { state, result: content, ms: result?.duration_ms ?? Math.round(performance.now() - began) };
    } catch (error) {
      if (error.code !== "needs_confirmation" || approved !== undefined) return { state: "failed", result: error.message };
      // What the server would run: its digest is of these arguments.
      const shown = error.shown ?? given;
      const said = await this.#ask(turn, call, { arguments: shown, digest: error.digest, reason: w("needs approval") });
      if (said.decision === "deny") return { state: "denied", result: w("state denied") };
      turn.settle(call, { state: "running" });
      // Edited arguments have another digest: the server checks them, and asks again.
      if (said.arguments !== undefined) return this.#onServer(turn, call, tool, said.arguments);
      return this.#onServer(turn, call, tool, given, error.digest);
    }
  }

  #ask(turn, call, what) {
    turn.confirm(call, what);
    return new Promise((resolve) => this.#asked.set(call, resolve));
  }

  #decided({ detail }) {
    this.#asked.get(detail.call)?.(detail);
    this.#asked.delete(detail.call);
  }
}
