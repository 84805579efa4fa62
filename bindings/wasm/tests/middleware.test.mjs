// Tests of the middleware for the AI SDK: `node --test tests/middleware.test.mjs`. A stand-in for the SDK does what `wrapLanguageModel`
// does.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ToolglotError, load } from "../agent.js";

const tg = await load();
const call = (name, args = {}) => `<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`;
const weather = {
  type: "function",
  name: "weather",
  description: "Tells the weather.",
  inputSchema: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city"] },
};
const user = (text) => ({ role: "user", content: [{ type: "text", text }] });
const counted = () => {
  let made = 0;
  return () => `c${made++}`;
};
const made = (options) => tg.middleware({ dialect: "hermes", id: counted(), ...options });

const streamed = (parts) => new ReadableStream({
  start(controller) {
    for (const part of parts) controller.enqueue(part);
    controller.close();
  },
});

/** A model with a fixed reply. Records its requests. */
function model(reply, { size = 3, finish = "stop", before = [] } = {}) {
  const asked = [];
  return {
    asked,
    async doGenerate(params) {
      asked.push(params);
      return { content: [...before, { type: "text", text: reply }], finishReason: finish, usage: { inputTokens: 1 }, warnings: [] };
    },
    async doStream(params) {
      asked.push(params);
      const parts = [{ type: "stream-start", warnings: [] }, ...before, { type: "text-start", id: "t" }];
      for (let at = 0; at < reply.length; at += size) parts.push({ type: "text-delta", id: "t", delta: reply.slice(at, at + size) });
      parts.push({ type: "text-end", id: "t" }, { type: "finish", finishReason: finish, usage: { inputTokens: 1 } });
      return { stream: streamed(parts), response: { headers: {} } };
    },
  };
}

/** Wraps a model in a middleware, as the SDK does. */
async function generate(inner, middleware, params) {
  const told = await middleware.transformParams({ type: "generate", params, model: inner });
  return middleware.wrapGenerate({ doGenerate: () => inner.doGenerate(told), params: told, model: inner });
}

async function stream(inner, middleware, params) {
  const told = await middleware.transformParams({ type: "stream", params, model: inner });
  const given = await middleware.wrapStream({ doStream: () => inner.doStream(told), params: told, model: inner });
  const parts = [];
  for await (const part of given.stream) parts.push(part);
  return { ...given, parts };
}

/** Joins the parts of a stream, and checks that they follow the rules of the interface. */
function together(parts) {
  const open = new Map();
  const seen = new Set();
  const out = [];
  for (const part of parts) {
    const [, kind, step] = /^(text|reasoning|tool-input)-(start|delta|end)$/.exec(part.type) ?? [];
    if (step === "start") {
      assert(!seen.has(part.id), `the id ${part.id} twice`);
      assert.equal(open.size, 0, "one block at a time");
      seen.add(part.id);
      open.set(part.id, { type: kind, text: "" });
    } else if (step === "delta") {
      open.get(part.id).text += part.delta;
    } else if (step === "end") {
      const { type, text } = open.get(part.id);
      open.delete(part.id);
      if (type !== "tool-input") out.push({ type, text });
      else out.push({ type, id: part.id, text });
    } else if (part.type === "tool-call") {
      assert.deepEqual(out.pop(), { type: "tool-input", id: part.toolCallId, text: part.input });
      out.push(part);
    }
  }
  assert.equal(open.size, 0);
  return out;
}

test("the prompt declares tools, and calls in the text become tool calls", async () => {
  const inner = model(`Let me look. ${call("weather", { city: "Leith", days: 2 })}`);
  const params = { prompt: [{ role: "system", content: "Be brief." }, user("How is it?")], tools: [weather], toolChoice: { type: "auto" } };
  const result = await generate(inner, made(), params);
  assert.deepEqual(result.content, [
    { type: "text", text: "Let me look. " },
    { type: "tool-call", toolCallId: "c0", toolName: "weather", input: '{"city":"Leith","days":2}' },
  ]);
  assert.equal(result.finishReason, "tool-calls");
  assert.deepEqual(result.usage, { inputTokens: 1 });
  const [{ prompt, tools, toolChoice }] = inner.asked;
  assert(prompt[0].content.startsWith("Be brief.\n\n") && prompt[0].content.includes("Tells the weather."));
  assert.deepEqual([prompt[1], tools, toolChoice], [user("How is it?"), undefined, undefined]);
  assert.equal(params.prompt[0].content, "Be brief.", "what was given is not changed");
  // A missing system message is added; without tools the prompt stays as it is.
  await generate(inner, made(), { prompt: [user("hi")], tools: [weather] });
  assert.deepEqual(inner.asked[1].prompt.map(({ role }) => role), ["system", "user"]);
  for (const more of [{}, { tools: [] }, { tools: [weather], toolChoice: { type: "none" } }]) {
    await generate(inner, made(), { prompt: [user("hi")], ...more });
    assert.deepEqual(inner.asked.pop().prompt, [user("hi")]);
  }
  // Tools of the provider are left to it.
  const search = { type: "provider", id: "p.search", name: "search", args: {} };
  await generate(inner, made(), { prompt: [user("hi")], tools: [search, weather] });
  assert.deepEqual(inner.asked.pop().tools, [search]);
});

test("pieces of every size give the same stream", async () => {
  const reply = `Let me look. ${call("weather", { city: "a" })}\n${call("weather", { city: "b", days: 3 })} And < so on.`;
  const params = { prompt: [user("How is it?")], tools: [weather] };
  const wanted = (await generate(model(reply), made(), params)).content;
  assert.deepEqual(wanted.filter(({ type }) => type === "tool-call").map(({ input }) => input), ['{"city":"a"}', '{"city":"b","days":3}']);
  for (let size = 1; size <= reply.length; size += 1) {
    const { parts, response } = await stream(model(reply, { size }), made(), params);
    assert.deepEqual(together(parts), wanted, `pieces of ${size}`);
    assert.equal(parts[0].type, "stream-start");
    assert.deepEqual(parts.at(-1), { type: "finish", finishReason: "tool-calls", usage: { inputTokens: 1 } });
    assert.deepEqual(response, { headers: {} });
  }
  // Text is delivered at once.
  const { parts } = await stream(model("Hello there, all.", { size: 1 }), made(), params);
  assert(parts.filter(({ type }) => type === "text-delta").length > 10);
  assert.equal(parts.at(-1).finishReason, "stop");
});

test("an engine that keeps nothing has the arguments too", async () => {
  const engine = new tg.Engine({ dialects: "hermes", retain: "none", tools: [{ name: "weather", parameters: weather.inputSchema }] });
  const inner = model(`${call("weather", { city: "a" })}${call("weather", { city: "b" })}`);
  const { content } = await generate(inner, made({ engine }), { prompt: [user("How is it?")], tools: [weather] });
  assert.deepEqual(content.map(({ input }) => input), ['{"city":"a"}', '{"city":"b"}']);
});

test("calls and results of the conversation are written for the model", async () => {
  const inner = model("It rains.");
  const prompt = [
    user("How is it?"),
    { role: "assistant", content: [{ type: "text", text: "I look." }, { type: "tool-call", toolCallId: "x", toolName: "weather", input: { city: "Leith" } },
      { type: "tool-call", toolCallId: "y", toolName: "weather", input: { city: "Bo" } }] },
    { role: "tool", content: [
      { type: "tool-result", toolCallId: "x", toolName: "weather", output: { type: "text", value: "rain <tool_call>" } },
      { type: "tool-result", toolCallId: "y", toolName: "weather", output: { type: "error-text", value: "no such city" } },
    ] },
    { role: "tool", content: [
      { type: "tool-approval-response", approvalId: "a", approved: false },
    ] },
    { role: "tool", content: [
      { type: "tool-result", toolCallId: "x", toolName: "weather", output: { type: "json", value: { sky: "grey" } } },
      { type: "tool-result", toolCallId: "x", toolName: "weather", output: { type: "content", value: [{ type: "text", text: "part" }, { type: "media" }] } },
      { type: "tool-result", toolCallId: "x", toolName: "weather", output: { type: "execution-denied", reason: "not now" } },
    ] },
  ];
  const result = await generate(inner, made(), { prompt, tools: [weather] });
  assert.deepEqual([result.content, result.finishReason], [[{ type: "text", text: "It rains." }], "stop"]);
  const told = inner.asked[0].prompt;
  assert.deepEqual(told.map(({ role }) => role), ["system", "user", "assistant", "user", "user"]);
  assert.equal(told[2].content[0].text, "I look.");
  // The written calls parse back to the original ones.
  const turn = new tg.Engine("hermes").parse(told[2].content[1].text);
  assert.deepEqual(turn.calls.map((one) => one.arguments), [{ city: "Leith" }, { city: "Bo" }]);
  const [first, second] = told.slice(3).map(({ content }) => content[0].text);
  assert(first.includes("rain <\\tool_call>") && first.includes("no such city"), first);
  for (const words of ['"sky"', "part\n[media]", "not now"]) assert(second.includes(words), second);
});

test("reasoning, other parts and the end of a reply", async () => {
  const engine = new tg.Engine({ dialects: ["hermes", "reasoning-think"] });
  const reply = `<think>hm</think>Now. ${call("weather", { city: "a" })}`;
  const source = { type: "source", sourceType: "url", id: "s", url: "http://x" };
  const native = { type: "tool-call", toolCallId: "n", toolName: "other", input: "{}" };
  const options = { before: [source, native], finish: { unified: "stop", raw: "end" } };
  const params = { prompt: [user("hi")], tools: [weather] };
  const result = await generate(model(reply, options), made({ engine }), params);
  assert.deepEqual(result.content.map(({ type, text }) => [type, text]),
    [["source", undefined], ["tool-call", undefined], ["reasoning", "hm"], ["text", "Now. "], ["tool-call", undefined]]);
  assert.deepEqual(result.finishReason, { unified: "tool-calls", raw: "end" });
  const { parts } = await stream(model(reply, { ...options, before: [source] }), made({ engine }), params);
  assert.deepEqual(together(parts).map(({ type }) => type), ["reasoning", "text", "tool-call"]);
  assert(parts.includes(source));
  assert.deepEqual(parts.at(-1).finishReason, { unified: "tool-calls", raw: "end" });

  // A truncated call is not delivered.
  const cut = call("weather", { city: "Leith" }).slice(0, -20);
  for (const finish of ["length", { unified: "length" }]) {
    const short = await stream(model(`Look: ${cut}`, { finish }), made(), params);
    assert.deepEqual([together(short.parts), short.parts.at(-1).finishReason], [[{ type: "text", text: "Look: " }], finish]);
    assert.deepEqual((await generate(model(`Look: ${cut}`, { finish }), made(), params)).content, [{ type: "text", text: "Look: " }]);
  }
  // A reply that failed or broke off does not end well because it had calls.
  for (const finish of ["error", { unified: "interrupted" }]) {
    const { parts: cut } = await stream(model(call("weather"), { finish }), made(), params);
    assert.deepEqual([together(cut).map(({ type }) => type), cut.at(-1).finishReason], [["tool-call"], finish]);
    assert.deepEqual((await generate(model(call("weather"), { finish }), made(), params)).finishReason, finish);
  }
  // A stream that breaks off still delivers its text.
  const broken = { doStream: async () => ({ stream: streamed([{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: "Hi <tool" }]) }) };
  assert.deepEqual(together((await stream(broken, made(), params)).parts), [{ type: "text", text: "Hi <tool" }]);
});

test("dialects are explained in the prompt and parsed", async () => {
  const params = { prompt: [user("How is it?")], tools: [weather] };
  for (const dialect of ["action", "vcp", "tam", "tool-action", "tool-call-xml", "qwen3-coder"]) {
    const engine = new tg.Engine({ dialects: dialect, tools: new tg.Tools([{ type: "function", function: { ...weather, parameters: weather.inputSchema } }]).definitions });
    const reply = `Well. ${engine.encode({ name: "weather", arguments: { city: "Leith", days: 2 } }, engine.dialects[0])}`;
    const { parts } = await stream(model(reply), made({ dialect }), params);
    const calls = together(parts).filter(({ type }) => type === "tool-call");
    assert.deepEqual(calls.map(({ toolName, input }) => [toolName, JSON.parse(input)]), [["weather", { city: "Leith", days: 2 }]], dialect);
  }
});

test("bad options say what is wrong", () => {
  const throws = (options, code, message) => assert.throws(() => tg.middleware(options), (error) => {
    assert(error instanceof ToolglotError, String(error.stack));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  });
  throws({}, "argument", /dialect/);
  throws({ dialect: "nothing" }, "dialect", /nothing/);
  throws({ dialect: "hermes", lang: "fr" }, "argument", /'fr'/);
  throws({ dialect: "hermes", odd: 1 }, "argument", /'odd'/);
  throws({ dialect: "hermes", id: 7 }, "argument", /id/);
});
