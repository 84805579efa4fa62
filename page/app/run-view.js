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
  #cancel = button("cancel", () => this.#tried(this.#backend.cancel(this.id)));
  #delete = button("delete", () => this.#deleted(), { hidden: true });
  /** Why nobody carries the run out. */
  #stopped = h("p", { class: "fault", role: "status", hidden: true });
  #title;
  /** The rounds, and the round of each call or task. */
  #rounds = [];
  #turns = new Map();
  #keys = true;
  #asked = false;
  /** Whether a reply is open: no message has come since the model was asked. */
  #open = false;
  #at = "running";

  /** `changed` is called when the state of the run may have changed. */
  constructor(backend, entry, changed) {
    const { id, task } = entry;
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
      h("div", { class: "run-head" }, this.#title, this.#state, this.#cancel, this.#delete),
      this.#bar,
      this.#stopped,
      this.#lost,
      tabs("timeline", [
        ["timeline", h("div", {}, this.#timeline)],
        ["log", h("div", {}, this.#log.node)],
      ]),
    );
    this.#timeline.append(h("div", { class: "asked" }, said("span", "you", { class: "label" }), h("p", {}, task)));
    this.node.addEventListener("decide", (event) => void this.#decide(event));
    this.node.addEventListener("callstate", () => this.#count());
    this.is(entry);
    void this.#follow();
  }

  /** Takes over what a list says of this run: only that tells whether the server carries it out. */
  is({ state, reason }) {
    if (this.#at === "finished") return;
    const stopped = state === "stopped";
    if (stopped) say(this.#stopped, "stopped because", reason ?? "");
    this.#stopped.hidden = !stopped;
    if (stopped || this.#at === "stopped") this.#is(stopped ? "stopped" : "running");
    if (!stopped) this.#count();
  }

  #is(state) {
    this.#at = state;
    say(this.#state, `run ${state}`);
    this.#state.className = `state ${state}`;
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
    if (type === "ask") this.#ask();
    else if (type === "message") this.#message(event.message);
    else if (event.failed !== undefined) this.#broke("reply failed", event.failed);
    else if (type !== undefined) this.#show(type, event);
  }

  /** The model is asked. Without a message since it was last asked, the reply before broke off and comes anew. */
  #ask() {
    if (this.#open && !this.#asked) this.#broke("reply again");
    // The next round begins with what the model writes: results of the last one may still come.
    this.#asked = true;
    this.#open = true;
  }

  /** Marks the reply that is open as one that broke off. */
  #broke(key, ...why) {
    const turn = this.#asked || this.#rounds.length === 0 ? this.#round() : this.#rounds.at(-1);
    turn.end();
    turn.parentElement.classList.add("broken");
    turn.before(said("p", key, { class: "fault", role: "status" }, ...why));
    this.#open = false;
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
    this.#open = false;
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
    this.#is("finished");
    this.#stopped.hidden = true;
    this.#cancel.hidden = true;
    this.#delete.hidden = false;
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
    if (this.#at !== "finished" && this.#at !== "stopped") this.#is(length > 0 ? "waiting" : "running");
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

  /** Waits for an answer of the server. Returns whether it agreed; says why not. */
  async #tried(answer) {
    try {
      await answer;
      return true;
    } catch (error) {
      this.#timeline.append(h("p", { class: "fault", role: "alert" }, error.message));
      return false;
    }
  }

  async #deleted() {
    if (!(await this.#tried(this.#backend.delete(this.id)))) return;
    this.close();
    this.node.replaceChildren(said("p", "deleted", { class: "empty", role: "status" }));
    this.#changed();
  }
}
