// Runs every conformance vector through the WebAssembly file, and compares with the engine's own results.
//
//   node vectors.mjs FILE            whole, in single bytes, every 2-way split; strings whole and in single code units
//   node vectors.mjs FILE STEP       every STEPth case only
//
// FILE is what bindings/c/tests/flat/vectors.rs writes; its format is documented there.
import { readFileSync } from "node:fs";
import { load } from "../toolglot.js";
import { LIMITS, WORDS } from "../lib/words.js";
import { joined, latin1, lines } from "./log.mjs";

const [file, step = "1"] = process.argv.slice(2);
const bytes = readFileSync(file);
const header = readFileSync(new URL("../../../include/toolglot.h", import.meta.url), "utf8");
const KINDS = ["", "text", "reasoning", "protected", "raw", "block_open", "call_open", "", "arg_delta", "param_open",
  "param_delta", "param_close", "call_abandoned", "call_close", "block_close", "block_abandoned", "issue", "call_named"];
const ISSUES = Object.fromEntries(
  [...header.matchAll(/^#define TOOLGLOT_ISSUE_([A-Z0-9_]+) (\d+)$/gm)].map(([, name, code]) => [code, name.toLowerCase()]),
);
const FINISH = ["stop", "length", "tool_calls", "error", "cancelled"];
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
const strict = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

let at = 0;
const take = (n) => {
  if (at + n > bytes.length) throw new Error("the file is cut");
  at += n;
  return bytes.subarray(at - n, at);
};
const u8 = () => take(1)[0];
const u32 = () => take(4).readUInt32LE();
const u64 = () => Number(take(8).readBigUInt64LE());
const data = () => Uint8Array.from(take(u32()));
const text = () => utf8.decode(data());
const list = (one) => Array.from({ length: u32() }, one);

/** Numeric options as the names and words of the package. */
function options(pairs) {
  const out = { limits: {} };
  for (const [id, value] of pairs) {
    const limit = Object.keys(LIMITS).find((name) => LIMITS[name] === id);
    const option = Object.keys(WORDS).find((name) => WORDS[name][0] === id);
    if (limit) out.limits[limit] = value;
    else if (option) out[option] = WORDS[option][1][value];
    else if (id !== 1) throw new Error(`option ${id} is not known here`);
  }
  return out;
}

/** The number of bytes at the end that begin an incomplete character. */
function half(bytes) {
  for (let n = 1; n <= Math.min(3, bytes.length); n++) {
    const byte = bytes[bytes.length - n];
    if (byte >= 0xc0) return n < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? n : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}

/** In the file an API tool call may come inside a character; here it comes after the whole character. */
function whole(entries) {
  const out = entries.map((entry) => ({ ...entry }));
  out.forEach((entry, at) => {
    const waits = entry.kind === 1 || entry.kind === 2 ? half(entry.data) : 0;
    if (waits === 0) return;
    const next = out.slice(at + 1).find(({ kind }) => kind <= 5);
    if (next?.kind !== entry.kind || next.flags !== entry.flags || next.start !== entry.end) return;
    const cut = entry.data.length - waits;
    const joined = new Uint8Array(waits + next.data.length);
    joined.set(entry.data.subarray(cut));
    joined.set(next.data, waits);
    next.data = joined;
    next.start -= waits;
    entry.data = entry.data.subarray(0, cut);
    entry.end -= waits;
  });
  return out.filter(({ kind, start, end }) => !((kind === 1 || kind === 2) && start === end));
}

/** Entries of the file as entries of a joined log, with members in the order of the package. */
function wanted(entries) {
  const log = [];
  let last = null;
  for (const { kind, flags, call, code, start, end, data, aux } of whole(entries)) {
    const span = { start, end };
    const type = KINDS[kind];
    const shown = utf8.decode(data);
    const has = (flag) => (flags & flag) !== 0;
    if (kind === 7) {
      if (last.type === "call_open") last.meta = { ...last.meta, [aux]: shown };
      else last[aux] = shown;
      continue;
    }
    const make = {
      text: () => ({ text: shown, ...span, recovered: has(1) }),
      reasoning: () => ({ text: shown, ...span, framing: has(2) }),
      protected: () => ({ text: shown, kind: aux, ...span }),
      raw: () => ({ data: latin1(data), ...span }),
      block_open: () => ({ dialect: aux, ...span }),
      call_named: () => ({ block: call, ordinal: code, name: shown, provisional: has(512), ...span }),
      call_open: () => ({ call, name: shown, dialect: aux, meta: {}, native: has(4), ...span }),
      arg_delta: () => ({ call, json: shown, ...span }),
      param_open: () => ({ name: shown, depth: code, ...span }),
      param_delta: () => ({ data: latin1(data), ...span }),
      param_close: () => span,
      call_abandoned: () => ({ call, ...span }),
      call_close: () => {
        const kinds = [...data].map((code) => ISSUES[code]);
        const grade = has(16) || has(32) ? "recovered" : has(256) ? "repaired" : "complete";
        return { call, grade, kinds, recovered: grade === "recovered" ? kinds : null, complete: grade === "complete", ...span };
      },
      block_close: () => ({ ...span, raw: latin1(data) }),
      block_abandoned: () => ({ becomes: has(64) ? "text" : has(1024) ? "reasoning" : "drop", ...span, raw: latin1(data) }),
      issue: () => ({
        kind: ISSUES[code], severity: has(128) ? "error" : "warning", message: shown, ...span,
        call: call === 0xffffffff ? null : call, dialect: "", tool: "", subject: "", suggestion: "", observation: aux,
      }),
    };
    last = { type, ...make[type]() };
    log.push(last);
  }
  return log;
}

/** Checks that each closed call repeats what earlier events said; the file has no such fields. */
function told(log, retained) {
  const deltas = new Map();
  const names = new Map();
  return log.map((event) => {
    if (event.type === "call_open") names.set(event.call, event.name);
    if (event.type === "arg_delta") deltas.set(event.call, (deltas.get(event.call) ?? "") + event.json);
    if (event.type !== "call_close") return event;
    const { name, arguments: value, argumentsJson: json, ...rest } = event;
    if (name !== names.get(event.call)) throw new Error(`another name: ${name}`);
    if (retained && json !== null && !rest.kinds.includes("duplicate_param") && json !== deltas.get(event.call)) {
      throw new Error(`other arguments: ${json}`);
    }
    if (json !== null && JSON.stringify(value) !== JSON.stringify(JSON.parse(json))) throw new Error(`other values: ${json}`);
    if (!retained && json !== null) throw new Error("arguments were kept");
    return rest;
  });
}

const tg = await load();
let runs = 0;
let failures = 0;
let last = { key: "", engine: null };

function check(one, stream, chunks, how) {
  runs++;
  stream.reset();
  const events = one.nativeFirst && one.native ? stream.nativeCalls(one.native) : [];
  for (const chunk of chunks) events.push(...stream.feed(chunk));
  if (!one.nativeFirst && one.native) events.push(...stream.nativeCalls(one.native));
  events.push(...stream.finish(one.finish));
  const got = lines(told(joined(events), one.retained));
  if (got.join("\n") === one.want && stream.held === 0 && stream.position === one.input.length) return;
  if (failures++ < 5) console.error(`${one.id}: another log, ${how}\n wanted\n${one.want}\n got\n${got.join("\n")}`);
}

function everyWay(one, stream) {
  const { input } = one;
  const n = input.length;
  check(one, stream, [input], "whole");
  if (n < 20000) check(one, stream, Array.from(input, (byte) => Uint8Array.of(byte)), "in single bytes");
  const far = n > 4000 ? Math.ceil(n / 200) : 1;
  for (let i = 0; i <= n; i += far) check(one, stream, [input.subarray(0, i), input.subarray(i)], `cut at ${i}`);
  let whole;
  try {
    whole = strict.decode(input);
  } catch {
    return;
  }
  check(one, stream, [whole], "as a string");
  if (n < 20000) check(one, stream, whole.split(""), "in single code units");
}

function next(run) {
  const one = { id: text() };
  const from = at;
  const defaults = u8() === 1;
  const dialect = text();
  const switches = list(() => `${text()}.${text()}`);
  const key = bytes.subarray(from, at).toString("latin1");
  const given = options(list(() => [u32(), u64()]));
  const tools = text();
  one.retained = given.retain !== "none";
  one.native = text();
  one.nativeFirst = u8() === 1;
  one.finish = FINISH[u32()];
  one.input = data();
  const entries = list(() => ({
    kind: u32(), flags: u32(), call: u32(), code: u32(), start: u64(), end: u64(), data: data(), aux: text(),
  }));
  if (!run) return;
  one.want = lines(wanted(entries)).join("\n");
  const dialects = defaults ? [dialect, "default"] : [dialect];
  const all = JSON.stringify([key, given, tools]);
  if (last.key !== all) {
    last.engine?.free();
    last = { key: all, engine: new tg.Engine({ ...given, dialects, switches, tools: tools || null }) };
  }
  const stream = last.engine.stream();
  everyWay(one, stream);
  stream.free();
}

if (take(11).toString() !== "TGvectors1\n") throw new Error(`${file} holds no vectors`);
let cases = 0;
while (u8()) next(cases++ % Number(step) === 0);
last.engine.free();
if (at !== bytes.length || cases < 1000) throw new Error(`${cases} cases, ${bytes.length - at} bytes left`);
if (tg.liveStreams !== 0) throw new Error(`${tg.liveStreams} streams were not freed`);
console.log(`${cases} cases, ${runs} runs, ${failures} failures`);
process.exit(failures === 0 ? 0 : 1);
