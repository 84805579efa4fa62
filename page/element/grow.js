// Text that grows: it is appended and never read again, so a reply costs as much as it is long.
//
// Text waits in a list until the next frame. Then it becomes one text node for each page and style. Pages bound what the browser lays
// out again after an append. Where a page ends depends on the text alone, so the result does not depend on how the text arrived.
import { h } from "./dom.js";

/** Code units after which a page ends at the next line, and after which it ends anyway. */
const PAGE = 8192;
const FULL = 16384;
/** What fits a card without scrolling: code units and lines. */
const SHORT = 800;
const LINES = 12;

/** How many code units of a text still belong to a page that has `size`. */
export function room(text, size) {
  if (size + text.length < PAGE) return text.length;
  const line = text.indexOf("\n", Math.max(0, PAGE - 1 - size));
  if (line >= 0 && size + line < FULL) return line + 1;
  if (size + text.length <= FULL) return text.length;
  const cut = FULL - size;
  const last = text.charCodeAt(cut - 1);
  return last >= 0xd800 && last < 0xdc00 ? cut - 1 : cut;
}

export class Growing {
  #pages = h("div", { class: "pages" });
  #page = null;
  #size = 0;
  #waiting = [];
  #style = "";
  #units = 0;
  #lines = 0;
  #dirty;
  #label;
  #trims;
  /** Line ends at the end of the text so far, which are hidden until something follows. */
  #tail = null;

  /**
   * `dirty` is told when text waits; `label` names the text if it becomes so long that it scrolls (it does not without one). `trims` hides
   * line ends at both ends, which models write around their calls.
   */
  constructor(dirty, { label = null, kind = "", trims = false } = {}) {
    this.#trims = trims;
    this.#dirty = dirty;
    this.#label = label;
    this.node = h("div", { class: `grow blank ${kind}`.trim() }, this.#pages);
  }

  push(text, style = "") {
    if (text === "") return;
    if (style !== this.#style) this.paint();
    this.#style = style;
    this.#waiting.push(text);
    this.#dirty(this);
  }

  /** Writes what waits. */
  paint() {
    if (this.#waiting.length === 0) return;
    let text = this.#waiting.length === 1 ? this.#waiting[0] : this.#waiting.join("");
    this.#waiting = [];
    if (!this.#trims) return this.#append(text);
    if (this.#tail !== null) {
      text = this.#tail.textContent + text;
      this.#tail.remove();
      this.#tail = null;
    }
    let end = text.length;
    while (end > 0 && text[end - 1] === "\n") end -= 1;
    let start = 0;
    if (this.#pages.childElementCount === 0) while (start < end && text[start] === "\n") start += 1;
    if (start > 0) this.#pages.append(h("span", { hidden: true }, text.slice(0, start)));
    this.#append(text.slice(start, end));
    if (end === text.length) return undefined;
    this.#tail = h("span", { hidden: true }, text.slice(end));
    this.#pages.append(this.#tail);
    return undefined;
  }

  #append(text) {
    this.#measure(text);
    while (text !== "") {
      const cut = this.#page === null ? 0 : room(text, this.#size);
      if (cut === 0) {
        this.#page = h("div", { class: "page" });
        this.#pages.append(this.#page);
        this.#size = 0;
        continue;
      }
      this.#target().append(cut === text.length ? text : text.slice(0, cut));
      this.#size += cut;
      const ended = this.#size >= FULL || (this.#size >= PAGE && text[cut - 1] === "\n");
      if (ended || cut < text.length) this.#page = null;
      text = text.slice(cut);
    }
  }

  /** The element at the end of the page that has the current style. */
  #target() {
    if (this.#style === "") return this.#page;
    const last = this.#page.lastChild;
    if (last?.nodeType === 1 && last.className === this.#style) return last;
    const span = h("span", { class: this.#style });
    this.#page.append(span);
    return span;
  }

  #measure(text) {
    if (this.node.classList.contains("blank") && /\S/.test(text)) this.node.classList.remove("blank");
    if (this.#label === null || this.node.classList.contains("long")) return;
    this.#units += text.length;
    for (let at = text.indexOf("\n"); at >= 0 && this.#lines <= LINES; at = text.indexOf("\n", at + 1)) this.#lines += 1;
    if (this.#units <= SHORT && this.#lines <= LINES) return;
    this.node.classList.add("long");
    this.node.tabIndex = 0;
    this.node.setAttribute("role", "group");
    this.node.setAttribute("aria-label", this.#label);
  }
}
