// Types of toolglot for Node and browsers. The manual is docs/WASM.md of the repository.
/// <reference lib="esnext.disposable" />

/** Text, or bytes in any of their types. Bytes may be split anywhere, strings between any two code units. */
export type Chunk = string | ArrayBuffer | ArrayBufferView | SharedArrayBuffer;
export type Bytes = ArrayBuffer | ArrayBufferView | SharedArrayBuffer;

export type FinishReason = "stop" | "length" | "tool_calls" | "error" | "cancelled";
/**
 * `repaired`: the text broke a rule, but leaves no doubt about the call; `recovered`: something may be truncated, mixed or guessed.
 */
export type Grade = "complete" | "repaired" | "recovered";
/**
 * Where a stream is between two chunks. `tag_opening`: the held bytes may be a marker. `tag_content`: in a block, while a call
 * is being written or the first call is still to come. `tag_closing`: in a block, after one of its calls.
 */
export type Stage = "normal" | "tag_opening" | "tag_content" | "tag_closing";
export type Start = "dialect" | "text" | "reasoning";
export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

/** A declared tool: flat, or in OpenAI's form. `parameters` is a JSON Schema. */
export type Tool =
  | { name: string; description?: string; parameters?: object; [more: string]: unknown }
  | { type: "function"; function: { name: string; description?: string; parameters?: object; [more: string]: unknown } };

/** A call in OpenAI's form. */
export interface ToolCall {
  id?: string;
  type?: "function";
  function: { name: string; arguments?: string | object | null };
}

/** The position of an event: absolute offsets of the bytes fed, exact up to 2^53. */
export interface Span {
  /** Offset of the first byte. */
  readonly start: number;
  /** Offset after the last byte. */
  readonly end: number;
}

/** Plain text of the reply, in whole characters. Invalid UTF-8 is replaced with U+FFFD. */
export interface TextEvent extends Span {
  readonly type: "text";
  readonly text: string;
  /** Whether these bytes were first taken for a block; a `block_abandoned` came before. */
  readonly recovered: boolean;
}
/** Reasoning of the model, in whole characters. */
export interface ReasoningEvent extends Span {
  readonly type: "reasoning";
  readonly text: string;
  /** Whether the text is a marker (`<think>`), not the reasoning itself. */
  readonly framing: boolean;
}
/** Part of a region that a dialect protects: it is not searched for calls. */
export interface ProtectedEvent extends Span {
  readonly type: "protected";
  /** The text, markers included. */
  readonly text: string;
  /** The kind of the region, as its dialect names it. */
  readonly kind: string;
}
/** Bytes of a block that exceeded a limit; they continue until the block's own closer. */
export interface RawEvent extends Span {
  readonly type: "raw";
  readonly data: Uint8Array;
}
/** A block begins. */
export interface BlockOpenEvent extends Span {
  readonly type: "block_open";
  /** The id of its dialect. */
  readonly dialect: string;
}
/**
 * The name of a call is known. This event comes before the `call_open`, as early as possible; only `call_open` opens a call.
 */
export interface CallNamedEvent extends Span {
  readonly type: "call_named";
  /** Index of the block in this stream, from 0. */
  readonly block: number;
  /** Index of the name in its block, from 0. */
  readonly ordinal: number;
  readonly name: string;
  /** Whether the name can still be retracted: a `call_open` of the block replaces it, or the block ends without the call. */
  readonly provisional: boolean;
}
/** A call begins; its name is final. */
export interface CallOpenEvent extends Span {
  readonly type: "call_open";
  /** Index of the call in this stream, from 0. */
  readonly call: number;
  readonly name: string;
  /** The id of its dialect; empty for an API tool call. */
  readonly dialect: string;
  /** Data of the format about the call, besides name and arguments (an `id`, for example). */
  readonly meta: Readonly<Record<string, string>>;
  /** Whether the host delivered it beside the text. */
  readonly native: boolean;
}
/** The next piece of a call's arguments: final JSON text. */
export interface ArgDeltaEvent extends Span {
  readonly type: "arg_delta";
  readonly call: number;
  readonly json: string;
}
/** A parameter begins. Provisional: only the arguments of the call are final. */
export interface ParamOpenEvent extends Span {
  readonly type: "param_open";
  /** Its name, as written. */
  readonly name: string;
  /** Nesting depth; 0 for a parameter of the call itself. */
  readonly depth: number;
}
/** Raw bytes of the open parameter's value, as they arrive; they may end inside a character. */
export interface ParamDeltaEvent extends Span {
  readonly type: "param_delta";
  readonly data: Uint8Array;
}
/** The open parameter ends. */
export interface ParamCloseEvent extends Span {
  readonly type: "param_close";
}
/** The open call is retracted: it broke its grammar, exceeded a limit or was truncated. It never closes; discard its deltas. */
export interface CallAbandonedEvent extends Span {
  readonly type: "call_abandoned";
  readonly call: number;
}
/** A call ends. It is final unless its block is abandoned. */
export interface CallCloseEvent extends Span {
  readonly type: "call_close";
  readonly call: number;
  readonly name: string;
  /**
   * The arguments, parsed on first access; always the same object. Numbers are JavaScript numbers; `argumentsJson` keeps the
   * model's spelling. `null` if the arguments were not kept (`retain: "none"`).
   */
  readonly arguments: { [key: string]: JsonValue } | null;
  /** The arguments as JSON text. `null` if they were not kept. */
  readonly argumentsJson: string | null;
  /**
   * The issue kinds of a recovered call: something in it may be truncated, mixed or guessed, so do not execute it without
   * asking. `null` for any other call.
   */
  readonly recovered: readonly string[] | null;
  /** Whether the call is well formed and closed. */
  readonly complete: boolean;
  /** How certain the call is. Do not execute a recovered one without asking. */
  readonly grade: Grade;
  /** The issue kinds that explain why the call is not complete. */
  readonly kinds: readonly string[];
}
/** The block ends. Its calls are committed. */
export interface BlockCloseEvent extends Span {
  readonly type: "block_close";
  /** Its bytes if they were retained, otherwise empty. */
  readonly raw: Uint8Array;
}
/** The block is retracted, and so are all calls since its `block_open`. */
export interface BlockAbandonedEvent extends Span {
  readonly type: "block_abandoned";
  /** What happens to its bytes: they follow as one text event, as one reasoning event of the thought that goes on, or are dropped. */
  readonly becomes: "text" | "reasoning" | "drop";
  /** Its bytes if they were retained, otherwise empty. */
  readonly raw: Uint8Array;
}
/** An error in the model's text. Parsing continues. */
export interface IssueEvent extends Span {
  readonly type: "issue";
  /** The kind, for example `unclosed_block`. */
  readonly kind: string;
  readonly severity: "error" | "warning";
  /** One sentence for people. */
  readonly message: string;
  /** Index of the call concerned. */
  readonly call: number | null;
  /** Id of the dialect that reported it, or empty. */
  readonly dialect: string;
  /** The tool concerned, or empty. */
  readonly tool: string;
  /** The parameter, entity or tag concerned, or empty. */
  readonly subject: string;
  /** The name that was probably meant, or empty. */
  readonly suggestion: string;
  /** The observation: one sentence for the model. */
  readonly observation: string;
}

export type Event =
  | TextEvent | ReasoningEvent | ProtectedEvent | RawEvent | BlockOpenEvent | CallNamedEvent | CallOpenEvent | ArgDeltaEvent
  | ParamOpenEvent | ParamDeltaEvent | ParamCloseEvent | CallAbandonedEvent | CallCloseEvent | BlockCloseEvent
  | BlockAbandonedEvent | IssueEvent;

/** One tool invocation. */
export interface Call extends Span {
  readonly name: string;
  /** The arguments, parsed on first access; always the same object. */
  readonly arguments: { [key: string]: JsonValue };
  /** The arguments as JSON text; numbers keep the model's spelling. */
  readonly argumentsJson: string;
  /** Its index in the turn, from 0. */
  readonly index: number;
  /** As in `CallCloseEvent`. */
  readonly recovered: readonly string[] | null;
  readonly complete: boolean;
  readonly grade: Grade;
  readonly kinds: readonly string[];
  /** Id of its dialect; empty for an API tool call. */
  readonly dialect: string;
  readonly meta: Readonly<Record<string, string>>;
  readonly native: boolean;
}

/** What should not be used without asking, or was not delivered. */
export interface NotDelivered {
  /** The recovered calls. */
  readonly withheld: readonly { name: string; kinds: string[]; span: [number, number] }[];
  /** Bytes of calls and blocks that are neither text nor a call. */
  readonly dropped: readonly { span: [number, number]; kinds: string[] }[];
}
/** The whole content of one model output. */
export interface Turn {
  /** The text outside calls and reasoning, joined. */
  readonly text: string;
  /** The reasoning, joined, without its markers. */
  readonly reasoning: string;
  readonly calls: readonly Call[];
  /** The issues of the output, errors and warnings, in order of detection. */
  readonly issues: readonly IssueEvent[];
  /** `issues`, under the name that they have in JSON. */
  readonly errors: readonly IssueEvent[];
  /** Absent if there is nothing to report. */
  readonly toolglot?: NotDelivered;
  /**
   * Everything the model wrote, markup included; invalid UTF-8 is replaced, as in `text`. Absent without `original: true`, or
   * if not all of it was kept (`retain: "none"`).
   */
  readonly original?: string;
  /** Problems in the list of tools of this output, one sentence each. Absent if there are none. */
  readonly toolIssues?: readonly string[];
}

/** Upper bounds on what one stream may hold or deliver; docs/POLICIES.md of the repository lists the defaults. */
export interface Limits {
  maxValue?: number | null;
  maxBlock?: number | null;
  maxCalls?: number | null;
  maxChain?: number | null;
  maxDepth?: number | null;
  maxParams?: number | null;
  maxName?: number | null;
  maxHeader?: number | null;
  maxLookahead?: number | null;
  maxIssues?: number | null;
  maxNative?: number | null;
}

/** Options that a stream can set differently from its engine. */
export interface StreamOptions {
  start?: Start | null;
  /** The prompt, or the end of it: if its last 4 KiB open something (a thought, a header, a call), the output continues it. */
  promptTail?: Chunk | null;
  /** The declared tools, or their JSON text: they type untyped text, and calls of other tools are reported. */
  tools?: readonly Tool[] | string | null;
  /** The `tool_choice` of the request: output guided by the server is bare JSON. */
  toolChoice?: ToolChoice | null;
}

/** `tool_choice` of an OpenAI request. */
export type ToolChoice = "auto" | "none" | "required" | { readonly type?: "function"; readonly function: { readonly name: string } }
  | { readonly name: string };

export interface EngineOptions extends Omit<StreamOptions, "promptTail"> {
  /** Ids of built-in dialects; `"default"` for all dialects that cannot fire on ordinary prose or code; `"any"` for whatever an
   * output may contain (calls of declared tools only). */
  dialects?: string | readonly string[] | null;
  /** Your own dialect files: one text, several, or names with texts. */
  toml?: string | readonly string[] | Readonly<Record<string, string>> | null;
  /** `"DIALECT.NAME"`, or `"DIALECT.NAME=VALUE"`. */
  switches?: string | readonly string[] | null;
  limits?: Limits | null;
  retain?: "block" | "none" | null;
  prefer?: "text" | "native" | "both" | null;
  reasoning?: "split" | "off" | "text" | null;
  callsInReasoning?: boolean | null;
  trustedOnly?: boolean | null;
  fence?: "skip" | "allow" | null;
  unclosed?: "drop" | "text" | "salvage" | null;
  /** How to read the text of a value whose type is unknown; by default as each dialect defines. */
  untyped?: "string" | "json" | null;
  /** What happens to a block that broke its grammar and was never closed: it becomes text, or is dropped. */
  broken?: "text" | "drop" | null;
  /** What happens to a call of an undeclared tool: by default it is delivered, with the dialects `"any"` it becomes text. */
  unknownTool?: "deliver" | "text" | "drop" | null;
}

export interface ParseOptions extends StreamOptions {
  finish?: FinishReason | null;
  /** The API tool calls of the output: an OpenAI `tool_calls` array, or its JSON text. */
  nativeCalls?: readonly ToolCall[] | string | null;
  /**
   * Escapes `text` so that another reader of this engine's dialects finds no call in it; for hosts that forward it without the
   * calls. By default the text is verbatim.
   */
  guard?: boolean | null;
  /** Keeps everything the model wrote, markup included, as `original` of the turn. */
  original?: boolean | null;
}

/** The API of a response. `text` is the output itself. */
export type Source = "text" | "openai" | "anthropic" | "ollama";

export interface ReaderOptions extends StreamOptions {
  /** The index of the choice to read. Default 0. */
  choice?: number | null;
}

export interface EventsOptions extends ReaderOptions {
  /** The kind of the chunks. Default `text`. */
  source?: Source | null;
  /** By default the reason of the response; `stop` for text. */
  finish?: FinishReason | null;
}

/** How a response ended, in `engine.events`. */
export interface Ended {
  /** What could not be read so far, one sentence each: an error of the server, a body that broke off. Always empty for text. */
  readonly errors: string[];
  /** Why the response ended; `null` until it is finished. */
  readonly reason: FinishReason | null;
}

/** How to write chat completions. */
export interface WritingOptions extends StreamOptions {
  /** Overrides what the server says about its response. Generated if neither gives it. */
  model?: string | null;
  id?: string | null;
  /** Seconds since 1970. */
  created?: number | null;
  /** Delivers recovered calls like complete ones. By default they are withheld and reported (`toolglot.withheld`). */
  recovered?: boolean | null;
  /** The member that holds reasoning; `null` or an empty name leaves it out. Default `reasoning_content`. */
  reasoning?: string | null;
  /** The host forced a tool by name, so the reason is `stop` although there is a call. */
  forced?: boolean | null;
  /** The prefix of generated call ids. Default `call_`. */
  idPrefix?: string | null;
  /** The same seed gives the same ids. By default each response gets its own seed. */
  idSeed?: number | null;
  /** The choice of a server's response to write. Default: all choices of OpenAI's, otherwise the first. */
  choice?: number | null;
}

export interface RewriterOptions extends WritingOptions {
  /** When calls are sent: while they are being written (default), or whole, when their block has closed. */
  calls?: "live" | "close" | null;
  /** Treats protected regions as content. */
  protected?: boolean | null;
}

export interface CompletionOptions extends WritingOptions {
  /** By default the reason of the response; `stop` for text and turns. */
  finish?: FinishReason | null;
}

/** The description of a dialect. */
export interface Dialect {
  id: string;
  title: string;
  /** The family of its body. */
  family: string;
  aliases: string[];
  /** Which models or programs write it. */
  models: string[];
  /** The sources of its rules. */
  sources: string[];
  inDefaultSet: boolean;
  /** The group of dialects with the same markup; an engine can hold only one of them. */
  group: string | null;
  switches: { name: string; valued: boolean }[];
  openers: string[];
  closers: string[];
  reasoningOpeners: string[];
  reasoningClosers: string[];
}

/** The built-in dialects of a model. */
export interface ModelDialects {
  /** The dialects of its calls; empty if none is known. */
  calls: string[];
  /** The dialect that reads its reasoning alone. */
  reasoning: string | null;
  /** Those to read its replies with, which fit in one engine: those of its calls, then that of its reasoning unless they read it. */
  all: string[];
}

/** The evidence for one dialect in a text. */
export interface Evidence {
  dialect: string;
  title: string;
  confidence: "strong" | "fair" | "weak" | "faint";
  /** The evidence, in one sentence. */
  reason: string;
  /** The number of calls that are well formed and closed. */
  complete: number;
  /** The number of calls that were recovered. */
  recovered: number;
  /** The number of blocks that broke or were truncated. */
  broken: number;
  /** Where the evidence is. */
  spans: { start: number; end: number }[];
  /** Whether the default set reads calls of the input as this dialect. */
  chosen: boolean;
  inDefaultSet: boolean;
  group: string | null;
  /** The dialect whose blocks include all blocks of this one. */
  inside: string | null;
}

/**
 * | code | |
 * |---|---|
 * | `argument` | An argument is unusable; the message names it. |
 * | `dialect`, `tools`, `encode`, `snapshot` | A dialect or set, a list of tools, a call to write or a snapshot is unusable. |
 * | `state` | The stream is finished. |
 * | `freed` | The object was freed. |
 * | `load` | The WebAssembly file cannot be loaded, or is a different one. |
 * | `memory`, `limit` | Something exceeds the memory or the interface. |
 * | `model` | A server cannot be reached, or its reply broke off (`toolglot/agent`). |
 * | `internal` | A bug in this package, or out of memory during work: the instance is lost. |
 * | `lost` | The instance was lost before. |
 */
export type ErrorCode =
  | "argument" | "dialect" | "tools" | "encode" | "snapshot" | "state" | "freed" | "load" | "memory" | "limit"
  | "model" | "internal" | "lost";

/** The base class of all errors of this package. A model's mistakes are not errors but events (`issue`). */
export class ToolglotError extends Error {
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown });
  readonly name: "ToolglotError";
  readonly code: ErrorCode;
  readonly cause?: unknown;
}

/** A call that is still being written. */
export interface OpenCall {
  /** Its index among the calls of the turn, from 0. */
  readonly index: number;
  /** The id that the format gives it, if any. */
  readonly id: string | null;
  readonly name: string;
  /** Its arguments so far: a prefix of the final JSON text. */
  readonly argumentsJson: string;
}

/**
 * The calls of a stream so far: give it the events of one stream, in order. Memory grows with the calls. `closed` becomes the calls
 * of the turn, with `retain: "none"` too: there the arguments are those that arrived in pieces. A call whose arguments came only as
 * parameters is recovered, and has none.
 */
export class Calls {
  /** Takes the next events. */
  add(events: Iterable<Event>): void;
  /** The calls that have closed and were not retracted. */
  readonly closed: Call[];
  /** The open call, if any. Always `null` for formats whose calls open only when their block ends. */
  readonly open: OpenCall | null;
}

/** Dialects compiled together, and the options of streams that read them. Immutable. Made by `new toolglot.Engine()`. */
export class Engine {
  private constructor();
  /** Opens a stream, which parses the output of one model turn. */
  stream(options?: StreamOptions): Stream;
  /** Restores a stream from a snapshot. `start`, `promptTail` and `tools` must be those of the original stream. */
  restore(snapshot: Bytes, options?: StreamOptions): Stream;
  /**
   * Returns the events of an output or a response that comes in chunks: an async generator for async chunks (the body of a
   * `fetch`, a client's stream), otherwise a plain one. Leaving the loop early frees the stream. Ask for `errors` and `reason` after
   * the loop.
   */
  events(chunks: AsyncIterable<Chunk>, options?: EventsOptions): AsyncGenerator<Event, void, undefined> & Ended;
  events(chunks: Iterable<Chunk>, options?: EventsOptions): Generator<Event, void, undefined> & Ended;
  /** Creates a reader, which turns the body of one response into events. */
  reader(source: Source, options?: ReaderOptions): Reader;
  /** Creates a rewriter, which turns an output or a server's response into OpenAI chunks. */
  rewriter(source?: Source | null, options?: RewriterOptions): Rewriter;
  /** Returns an output, a turn or a server's response as one OpenAI `chat.completion`, as JSON text. */
  completion(output: Chunk | Turn, source?: Source | null, options?: CompletionOptions): string;
  /** Parses a whole output and returns the turn. */
  parse(text: Chunk, options?: ParseOptions): Turn;
  /**
   * Writes calls in a dialect of the engine (default: its first): the inverse of parsing. Throws `encode` for a call that the
   * dialect cannot express, `argument` for one whose arguments were not kept (`retain: "none"`).
   */
  encode(calls: EncodeCall | readonly EncodeCall[], dialect?: string): string;
  /** Makes untrusted text safe for a prompt or a tool result: no dialect of the engine sees a marker in it. */
  escape(text: string): string;
  escape(text: Bytes): Uint8Array;
  /** Returns the text from which `escape` made this one. */
  unescape(text: string): string;
  unescape(text: Bytes): Uint8Array;
  /** The ids of its dialects, in order. */
  readonly dialects: string[];
  /** The names of its tools, in order. */
  readonly tools: string[];
  /** Problems in the list of its tools, one sentence each: what was left out or ignored, and where. */
  readonly toolIssues: string[];
  /** Warnings about dialects that work but may surprise, one sentence each. */
  readonly lints: string[];
  /** The maximum number of bytes of text that a stream ever holds back. */
  readonly bound: number;
  /** Describes its dialects. */
  describe(): Dialect[];
  /** Frees the engine; a second call does nothing. Its streams remain usable. */
  free(): void;
  [Symbol.dispose](): void;
}

/** The calls that `encode` accepts: a `Call`, a name with arguments (an object or JSON text), or a call in OpenAI's form. */
export type EncodeCall = Call | ToolCall | { id?: string; name: string; arguments?: string | object };

/** One model output, from its first byte to its end. Made by `engine.stream()`. */
export class Stream {
  private constructor();
  /** Takes the next chunk and returns its events. An event is delivered as soon as it is certain. */
  feed(chunk: Chunk): Event[];
  /** Takes one special token that the host recognised by its id and so vouches for. */
  feedSpecial(marker: Chunk): Event[];
  /**
   * Takes text that the prompt has already put at the beginning of the reply. Its text and reasoning are not delivered. A character
   * that it leaves incomplete is delivered if a chunk completes it.
   */
  prefill(text: Chunk): Event[];
  /** Takes API tool calls; the option `prefer` says when they are delivered. */
  nativeCalls(calls: readonly ToolCall[] | string): Event[];
  /** Ends the stream: delivers what is held back and reports what is still open. A second call returns nothing. */
  finish(reason?: FinishReason): Event[];
  /** Starts over with the same options. */
  reset(): void;
  /** Its state as bytes, for `engine.restore`. The size does not grow with the stream, except by the bytes of an open block. */
  snapshot(): Uint8Array;
  /** Returns an independent stream in the same state. */
  copy(): Stream;
  /** Bytes fed that no event covers yet. (Half a surrogate pair has no bytes yet.) */
  readonly held: number;
  /** Bytes fed so far. */
  readonly position: number;
  readonly finished: boolean;
  /** Where the stream is: outside, at a possible marker, in a call or after one. */
  readonly stage: Stage;
  /** Whether a thought is open: text is reasoning until the closer, or until a call that ends the thought. */
  readonly inReasoning: boolean;
  /**
   * Whether a marker or a block may be open: the held bytes may begin a marker, or a call is being written. If false,
   * everything that was fed has been delivered, except perhaps an incomplete character.
   */
  readonly mayHoldMarker: boolean;
  /** Problems in the list of its tools, one sentence each. */
  readonly toolIssues: string[];
  /** Frees the stream; a second call does nothing. */
  free(): void;
  [Symbol.dispose](): void;
}

/** Reads the body of one response: takes bytes in any chunks and returns events. Made by `engine.reader()`. */
export class Reader {
  private constructor();
  /** Takes the next bytes of the body. What cannot be read is added to `errors`; reading goes on. */
  feed(chunk: Chunk): Event[];
  /** Ends the response. `reason` overrides the reason that the response gives. A second call returns nothing. */
  finish(reason?: FinishReason | null): Event[];
  /** What could not be read so far, one sentence each. */
  readonly errors: string[];
  /** Why the response ended; `null` until it is finished. */
  readonly reason: FinishReason | null;
  /** Bytes of the text that no event covers yet. */
  readonly held: number;
  readonly finished: boolean;
  /** Frees the reader; a second call does nothing. */
  free(): void;
  [Symbol.dispose](): void;
}

/**
 * Writes OpenAI chunks, one line of JSON each. Calls in the text become `tool_calls`, and `finish_reason` says so. A response
 * of OpenAI's own shape keeps everything else. Made by `engine.rewriter()`.
 */
export class Rewriter {
  private constructor();
  /** Takes the next chunk and returns the chunks that result from it. */
  feed(chunk: Chunk): string[];
  /** Ends the response and returns the last chunks. A second call returns nothing. */
  finish(reason?: FinishReason | null): string[];
  /** What could not be read so far, one sentence each. */
  readonly errors: string[];
  /** Why the response ended; `null` until it is finished. */
  readonly reason: FinishReason | null;
  /**
   * Indices of the calls that were sent in part and then retracted. With several choices: those of the first choice that has any.
   */
  readonly void: number[];
  readonly finished: boolean;
  /** Frees the rewriter; a second call does nothing. */
  free(): void;
  [Symbol.dispose](): void;
}

/**
 * Returns a call as an OpenAI message has it: `{ id, type, function: { name, arguments } }`. The `id` is the format's own, else
 * the one given here, else a generated one. Throws `argument` for the end of a call whose arguments were not kept.
 */
export function toOpenAI(call: Pick<Call, "name" | "argumentsJson"> & { readonly meta?: Call["meta"] }, id?: string): {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
};

/** An instance of the WebAssembly file. */
export interface Toolglot {
  /**
   * Makes an engine; a string or an array gives its dialects. Throws `dialect` for an unusable dialect or switch, `tools`, `argument`.
   */
  readonly Engine: { new (options?: EngineOptions | string | readonly string[]): Engine };
  /** The version of the engine. */
  readonly version: string;
  /** Describes the built-in dialects. */
  dialects(): Dialect[];
  /** Guesses which built-in dialects a model writes from its name (`Qwen/Qwen3-8B`, `qwen3:8b`, a file name). Fine-tuned models
   * keep names but change formats. */
  modelDialects(name: string): ModelDialects;
  /** Returns the TOML file of a built-in dialect, as a starting point for your own. */
  dialectToml(id: string): string;
  /** Returns the built-in dialects that a text shows evidence of, strongest first. Give `tools` if you can. */
  detect(text: Chunk, options?: { tools?: readonly Tool[] | string | null }): Evidence[];
  /** The number of streams made and not freed, for leak checks. */
  readonly liveStreams: number;
  /** Size of the linear memory, which never shrinks. */
  readonly memoryBytes: number;
}

/**
 * Loads an instance from the file next to the module, or from a URL, bytes, a compiled module or a response (or a promise of
 * one). The file next to the module is compiled only once. Throws `load`.
 */
export function load(
  source?: string | URL | Bytes | WebAssembly.Module | Response | PromiseLike<Response> | null,
): Promise<Toolglot>;
