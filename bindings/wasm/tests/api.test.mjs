// What the API promises: `node --test --expose-gc tests/api.test.mjs`.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { Calls, Engine, Reader, Rewriter, Stream, ToolglotError, load, toOpenAI } from "../toolglot.js";
import { joined, lines } from "./log.mjs";
import { REPLY, cuts } from "./replay.mjs";

const tg = await load();
const wasm = await readFile(new URL("../toolglot.wasm", import.meta.url));
const { version } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
const engine = new tg.Engine({ dialects: ["tool-call-xml", "reasoning-think"] });
const TOOLS = [{ name: "f", parameters: { type: "object", properties: { n: { type: "integer" } } } }];
const CYCLE = {};
CYCLE.self = CYCLE;
const CALL = '<tool_call name="f"><param name="n">7</param></tool_call>';
const utf8 = new TextEncoder();

/** Runs a stream and frees it. */
function run(chunks, one = engine, options = undefined) {
  const stream = one.stream(options);
  const events = chunks.flatMap((chunk) => stream.feed(chunk));
  events.push(...stream.finish());
  stream.free();
  return events;
}
const textOf = (events) => events.filter(({ type }) => type === "text").map(({ text }) => text).join("");
const closes = (events) => events.filter(({ type }) => type === "call_close");
/** Asserts that a function throws an error of the package with this code and message. */
const throws = (step, code, message) => assert.throws(step, (error) => {
  assert(error instanceof ToolglotError && error instanceof Error && error.name === "ToolglotError", String(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, message);
  return true;
});

test("ways to load", async () => {
  const module = await WebAssembly.compile(wasm);
  const url = new URL("../toolglot.wasm", import.meta.url);
  for (const source of [undefined, null, wasm, wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.length), module, url, url.href,
    new Response(wasm), Promise.resolve(new Response(wasm))]) {
    const one = await load(source);
    assert.equal(one.version, version);
    assert.equal(new one.Engine({ dialects: "vcp" }).parse("x").text, "x");
  }
  const rejects = (source, code, message) => assert.rejects(load(source), (error) => {
    assert(error instanceof ToolglotError && error.code === code, String(error.stack));
    assert.match(error.message, message);
    return true;
  });
  await rejects(new Uint8Array(8), "load", /^load: WebAssembly.compile/);
  await rejects(new URL("none.wasm", url), "load", /ENOENT/);
  await rejects(new Response("", { status: 404 }), "load", /404/);
  await rejects("toolglot.wasm", "argument", /'toolglot.wasm' is no URL/);
  await rejects(7, "argument", /Response, Uint8Array or ArrayBuffer is needed, not number/);
  const empty = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
  await rejects(empty, "load", /not the toolglot.wasm/);
});

test("instances are apart", async () => {
  const other = await load();
  assert.notEqual(other.Engine, tg.Engine);
  const stream = new other.Engine({ dialects: "vcp" }).stream();
  assert.equal(other.liveStreams, 1);
  assert.equal(tg.liveStreams, 0);
  stream.free();
});

test("any chunking gives the same events", () => {
  const whole = lines(joined(run([REPLY])));
  assert.equal(textOf(run([REPLY])), "Grüße 🌊!   und  Ende 中");
  let count = 0;
  for (const chunks of cuts(REPLY)) {
    const events = run(chunks);
    assert.deepEqual(lines(joined(events)), whole);
    assert(events.every(({ text = "" }) => !text.includes("\ufffd")));
    count++;
  }
  assert(count > 2 * REPLY.length);
});

test("an incomplete character is held", () => {
  const stream = engine.stream();
  const wave = utf8.encode("🌊");
  assert.deepEqual(stream.feed(wave.subarray(0, 3)), []);
  assert.equal(stream.held, 3);
  assert.deepEqual(stream.feed(wave.subarray(3)), [{ type: "text", text: "🌊", start: 0, end: 4, recovered: false }]);
  stream.feed(wave.subarray(0, 2));
  assert.deepEqual(stream.finish(), [{ type: "text", text: "\ufffd", start: 4, end: 6, recovered: false }]);
  stream.free();
});

test("half a surrogate pair is held, and is U+FFFD if nothing completes it", () => {
  const [high, low] = ["\ud83c", "\udf0a"];
  const said = (...chunks) => textOf(run(chunks));
  assert.equal(said(high, low), "🌊");
  assert.equal(said("a" + high, "", low + "b"), "a🌊b");
  assert.equal(said(high, new Uint8Array(0), low), "🌊");
  assert.equal(said(high), "\ufffd");
  assert.equal(said(high, "b"), "\ufffdb");
  assert.equal(said(high, high, low), "\ufffd🌊");
  assert.equal(said(low, "b"), "\ufffdb");
  assert.equal(said(high, utf8.encode("b")), "\ufffdb");
  assert.equal(said("x".repeat(100) + high + "y" + low), `${"x".repeat(100)}\ufffdy\ufffd`);
  const stream = engine.stream();
  assert.deepEqual(stream.feed(high), []);
  assert.equal(stream.position, 0);
  const copy = stream.copy();
  const restored = engine.restore(stream.snapshot());
  for (const one of [stream, copy, restored]) assert.equal(textOf(one.feed(low)), "🌊");
  stream.feed(high);
  const native = [{ function: { name: "f" } }];
  throws(() => stream.nativeCalls("["), "argument", /not JSON/);
  stream.nativeCalls(native);
  assert.equal(textOf(stream.feed(low)), "🌊");
  stream.feed(high);
  stream.reset();
  assert.equal(textOf(stream.feed(low)), "\ufffd");
  stream.feed(high);
  assert.equal(textOf(stream.prefill("x")), "\ufffd");
  stream.feed(high);
  assert.equal(textOf(stream.feedSpecial("x")), "\ufffdx");
  for (const one of [stream, copy, restored]) one.free();
});

test("a prefill and a special token may be split inside a surrogate pair too", () => {
  const [high, low] = ["\ud83c", "\udf0a"];
  const said = (...steps) => {
    const stream = engine.stream();
    const events = steps.flatMap(([way, data]) => stream[way](data));
    const told = [textOf(events), stream.position];
    const ends = [stream.copy(), engine.restore(stream.snapshot()), stream].map((one) => {
      const end = textOf(one.finish());
      one.free();
      return end;
    });
    assert.deepEqual(ends, Array(3).fill(ends[0]));
    return [told[0] + ends[0], told[1]];
  };
  for (const way of ["prefill", "feedSpecial"]) {
    assert.deepEqual(said([way, high], ["feed", `${low}b`]), ["🌊b", 5], way);
    assert.deepEqual(said([way, high], ["feed", ""], [way, ""], ["feed", low]), ["🌊", 4], way);
    assert.deepEqual(said([way, high], [way, new Uint8Array(0)], ["feed", low]), ["🌊", 4], way);
  }
  assert.deepEqual(said(["feedSpecial", `a${high}`], ["feedSpecial", low]), ["a🌊", 5]);
  assert.deepEqual(said(["feedSpecial", high]), ["\ufffd", 0]);
  assert.deepEqual(said(["feed", high], ["feedSpecial", low]), ["🌊", 4]);
  // What a prefill leaves incomplete is not delivered either.
  assert.deepEqual(said(["prefill", high], ["prefill", low]), ["", 4]);
  assert.deepEqual(said(["prefill", `a${high}`]), ["", 1]);
  assert.deepEqual(said(["prefill", high], ["feed", utf8.encode("b")]), ["b", 4]);
  assert.deepEqual(said(["prefill", high], ["feed", "b"]), ["\ufffdb", 4]);
  assert.deepEqual(said(["feed", high], ["prefill", "b"]), ["\ufffd", 4]);
});

test("kinds of chunks", () => {
  const bytes = utf8.encode("abc");
  const shared = new SharedArrayBuffer(3);
  new Uint8Array(shared).set(bytes);
  const wide = new Uint16Array([0x6261, 0x0063]);
  for (const chunk of ["abc", bytes, bytes.buffer, Buffer.from(bytes), new DataView(bytes.buffer), shared, new Uint8Array(shared), new Uint8Array([0, ...bytes]).subarray(1)]) {
    assert.equal(textOf(run([chunk])), "abc");
  }
  assert.equal(textOf(run([wide])), "abc\0");
  assert.equal(textOf(run(["", "a\0b", ""])), "a\0b");
  assert.equal(textOf(run(["\ufeffa", utf8.encode("\ufeff")])), "\ufeffa\ufeff");
  const stream = engine.stream();
  for (const chunk of [undefined, null, 3, ["a"], {}, Symbol("a")]) {
    throws(() => stream.feed(chunk), "argument", /^chunk: a string, Uint8Array or ArrayBuffer is needed, not /);
  }
  assert.deepEqual(stream.feed(""), []);
  assert.equal(stream.feed("still there").length, 1);
  stream.free();
});

test("long chunks", () => {
  for (const unit of ["a", "é", "中", "🌊", "a🌊é中"]) {
    const text = unit.repeat(Math.ceil(200000 / unit.length));
    assert.equal(textOf(run([text])), text);
    assert.equal(textOf(run([`x${text}`])), `x${text}`);
    assert.equal(textOf(run([utf8.encode(text)])), text);
  }
  const value = "🌊né".repeat(300000);
  const events = run([`<tool_call name="f"><param name="a">${value}</param></tool_call>`]);
  assert.equal(closes(events)[0].arguments.a, value);
});

test("events", () => {
  const events = run(['<tool_call name="f"><param name="a">1</param></tool_call>']);
  const types = ["block_open", "call_named", "call_open", "param_open", "arg_delta", "param_delta", "param_close", "call_close", "block_close"];
  assert.deepEqual(new Set(events.map(({ type }) => type)), new Set(types));
  const [close] = closes(events);
  assert.deepEqual({ ...close }, {
    type: "call_close", call: 0, name: "f", argumentsJson: '{"a":"1"}', arguments: { a: "1" }, grade: "complete", kinds: [],
    recovered: null, complete: true, start: 0, end: 57,
  });
  assert.equal(close.arguments, close.arguments);
  assert.equal(new TextDecoder().decode(events.at(-1).raw), '<tool_call name="f"><param name="a">1</param></tool_call>');
  const [again] = closes(run(['<tool_call name="f"><param name="a">1</param><param name="a">2</param></tool_call>']));
  assert.equal(again.argumentsJson, '{"a":"2"}');
  assert.deepEqual([again.complete, again.recovered], [false, ["duplicate_param"]]);
  const hermes = new tg.Engine({ dialects: "hermes" });
  const number = "1".repeat(40);
  const [exact] = closes(run([`<tool_call>{"name":"f","arguments":{"__proto__":${number}}}</tool_call>`], hermes));
  assert.equal(exact.argumentsJson, `{"__proto__":${number}}`);
  assert.deepEqual(Object.keys(exact.arguments), ["__proto__"]);
  assert.equal(Object.getPrototypeOf(exact.arguments), Object.prototype);
  hermes.free();
});

test("a chunk's memory can be reused", () => {
  const stream = engine.stream();
  const chunk = utf8.encode("abc <tool_call name=\"f\"><param name=\"a\">xyz");
  const events = stream.feed(chunk);
  const before = JSON.stringify(events);
  chunk.fill(0x21);
  stream.feed("!!!!!!!!!!!!");
  assert.equal(JSON.stringify(events), before);
  stream.free();
});

test("the end", () => {
  const stream = engine.stream();
  stream.feed("a <tool_c");
  assert.deepEqual([stream.held, stream.position, stream.finished], [7, 9, false]);
  throws(() => stream.finish("done"), "argument", /^reason: 'done' is none of 'stop', 'length'/);
  throws(() => stream.finish(null), "argument", /^reason: null is none of/);
  assert.deepEqual(stream.finish(), [{ type: "text", text: "<tool_c", start: 2, end: 9, recovered: false }]);
  assert.equal(stream.finished, true);
  assert.deepEqual([stream.finish(), stream.finish("error")], [[], []]);
  for (const step of ["feed", "feedSpecial", "prefill", "nativeCalls"]) {
    throws(() => stream[step](step === "nativeCalls" ? [] : "\ud83c"), "state", /the stream is finished; reset\(\) starts it over/);
  }
  const again = engine.restore(stream.snapshot());
  assert.equal(again.finished, true);
  again.free();
  stream.reset();
  assert.deepEqual([stream.held, stream.position, stream.finished], [0, 0, false]);
  assert.equal(textOf(stream.feed("x")), "x");
  stream.free();
});

test("truncated output is not a call", () => {
  const stream = engine.stream();
  const events = [...stream.feed(REPLY.slice(0, 70)), ...stream.finish("length")];
  assert.deepEqual(closes(events), []);
  const issue = events.filter(({ type }) => type === "issue").at(-1);
  assert.deepEqual([issue.kind, issue.severity], ["unclosed_block", "error"]);
  assert(issue.message && issue.observation);
  stream.free();
});

test("start, prefill, trusted markers, API tool calls", () => {
  assert.equal(textOf(run(["a</think>b"], engine, { start: "reasoning" })), "b");
  let stream = engine.stream();
  assert.equal(textOf(stream.prefill('x<tool_call name="f">')), "");
  assert.equal(closes(stream.feed('<param name="a">1</param></tool_call>'))[0].argumentsJson, '{"a":"1"}');
  stream.free();
  const trusted = new tg.Engine({ dialects: "tool-call-xml", trustedOnly: true });
  stream = trusted.stream();
  assert.deepEqual(closes(stream.feed(CALL)), []);
  stream.feedSpecial('<tool_call name="f">');
  assert.equal(closes(stream.feed('<param name="n">7</param></tool_call>')).length, 1);
  stream.free();
  const native = [{ id: "call_7", type: "function", function: { name: "f", arguments: '{"a":1}' } }];
  const turn = engine.parse("hi", { nativeCalls: native, finish: "tool_calls" });
  assert.deepEqual([turn.calls[0].native, turn.calls[0].meta, turn.calls[0].arguments], [true, { id: "call_7" }, { a: 1 }]);
  assert.equal(engine.parse("hi", { nativeCalls: JSON.stringify(native) }).calls.length, 1);
  throws(() => engine.parse("hi", { nativeCalls: [{}] }), "argument", /native_tool_calls\[0\]: it has no `function`/);
  throws(() => engine.parse("hi", { nativeCalls: 3 }), "argument", /^nativeCalls: an array or its JSON text is needed, not number/);
  trusted.free();
  assert.equal(tg.liveStreams, 0);
});

test("turns", () => {
  const turn = engine.parse(REPLY);
  assert.equal(turn.text, "Grüße 🌊!   und  Ende 中");
  assert.equal(turn.reasoning, "hm 中");
  assert.deepEqual([turn.issues, turn.errors], [[], []]);
  assert.deepEqual(turn.calls.map(({ name, arguments: a, index, dialect }) => [name, a, index, dialect]), [
    ["f", { a: "né 🌊" }, 0, "tool-call-xml"], ["g", { b: "2" }, 1, "tool-call-xml"],
  ]);
  assert.equal(REPLY.slice(0, 0) + new TextDecoder().decode(utf8.encode(REPLY).subarray(turn.calls[0].start, turn.calls[0].end)).slice(0, 10), "<tool_call");
  const twice = engine.parse('<tool_call name="f"><param name="a">1</param><param name="a">2</param></tool_call>');
  assert.deepEqual([twice.calls[0].argumentsJson, twice.calls[0].recovered, twice.calls[0].complete], ['{"a":"2"}', ["duplicate_param"], false]);
  assert.equal(twice.issues[0].kind, "duplicate_param");
  assert.deepEqual(engine.parse(utf8.encode(REPLY)), turn);
  assert.equal(engine.parse("").text, "");
  throws(() => engine.parse("x", { finish: "no" }), "argument", /^finish: 'no' is none of/);
  throws(() => engine.parse("x", { other: 1 }), "argument", /^options: there is no 'other'; there are finish/);
  throws(() => engine.parse(3), "argument", /^text: a string/);
  assert.equal(tg.liveStreams, 0);
});

test("tools type values", () => {
  for (const tools of [TOOLS, JSON.stringify(TOOLS), [{ type: "function", function: TOOLS[0] }]]) {
    const typed = new tg.Engine({ dialects: "tool-call-xml", tools });
    assert.deepEqual(typed.tools, ["f"]);
    assert.deepEqual(typed.parse(CALL).calls[0].arguments, { n: 7 });
    typed.free();
  }
  assert.deepEqual(engine.parse(CALL).calls[0].arguments, { n: "7" });
  assert.deepEqual(engine.parse(CALL, { tools: TOOLS }).calls[0].arguments, { n: 7 });
  assert.deepEqual(closes(run([CALL], engine, { tools: TOOLS }))[0].arguments, { n: 7 });
});

test("nothing retained", () => {
  const bare = new tg.Engine({ dialects: "tool-call-xml", retain: "none" });
  const [close] = closes(run([CALL], bare));
  assert.deepEqual([close.name, close.arguments, close.argumentsJson], ["f", null, null]);
  // A call whose arguments are unknown is not written as one without arguments.
  throws(() => bare.encode(close), "argument", /^calls\[0\]: its arguments were not kept \(retain: "none"\)$/);
  throws(() => toOpenAI(close), "argument", /^call: its arguments were not kept/);
  throws(() => bare.completion({ text: "", calls: [close] }), "argument", /^output.calls\[0\]: its arguments were not kept/);
  bare.free();
});

test("closed calls keep the pieces of their arguments", () => {
  const bare = new tg.Engine({ dialects: ["hermes", "tool-call-xml", "action"], retain: "none" });
  const text = '<tool_call>{"name": "rm", "arguments": {"path": "/tmp/x", "n": 1.50}}</tool_call>'
    + '<tool_call name="h"><param name="a">"1" {2}, [</param><param name="b">3</param><param name="a">2</param></tool_call>'
    + "<ACTION><f><a>1</a></f></ACTION>";
  const told = ({ name, argumentsJson, grade }) => [name, argumentsJson, grade];
  const wanted = bare.parse(text).calls.map(told);
  assert.deepEqual(wanted.map(([name, json, grade]) => [name, JSON.parse(json), grade]), [
    ["rm", { path: "/tmp/x", n: 1.5 }, "complete"], ["h", { a: "2", b: "3" }, "recovered"], ["f", {}, "recovered"],
  ]);
  for (const size of [1, 7, 1000]) {
    const [stream, calls] = [bare.stream(), new Calls()];
    for (let at = 0; at < text.length; at += size) calls.add(stream.feed(text.slice(at, at + size)));
    calls.add(stream.finish());
    stream.free();
    assert.deepEqual(calls.closed.map(told), wanted);
    assert.deepEqual(calls.closed[0].arguments, { path: "/tmp/x", n: 1.5 });
    assert.match(toOpenAI(calls.closed[0]).function.arguments, /1\.50/);
  }
  bare.free();
});

test("own dialects and switches", () => {
  const file = tg.dialectToml("vcp").replace('id = "vcp"', 'id = "mine"');
  for (const toml of [file, [file], { "mine.toml": file }]) assert.deepEqual(new tg.Engine({ toml }).dialects, ["mine"]);
  assert.deepEqual(new tg.Engine({ toml: file, dialects: "hermes" }).dialects.sort(), ["hermes", "mine"]);
  assert.equal(new tg.Engine({ dialects: ["hermes", "default"] }).dialects[0], "hermes");
  assert.deepEqual(new tg.Engine({ dialects: "hy-v4", switches: "hy-v4.suffix=:7b2e" }).dialects, ["hy-v4"]);
  const all = new tg.Engine();
  assert.deepEqual(all.dialects, new tg.Engine({ dialects: "default" }).dialects);
  assert(all.bound > 0 && Array.isArray(all.lints));
  assert(all.dialects.includes("tool-call-xml") && !all.dialects.includes("json-bare"));
  assert.equal(all.describe()[0].id, all.dialects[0]);
  all.describe()[0].id = "changed";
  assert.notEqual(all.dialects[0], "changed");
});

test("bad options", () => {
  const bad = [
    [{ dialects: "vpc" }, "dialect", /there is no dialect vpc \(did you mean vcp\?\)/],
    ["vpc", "dialect", /there is no dialect vpc/],
    [["hermes", "vpc"], "dialect", /there is no dialect vpc/],
    [["hermes", 3], "argument", /^dialects\[1\]: a string is needed, not number/],
    [3, "argument", /^options: an object is needed, not number/],
    [{ dialects: 3 }, "argument", /^dialects: a string or several are needed, not number/],
    [{ dialects: ["vcp", 3] }, "argument", /^dialects\[1\]: a string is needed, not number/],
    [{ dialects: ["tam", "tam2"] }, "dialect", /dialects tam/],
    [{ toml: "id = 3" }, "dialect", /toml\[0\]: .*line 1/],
    [{ toml: "" }, "dialect", /toml\[0\]/],
    [{ toml: { "mine.toml": "x" } }, "dialect", /mine.toml/],
    [{ toml: { "mine.toml": 3 } }, "argument", /^toml\['mine.toml'\]: a string is needed, not number/],
    [{ toml: 3 }, "argument", /^toml: an object is needed, not number/],
    [{ switches: ["fuzzy"] }, "argument", /^switches: 'fuzzy' is not a switch; write 'DIALECT.NAME'/],
    [{ dialects: "vcp", switches: ["vcp.no"] }, "dialect", /there is no such switch/],
    [{ switches: ["json-bare.x"] }, "dialect", /not in the set/],
    [{ tools: 3 }, "argument", /^tools: an array or its JSON text is needed, not number/],
    [{ tools: { name: "f" } }, "argument", /not Object/],
    [{ tools: "[" }, "tools", /the tools are not JSON/],
    [{ tools: [{ nam: "f" }] }, "tools", /tools\[0\]: it has no `name`/],
    [{ tools: [{ name: "f", x: 1n }] }, "argument", /^tools: .*BigInt/],
    [{ limits: { maxX: 1 } }, "argument", /^limits: there is no 'maxX'; there are maxValue/],
    [{ limits: { maxCalls: -1 } }, "argument", /^limits.maxCalls: -1 is not a whole number/],
    [{ limits: { maxCalls: 1.5 } }, "argument", /^limits.maxCalls: 1.5 is not a whole number/],
    [{ limits: { maxCalls: 2 ** 32 } }, "argument", /^limits.maxCalls: 4294967296 is more than 4294967295/],
    [{ limits: { maxCalls: "1" } }, "argument", /^limits.maxCalls: 1 is not a whole number/],
    [{ limits: 3 }, "argument", /^limits: an object is needed, not number/],
    [{ retain: "all" }, "argument", /^retain: 'all' is none of 'block', 'none'$/],
    [{ prefer: "x" }, "argument", /^prefer: 'x' is none of 'text', 'native', 'both'$/],
    [{ reasoning: 3 }, "argument", /^reasoning: number is none of/],
    [{ fence: "x" }, "argument", /^fence: 'x' is none of 'skip', 'allow'$/],
    [{ unclosed: "x" }, "argument", /^unclosed: 'x' is none of 'drop', 'text', 'salvage'$/],
    [{ start: "x" }, "argument", /^start: 'x' is none of 'dialect', 'text', 'reasoning'$/],
    [{ trustedOnly: 1 }, "argument", /^trustedOnly: number is none of false, true$/],
    [{ toolChoice: "x" }, "argument", /`required`/],
    [{ toolChoice: () => 1 }, "argument", /^toolChoice: a word or an object is needed, not function$/],
    [{ toolChoice: [] }, "argument", /^toolChoice: a word or an object is needed, not Array$/],
    [{ toolChoice: CYCLE }, "argument", /^toolChoice: .*circular/],
    [{ toolChoice: { toJSON: () => undefined } }, "argument", /^toolChoice: Object cannot be expressed in JSON$/],
    [{ tools: [CYCLE] }, "argument", /^tools: .*circular/],
    [{ promptTail: "x" }, "argument", /^options: there is no 'promptTail'/],
    [{ constructor: 3 }, "argument", /there is no 'constructor'/],
    [{ nothing: 3 }, "argument", /^options: there is no 'nothing'; there are dialects/],
  ];
  for (const [options, code, message] of bad) throws(() => new tg.Engine(options), code, message);
  throws(() => new Engine({}), "argument", /use the class that load\(\) gives/);
  throws(() => new Stream(), "argument", /use engine.stream\(\)/);
  throws(() => engine.stream({ start: "x" }), "argument", /^start: 'x'/);
  throws(() => engine.stream({ tools: "{" }), "tools", /not JSON/);
  throws(() => engine.stream({ toolChoice: CYCLE }), "argument", /^toolChoice: .*circular/);
  throws(() => engine.stream({ promptTail: 5 }), "argument", /^promptTail: a string/);
  throws(() => engine.stream({ limits: {} }), "argument", /^options: there is no 'limits'; there are start, promptTail, tools, toolChoice$/);
  throws(() => tg.dialectToml("none"), "dialect", /there is no built-in dialect none/);
  throws(() => tg.dialectToml(3), "argument", /^id: a string is needed/);
});

test("null means the default", () => {
  const names = [
    "dialects", "toml", "switches", "tools", "toolChoice", "limits", "retain", "prefer", "reasoning", "callsInReasoning", "fence",
    "unclosed", "trustedOnly", "start", "untyped", "broken", "unknownTool",
  ];
  const usual = new tg.Engine();
  const own = { start: "text", promptTail: null, tools: null, toolChoice: undefined };
  for (const missing of [null, undefined]) {
    const one = new tg.Engine({ ...Object.fromEntries(names.map((name) => [name, missing])), limits: { maxCalls: missing } });
    const text = `<think>a</think>${CALL}`;
    assert.deepEqual(one.parse(text), usual.parse(text));
    // Options of a stream are added to those of its engine.
    assert.deepEqual(run([text], one, own), run([text], usual, own));
    assert.deepEqual(one.parse("x", { promptTail: "x", finish: missing, nativeCalls: missing, guard: missing, original: missing }).text, "x");
    for (const name of names) {
      const stream = new tg.Engine({ dialects: "hermes", [name]: missing }).stream({ start: "text" });
      assert.equal(textOf(stream.feed("a")), "a", name);
      stream.free();
    }
    assert.equal(textOf([...usual.events(["a"], { source: missing, finish: missing, choice: missing })]), "a");
    assert.equal(JSON.parse(usual.completion("a", missing)).choices[0].message.content, "a");
    const rewriter = usual.rewriter(missing);
    assert.equal(JSON.parse(rewriter.feed("a").at(-1)).choices[0].delta.content, "a");
    rewriter.free();
  }
  usual.free();
});

test("an engine keeps copies of its options", () => {
  const [toolChoice, limits, tools] = [{ function: { name: "f" } }, { maxCalls: 1 }, structuredClone(TOOLS)];
  const one = new tg.Engine({ dialects: "hermes", toolChoice, limits, tools });
  const names = () => run(['{"n":7}'], one, { start: "text" }).filter(({ type }) => type === "call_open").map(({ name }) => name);
  assert.deepEqual(names(), ["f"]);
  toolChoice.function.name = "g";
  limits.maxCalls = 0;
  tools.pop();
  assert.deepEqual([names(), one.parse('{"n":7}').calls.map(({ name }) => name)], [["f"], ["f"]]);
  one.free();
});

test("an engine of dialect ids alone", () => {
  for (const options of ["hermes", ["hermes"], { dialects: "hermes" }]) assert.deepEqual(new tg.Engine(options).dialects, ["hermes"]);
  assert.deepEqual(new tg.Engine(["hermes", "vcp"]).dialects, ["hermes", "vcp"]);
  assert.deepEqual(new tg.Engine([]).dialects, new tg.Engine().dialects);
  assert.deepEqual(new tg.Engine("any").dialects, new tg.Engine({ dialects: "any" }).dialects);
});

test("invalid tool definitions are reported, the others are used", () => {
  const odd = [{ name: "f" }, { nam: "g" }, 5, { name: "f" }, { function: { name: "工具", parameters: [] } }];
  const wanted = ["tools[1]: it has no `name`", "tools[2]: a tool must be an object", /^tools\[3\].name: .*`f`/, /^tools\[4\].function.parameters: /];
  for (const tools of [odd, JSON.stringify(odd)]) {
    const own = new tg.Engine({ dialects: "tool-call-xml", tools });
    const stream = engine.stream({ tools });
    const copy = stream.copy();
    const turn = engine.parse(CALL, { tools });
    for (const issues of [own.toolIssues, stream.toolIssues, copy.toolIssues, turn.toolIssues, own.parse(CALL).toolIssues]) {
      assert.equal(issues.length, wanted.length);
      wanted.forEach((want, at) => (typeof want === "string" ? assert.equal(issues[at], want) : assert.match(issues[at], want)));
    }
    assert.deepEqual(own.tools, ["f", "工具"]);
    assert.equal(turn.calls.length, 1);
    for (const one of [own, stream, copy]) one.free();
  }
  assert.deepEqual(new tg.Engine({ tools: [] }).toolIssues, []);
  assert.deepEqual(new tg.Engine({ tools: [{ name: "f" }] }).toolIssues, []);
  assert.equal("toolIssues" in engine.parse(CALL, { tools: [{ name: "f" }] }), false);
  for (const tools of [[5], [{ name: "" }, { nam: "f" }]]) throws(() => engine.stream({ tools }), "tools", /^tools\[0\]/);
});

test("the stage of a stream", () => {
  const stream = engine.stream();
  const states = [
    ["", false, "normal"], ["Hi ", false, "normal"], ["<", false, "tag_opening"], ["b>", false, "normal"], ["<thi", false, "tag_opening"],
    ["nk>", true, "normal"], ["想", true, "normal"], ["</", true, "tag_opening"], ["think>", false, "normal"],
    ['<tool_call name="f">', false, "tag_content"], ["</tool_call>", false, "normal"],
  ];
  for (const [chunk, reasoning, stage] of states) {
    stream.feed(chunk);
    assert.deepEqual([stream.inReasoning, stream.mayHoldMarker, stream.stage], [reasoning, stage !== "normal", stage], chunk);
  }
  stream.feed("<think>");
  stream.finish();
  assert.deepEqual([stream.inReasoning, stream.mayHoldMarker], [false, false]);
  stream.free();
  const prompted = engine.stream({ promptTail: "<|im_start|>assistant\n<think>\n" });
  assert.deepEqual([prompted.inReasoning, prompted.mayHoldMarker], [true, false]);
  prompted.free();
});

test("the calls so far", () => {
  const [stream, calls] = [new tg.Engine("hermes").stream(), new Calls()];
  const steps = [
    ["Hi ", null, []],
    ['<tool_call>{"name": "f", "arguments": {"city": "Le', { index: 0, id: null, name: "f", argumentsJson: '{"city": "Le' }, []],
    ['ith"}}', null, ["f"]],
    ['</tool_call><tool_call>{"name": "g", "arguments": {', { index: 1, id: null, name: "g", argumentsJson: "{" }, ["f"]],
  ];
  for (const [chunk, open, closed] of steps) {
    calls.add(stream.feed(chunk));
    assert.deepEqual([calls.open, calls.closed.map((call) => call.name)], [open, closed], chunk);
    assert.equal(stream.stage, chunk === "Hi " ? "normal" : open ? "tag_content" : "tag_closing");
  }
  assert.deepEqual(calls.closed[0].arguments, { city: "Leith" });
  calls.add(stream.finish());
  assert.deepEqual([calls.open, calls.closed.length], [null, 1]);
  stream.free();
});

test("the dialects of a model", () => {
  const qwen = { calls: ["hermes"], reasoning: "reasoning-think", all: ["hermes", "reasoning-think"] };
  assert.deepEqual(tg.modelDialects("Qwen/Qwen3-8B"), qwen);
  assert.deepEqual(tg.modelDialects("gpt-oss-20b").all, ["harmony"]);
  assert.deepEqual(tg.modelDialects("gpt-2"), { calls: [], reasoning: null, all: [] });
  throws(() => tg.modelDialects(3), "argument", /^name: a string is needed/);
});

test("the tool_choice of the request", () => {
  const wanted = { tools: TOOLS, toolChoice: { function: { name: "f" } } };
  assert.deepEqual(engine.parse('{"n":7}', wanted).calls.map(({ name, arguments: a }) => [name, a]), [["f", { n: 7 }]]);
  assert.deepEqual(engine.parse(CALL, { toolChoice: "none" }).calls, []);
});

test("guarded text is not a call for another reader", () => {
  const split = `<tool_${CALL}call name="g"></tool_call>`;
  const [plain, guarded] = [engine.parse(split), engine.parse(split, { guard: true })];
  assert.deepEqual([engine.parse(plain.text).calls.length, engine.parse(guarded.text).calls.length], [1, 0]);
  assert.equal(guarded.calls.length, 1);
  assert.equal(engine.parse("a < b, `<tool_call>` is a mention", { guard: true }).text, "a < b, `<tool_call>` is a mention");
  throws(() => engine.parse("", { guard: 1 }), "argument", /^guard: true or false is needed/);
});

test("dropped bytes are reported alike in turns, chunks and completions", () => {
  const all = new tg.Engine();
  const cut = '<tool_call>{"name":"f","arguments":{"a":"x';
  const wanted = { withheld: [], dropped: [{ span: [0, 42], kinds: ["unclosed_block"] }] };
  const turn = all.parse(cut);
  assert.deepEqual(turn.toolglot, wanted);
  for (const output of [cut, turn]) assert.deepEqual(JSON.parse(all.completion(output)).toolglot, wanted);
  const rewriter = all.rewriter();
  const { withheld, dropped } = JSON.parse([...rewriter.feed(cut), ...rewriter.finish()].at(-1)).toolglot;
  assert.deepEqual({ withheld, dropped }, wanted);
  const own = all.parse(`${CALL} x`, { tools: [{ name: "other" }] });
  assert.equal("toolglot" in own, false);
  const strict = new tg.Engine({ unknownTool: "drop", tools: [{ name: "other" }] });
  assert.deepEqual(strict.parse(`${CALL} x`).toolglot.dropped, [{ span: [0, CALL.length], kinds: ["unknown_tool"] }]);
  for (const one of [strict, all, rewriter]) one.free();
});

test("the original text of a turn", () => {
  const texts = [
    `<think>嗯</think>Hi ${CALL} there`, "纯文本", "", `a <tool_call name="f"><param name="a">1`, `a <tool_call name="坏 ${CALL}`,
    "Kimi marks calls with `<|tool_calls_section_begin|>`.",
  ];
  for (const text of texts) {
    for (const finish of ["stop", "length"]) {
      const turn = engine.parse(text, { original: true, finish });
      assert.equal(turn.original, text);
      const { original, ...rest } = turn;
      assert.deepEqual(JSON.stringify(rest), JSON.stringify(engine.parse(text, { finish })));
      assert.equal(engine.parse(text, { original: true, finish, guard: true }).original, text);
    }
  }
  assert.equal(engine.parse(Uint8Array.of(0x61, 0xff), { original: true }).original, "a\ufffd");
  const none = new tg.Engine({ retain: "none" });
  assert.equal("original" in none.parse(CALL, { original: true }), false);
  assert.equal(none.parse("no block", { original: true }).original, "no block");
  for (const given of [undefined, {}, { original: false }, { original: null }]) assert.equal("original" in engine.parse(CALL, given), false);
  throws(() => engine.parse("", { original: "yes" }), "argument", /^original: true or false is needed/);
  none.free();
});

const OPENAI = [
  { id: "c7", created: 5, model: "m", choices: [{ index: 0, delta: { role: "assistant", content: 'Grüße <tool_call na' } }] },
  { id: "c7", created: 5, model: "m", choices: [{ index: 0, delta: { content: 'me="f"><param name="n">7</param></tool_call>' } }] },
  { id: "c7", created: 5, model: "m", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  { id: "c7", created: 5, model: "m", choices: [], usage: { total_tokens: 9 } },
];
const BODIES = {
  openai: `${OPENAI.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`,
  ollama: `${JSON.stringify({ message: { content: `Grüße ${CALL}` }, done: false })}\n${JSON.stringify({ message: { content: "" }, done: true, done_reason: "stop" })}\n`,
  anthropic: ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"].map((type) => {
    const more = {
      message_start: { message: { id: "m", role: "assistant", content: [] } }, content_block_start: { index: 0, content_block: { type: "text", text: "" } },
      content_block_delta: { index: 0, delta: { type: "text_delta", text: `Grüße ${CALL}` } }, content_block_stop: { index: 0 },
      message_delta: { delta: { stop_reason: "end_turn" } }, message_stop: {},
    }[type];
    return `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  }).join(""),
  text: `Grüße ${CALL}`,
};
/** Ways to split a text. */
const pieces = (text) => [[text], [...text], [utf8.encode(text)], Array.from(utf8.encode(text), (byte) => Uint8Array.of(byte)), Array.from({ length: text.length }, (_, at) => text[at])];

test("responses of servers become events", () => {
  for (const [source, body] of Object.entries(BODIES)) {
    const seen = pieces(body).map((chunks) => {
      const reader = engine.reader(source);
      const events = chunks.flatMap((chunk) => reader.feed(chunk));
      assert.equal(reader.reason, null);
      events.push(...reader.finish());
      assert.deepEqual([reader.reason, reader.errors, reader.held, reader.finished], ["stop", [], 0, true]);
      assert.deepEqual(reader.finish(), []);
      throws(() => reader.feed("x"), "state", /the reader is finished/);
      reader.free();
      return [textOf(events), closes(events).map((close) => [close.name, close.arguments, close.complete])];
    });
    for (const one of seen) assert.deepEqual(one, ["Grüße ", [["f", { n: "7" }, true]]], source);
  }
  const reader = engine.reader("openai");
  reader.feed("data: {broken}\n\n");
  assert.equal(reader.errors.length, 1);
  reader.finish("error");
  assert.equal(reader.reason, "error");
  reader.free();
  throws(() => reader.errors, "freed", /the reader was freed/);
  throws(() => engine.reader(), "argument", /^source: undefined is none of 'text', 'openai'/);
  throws(() => engine.reader("openai", { choice: -1 }), "argument", /^choice: -1 is not a whole number/);
  throws(() => engine.reader("openai", { other: 1 }), "argument", /^options: there is no 'other'; there are choice, start/);
  throws(() => new Reader(), "argument", /use engine.reader\(\)/);
  assert.equal(tg.liveStreams, 0);
});

test("responses are rewritten as OpenAI chunks", () => {
  for (const [source, body] of Object.entries(BODIES)) {
    const seen = pieces(body).map((chunks) => {
      const rewriter = engine.rewriter(source, { model: "m", idSeed: 7, id: "c7", created: 5 });
      const out = [...chunks.flatMap((chunk) => rewriter.feed(chunk)), ...rewriter.finish()].map((line) => JSON.parse(line));
      assert.deepEqual([rewriter.reason, rewriter.errors, rewriter.void], ["stop", [], []]);
      rewriter.free();
      assert(out.every(({ id, model, created }) => id === "c7" && model === "m" && created === 5));
      const deltas = out.flatMap(({ choices }) => choices);
      assert.equal(deltas.filter(({ finish_reason: reason }) => reason).map(({ finish_reason: reason }) => reason).join(), "tool_calls");
      const calls = deltas.flatMap(({ delta }) => delta.tool_calls ?? []);
      assert.match(calls[0].id, /^call_/);
      assert.deepEqual([calls[0].function.name, calls.map((call) => call.function.arguments ?? "").join("")], ["f", '{"n":"7"}']);
      if (source === "openai") assert.deepEqual(out.at(-1).usage, { total_tokens: 9 });
      return [deltas.map(({ delta }) => delta.content ?? "").join(""), calls[0].id];
    });
    for (const one of seen) assert.deepEqual(one, ["Grüße ", seen[0][1]], source);
  }
  const whole = engine.rewriter("text", { calls: "close", reasoning: null, protected: true });
  const lines = [...whole.feed(`<think>hm</think>${CALL}<tool_${CALL}call name="g"></tool_call>`), ...whole.finish("length")].map((line) => JSON.parse(line));
  whole.free();
  assert(lines.every(({ choices: [{ delta }] }) => !("reasoning_content" in delta)));
  const content = lines.map(({ choices: [{ delta }] }) => delta.content ?? "").join("");
  assert.deepEqual(engine.parse(content).calls, []);
  assert.match(lines[0].id, /^chatcmpl-./);
  assert(lines[0].created > 1.7e9);
  const ids = [1, 2].map(() => toOpenAI(engine.parse(CALL).calls[0]).id);
  assert.notEqual(ids[0], ids[1]);
  throws(() => engine.rewriter("text", { calls: "x" }), "argument", /^calls: 'x' is none of 'live', 'close'/);
  throws(() => engine.rewriter("x"), "argument", /^source: 'x' is none of/);
  throws(() => engine.rewriter("text", { forced: "yes" }), "argument", /^forced: true or false is needed, not string/);
  throws(() => engine.rewriter("text", { idSeed: -1 }), "argument", /^idSeed: -1 is not a whole number/);
  throws(() => new Rewriter(), "argument", /use engine.rewriter\(\)/);
  assert.equal(tg.liveStreams, 0);
});

test("whole completions", () => {
  const read = (text) => JSON.parse(text).choices[0];
  const turn = engine.parse(`<think>hm</think>${BODIES.text}`);
  for (const output of [`<think>hm</think>${BODIES.text}`, utf8.encode(`<think>hm</think>${BODIES.text}`), turn, JSON.parse(JSON.stringify(turn))]) {
    const { message, finish_reason: reason } = read(engine.completion(output));
    assert.deepEqual([message.content, message.reasoning_content, reason], ["Grüße ", "hm", "tool_calls"]);
    assert.deepEqual(message.tool_calls.map((call) => [call.type, call.function]), [["function", { name: "f", arguments: '{"n":"7"}' }]]);
  }
  const body = JSON.stringify({ id: "r", model: "m", choices: [{ index: 0, message: { role: "assistant", content: CALL }, finish_reason: "stop" }], usage: { total_tokens: 3 } });
  const whole = JSON.parse(engine.completion(body, "openai"));
  assert.deepEqual([whole.id, whole.usage, whole.choices[0].finish_reason], ["r", { total_tokens: 3 }, "tool_calls"]);
  assert.equal(read(engine.completion(BODIES.ollama, "ollama")).message.tool_calls[0].function.name, "f");
  // A recovered call is withheld and reported, from any source.
  const broken = '<tool_call name="f"><param name="a">1</param><param name="a">2</param></tool_call>';
  for (const output of [broken, engine.parse(broken)]) {
    const told = JSON.parse(engine.completion(output));
    assert.deepEqual([told.choices[0].message.tool_calls ?? [], told.toolglot.withheld[0].kinds], [[], ["duplicate_param"]]);
    assert.equal(read(engine.completion(output, undefined, { recovered: true })).message.tool_calls.length, 1);
  }
  const same = (options) => engine.completion(BODIES.text, "text", { idSeed: 3, created: 1, ...options });
  assert.equal(same(), same());
  assert.equal(JSON.parse(same({ id: "x", model: "m", idPrefix: "c-" })).choices[0].message.tool_calls[0].id.startsWith("c-"), true);
  for (const reasoning of [null, ""]) {
    const { message } = read(engine.completion("<think>hm</think>x", "text", { reasoning }));
    assert.deepEqual(message, { role: "assistant", content: "x" });
  }
  throws(() => engine.completion({ calls: [] }), "argument", /^output: a turn, a string/);
  throws(() => engine.completion({ text: "", calls: [{ name: "f" }] }), "argument", /^output.calls\[0\].argumentsJson: a string is needed/);
  throws(() => engine.completion(3), "argument", /^output: a string/);
  throws(() => engine.completion("", "text", { finish: "no" }), "argument", /^finish: 'no' is none of/);
});

test("calls as JSON", () => {
  const [call] = engine.parse(CALL).calls;
  assert.deepEqual(JSON.parse(JSON.stringify(call)).arguments, { n: "7" });
  assert.deepEqual(toOpenAI(call, "call_1"), { id: "call_1", type: "function", function: { name: "f", arguments: '{"n":"7"}' } });
  assert.match(toOpenAI(call).id, /^call_[0-9a-f]{24}$/);
  const [own] = engine.parse("", { nativeCalls: [toOpenAI(call, "call_own")] }).calls;
  assert.equal(toOpenAI(own, "other").id, "call_own");
  assert.equal(toOpenAI(closes(run([CALL]))[0], "x").function.arguments, '{"n":"7"}');
  throws(() => toOpenAI({ name: "f" }), "argument", /^call.argumentsJson/);
  throws(() => toOpenAI(null), "argument", /^call.argumentsJson/);
});

test("events of an iterable", async () => {
  const wanted = run([REPLY]);
  const plain = (events) => lines(joined(events));
  assert.deepEqual(plain([...engine.events([...REPLY])]), plain(wanted));
  const later = async (chunks, options) => {
    const events = [];
    for await (const event of engine.events((async function* () { yield* chunks; })(), options)) events.push(event);
    return events;
  };
  assert.deepEqual(plain(await later([...REPLY])), plain(wanted));
  const stream = new Response(BODIES.openai).body;
  const read = [];
  for await (const event of engine.events(stream, { source: "openai" })) read.push(event);
  assert.deepEqual([textOf(read), closes(read).length], ["Grüße ", 1]);
  // How a response ended: well, cut off, or left early.
  for (const [body, reason, errors] of [[BODIES.openai, "stop", 0], [BODIES.openai.slice(0, BODIES.openai.length >> 1), "error", 2]]) {
    const found = engine.events([body], { source: "openai" });
    assert.deepEqual([found.errors, found.reason], [[], null]);
    assert([...found].length > 0);
    assert.deepEqual([found.errors.length, found.reason], [errors, reason], `${found.errors}`);
  }
  const left = engine.events([BODIES.openai], { source: "openai" });
  for (const event of left) if (event.type === "text") break;
  assert.deepEqual([left.errors, left.reason], [[], null]);
  const told = engine.events(["a"], { finish: "length" });
  assert.deepEqual([told.errors, told.reason, [...told].length, told.errors, told.reason], [[], null, 1, [], "length"]);
  assert.deepEqual(closes(await later(['{"n":', "7}"], { tools: TOOLS, toolChoice: { function: { name: "f" } } })).length, 1);
  // Leaving the loop early leaks nothing.
  for (const event of engine.events(["a", "b"])) {
    assert.equal(event.type, "text");
    break;
  }
  assert([...engine.events(["<tool_call name=\"f\">"], { finish: "length" })].some(({ kind }) => kind === "unclosed_block"));
  for (const bad of [undefined, 3, "text", new Uint8Array(3)]) throws(() => engine.events(bad), "argument", /^chunks: something to iterate over/);
  throws(() => engine.events([], { finish: "no" }), "argument", /^finish: 'no'/);
  throws(() => engine.events([], { source: "no" }), "argument", /^source: 'no'/);
  assert.equal(tg.liveStreams, 0);
});

test("limits", () => {
  const two = new tg.Engine({ dialects: "tool-call-xml", limits: { maxCalls: 2 } });
  const turn = two.parse(CALL.repeat(3));
  assert.deepEqual([turn.calls.length, turn.issues.map(({ kind }) => kind)], [2, ["limit_calls"]]);
  two.free();
});

test("snapshots at every byte", () => {
  const bytes = utf8.encode(REPLY);
  const whole = lines(joined(run([bytes])));
  const walker = engine.stream();
  const before = [];
  for (let at = 0; at <= bytes.length; at++) {
    for (const other of [engine.restore(walker.snapshot()), walker.copy()]) {
      assert.deepEqual([other.position, other.held], [at, walker.held]);
      assert.deepEqual(lines(joined([...before, ...other.feed(bytes.subarray(at)), ...other.finish()])), whole);
      other.free();
    }
    before.push(...walker.feed(bytes.subarray(at, at + 1)));
  }
  walker.free();
});

test("bad snapshots", () => {
  const stream = engine.stream();
  stream.feed('<tool_call name="f"><param name="a">12');
  const good = stream.snapshot();
  for (const bad of [new Uint8Array(0), utf8.encode("x"), good.slice(0, -1), good.slice(0, 9), good.slice(0, 20), new Uint8Array([...good, 1])]) {
    throws(() => engine.restore(bad), "snapshot", /./);
  }
  for (let at = 0; at < good.length; at++) {
    const bad = good.slice();
    bad[at] ^= 1;
    throws(() => engine.restore(bad), "snapshot", /./);
  }
  throws(() => new tg.Engine({ dialects: "vcp" }).restore(good), "snapshot", /other dialects or options/);
  throws(() => engine.restore(good, { start: "reasoning" }), "snapshot", /other dialects or options/);
  throws(() => engine.restore("text"), "argument", /^snapshot: Uint8Array or ArrayBuffer is needed, not string/);
  stream.free();
  assert.equal(tg.liveStreams, 0);
});

test("encode, escape, detect", () => {
  const hermes = new tg.Engine({ dialects: ["hermes", "tool-call-xml"] });
  const want = '<tool_call>{"name":"f","arguments":{"a":"né"}}</tool_call>';
  const call = { name: "f", arguments: { a: "né" } };
  for (const calls of [call, [call], { name: "f", arguments: '{"a":"né"}' }, { type: "function", function: call }, hermes.parse(want).calls]) {
    assert.equal(hermes.encode(calls), want);
  }
  assert.equal(hermes.encode({ id: "1", function: call }), want.replace("{", '{"id":"1",'));
  assert.match(hermes.encode(call, "tool-call-xml"), /^<tool_call name="f">/);
  assert.equal(hermes.encode({ name: "f" }), '<tool_call>{"name":"f","arguments":{}}</tool_call>');
  throws(() => hermes.encode(call, "vcp"), "dialect", /vcp/);
  throws(() => hermes.encode({}), "argument", /^calls\[0\]: it has no name/);
  throws(() => hermes.encode([call, null]), "argument", /^calls\[1\]: it has no name/);
  throws(() => hermes.encode({ name: "f", arguments: { a: 1n } }), "argument", /^calls\[0\].arguments: .*BigInt/);
  throws(() => hermes.encode({ name: "f", arguments: "[" }), "encode", /./);
  throws(() => hermes.encode({ name: "f", arguments: () => 1 }), "argument", /^calls\[0\].arguments: function cannot be expressed in JSON$/);
  throws(() => hermes.encode({ name: "f", argumentsJson: { a: 1 } }), "argument", /^calls\[0\].argumentsJson: a string is needed/);
  throws(() => hermes.encode({ id: 1n, name: "f" }), "argument", /^calls: .*BigInt/);
  const text = '(see <tool_call name="f">) 中';
  assert.equal(engine.escape(text), '(see <\\tool_call name="f">) 中');
  assert.equal(engine.unescape(engine.escape(text)), text);
  assert.deepEqual(engine.unescape(engine.escape(utf8.encode(text))), utf8.encode(text));
  assert.deepEqual(engine.escape(Uint8Array.of(0xff, 0)), Uint8Array.of(0xff, 0));
  throws(() => engine.escape(null), "argument", /^text: .* not null/);
  const [found] = tg.detect(want);
  assert.deepEqual([found.dialect, found.confidence, found.spans], ["hermes", "strong", [{ start: 0, end: utf8.encode(want).length }]]);
  assert.deepEqual(tg.detect("nothing"), []);
  throws(() => tg.detect("", { tools: 3 }), "argument", /^tools/);
  const every = tg.dialects();
  assert(every.length > 90 && every.find(({ id }) => id === "vcp").family === "key-quote");
  hermes.free();
});

test("freed objects refuse use", () => {
  const own = new tg.Engine({ dialects: "vcp" });
  const stream = own.stream();
  own.free();
  own.free();
  assert.equal(textOf(stream.feed("streams stay")), "streams stay");
  for (const step of [() => own.stream(), () => own.parse(""), () => own.dialects, () => own.escape(""), () => own.restore(new Uint8Array(0))]) {
    throws(step, "freed", /the engine was freed/);
  }
  stream.free();
  stream.free();
  for (const step of [() => stream.feed("x"), () => stream.finish(), () => stream.reset(), () => stream.snapshot(), () => stream.copy(), () => stream.held, () => stream.finished]) {
    throws(step, "freed", /the stream was freed/);
  }
  if (Symbol.dispose) {
    const other = engine.stream();
    other[Symbol.dispose]();
    throws(() => other.held, "freed", /./);
  }
  assert.equal(tg.liveStreams, 0);
});

test("memory does not grow with streams that were freed", () => {
  const round = () => {
    for (let i = 0; i < 300; i++) {
      const stream = engine.stream({ tools: TOOLS });
      stream.feed(REPLY);
      stream.copy().free();
      engine.restore(stream.snapshot(), { tools: TOOLS }).free();
      stream.finish();
      stream.free();
      engine.parse(REPLY);
      throws(() => engine.stream({ tools: "[" }), "tools", /./);
    }
    for (let i = 0; i < 5; i++) {
      new tg.Engine({ dialects: ["vcp", "hermes"], tools: TOOLS }).free();
      throws(() => new tg.Engine({ toml: "x" }), "dialect", /./);
    }
  };
  round();
  const before = tg.memoryBytes;
  for (let i = 0; i < 10; i++) round();
  assert.equal(tg.memoryBytes, before);
  assert.equal(tg.liveStreams, 0);
});

test("memory grows during a call", async () => {
  const one = await load(wasm);
  const own = new one.Engine({ dialects: "tool-call-xml" });
  const before = one.memoryBytes;
  const stream = own.stream();
  const events = [];
  const value = "né🌊".repeat(5000);
  events.push(...stream.feed('<tool_call name="f"><param name="a">'));
  for (let i = 0; i < 50; i++) events.push(...stream.feed(value));
  events.push(...stream.feed('</param><param name="a">x</param></tool_call>'), ...stream.finish());
  assert(one.memoryBytes > before);
  assert.equal(closes(events)[0].argumentsJson, '{"a":"x"}');
  assert.equal(events.filter(({ type }) => type === "arg_delta").map(({ json }) => json).join(""), `{"a":"${value.repeat(50)}","a":"x"}`);
});

test("unreachable objects are collected", { skip: globalThis.gc === undefined }, async () => {
  const one = await load(wasm);
  (() => {
    const own = new one.Engine({ dialects: "vcp" });
    for (let i = 0; i < 100; i++) own.stream().feed("x");
  })();
  for (let i = 0; i < 100 && one.liveStreams > 0; i++) {
    globalThis.gc();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal(one.liveStreams, 0);
});

/** An instance with direct access to its exports, to trap it. */
async function trapped(step) {
  const original = WebAssembly.instantiate;
  let exports;
  WebAssembly.instantiate = async (...args) => {
    const instance = await original.apply(WebAssembly, args);
    const real = instance.exports;
    exports = { ...real, toolglot_stream_reset: () => step(real) };
    return { exports };
  };
  try {
    return await load(wasm);
  } finally {
    WebAssembly.instantiate = original;
  }
}

test("after a trap the instance is lost", async () => {
  const traps = [
    // A panic: the error carries its message.
    [(x) => x.toolglot_wasm_free(8, 0x90000000), /panicked at .*a length that memory can have/s],
    // Another trap: access outside the memory.
    [(x) => x.toolglot_buffer_view(0x7ffffff0, 0), /memory access out of bounds/],
  ];
  for (const [step, message] of traps) {
    const one = await trapped(step);
    const own = new one.Engine({ dialects: "vcp" });
    const stream = own.stream();
    const other = own.stream();
    stream.feed("x");
    throws(() => stream.reset(), "internal", message);
    for (const next of [() => stream.feed("x"), () => other.feed("x"), () => own.stream(), () => new one.Engine(), () => one.version, () => one.detect("x")]) {
      throws(next, "lost", /this instance of toolglot is lost \(.*load\(\) another one/s);
    }
    stream.free();
    own.free();
    assert.equal(engine.parse("others go on").text, "others go on");
  }
});
