// <toolglot-turn>: shows the reply of a model while it is written. docs/PAGE.md is its manual.
//
// Events wait in a queue until the next frame, and a frame takes only as many as fit a few milliseconds. So the page stays responsive,
// however much arrives at once.
import { h, translate } from "./dom.js";
import { Flow } from "./flow.js";
import { converter } from "./lines.js";
import { sheet } from "./style.js";
import { words } from "../words.js";

/** Milliseconds of script in a frame, and events between two looks at the clock. */
const BUDGET = 8;
const STEP = 64;

export class ToolglotTurn extends HTMLElement {
  static observedAttributes = ["lang"];

  #root = this.attachShadow({ mode: "open" });
  #body = h("div", { class: "turn", role: "group" });
  #status = h("p", { class: "hidden", role: "status" });
  #flow;
  #ours;
  #news = [];
  #queue = [];
  #at = 0;
  #dirty = new Set();
  #frame = 0;
  #ends = false;
  #view;

  constructor() {
    super();
    this.#root.adoptedStyleSheets = [sheet()];
    this.#root.append(this.#body, this.#status);
    this.#view = {
      w: (...key) => words(this)(...key),
      dirty: (text) => this.#dirty.add(text),
      said: (card) => this.#said(card),
      decide: (card, decision, edited) => this.#decide(card, decision, edited),
    };
    this.addEventListener("keydown", (event) => this.#key(event));
    this.clear();
  }

  connectedCallback() {
    this.#label();
  }

  attributeChangedCallback() {
    this.#label();
    translate(this.#root, this.#view.w);
  }

  /** Shows events: those of one `feed`, or any list of them. */
  add(events) {
    this.#queue.push(...(events.length < 10000 ? events : []));
    if (events.length >= 10000) this.#queue = this.#queue.concat(events);
    this.#soon();
  }

  /** The reply is over: what it has not finished never will be. */
  end() {
    this.#ends = true;
    this.#soon();
  }

  /** Shows everything that waits, now. */
  flush() {
    this.#work(Infinity);
  }

  /** Empties the element. */
  clear() {
    this.#queue = [];
    this.#at = 0;
    this.#dirty.clear();
    this.#ends = false;
    this.#body.replaceChildren();
    this.#body.setAttribute("aria-busy", "true");
    this.#status.textContent = "";
    this.#news = [];
    this.#ours = converter();
    this.#flow = new Flow(this.#body, this.#view);
  }

  /** The calls: `{ id, name, state }`. The id is the number of a stream's call, or the id of a run's. */
  get calls() {
    return this.#flow.all.map(({ call, name, state }) => ({ id: call, name, state }));
  }

  /** Whether events wait for a frame. */
  get pending() {
    return this.#at < this.#queue.length || this.#dirty.size > 0;
  }

  /**
   * Tells what became of a call: `state` is `running`, `done`, `failed`, `timed_out`, `denied`, `cancelled` or `not_run`; `result` is text or a
   * value, `ms` how long it took, `progress` a piece of output.
   */
  settle(id, { state, result, ms = null, progress }) {
    this.flush();
    const card = this.#flow.call(id);
    if (card === null) return;
    if (progress !== undefined) card.progress(progress);
    if (state !== undefined) card.set(state);
    if (result !== undefined) card.result(result, ms);
    this.#soon();
  }

  /** Asks a person about a call; the answer is the event `decide`. */
  confirm(id, { arguments: given, digest, reason }) {
    this.flush();
    this.#flow.call(id)?.confirm({ arguments: given, digest, reason });
    this.#soon();
  }

  /** Tells that a decision was not accepted. */
  refuse(id, message) {
    this.#flow.call(id)?.refused(message);
  }

  /** Decides on a call: `approve`, `deny`, or `edit` to open its editor. Without an id: on the one with the focus, else the first. */
  decide(decision, id) {
    const card = id === undefined ? this.#chosen() : this.#waiting().find(({ call }) => call === id);
    if (card === undefined) return false;
    if (decision === "edit") card.edit();
    else this.#decide(card, decision);
    return true;
  }

  /** Moves the focus to the first call that waits. */
  focusWaiting() {
    this.#waiting()[0]?.focus();
  }

  #waiting() {
    return this.#flow.all.filter((card) => card.state === "waiting");
  }

  #chosen() {
    const waiting = this.#waiting();
    const focused = this.#root.activeElement;
    return waiting.find((card) => focused !== null && card.node.contains(focused)) ?? waiting[0];
  }

  #decide(card, decision, edited) {
    const detail = { call: card.call, name: card.name, digest: card.digest, decision };
    if (edited !== undefined) detail.arguments = edited;
    this.dispatchEvent(new CustomEvent("decide", { detail, bubbles: true, composed: true }));
  }

  #key(event) {
    if (!this.hasAttribute("keys") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.composedPath()[0].closest?.("textarea, input, select")) return;
    const all = event.shiftKey && event.key.toLowerCase() === "a";
    const word = all ? "all" : { a: "approve", d: "deny", e: "edit" }[event.key];
    if (word === undefined || this.#waiting().length === 0) return;
    event.preventDefault();
    event.stopPropagation();
    if (word === "all") for (const card of this.#waiting()) this.#decide(card, "approve");
    else this.decide(word);
  }

  #said(card) {
    // What several calls became at once is said together: only the last text of a region is read out.
    if (this.#news.length === 0) setTimeout(() => (this.#news = []));
    this.#news.push(`${card.name}: ${this.#view.w(`state ${card.state}`)}`);
    this.#status.textContent = this.#news.join(". ");
    const detail = { call: card.call, name: card.name, state: card.state };
    this.dispatchEvent(new CustomEvent("callstate", { detail, bubbles: true, composed: true }));
  }

  #label() {
    this.#body.setAttribute("aria-label", this.#view.w("reply"));
  }

  #soon() {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#work(BUDGET));
  }

  #work(budget) {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const until = performance.now() + budget;
    const queue = this.#queue;
    while (this.#at < queue.length) {
      const stop = Math.min(queue.length, this.#at + STEP);
      while (this.#at < stop) {
        this.#flow.event(this.#ours(queue[this.#at]));
        this.#at += 1;
      }
      if (performance.now() > until) break;
    }
    if (this.#at === queue.length) {
      this.#queue = [];
      this.#at = 0;
      if (this.#ends) {
        this.#flow.end();
        this.#body.setAttribute("aria-busy", "false");
      }
    }
    // Painting may append to the set, for a text that changes its style.
    for (const text of this.#dirty) text.paint();
    this.#dirty.clear();
    if (this.#at < this.#queue.length) this.#soon();
    else this.dispatchEvent(new CustomEvent("shown"));
  }
}

if (!customElements.get("toolglot-turn")) customElements.define("toolglot-turn", ToolglotTurn);
