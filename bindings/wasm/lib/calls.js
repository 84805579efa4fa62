// The calls of a stream so far, for servers that need them while they are being written.

import { withArguments } from "./events.js";

/** See toolglot.d.ts. */
export class Calls {
  #closed = [];
  /** How many calls had closed before the open block. */
  #before = 0;
  #open = null;

  get closed() {
    return [...this.#closed];
  }

  get open() {
    return this.#open && { index: this.#closed.length, id: this.#open.meta.id || null, name: this.#open.name, argumentsJson: this.#open.json };
  }

  add(events) {
    for (const event of events) {
      switch (event.type) {
        case "block_open": this.#before = this.#closed.length; break;
        case "block_abandoned":
          this.#closed.length = this.#before;
          this.#open = null;
          break;
        case "call_open": this.#open = { ...event, json: "" }; break;
        case "arg_delta": if (this.#open) this.#open.json += event.json; break;
        case "call_abandoned": this.#open = null; break;
        case "call_close": this.#close(event); break;
        default:
      }
    }
  }

  #close(event) {
    if (!this.#open) return;
    const { dialect, meta, native } = this.#open;
    const { name, recovered, complete, grade, kinds, start, end } = event;
    const json = event.argumentsJson ?? "{}";
    const call = { name, argumentsJson: json, index: this.#closed.length, recovered, complete, grade, kinds, dialect, meta, native, start, end };
    this.#closed.push(withArguments(call, json));
    this.#open = null;
  }
}
