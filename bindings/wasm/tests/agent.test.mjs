// Tests of tools and agents: `node --test tests/agent.test.mjs`. Also replays the vectors of tests/agent.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { test } from "node:test";
import { Task, ToolglotError, load } from "../agent.js";
import { Core } from "../lib/core.js";

const tg = await load();
const utf8 = new TextEncoder();
const call = (name, args = {}) => `<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`;
const double = {
  name: "double",
  description: "Doubles a number.",
  parameters: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
  run: ({ n }) => 2 * n,
};
const fails = {
  name: "fails",
  description: "Fails.",
  parameters: { type: "object" },
  run: () => {
    throw new RangeError("no luck");
  },
};
const named = (name, run, more = {}) => ({ name, description: name, parameters: { type: "object" }, run, ...more });

/** A model with a script of replies; the number of replies in the conversation selects the next. */
function script(...replies) {
  const model = async function* reply(messages) {
    model.asked.push(messages);
    const text = replies[messages.filter(({ role }) => role === "assistant").length];
    for (let at = 0; at < text.length; at += 5) yield text.slice(at, at + 5);
  };
  model.asked = [];
  return model;
}
const agent = (model, options = {}) => new tg.Agent({ model, tools: [double, fails], dialect: "hermes", policy: "allow", ...options });
const states = (run) => run.calls.map(({ state }) => state);
const throws = (step, code, message) => assert.throws(step, (error) => {
  assert(error instanceof ToolglotError, String(error.stack));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, message);
  return true;
});
const rejects = (promise, code, message) => assert.rejects(promise, (error) => {
  assert.equal(error.code, code, error.stack);
  assert.match(error.message, message);
  return true;
});

// Chat templates.

const template = (written) => "{%- for m in messages %}{{- '<|' + m.role + '|>' + (m.content or '') }}{%- for c in m.tool_calls or [] %}"
  + `{{- ${written} }}{%- endfor %}{{- '<|end|>' }}{%- endfor %}{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}`;
const own = template("'<call>' + c.function.name + ': ' + (c.function.arguments | tojson) + '</call>'");

test("a dialect is derived from a chat template", () => {
  const derived = tg.derive(own);
  assert.deepEqual([derived.dialects, derived.start, derived.stop], [["derived"], "<|assistant|>", ["<|end|>"]]);
  assert.match(derived.toml, /<call>/);
  assert.match(derived.report, /read back/);
  const messages = [{ role: "user", content: "A coat?" }];
  assert.equal(derived.render(messages), "<|user|>A coat?<|end|><|assistant|>");
  assert.equal(derived.render(messages, { generate: false }), "<|user|>A coat?<|end|>");
  const engine = derived.engine({ fence: "skip" });
  assert.deepEqual(engine.parse('Yes.<call>find: {"what": "coat"}</call>').calls[0].arguments, { what: "coat" });
  engine.free();
  const named = tg.derive(utf8.encode(JSON.stringify({ chat_template: own, eos_token: "</s>" })), { id: "house", own: true });
  assert.deepEqual(named.dialects, ["house"]);
});

test("a built-in dialect that reads the same is taken, unless an own one is wanted", () => {
  const hermes = template("'\\n<tool_call>\\n' + (c.function | tojson) + '\\n</tool_call>'");
  assert.equal(tg.derive(hermes).toml, null);
  const engine = tg.Engine.forTemplate(hermes);
  assert.deepEqual(engine.dialects, ["hermes"]);
  engine.free();
  const made = tg.Engine.forTemplate(hermes, { own: true, variables: { enable_thinking: false }, fence: "skip" });
  assert.deepEqual(made.dialects, ["derived"]);
  made.free();
});

test("a template without calls, a broken one and wrong options are refused", () => {
  throws(() => tg.derive("{{ messages[0].content }}"), "dialect", /writes no calls/);
  throws(() => tg.derive("{% if"), "dialect", /syntax error/);
  throws(() => tg.derive(utf8.encode("GGUF")), "dialect", /./);
  throws(() => tg.derive(own).render([{ role: "user", content: "x" }], { tool: [] }), "argument", /no 'tool'/);
  throws(() => tg.derive(own).engine({ dialects: "vcp" }), "argument", /come from the template/);
  throws(() => tg.derive(own).engine("vcp"), "argument", /^options: an object is needed/);
  assert.deepEqual(tg.derive(own).engine({ dialects: null, toml: undefined }).dialects, ["derived"]);
  const cycle = {};
  cycle.self = cycle;
  throws(() => tg.derive(own, { variables: cycle }), "argument", /^variables: .*circular/);
  throws(() => tg.derive(3), "argument", /template/);
  throws(() => tg.derive(own, { id: 3 }), "argument", /id/);
});

// The core, without this package's agents.

const wasm = readFileSync(new URL("../toolglot-agent.wasm", import.meta.url));
const core = new Core((await WebAssembly.instantiate(await WebAssembly.compile(wasm), {})));

function holds(wanted, have) {
  if (Array.isArray(wanted)) return Array.isArray(have) && wanted.length === have.length && wanted.every((one, at) => holds(one, have[at]));
  if (wanted !== null && typeof wanted === "object") {
    return have !== null && typeof have === "object" && Object.keys(wanted).every((key) => key in have && holds(wanted[key], have[key]));
  }
  return wanted === have;
}
const HIDDEN = ["text", "reasoning", "named", "written", "message"];

function vector(given, saves, size) {
  const { x, out } = core;
  const lend = (text, step) => core.lend(text, step);
  const config = core.made(x.toolglot_config_new(1, out));
  lend(given.agent.dialect, (at, len) => core.check(x.toolglot_config_add_builtin(config, at, len)));
  const engine = core.made(x.toolglot_engine_new(config, out));
  const made = core.made(x.toolglot_agent_new(out));
  lend(JSON.stringify(given.agent), (at, len) => core.check(x.toolglot_agent_read(made, engine, 0, at, len), "toolglot_agent_error", made));
  const begin = (step, text) => lend(text, (at, len) => {
    core.check(x[step](made, at, len, out), "toolglot_agent_error", made);
    return core.u32[out >>> 2];
  });
  const said = () => {
    const all = [];
    for (;;) {
      core.check(x.toolglot_run_take(run, out), "toolglot_run_error", run);
      const text = core.view(out);
      if (text === "") return all;
      const one = JSON.parse(text);
      if (one.do !== "event" || !HIDDEN.includes(one.event)) all.push(one);
    }
  };
  let run = given.steps
    ? begin("toolglot_agent_steps", JSON.stringify(given.steps))
    : begin("toolglot_agent_run", JSON.stringify([{ role: "user", content: given.user }]));
  given.script.forEach(({ expect = [], fails, begin: nothing, ...told }, number) => {
    if (saves && number > 0) {
      const saved = core.written((buffer) => x.toolglot_run_write(run, 0, buffer));
      x.toolglot_run_free(run);
      run = begin("toolglot_agent_restore", saved);
      said();
    }
    const tell = (name, data) => lend(data, (at, len) => core.check(x[name](run, at, len), "toolglot_run_error", run));
    const all = () => {
      if (typeof told.model === "string") {
        const bytes = utf8.encode(told.model);
        for (let at = 0; at < bytes.length; at += size) tell("toolglot_run_model", bytes.subarray(at, at + size));
      } else if (Object.keys(told).length > 0) {
        tell("toolglot_run_tell", JSON.stringify(told));
      }
    };
    if (fails) assert.throws(all, (error) => error.code === "state" && error.message.includes(fails));
    else all();
    const have = said();
    assert(holds(expect, have), `${given.id} line ${number}:\nwanted ${JSON.stringify(expect, null, 1)}\nhave ${JSON.stringify(have, null, 1)}`);
  });
  x.toolglot_run_free(run);
  x.toolglot_agent_free(made);
  x.toolglot_engine_free(engine);
  x.toolglot_config_free(config);
}

test("the vectors of agents", () => {
  const folder = new URL("../../../tests/agent/", import.meta.url);
  const lines = readdirSync(folder).flatMap((file) => readFileSync(new URL(file, folder), "utf8").split("\n")).filter((line) => line.trim());
  assert(lines.length >= 40);
  for (const line of lines) {
    for (const size of [1, 7, 1 << 20]) for (const saves of [false, true]) vector(JSON.parse(line), saves, size);
  }
});

// Tools.

test("tools of every form", () => {
  const openai = { type: "function", function: { name: "a", description: "A", parameters: { type: "object" } } };
  const anthropic = { name: "b", description: "B", input_schema: { type: "object" } };
  const mcp = { tools: [{ name: "c", description: "C", inputSchema: { type: "object" } }] };
  const tools = new tg.Tools(openai, [anthropic, mcp], JSON.stringify([{ name: "d", description: "D" }]), double);
  assert.deepEqual(tools.names, ["a", "b", "c", "d", "double"]);
  assert.deepEqual(new tg.Tools(tools).names, tools.names);
  assert.equal(tools.definitions[4].function.description, "Doubles a number.");
  const zod = named("z", () => 1, { parameters: { toJSONSchema: () => ({ type: "object", properties: { q: { type: "boolean" } } }) } });
  assert.equal(new tg.Tools(zod).definitions[0].function.parameters.properties.q.type, "boolean");
  throws(() => new tg.Tools(double, double), "tools", /double/);
  throws(() => new tg.Tools({ description: "none" }), "argument", /name/);
  throws(() => new tg.Tools(7), "argument", /number/);
  throws(() => new tg.Tools("{"), "tools", /tools/);
});

test("prompts, checks, results", () => {
  const tools = new tg.Tools(double);
  assert.match(tools.prompt("hermes"), /double/);
  assert.match(tools.prompt("action", { lang: "zh" }), /[一-龥]/);
  throws(() => tools.prompt("nothing"), "dialect", /nothing/);
  throws(() => tools.prompt("hermes", { lang: "fr" }), "argument", /'fr'/);
  const engine = new tg.Engine({ dialects: "hermes", tools: tools.definitions });
  const checked = tools.check(engine.parse(call("double", { n: "7" })));
  assert(checked[0].valid && checked[0].arguments.n === 7 && checked[0].tool === "double");
  assert.equal(tools.check({ name: "double", arguments: "{}" }).violations[0].kind, "missing_required");
  assert.equal(tools.check({ function: { name: "none", arguments: "{}" } }, { dialect: "my-own" }).tool, null);
  const said = tools.results([{ name: "double", content: { n: 1 } }, { name: "f", content: "</tool_response>" }], "hermes");
  assert.equal(said.role, "user");
  assert.equal(said.content.match(/<\/tool_response>/g).length, 2);
  throws(() => tools.results([{ name: "f", status: "odd" }], "hermes"), "argument", /odd/);
  throws(() => tools.results([{ name: "f", content: () => 1 }], "hermes"), "argument", /^result: function cannot be expressed in JSON/);
  const unkept = new tg.Engine({ dialects: "hermes", retain: "none" }).stream().feed(call("double", { n: 7 }));
  throws(() => tools.check(unkept.find(({ type }) => type === "call_close")), "argument", /^call: its arguments were not kept/);
  tools.free();
  throws(() => tools.prompt("hermes"), "freed", /tools/);
});

// Agents.

test("events arrive as they happen", async () => {
  const run = agent(script(`So: ${call("double", { n: 21 })}`, "It is 42.")).run("Double 21.");
  const events = [];
  for await (const event of run) events.push(event);
  const types = events.map(({ type }) => type);
  assert(types.indexOf("stands") < types.indexOf("running") && types.indexOf("running") < types.indexOf("settled"));
  assert.equal(events.filter(({ type }) => type === "text").map(({ text }) => text).join(""), "So: It is 42.");
  assert.deepEqual([run.outcome, run.text, run.completed], ["answer", "It is 42.", true]);
  const [{ duration, ...one }] = run.calls;
  assert.deepEqual([run.calls.length, one], [1, { id: "call_0_0", name: "double", arguments: { n: 21 }, state: "completed", result: 42 }]);
  assert(duration >= 0);
  assert.deepEqual(run.messages.map(({ role }) => role), ["user", "assistant", "user", "assistant"]);
  assert(events.find(({ type }) => type === "settled").duration >= 0);
  assert.equal(run.receipts[0].digest.length, 64);
});

test("every kind of reply is read", async () => {
  const replies = [call("double", { n: 1 }), "done"];
  const sse = (text) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text }, finish_reason: "stop" }] })}\n\n`;
  const chunk = (text) => ({ choices: [{ index: 0, delta: { content: text } }] });
  const kinds = {
    text: [(text) => text],
    promise: [async (text) => text],
    bytes: [(text) => utf8.encode(text)],
    list: [(text) => [...text]],
    units: [(text) => `${text} 🌊`.split("")],
    pieces: [async function* pieces(text) {
      for (const byte of utf8.encode(text)) yield Uint8Array.of(byte);
    }],
    stream: [(text) => new Blob([text]).stream()],
    chunks: [(text) => [...[...text].map(chunk), { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }]],
    whole: [(text) => ({ choices: [{ index: 0, message: { content: text }, finish_reason: "stop" }] })],
    ollama: [(text) => [{ message: { content: text } }, { done: true }]],
    response: [(text) => new Response(sse(text)), "openai"],
    body: [(text) => sse(text), "openai"],
  };
  for (const [name, [reply, source = "text"]] of Object.entries(kinds)) {
    const run = await agent((messages) => reply(replies[messages.length > 2 ? 1 : 0]), { source }).run("go").done();
    assert.equal(run.text, name === "units" ? "done 🌊" : "done", name);
    assert.deepEqual(states(run), ["completed"], name);
  }
  await rejects(agent(() => [7]).run("go").done(), "argument", /number/);
  await rejects(agent(() => undefined).run("go").done(), "argument", /undefined/);
});

test("API tool calls are carried out", async () => {
  const model = async function* reply(messages, { tools, stop, grammar, signal }) {
    assert(tools[0].function.name === "double" && Array.isArray(stop) && grammar === null && signal instanceof AbortSignal);
    if (messages.some(({ role }) => role === "tool")) {
      yield { choices: [{ index: 0, delta: { content: "ok" }, finish_reason: "stop" }] };
      return;
    }
    yield { choices: [{ index: 0, delta: { reasoning_content: "hm" } }] };
    yield { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: "c7", function: { name: "double", arguments: '{"n": ' } }] } }] };
    yield { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: "4}" } }] }, finish_reason: "tool_calls" }] };
  };
  const events = [];
  const run = await agent(model, { native: true }).run("go").done((event) => events.push(event));
  assert.deepEqual([run.text, run.calls[0].id, run.calls[0].result], ["ok", "c7", 8]);
  assert.equal(events.find(({ type }) => type === "reasoning").text, "hm");
});

test("tools of every kind", async () => {
  const tools = [
    named("waits", async () => {
      await new Promise((go) => setTimeout(go, 1));
      return [1, 2];
    }),
    named("pieces", function* pieces() {
      yield "a;";
      yield "b;";
    }),
    named("streams", async function* streams() {
      yield "a,";
      yield "b,";
    }),
    named("tells", (_, { progress }) => {
      progress("half");
      return { content: [{ type: "text", text: "whole" }] };
    }),
    named("nothing", () => undefined),
    named("odd", () => () => 1),
    named("throws", () => {
      throw "a word"; // eslint-disable-line no-throw-literal
    }),
  ];
  const events = [];
  const reply = tools.map(({ name }) => call(name)).join("\n");
  const run = await agent(script(reply, "ok"), { tools, parallel: true, maxConcurrent: 99 }).run("go").done((event) => events.push(event));
  const got = Object.fromEntries(run.calls.map(({ name, state, result }) => [name, [state, result]]));
  assert.deepEqual(got.waits, ["completed", [1, 2]]);
  assert.deepEqual(got.pieces, ["completed", "a;b;"]);
  assert.deepEqual(got.streams, ["completed", "a,b,"]);
  assert.deepEqual(got.tells, ["completed", "whole"]);
  assert.deepEqual(got.nothing, ["completed", null]);
  assert.equal(got.odd[0], "failed");
  assert.deepEqual(got.throws, ["failed", "a word"]);
  const progress = (name) => events.filter((event) => event.type === "progress" && event.name === name).map(({ text }) => text);
  assert.deepEqual([progress("pieces"), progress("tells")], [["a;", "b;"], ["half"]]);
});

test("people decide", async () => {
  const said = { 1: true, 2: false, 3: "too many", 4: { n: 40 }, 5: { n: "x" } };
  const reply = [1, 2, 3, 4, 5].map((n) => call("double", { n })).join("");
  const shown = [];
  const approve = async (one) => {
    shown.push(one);
    return said[one.arguments.n];
  };
  const run = await agent(script(reply, "ok"), { policy: { confirm: ["dou*"] }, approve, parallel: true }).run("go").done();
  assert.deepEqual(states(run), ["completed", "denied", "denied", "completed", "failed"]);
  assert.equal(run.calls[3].result, 80);
  assert.match(run.calls[2].result, /too many/);
  assert.deepEqual(JSON.parse(shown[0].argumentsJson), { n: 1 });
  await rejects(agent(script(reply, "ok"), { policy: "confirm", approve: () => 7 }).run("go").done(), "argument", /a decision is/);
});

test("without a policy nothing runs unasked, and what waits can be saved", async () => {
  const own = new tg.Agent({ model: script(call("double", { n: 4 }) + call("double", { n: 5 }), "ok"), tools: double, dialect: "hermes" });
  const run = await own.run("go").done();
  assert.equal(run.outcome, null);
  assert.deepEqual(run.waiting.map((one) => one.arguments), [{ n: 4 }, { n: 5 }]);
  const saved = run.save();
  const again = own.resume(saved);
  // What waits is known at once, and each call is asked about once.
  assert.deepEqual(again.waiting.map((one) => one.arguments), [{ n: 4 }, { n: 5 }]);
  const asked = [];
  const approve = (one) => void asked.push(one.id);
  await new tg.Agent({ model: script("", "ok"), tools: double, dialect: "hermes", approve }).resume(saved).done();
  assert.deepEqual(asked, ["call_0_0", "call_0_1"]);
  const early = own.resume(saved);
  early.decide(early.waiting[0], false);
  early.cancel();
  assert.deepEqual([(await early.done()).outcome, states(early)], ["cancelled", ["denied", "not_run"]]);
  await again.done();
  assert.deepEqual(states(again), ["waiting", "waiting"]);
  again.decide(again.waiting[0], { n: 6 });
  await again.done();
  assert.deepEqual(states(again), ["completed", "waiting"]);
  again.decide(again.waiting[0].id, false);
  await again.done();
  assert.deepEqual([again.text, states(again), again.calls[0].result], ["ok", ["completed", "denied"], 12]);
  throws(() => again.decide("call_0_0", true), "state", /call_0_0/);
  for (const broken of ["", "{}", saved.replace('"hermes"', '"action"')]) throws(() => own.resume(broken), "snapshot", /saved/);
  assert.deepEqual(states(run), ["waiting", "waiting"]);
});

test("what was started is never started again", async () => {
  let began = 0;
  const hangs = named("hangs", () => {
    began += 1;
    return new Promise(() => {});
  });
  const own = (more) => agent(script(call("hangs"), "ok"), { tools: hangs, timeout: 7_200_000, ...more });
  const run = own().run("go");
  for await (const event of run) {
    if (event.type !== "running") continue;
    await new Promise((go) => setTimeout(go, 5));
    break;
  }
  assert.equal(began, 1);
  const told = await own().resume(run.save()).done();
  assert.deepEqual([told.text, states(told)], ["ok", ["failed"]]);
  assert.match(told.calls[0].result, /unknown/);
  const found = await own({ recall: ({ tool }) => `found ${tool}` }).resume(run.save()).done();
  assert.deepEqual([found.calls[0].state, found.calls[0].result], ["completed", "found hangs"]);
  // The run itself can continue too; the result of the call is unknown.
  await run.done();
  assert.deepEqual([run.text, states(run), began], ["ok", ["failed"], 1]);
});

test("deadlines and cancelling", async () => {
  let aborted = 0;
  const sleeps = named("sleeps", (_, { signal }) => new Promise((go, stop) => {
    signal.addEventListener("abort", () => {
      aborted += 1;
      stop(signal.reason);
    });
  }));
  const slow = await agent(script(call("sleeps"), "ok"), { tools: sleeps, timeout: 20 }).run("go").done();
  assert.deepEqual([states(slow), slow.text, aborted], [["timed_out"], "ok", 1]);
  const run = agent(script(call("sleeps"), "ok"), { tools: sleeps, timeout: 7_200_000 }).run("go");
  await run.done(({ type }) => type === "running" && setTimeout(() => run.cancel(), 1));
  assert.deepEqual([run.outcome, states(run), aborted], ["cancelled", ["cancelled"], 2]);
  const early = agent(script("never")).run("go");
  early.cancel();
  assert.equal((await early.done()).outcome, "cancelled");
});

test("errors of the model propagate, and the run can continue", async () => {
  let tries = 0;
  const model = async function* reply() {
    tries += 1;
    yield "Hel";
    if (tries === 1) throw new TypeError("gone");
    yield "lo";
  };
  const run = agent(model).run("go");
  await assert.rejects(run.done(), /gone/);
  assert.equal(run.outcome, null);
  assert.equal((await run.done()).text, "Hello");
  const broken = await agent(() => [{ choices: [{ index: 0, delta: { content: "Hel" } }] }, { error: { message: "too hot" } }]).run("go").done();
  assert.deepEqual([broken.outcome, broken.text], ["model_failed", "Hel"]);
});

test("a model that is faster than its host waits", async () => {
  let given = 0;
  const model = async function* reply() {
    for (; given < 10_000; given += 1) yield "x";
  };
  for await (const event of agent(model).run("go")) {
    if (event.type === "text") break;
  }
  assert(given < 200, `${given}`);
});

test("rules, workflows, later results", async () => {
  const same = await agent(script(...Array(4).fill(call("double", { n: 1 })), "ok")).run("go").done();
  assert.deepEqual(states(same), ["completed", "completed", "not_run", "not_run"]);
  const many = await agent(script(...Array.from({ length: 9 }, (_, n) => call("double", { n }))), { maxRounds: 2 }).run("go").done();
  assert.deepEqual([many.outcome, many.completed], ["iterations", false]);
  const few = await agent(script(call("double", { n: 1 }), call("double", { n: 2 })), { budget: { calls: 1 } }).run("go").done();
  assert.deepEqual([few.outcome, states(few)], ["budget", ["completed", "not_run"]]);
  assert.deepEqual(few.calls.map(({ duration }) => typeof duration), ["number", "object"]);
  assert.match(few.text, /budget/);
  const short = await agent(script("x".repeat(100)), { budget: { bytes: 10 } }).run("go").done();
  assert.equal(short.outcome, "budget");
  const hangs = named("hangs", () => new Promise(() => {}));
  const late = await agent(script(call("hangs")), { tools: hangs, budget: { time: 20 } }).run("go").done();
  // The time may be up before the call is written.
  assert.deepEqual([late.outcome, states(late).filter((one) => one !== "cancelled")], ["budget", []]);
  const chain = await agent(script(call("fails") + call("double", { n: 1 }), "ok")).run("go").done();
  assert.deepEqual(states(chain), ["failed", "not_run"]);
  assert.equal(chain.calls[0].result, "RangeError: no luck");
  const steps = [{ tool: "double", arguments: { n: 2 } }, { tool: "double", arguments: { n: "{{1.result}}" } }];
  const flow = await agent(script()).steps(steps).done();
  assert.deepEqual([flow.completed, flow.calls.map(({ result }) => result)], [true, [4, 8]]);
  const later = agent(script(call("double", { n: 2 }), "ok"), { policy: "confirm" }).run("go");
  await later.done();
  later.later("job", { state: "ready" });
  later.decide(later.waiting[0], true);
  await later.done();
  assert(later.messages.some(({ content }) => String(content).includes("job: ") && content.includes("ready")));
});

const wait = (time) => new Promise((go) => setTimeout(go, time));
const index = named("index", ({ n }) => new Task(`job-${n}`));
const told = (run) => run.messages.filter(({ role }) => role === "user").map(({ content }) => content).join("\n");

test("a task gives its id now and its result later", async () => {
  const tools = [
    named("waits", ({ n }) => new Task("waits", async ({ id, progress }) => {
      await wait(5);
      progress(`${id} half`);
      return n + 1;
    })),
    named("pieces", () => new Task("pieces", async function* pieces() {
      yield "a;";
      await wait(1);
      yield "b;";
    })),
    named("breaks", () => new Task("breaks", () => {
      throw new RangeError("no disk");
    })),
  ];
  const events = [];
  const reply = tools.map(({ name }) => call(name, { n: 2 })).join("\n");
  const run = await agent(script(reply, "I wait.", "I wait.", "I wait.", "done"), { tools, parallel: true }).run("go")
    .done((event) => events.push(event));
  assert.deepEqual([run.outcome, run.tasks, states(run)], ["answer", [], ["completed", "completed", "completed"]]);
  assert.deepEqual(run.calls.map((one) => one.result.task), ["waits", "pieces", "breaks"]);
  const begun = events.filter(({ type }) => type === "begun").map(({ id, name, task }) => [id, name, task]);
  assert.deepEqual(begun, [["call_0_0", "waits", "waits"], ["call_0_1", "pieces", "pieces"], ["call_0_2", "breaks", "breaks"]]);
  const later = Object.fromEntries(events.filter(({ type }) => type === "later").map(({ id, name, state, result }) => [id, [name, state, result]]));
  assert.deepEqual(later.waits, ["waits", "completed", 3]);
  assert.deepEqual(later.pieces, ["pieces", "completed", "a;b;"]);
  assert.deepEqual(later.breaks, ["breaks", "failed", "RangeError: no disk"]);
  const progress = events.filter(({ type }) => type === "progress").map(({ id, name, text }) => `${id} ${name} ${text}`).sort();
  assert.deepEqual(progress, ["pieces pieces a;", "pieces pieces b;", "waits waits waits half"]);
  for (const words of ["waits waits: 3", "pieces pieces: a;b;", "RangeError: no disk"]) assert(told(run).includes(words), told(run));
});

test("a task can run elsewhere, and is recalled by its own id", async () => {
  const own = (more) => agent(script(call("index", { n: 1 }), "I wait.", "done"), { tools: index, ...more });
  const run = await own().run("go").done();
  assert.deepEqual([run.outcome, run.tasks, run.receipts[0].task], [null, ["job-1"], "job-1"]);
  const saved = run.save();
  run.later("job-1", { files: 3 });
  throws(() => run.later("job-1", "again"), "state", /job-1 is ended/);
  await run.done();
  assert.deepEqual([run.text, run.tasks], ["done", []]);
  assert.match(told(run), /index job-1: .*"files": ?3/);

  const asked = [];
  const recalled = (found) => own({
    recall: (receipt) => {
      asked.push(receipt);
      return found;
    },
  }).resume(saved).done();
  assert.match(told(await recalled("3 files")), /index job-1: 3 files/);
  assert.deepEqual([asked[0].id, asked[0].task, asked[0].tool], ["call_0_0", "job-1", "index"]);
  const lost = await recalled(null);
  assert.equal(lost.text, "done");
  assert.match(told(lost), /unknown/);
  assert.match(told(await own().resume(saved).done()), /unknown/);
  assert.match(told(await recalled(new Task("job-1", async () => "4 files"))), /index job-1: 4 files/);
  const handed = await recalled(new Task("job-1"));
  assert.deepEqual([handed.outcome, handed.tasks], [null, ["job-1"]]);
  const failed = own().resume(handed.save());
  assert.deepEqual(failed.tasks, ["job-1"]);
  failed.later("job-1", new RangeError("gone"));
  assert.equal((await failed.done()).text, "done");
  assert.match(told(failed), /index job-1: Error: RangeError: gone/);
  await rejects(recalled(new Task("job-2")), "argument", /'job-2'/);
});

test("tasks end with their time limit and their run; a bad id fails; steps wait for tasks", async () => {
  let aborted = 0;
  const begins = named("begins", ({ n }) => new Task(`job-${n}`, ({ signal }) => new Promise((_, stop) => {
    signal.addEventListener("abort", () => {
      aborted += 1;
      stop(signal.reason);
    });
  })));
  const slow = await agent(script(call("begins", { n: 1 }), "I wait.", "done"), { tools: begins, taskTimeout: 20 }).run("go").done();
  assert.deepEqual([slow.text, aborted], ["done", 1]);
  assert.match(told(slow), /begins job-1: /);
  const events = [];
  const run = agent(script(call("begins", { n: 2 }), "I wait."), { tools: begins }).run("go");
  await run.done((event) => {
    events.push(event);
    if (event.type === "text") run.cancel();
  });
  const later = events.filter(({ type }) => type === "later").map(({ id, state }) => [id, state]);
  assert.deepEqual([run.outcome, aborted, run.tasks, later], ["cancelled", 2, [], [["job-2", "cancelled"]]]);

  const any = named("any", ({ id }) => new Task(id));
  const twice = named("twice", () => new Task("once", () => new Task("twice")));
  const replies = [call("any", { id: "a" }), call("any", { id: "a" }), call("any", { id: "" }), call("any", { id: 7 })].join("");
  const bad = await agent(script(replies, "ok"), { tools: any, parallel: true }).run("go").done();
  assert.deepEqual(states(bad), ["completed", "failed", "failed", "failed"]);
  assert.match(bad.calls[1].result, /cannot be the id of a task/);
  throws(() => new Task("a", 7), "argument", /function/);
  assert.match(told(await agent(script(call("twice"), "I wait.", "done"), { tools: twice }).run("go").done()), /cannot continue as another task/);

  const doubles = { ...double, name: "later", run: ({ n }) => new Task("job", async () => 2 * n) };
  const steps = [{ tool: "later", arguments: { n: 2 } }, { tool: "double", arguments: { n: "{{1.result}}" } }];
  const flow = await agent(script(), { tools: [doubles, double] }).steps(steps).done();
  assert.deepEqual([flow.completed, flow.calls.map(({ result }) => result), flow.tasks], [true, [4, 8], []]);
});

test("policies match tags and arguments", async () => {
  const tools = [named("read", () => "text", { tags: ["read"] }), named("write", () => "done", { annotations: { destructiveHint: true } })];
  const asked = [];
  const run = await agent(script(call("read", { path: "/a" }) + call("read", { path: "/etc/b" }) + call("write", { path: "/a" }), "ok"), {
    tools,
    parallel: true,
    policy: {
      deny: { arguments: [{ pointer: "/path", pattern: "^/etc/" }], reason: "not there" },
      confirm: [{ annotations: { destructiveHint: true } }],
      allow: { tags: ["read"] },
    },
    approve: ({ name }) => asked.push(name) > 0,
  }).run("go").done();
  assert.deepEqual([states(run), asked], [["completed", "denied", "completed"], ["write"]]);
  assert.match(run.calls[1].result, /not there/);
});

test("bad agents say what is wrong", () => {
  throws(() => agent(7), "argument", /number/);
  throws(() => agent("localhost:8000"), "argument", /http/);
  throws(() => new tg.Agent({ model: script(), tools: double }), "argument", /dialect/);
  throws(() => agent(script(), { dialect: "nothing" }), "dialect", /nothing/);
  throws(() => agent(script(), { tools: { name: "f", description: "F" } }), "tools", /f: a tool of an agent needs a function/);
  throws(() => agent(script(), { policy: "maybe" }), "argument", /'maybe'/);
  throws(() => agent(script(), { policy: { alow: "x" } }), "argument", /alow/);
  throws(() => agent(script(), { policy: { allow: [{ arguments: [{ pointer: "n", pattern: "x" }] }] } }), "argument", /allow rule 0/);
  throws(() => agent(script(), { budget: { call: 1 } }), "argument", /'call'/);
  throws(() => agent(script(), { budget: { time: -1 } }), "argument", /budget\.time/);
  throws(() => agent(script(), { odd: 1 }), "argument", /'odd'/);
  throws(() => agent(script(), { source: "x" }), "argument", /'x'/);
  throws(() => agent(script()).run([{ role: "user", content: 1n }]), "argument", /^messages: .*BigInt/);
});

test("two iterations at once are refused", async () => {
  const run = agent(script("Hello.")).run("go");
  for await (const event of run) {
    if (event.type === "text") await rejects(run.done(), "state", /already/);
  }
});

/** A server with a script of answers. */
async function serving(answers, use) {
  const asked = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    asked.push([request.url, request.headers, JSON.parse(body)]);
    const [status, headers, text] = answers.shift();
    response.writeHead(status, headers).end(text);
  });
  await new Promise((go) => server.listen(0, "127.0.0.1", go));
  try {
    await use(`http://127.0.0.1:${server.address().port}`, asked);
  } finally {
    server.closeAllConnections();
    await new Promise((go) => server.close(go));
  }
}
const streamed = (text) => [200, { "content-type": "text/event-stream" },
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`
  + `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`];

test("servers", async () => {
  const busy = [429, { "retry-after": "0" }, '{"error": {"message": "busy"}}'];
  await serving([busy, streamed(call("double", { n: 3 })), streamed("It is 6.")], async (address, asked) => {
    const run = await agent(address, { name: "m", apiKey: "secret", request: { temperature: 0 } }).run("go").done();
    assert.deepEqual([run.text, run.calls[0].result, asked.length], ["It is 6.", 6, 3]);
    const [path, headers, body] = asked[0];
    assert.deepEqual([path, headers.authorization, body.model, body.temperature, body.stream],
      ["/v1/chat/completions", "Bearer secret", "m", 0, true]);
    assert(!run.save().includes("secret"));
  });
  await serving([[401, {}, '{"error": {"message": "who are you"}}']], async (address, asked) => {
    await rejects(agent(`${address}/v1/`).run("go").done(), "model", /HTTP 401 who are you/);
    assert.equal(asked[0][0], "/v1/chat/completions");
  });
  await serving([[503, { "retry-after": "9999" }, ""]], async (address) => {
    await rejects(agent(address).run("go").done(), "model", /asks to wait for 9999 s/);
  });
  await serving([[200, {}, 'data: {"choices": [{"index": 0, "delta": {"content": "Hel"}}]}\n\n']], async (address) => {
    const run = await agent(address).run("go").done();
    assert.deepEqual([run.outcome, run.text], ["model_failed", "Hel"]);
  });
});
