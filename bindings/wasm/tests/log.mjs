// Events as a log that is the same however the input is chunked: adjacent entries of one kind are joined, deltas of arguments
// and of parameters separately. Bytes become strings of one code unit each.

const LEAF = new Set(["text", "reasoning", "protected", "raw"]);
const DELTA = new Set(["arg_delta", "param_delta"]);
const CONTENT = { text: "text", reasoning: "text", protected: "text", raw: "data", arg_delta: "json", param_delta: "data" };

/** The members in which two entries must agree to be joined. */
function like(a, b) {
  return a.type === b.type && a.call === b.call && a.kind === b.kind && a.recovered === b.recovered && a.framing === b.framing;
}

/** Bytes as a string with one code unit per byte. */
export function latin1(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

/** A copy without bytes. */
function plain(event) {
  const copy = { ...event };
  if (copy.data) copy.data = latin1(copy.data);
  if (copy.raw) copy.raw = latin1(copy.raw);
  return copy;
}

/** The log of a list of events, as plain objects. */
export function joined(events) {
  const log = [];
  for (const event of events) {
    if (!LEAF.has(event.type) && !DELTA.has(event.type)) {
      log.push(plain(event));
      continue;
    }
    const content = CONTENT[event.type];
    if (event[content].length === 0 && event.start === event.end) continue;
    let from = log.length;
    if (DELTA.has(event.type)) while (from > 0 && DELTA.has(log[from - 1].type)) from--;
    else if (from > 0) from--;
    const have = log.slice(from).find((one) => like(one, event));
    if (have === undefined) {
      log.splice(event.type === "param_delta" ? from : log.length, 0, plain(event));
      continue;
    }
    have[content] += plain(event)[content];
    have.start = Math.min(have.start, event.start);
    have.end = Math.max(have.end, event.end);
  }
  return log;
}

/** One line for each entry, to compare and to show. */
export function lines(log) {
  return log.map((event) => JSON.stringify(event));
}
