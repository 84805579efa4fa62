// The words of options, errors about them, and data in its many types.

export const FINISH = ["stop", "length", "tool_calls", "error", "cancelled"];

/** Word options: their number, and the words from 0; `null` where 0 means absence instead of a word. */
export const WORDS = {
  retain: [2, ["block", "none"]],
  prefer: [3, ["text", "native", "both"]],
  reasoning: [4, ["split", "off", "text"]],
  callsInReasoning: [5, [false, true]],
  fence: [6, [null, "skip", "allow"]],
  unclosed: [7, [null, "drop", "text", "salvage"]],
  trustedOnly: [8, [false, true]],
  start: [9, ["dialect", "text", "reasoning"]],
  untyped: [12, [null, "string", "json"]],
  broken: [13, ["text", "drop"]],
  unknownTool: [14, [null, "deliver", "text", "drop"]],
};
export const LIMITS = {
  maxValue: 32, maxBlock: 33, maxCalls: 34, maxChain: 35, maxDepth: 36, maxParams: 37, maxName: 38, maxHeader: 39,
  maxLookahead: 40, maxIssues: 41, maxNative: 42,
};
export const ENGINE_OPTIONS = ["dialects", "toml", "switches", "tools", "toolChoice", "limits", ...Object.keys(WORDS)];
export const STREAM_OPTIONS = ["start", "promptTail", "tools", "toolChoice"];

/** The base class of all errors of this package. `code` is the kind of error. */
export class ToolglotError extends Error {
  constructor(code, message, options) {
    super(message, options);
    this.name = "ToolglotError";
    this.code = code;
  }
}

export function wrong(message) {
  return new ToolglotError("argument", message);
}

/** The type of a value, for messages. */
export function kind(value) {
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value;
  return value.constructor?.name ?? "object";
}

/** Throws for names that are not options. */
export function known(what, given, names) {
  if (given === undefined || given === null) return {};
  if (typeof given !== "object" || Array.isArray(given)) throw wrong(`${what}: an object is needed, not ${kind(given)}`);
  for (const name of Object.keys(given)) {
    if (!names.includes(name)) throw wrong(`${what}: there is no '${name}'; there are ${names.join(", ")}`);
  }
  return given;
}

export function word(what, given, words) {
  const at = words.indexOf(given);
  if (at < 0 || given === null) {
    const shown = words.filter((one) => one !== null).map((one) => (typeof one === "string" ? `'${one}'` : String(one)));
    const value = typeof given === "string" ? `'${given}'` : kind(given);
    throw wrong(`${what}: ${value} is none of ${shown.join(", ")}`);
  }
  return at;
}

/** Converts bytes of any type. */
export function bytesOf(what, given, also = "a string, ") {
  if (given instanceof Uint8Array) return given;
  if (ArrayBuffer.isView(given)) return new Uint8Array(given.buffer, given.byteOffset, given.byteLength);
  if (given instanceof ArrayBuffer) return new Uint8Array(given);
  if (typeof SharedArrayBuffer === "function" && given instanceof SharedArrayBuffer) return new Uint8Array(given);
  throw wrong(`${what}: ${also}Uint8Array or ArrayBuffer is needed, not ${kind(given)}`);
}

export function textOrBytes(what, given) {
  return typeof given === "string" ? given : bytesOf(what, given);
}

export function string(what, given) {
  if (typeof given !== "string") throw wrong(`${what}: a string is needed, not ${kind(given)}`);
  return given;
}

export function flag(what, given) {
  if (typeof given !== "boolean") throw wrong(`${what}: true or false is needed, not ${kind(given)}`);
  return given;
}

/** A number, at least 0. */
export function whole(what, given) {
  if (!Number.isSafeInteger(given) || given < 0) throw wrong(`${what}: ${String(given)} is not a whole number of at least 0`);
  return given;
}

/** One string or several. */
export function strings(what, given) {
  const list = typeof given === "string" ? [given] : given;
  if (!Array.isArray(list)) throw wrong(`${what}: a string or several are needed, not ${kind(given)}`);
  return list.map((one, at) => string(`${what}[${at}]`, one));
}

/** The options that were given: `null` and `undefined` mean the default. */
export function present(given) {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== null));
}

/** A value as JSON text. */
export function toJson(what, given) {
  let text;
  try {
    text = JSON.stringify(given);
  } catch (error) {
    throw wrong(`${what}: ${error.message}`);
  }
  if (text === undefined) throw wrong(`${what}: ${kind(given)} cannot be expressed in JSON`);
  return text;
}

/** A list as JSON text; text is passed through. */
export function jsonList(what, given) {
  if (typeof given === "string") return given;
  if (!Array.isArray(given)) throw wrong(`${what}: an array or its JSON text is needed, not ${kind(given)}`);
  return toJson(what, given);
}

/** `tool_choice` as text: a word, or the JSON text of an object. */
export function choiceText(what, given) {
  if (typeof given === "string") return given;
  if (typeof given !== "object" || Array.isArray(given)) throw wrong(`${what}: a word or an object is needed, not ${kind(given)}`);
  return toJson(what, given);
}

/** The arguments of a call as JSON text. */
export function argumentsOf(what, { argumentsJson }) {
  // The end of a call with `retain: "none"`: a call without arguments would be another one.
  if (argumentsJson === null) throw wrong(`${what}: its arguments were not kept (retain: "none")`);
  return string(`${what}.argumentsJson`, argumentsJson);
}

/** A call in OpenAI's form, with arguments as text. */
export function toolCall(what, given) {
  const inner = given?.function ?? given;
  if (typeof inner?.name !== "string") throw wrong(`${what}: it has no name`);
  const own = inner.argumentsJson === undefined ? inner.arguments ?? "{}" : argumentsOf(what, inner);
  const json = typeof own === "string" ? own : toJson(`${what}.arguments`, own);
  return { id: given.id ?? given.meta?.id, function: { name: inner.name, arguments: json } };
}

/** Text whose surrogate pairs may be split between strings: half a pair at the end of one waits for the next. */
export class Pairs {
  half = "";

  /** The whole characters so far. */
  whole(text) {
    const all = this.half + text;
    const last = all.charCodeAt(all.length - 1);
    const cut = last >= 0xd800 && last < 0xdc00;
    this.half = cut ? all.slice(-1) : "";
    return cut ? all.slice(0, -1) : all;
  }

  /** What stands for a half that nothing has completed: the replacement character. */
  rest() {
    const rest = this.half === "" ? "" : "\ufffd";
    this.half = "";
    return rest;
  }
}
