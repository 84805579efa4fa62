// Turns events into what is shown. Takes the events of a stream (`text`, `block_open`, `call_named`, `arg_delta`, ...) and those of a run
// of an agent (`named`, `stands`, `waiting`, `settled`, ...).
//
// The same events give the same nodes, however text and deltas were split; nodes are appended, and removed only where events retract
// what they stand for.
import { Card, ENDED, warning } from "./card.js";
import { h, labelled, said } from "./dom.js";
import { Growing } from "./grow.js";

/** Text that is not part of the reply and would only disturb. */
const HIDDEN = "framing";

export class Flow {
  #root;
  #view;
  /** The segment that takes the next piece, if it is of the same kind. */
  #last = null;
  /** The open block: its node, its cards, and parameters that came before a name. */
  #block = null;
  /** Cards by the number or id of their call. */
  #cards = new Map();
  /** All cards, in order. */
  all = [];

  constructor(root, view) {
    this.#root = root;
    this.#view = view;
  }

  event(event) {
    switch (event.type ?? event.event ?? event.do ?? (event.decision && "decision")) {
      // Both.
      case "text":
        return this.#segment("text", () => this.#bubble()).push(event.text, event.recovered ? "recovered" : "");
      case "reasoning":
        return event.framing ? undefined : this.#segment("reasoning", () => this.#thought()).push(event.text);
      // Streams.
      case "protected":
        return event.kind === HIDDEN
          ? undefined
          : this.#segment(`region ${event.kind}`, () => this.#region(event.kind)).push(event.text);
      case "raw":
        return this.#segment("raw", () => this.#raw()).push(this.#decode.decode(event.data, { stream: true }));
      case "block_open":
        return this.#blockOpen(event);
      case "call_named":
        return this.#named(event);
      case "call_open":
        return this.#callOpen(event);
      case "arg_delta":
        return this.#cards.get(event.call)?.json(event.json);
      case "param_open":
        return this.#paramOpen(event);
      case "param_delta":
        return this.#current()?.paramText(event.data);
      case "param_close":
        return this.#current()?.paramClose();
      case "call_abandoned":
        return this.#cards.get(event.call)?.set("void");
      case "call_close":
        return this.#cards.get(event.call)?.closed(event);
      case "block_close":
        return this.#blockClose();
      case "block_abandoned":
        return this.#blockAbandoned(event);
      case "issue":
        return this.#issue(event);
      // Runs.
      case "named":
        return this.#add(new Card(this.#view, event.name, { provisional: true }));
      case "written":
        return this.#pending(event.name, "writing")?.set("written");
      case "retracted":
        return this.#pending(event.name)?.set("void");
      case "stands":
        return this.#stands(event);
      case "start":
        return this.call(event.id)?.final(event.arguments);
      case "confirm":
        return this.#confirm(event);
      case "decision":
        return this.#decided(event.decision);
      case "waiting":
      case "running":
        return this.call(event.id)?.set(event.type ?? event.event);
      case "progress":
        return this.call(event.id)?.progress(event.text);
      case "begun":
        return this.#begun(event);
      case "settled":
      case "later":
        return this.#settled(event);
      default:
    }
    return undefined;
  }

  /** The card of a call. */
  call(id) {
    return this.#cards.get(id) ?? null;
  }

  /** Nothing more comes from the model: what it has not finished never will be. */
  end() {
    for (const card of this.all) if (card.provisional || card.state === "writing") card.set("void");
    this.#root.querySelectorAll(".thought.open").forEach((node) => node.classList.remove("open"));
  }

  // Text.

  #decode = new TextDecoder("utf-8", { ignoreBOM: true });

  /** The growing text of the last segment, which is a new one unless it is of that kind. */
  #segment(kind, make) {
    if (this.#last?.kind !== kind) {
      this.#over();
      this.#last = { kind, ...make() };
      this.#root.append(this.#last.node);
    }
    return this.#last.text;
  }

  /** Something else comes after the last segment. */
  #over() {
    this.#last?.node.classList.remove("open");
    this.#last = null;
  }

  #bubble() {
    const text = new Growing(this.#view.dirty, { kind: "text", trims: true });
    return { text, node: text.node };
  }

  #thought() {
    const text = new Growing(this.#view.dirty, { trims: true });
    const summary = said(this.#view.w, "summary", "reasoning");
    return { text, node: h("details", { class: "thought open" }, summary, text.node) };
  }

  #region(kind) {
    const text = new Growing(this.#view.dirty, { kind: "code" });
    const node = h("details", { class: "region" }, said(this.#view.w, "summary", "region", {}, kind), text.node);
    return { text, node };
  }

  #raw() {
    const text = new Growing(this.#view.dirty, { kind: "code" });
    return { text, node: h("details", { class: "region" }, said(this.#view.w, "summary", "raw"), text.node) };
  }

  // Blocks.

  #blockOpen({ dialect }) {
    const before = this.#last;
    this.#last = null;
    const node = h("div", { class: "block" });
    this.#root.append(node);
    this.#block = { node, dialect, cards: [], card: null, early: [], before };
  }

  #add(card) {
    this.all.push(card);
    if (this.#block === null) {
      this.#over();
      this.#root.append(card.node);
      return;
    }
    this.#block.cards.push(card);
    this.#block.node.append(card.node);
    this.#block.card = card;
  }

  #named({ name }) {
    if (this.#block === null) return;
    const card = new Card(this.#view, name, { dialect: this.#block.dialect, provisional: true });
    this.#add(card);
    for (const { type, ...early } of this.#block.early.splice(0)) {
      if (type === "param_open") card.paramOpen(early.name, early.depth);
      else if (type === "param_delta") card.paramText(early.data);
      else card.paramClose();
    }
  }

  #callOpen(event) {
    let card = this.#block?.cards.find((one) => one.provisional && one.name === event.name && one.state === "writing");
    if (card === undefined) this.#add((card = new Card(this.#view, event.name, { dialect: event.dialect, call: event.call })));
    this.#inOrder(card);
    card.opened(event);
    if (this.#block) this.#block.card = card;
    this.#cards.set(event.call, card);
  }

  /** Calls of a chain run in the order in which they open, which need not be that of their names. */
  #inOrder(card) {
    const first = this.#block?.cards.find((one) => one.provisional);
    if (first === undefined || first === card) return;
    first.node.before(card.node);
    for (const list of [this.#block.cards, this.all]) {
      list.splice(list.indexOf(card), 1);
      list.splice(list.indexOf(first), 0, card);
    }
  }

  /** What parameters belong to: the last card of the block, or nothing yet. */
  #current() {
    const block = this.#block;
    if (block === null) return null;
    if (block.card !== null) return block.card;
    const { early } = block;
    return {
      paramOpen: (name, depth) => early.push({ type: "param_open", name, depth }),
      paramText: (data) => early.push({ type: "param_delta", data }),
      paramClose: () => early.push({ type: "param_close" }),
    };
  }

  #paramOpen({ name, depth }) {
    this.#current()?.paramOpen(name, depth);
  }

  #blockClose() {
    for (const card of this.#block?.cards ?? []) if (card.provisional) card.set("void");
    if (this.#block?.node.childElementCount === 0) this.#block.node.remove();
    this.#block = null;
  }

  #blockAbandoned({ becomes, raw }) {
    const block = this.#block;
    this.#block = null;
    if (block === null) return;
    for (const card of block.cards) card.set("void");
    if (becomes !== "drop") {
      // Text or reasoning follows as an event, and continues what stood before the block.
      for (const card of block.cards) card.node.remove();
      this.all = this.all.filter((card) => !block.cards.includes(card));
      if (block.node.childElementCount > 0) return;
      block.node.remove();
      this.#last = block.before;
      return;
    }
    if (raw.length > 0) {
      const text = new Growing(this.#view.dirty, { kind: "code" });
      text.push(new TextDecoder().decode(raw));
      block.node.append(h("details", { class: "region" }, said(this.#view.w, "summary", "dropped", {}, raw.length), text.node));
    }
  }

  #issue(issue) {
    const card = issue.call === null || issue.call === undefined ? undefined : this.#cards.get(issue.call);
    if (card !== undefined && this.all.includes(card)) return card.warn(issue);
    if (this.#block !== null) return this.#note(this.#block.node, issue);
    // An issue does not end the text that it is about.
    if (this.#last === null) return this.#note(this.#root, issue);
    const list = (this.#last.notes ??= h("ul", { class: "warnings notes", ...labelled(this.#view.w, "warnings") }));
    if (!list.isConnected) this.#last.node.after(list);
    list.append(warning(issue, this.#view));
    return undefined;
  }

  #note(place, issue) {
    let list = place.lastElementChild;
    if (!list?.classList.contains("notes")) {
      list = h("ul", { class: "warnings notes", ...labelled(this.#view.w, "warnings") });
      place.append(list);
    }
    list.append(warning(issue, this.#view));
  }

  // Runs.

  /** The first card of that name that has no id yet. */
  #pending(name, state) {
    const fits = (card) => card.provisional && card.name === name && (state ? card.state === state : !ENDED.has(card.state));
    return this.all.find(fits);
  }

  #stands({ id, name, arguments: given }) {
    let card = this.#pending(name);
    if (card === undefined) this.#add((card = new Card(this.#view, name)));
    card.provisional = false;
    card.call = id;
    this.#cards.set(id, card);
    const json = typeof given === "string" ? given : JSON.stringify(given);
    card.arguments(json);
    card.json(json);
    card.set("written");
  }

  /** A call within a call has no other events than its question and the answer. */
  #confirm(event) {
    let card = this.call(event.id);
    if (card === null) {
      card = new Card(this.#view, event.name);
      card.call = event.id;
      this.#cards.set(event.id, card);
      this.#add(card);
      const outer = this.call(event.id.slice(0, event.id.lastIndexOf("/")));
      if (outer !== null) outer.node.after(card.node);
    }
    card.confirm(event);
  }

  #decided([id, decision]) {
    const card = this.call(id);
    if (card === null || !id.includes("/")) return;
    if (decision.edit) card.final(decision.edit);
    card.set(decision.deny === undefined ? "running" : "denied");
  }

  #begun({ id, task }) {
    const card = this.call(id);
    if (card === null) return;
    card.task(task);
    this.#cards.set(task, card);
  }

  #settled({ id, state, result, duration }) {
    const card = this.call(id);
    if (card === null) return;
    const whole = result !== null && typeof result === "object" && "status" in result && "content" in result;
    card.set(state);
    // Calls within it ended with it.
    for (const inner of this.all) if (String(inner.call).startsWith(`${id}/`)) inner.set(state);
    card.result(whole ? result.content : result, (whole ? result.duration_ms : duration) ?? null);
  }
}
