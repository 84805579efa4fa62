// The source of a reply as one text, in which spans light up. Highlights are ranges and no elements, so the text stays what it is.
import { h } from "../element/dom.js";
import { w } from "./ui.js";

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const NAMES = ["unread", "held", "event"];

export class Source {
  node = h("pre", { "class": "code source", "tabindex": "0", "role": "group", "data-label": "source", "aria-label": w("source") });
  #text = document.createTextNode("");
  #bytes = new Uint8Array(0);
  /** A byte offset, and the code units before it. */
  #known = [0, 0];

  constructor() {
    this.node.append(this.#text);
  }

  set(text, bytes) {
    this.#text.data = text;
    this.#bytes = bytes;
    this.#known = [0, 0];
    NAMES.forEach((name) => this.mark(name, 0, 0));
  }

  /** Code units before a byte offset. */
  #unit(at) {
    if (this.#bytes.length === this.#text.length) return at;
    const [byte, unit] = at >= this.#known[0] ? this.#known : [0, 0];
    const here = Math.min(this.#text.length, unit + decoder.decode(this.#bytes.subarray(byte, at)).length);
    // Only a whole character is a place to go on from.
    if ((this.#bytes[at] & 0xc0) !== 0x80) this.#known = [at, here];
    return here;
  }

  /** Lights up a span of bytes under a name of its own. */
  mark(name, start, end, scroll = false) {
    const range = new Range();
    range.setStart(this.#text, this.#unit(start));
    range.setEnd(this.#text, this.#unit(end));
    if (globalThis.CSS?.highlights) CSS.highlights.set(name, new Highlight(range));
    if (!scroll || end <= start) return;
    const [place, box] = [range.getBoundingClientRect(), this.node.getBoundingClientRect()];
    if (place.top < box.top || place.bottom > box.bottom) this.node.scrollTop += place.top - box.top - box.height / 3;
  }
}
