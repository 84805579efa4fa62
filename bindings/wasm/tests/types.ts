// Checked by `tsc --strict --noEmit`, never run: what programs rely on, and mistakes that must not pass.
import { Engine, Reader, Rewriter, Stream, ToolglotError, load, toOpenAI } from "toolglot";
import { Run, Task, load as agents } from "toolglot/agent";
import type { Derived, PendingCall, RunEvent } from "toolglot/agent";
import type { Call, Dialect, Event, Evidence, JsonValue, Toolglot, Turn } from "toolglot";

export function show(event: Event): string {
  switch (event.type) {
    case "text":
    case "reasoning":
    case "protected":
      return event.text;
    case "raw":
    case "param_delta":
      return String(event.data.length);
    case "block_open":
      return event.dialect;
    case "call_named":
      return event.name + String(event.provisional) + event.block.toFixed() + event.ordinal.toFixed();
    case "call_open":
      return event.name + (event.meta["id"] ?? "") + String(event.native);
    case "arg_delta":
      return event.json;
    case "param_open":
      return event.name + event.depth.toFixed();
    case "param_close":
    case "call_abandoned":
      return `${event.start}..${event.end}`;
    case "call_close": {
      const city: JsonValue | undefined = event.arguments?.["city"];
      return `${event.name} ${String(city)} ${event.argumentsJson ?? ""} ${event.kinds.join() ?? ""}`;
    }
    case "block_close":
      return String(event.raw.length);
    case "block_abandoned":
      return event.becomes === "text" ? "text" : event.becomes === "reasoning" ? "thought" : "drop";
    case "issue":
      return event.kind + event.severity + event.message + String(event.call) + event.observation;
    default: {
      // Every kind was handled.
      const never: never = event;
      return never;
    }
  }
}

export async function use(chunks: AsyncIterable<Uint8Array | string>): Promise<Turn> {
  const toolglot: Toolglot = await load(fetch("toolglot.wasm"));
  await load(new Uint8Array(8));
  await load(new URL("toolglot.wasm", "http://localhost/"));
  const tools = [{ name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } }];
  const engine: Engine = new toolglot.Engine({ dialects: ["hermes", "default"], tools, limits: { maxCalls: 3 }, fence: "skip" });
  using stream: Stream = engine.stream({ start: "text", tools: "[]" });
  for await (const chunk of chunks) stream.feed(chunk).map(show);
  stream.finish("length").map(show);
  const again = engine.restore(stream.snapshot());
  again.free();
  const bytes: Uint8Array = engine.escape(new Uint8Array(3));
  const text: string = engine.unescape("x") + engine.encode({ name: "f", arguments: { a: [1, null] } }, "hermes");
  const found: Evidence[] = toolglot.detect(text, { tools });
  const dialects: Dialect[] = toolglot.dialects();
  try {
    engine.parse(bytes);
  } catch (error) {
    if (error instanceof ToolglotError && error.code === "internal") throw error;
  }
  const turn = engine.parse(text, { finish: "stop", nativeCalls: [{ function: { name: "f", arguments: "{}" } }] });
  const first: Call | undefined = turn.calls[0];
  if (first) engine.encode(first);
  const plain: Engine = new toolglot.Engine(["hermes", "vcp"]);
  const original: string = engine.parse(text, { original: true }).original ?? "";
  const odd: string[] = [original, ...plain.toolIssues, ...stream.toolIssues, ...(turn.toolIssues ?? [])];
  const open: boolean = stream.inReasoning || stream.mayHoldMarker;
  for await (const event of plain.events(chunks, { source: "openai", tools })) show(event);
  for (const event of plain.events(["a", new Uint8Array(1)], { finish: "length" })) show(event);
  for (const event of plain.events(["a"], { source: null, finish: null, promptTail: "x" })) show(event);
  new toolglot.Engine({ fence: null, toolChoice: null, limits: { maxCalls: null } }).free();
  using reader: Reader = plain.reader("ollama", { choice: 0 });
  reader.feed("x").map(show);
  using rewriter: Rewriter = plain.rewriter("text", { model: "m", calls: "close", reasoning: null });
  const lines: string[] = [...rewriter.feed("x"), ...rewriter.finish("stop")];
  const whole: string = plain.completion(turn, undefined, { finish: "stop" }) + plain.completion("x", "openai", { recovered: true });
  const item: { id: string } | undefined = first && toOpenAI(first, "call_1");
  console.log(odd, open, lines, whole, item, reader.reason, rewriter.void, engine.parse(text, { guard: true }).text);
  console.log(found.length, dialects.length, toolglot.version, toolglot.liveStreams);
  return turn;
}

export function mistakes(toolglot: Toolglot, engine: Engine, stream: Stream, event: Event, error: ToolglotError): void {
  // @ts-expect-error: engines are made by the class of an instance.
  new Engine({});
  // @ts-expect-error: streams are made by engines.
  new Stream();
  // @ts-expect-error: unknown source.
  engine.reader("grpc");
  // @ts-expect-error: a number is not a dialect.
  new toolglot.Engine([3]);
  // @ts-expect-error: unknown option.
  new toolglot.Engine({ dialect: "vcp" });
  // @ts-expect-error: the tail of a prompt is that of a stream.
  new toolglot.Engine({ promptTail: "x" });
  // @ts-expect-error: unknown word.
  new toolglot.Engine({ retain: "all" });
  // @ts-expect-error: unknown limit.
  new toolglot.Engine({ limits: { maxX: 1 } });
  // @ts-expect-error: a number is not a chunk.
  stream.feed(3);
  // @ts-expect-error: unknown reason.
  stream.finish("done");
  // @ts-expect-error: snapshots are bytes.
  engine.restore("text");
  // @ts-expect-error: not every event has text.
  event.text;
  // @ts-expect-error: unknown code.
  if (error.code === "none") return;
  // @ts-expect-error: turns are read-only.
  engine.parse("").text = "";
}

// Tools and agents.
export async function remove(): Promise<string> {
  const { Agent, Tools } = await agents();
  const tools = new Tools(
    { name: "ls", description: "Lists", run: async ({ folder }: { folder: string }, { signal }) => [folder, signal.aborted] },
    [{ type: "function", function: { name: "f" } }],
    "[]",
  );
  const agent = new Agent({
    model: async function* reply(messages, { tools: offered, signal }) {
      yield `${messages.length} ${offered.length} ${String(signal.aborted)}`;
    },
    tools,
    dialect: "hermes",
    policy: { deny: "rm*", confirm: [{ tags: ["write"] }, "f"], allow: { tools: ["ls"] } },
    approve: (call: PendingCall) => (call.name === "f" ? { n: 1 } : call.arguments["n"] === 1 || "no"),
  });
  const middleware = (await agents()).middleware({ dialect: "hermes", lang: "zh" });
  await middleware.transformParams({ type: "stream", params: { prompt: [] } });
  const slow = { name: "slow", run: () => new Task("job", ({ signal, progress }) => progress(String(signal.aborted))) };
  new Agent({ model: "http://localhost", tools: [slow], dialect: "hermes", taskTimeout: 60_000, recall: ({ task }) => new Task(task ?? "") });
  const run: Run = agent.resume(agent.run([{ role: "user", content: "go" }]).save());
  for await (const event of run) {
    const seen: RunEvent = event;
    if (seen.type === "settled") return `${seen.name} ${seen.state} ${String(seen.result)}`;
    if (seen.type === "later") run.later(run.tasks[0] ?? seen.id, seen.result);
    if (seen.type === "message") return seen.message.role;
  }
  const { Engine: Engines, derive } = await agents();
  const derived: Derived = derive(new Uint8Array(8), { own: true, id: "house", variables: { enable_thinking: false } });
  const written: string = derived.render([{ role: "user", content: "go" }], { generate: false }) + (derived.toml ?? derived.stop.join());
  derived.engine({ fence: "skip" }).parse(written).calls.map(({ name }) => name + derived.start + derived.report);
  Engines.forTemplate(written, { own: true, tools: [] }).free();
  // @ts-expect-error the dialects come from the template
  derived.engine({ dialects: "hermes" });
  // @ts-expect-error an agent needs a model
  new Agent({ tools });
  // @ts-expect-error not a verdict
  new Agent({ model: "http://localhost", policy: "maybe" });
  // @ts-expect-error runs are made by agents
  new Run();
  const checked = tools.check({ name: "ls", arguments: "{}" });
  return (await run.done((event) => event.type)).text + String(checked.valid) + tools.prompt("hermes", { lang: "zh" });
}
