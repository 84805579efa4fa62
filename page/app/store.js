// What the views of the page share, and the news that it has changed.
import { CONFIG, offered, read } from "./discovery.js";
import { DEFINITIONS, FUNCTIONS, REPLIES, SCRIPT, TASK } from "./examples.js";

/** What a link holds. Functions are not among it: nobody should run what came with a link. */
const SHARED = ["definitions", "config", "dialect", "lang", "reply", "chunk", "delay", "finish"];

export class Store extends EventTarget {
  definitions = DEFINITIONS;
  config = { ...CONFIG };
  /** The id of a dialect, `default` or `detect`. */
  dialect = "detect";
  /** The language of prompts. */
  lang = "en";
  reply = Object.values(REPLIES)[0];
  /** Bytes of a chunk; 0 is the whole reply. */
  chunk = 4;
  delay = 40;
  finish = "stop";
  functions = FUNCTIONS;
  task = TASK;
  script = SCRIPT;
  /** Rules of the agent by the id of a tool: `allow`, `confirm` or `deny`. */
  rules = { "harbour:book_berth": "confirm", "notes:append": "confirm" };
  tools = [];
  fault = "";
  /** Members of the configuration that cannot be changed here. */
  locked = [];

  constructor(toolglot, backend) {
    super();
    this.toolglot = toolglot;
    this.backend = backend;
    this.#read();
  }

  #read() {
    const { tools, fault } = read(this.toolglot, this.definitions);
    this.tools = tools;
    this.fault = fault;
  }

  /** Changes members and tells it; `event.detail` are their names. */
  set(changes) {
    Object.assign(this, changes);
    if ("definitions" in changes) this.#read();
    this.dispatchEvent(new CustomEvent("change", { detail: Object.keys(changes) }));
  }

  /** Calls a function now, and whenever one of these members changes. */
  watch(names, step) {
    this.addEventListener("change", ({ detail }) => names.some((name) => detail.includes(name)) && step());
    step();
  }

  configure(changes) {
    this.set({ config: { ...this.config, ...changes } });
  }

  toggle(id, on) {
    this.configure({ toolToggles: { ...this.config.toolToggles, [id]: on } });
  }

  get offered() {
    return offered(this.tools, this.config);
  }

  get state() {
    return Object.fromEntries(SHARED.map((name) => [name, this[name]]));
  }

  /** Takes over a state that came with a link: members of the right type, and nothing else. */
  load(state) {
    const fits = (name) => typeof state[name] === typeof this[name] && state[name] !== null;
    const changes = Object.fromEntries(SHARED.filter(fits).map((name) => [name, state[name]]));
    if (changes.config) changes.config = config(changes.config);
    this.set(changes);
  }
}

/** A configuration with the members that there are, each of its type. */
export function config(given) {
  const right = Object.keys(CONFIG).filter((name) => typeof given[name] === typeof CONFIG[name] && given[name] !== null);
  const made = { ...CONFIG, ...Object.fromEntries(right.map((name) => [name, given[name]])) };
  const { toolIdsInventory: granted } = given;
  if (Array.isArray(granted)) made.toolIdsInventory = granted.filter((id) => typeof id === "string");
  made.toolToggles = Object.fromEntries(Object.entries(made.toolToggles).filter(([, on]) => typeof on === "boolean"));
  return made;
}
