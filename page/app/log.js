// The log of a stream: its events, with neighbouring pieces of one kind joined, so that it does not depend on chunks. And recordings, which
// docs/REPLAY.md describes and `toolglot replay` runs.

/** The member that holds the content of events that are joined. */
const CONTENT = { text: "text", reasoning: "text", protected: "text", raw: "data", arg_delta: "json", param_delta: "data" };
const DELTA = new Set(["arg_delta", "param_delta"]);
/** Bytes in one step of base64. */
const STEP = 0x8000;

function alike(a, b) {
  return a.type === b.type && a.call === b.call && a.kind === b.kind && a.recovered === b.recovered && a.framing === b.framing;
}

export class Log {
  entries = [];

  /** Adds events; returns the entries that are new or have changed. */
  add(events) {
    const changed = new Set();
    for (const event of events) {
      const content = CONTENT[event.type];
      if (content === undefined) {
        const { raw, ...rest } = event;
        this.entries.push(event.type === "block_close" || event.type === "block_abandoned" ? rest : event);
        changed.add(this.entries.at(-1));
        continue;
      }
      if (event[content].length === 0 && event.start === event.end) continue;
      const entry = this.#joined(event, content);
      changed.add(entry);
    }
    return changed;
  }

  #joined(event, content) {
    const { entries } = this;
    let from = entries.length;
    if (DELTA.has(event.type)) while (from > 0 && DELTA.has(entries[from - 1].type)) from -= 1;
    else if (from > 0) from -= 1;
    const have = entries.slice(from).find((one) => alike(one, event));
    if (have !== undefined) {
      have.pieces.push(event[content]);
      have.start = Math.min(have.start, event.start);
      have.end = Math.max(have.end, event.end);
      return have;
    }
    const entry = { ...event, pieces: [event[content]] };
    delete entry[content];
    entries.splice(event.type === "param_delta" ? from : entries.length, 0, entry);
    return entry;
  }
}

/** The content of an entry: text, or bytes. */
export function content({ pieces }) {
  if (typeof pieces[0] === "string") return pieces.join("");
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

export function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += STEP) text += String.fromCharCode(...bytes.subarray(at, at + STEP));
  return btoa(text);
}

/** Bytes as a recording has them: text if they are UTF-8. */
function data(bytes, name) {
  if (typeof bytes === "string") return { [name]: bytes };
  try {
    return { [name]: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { [`${name}_b64`]: base64(bytes) };
  }
}

/** An entry as a recording has it. */
function recorded(entry) {
  const { type, start, end } = entry;
  const span = [start, end];
  const { block, ordinal, name, provisional, call, dialect, depth, kind, severity, tool, subject, suggestion } = entry;
  switch (type) {
    case "text":
      return { type, span, recovered: entry.recovered, ...data(content(entry), "data") };
    case "reasoning":
      return { type, span, framing: entry.framing, ...data(content(entry), "data") };
    case "protected":
      return { type, span, kind, ...data(content(entry), "data") };
    case "raw":
    case "param_delta":
      return { type, span, ...data(content(entry), "data") };
    case "arg_delta":
      return { type, span, call, ...data(content(entry), "data") };
    case "block_open":
      return { type, span, dialect };
    case "block_abandoned":
      return { type, span, becomes: entry.becomes };
    case "call_named":
      return { type, span, block, ordinal, name, provisional };
    case "call_open":
      return { type, span, call, name, dialect, origin: entry.native ? "native" : "text", meta: Object.entries(entry.meta) };
    case "call_close":
      return {
        type,
        span,
        call,
        state: entry.grade,
        kinds: entry.kinds,
        arguments: entry.argumentsJson === null ? "params" : "deltas",
      };
    case "call_abandoned":
      return { type, span, call };
    case "param_open":
      return { type, span, name, depth };
    case "issue":
      return { type, span, kind, severity, dialect, call, tool, subject, suggestion };
    default:
      return { type, span };
  }
}

/** A recording of a stream. */
export function recording({ bytes, chunk, dialects, tools, finish, log, note = "" }) {
  const whole = chunk === 0 ? [] : Array(Math.floor(bytes.length / chunk)).fill(chunk);
  const made = { note, ...data(bytes, "input"), cuts: whole, dialects, options: { text: "chars" }, finish };
  if (tools.length > 0) made.tools = tools;
  return { ...made, expect: log.entries.map(recorded) };
}
