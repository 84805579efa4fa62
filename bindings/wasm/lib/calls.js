// The calls of a stream so far, for servers that need them while they are being written.

import { withArguments } from "./events.js";

const REPEATS = ["duplicate_param", "repeated_param"];

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
    const { dialect, meta, native, json: pieces } = this.#open;
    const { name, recovered, complete, grade, kinds, start, end } = event;
    let json = event.argumentsJson ?? pieces;
    // With `retain: "none"`, this is left to us.
    if (event.argumentsJson === null && json !== "" && kinds.some((kind) => REPEATS.includes(kind))) json = lastWins(json);
    if (json === "") json = "{}";
    const call = { name, argumentsJson: json, index: this.#closed.length, recovered, complete, grade, kinds, dialect, meta, native, start, end };
    this.#closed.push(withArguments(call, json));
    this.#open = null;
  }
}

/** The text of arguments that repeat a key: each key once, with its last value. Values keep the model's spelling. */
function lastWins(json) {
  const members = new Map();
  let [key, start, depth] = ["", 1, 0];
  for (const { 0: token, index } of json.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g)) {
    if (depth === 1 && [":", ",", "}"].includes(token)) {
      const part = json.slice(start, index).trim();
      if (token === ":") key = JSON.parse(part);
      else members.set(key, part);
      start = index + 1;
    }
    if (token === "{" || token === "[") depth++;
    if (token === "}" || token === "]") depth--;
  }
  return `{${Array.from(members, ([name, value]) => `${JSON.stringify(name)}:${value}`).join()}}`;
}
