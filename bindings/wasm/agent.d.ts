// Tools and agents: the types of agent.js. The manual is docs/WASM.md, the rules are in docs/AGENT.md.

import type { Bytes, Chunk, Engine, JsonValue, Toolglot, Turn } from "./toolglot.js";

export * from "./toolglot.js";

/** JSON Schema, or an object of a library that knows its own: `toJSONSchema()`, `jsonSchema`, or Standard JSON Schema. */
export type Schema = object;

/** What a tool may use while it runs. */
export interface ToolContext {
  /** Id of the call or the task. */
  readonly id: string;
  /** Aborted when it takes too long, or nobody wants its result any more. */
  readonly signal: AbortSignal;
  /** Tells people who watch a piece of the output. */
  progress(text: string): void;
}

/**
 * A tool of an agent. What `run` gives is its result: text, any JSON value, or `{ content: [..] }` with parts as MCP writes them; what a
 * generator yields is progress, and its result the text of all. What it throws is a failed call, whose name and words the model is told.
 * A `Task` says that the call goes on: the model is told its id now, and later what came of it.
 */
export interface AgentTool {
  name: string;
  description?: string;
  /** Of its arguments, an object. */
  parameters?: Schema;
  /** For rules of a policy. */
  tags?: readonly string[];
  /** MCP's hints, for rules of a policy. */
  annotations?: Readonly<Record<string, JsonValue>>;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  run?(args: any, context: ToolContext): unknown;
  readonly [more: string]: unknown;
}

/**
 * What a tool gives in place of a result where that takes longer than anybody waits: the call is completed at once, with the task's id
 * as its result. What `work` gives is the result of the task; it ends with the iteration that began it. Without it somebody else
 * carries the task on, and `Run.later` tells what came of it.
 */
export class Task {
  constructor(id: string, work?: (context: ToolContext) => unknown);
  /** Which no other call or task of the run may have. */
  readonly id: string;
  readonly work: ((context: ToolContext) => unknown) | undefined;
}

/**
 * What tools are made of: definitions in the form of OpenAI, Anthropic or MCP, what MCP's `tools/list` gives, JSON text of these, other
 * tools, or lists of all.
 */
export type ToolSource = AgentTool | object | string | Tools | readonly ToolSource[];

export type Lang = "en" | "zh";

/** What the definition of a tool says of a call. */
export interface Checked {
  /** The name, as the call has it. */
  readonly name: string;
  /** The tool; `null` if there is none of that name. */
  readonly tool: string | null;
  readonly valid: boolean;
  /** The arguments to hand over if it is valid: defaults filled in, types as the schema has them. */
  readonly arguments: { [key: string]: JsonValue };
  /** What to tell the model, in the words of its dialect; `null` if nothing is wrong. */
  readonly observation: string | null;
  /** Whether the call was recovered from broken text. Such a call should not be carried out without asking. */
  readonly recovered: boolean;
  /** How the arguments differ from what the call says. */
  readonly changes: readonly { path: string; kind: string; before: JsonValue; after: JsonValue }[];
  readonly violations: readonly { kind: string; path: string; message: string; [more: string]: JsonValue }[];
}

/** Anything that says a name and arguments. */
export type AnyCall =
  | { name: string; arguments?: unknown; argumentsJson?: string; dialect?: string }
  | { function: { name: string; arguments?: unknown }; dialect?: string };

/** Result of a call. */
export interface ToolResult {
  id?: string;
  name: string;
  /** `"success"` unless said. */
  status?: "success" | "error" | "denied" | "cancelled" | "timeout" | "not_run";
  content?: unknown;
}

/** Tools that belong together. */
export class Tools {
  private constructor();
  /** Their names, in order. */
  readonly names: string[];
  /** The definitions in OpenAI's form: for `tools` of a request, or of an engine. */
  readonly definitions: { type: "function"; function: { name: string; description: string; parameters: object } }[];
  /** What to tell a model of the tools, so that it writes calls in a dialect. Throws `dialect`. */
  prompt(dialect: string, options?: { engine?: Engine; lang?: Lang }): string;
  /** Checks the calls of a turn, or one call. */
  check(turn: Turn, options?: { dialect?: string }): Checked[];
  check(call: AnyCall, options?: { dialect?: string }): Checked;
  /** The message that tells a model the results of its calls. Text that looks like a marker is made safe. */
  results(results: Iterable<ToolResult>, dialect: string, options?: { engine?: Engine; lang?: Lang }): { role: string; content: string };
  free(): void;
}

/** A call that a person is to decide on. What runs is byte for byte what is approved. */
export interface PendingCall {
  readonly id: string;
  /** Name of the tool, as the call has it. */
  readonly name: string;
  /** Name of the tool, as it is defined. */
  readonly tool: string;
  /** The arguments that would be handed over, and their JSON text. */
  readonly arguments: { [key: string]: JsonValue };
  readonly argumentsJson: string;
  /** SHA-256 of that text. */
  readonly digest: string;
  /** Why a person is asked. */
  readonly reason: string;
}

/** `true`, `false`, words that say why not, other arguments, or `null` to put it off. */
export type Decision = boolean | string | { [key: string]: JsonValue } | null | undefined;

/** The end of a call. */
export type Ended = "completed" | "failed" | "denied" | "timed_out" | "cancelled" | "not_run";

/** A call that stands. */
export interface RunCall {
  readonly id: string;
  readonly name: string;
  /** Those that were handed over, once it runs; text where the model's own cannot be read. */
  readonly arguments: JsonValue;
  readonly state: "stands" | "waiting" | "running" | Ended;
  /** What the model is told: text, a JSON value, or a list of parts as MCP writes them. */
  readonly result: JsonValue;
}

/** Something that happened in a run. */
export type RunEvent =
  | { type: "text" | "reasoning"; text: string }
  | { type: "named" | "written" | "retracted"; name: string }
  | { type: "stands"; id: string; name: string; arguments: JsonValue }
  | { type: "waiting" | "running"; id: string; name: string }
  | { type: "progress"; id: string; name: string; text: string }
  | { type: "settled"; id: string; name: string; state: Ended; result: JsonValue }
  /** A call goes on as a task; a task, whose id it is, has its result. */
  | { type: "begun"; id: string; name: string; task: string }
  | { type: "later"; id: string; name: string; state: Ended; result: JsonValue }
  | { type: "message"; message: { role: string; [key: string]: JsonValue } };

/** A message of a conversation. */
export type Message = { role: string; [key: string]: JsonValue };

/** What a model is asked with, beside the messages. */
export interface AskOptions {
  /** Definitions, where the agent is `native`. */
  readonly tools: object[];
  /** What no reply should go on after. */
  readonly stop: string[];
  /** GBNF, where the agent wants one. */
  readonly grammar: string | null;
  /** Aborted when nobody wants the reply any more. */
  readonly signal: AbortSignal;
}

/** A reply: text or bytes, a response, or pieces of it: text, bytes, or chunks of the official clients. */
export type Reply = Chunk | Response | ReadableStream | Iterable<unknown> | AsyncIterable<unknown> | object;
export type Model = (messages: Message[], options: AskOptions) => Reply | PromiseLike<Reply>;

/** A rule: all that it names must be true of a call. */
export interface Rule {
  /** Names; `*` stands for anything. */
  tools?: readonly string[];
  tags?: readonly string[];
  namespaces?: readonly string[];
  annotations?: Readonly<Record<string, JsonValue>>;
  /** Regular expressions, by JSON pointers into the arguments. */
  arguments?: readonly { pointer: string; pattern: string }[];
  /** What is told of it. */
  reason?: string;
}

/** Which calls are carried out: denied before confirmed before allowed; what none allows is denied. */
export type Policy =
  | "deny" | "confirm" | "allow"
  | { deny?: string | Rule | readonly (string | Rule)[]; confirm?: string | Rule | readonly (string | Rule)[]; allow?: string | Rule | readonly (string | Rule)[] };

export interface AgentOptions {
  /** The address of an OpenAI-compatible server, or a function that gives a reply. */
  model: string | Model;
  tools?: ToolSource;
  /** What the model writes its calls in; it is taught in the system message. */
  dialect?: string;
  /** `"confirm"` unless said: a person is asked about each call. */
  policy?: Policy;
  /** Asked about calls that are to be confirmed. Without it they wait in `Run.waiting`. */
  approve?: (call: PendingCall) => Decision | PromiseLike<Decision>;
  /** What stands first in the system message. */
  system?: string;
  /** Of a server: the model's name, a key, further members of the request, and how many milliseconds it may be silent (5 minutes). */
  name?: string;
  apiKey?: string;
  request?: Readonly<Record<string, JsonValue>>;
  patience?: number;
  /** What bytes and strings of the model are: text, unless said, or the body of a response. */
  source?: "text" | "openai" | "anthropic" | "ollama";
  /** The server gets the definitions as `tools`, and its `tool_calls` are carried out beside those in the text. */
  native?: boolean;
  engine?: Engine;
  lang?: Lang;
  /** Milliseconds that a call may take: 30,000. */
  timeout?: number;
  /** Milliseconds that a `Task` may take: an hour. */
  taskTimeout?: number;
  /** Rounds of calls: 5. */
  maxRounds?: number;
  /** Whether calls of a reply run side by side, `maxConcurrent` (4) at most; else one after the other up to the first that fails. */
  parallel?: boolean;
  maxConcurrent?: number;
  /** What becomes of recovered calls: the model is told what was wrong (`"answer"`), or a person is asked. */
  recovered?: "answer" | "confirm";
  /** Whether arguments may refer to results: `{{1.result.path}}`. */
  references?: boolean;
  grammar?: boolean;
  /** Asked, for calls that were started before a run was saved, what they gave; `null` says that nobody knows, a `Task` that it goes on. */
  recall?: (receipt: Receipt) => unknown;
}

/** What a call leaves behind that was started. */
export interface Receipt {
  readonly id: string;
  readonly tool: string;
  /** SHA-256 of the arguments that were handed over. */
  readonly digest: string;
  /** The id of the task as which the call went on, if it did. */
  readonly task?: string;
}

/** A model with tools. */
export class Agent {
  private constructor();
  readonly tools: Tools;
  /** A run that begins with what a user says, or goes on with messages. It does nothing until it is iterated. */
  run(what: string | Iterable<Message>): Run;
  /** A workflow: calls that run one after the other without a model. */
  steps(steps: Iterable<{ tool: string; arguments?: { [key: string]: JsonValue } }>): Run;
  /** Goes on with a run that was saved. Calls that were started are not started again. Throws `snapshot`. */
  resume(saved: string): Run;
  free(): void;
}

/**
 * A conversation of a model with its tools. Iterating carries it on; when that ends, it has an `outcome`, or calls wait for a decision.
 * What the model or `approve` throws comes out of the iteration; iterating anew asks again.
 */
export class Run implements AsyncIterable<RunEvent> {
  private constructor();
  [Symbol.asyncIterator](): AsyncGenerator<RunEvent, void, void>;
  /** Carries it on, and gives it when it is finished or waits. */
  done(onEvent?: (event: RunEvent) => unknown): Promise<Run>;
  /** How it ended; `null` if it has not. */
  readonly outcome: "answer" | "iterations" | "budget" | "model_failed" | "cancelled" | "steps" | null;
  /** The model's answer; after too many rounds what to tell the user; of a model that failed what it had said, or why. */
  readonly text: string;
  /** Whether the model answered, or all steps of a workflow completed. */
  readonly completed: boolean;
  /** The conversation so far, without what the agent says of its tools. */
  readonly messages: Message[];
  readonly calls: readonly RunCall[];
  readonly receipts: Receipt[];
  /** Calls that wait for a decision. */
  readonly waiting: PendingCall[];
  /** Says of a call that waits what `approve` would. Throws `state` if it does not wait. */
  decide(call: PendingCall | string, decision: Decision): void;
  /** Ids of tasks that were begun and have no result yet. Of a run that was resumed they are known once it is iterated. */
  readonly tasks: string[];
  /**
   * The result of a task, by its id, or by any name if no tool said that there is one; an `Error` is a task that failed. The model is
   * told with the next message, and asked again if it has answered. Throws `state` once the run is over, or the task has its result.
   */
  later(task: string, result: unknown): void;
  /** Ends the run: calls that run are aborted, and those without a result are cancelled. */
  cancel(): void;
  /** The run as JSON text, at any time. */
  save(): string;
  free(): void;
}

export interface MiddlewareOptions {
  /** What the model writes its calls in. */
  dialect?: string;
  engine?: Engine;
  lang?: Lang;
  /** Whether calls that were recovered from broken text are delivered, too. */
  recovered?: boolean;
  /** Gives a new id for a call. */
  id?: () => string;
}

/* eslint-disable @typescript-eslint/no-explicit-any */
/** A middleware for language models of the AI SDK, versions 2 and 3 of its interface. */
export interface Middleware {
  readonly specificationVersion: "v3";
  readonly middlewareVersion: "v2";
  transformParams(given: { params: any; [more: string]: any }): Promise<any>;
  wrapGenerate(given: { doGenerate: () => PromiseLike<any>; params: any; [more: string]: any }): Promise<any>;
  wrapStream(given: { doStream: () => PromiseLike<any>; params: any; [more: string]: any }): Promise<any>;
}
/* eslint-enable @typescript-eslint/no-explicit-any */

/** An instance of toolglot-agent.wasm. */
export interface Agents extends Toolglot {
  readonly Tools: { new (...tools: ToolSource[]): Tools };
  readonly Agent: { new (options: AgentOptions): Agent };
  /**
   * For `wrapLanguageModel` of the AI SDK: a model that knows no tools is taught those of the request in its prompt, earlier calls and
   * results are written as text, and the calls of its replies become tool calls, each once its block has closed.
   */
  middleware(options: MiddlewareOptions): Middleware;
}

/** Loads an instance, as `load` of `toolglot` does, of the file with tools and agents. */
export function load(
  source?: string | URL | Bytes | WebAssembly.Module | Response | PromiseLike<Response> | null,
): Promise<Agents>;
