// Types of toolglot for Node and browsers. The manual is docs/WASM.md of the repository.
/// <reference lib="esnext.disposable" />

/** Text, or bytes in any of their shapes. Bytes may be cut anywhere, strings between any two code units. */
export type Chunk = string | ArrayBuffer | ArrayBufferView | SharedArrayBuffer;
export type Bytes = ArrayBuffer | ArrayBufferView | SharedArrayBuffer;

export type FinishReason = "stop" | "length" | "tool_calls" | "error" | "cancelled";
/** `repaired`: a rule was broken, but the call is not in doubt; `recovered`: something may be cut, mixed or guessed. */
export type Grade = "complete" | "repaired" | "recovered";
/**
 * Where a stream stands between two chunks. `tag_opening`: bytes are held that may be a marker. `tag_content`: in a block, while a
 * call of it is written or its first is still to come. `tag_closing`: in a block, after a call of it.
 */
export type Stage = "normal" | "tag_opening" | "tag_content" | "tag_closing";
export type Start = "dialect" | "text" | "reasoning";
export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

/** A tool on offer: flat, or as OpenAI has it. `parameters` is a JSON Schema. */
export type Tool =
  | { name: string; description?: string; parameters?: object; [more: string]: unknown }
  | { type: "function"; function: { name: string; description?: string; parameters?: object; [more: string]: unknown } };

/** A call as OpenAI has it. */
export interface ToolCall {
  id?: string;
  type?: "function";
  function: { name: string; arguments?: string | object | null };
}

/** Where an event stands: absolute offsets of the bytes fed, exact up to 2^53. */
export interface Span {
  /** Offset of the first byte. */
  readonly start: number;
  /** Offset after the last byte. */
  readonly end: number;
}

/** Plain text of the reply, in whole characters. What is not UTF-8 is U+FFFD. */
export interface TextEvent extends Span {
  readonly type: "text";
  readonly text: string;
  /** It was taken for a block first; a `block_abandoned` came before. */
  readonly recovered: boolean;
}
/** Reasoning of the model, in whole characters. */
export interface ReasoningEvent extends Span {
  readonly type: "reasoning";
  readonly text: string;
  /** The text is the marker (`<think>`), not the reasoning itself. */
  readonly framing: boolean;
}
/** Part of a region that a dialect protects: no calls are looked for inside. */
export interface ProtectedEvent extends Span {
  readonly type: "protected";
  /** The text, markers included. */
  readonly text: string;
  /** The kind of region, as its dialect names it. */
  readonly kind: string;
}
/** Bytes of a block that broke a limit; they go on until the block's own closer. */
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
/** The name of a call is written. It comes before the `call_open`, as early as the name is known; only that opens a call. */
export interface CallNamedEvent extends Span {
  readonly type: "call_named";
  /** Number of the block in this stream, from 0. */
  readonly block: number;
  /** Number of the name in its block, from 0. */
  readonly ordinal: number;
  readonly name: string;
  /** What follows can still take the name back: a `call_open` of the block replaces it, or it is void when the block ends. */
  readonly provisional: boolean;
}
/** A call begins; its name is final. */
export interface CallOpenEvent extends Span {
  readonly type: "call_open";
  /** Number of the call in this stream, from 0. */
  readonly call: number;
  readonly name: string;
  /** The id of its dialect; empty for a native call. */
  readonly dialect: string;
  /** What the format says of the call beside name and arguments (an `id`, for example). */
  readonly meta: Readonly<Record<string, string>>;
  /** The host gave it beside the text. */
  readonly native: boolean;
}
/** The next piece of a call's arguments: final JSON text. */
export interface ArgDeltaEvent extends Span {
  readonly type: "arg_delta";
  readonly call: number;
  readonly json: string;
}
/** A parameter begins. Provisional: what counts are the arguments of the call. */
export interface ParamOpenEvent extends Span {
  readonly type: "param_open";
  /** Its name as written. */
  readonly name: string;
  /** Nesting depth; 0 is a parameter of the call. */
  readonly depth: number;
}
/** Raw bytes of the open parameter's value, at once; they may end inside a character. */
export interface ParamDeltaEvent extends Span {
  readonly type: "param_delta";
  readonly data: Uint8Array;
}
/** The open parameter ends. */
export interface ParamCloseEvent extends Span {
  readonly type: "param_close";
}
/** The open call is retracted: it broke its grammar or a limit, or was truncated. It never closes, and its deltas are void. */
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
   * The arguments, parsed when they are asked for, the same object each time. Numbers are those of JavaScript:
   * `argumentsJson` has them as the model spelled them. `null` if they were not kept (`retain: "none"`).
   */
  readonly arguments: { [key: string]: JsonValue } | null;
  /** The arguments as JSON text. `null` if they were not kept. */
  readonly argumentsJson: string | null;
  /**
   * The kinds of a recovered call: something in it may be cut, mixed or guessed, so it should not be executed without
   * asking. `null` for any other.
   */
  readonly recovered: readonly string[] | null;
  /** Whether it is well formed and closed. */
  readonly complete: boolean;
  /** How sure the call is. A recovered one should not be executed without asking. */
  readonly grade: Grade;
  /** Why it is not complete. */
  readonly kinds: readonly string[];
}
/** The block ends. Its calls are committed. */
export interface BlockCloseEvent extends Span {
  readonly type: "block_close";
  /** Its bytes if they were retained, else empty. */
  readonly raw: Uint8Array;
}
/** The block is retracted. All calls since its `block_open` are void. */
export interface BlockAbandonedEvent extends Span {
  readonly type: "block_abandoned";
  /** What becomes of its bytes: they follow as one text event, or are dropped. */
  readonly becomes: "text" | "drop";
  /** Its bytes if they were retained, else empty. */
  readonly raw: Uint8Array;
}
/** Something is wrong with what the model wrote. Parsing goes on. */
export interface IssueEvent extends Span {
  readonly type: "issue";
  /** What, for example `unclosed_block`. */
  readonly kind: string;
  readonly severity: "error" | "warning";
  /** One sentence for people. */
  readonly message: string;
  /** Number of the call concerned. */
  readonly call: number | null;
  /** Id of the dialect that speaks, or empty. */
  readonly dialect: string;
  /** The tool concerned, or empty. */
  readonly tool: string;
  /** The parameter, entity or tag concerned, or empty. */
  readonly subject: string;
  /** A name that was probably meant, or empty. */
  readonly suggestion: string;
  /** What to tell the model. */
  readonly observation: string;
}

export type Event =
  | TextEvent | ReasoningEvent | ProtectedEvent | RawEvent | BlockOpenEvent | CallNamedEvent | CallOpenEvent | ArgDeltaEvent
  | ParamOpenEvent | ParamDeltaEvent | ParamCloseEvent | CallAbandonedEvent | CallCloseEvent | BlockCloseEvent
  | BlockAbandonedEvent | IssueEvent;

/** One tool invocation. */
export interface Call extends Span {
  readonly name: string;
  /** The arguments, parsed when they are asked for, the same object each time. */
  readonly arguments: { [key: string]: JsonValue };
  /** The arguments as JSON text; numbers are spelled as the model spelled them. */
  readonly argumentsJson: string;
  /** Its number in the turn, from 0. */
  readonly index: number;
  /** As in `CallCloseEvent`. */
  readonly recovered: readonly string[] | null;
  readonly complete: boolean;
  readonly grade: Grade;
  readonly kinds: readonly string[];
  /** Id of its dialect; empty for a native call. */
  readonly dialect: string;
  readonly meta: Readonly<Record<string, string>>;
  readonly native: boolean;
}

/** What a host does not get, or should not act on without asking. */
export interface NotDelivered {
  /** Calls that are recovered. */
  readonly withheld: readonly { name: string; kinds: string[]; span: [number, number] }[];
  /** Bytes of calls and blocks that are neither text nor a call. */
  readonly dropped: readonly { span: [number, number]; kinds: string[] }[];
}
/** Everything that one model output says. */
export interface Turn {
  /** The text outside calls and reasoning, joined. */
  readonly text: string;
  /** The reasoning, joined, without its markers. */
  readonly reasoning: string;
  readonly calls: readonly Call[];
  /** What is wrong with the output, errors and warnings, in order of detection. */
  readonly errors: readonly IssueEvent[];
  /** Absent where there is nothing to say. */
  readonly toolglot?: NotDelivered;
  /**
   * All that the model wrote, markup included; what is not UTF-8 is U+FFFD, as in `text`. Absent where `original: true` did not
   * ask for it, or not all of it was kept (`retain: "none"`).
   */
  readonly original?: string;
  /** What was odd in the list of tools that it was parsed with, one sentence each. Absent where nothing was. */
  readonly toolIssues?: readonly string[];
}

/** Upper bounds of what one stream may hold or deliver; the README of the repository has the defaults. */
export interface Limits {
  maxValue?: number;
  maxBlock?: number;
  maxCalls?: number;
  maxChain?: number;
  maxDepth?: number;
  maxParams?: number;
  maxName?: number;
  maxHeader?: number;
  maxLookahead?: number;
  maxIssues?: number;
  maxNative?: number;
}

/** What may be other for one stream than for its engine. */
export interface StreamOptions {
  start?: Start | null;
  /** The prompt, or the end of it: what its last 4 KiB have opened (a thought, a header, a call), the output goes on with. */
  promptTail?: Chunk | null;
  /** Tools on offer, or their JSON text: they give untyped text its type, and warn of tools nobody offers. */
  tools?: readonly Tool[] | string | null;
  /** What the request said about calls: guided output is bare JSON. */
  toolChoice?: ToolChoice | null;
}

/** `tool_choice` of a request to OpenAI. */
export type ToolChoice = "auto" | "none" | "required" | { readonly type?: "function"; readonly function: { readonly name: string } }
  | { readonly name: string };

export interface EngineOptions extends StreamOptions {
  /** Ids of built-in dialects; `"default"` for all that cannot fire on ordinary prose or code; `"any"` for whatever an output
   * may hold, calls of declared tools only. */
  dialects?: string | readonly string[] | null;
  /** Dialect files of your own: one text, several, or names with texts. */
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
  /** What the text of a value is of whose type nothing is known; by default as each dialect says. */
  untyped?: "string" | "json" | null;
  /** What becomes of a block that broke its grammar and that nothing ended: text, or hidden. */
  broken?: "text" | "drop" | null;
  /** What becomes of a call whose tool is not declared; by default it is delivered, and with the dialects `"any"` it is text. */
  unknownTool?: "deliver" | "text" | "drop" | null;
}

export interface ParseOptions extends StreamOptions {
  finish?: FinishReason;
  /** Calls that the API delivered beside the text: an OpenAI `tool_calls` array, or its JSON text. */
  nativeCalls?: readonly ToolCall[] | string | null;
  /**
   * Keeps `text` from being a call for the next reader of this engine's dialects, for hosts that send it on without the calls.
   * By default it is verbatim.
   */
  guard?: boolean | null;
  /** Keeps all that the model wrote, markup included, as `original` of the turn. */
  original?: boolean | null;
}

/** Whose responses are read. `text` is the output itself. */
export type Source = "text" | "openai" | "anthropic" | "ollama";

export interface ReaderOptions extends StreamOptions {
  /** Which choice of a response is read. Default 0. */
  choice?: number | null;
}

export interface EventsOptions extends ReaderOptions {
  /** What the chunks are. Default `text`. */
  source?: Source | null;
  /** By default that of the response; `stop` for text. */
  finish?: FinishReason | null;
}

/** How chat completions are written. */
export interface WritingOptions extends StreamOptions {
  /** What the response says of itself, whatever the server says. Made where neither says it. */
  model?: string | null;
  id?: string | null;
  /** Seconds since 1970. */
  created?: number | null;
  /** Recovered calls are delivered like complete ones. Default: they are withheld, and reported (`toolglot.withheld`). */
  recovered?: boolean | null;
  /** The member that holds reasoning; `null` leaves it out. Default `reasoning_content`. */
  reasoning?: string | null;
  /** The host forced a tool by name, so that the reason is `stop` although there is a call. */
  forced?: boolean | null;
  /** How made ids of calls begin. Default `call_`. */
  idPrefix?: string | null;
  /** The same seed, the same ids. Default: another one for each response. */
  idSeed?: number | null;
  /** One choice of a server's response. Default: all of OpenAI's, else the first. */
  choice?: number | null;
}

export interface RewriterOptions extends WritingOptions {
  /** When calls are sent: while they are written (default), or whole when their block has closed. */
  calls?: "live" | "close" | null;
  /** Protected regions are content. */
  protected?: boolean | null;
}

export interface CompletionOptions extends WritingOptions {
  /** By default that of the response; `stop` for text and turns. */
  finish?: FinishReason | null;
}

/** What a dialect is. */
export interface Dialect {
  id: string;
  title: string;
  /** The family of its body. */
  family: string;
  aliases: string[];
  /** Who writes it. */
  models: string[];
  /** Where its rules come from. */
  sources: string[];
  inDefaultSet: boolean;
  /** The group of dialects with the same markup, of which an engine can hold one. */
  group: string | null;
  switches: { name: string; valued: boolean }[];
  openers: string[];
  closers: string[];
  reasoningOpeners: string[];
  reasoningClosers: string[];
}

/** The built-in dialects of a model. All of them fit in one engine. */
export interface ModelDialects {
  /** Those of its calls; empty if none is known. */
  calls: string[];
  /** That of its reasoning, where no dialect of its calls reads it. */
  reasoning: string | null;
}

/** What speaks for one dialect. */
export interface Evidence {
  dialect: string;
  title: string;
  confidence: "strong" | "fair" | "weak" | "faint";
  /** One sentence. */
  reason: string;
  /** Calls that are well formed and closed. */
  complete: number;
  /** Calls that were put together. */
  recovered: number;
  /** Blocks that broke or were cut. */
  broken: number;
  /** Where it shows. */
  spans: { start: number; end: number }[];
  /** The default set reads calls of the input as this dialect. */
  chosen: boolean;
  inDefaultSet: boolean;
  group: string | null;
  /** The dialect whose blocks hold all of this one's. */
  inside: string | null;
}

/**
 * | code | |
 * |---|---|
 * | `argument` | An argument cannot be used; the message names it. |
 * | `dialect`, `tools`, `encode`, `snapshot` | A dialect or set, a list of tools, a call to write, a snapshot cannot be used. |
 * | `state` | The stream is finished. |
 * | `freed` | The object was freed. |
 * | `load` | The WebAssembly file cannot be had, or is another one. |
 * | `memory`, `limit` | More than memory or the interface can hold. |
 * | `model` | A server cannot be asked, or its reply broke off (`toolglot/agent`). |
 * | `internal` | A mistake of this package, or no memory in the middle of work: the instance is lost. |
 * | `lost` | The instance was lost before. |
 */
export type ErrorCode =
  | "argument" | "dialect" | "tools" | "encode" | "snapshot" | "state" | "freed" | "load" | "memory" | "limit"
  | "model" | "internal" | "lost";

/** What every error of this package is. Mistakes of a model are not errors but events (`issue`). */
export class ToolglotError extends Error {
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown });
  readonly name: "ToolglotError";
  readonly code: ErrorCode;
  readonly cause?: unknown;
}

/** A call that is still written. */
export interface OpenCall {
  /** Its number among the calls of the turn, from 0. */
  readonly index: number;
  /** The id that the format gave it. */
  readonly id: string | null;
  readonly name: string;
  /** Its arguments so far: JSON text that is final as far as it goes. */
  readonly argumentsJson: string;
}

/**
 * The calls of a stream so far: give it the events of one stream, in order. Memory grows with the calls, and with
 * `retain: "none"` closed ones have no arguments.
 */
export class Calls {
  /** Takes the next events. */
  add(events: Iterable<Event>): void;
  /** The calls that closed and were not taken back. */
  readonly closed: Call[];
  /** The call that is open; `null` also for formats whose calls open when their block ends. */
  readonly open: OpenCall | null;
}

/** Dialects compiled together, and the options of streams that read them. Immutable. Made by `new toolglot.Engine()`. */
export class Engine {
  private constructor();
  /** One stream: the output of one model turn. */
  stream(options?: StreamOptions): Stream;
  /** The stream that a snapshot was made of. `start`, `promptTail` and `tools` must be those it was made with. */
  restore(snapshot: Bytes, options?: StreamOptions): Stream;
  /**
   * The events of an output or a response that comes in chunks: an async generator where the chunks come (the body of a
   * `fetch`, a client's stream), else a plain one. Whoever stops early has the stream freed.
   */
  events(chunks: AsyncIterable<Chunk>, options?: EventsOptions): AsyncGenerator<Event, void, undefined>;
  events(chunks: Iterable<Chunk>, options?: EventsOptions): Generator<Event, void, undefined>;
  /** Reads the body of one response of a server into events. */
  reader(source: Source, options?: ReaderOptions): Reader;
  /** Writes an output, or the response of a server, as chunks of OpenAI. */
  rewriter(source?: Source, options?: RewriterOptions): Rewriter;
  /** Writes an output, a turn or the response of a server as one `chat.completion` of OpenAI: JSON text. */
  completion(output: Chunk | Turn, source?: Source, options?: CompletionOptions): string;
  /** Parses a whole output. */
  parse(text: Chunk, options?: ParseOptions): Turn;
  /**
   * Writes calls in a dialect of the engine (default: its first): the inverse of parsing. Throws `encode` for a call
   * that the dialect cannot say.
   */
  encode(calls: EncodeCall | readonly EncodeCall[], dialect?: string): string;
  /** Makes untrusted text safe for a prompt or a tool result: no dialect of the engine sees a marker in it. */
  escape(text: string): string;
  escape(text: Bytes): Uint8Array;
  /** The text that `escape` made this of. */
  unescape(text: string): string;
  unescape(text: Bytes): Uint8Array;
  /** Ids of its dialects, in order. */
  readonly dialects: string[];
  /** Names of its tools, in order. */
  readonly tools: string[];
  /** What was odd in the list of its tools, one sentence each: what was left out or passed over, and where. */
  readonly toolIssues: string[];
  /** What works and may still surprise, one sentence each. */
  readonly lints: string[];
  /** The most bytes of text that a stream ever withholds. */
  readonly bound: number;
  /** What its dialects are. */
  describe(): Dialect[];
  /** Frees it; a second time does nothing. Streams made of it stay. */
  free(): void;
  [Symbol.dispose](): void;
}

/** What `encode` takes: a `Call`, a name with arguments (an object or JSON text), or a call as OpenAI has it. */
export type EncodeCall = Call | ToolCall | { id?: string; name: string; arguments?: string | object };

/** One model output, from its first byte to its end. Made by `engine.stream()`. */
export class Stream {
  private constructor();
  /** Takes the next chunk and gives the events that it brings. Nothing waits that could be said. */
  feed(chunk: Chunk): Event[];
  /** Takes one special token that the host knows by its id, so that markers in it are vouched for. */
  feedSpecial(marker: Chunk): Event[];
  /** Takes what the prompt has already put at the beginning of the reply. Its text and reasoning are not delivered. */
  prefill(text: Chunk): Event[];
  /** Takes calls that the API delivered beside the text; the option `prefer` says when they come out. */
  nativeCalls(calls: readonly ToolCall[] | string): Event[];
  /** Ends the stream: what is withheld comes out, what is open is reported. A second time it gives nothing. */
  finish(reason?: FinishReason): Event[];
  /** Starts over with the same options. */
  reset(): void;
  /** Its state as bytes, for `engine.restore`. It does not grow with the stream but for the bytes of an open block. */
  snapshot(): Uint8Array;
  /** A second stream in the same state; the two go their own ways. */
  copy(): Stream;
  /** Bytes that were fed and are in no event yet. (Half a surrogate pair has no bytes yet.) */
  readonly held: number;
  /** Bytes fed so far. */
  readonly position: number;
  readonly finished: boolean;
  /** Where the stream stands: outside, at what may be a marker, in a call or after one. */
  readonly stage: Stage;
  /** A thought is open: what comes next is reasoning until its closer, or a call that ends it. */
  readonly inReasoning: boolean;
  /**
   * A marker or a block is under way: bytes are held that may be the beginning of a marker, or a call is being written. If not,
   * whatever was fed has come out, but for half a character.
   */
  readonly mayHoldMarker: boolean;
  /** What was odd in the list of its tools, one sentence each. */
  readonly toolIssues: string[];
  /** Frees it; a second time does nothing. */
  free(): void;
  [Symbol.dispose](): void;
}

/** Reads the body of one response: bytes in any cut go in, events come out. Made by `engine.reader()`. */
export class Reader {
  private constructor();
  /** Takes the next bytes of the body. What cannot be read of it goes to `errors` and stops nothing. */
  feed(chunk: Chunk): Event[];
  /** Ends the response. The reason is its own, or a given one. A second time it gives nothing. */
  finish(reason?: FinishReason | null): Event[];
  /** What could not be read so far, one sentence each. */
  readonly errors: string[];
  /** Why the response ended; `null` until it is finished. */
  readonly reason: FinishReason | null;
  /** Bytes of the text that are in no event yet. */
  readonly held: number;
  readonly finished: boolean;
  /** Frees it; a second time does nothing. */
  free(): void;
  [Symbol.dispose](): void;
}

/**
 * Writes chunks of OpenAI, one line of JSON each. Calls in the text become `tool_calls`, and `finish_reason` says so; of a
 * response of OpenAI's own shape all else stays. Made by `engine.rewriter()`.
 */
export class Rewriter {
  private constructor();
  /** Takes the next chunk and gives the chunks that it brings. */
  feed(chunk: Chunk): string[];
  /** Ends the response and gives the last chunks. A second time it gives nothing. */
  finish(reason?: FinishReason | null): string[];
  /** What could not be read so far, one sentence each. */
  readonly errors: string[];
  /** Why the response ended; `null` until it is finished. */
  readonly reason: FinishReason | null;
  /** Indices of calls that were sent in part and do not stand; of several choices, those of the first that has some. */
  readonly void: number[];
  readonly finished: boolean;
  /** Frees it; a second time does nothing. */
  free(): void;
  [Symbol.dispose](): void;
}

/** A call as a message of OpenAI has it: `{ id, type, function: { name, arguments } }`. Without an id of the format's own the given one counts, or one is made. */
export function toOpenAI(call: Pick<Call, "name" | "argumentsJson"> & { readonly meta?: Call["meta"] }, id?: string): {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
};

/** An instance of the WebAssembly file. */
export interface Toolglot {
  /** Makes an engine; ids alone are its dialects. Throws `dialect` for a dialect or switch that cannot be used, `tools`, `argument`. */
  readonly Engine: { new (options?: EngineOptions | string | readonly string[]): Engine };
  /** The version of the engine. */
  readonly version: string;
  /** What the built-in dialects are. */
  dialects(): Dialect[];
  /** The built-in dialects that a model writes, by its name (`Qwen/Qwen3-8B`, `qwen3:8b`, a file's name): a guess, for
   * fine-tuned models keep names and change formats. */
  modelDialects(name: string): ModelDialects;
  /** The text of a built-in dialect's file, to start one of your own from. */
  dialectToml(id: string): string;
  /** The built-in dialects that a text shows, strongest evidence first. Give `tools` where you can. */
  detect(text: Chunk, options?: { tools?: readonly Tool[] | string | null }): Evidence[];
  /** Streams that were made and not freed: for leak checks. */
  readonly liveStreams: number;
  /** Size of its linear memory, which never shrinks. */
  readonly memoryBytes: number;
}

/**
 * Loads an instance: of the file beside the module, or of a URL, bytes, a compiled module or a response (or a promise of
 * one). The file beside the module is compiled once, however often it is loaded. Throws `load`.
 */
export function load(
  source?: string | URL | Bytes | WebAssembly.Module | Response | PromiseLike<Response> | null,
): Promise<Toolglot>;
