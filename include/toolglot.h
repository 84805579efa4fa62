/* toolglot: a streaming parser for the tool calls that language models write into their text.
 *
 * This header is the manual of the C interface. It is generated; do not edit it.
 *
 *     toolglot_engine *engine;                           compiled dialects: one for the program
 *     toolglot_stream *stream;                           one model output
 *     toolglot_batch batch;
 *     toolglot_engine_new(NULL, &engine);                the default set of dialects
 *     toolglot_stream_new(engine, NULL, &stream);
 *     while (next_chunk(&data, &len)) {                  bytes, cut anywhere
 *         toolglot_stream_feed(stream, data, len, &batch);
 *         for (size_t i = 0; i < batch.len; i++) handle(&batch.events[i]);
 *     }
 *     toolglot_stream_finish(stream, TOOLGLOT_FINISH_STOP, &batch);
 *     ...the last events...
 *     toolglot_stream_free(stream);
 *     toolglot_engine_free(engine);
 *
 * Rules for all functions
 *
 * - Arguments. A pointer with a length is a range of bytes; NULL with length 0 is an empty one. Ranges need no NUL at their
 *   end and may hold NUL bytes. Names, JSON and TOML are UTF-8; what is fed is any bytes. Every other pointer must not be
 *   NULL unless its function says so; NULL gives TOOLGLOT_E_NULL, never a crash. Nothing of the caller's is kept after the
 *   return, but that views may point into the chunk that was fed.
 * - Answers. A status, 0 for success. What was asked for is written through the last pointers, only on success.
 * - Ownership. What a `..._new` function (or `..._clone`) makes is the caller's, to be freed once with the `..._free` of its
 *   type. `..._free(NULL)` does nothing. Nothing else is ever freed by the caller. A freed pointer must not be used again.
 * - Lifetimes. Views and batches are borrowed: they live until the next call on the handle they came from, unless the
 *   function says more. Copy what must live longer.
 * - Errors. Mistakes in the use of this interface are statuses, with one sentence on the handle (`..._error`), never in a
 *   variable of the thread. Mistakes of the model are events, and parsing goes on.
 * - Threads. An engine may be used by any number of threads at once, and so may options that nobody changes meanwhile; every
 *   other handle by one at a time; it may move. Who
 *   comes second gets TOOLGLOT_E_BUSY and nothing happens. The library makes no threads, waits for nobody, works after fork.
 * - Failures inside. A panic of the library is caught and gives TOOLGLOT_E_PANIC; its handle takes no further calls.
 * - Memory. Where there is none the answer is TOOLGLOT_E_NOMEM, and the process lives. A handle that the call was to change
 *   has ended: what it held and handed out is gone, each further call gives TOOLGLOT_E_NOMEM, and what is left is to free it.
 *   A handle that the call only read, and every other one, goes on. Nothing is written through the last pointers. When there
 *   is memory again, make a new stream and feed it the output from its beginning, or restore a snapshot. Functions that read
 *   a document or work for a handle that holds much reserve address space beforehand, eight times what they hold and more,
 *   and answer TOOLGLOT_E_NOMEM where they do not get it. Chunks of more than 16 KiB are taken in pieces: their text comes
 *   in several events. SECURITY.md says what remains.
 * - Versions. New functions, options, kinds of events, flags and statuses may come without a new ABI version: skip what you
 *   do not know. Numbers are never used again for something else.
 */

#ifndef TOOLGLOT_H
#define TOOLGLOT_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(TOOLGLOT_SHARED)
#define TOOLGLOT_API __declspec(dllimport)
#else
#define TOOLGLOT_API
#endif

/* The version of the library that this header belongs to. `toolglot_version()` is that of the library which is linked. */
#define TOOLGLOT_VERSION "0.1.0"

/* The two arguments that a string literal is: toolglot_config_add_builtin(config, TOOLGLOT_LITERAL("hermes")). */
#define TOOLGLOT_LITERAL(text) (text), (sizeof(text) - 1)

/* What TOOLGLOT_OPTION_EVENTS is the sum of. */
#define TOOLGLOT_EVENT_BIT(kind) ((uint64_t)1 << (kind))

// The version of the ABI. It changes when a program must be compiled anew; new functions, options, event kinds and
// statuses do not change it.
#define TOOLGLOT_ABI_VERSION 1

// Success.
#define TOOLGLOT_OK 0

// A pointer is NULL that must not be. (NULL with length 0 is an empty input and no mistake.)
#define TOOLGLOT_E_NULL (-1)

// An argument cannot be used: an unknown number, a value out of range, text that is not UTF-8 or no JSON, a handle of
// another type.
#define TOOLGLOT_E_ARG (-2)

// The stream is finished: `toolglot_stream_reset` it or make another one. Or the run does not take that now.
#define TOOLGLOT_E_STATE (-3)

// There is not enough memory. A handle that the call was to change has ended: what it held and handed out is gone, every
// further call on it gives this status, and only freeing it is possible. Other handles are not concerned.
#define TOOLGLOT_E_NOMEM (-4)

// A mistake inside the library, which was caught. The handle is poisoned from now on; other handles are not concerned.
#define TOOLGLOT_E_PANIC (-5)

// The header that the program was compiled with is of another ABI version than the library.
#define TOOLGLOT_E_ABI (-6)

// The handle is in use: by another thread, or by the call whose callback is running. Nothing was done, no message is left.
#define TOOLGLOT_E_BUSY (-7)

// More than a limit of the interface allows.
#define TOOLGLOT_E_LIMIT (-8)

// A dialect cannot be read or does not exist, or dialects cannot be active together; the message says which key and why.
#define TOOLGLOT_E_DIALECT (-9)

// An earlier call on this handle ended with `TOOLGLOT_E_PANIC`. Only freeing it is possible.
#define TOOLGLOT_E_POISONED (-10)

// The snapshot is damaged, of another version, or was made with other dialects or options.
#define TOOLGLOT_E_SNAPSHOT (-11)

// A call cannot be written in the dialect; the message says which value and why.
#define TOOLGLOT_E_ENCODE (-12)

// The callback did not return 0, so the rest of the events was not delivered. `toolglot_stream_rest` has them.
#define TOOLGLOT_E_STOPPED (-13)

// `call` of an event that speaks of no call.
#define TOOLGLOT_NO_CALL UINT32_MAX

// Plain text of the reply. `data`: the bytes, which may end inside a character unless `TOOLGLOT_OPTION_TEXT` says chars.
// Flag: recovered.
#define TOOLGLOT_EVENT_TEXT 1

// Reasoning. `data`: the bytes. Flag: framing.
#define TOOLGLOT_EVENT_REASONING 2

// Part of a region that a dialect protects: no calls are looked for inside. `data`: the bytes; `aux`: the kind of region.
#define TOOLGLOT_EVENT_PROTECTED 3

// Bytes of a block that broke a limit. `data`: the bytes.
#define TOOLGLOT_EVENT_RAW 4

// A block begins. `aux`: id of its dialect.
#define TOOLGLOT_EVENT_BLOCK_OPEN 5

// A call begins; its name is final. `call`; `data`: name of the tool; `aux`: id of the dialect, empty for a native call.
// Flag: native. Details may follow: what the format says of the call beside name and arguments, for example `id`.
#define TOOLGLOT_EVENT_CALL_OPEN 6

// A detail of the event before it (with other details between them). `aux`: key; `data`: value; `call` as there. An issue
// may have `dialect`, `tool`, `subject` (the parameter, entity or tag concerned) and `suggestion` (a name that was
// probably meant).
#define TOOLGLOT_EVENT_DETAIL 7

// The next piece of a call's arguments: final JSON text. `call`; `data`: the piece. The pieces, joined, are one JSON object.
#define TOOLGLOT_EVENT_ARG_DELTA 8

// A parameter begins. Provisional, for people who watch: what counts are the arguments of the call. `data`: its name as
// written; `code`: nesting depth.
#define TOOLGLOT_EVENT_PARAM_OPEN 9

// Raw bytes of the open parameter's value, at once. `data`: the bytes.
#define TOOLGLOT_EVENT_PARAM_DELTA 10

// The open parameter ends.
#define TOOLGLOT_EVENT_PARAM_CLOSE 11

// The open call is retracted: it broke its grammar, broke a limit or was truncated. It never closes, its pieces are void. `call`.
#define TOOLGLOT_EVENT_CALL_ABANDONED 12

// A call ends. It is final unless its block is abandoned. `call`. Flags: complete, repaired or recovered, where `data` holds
// the kinds of issues that say why, one byte each (`TOOLGLOT_ISSUE_...`), ascending; params only.
#define TOOLGLOT_EVENT_CALL_CLOSE 13

// The block ends. `data`: its bytes, markers included, if they were retained.
#define TOOLGLOT_EVENT_BLOCK_CLOSE 14

// The block was none after all: all calls since its block open are void. `data`: its bytes if they were retained. Flag: as
// text.
#define TOOLGLOT_EVENT_BLOCK_ABANDONED 15

// Something is wrong with what the model wrote; parsing goes on. `code`: its kind; `call` if one is concerned; `data`: one
// sentence for people; `aux`: what to tell the model so that it can do better. Flag: error. Details may follow.
#define TOOLGLOT_EVENT_ISSUE 16

// The name of a call is written; it comes before the call's open, as early as the name is known. For people who watch: only
// a call open opens a call. `call`: number of the block in this stream, from 0; `code`: number of the name in its block,
// from 0; `data`: the name. Flag: provisional.
#define TOOLGLOT_EVENT_CALL_NAMED 17

// Text: the bytes were taken for a block first; a block abandoned came before.
#define TOOLGLOT_FLAG_RECOVERED_TEXT 1

// Reasoning: the bytes are the marker (`<think>`), not the reasoning itself.
#define TOOLGLOT_FLAG_FRAMING 2

// Call open: the host gave the call beside the text.
#define TOOLGLOT_FLAG_NATIVE 4

// Call close: well formed and closed.
#define TOOLGLOT_FLAG_COMPLETE 8

// Call close: something may be cut, mixed or guessed. Do not run it without asking.
#define TOOLGLOT_FLAG_RECOVERED 16

// Call close: the arguments went by as parameters only (`TOOLGLOT_RETAIN_NONE`), there were no pieces of JSON.
#define TOOLGLOT_FLAG_PARAMS_ONLY 32

// Block abandoned: the bytes follow as one text event that is flagged recovered. Else they are not text.
#define TOOLGLOT_FLAG_AS_TEXT 64

// Issue: an error. Else it is a warning: worth knowing, nothing was lost.
#define TOOLGLOT_FLAG_ERROR 128

// Call close: the text broke a rule, but not in a way that leaves a doubt about the call.
#define TOOLGLOT_FLAG_REPAIRED 256

// Call named: what follows can still take the name back. A call open of the block replaces it, or it is void when the block
// ends.
#define TOOLGLOT_FLAG_PROVISIONAL 512

// It opens blocks of calls.
#define TOOLGLOT_MARKER_OPEN 1

// It closes them.
#define TOOLGLOT_MARKER_CLOSE 2

// It opens reasoning.
#define TOOLGLOT_MARKER_REASONING_OPEN 3

// It closes reasoning.
#define TOOLGLOT_MARKER_REASONING_CLOSE 4

// How text comes out: `TOOLGLOT_TEXT_BYTES` (default) or `TOOLGLOT_TEXT_CHARS`.
#define TOOLGLOT_OPTION_TEXT 1

// What is kept of an open block: `TOOLGLOT_RETAIN_BLOCK` (default) or `TOOLGLOT_RETAIN_NONE`.
#define TOOLGLOT_OPTION_RETAIN 2

// Which calls count when native ones are given: `TOOLGLOT_PREFER_TEXT` (default), `..._NATIVE` or `..._BOTH`.
#define TOOLGLOT_OPTION_PREFER 3

// What to do with reasoning: `TOOLGLOT_REASONING_SPLIT` (default), `TOOLGLOT_REASONING_OFF` or
// `TOOLGLOT_REASONING_TEXT`.
#define TOOLGLOT_OPTION_REASONING 4

// 1: look for calls inside reasoning too. Default 0.
#define TOOLGLOT_OPTION_CALLS_IN_REASONING 5

// Whether code fences hide markers: `TOOLGLOT_FENCE_DIALECT` (default), `..._SKIP` or `..._ALLOW`.
#define TOOLGLOT_OPTION_FENCE 6

// What becomes of a block that the stream ends in: `TOOLGLOT_UNCLOSED_DIALECT` (default), `..._DROP`, `..._TEXT` or
// `..._SALVAGE`.
#define TOOLGLOT_OPTION_UNCLOSED 7

// 1: markers of calls count only in `toolglot_stream_feed_special`, whatever the dialect says. Default 0.
#define TOOLGLOT_OPTION_TRUSTED_ONLY 8

// Where the stream starts: `TOOLGLOT_START_DIALECT` (default), `..._TEXT` or `..._REASONING`. To start inside a call that
// the prompt has opened, give its opener to `toolglot_stream_prefill`.
#define TOOLGLOT_OPTION_START 9

// Which kinds of events are delivered: the sum of `TOOLGLOT_EVENT_BIT(kind)`. Default all. What is left out costs nothing;
// the sinks of this header need all.
#define TOOLGLOT_OPTION_EVENTS 10

// 0: block close and block abandoned come without the bytes of the block, which saves a copy. Default 1.
#define TOOLGLOT_OPTION_BLOCK_BYTES 11

// What the text of a value is of whose type nothing is known, `TOOLGLOT_UNTYPED_...`.
#define TOOLGLOT_OPTION_UNTYPED 12

// What becomes of a block that broke its grammar, where the stream ends before anything ended the block:
// `TOOLGLOT_BROKEN_TEXT` (default) or `..._DROP`.
#define TOOLGLOT_OPTION_BROKEN 13

// What becomes of a call whose tool is not declared: `TOOLGLOT_UNKNOWN_TOOL_SET` (default), `..._DELIVER`, `..._TEXT` or
// `..._DROP`.
#define TOOLGLOT_OPTION_UNKNOWN_TOOL 14

// 1: the turn that `toolglot_parse` makes keeps all that the model wrote, for `toolglot_turn_original`. Default 0. Turns made of
// batches are asked for it by `toolglot_turn_keep_original`.
#define TOOLGLOT_OPTION_ORIGINAL 15

// Bytes of one parameter value. Default 8 MiB.
#define TOOLGLOT_OPTION_MAX_VALUE 32

// Bytes of one block, which is also what is retained of it. Default 16 MiB.
#define TOOLGLOT_OPTION_MAX_BLOCK 33

// Calls in one stream. Default 4096.
#define TOOLGLOT_OPTION_MAX_CALLS 34

// Calls that one numbered chain may hold. Default 64.
#define TOOLGLOT_OPTION_MAX_CHAIN 35

// Nesting depth of elements in a block. Default 128.
#define TOOLGLOT_OPTION_MAX_DEPTH 36

// Parameters of one block, all levels together. Default 16384.
#define TOOLGLOT_OPTION_MAX_PARAMS 37

// Bytes of a tool name, parameter name or tag name. Default 1024.
#define TOOLGLOT_OPTION_MAX_NAME 38

// Bytes of an opening tag with its attributes. Default 4096.
#define TOOLGLOT_OPTION_MAX_HEADER 39

// Bytes that a lookahead may withhold. Default 1024.
#define TOOLGLOT_OPTION_MAX_LOOKAHEAD 40

// Issues that are reported one by one. Default 10000.
#define TOOLGLOT_OPTION_MAX_ISSUES 41

// Bytes of native calls that may wait for the end of the text. Default 1 MiB.
#define TOOLGLOT_OPTION_MAX_NATIVE 42

// The bytes as they came; an event may end inside a character.
#define TOOLGLOT_TEXT_BYTES 0

// Whole UTF-8 characters; what is not UTF-8 becomes U+FFFD. At most 3 bytes wait for the rest of their character.
#define TOOLGLOT_TEXT_CHARS 1

// The bytes of an open block, up to its limit: an abandoned block can be given back as text.
#define TOOLGLOT_RETAIN_BLOCK 0

// Nothing: memory does not grow with the length of an argument.
#define TOOLGLOT_RETAIN_NONE 1

// Calls in the text; native ones only if the text had none.
#define TOOLGLOT_PREFER_TEXT 0

// Native calls; from the first one on, markers in the text are text.
#define TOOLGLOT_PREFER_NATIVE 1

// Both, without native calls that repeat one of the text.
#define TOOLGLOT_PREFER_BOTH 2

// Reasoning is a kind of event of its own.
#define TOOLGLOT_REASONING_SPLIT 0

// Reasoning markers mean nothing.
#define TOOLGLOT_REASONING_OFF 1

// Reasoning is told apart, so that nothing in it is a call, and comes out as text, its markers too.
#define TOOLGLOT_REASONING_TEXT 2

// As each dialect says.
#define TOOLGLOT_FENCE_DIALECT 0

// Markers in code are text.
#define TOOLGLOT_FENCE_SKIP 1

// Markers count everywhere.
#define TOOLGLOT_FENCE_ALLOW 2

// As each dialect says.
#define TOOLGLOT_UNCLOSED_DIALECT 0

// Its bytes are not text; the span of the issue says where they stood.
#define TOOLGLOT_UNCLOSED_DROP 1

// Its bytes are text.
#define TOOLGLOT_UNCLOSED_TEXT 2

// What was complete in it becomes recovered calls.
#define TOOLGLOT_UNCLOSED_SALVAGE 3

// As each dialect says.
#define TOOLGLOT_UNTYPED_DIALECT 0

// A string.
#define TOOLGLOT_UNTYPED_STRING 1

// A number, `true`, `false`, `null`, an object or a list where it is one as JSON; else a string.
#define TOOLGLOT_UNTYPED_JSON 2

// What was hidden after its last call comes back as text with `TOOLGLOT_FLAG_RECOVERED_TEXT`.
#define TOOLGLOT_BROKEN_TEXT 0

// It stays hidden.
#define TOOLGLOT_BROKEN_DROP 1

// It is delivered, with a warning; with `toolglot_config_add_any` it is text.
#define TOOLGLOT_UNKNOWN_TOOL_SET 0

// It is delivered, with a warning.
#define TOOLGLOT_UNKNOWN_TOOL_DELIVER 1

// A block without any other call is text with `TOOLGLOT_FLAG_RECOVERED_TEXT`; beside other calls it is left out.
#define TOOLGLOT_UNKNOWN_TOOL_TEXT 2

// It is left out, with an error.
#define TOOLGLOT_UNKNOWN_TOOL_DROP 3

// Inside reasoning if a dialect has it opened by the prompt, else in text.
#define TOOLGLOT_START_DIALECT 0

// In plain text.
#define TOOLGLOT_START_TEXT 1

// Inside reasoning that the prompt opened.
#define TOOLGLOT_START_REASONING 2

// The model stopped by itself.
#define TOOLGLOT_FINISH_STOP 0

// Its length limit cut it.
#define TOOLGLOT_FINISH_LENGTH 1

// It stopped to have tools called.
#define TOOLGLOT_FINISH_TOOL_CALLS 2

// The connection or the server failed.
#define TOOLGLOT_FINISH_ERROR 3

// The host cancelled it.
#define TOOLGLOT_FINISH_CANCELLED 4

// A thought is open: what comes next is reasoning until its closer, or a call that ends it. Before the first byte: what the
// dialects, `TOOLGLOT_OPTION_START` and the prompt's tail have opened.
#define TOOLGLOT_STATE_REASONING 1

// A marker or a block is under way: bytes are held that may be the beginning of a marker, or a call is being written.
// Without this flag whatever was fed has come out as text or reasoning, but for half a character, and nothing else is open.
#define TOOLGLOT_STATE_MARKER 2

// The stream is finished. Nothing is open then.
#define TOOLGLOT_STATE_FINISHED 4

// Bytes are held that may be a marker: the beginning of one, or a whole one, while what follows it has to show what it is. At
// most one of this flag and the two after it is set; none of them outside.
#define TOOLGLOT_STATE_TAG_OPENING 8

// In a block, while a call of it is written or its first is still to come. Formats whose calls are made when their block ends
// stay here until then.
#define TOOLGLOT_STATE_TAG_CONTENT 16

// In a block, after a call of it: what comes is the block's closer, or a separator and the next call.
#define TOOLGLOT_STATE_TAG_CLOSING 32

// When calls are sent: 0 while they are written, the last `}` when the call stands (default); 1 whole, when their block has
// closed.
#define TOOLGLOT_OPENAI_CALLS 1

// What becomes of recovered calls: 0 they are withheld (default), 1 they are delivered like complete ones.
#define TOOLGLOT_OPENAI_RECOVERED 2

// 1: protected regions are content. Default 0.
#define TOOLGLOT_OPENAI_PROTECTED 3

// 1: the host forced a tool by name, so that the reason is `stop` although there is a call. Default 0.
#define TOOLGLOT_OPENAI_FORCED 4

// What made ids are made of: the same seed, the same ids. Unless it is set, every response has another one.
#define TOOLGLOT_OPENAI_ID_SEED 5

// `created`: seconds since 1970. Default 0.
#define TOOLGLOT_OPENAI_CREATED 6

// `index` of the choice. Default 0.
#define TOOLGLOT_OPENAI_CHOICE 7

// 1: chunks are framed as server-sent events, `data: {...}` and an empty line, and `data: [DONE]` comes last (not if the
// output was cancelled). Default 0: one line each.
#define TOOLGLOT_OPENAI_SSE 8

// Text: `id` of the response. Default empty.
#define TOOLGLOT_OPENAI_ID 32

// Text: `model`. Default empty.
#define TOOLGLOT_OPENAI_MODEL 33

// Text: the member that holds reasoning; empty leaves reasoning out. Default `reasoning_content`.
#define TOOLGLOT_OPENAI_REASONING 34

// Text: how made ids begin. Default `call_`.
#define TOOLGLOT_OPENAI_ID_PREFIX 35

// The library's own words are English.
#define TOOLGLOT_LANG_EN 0

// They are Chinese.
#define TOOLGLOT_LANG_ZH 1

// A list of OpenAI's form, for the `tools` of a request.
#define TOOLGLOT_TOOLS_OPENAI 0

// A plugin manifest, which says all that is known of them; `toolglot_tools_add` and the `tools` of an agent take it.
#define TOOLGLOT_TOOLS_MANIFEST 1

// The run waits for the model's reply, or for its end.
#define TOOLGLOT_WAITS_MODEL 0

// It waits for decisions on calls, or for their results.
#define TOOLGLOT_WAITS_CALLS 1

// It is over.
#define TOOLGLOT_WAITS_NOTHING 2

// All of the run, for `toolglot_agent_restore`. Instructions that were not taken are not in it: take them first.
#define TOOLGLOT_RUN_SAVED 0

// The conversation so far: a list of messages.
#define TOOLGLOT_RUN_MESSAGES 1

// What calls left that were started: a list of `{"id", "tool", "digest"}`.
#define TOOLGLOT_RUN_RECEIPTS 2

// How it ended: `{"outcome": "answer", "text": ..}`; `null` if it has not.
#define TOOLGLOT_RUN_OUTCOME 3

// The response is in the form of OpenAI's chat completions.
#define TOOLGLOT_SOURCE_OPENAI 0

// It is in the form of Anthropic's messages.
#define TOOLGLOT_SOURCE_ANTHROPIC 1

// It is in the form of Ollama.
#define TOOLGLOT_SOURCE_OLLAMA 2

// A block has no closer, or the next block began inside it. (error)
#define TOOLGLOT_ISSUE_UNCLOSED_BLOCK 1

// A value has no closer. (error)
#define TOOLGLOT_ISSUE_UNCLOSED_VALUE 2

// The stream ended inside reasoning. (error)
#define TOOLGLOT_ISSUE_UNCLOSED_REASONING 3

// A block names no tool. (error)
#define TOOLGLOT_ISSUE_MISSING_NAME 4

// A block holds nothing. (error)
#define TOOLGLOT_ISSUE_EMPTY_BLOCK 5

// Tags do not fit. (error)
#define TOOLGLOT_ISSUE_MALFORMED_XML 6

// Native arguments are not a JSON object. (error)
#define TOOLGLOT_ISSUE_MALFORMED_JSON 7

// The body breaks its grammar, or the name cannot be one. (error)
#define TOOLGLOT_ISSUE_MALFORMED_BODY 8

// A value begins as the JSON its type demands and does not parse. (error)
#define TOOLGLOT_ISSUE_MALFORMED_VALUE 9

// The header of a message holds a word that no rule reads, or a message that is not a call ends as one. (error)
#define TOOLGLOT_ISSUE_MALFORMED_HEADER 10

// An action has no input, and its tool requires a parameter. (error)
#define TOOLGLOT_ISSUE_MISSING_INPUT 11

// A block was opened inside another. Reserved: nothing reports it. (error)
#define TOOLGLOT_ISSUE_NESTED_OPEN 12

// A document type declaration; it is never processed. (error)
#define TOOLGLOT_ISSUE_DTD_FORBIDDEN 13

// An entity or character reference that is not known; kept as written. (warning)
#define TOOLGLOT_ISSUE_UNKNOWN_ENTITY 14

// Bytes in a block that belong to nothing. (error)
#define TOOLGLOT_ISSUE_JUNK_IN_BLOCK 15

// A Python expression that is not a literal. (error)
#define TOOLGLOT_ISSUE_UNSUPPORTED_EXPRESSION 16

// A parameter stands more than once; the last one wins. (warning)
#define TOOLGLOT_ISSUE_DUPLICATE_PARAM 17

// A field whose number belongs to no step of its chain. (warning)
#define TOOLGLOT_ISSUE_ORPHAN_PARAM 18

// `<` or `&` that was not escaped; kept as written. (warning)
#define TOOLGLOT_ISSUE_BARE_MARKUP 19

// A closer inside a value that nothing confirmed; it is content. (warning)
#define TOOLGLOT_ISSUE_AMBIGUOUS_CLOSE 20

// A quote inside a quoted value, a string of Python or a single-quoted string of JSON; it is content. (warning)
#define TOOLGLOT_ISSUE_BARE_QUOTE 21

// A parameter without a name; it is left out. (warning)
#define TOOLGLOT_ISSUE_MISSING_PARAM_NAME 22

// The value is the content of the element, not its attribute. (warning)
#define TOOLGLOT_ISSUE_MISSING_VALUE_ATTR 23

// More blocks than the format allows in one reply. (warning)
#define TOOLGLOT_ISSUE_MULTIPLE_BLOCKS 24

// A closer that closes nothing. (warning)
#define TOOLGLOT_ISSUE_ORPHAN_CLOSE 25

// A marker in a code sample; it is text. (warning)
#define TOOLGLOT_ISSUE_HIDDEN_BY_CODE 26

// The stream ended inside a code fence. (warning)
#define TOOLGLOT_ISSUE_UNCLOSED_FENCE 27

// A marker that opens nothing for any dialect that has it; it is text. (warning)
#define TOOLGLOT_ISSUE_LOOKALIKE_MARKER 28

// A result that the model wrote itself; it is hidden. (warning)
#define TOOLGLOT_ISSUE_HALLUCINATED_RESULT 29

// A final answer beside an action; it is hidden. (warning)
#define TOOLGLOT_ISSUE_FINAL_ANSWER_WITH_ACTION 30

// An action that names no tool on purpose. (warning)
#define TOOLGLOT_ISSUE_NULL_ACTION 31

// A value that opens with one spelling of its delimiter and closes with another. (warning)
#define TOOLGLOT_ISSUE_MIXED_DELIMITERS 32

// The tool is not declared. (warning)
#define TOOLGLOT_ISSUE_UNKNOWN_TOOL 33

// The tool has no such parameter. (warning)
#define TOOLGLOT_ISSUE_UNKNOWN_PARAM 34

// A required parameter is missing. (warning)
#define TOOLGLOT_ISSUE_MISSING_REQUIRED 35

// A value does not fit its type and stays a string. (warning)
#define TOOLGLOT_ISSUE_TYPE_MISMATCH 36

// A value is longer than `max_value`. (error)
#define TOOLGLOT_ISSUE_LIMIT_VALUE 37

// A block is longer than `max_block`. (error)
#define TOOLGLOT_ISSUE_LIMIT_BLOCK 38

// There are more calls than `max_calls`. (error)
#define TOOLGLOT_ISSUE_LIMIT_CALLS 39

// A chain has more calls than `max_chain`. (error)
#define TOOLGLOT_ISSUE_LIMIT_CHAIN 40

// Elements nest deeper than `max_depth`. (error)
#define TOOLGLOT_ISSUE_LIMIT_DEPTH 41

// A call has more parameters than `max_params`. (error)
#define TOOLGLOT_ISSUE_LIMIT_PARAMS 42

// A name is longer than `max_name`. (error)
#define TOOLGLOT_ISSUE_LIMIT_NAME 43

// An opening tag, or a marker inside a block, is longer than `max_header`. (error)
#define TOOLGLOT_ISSUE_LIMIT_HEADER 44

// There are more issues than `max_issues`; the rest was counted. (warning)
#define TOOLGLOT_ISSUE_LIMIT_ISSUES 45

// Native calls are longer than `max_native`. (error)
#define TOOLGLOT_ISSUE_LIMIT_NATIVE 46

// The stream ended inside a protected region. (warning)
#define TOOLGLOT_ISSUE_UNCLOSED_SPAN 47

// A call, or its section, has no opener. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_OPENER 48

// A closing tag is misspelt (`<\/x>`), or holds blanks or attributes. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_CLOSE_TAG 49

// An opener in a spelling that its models are known to slip into, or with blanks or attributes in its tag. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_MARKER 50

// A comma before a closing bracket, or none between two calls of a list. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_COMMA 51

// Single quotes in JSON. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_QUOTES 52

// A literal of Python in JSON (`True`, `None`, `0x1F`, `.5`), or one of JSON in Python (`true`, `null`). (warning)
#define TOOLGLOT_ISSUE_REPAIRED_LITERAL 53

// A key without quotes in JSON. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_KEY 54

// A control character in a string that was not escaped. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_NEWLINE 55

// The arguments stand otherwise than the dialect writes them: under a known synonym of its key, as a text, or as one JSON
// object in place of parameters. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_ARGUMENTS 56

// A key beside name and arguments that no rule reads. (warning)
#define TOOLGLOT_ISSUE_EXTRA_KEY 57

// The arguments are attributes of the call's tag. (warning)
#define TOOLGLOT_ISSUE_ATTRIBUTE_ARGUMENTS 58

// The closer is missing after a payload that ended by itself. Reserved: nothing reports it. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_CLOSER 59

// An opener or closer stands twice. (warning)
#define TOOLGLOT_ISSUE_REPEATED_MARKER 60

// A parameter stands more than once, and the dialect's document says that the last one wins. (warning)
#define TOOLGLOT_ISSUE_REPEATED_PARAM 61

// The call follows a provisional closer, before which a value may go on. (warning)
#define TOOLGLOT_ISSUE_PROVISIONAL_CLOSE 62

// The call follows a block that broke inside a string. (warning)
#define TOOLGLOT_ISSUE_OPEN_STRING 63

// A later step of a chain whose earlier step broke. (error)
#define TOOLGLOT_ISSUE_NOT_RUN 64

// An escape of half a surrogate pair. (warning)
#define TOOLGLOT_ISSUE_LONE_SURROGATE 65

// The text holds a bare call of a declared tool; a hint. (warning)
#define TOOLGLOT_ISSUE_BARE_CALL 66

// Zeros before a number; they are left out. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_NUMBER 67

// A call of the text that gave way to native calls. (warning)
#define TOOLGLOT_ISSUE_REPLACED_CALL 68

// What runs share: dialect, tools, rules. One thread at a time. Runs keep what they need, so it may be freed before them.
typedef struct toolglot_agent toolglot_agent;

// A growing buffer that functions write their answer into: encoded calls, escaped text, snapshots, JSON. Make one and use it
// often: it keeps its memory. One thread at a time.
typedef struct toolglot_buffer toolglot_buffer;

// A list of dialects that is to become an engine. One thread at a time, also in
// `toolglot_engine_new`.
typedef struct toolglot_config toolglot_config;

// Compiled dialects. Immutable: any number of threads may use one engine at a time, and any number of streams are made of it.
// Streams keep what they need, so it may be freed before them.
typedef struct toolglot_engine toolglot_engine;

// Writes the chat completion of one output: chunks for a response that is streamed, or one object. Order, ids, what becomes
// of calls that are taken back, and `finish_reason` are as the documentation of the Rust module `sink::openai` says; above
// all, no client takes a void call for a complete one. One thread at a time.
typedef struct toolglot_openai toolglot_openai;

// How streams are parsed: a list of settings, each with a default. Any number of streams may be made of it, by several
// threads at a time; a change must be alone, and concerns streams made after it.
typedef struct toolglot_options toolglot_options;

// Reads the response of a model server. One thread at a time.
typedef struct toolglot_response toolglot_response;

// A conversation of a model with its tools. One thread at a time.
typedef struct toolglot_run toolglot_run;

// One model output, from its first byte to its end. One thread at a time; it may move between threads. A second thread that
// comes meanwhile gets `TOOLGLOT_E_BUSY`.
typedef struct toolglot_stream toolglot_stream;

// Definitions of tools, which a model may call. Any number of threads may use them at a time; a change must be alone.
typedef struct toolglot_tools toolglot_tools;

// What an output says, put together: its text, its reasoning, its calls with whole arguments, its issues. One thread at a
// time. What it hands out lives until something is added to it, or it is reset or freed.
typedef struct toolglot_turn toolglot_turn;

// What a function answers: 0 for success, less for a failure. Numbers are never reused; treat an unknown negative number as
// a failure. `toolglot_status_name` gives the name.
//
// Where the failing function has a handle, the handle's `..._error` function gives one sentence about its last failure. A
// failure changes nothing unless the function says otherwise.
typedef int32_t toolglot_status;

// Bytes that belong to the library or to the host's chunk. Not NUL-terminated; may hold NUL bytes. `ptr` is never NULL in
// what the library hands out: an empty view points at an empty string.
//
// How long it lives is said by the function that hands it out.
typedef struct toolglot_view {
  // The first byte.
  const char *ptr;
  // How many bytes.
  size_t len;
} toolglot_view;

// A marker that the engine looks for: for stop strings (closers), for tokens that a tokenizer must not drop (all), and for
// what starts constrained decoding (openers).
typedef struct toolglot_marker {
  // The marker. A tag is shown up to its name, a pattern with holes up to its first hole.
  struct toolglot_view text;
  // Id of its dialect.
  struct toolglot_view dialect;
  // One of `TOOLGLOT_MARKER_...`.
  uint32_t role;
  // 0.
  uint32_t reserved;
} toolglot_marker;

// One thing that a stream has to say: 64 bytes where pointers have 8.
//
// Every event has the absolute range `start..end` of the input bytes that it speaks of. Text, reasoning, protected regions,
// raw bytes and whole blocks are *leaves*: their ranges, side by side, are the input, byte for byte. Neighbouring
// fragments of one kind may be cut anywhere; joined they are the same for every way to cut the input into chunks.
//
// What the fields mean depends on `kind`; those that a kind does not name are 0, empty, or `TOOLGLOT_NO_CALL`. Skip events
// of unknown kinds, ignore unknown flags.
//
// The views live as long as the batch that the event came with: until the next call on its stream. They may point into the
// chunk that was fed, so that must live as long too.
typedef struct toolglot_event {
  // One of `TOOLGLOT_EVENT_...`.
  uint32_t kind;
  // `TOOLGLOT_FLAG_...`.
  uint32_t flags;
  // Number of the call in this stream, from 0, or `TOOLGLOT_NO_CALL`.
  uint32_t call;
  // Issue: its kind, `TOOLGLOT_ISSUE_...`. Parameter: its depth, 0 for a parameter of the call.
  uint32_t code;
  // What the kind says.
  struct toolglot_view data;
  // What the kind says.
  struct toolglot_view aux;
  // Offset of the first byte, counted from the first byte that was fed.
  uint64_t start;
  // Offset after the last byte.
  uint64_t end;
} toolglot_event;

// The events of one call, in order. Lives, with all views in its events, until the next call on the stream it came from,
// and only as long as the chunk that was fed.
typedef struct toolglot_batch {
  // The first event. Never NULL, also where there is none.
  const struct toolglot_event *events;
  // How many.
  size_t len;
  // Bytes that were fed and are in no event yet: the beginning of a marker, or what a lookahead waits for. There is no
  // flush: what is held is undecided, and `toolglot_stream_finish` decides it.
  size_t held;
  // Bytes fed so far, in all.
  uint64_t position;
} toolglot_batch;

// A function of the host that takes an event. 0 goes on, anything else stops. It must return: no exception, no `longjmp`.
// Functions that are given the same stream answer `TOOLGLOT_E_BUSY` meanwhile.
typedef int32_t (*toolglot_callback)(void *user, const struct toolglot_event *event);

// What a format says of a call beside name and arguments, for example `id`.
typedef struct toolglot_detail {
  // What it is.
  struct toolglot_view key;
  // What it says.
  struct toolglot_view value;
} toolglot_detail;

// A call: 104 bytes where pointers have 8.
typedef struct toolglot_call {
  // Name of the tool.
  struct toolglot_view name;
  // JSON text of an object; numbers are spelled as the model spelled them. A repeated key has its last value.
  struct toolglot_view arguments;
  // Id of its dialect; empty for a native call.
  struct toolglot_view dialect;
  // Why it is not complete: kinds of issues, one byte each, ascending.
  struct toolglot_view kinds;
  // The first of its details.
  const struct toolglot_detail *details;
  // How many.
  size_t details_len;
  // Offset of its first byte.
  uint64_t start;
  // Offset after its last byte.
  uint64_t end;
  // Complete, repaired or recovered (do not run it without asking); native.
  uint32_t flags;
  // Its number in the turn, from 0.
  uint32_t index;
} toolglot_call;

// Something that is wrong with what the model wrote.
typedef struct toolglot_issue {
  // Its kind, `TOOLGLOT_ISSUE_...`.
  uint32_t code;
  // `TOOLGLOT_FLAG_ERROR`, or 0 for a warning.
  uint32_t flags;
  // One sentence for people.
  struct toolglot_view message;
  // What to tell the model.
  struct toolglot_view observation;
  // Id of the dialect that speaks, or empty.
  struct toolglot_view dialect;
  // Offset of its first byte.
  uint64_t start;
  // Offset after its last byte.
  uint64_t end;
} toolglot_issue;

// A function of the host that makes the id of a call: it writes at most `cap` bytes of UTF-8 to `out` and returns how many.
// `index` counts calls from 0. It is asked where the format gave no id, or a repeated one; that ids differ is its care. It
// must return: no exception, no `longjmp`.
typedef size_t (*toolglot_id_callback)(void *user,
                                       uint32_t index,
                                       const char *name,
                                       size_t name_len,
                                       char *out,
                                       size_t cap);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library, NUL-terminated, for example `0.1.0`. Static. Any thread. Constant time.
TOOLGLOT_API const char *toolglot_version(void);

// The ABI version of the library. `toolglot_config_new` compares it with the header's, so that nobody has to. Any thread.
TOOLGLOT_API
uint32_t toolglot_abi_version(void);

// The name of a status, NUL-terminated; `unknown` if there is no such status. Static. Any thread.
TOOLGLOT_API const char *toolglot_status_name(toolglot_status status);

// The name of a kind of event, NUL-terminated, for example `arg_delta`; `unknown` if there is no such kind. Static. Any
// thread.
TOOLGLOT_API const char *toolglot_event_name(uint32_t kind);

// The name of a kind of issue (`code` of an issue event), NUL-terminated, for example `unclosed_block`; `unknown` if there
// is not such a kind. Static. Any thread.
TOOLGLOT_API
const char *toolglot_issue_name(uint32_t code);

// How many streams were made and not freed yet, in the whole process: for leak checks. Any thread.
TOOLGLOT_API size_t toolglot_live_streams(void);

// Makes a config without dialects, which is the caller's to free. `abi` is `TOOLGLOT_ABI_VERSION`; the answer is
// `TOOLGLOT_E_ABI` if the library is of another version, and `*out` is not touched then.
TOOLGLOT_API toolglot_status toolglot_config_new(uint32_t abi, struct toolglot_config **out);

// Adds a built-in dialect by its id or an alias, for example `hermes`. That it exists is checked when the engine is made.
// Dialects added first come first where one byte satisfies several. A config to which nothing is added stands for the
// default set.
TOOLGLOT_API
toolglot_status toolglot_config_add_builtin(struct toolglot_config *config,
                                            const void *id,
                                            size_t len);

// Adds every dialect of the default set that is not there yet: those that cannot fire on ordinary prose or code.
TOOLGLOT_API toolglot_status toolglot_config_add_defaults(struct toolglot_config *config);

// Adds every dialect of calls that can be active beside those that are there, for outputs of which nothing is known: bare and
// fenced JSON, bare lists and tags named after tools too. Only calls of declared tools count (`toolglot_options_set_tools`):
// without tools none that has no marker of its own, and with them calls of other tools are text unless
// `TOOLGLOT_OPTION_UNKNOWN_TOOL` says otherwise.
TOOLGLOT_API
toolglot_status toolglot_config_add_any(struct toolglot_config *config);

// Adds a dialect of the host: the text of a TOML file as `docs/DIALECTS.md` describes it. `origin` names it in messages
// and may be empty. The text is copied; it is read when the engine is made.
TOOLGLOT_API
toolglot_status toolglot_config_add_toml(struct toolglot_config *config,
                                         const void *origin,
                                         size_t origin_len,
                                         const void *toml,
                                         size_t toml_len);

// Switches on a named variation of a dialect that is or will be added, for example `vcp` and `fuzzy`.
TOOLGLOT_API
toolglot_status toolglot_config_switch(struct toolglot_config *config,
                                       const void *dialect,
                                       size_t dialect_len,
                                       const void *name,
                                       size_t name_len);

// One sentence about the last failure on this config, or of `toolglot_engine_new` with it; empty if there was none. Lives
// until the next call with the config.
TOOLGLOT_API
struct toolglot_view toolglot_config_error(const struct toolglot_config *config);

// Frees the config. Engines made of it stay. NULL is nothing.
TOOLGLOT_API void toolglot_config_free(struct toolglot_config *config);

// Compiles the dialects of a config, or the default set if `config` is NULL. The config stays the caller's, and so is the
// engine. If it fails with `TOOLGLOT_E_DIALECT`, `toolglot_config_error` says which key of which dialect is wrong and why.
// Milliseconds for all built-in dialects.
TOOLGLOT_API
toolglot_status toolglot_engine_new(const struct toolglot_config *config,
                                    struct toolglot_engine **out);

// The markers that the engine looks for, in the order of its dialects: `*markers` becomes the first of `*len`. They live as
// long as the engine.
TOOLGLOT_API
toolglot_status toolglot_engine_markers(const struct toolglot_engine *engine,
                                        const struct toolglot_marker **markers,
                                        size_t *len);

// The ids of the engine's dialects, in order: `*ids` becomes the first of `*len`. They live as long as the engine.
TOOLGLOT_API
toolglot_status toolglot_engine_dialects(const struct toolglot_engine *engine,
                                         const struct toolglot_view **ids,
                                         size_t *len);

// The most bytes of text that a stream with default limits ever withholds. 0 if `engine` is NULL.
TOOLGLOT_API size_t toolglot_engine_bound(const struct toolglot_engine *engine);

// The id of a built-in dialect by its number from 0; empty if there are not so many. Static. Any thread.
TOOLGLOT_API struct toolglot_view toolglot_builtin_dialect(size_t number);

// The built-in dialects that a model writes its calls in, by the model's name (that of its publisher, of a server or of a file):
// the id of one by its number from 0, empty if there are not so many. Most models have one; those of a model can be in one engine.
// Empty too if no dialect is known for such a name. Static. Any thread.
TOOLGLOT_API
struct toolglot_view toolglot_model_dialect(const void *name,
                                            size_t len,
                                            size_t number);

// The built-in dialect that reads a model's reasoning, where no dialect of its calls does; else empty. Static. Any thread.
TOOLGLOT_API
struct toolglot_view toolglot_model_reasoning(const void *name,
                                              size_t len);

// Frees the engine and its markers. Streams made of it stay. NULL is nothing.
TOOLGLOT_API void toolglot_engine_free(struct toolglot_engine *engine);

// Makes options with all defaults, which are the caller's to free.
TOOLGLOT_API toolglot_status toolglot_options_new(struct toolglot_options **out);

// Sets one option, `TOOLGLOT_OPTION_...`. `TOOLGLOT_E_ARG` if the library does not know the option or the value; then
// nothing is changed.
TOOLGLOT_API toolglot_status toolglot_options_set(struct toolglot_options *options, uint32_t option, uint64_t value);

// Sets what the request said about calls, its `tool_choice`: one of the words `auto` (default), `none` and `required`, or the JSON
// text of `{"type": "function", "function": {"name": ..}}`. With `none`, markers of calls are text. With `required` or a
// named tool the output may be guided: a bare call, a bare list of calls, or the bare arguments of the named tool. An empty
// text means `auto`.
TOOLGLOT_API
toolglot_status toolglot_options_set_tool_choice(struct toolglot_options *options,
                                                 const void *choice,
                                                 size_t len);

// Sets the declared tools: a JSON array of `{"name", "parameters": JSON Schema}`, or OpenAI's `{"type": "function",
// "function": {...}}`. They give untyped text its type, spell keys, and warn of tools nobody offers. An empty text means no
// tools. It is read now and not again; a stream shares what was read.
//
// A definition that is odd, or whose name an earlier one has, is left out; `toolglot_options_tool_issues` says which, and
// the others count. A list of definitions none of which can be read is refused with `TOOLGLOT_E_ARG`.
TOOLGLOT_API
toolglot_status toolglot_options_set_tools(struct toolglot_options *options,
                                           const void *json,
                                           size_t len);

// What was odd in the list of tools that was set last, one sentence each: what was left out or passed over, and where.
// `*issues` becomes the first of `*len`. They live until tools are set again, or the options are freed.
TOOLGLOT_API
toolglot_status toolglot_options_tool_issues(const struct toolglot_options *options,
                                             const struct toolglot_view **issues,
                                             size_t *len);

// Gives the prompt, or the end of it: at most its last 4 KiB are kept. What they have opened (a thought, a message, its
// header, a call), the reply goes on with. `TOOLGLOT_OPTION_START` other than `..._DIALECT` and `toolglot_stream_prefill` win
// over it. An empty text takes it back.
TOOLGLOT_API
toolglot_status toolglot_options_set_prompt_tail(struct toolglot_options *options,
                                                 const void *prompt,
                                                 size_t len);

// One sentence about the last failure on these options; empty if there was none. Lives until the next call with them.
TOOLGLOT_API struct toolglot_view toolglot_options_error(const struct toolglot_options *options);

// Frees the options. Streams made with them stay. NULL is nothing.
TOOLGLOT_API void toolglot_options_free(struct toolglot_options *options);

// Makes a stream of an engine, which is the caller's to free. `options` may be NULL for all defaults; they are copied
// (tools are shared). Any thread. Cheap: no allocation that grows with the dialects.
TOOLGLOT_API
toolglot_status toolglot_stream_new(const struct toolglot_engine *engine,
                                    const struct toolglot_options *options,
                                    struct toolglot_stream **out);

// Takes the next bytes of the output, cut anywhere, also inside a character, and tells what they say. An empty chunk
// changes nothing. `*out` lives until the next call with this stream; `data` must live as long as `*out` is used, because
// views may point into it. If it fails, `*out` is not touched.
//
// Linear in `len`. Text costs no allocation.
TOOLGLOT_API
toolglot_status toolglot_stream_feed(struct toolglot_stream *stream,
                                     const void *data,
                                     size_t len,
                                     struct toolglot_batch *out);

// As `toolglot_stream_feed`, for the bytes of one special token that the host knows by its id. A marker that lies wholly in
// them counts also where a dialect, or `TOOLGLOT_OPTION_TRUSTED_ONLY`, wants the host to vouch for it.
TOOLGLOT_API
toolglot_status toolglot_stream_feed_special(struct toolglot_stream *stream,
                                             const void *data,
                                             size_t len,
                                             struct toolglot_batch *out);

// As `toolglot_stream_feed`, for what the prompt has already put at the beginning of the reply, for example the opener of a
// forced call. It is read and counts in offsets, but text and reasoning in it are not delivered.
TOOLGLOT_API
toolglot_status toolglot_stream_prefill(struct toolglot_stream *stream,
                                        const void *data,
                                        size_t len,
                                        struct toolglot_batch *out);

// Takes calls that the host got beside the text: OpenAI's `tool_calls`, a JSON array. When they come out is what
// `TOOLGLOT_OPTION_PREFER` says.
TOOLGLOT_API
toolglot_status toolglot_stream_native_calls(struct toolglot_stream *stream,
                                             const void *json,
                                             size_t len,
                                             struct toolglot_batch *out);

// Ends the output: what is held comes out, what is open is reported. `reason` is one of `TOOLGLOT_FINISH_...`. After it
// the stream takes nothing more (`TOOLGLOT_E_STATE`) until it is reset.
TOOLGLOT_API
toolglot_status toolglot_stream_finish(struct toolglot_stream *stream,
                                       uint32_t reason,
                                       struct toolglot_batch *out);

// `toolglot_stream_feed` with a callback: `take` gets each event, in order. If it does not return 0, no further event is
// delivered and the answer is `TOOLGLOT_E_STOPPED`; all bytes were taken nevertheless, and `toolglot_stream_rest` has the
// other events.
TOOLGLOT_API
toolglot_status toolglot_stream_feed_each(struct toolglot_stream *stream,
                                          const void *data,
                                          size_t len,
                                          toolglot_callback take,
                                          void *user);

// `toolglot_stream_finish` with a callback, as `toolglot_stream_feed_each`.
TOOLGLOT_API
toolglot_status toolglot_stream_finish_each(struct toolglot_stream *stream,
                                            uint32_t reason,
                                            toolglot_callback take,
                                            void *user);

// The events of the last call that no callback has taken: after a callback that stopped, what it did not get; after a
// call without callback, all of them again. Lives as long as the batch of that call.
TOOLGLOT_API toolglot_status toolglot_stream_rest(struct toolglot_stream *stream, struct toolglot_batch *out);

// Where the stream stands between two chunks: `*flags` becomes the sum of `TOOLGLOT_STATE_...`. The last batch stays alive.
TOOLGLOT_API
toolglot_status toolglot_stream_state(const struct toolglot_stream *stream,
                                      uint32_t *flags);

// Starts over with the same options, for another output. Keeps memory and no data.
TOOLGLOT_API toolglot_status toolglot_stream_reset(struct toolglot_stream *stream);

// Makes a second stream in the same state, which is the caller's to free: to go on from here twice, or to come back. Linear in
// the bytes of the open block. The copy has no batch.
TOOLGLOT_API
toolglot_status toolglot_stream_clone(const struct toolglot_stream *stream,
                                      struct toolglot_stream **out);

// Writes the state of the stream into a buffer, to go on from it later or on another machine. It holds what the stream
// remembers and nothing that it delivered: it does not grow with the output, only with the bytes of an open block.
TOOLGLOT_API
toolglot_status toolglot_stream_snapshot(const struct toolglot_stream *stream,
                                         struct toolglot_buffer *buffer);

// Puts the stream into the state of a snapshot, which must be of a stream with the same dialects, options and library
// version; else the answer is `TOOLGLOT_E_SNAPSHOT`, and the stream is as it was. Ends the life of the last batch.
TOOLGLOT_API toolglot_status toolglot_stream_restore(struct toolglot_stream *stream, const void *data, size_t len);

// One sentence about the last failure on this stream; empty if there was none, and while another thread uses the stream.
// Lives until the next call with the stream.
TOOLGLOT_API
struct toolglot_view toolglot_stream_error(const struct toolglot_stream *stream);

// Frees the stream, its batch and all views into it. NULL is nothing. Inside a callback of this stream it is allowed: the
// stream goes away when the call that called back returns.
TOOLGLOT_API
void toolglot_stream_free(struct toolglot_stream *stream);

// Makes an empty buffer, which is the caller's to free.
TOOLGLOT_API toolglot_status toolglot_buffer_new(struct toolglot_buffer **out);

// What stands in the buffer: the answer of the last function that was given it and succeeded. Lives until the next function
// is given the buffer. Empty if `buffer` is NULL.
TOOLGLOT_API
struct toolglot_view toolglot_buffer_view(const struct toolglot_buffer *buffer);

// One sentence about the last failure of a function that was given this buffer; empty if there was none. Lives until the
// next function is given the buffer.
TOOLGLOT_API
struct toolglot_view toolglot_buffer_error(const struct toolglot_buffer *buffer);

// Puts bytes of the host into the buffer, in place of what it held. Linear.
TOOLGLOT_API toolglot_status toolglot_buffer_set(struct toolglot_buffer *buffer, const void *data, size_t len);

// Frees the buffer and every view into it. NULL is nothing.
TOOLGLOT_API void toolglot_buffer_free(struct toolglot_buffer *buffer);

// Makes an empty turn, which is the caller's to free, to be filled with the batches of a stream.
TOOLGLOT_API toolglot_status toolglot_turn_new(struct toolglot_turn **out);

// Keeps the text from being a call for the next reader of this engine's dialects, for hosts that send it on without the
// calls: text that comes back from a retracted block is escaped (`toolglot_escape`), and what would join to a marker
// around a call that was taken out stays apart. Without it the text is verbatim. NULL for `engine` takes it back. It empties
// the turn and outlives `toolglot_turn_reset`; the engine may be freed.
TOOLGLOT_API
toolglot_status toolglot_turn_guard(struct toolglot_turn *turn,
                                    const struct toolglot_engine *engine);

// Keeps all that the model wrote, markup included, for `toolglot_turn_original`: as much memory again as the output is long.
// `keep` is 1, or 0 to take it back. It empties the turn and outlives `toolglot_turn_reset`. For `toolglot_parse` there is
// `TOOLGLOT_OPTION_ORIGINAL`.
TOOLGLOT_API
toolglot_status toolglot_turn_keep_original(struct toolglot_turn *turn,
                                            uint32_t keep);

// Adds the events of a batch, which must still be alive. Give it every batch of one stream in order, with all kinds of
// events.
TOOLGLOT_API toolglot_status toolglot_turn_add(struct toolglot_turn *turn, const struct toolglot_batch *batch);

// The turn is finished: where it holds no call, its issues get a hint (`TOOLGLOT_ISSUE_BARE_CALL`) for each call of a tool on
// offer that stands in its text and that no dialect of the engine has read. `options` say which tools are declared; what was
// odd in their list is in `toolglot_turn_tool_issues` from here on. `toolglot_parse` has done this already.
TOOLGLOT_API
toolglot_status toolglot_turn_hint(struct toolglot_turn *turn,
                                   const struct toolglot_options *options);

// Parses a whole output at once into a new turn, which is the caller's to free. `options` may be NULL; `reason` is one of
// `TOOLGLOT_FINISH_...`. It says the same as a stream that is fed the output in any pieces. Any thread.
TOOLGLOT_API
toolglot_status toolglot_parse(const struct toolglot_engine *engine,
                               const struct toolglot_options *options,
                               const void *data,
                               size_t len,
                               uint32_t reason,
                               struct toolglot_turn **out);

// The text outside calls and reasoning, joined. The bytes as they came: they need not be UTF-8. Empty if `turn` is NULL.
TOOLGLOT_API
struct toolglot_view toolglot_turn_text(const struct toolglot_turn *turn);

// The reasoning, joined, without its markers. Empty if `turn` is NULL.
TOOLGLOT_API struct toolglot_view toolglot_turn_reasoning(const struct toolglot_turn *turn);

// The calls that closed and were not taken back, in order: `*calls` becomes the first of `*len`. Linear in
// the calls and issues of the turn if something was added since it was asked last.
TOOLGLOT_API
toolglot_status toolglot_turn_calls(const struct toolglot_turn *turn,
                                    const struct toolglot_call **calls,
                                    size_t *len);

// The call that is open, with its arguments so far: final JSON text as far as they go, and no grade yet. `*call` becomes NULL where no call is
// open, and for formats whose calls open when their block ends. Cost: that of `toolglot_turn_calls`.
TOOLGLOT_API
toolglot_status toolglot_turn_open_call(const struct toolglot_turn *turn,
                                        const struct toolglot_call **call);

// The issues, errors and warnings, in order of detection: `*issues` becomes the first of `*len`.
TOOLGLOT_API
toolglot_status toolglot_turn_issues(const struct toolglot_turn *turn,
                                     const struct toolglot_issue **issues,
                                     size_t *len);

// What a host does not get, or should not act on without asking, as JSON text: recovered calls, and bytes of blocks that
// were dropped. `{"withheld": [{"name", "kinds", "span"}], "dropped": [{"span", "kinds"}]}`; kinds by their names, spans as
// `[start, end]`. Empty where there is nothing to say.
TOOLGLOT_API
toolglot_status toolglot_turn_not_delivered(const struct toolglot_turn *turn,
                                            struct toolglot_view *json);

// All that the model wrote, markup included: the bytes as they came. `*kept` becomes 1 where `toolglot_turn_keep_original` or
// `TOOLGLOT_OPTION_ORIGINAL` asked for it and all of it was retained, else 0, and the text is empty then: a block of a stream
// with `TOOLGLOT_RETAIN_NONE`, or without `TOOLGLOT_OPTION_BLOCK_BYTES`, has no bytes to keep.
TOOLGLOT_API
toolglot_status toolglot_turn_original(const struct toolglot_turn *turn,
                                       struct toolglot_view *original,
                                       uint32_t *kept);

// What was odd in the list of tools that `toolglot_parse`, or `toolglot_turn_hint`, was given, one sentence each, as
// `toolglot_options_tool_issues` has it: `*issues` becomes the first of `*len`.
TOOLGLOT_API
toolglot_status toolglot_turn_tool_issues(const struct toolglot_turn *turn,
                                          const struct toolglot_view **issues,
                                          size_t *len);

// Empties the turn for another output.
TOOLGLOT_API toolglot_status toolglot_turn_reset(struct toolglot_turn *turn);

// One sentence about the last failure on this turn; empty if there was none.
TOOLGLOT_API struct toolglot_view toolglot_turn_error(const struct toolglot_turn *turn);

// Frees the turn and all that it handed out. NULL is nothing.
TOOLGLOT_API void toolglot_turn_free(struct toolglot_turn *turn);

// Makes a writer with all defaults, which is the caller's to free.
TOOLGLOT_API toolglot_status toolglot_openai_new(struct toolglot_openai **out);

// Sets an option that is a number, `TOOLGLOT_OPENAI_...`, before the response begins (else `TOOLGLOT_E_STATE`).
TOOLGLOT_API toolglot_status toolglot_openai_set(struct toolglot_openai *openai, uint32_t option, uint64_t value);

// Sets an option that is a text, `TOOLGLOT_OPENAI_...`, before the response begins (else `TOOLGLOT_E_STATE`). It is copied.
TOOLGLOT_API
toolglot_status toolglot_openai_set_text(struct toolglot_openai *openai,
                                         uint32_t option,
                                         const void *text,
                                         size_t len);

// Has the host make ids of calls, before the response begins (else `TOOLGLOT_E_STATE`). NULL for `rule` goes back to made
// ids. `user` is handed to every call of `rule` and must live as long as the writer.
TOOLGLOT_API
toolglot_status toolglot_openai_set_ids(struct toolglot_openai *openai,
                                        toolglot_id_callback rule,
                                        void *user);

// Keeps the content of responses from being a call for the next reader of this engine's dialects, as `toolglot_turn_guard`
// does for a turn (of which `toolglot_openai_completion` takes its content). Before the response begins (else
// `TOOLGLOT_E_STATE`); it stays for the next ones. NULL for `engine` takes it back; the engine may be freed.
TOOLGLOT_API
toolglot_status toolglot_openai_guard(struct toolglot_openai *openai,
                                      const struct toolglot_engine *engine);

// Writes the chunks that a batch amounts to into the buffer, in place of what it held; often there are none. Give it every
// batch of one stream in order, with all kinds of events.
TOOLGLOT_API
toolglot_status toolglot_openai_write(struct toolglot_openai *openai,
                                      const struct toolglot_batch *batch,
                                      struct toolglot_buffer *buffer);

// Ends the response: writes its last chunks, with `finish_reason`, into the buffer. After it the writer is as it was before
// the response began, for the next one. `reason` is one of `TOOLGLOT_FINISH_...`, the one that the stream was finished with.
TOOLGLOT_API
toolglot_status toolglot_openai_finish(struct toolglot_openai *openai,
                                       uint32_t reason,
                                       struct toolglot_buffer *buffer);

// Writes a turn as one `chat.completion` object into the buffer, with the settings of the writer (but for ids made by the
// host). `reason` is one of `TOOLGLOT_FINISH_...`.
TOOLGLOT_API
toolglot_status toolglot_openai_completion(struct toolglot_openai *openai,
                                           const struct toolglot_turn *turn,
                                           uint32_t reason,
                                           struct toolglot_buffer *buffer);

// One sentence about the last failure on this writer; empty if there was none.
TOOLGLOT_API struct toolglot_view toolglot_openai_error(const struct toolglot_openai *openai);

// Frees the writer. NULL is nothing.
TOOLGLOT_API void toolglot_openai_free(struct toolglot_openai *openai);

// Writes calls as a dialect of the engine writes them, into the buffer: what a model would have written. `dialect` is its
// id; `calls` is OpenAI's `tool_calls`, a JSON array; `options` (limits and tools, by which the text will be read) may be
// NULL. The text reads back as these calls; a call that the dialect cannot say is refused with `TOOLGLOT_E_ENCODE`, and the
// buffer's error says which value and why; a dialect that the engine has not, with `TOOLGLOT_E_DIALECT`. Fastest with an engine of this dialect alone. Any thread, with its own buffer.
TOOLGLOT_API
toolglot_status toolglot_encode(const struct toolglot_engine *engine,
                                const struct toolglot_options *options,
                                const void *dialect,
                                size_t dialect_len,
                                const void *calls,
                                size_t calls_len,
                                struct toolglot_buffer *buffer);

// Writes untrusted text (a tool's result, a user's message) into the buffer so that none of the engine's markers stands in
// it. Text without markers stays as it is. `toolglot_unescape` gives it back. Linear. Any thread, with its own buffer.
TOOLGLOT_API
toolglot_status toolglot_escape(const struct toolglot_engine *engine,
                                const void *data,
                                size_t len,
                                struct toolglot_buffer *buffer);

// The reverse of `toolglot_escape` with an engine of the same dialects.
TOOLGLOT_API
toolglot_status toolglot_unescape(const struct toolglot_engine *engine,
                                  const void *data,
                                  size_t len,
                                  struct toolglot_buffer *buffer);

// Makes an empty list, which is the caller's to free.
TOOLGLOT_API toolglot_status toolglot_tools_new(struct toolglot_tools **out);

// Adds definitions, JSON text: a list of OpenAI's form, of Anthropic's, the result of MCP's `tools/list`, or a plugin manifest.
// All of them may be called. `TOOLGLOT_E_ARG` for what is none of these, or holds a name twice; then nothing is added.
TOOLGLOT_API
toolglot_status toolglot_tools_add(struct toolglot_tools *tools,
                                   const void *json,
                                   size_t len);

// Writes the definitions into the buffer as JSON. `form` is one of `TOOLGLOT_TOOLS_...`.
TOOLGLOT_API
toolglot_status toolglot_tools_json(const struct toolglot_tools *tools,
                                    uint32_t form,
                                    struct toolglot_buffer *buffer);

// Writes what to tell a model of the tools into the buffer, so that it writes calls in a dialect of the engine: for its system
// message. `lang` is one of `TOOLGLOT_LANG_...`. `TOOLGLOT_E_DIALECT` for a dialect that the engine has not, or that has no calls.
TOOLGLOT_API
toolglot_status toolglot_tools_prompt(const struct toolglot_tools *tools,
                                      const struct toolglot_engine *engine,
                                      const void *dialect,
                                      size_t dialect_len,
                                      uint32_t lang,
                                      struct toolglot_buffer *buffer);

// Writes into the buffer, as JSON, whether a call may be carried out: `{"tool", "name", "valid", "arguments", "changes",
// "violations", "observation"}` with the arguments to hand over and what to tell the model where it is not valid. `arguments` is the JSON
// text of the call. `dialect` is that of the call, for the words of the observation; `engine` may be NULL.
TOOLGLOT_API
toolglot_status toolglot_tools_check(const struct toolglot_tools *tools,
                                     const struct toolglot_engine *engine,
                                     const void *dialect,
                                     size_t dialect_len,
                                     const void *name,
                                     size_t name_len,
                                     const void *arguments,
                                     size_t arguments_len,
                                     struct toolglot_buffer *buffer);

// Writes the message that tells a model the results of its calls into the buffer, as JSON: `{"role", "content"}`. `results` is a JSON
// list of `{"id", "name", "status", "content"}`; the status is `success` unless said. Text that looks like a marker of the engine is made safe.
TOOLGLOT_API
toolglot_status toolglot_results(const struct toolglot_engine *engine,
                                 const void *dialect,
                                 size_t dialect_len,
                                 uint32_t lang,
                                 const void *results,
                                 size_t results_len,
                                 struct toolglot_buffer *buffer);

// One sentence about the last failure on these tools; empty if there was none.
TOOLGLOT_API struct toolglot_view toolglot_tools_error(const struct toolglot_tools *tools);

// Frees the tools. NULL is nothing.
TOOLGLOT_API void toolglot_tools_free(struct toolglot_tools *tools);

// Makes an agent that is still to be read, which is the caller's to free.
TOOLGLOT_API toolglot_status toolglot_agent_new(struct toolglot_agent **out);

// Makes it the agent that a JSON text describes, with a dialect of the engine: `{"dialect", "tools", "policy", "config", "shape",
// "lang", "recovered", "references", "max_concurrent", "grammar"}`, of which only the first is needed; without a policy nothing
// runs. docs/AGENT.md says more. `options` (limits) may be NULL; the engine may be freed. `TOOLGLOT_E_ARG` for a text that
// describes none, `TOOLGLOT_E_DIALECT` for a dialect that the engine has not, or that has no calls.
TOOLGLOT_API
toolglot_status toolglot_agent_read(struct toolglot_agent *agent,
                                    const struct toolglot_engine *engine,
                                    const struct toolglot_options *options,
                                    const void *form,
                                    size_t len);

// Makes a run that goes on with a conversation, which is the caller's to free: `messages` is a JSON list of `{"role", "content"}`.
TOOLGLOT_API
toolglot_status toolglot_agent_run(const struct toolglot_agent *agent,
                                   const void *messages,
                                   size_t len,
                                   struct toolglot_run **out);

// Makes a workflow, a run without a model: `steps` is a JSON list of calls, `{"tool", "arguments"}`, that run one after the other.
TOOLGLOT_API
toolglot_status toolglot_agent_steps(const struct toolglot_agent *agent,
                                     const void *steps,
                                     size_t len,
                                     struct toolglot_run **out);

// Makes a run of what was saved, by an agent with the same dialect. People are asked again about calls that wait; for each call
// that was started there is a `recall`. `TOOLGLOT_E_SNAPSHOT` if the text is not such a run.
TOOLGLOT_API
toolglot_status toolglot_agent_restore(const struct toolglot_agent *agent,
                                       const void *saved,
                                       size_t len,
                                       struct toolglot_run **out);

// One sentence about the last failure on this agent; empty if there was none.
TOOLGLOT_API struct toolglot_view toolglot_agent_error(const struct toolglot_agent *agent);

// Frees the agent. Runs made of it stay. NULL is nothing.
TOOLGLOT_API void toolglot_agent_free(struct toolglot_agent *agent);

// Tells the run bytes of the model's reply, cut anywhere. `TOOLGLOT_E_STATE` if the model was not asked, or its reply has ended.
TOOLGLOT_API
toolglot_status toolglot_run_model(struct toolglot_run *run,
                                   const void *data,
                                   size_t len);

// Tells the run anything else, a JSON object of one member: `{"ended": "stop"}`, `{"failed": why}`, `{"native": tool_call}`,
// `{"decision": [id, "approve"]}` (or `{"edit": arguments}`, `{"deny": reason}`), `{"progress": [id, text]}`, `{"done": {"id", "name",
// "status", "content"}}`, `{"lost": id}`, `{"begun": [id, task]}`, `{"later": result}`, `{"tick": milliseconds}`, `{"ask_again": null}`, `{"cancel": null}`.
// `TOOLGLOT_E_STATE` if it is too late for that, or too early; then nothing has changed.
TOOLGLOT_API
toolglot_status toolglot_run_tell(struct toolglot_run *run,
                                  const void *what,
                                  size_t len);

// The next instruction, a JSON object: `{"do": "ask", "messages": ..}`, `"confirm"`, `"start"`, `"abort"`, `"recall"`, `"event"`,
// `"finished"`. Empty if there is none until something else is told. Lives until the next call on the run.
TOOLGLOT_API
toolglot_status toolglot_run_take(struct toolglot_run *run,
                                  struct toolglot_view *out);

// What the run waits for once there are no instructions: `*waits` becomes one of `TOOLGLOT_WAITS_...`, `*now` the latest time that
// it was told, and `*deadline` the time at which it wants to be told the next one (`UINT64_MAX`: no time matters).
TOOLGLOT_API
toolglot_status toolglot_run_waits(const struct toolglot_run *run,
                                   uint32_t *waits,
                                   uint64_t *now,
                                   uint64_t *deadline);

// Writes something of the run into the buffer, as JSON: `what` is one of `TOOLGLOT_RUN_...`.
TOOLGLOT_API
toolglot_status toolglot_run_write(const struct toolglot_run *run,
                                   uint32_t what,
                                   struct toolglot_buffer *buffer);

// One sentence about the last failure on this run; empty if there was none.
TOOLGLOT_API struct toolglot_view toolglot_run_error(const struct toolglot_run *run);

// Frees the run. NULL is nothing.
TOOLGLOT_API void toolglot_run_free(struct toolglot_run *run);

// Makes a reader of a response, which is the caller's to free. `source` is one of `TOOLGLOT_SOURCE_...`.
TOOLGLOT_API toolglot_status toolglot_response_new(uint32_t source, struct toolglot_response **out);

// Takes bytes of the response, cut anywhere, and writes what they say into the buffer: lines, each for `toolglot_run_tell`. The last
// one is `{"ended": ..}` or `{"failed": ..}`.
TOOLGLOT_API
toolglot_status toolglot_response_feed(struct toolglot_response *response,
                                       const void *data,
                                       size_t len,
                                       struct toolglot_buffer *buffer);

// Ends the response, and writes what that says into the buffer, as `toolglot_response_feed` does.
TOOLGLOT_API
toolglot_status toolglot_response_finish(struct toolglot_response *response,
                                         struct toolglot_buffer *buffer);

// Frees the response. NULL is nothing.
TOOLGLOT_API void toolglot_response_free(struct toolglot_response *response);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TOOLGLOT_H */
