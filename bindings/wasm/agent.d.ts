// Tools and agents: the types of agent.js. The manual is docs/WASM.md, the rules are in docs/AGENT.md.

import type { Bytes, Chunk, Engine, EngineOptions, JsonValue, Toolglot, Turn } from "./toolglot.js";

export * from "./toolglot.js";

/** JSON Schema, or an object of a library that can export it: `toJSONSchema()`, `jsonSchema`, or Standard JSON Schema. */
export type Schema = object;

/** The context of a running tool. */
export interface ToolContext {
  /** The id of the call or the task. */
  readonly id: string;
  /** Aborted when the time limit is exceeded, or the result is no longer wanted. */
  readonly signal: AbortSignal;
  /** Reports a piece of the output as a `progress` event. */
  progress(text: string): void;
}

/**
 * A tool of an agent. `run` returns its result: text, any JSON value, or `{ content: [..] }` with MCP content parts. The values of a
 * generator are progress; their joined text is the result. If `run` throws, the call has failed, and the model gets the name and the
 * message of the error. If it returns a `Task`, the call continues: the model gets the task's id now, and its result later.
 */
export interface AgentTool {
  name: string;
  description?: string;
  /** The schema of its arguments, an object. */
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
 * What a tool returns to continue its work in the background: the call completes at once, with the task's id as its result. `work`
 * returns the result of the task; it is aborted when the iteration that started it ends. Without `work` the task runs elsewhere, and
 * `Run.later` supplies its result.
 */
export class Task {
  constructor(id: string, work?: (context: ToolContext) => unknown);
  /** Unique among the calls and tasks of the run. */
  readonly id: string;
  readonly work: ((context: ToolContext) => unknown) | undefined;
}

/**
 * Anything that tools are made from: definitions in the form of OpenAI, Anthropic or MCP, the result of MCP's `tools/list`, JSON text
 * of these, other tools, or lists of all these.
 */
export type ToolSource = AgentTool | object | string | Tools | readonly ToolSource[];

export type Lang = "en" | "zh";

/** The result of checking a call against the definition of its tool. */
export interface Checked {
  /** The name, as written in the call. */
  readonly name: string;
  /** The tool; `null` if no tool has that name. */
  readonly tool: string | null;
  readonly valid: boolean;
  /** The arguments to use if the call is valid: with defaults filled in and types as in the schema. */
  readonly arguments: { [key: string]: JsonValue };
  /** The error message for the model, in the syntax of its dialect; `null` if the call is valid. */
  readonly observation: string | null;
  /** Whether the call was recovered from broken text. Do not carry out such a call without asking. */
  readonly recovered: boolean;
  /** How the arguments differ from those of the call. */
  readonly changes: readonly { path: string; kind: string; before: JsonValue; after: JsonValue }[];
  readonly violations: readonly { kind: string; path: string; message: string; [more: string]: JsonValue }[];
}

/** Anything with a name and arguments. */
export type AnyCall =
  | { name: string; arguments?: unknown; argumentsJson?: string; dialect?: string }
  | { function: { name: string; arguments?: unknown }; dialect?: string };

/** The result of a call. */
export interface ToolResult {
  id?: string;
  name: string;
  /** Default: `"success"`. */
  status?: "success" | "error" | "denied" | "cancelled" | "timeout" | "not_run";
  content?: unknown;
}

/** A set of tools. */
export class Tools {
  private constructor();
  /** Their names, in order. */
  readonly names: string[];
  /** The definitions in OpenAI's form: for `tools` of a request, or of an engine. */
  readonly definitions: { type: "function"; function: { name: string; description: string; parameters: object } }[];
  /** The text for a system message that declares the tools, so that the model writes calls in a dialect. Throws `dialect`. */
  prompt(dialect: string, options?: { engine?: Engine; lang?: Lang }): string;
  /** Checks the calls of a turn, or one call. */
  check(turn: Turn, options?: { dialect?: string }): Checked[];
  check(call: AnyCall, options?: { dialect?: string }): Checked;
  /** Renders the results of calls as a message for the model. Escapes text that looks like a marker. */
  results(results: Iterable<ToolResult>, dialect: string, options?: { engine?: Engine; lang?: Lang }): { role: string; content: string };
  free(): void;
}

/** A call that waits for a person's decision. An approved call runs with these arguments, byte for byte. */
export interface PendingCall {
  readonly id: string;
  /** The name of the tool, as written in the call. */
  readonly name: string;
  /** The name of the tool, as defined. */
  readonly tool: string;
  /** The arguments that the tool would get, and their JSON text. */
  readonly arguments: { [key: string]: JsonValue };
  readonly argumentsJson: string;
  /** SHA-256 of that text. */
  readonly digest: string;
  /** Why the call needs confirmation. */
  readonly reason: string;
}

/** `true`, `false`, a reason for refusing, other arguments, or `null` to defer the decision. */
export type Decision = boolean | string | { [key: string]: JsonValue } | null | undefined;

/** How a call ended. */
export type Ended = "completed" | "failed" | "denied" | "timed_out" | "cancelled" | "not_run";

/** A committed call. */
export interface RunCall {
  readonly id: string;
  readonly name: string;
  /** As the model wrote them; once the call runs, those that the tool got. Text if they are not valid JSON. */
  readonly arguments: JsonValue;
  readonly state: "stands" | "waiting" | "running" | Ended;
  /** The result that the model gets: text, a JSON value, or a list of MCP content parts. */
  readonly result: JsonValue;
  /** How long it ran, in milliseconds; `null` if it did not run, or nobody measured it. */
  readonly duration: number | null;
}

/** An event of a run. */
export type RunEvent =
  | { type: "text" | "reasoning"; text: string }
  /** Part of the reply is missing: it could not be read, or a length limit truncated it. `text` says why. */
  | { type: "missing"; text: string }
  | { type: "named" | "written" | "retracted"; name: string }
  | { type: "stands"; id: string; name: string; arguments: JsonValue }
  | { type: "waiting" | "running"; id: string; name: string }
  | { type: "progress"; id: string; name: string; text: string }
  /** `duration`: the milliseconds that it ran, if it did. */
  | { type: "settled"; id: string; name: string; state: Ended; result: JsonValue; duration?: number }
  /** `begun`: a call continues as a task. `later`: a task has its result; `id` is that of the task. */
  | { type: "begun"; id: string; name: string; task: string }
  | { type: "later"; id: string; name: string; state: Ended; result: JsonValue; duration?: number }
  | { type: "message"; message: { role: string; [key: string]: JsonValue } };

/** A message of a conversation. */
export type Message = { role: string; [key: string]: JsonValue };

/** What a model gets besides the messages. */
export interface AskOptions {
  /** The definitions, if the agent is `native`; otherwise empty. */
  readonly tools: object[];
  /** Stop sequences. */
  readonly stop: string[];
  /** A GBNF grammar, if the agent uses one. */
  readonly grammar: string | null;
  /** Aborted when the reply is no longer wanted. */
  readonly signal: AbortSignal;
}

/** A reply: text, bytes or a response, or its pieces: text, bytes, or chunks of the official clients. */
export type Reply = Chunk | Response | ReadableStream | Iterable<unknown> | AsyncIterable<unknown> | object;
export type Model = (messages: Message[], options: AskOptions) => Reply | PromiseLike<Reply>;

/** A rule. It matches a call if all its members do. */
export interface Rule {
  /** Names; `*` matches anything. */
  tools?: readonly string[];
  tags?: readonly string[];
  namespaces?: readonly string[];
  annotations?: Readonly<Record<string, JsonValue>>;
  /** Regular expressions for values in the arguments, by JSON pointer. */
  arguments?: readonly { pointer: string; pattern: string }[];
  /** The reason: for the model if the rule denies, for the person if it asks. */
  reason?: string;
}

/** Which calls are carried out. `deny` takes precedence over `confirm`, and that over `allow`; a call that matches no rule is denied. */
export type Policy =
  | "deny" | "confirm" | "allow"
  | { deny?: string | Rule | readonly (string | Rule)[]; confirm?: string | Rule | readonly (string | Rule)[]; allow?: string | Rule | readonly (string | Rule)[] };

export interface AgentOptions {
  /** The address of an OpenAI-compatible server, or a function that returns a reply. */
  model: string | Model;
  tools?: ToolSource;
  /** The format in which the model writes its calls; the system message explains it to the model. */
  dialect?: string;
  /** Default: `"confirm"`, a person is asked about each call. */
  policy?: Policy;
  /** Decides on calls that need confirmation. Without it they wait in `Run.waiting`. */
  approve?: (call: PendingCall) => Decision | PromiseLike<Decision>;
  /** The beginning of the system message. */
  system?: string;
  /** For a server: the model's name, a key, further members of the request, and the longest silence in milliseconds (5 minutes). */
  name?: string;
  apiKey?: string;
  request?: Readonly<Record<string, JsonValue>>;
  patience?: number;
  /** What bytes and strings of the model are. Default: `"text"` for a function, `"openai"` (the body of a response) for a server. */
  source?: "text" | "openai" | "anthropic" | "ollama";
  /** The server gets the definitions as `tools`, and its API tool calls are carried out like those in the text. */
  native?: boolean;
  engine?: Engine;
  lang?: Lang;
  /** Time limit of a call in milliseconds. Default: 30,000. */
  timeout?: number;
  /** Time limit of a `Task` in milliseconds. Default: one hour. */
  taskTimeout?: number;
  /** Maximum number of rounds of calls. Default: 5. */
  maxRounds?: number;
  /** Further limits of a run: calls that may start, bytes that the model may write, milliseconds. */
  budget?: { calls?: number; bytes?: number; time?: number };
  /** Run the calls of a reply concurrently, at most `maxConcurrent` (4); otherwise one after another, up to the first that fails. */
  parallel?: boolean;
  maxConcurrent?: number;
  /** What happens to recovered calls: the model gets an error message (`"answer"`, the default), or a person is asked. */
  recovered?: "answer" | "confirm";
  /** Whether arguments may refer to results: `{{1.result.path}}`. */
  references?: boolean;
  grammar?: boolean;
  /** Supplies the results of calls started before a run was saved. `null`: the result is unknown; a `Task`: the call continues as one. */
  recall?: (receipt: Receipt) => unknown;
}

/** The receipt of a call that was started. */
export interface Receipt {
  readonly id: string;
  readonly tool: string;
  /** SHA-256 of the arguments that the tool got. */
  readonly digest: string;
  /** The id of the task that the call began, if any. */
  readonly task?: string;
}

/** A model with tools. */
export class Agent {
  private constructor();
  readonly tools: Tools;
  /** Returns a run that begins with a user's message, or continues a conversation. It starts when iterated. */
  run(what: string | Iterable<Message>): Run;
  /** Returns the run of a workflow: calls that run one after another without a model. */
  steps(steps: Iterable<{ tool: string; arguments?: { [key: string]: JsonValue } }>): Run;
  /** Continues a saved run. Never starts a call twice. Throws `snapshot`. */
  resume(saved: string): Run;
  free(): void;
}

/**
 * A conversation of a model with its tools. Iterating drives it; when that ends, it has an `outcome`, or calls wait for a decision.
 * Errors of the model or of `approve` are thrown by the iteration; the next iteration asks again.
 */
export class Run implements AsyncIterable<RunEvent> {
  private constructor();
  [Symbol.asyncIterator](): AsyncGenerator<RunEvent, void, void>;
  /** Drives the run, and returns it when it is finished or waits for a decision. */
  done(onEvent?: (event: RunEvent) => unknown): Promise<Run>;
  /** How it ended; `null` before its end. */
  readonly outcome: "answer" | "iterations" | "budget" | "model_failed" | "cancelled" | "steps" | null;
  /** The model's answer; after too many rounds, a message for the user; if the model failed, its text so far, or else the reason. */
  readonly text: string;
  /** Whether the model answered, or all steps of a workflow completed. */
  readonly completed: boolean;
  /** The conversation so far, without the agent's prompt about its tools. */
  readonly messages: Message[];
  readonly calls: readonly RunCall[];
  readonly receipts: Receipt[];
  /** Calls that wait for a decision. */
  readonly waiting: PendingCall[];
  /** Decides on a waiting call, as `approve` would. Throws `state` if it is not waiting. */
  decide(call: PendingCall | string, decision: Decision): void;
  /** Ids of tasks that have no result yet. */
  readonly tasks: string[];
  /**
   * Supplies the result of a task, by its id, or by any name if no tool began it; an `Error` means that the task failed. The model gets
   * it with the next message, and is asked again if it has already answered. Throws `state` if the run is over or the task already has
   * its result.
   */
  later(task: string, result: unknown): void;
  /** Ends the run: aborts running calls, and cancels all without a result. */
  cancel(): void;
  /** Returns the run as JSON text for `Agent.resume`. Can be called at any time. */
  save(): string;
  free(): void;
}

export interface MiddlewareOptions {
  /** The format in which the model writes its calls. */
  dialect?: string;
  engine?: Engine;
  lang?: Lang;
  /** Whether to deliver recovered calls too. */
  recovered?: boolean;
  /** Returns a new id for a call. */
  id?: () => string;
}

/* eslint-disable @typescript-eslint/no-explicit-any */
/** A middleware for language models of the AI SDK, versions 2 to 4 of its interface. */
export interface Middleware {
  readonly specificationVersion: "v3";
  readonly middlewareVersion: "v2";
  transformParams(given: { params: any; [more: string]: any }): Promise<any>;
  wrapGenerate(given: { doGenerate: () => PromiseLike<any>; params: any; [more: string]: any }): Promise<any>;
  wrapStream(given: { doStream: () => PromiseLike<any>; params: any; [more: string]: any }): Promise<any>;
}
/* eslint-enable @typescript-eslint/no-explicit-any */

export interface TemplateOptions {
  /** Variables of the template, for example `enable_thinking`. */
  variables?: Readonly<Record<string, JsonValue>>;
  /** Whether a dialect is made even if a built-in one reads the same. Default: `false`, as built-in ones know slips of models. */
  own?: boolean;
}

/** What was derived from a chat template: the dialects that read what the model writes, and the template, which writes its prompts. */
export class Derived {
  private constructor();
  /** Ids of the dialects, that of the calls first: built-in ones, or the one that was made. */
  readonly dialects: string[];
  /** The file of the dialect that was made; `null` if built-in ones read the same. */
  readonly toml: string | null;
  /** The text with which the template begins the model's turn. */
  readonly start: string;
  /** Tokens that end the model's turn. */
  readonly stop: string[];
  /** What was found, what the template itself loses, and what it leaves open. */
  readonly report: string;
  /** Makes an engine of the dialects. */
  engine(options?: Omit<EngineOptions, "dialects" | "toml">): Engine;
  /**
   * Renders a conversation as the template writes it. It ends where the model's turn begins, unless `generate` is `false`; give it to a
   * stream as `promptTail`. Messages reach the template as they are; most templates want the arguments of calls as objects, not as JSON
   * text. Throws `dialect` if the template refuses the conversation.
   */
  render(messages: readonly object[] | string, options?: { tools?: readonly object[] | string | null; generate?: boolean }): string;
}

/** An instance of toolglot-agent.wasm. */
export interface Agents extends Toolglot {
  readonly Engine: Toolglot["Engine"] & {
    /** Makes an engine of the dialects that read what a chat template writes; see `derive`. */
    forTemplate(template: Chunk, options?: TemplateOptions & Omit<EngineOptions, "dialects" | "toml">): Engine;
  };
  /**
   * Derives the dialect of a model from its chat template: the template's text, or the content of a `tokenizer_config.json`, of the answer
   * of llama.cpp's `/props` or of a GGUF file. `id` is the id of a dialect that is made (`"derived"`). Throws `dialect` if the template is
   * invalid, writes no calls, or no dialect reads what it writes.
   */
  derive(template: Chunk, options?: TemplateOptions & { id?: string }): Derived;
  readonly Tools: { new (...tools: ToolSource[]): Tools };
  readonly Agent: { new (options: AgentOptions): Agent };
  /**
   * For `wrapLanguageModel` of the AI SDK, and models without tool support: the prompt declares the tools of the request and has earlier
   * calls and results as text. Calls in a reply become tool calls, each once its block has closed.
   */
  middleware(options: MiddlewareOptions): Middleware;
}

/** Loads an instance of the file with tools and agents; otherwise the same as `load` of `toolglot`. */
export function load(
  source?: string | URL | Bytes | WebAssembly.Module | Response | PromiseLike<Response> | null,
): Promise<Agents>;
