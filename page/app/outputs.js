// What a reply was read as, in four forms: the events, the turn, the chunks of the OpenAI interface, and what the model is to be told.
import { h } from "../element/dom.js";
import { Growing } from "../element/grow.js";
import { said, say, w } from "./ui.js";

/** Rows of the list of events, and characters of a row. */
const ROWS = 2000;
const BRIEF = 80;
/** Characters of a console. */
const FULL = 2 * 1024 * 1024;
const decoder = new TextDecoder();

/** A text that is painted once a frame, up to a limit. */
export class Console {
  #frame = 0;
  #text;
  #size = 0;

  constructor(label) {
    this.node = h("div", {
      "class": "code console",
      "tabindex": "0",
      "role": "group",
      "data-label": label,
      "aria-label": w(label),
    });
    this.clear();
  }

  clear() {
    this.#size = 0;
    this.#text = new Growing(() => this.#soon());
    this.node.replaceChildren(this.#text.node);
  }

  push(text) {
    if (this.#size > FULL) return;
    this.#size += text.length;
    this.#text.push(text);
    if (this.#size > FULL) this.node.append(said("p", "rest", { class: "help" }));
  }

  #soon() {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#text.paint();
    });
  }
}

/** The list of events. `shown` is called with the span of the one that has the focus or the pointer. */
export class Events {
  #list = h("ol", { class: "events" });
  #rows = new Map();
  #changed = new Set();
  #frame = 0;
  #shown;
  #rest = said("p", "events more", { class: "help", hidden: true }, ROWS);

  constructor(shown) {
    this.#shown = shown;
    this.node = h("div", {}, said("p", "events help", { class: "help" }), this.#list, this.#rest);
  }

  clear() {
    this.#rows.clear();
    this.#changed.clear();
    this.#list.replaceChildren();
    this.#rest.hidden = true;
  }

  /** Adds entries of a log that are new or have changed. */
  add(entries) {
    for (const entry of entries) {
      if (!this.#rows.has(entry)) {
        if (this.#rows.size >= ROWS) {
          this.#rest.hidden = false;
          continue;
        }
        this.#rows.set(entry, { node: null, text: "", taken: 0 });
      }
      this.#changed.add(entry);
    }
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#paint());
  }

  #paint() {
    this.#frame = 0;
    for (const entry of this.#changed) {
      const row = this.#rows.get(entry);
      row.node ??= this.#row(entry);
      const [, text, span] = row.node.firstChild.children;
      if (row.text.length < BRIEF) text.textContent = row.text = brief(entry, row);
      span.textContent = `${entry.start}–${entry.end}`;
    }
    this.#changed.clear();
  }

  #row(entry) {
    const show = () => this.#shown(entry.start, entry.end);
    const button = h(
      "button",
      { type: "button", class: `event ${family(entry.type)}`, on: { focus: show, mouseenter: show, click: show } },
      h("span", { class: "type" }, entry.type),
      h("span", { class: "brief" }),
      h("span", { class: "span" }),
    );
    const node = h("li", {}, button);
    this.#list.append(node);
    return node;
  }
}

function family(type) {
  if (type === "issue" || type.endsWith("abandoned") || type === "raw") return "odd";
  return type.startsWith("call") || type.startsWith("block")
    ? "call"
    : type.startsWith("arg") || type.startsWith("param")
      ? "argument"
      : "plain";
}

/** The beginning of what an entry says. */
function brief(entry, row) {
  if (entry.pieces) {
    let text = row.text;
    for (; row.taken < entry.pieces.length && text.length < BRIEF; row.taken += 1) {
      const piece = entry.pieces[row.taken];
      text += typeof piece === "string" ? piece : decoder.decode(piece);
    }
    return text.slice(0, BRIEF);
  }
  const { kind, message, name, dialect, grade, kinds, becomes } = entry;
  const said = [name, dialect, kind, grade, ...(kinds ?? []), becomes, message];
  return said
    .filter((one) => one !== undefined && one !== "")
    .join(" · ")
    .slice(0, 2 * BRIEF);
}

/** What the model is to be told: by the parser, and by the definitions of its tools. */
export class Observations {
  node = h("div", { class: "observations" });

  clear() {
    this.node.replaceChildren();
  }

  show(turn, checked) {
    const parser = turn.errors.map(({ observation }) => observation).filter(Boolean);
    const schema = checked.map(({ observation }) => observation).filter(Boolean);
    this.clear();
    const list = (key, texts) =>
      texts.length > 0 && this.node.append(said("h4", key), h("ul", {}, ...texts.map((text) => h("li", { class: "code" }, text))));
    list("observations parser", parser);
    list("observations of", schema);
    if (parser.length + schema.length === 0) this.node.append(said("p", "observations none"));
  }
}

/** What is held back, and why. */
export function holding(node, { held, stage, inReasoning }) {
  const why = { tag_opening: "held marker", tag_content: "held block", tag_closing: "held closing" }[stage] ?? "held character";
  if (held > 0) say(node, why, held);
  else say(node, inReasoning ? "in reasoning" : stage === "tag_content" ? "in call" : "held none");
  node.dataset.held = held > 0;
}
