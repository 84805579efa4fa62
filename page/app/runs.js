// The runs of agents: a list, an editor of the agent, and the view of one run.
import { h } from "../element/dom.js";
import { RunView } from "./run-view.js";
import { configuration, dialects, preview, switches, taught } from "./setup.js";
import { area, button, field, panel, said, say, select } from "./ui.js";

/** Milliseconds between two looks at the list of runs. */
const LOOK = 2000;

export class Runs {
  #store;
  #backend;
  #agents;
  /** The tools of the server, which are the only ones that its runs can have. */
  #served;
  #main;
  #list = h("ul", { class: "list" });
  #none = said("p", "no runs", { class: "help" });
  #fault = h("p", { class: "fault", role: "alert" });
  #view = null;
  #agent = "";

  /** `backend` is a `Server` or an `Offline`; `about` what the server says about itself. */
  constructor(store, backend, about, { side, main }) {
    this.#store = store;
    this.#backend = backend;
    this.#agents = about.agents ?? [];
    this.#main = main;
    this.#served = about.tools ? new Set(about.tools.map(({ id, name }) => id ?? name)) : null;
    if (this.#agents.length > 0) this.#choose(this.#agents[0].name);
    side.append(this.#form(), panel("list of runs", this.#none, this.#list), ...this.#editor());
    main.append(said("p", "choose run", { class: "empty" }));
    document.addEventListener("keydown", (event) => this.#key(event));
    void this.#refresh();
    setInterval(() => !main.closest(".view").hidden && document.visibilityState === "visible" && void this.#refresh(), LOOK);
  }

  get view() {
    return this.#view;
  }

  #form() {
    const task = area("3", this.#store.task, (text) => (this.#store.task = text));
    task.addEventListener("keydown", (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && void this.start());
    const options = this.#agents.map(({ name, model }) => [name, model ? `${name} (${model})` : name]);
    const agent =
      options.length > 0
        ? field(
            "agent",
            select(options, this.#agent, (name) => this.#choose(name)),
          )
        : null;
    const known = dialects(this.#store.toolglot).map(({ id }) => [id, id]);
    const dialect = select(known, taught(this.#store), (id) => this.#store.set({ dialect: id }));
    this.#store.watch(["dialect"], () => (dialect.value = taught(this.#store)));
    return panel(
      "new run",
      ...[agent].filter(Boolean),
      field("dialect", dialect),
      field("task field", task),
      this.#fault,
      h(
        "div",
        { class: "row" },
        button("start", () => this.start(), { class: "main" }),
      ),
    );
  }

  #editor() {
    const offline = this.#store.backend === null;
    const script = area("8", this.#store.script, (text) => (this.#store.script = text), { class: "code" });
    const parts = [panel("switches", ...(offline ? [configuration(this.#store)] : []), switches(this.#store, { rules: offline }))];
    if (offline) parts.push(panel("agent", field("model script", script)));
    return [...parts, preview(this.#store)];
  }

  /** Takes the dialect and the tools of an agent of the server. */
  #choose(name) {
    this.#agent = name;
    const { dialect, tools } = this.#agents.find((agent) => agent.name === name);
    const toolToggles = Object.fromEntries(this.#store.tools.map(({ id }) => [id, tools.includes(id)]));
    this.#store.set({ dialect, config: { ...this.#store.config, toolToggles } });
  }

  async start() {
    this.#fault.textContent = "";
    const what = { task: this.#store.task, dialect: taught(this.#store), tools: this.#tools() };
    if (this.#agent !== "") what.agent = this.#agent;
    try {
      this.show({ id: await this.#backend.start(what), task: what.task });
      await this.#refresh();
    } catch (error) {
      this.#fault.textContent = error.message;
    }
  }

  #tools() {
    const ids = this.#store.offered.map(({ id }) => id);
    return this.#served === null ? ids : ids.filter((id) => this.#served.has(id));
  }

  /** Shows a run. */
  show(entry) {
    this.#view?.close();
    this.#view = new RunView(this.#backend, entry, () => void this.#refresh());
    this.#main.replaceChildren(this.#view.node);
    this.#mark();
  }

  async #refresh() {
    let runs = [];
    try {
      runs = await this.#backend.runs();
    } catch {
      // The list stays as it was; the view of the run tells about the connection.
      return;
    }
    this.#none.hidden = runs.length > 0;
    const focused = document.activeElement?.dataset?.run;
    this.#list.replaceChildren(...runs.map((entry) => this.#row(entry)));
    if (focused) this.#list.querySelector(`[data-run="${CSS.escape(focused)}"]`)?.focus();
    this.#mark();
  }

  #row(entry) {
    const state = h("span", { class: `state ${entry.state}` });
    say(state, `run ${entry.state}`);
    return h(
      "li",
      {},
      h(
        "button",
        { "type": "button", "class": "entry", "data-run": entry.id, "on": { click: () => this.show(entry) } },
        h("span", { class: "task" }, entry.task),
        state,
      ),
    );
  }

  #mark() {
    for (const node of this.#list.querySelectorAll("button")) {
      if (node.dataset.run === this.#view?.id) node.setAttribute("aria-current", "true");
      else node.removeAttribute("aria-current");
    }
  }

  /** Keys count in this view, wherever the focus is, except where one writes. */
  #key(event) {
    const writes = event.composedPath()[0].closest?.("textarea, input, select");
    if (event.defaultPrevented || writes || event.ctrlKey || event.metaKey || event.altKey || this.#main.closest(".view").hidden)
      return;
    if (this.#view?.key(event.key, event.shiftKey)) event.preventDefault();
  }
}
