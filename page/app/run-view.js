// One run: its rounds as a timeline for people, and apart from that every event as it came, for developers.
import { h } from "../element/dom.js";
import { finished } from "./backend.js";
import { Console } from "./outputs.js";
import { button, checkbox, said, say, tabs, turn as turnElement } from "./ui.js";

export class RunView {
  #backend;
  #changed;
  #stop = new AbortController();
  #timeline = h("div", { class: "timeline" });
  #log = new Console("log");
  #state = said("span", "run running", { class: "state running" });
  #waits = h("span", { role: "status" });
  #bar = null;
  #lost = said("p", "connection lost", { class: "fault", role: "status", hidden: true });
  #cancel = button("cancel", () => this.#cancelled());
  #title;
  /** The rounds, and the round of each call or task. */
  #rounds = [];
  #turns = new Map();
  #keys = true;
  #asked = false;

  /** `changed` is called when the state of the run may have changed. */
  constructor(backend, { id, task }, changed) {
    this.id = id;
    this.#backend = backend;
    this.#changed = changed;
    this.#title = h("h3", { tabindex: "-1", class: "run-title" }, task);
    const keys = h(
      "label",
      { class: "check" },
      checkbox(true, (on) => this.#useKeys(on)),
      said("span", "keys on"),
    );
    this.#bar = h(
      "div",
      { class: "waiting-bar", hidden: true },
      this.#waits,
      button("approve all", () => this.#all(), { "class": "main", "aria-keyshortcuts": "Shift+A" }),
      said("span", "keys", { class: "help" }),
      keys,
    );
    this.node = h(
      "div",
      { class: "run" },
      h("div", { class: "run-head" }, this.#title, this.#state, this.#cancel),
      this.#bar,
      this.#lost,
      tabs("timeline", [
        ["timeline", h("div", {}, this.#timeline)],
        ["log", h("div", {}, this.#log.node)],
      ]),
    );
    this.#timeline.append(h("div", { class: "asked" }, said("span", "you", { class: "label" }), h("p", {}, task)));
    this.node.addEventListener("decide", (event) => void this.#decide(event));
    this.node.addEventListener("callstate", () => this.#count());
    void this.#follow();
  }

  close() {
    this.#stop.abort();
  }

  /** Handles a key. Returns whether it meant something. */
  key(key, shift) {
    if (!this.#keys) return false;
    if (shift && key.toLowerCase() === "a") return this.#all();
    const word = { a: "approve", d: "deny", e: "edit" }[key];
    return word !== undefined && this.#rounds.some((turn) => turn.decide(word));
  }

  #useKeys(on) {
    this.#keys = on;
    for (const turn of this.#rounds) turn.toggleAttribute("keys", on);
  }

  async #follow() {
    try {
      const lost = () => (this.#lost.hidden = false);
      for await (const event of this.#backend.events(this.id, { signal: this.#stop.signal, lost })) {
        this.#lost.hidden = true;
        this.#log.push(`${JSON.stringify(event)}\n`);
        this.#event(event);
        if (finished(event)) this.#over(event);
      }
    } catch (error) {
      this.#timeline.append(h("p", { class: "fault", role: "alert" }, error.message));
    }
  }

  #round() {
    this.#asked = false;
    const turn = turnElement({ keys: this.#keys });
    this.#rounds.at(-1)?.end();
    this.#rounds.push(turn);
    this.#timeline.append(h("section", { class: "round" }, said("h4", "round", {}, this.#rounds.length), turn));
    return turn;
  }

  #event(event) {
    const type = event.event ?? event.do ?? (event.decision && "decision");
    // The next round begins with what the model writes: results of the last one may still come.
    if (type === "ask") this.#asked = true;
    else if (type === "message") this.#message(event.message);
    else if (type !== undefined) this.#show(type, event);
  }

  #show(type, event) {
    // What concerns a call belongs to its round; a call within a call, to that of the outer one.
    const id = event.decision?.[0] ?? event.id;
    const known = this.#turns.get(id) ?? this.#turns.get(String(id).split("/")[0]);
    const turn = known ?? (this.#asked || this.#rounds.length === 0 ? this.#round() : this.#rounds.at(-1));
    if (id !== undefined) this.#turns.set(id, turn);
    if (type === "begun") this.#turns.set(event.task, turn);
    turn.add([event]);
    if (type === "running" || type === "waiting" || type === "settled") this.#changed();
  }

  /** What the model is told; what it says itself is shown already. */
  #message({ role, content }) {
    if (role === "assistant" || this.#rounds.length === 0) return;
    const text = typeof content === "string" ? content : JSON.stringify(content, null, 2);
    this.#timeline.append(
      h(
        "details",
        { class: "told" },
        h("summary", {}, said("span", "told"), h("span", { class: "tag" }, role)),
        h("pre", { class: "code preview" }, text),
      ),
    );
  }

  #over({ outcome, text, message }) {
    this.#rounds.at(-1)?.end();
    say(this.#state, "run finished");
    this.#state.className = "state finished";
    this.#cancel.hidden = true;
    this.#bar.hidden = true;
    // An answer is shown already.
    const shown = outcome === "answer" ? "" : text || message;
    this.#timeline.append(
      h(
        "div",
        { class: `outcome ${outcome}`, role: "status" },
        said("span", "outcome", { class: "label" }),
        said("p", `outcome ${outcome}`),
        shown ? h("p", {}, shown) : null,
      ),
    );
    this.#changed();
  }

  #waiting() {
    return this.#rounds.flatMap((turn) => turn.calls.filter(({ state }) => state === "waiting").map((call) => ({ turn, ...call })));
  }

  #count() {
    const { length } = this.#waiting();
    this.#bar.hidden = length === 0;
    if (length > 0) say(this.#waits, length === 1 ? "waiting call" : "waiting calls", length);
    if (this.#state.classList.contains("finished")) return;
    say(this.#state, length > 0 ? "run waiting" : "run running");
    this.#state.className = `state ${length > 0 ? "waiting" : "running"}`;
  }

  /** Approves every call that waits now. */
  #all() {
    const waiting = this.#waiting();
    for (const { turn, id } of waiting) turn.decide("approve", id);
    return waiting.length > 0;
  }

  async #decide(event) {
    const { call, digest, decision, arguments: edited } = event.detail;
    const turn = event.target;
    // The question goes with its answer; the focus must not be lost with it.
    const focused = turn.contains(document.activeElement);
    try {
      await this.#backend.decide(this.id, { call, digest, decision, arguments: edited });
      if (focused) this.#title.focus({ preventScroll: true });
    } catch (error) {
      turn.refuse(call, error.message);
    }
  }

  async #cancelled() {
    try {
      await this.#backend.cancel(this.id);
    } catch (error) {
      this.#timeline.append(h("p", { class: "fault", role: "alert" }, error.message));
    }
  }
}
