// The runs of agents: a list, an editor of the agent, and the view of one run. With a server, the store is that of its agents: the tester
// has another one.
import { CONFIG } from "./discovery.js";
import { h } from "../element/dom.js";
import { RunView } from "./run-view.js";
import { configuration, dialects, preview, switches, taught } from "./setup.js";
import { config } from "./store.js";
import { area, button, field, panel, said, say, select } from "./ui.js";

/** Milliseconds between two looks at the list of runs. */
const LOOK = 2000;

export class Runs {
  #store;
  #backend;
  #agents;
  #served;
  /** What each agent was set to. */
  #configs = new Map();
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
    this.#served = about.tools !== undefined;
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
    const editor = panel("switches", configuration(this.#store), switches(this.#store, { rules: !this.#served }));
    if (this.#served) return [editor, preview(this.#store, { server: () => this.#backend.prompt(this.#wanted()) })];
    const script = area("8", this.#store.script, (text) => (this.#store.script = text), { class: "code" });
    return [editor, panel("agent", field("model script", script)), preview(this.#store)];
  }

  /** Takes the dialect and the configuration of an agent of the server, or what it was set to before. */
  #choose(name) {
    if (this.#agent !== "") this.#configs.set(this.#agent, this.#store.config);
    this.#agent = name;
    const { dialect, tools, config: given = {} } = this.#agents.find((agent) => agent.name === name);
    // What the server does not allow, a run cannot have.
    this.#store.locked = [given.enabled === false && "enabled", given.requireConfirmation && "requireConfirmation"].filter(Boolean);
    const own = config({ ...given, toolIdsInventory: given.enabled === false ? undefined : tools });
    this.#store.set({ dialect, config: this.#configs.get(name) ?? own });
  }

  async start() {
    this.#fault.textContent = "";
    const what = { task: this.#store.task, ...this.#wanted() };
    try {
      this.show({ id: await this.#backend.start(what), task: what.task, state: "running" });
      await this.#refresh();
    } catch (error) {
      this.#fault.textContent = error.message;
    }
  }

  /** What a run is started with, except its task. */
  #wanted() {
    const dialect = taught(this.#store);
    if (this.#agent === "") return { dialect };
    const set = Object.entries(this.#store.config).filter(([name]) => name in CONFIG && !this.#store.locked.includes(name));
    return { agent: this.#agent, dialect, config: Object.fromEntries(set) };
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
    const shown = runs.find(({ id }) => id === this.#view?.id);
    if (shown) this.#view.is(shown);
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
