/* toolglot: a streaming parser for the tool calls that language models write into their text.
 *
 * This header is the manual of the C interface. It is generated; do not edit it.
 *
 *     toolglot_engine *engine;                           compiled dialects: one for the program
 *     toolglot_stream *stream;                           one model output
 *     toolglot_batch batch;
 *     toolglot_engine_new(NULL, &engine);                the default set of dialects
 *     toolglot_stream_new(engine, NULL, &stream);
 *     while (next_chunk(&data, &len)) {                  bytes, in chunks of any size
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
 * - Arguments. A pointer with a length is a range of bytes; NULL with length 0 is an empty range. Ranges need no terminating
 *   NUL and may contain NUL bytes. Names, JSON and TOML are UTF-8; model output is any bytes. Every other pointer must not be
 *   NULL unless its function allows it; NULL gives TOOLGLOT_E_NULL, never a crash. The library keeps no reference to arguments
 *   after the return, except that views may point into the chunk that was fed.
 * - Results. Functions return a status, 0 for success. Results are written through the last pointers, only on success.
 * - Ownership. What a `..._new` function (or `..._clone`) creates belongs to the caller, who frees it once with the `..._free`
 *   of its type. `..._free(NULL)` does nothing. The caller frees nothing else. A freed pointer must not be used again.
 * - Lifetimes. Views and batches are borrowed: they are valid until the next call on the handle they came from, unless the
 *   function says more. Copy what must live longer.
 * - Errors. Misuse of this interface is a status, with one sentence on the handle (`..._error`), never in a thread-local
 *   variable. Mistakes of the model are events, and parsing continues.
 * - Threads. An engine may be used by any number of threads at once, and so may options that no thread is changing; every other
 *   handle by one thread at a time, not always the same one. A second caller gets TOOLGLOT_E_BUSY and nothing happens. The
 *   library creates no threads, waits for other threads only if memory is short, and works after fork.
 * - Internal failures. A panic of the library is caught and gives TOOLGLOT_E_PANIC; its handle accepts no further calls.
 * - Memory. If memory runs out, functions return TOOLGLOT_E_NOMEM, and the process survives. A handle that the call was to
 *   change has ended: its contents and everything it handed out are gone, each further call on it gives TOOLGLOT_E_NOMEM, and
 *   it can only be freed. A handle that the call only read, and every other handle, remains usable. Nothing is written through
 *   the last pointers. Once memory is available again, create a new stream and feed it the output from its beginning, or
 *   restore a snapshot. Functions that read a document, or work on a handle with much data, reserve address space beforehand,
 *   at least eight times the size of that data, and return TOOLGLOT_E_NOMEM if they cannot. Chunks of more than 16 KiB are
 *   processed in pieces: their text comes in several events. SECURITY.md lists the remaining cases.
 * - Versions. New functions, options, kinds of events, flags and statuses may be added without a new ABI version: ignore
 *   unknown ones. Numbers are never reused.
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

/* The version of the library that this header belongs to. `toolglot_version()` returns that of the linked library. */
#define TOOLGLOT_VERSION "0.1.0"

/* Passes a string literal as two arguments: toolglot_config_add_builtin(config, TOOLGLOT_LITERAL("hermes")). */
#define TOOLGLOT_LITERAL(text) (text), (sizeof(text) - 1)

/* The bit of an event kind; TOOLGLOT_OPTION_EVENTS is a sum of them. */
#define TOOLGLOT_EVENT_BIT(kind) ((uint64_t)1 << (kind))

// The version of the ABI. It changes when programs must be recompiled; new functions, options, event kinds and statuses do not
// change it.
#define TOOLGLOT_ABI_VERSION 1

// Success.
#define TOOLGLOT_OK 0

// A pointer is NULL that must not be. (NULL with length 0 is an empty input and not a mistake.)
#define TOOLGLOT_E_NULL (-1)

// An argument cannot be used: an unknown number, a value out of range, invalid UTF-8 or JSON, a handle of another type.
#define TOOLGLOT_E_ARG (-2)

// The stream is finished: `toolglot_stream_reset` it or create another one. Or the run does not accept that now.
#define TOOLGLOT_E_STATE (-3)

// There is not enough memory. A handle that the call was to change has ended: its contents and everything it handed out are
// gone, every further call on it gives this status, and it can only be freed. Other handles are not affected.
#define TOOLGLOT_E_NOMEM (-4)

// An internal error of the library, which was caught. The handle is poisoned; other handles are not affected.
#define TOOLGLOT_E_PANIC (-5)

// The program was compiled with a header of another ABI version than the library's.
#define TOOLGLOT_E_ABI (-6)

// The handle is in use: by another thread, or by the call whose callback is running. Nothing was done, and there is no
// message.
#define TOOLGLOT_E_BUSY (-7)

// A limit of the interface was exceeded.
#define TOOLGLOT_E_LIMIT (-8)

// A dialect cannot be read or does not exist, or dialects are not compatible; the message says which key and why.
#define TOOLGLOT_E_DIALECT (-9)

// An earlier call on this handle ended with `TOOLGLOT_E_PANIC`. It can only be freed.
#define TOOLGLOT_E_POISONED (-10)

// The snapshot is damaged, has another version, or was made with other dialects or options.
#define TOOLGLOT_E_SNAPSHOT (-11)

// A call cannot be written in the dialect; the message says which value and why.
#define TOOLGLOT_E_ENCODE (-12)

// The callback did not return 0, so the remaining events were not delivered. `toolglot_stream_rest` returns them.
#define TOOLGLOT_E_STOPPED (-13)

// `call` of an event that concerns no call.
#define TOOLGLOT_NO_CALL UINT32_MAX

// Plain text of the reply. `data`: the bytes, which may end inside a character unless `TOOLGLOT_OPTION_TEXT` is set to chars.
// Flag: recovered.
#define TOOLGLOT_EVENT_TEXT 1

// Reasoning. `data`: the bytes. Flag: framing.
#define TOOLGLOT_EVENT_REASONING 2

// Part of a region that a dialect protects: no calls are looked for inside. `data`: the bytes; `aux`: the kind of region.
#define TOOLGLOT_EVENT_PROTECTED 3

// Bytes of a block after it exceeded a limit, up to and including its own closer. `data`: the bytes.
#define TOOLGLOT_EVENT_RAW 4

// A block begins. `aux`: id of its dialect.
#define TOOLGLOT_EVENT_BLOCK_OPEN 5

// A call begins; its name is final. `call`; `data`: name of the tool; `aux`: id of the dialect, empty for an API tool call.
// Flag: native. Details may follow: what the format says about the call besides name and arguments, for example `id`.
#define TOOLGLOT_EVENT_CALL_OPEN 6

// A detail of the preceding event (other details may be in between). `aux`: key; `data`: value; `call` as in that event. An
// issue may have `dialect`, `tool`, `subject` (the parameter, entity or tag concerned) and `suggestion` (a name that was
// probably meant).
#define TOOLGLOT_EVENT_DETAIL 7

// The next piece of a call's arguments: final JSON text. `call`; `data`: the piece. The concatenated pieces are one JSON
// object.
#define TOOLGLOT_EVENT_ARG_DELTA 8

// A parameter begins. Provisional, for display: the call's arguments are authoritative. `data`: its name as written; `code`:
// nesting depth.
#define TOOLGLOT_EVENT_PARAM_OPEN 9

// Raw bytes of the open parameter's value, as soon as they arrive. `data`: the bytes.
#define TOOLGLOT_EVENT_PARAM_DELTA 10

// The open parameter ends.
#define TOOLGLOT_EVENT_PARAM_CLOSE 11

// The open call is retracted: it broke its grammar, exceeded a limit or was truncated. It never closes, and its pieces are
// retracted with it. `call`.
#define TOOLGLOT_EVENT_CALL_ABANDONED 12

// A call ends. It is final unless its block is abandoned. `call`. Flags: complete, repaired or recovered, with the kinds of
// issues that say why in `data`, one byte each (`TOOLGLOT_ISSUE_...`), ascending; params only.
#define TOOLGLOT_EVENT_CALL_CLOSE 13

// The block ends. `data`: its bytes, markers included, if they were retained.
#define TOOLGLOT_EVENT_BLOCK_CLOSE 14

// The block turned out not to be one: all calls since its block open are retracted. `data`: its bytes if they were retained.
// Flag: as text.
#define TOOLGLOT_EVENT_BLOCK_ABANDONED 15

// Something is wrong with what the model wrote; parsing continues. `code`: its kind; `call` if one is concerned; `data`: one
// sentence for people; `aux`: what to tell the model so that it can do better. Flag: error. Details may follow.
#define TOOLGLOT_EVENT_ISSUE 16

// The name of a call is known; precedes the call's open, as early as the name is known. For display: only a call open opens a
// call. `call`: number of the block in this stream, from 0; `code`: number of the name in its block, from 0; `data`: the name.
// Flag: provisional.
#define TOOLGLOT_EVENT_CALL_NAMED 17

// Text: the bytes were first taken for a block; a block abandoned came before.
#define TOOLGLOT_FLAG_RECOVERED_TEXT 1

// Reasoning: the bytes are the marker (`<think>`), not the reasoning itself.
#define TOOLGLOT_FLAG_FRAMING 2

// Call open: an API tool call, given by the host.
#define TOOLGLOT_FLAG_NATIVE 4

// Call close: well formed and closed.
#define TOOLGLOT_FLAG_COMPLETE 8

// Call close: something may be truncated, mixed or guessed. Do not run it without asking.
#define TOOLGLOT_FLAG_RECOVERED 16

// Call close: the arguments were delivered only as parameters (`TOOLGLOT_RETAIN_NONE`); there were no pieces of JSON.
#define TOOLGLOT_FLAG_PARAMS_ONLY 32

// Block abandoned: the bytes follow as one text event, flagged recovered. Without this flag they are not text.
#define TOOLGLOT_FLAG_AS_TEXT 64

// Issue: an error. Otherwise a warning: worth knowing, nothing was lost.
#define TOOLGLOT_FLAG_ERROR 128

// Call close: the text broke a rule, but without leaving doubt about the call.
#define TOOLGLOT_FLAG_REPAIRED 256

// Call named: the name can still be taken back. A later call open of the block replaces it, or it is retracted when the block
// ends.
#define TOOLGLOT_FLAG_PROVISIONAL 512

// Block abandoned: it opened in a thought that goes on. The bytes follow as one reasoning event.
#define TOOLGLOT_FLAG_AS_REASONING 1024

// Opens blocks of calls.
#define TOOLGLOT_MARKER_OPEN 1

// Closes blocks of calls.
#define TOOLGLOT_MARKER_CLOSE 2

// Opens reasoning.
#define TOOLGLOT_MARKER_REASONING_OPEN 3

// Closes reasoning.
#define TOOLGLOT_MARKER_REASONING_CLOSE 4

// How text is delivered: `TOOLGLOT_TEXT_BYTES` (default) or `TOOLGLOT_TEXT_CHARS`.
#define TOOLGLOT_OPTION_TEXT 1

// What is kept of an open block: `TOOLGLOT_RETAIN_BLOCK` (default) or `TOOLGLOT_RETAIN_NONE`.
#define TOOLGLOT_OPTION_RETAIN 2

// Which calls count if API tool calls are given: `TOOLGLOT_PREFER_TEXT` (default), `..._NATIVE` or `..._BOTH`.
#define TOOLGLOT_OPTION_PREFER 3

// What to do with reasoning: `TOOLGLOT_REASONING_SPLIT` (default), `TOOLGLOT_REASONING_OFF` or
// `TOOLGLOT_REASONING_TEXT`.
#define TOOLGLOT_OPTION_REASONING 4

// 1: look for calls inside reasoning too. Default 0.
#define TOOLGLOT_OPTION_CALLS_IN_REASONING 5

// Whether code fences hide markers: `TOOLGLOT_FENCE_DIALECT` (default), `..._SKIP` or `..._ALLOW`.
#define TOOLGLOT_OPTION_FENCE 6

// What happens to a block in which the stream ends: `TOOLGLOT_UNCLOSED_DIALECT` (default), `..._DROP`, `..._TEXT` or
// `..._SALVAGE`.
#define TOOLGLOT_OPTION_UNCLOSED 7

// 1: markers of calls count only in `toolglot_stream_feed_special`. Default 0.
#define TOOLGLOT_OPTION_TRUSTED_ONLY 8

// Where the stream starts: `TOOLGLOT_START_DIALECT` (default), `..._TEXT` or `..._REASONING`. To start inside a call that the
// prompt opened, pass its opener to `toolglot_stream_prefill`.
#define TOOLGLOT_OPTION_START 9

// Which kinds of events are delivered: the sum of `TOOLGLOT_EVENT_BIT(kind)`. Default all. Disabled kinds cost nothing; the
// sinks of this header need all.
#define TOOLGLOT_OPTION_EVENTS 10

// 0: omit the bytes of the block from block close and block abandoned, which saves a copy. Default 1.
#define TOOLGLOT_OPTION_BLOCK_BYTES 11

// How the text of a value of unknown type is read, `TOOLGLOT_UNTYPED_...`.
#define TOOLGLOT_OPTION_UNTYPED 12

// What happens to a block that broke its grammar, if the stream ends before the block is closed: `TOOLGLOT_BROKEN_TEXT`
// (default) or `..._DROP`.
#define TOOLGLOT_OPTION_BROKEN 13

// What happens to a call whose tool is not declared: `TOOLGLOT_UNKNOWN_TOOL_SET` (default), `..._DELIVER`, `..._TEXT` or
// `..._DROP`.
#define TOOLGLOT_OPTION_UNKNOWN_TOOL 14

// 1: the turn that `toolglot_parse` creates keeps all that the model wrote, for `toolglot_turn_original`. Default 0. For turns
// made from batches use `toolglot_turn_keep_original`.
#define TOOLGLOT_OPTION_ORIGINAL 15

// Bytes of one parameter value. Default 8 MiB.
#define TOOLGLOT_OPTION_MAX_VALUE 32

// Bytes of one block, and so what is retained of it. Default 16 MiB.
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

// Bytes that a lookahead may hold back. Default 1024.
#define TOOLGLOT_OPTION_MAX_LOOKAHEAD 40

// Issues that are reported individually. Default 10000.
#define TOOLGLOT_OPTION_MAX_ISSUES 41

// Bytes of API tool calls that may wait for the end of the text. Default 1 MiB.
#define TOOLGLOT_OPTION_MAX_NATIVE 42

// The bytes as they arrived; an event may end inside a character.
#define TOOLGLOT_TEXT_BYTES 0

// Whole UTF-8 characters; invalid UTF-8 becomes U+FFFD. At most 3 bytes are held back for the rest of their character.
#define TOOLGLOT_TEXT_CHARS 1

// The bytes of an open block, up to its limit: an abandoned block can be given back as text.
#define TOOLGLOT_RETAIN_BLOCK 0

// Nothing: memory does not grow with the length of an argument.
#define TOOLGLOT_RETAIN_NONE 1

// Calls in the text; API tool calls only if the text had none.
#define TOOLGLOT_PREFER_TEXT 0

// API tool calls; from the first one on, markers in the text are text.
#define TOOLGLOT_PREFER_NATIVE 1

// Both, except API tool calls that repeat a call of the text.
#define TOOLGLOT_PREFER_BOTH 2

// Reasoning is a kind of event of its own.
#define TOOLGLOT_REASONING_SPLIT 0

// Reasoning markers are ignored.
#define TOOLGLOT_REASONING_OFF 1

// Reasoning is recognised, so that nothing in it is a call, but delivered as text, markers included.
#define TOOLGLOT_REASONING_TEXT 2

// As each dialect specifies.
#define TOOLGLOT_FENCE_DIALECT 0

// Markers in code are text.
#define TOOLGLOT_FENCE_SKIP 1

// Markers count everywhere.
#define TOOLGLOT_FENCE_ALLOW 2

// As each dialect specifies.
#define TOOLGLOT_UNCLOSED_DIALECT 0

// Its bytes are not text; the span of the issue says where they were.
#define TOOLGLOT_UNCLOSED_DROP 1

// Its bytes are text.
#define TOOLGLOT_UNCLOSED_TEXT 2

// Complete parts of it become recovered calls.
#define TOOLGLOT_UNCLOSED_SALVAGE 3

// As each dialect specifies.
#define TOOLGLOT_UNTYPED_DIALECT 0

// As a string.
#define TOOLGLOT_UNTYPED_STRING 1

// As the number, `true`, `false`, `null`, object or list that it spells as JSON; otherwise as a string.
#define TOOLGLOT_UNTYPED_JSON 2

// What was hidden after its last call comes back as text with `TOOLGLOT_FLAG_RECOVERED_TEXT`.
#define TOOLGLOT_BROKEN_TEXT 0

// It stays hidden.
#define TOOLGLOT_BROKEN_DROP 1

// It is delivered with a warning; with `toolglot_config_add_any` it is text.
#define TOOLGLOT_UNKNOWN_TOOL_SET 0

// It is delivered with a warning.
#define TOOLGLOT_UNKNOWN_TOOL_DELIVER 1

// A block without any other call is text with `TOOLGLOT_FLAG_RECOVERED_TEXT`; in a block with other calls it is left out.
#define TOOLGLOT_UNKNOWN_TOOL_TEXT 2

// It is left out, with an error.
#define TOOLGLOT_UNKNOWN_TOOL_DROP 3

// Inside reasoning if the prompts of a dialect open it, else in text.
#define TOOLGLOT_START_DIALECT 0

// In plain text.
#define TOOLGLOT_START_TEXT 1

// Inside reasoning that the prompt opened.
#define TOOLGLOT_START_REASONING 2

// The model stopped by itself.
#define TOOLGLOT_FINISH_STOP 0

// A length limit truncated it.
#define TOOLGLOT_FINISH_LENGTH 1

// It stopped to have tools called.
#define TOOLGLOT_FINISH_TOOL_CALLS 2

// The connection or the server failed.
#define TOOLGLOT_FINISH_ERROR 3

// The host cancelled it.
#define TOOLGLOT_FINISH_CANCELLED 4

// Reasoning is open: what follows is reasoning until its closer, or a call that ends it. Before the first byte: what the
// dialects, `TOOLGLOT_OPTION_START` and the prompt tail have opened.
#define TOOLGLOT_STATE_REASONING 1

// A marker or a block is open: bytes are held that may be the beginning of a marker, or a call is being written. Without this
// flag everything that was fed was delivered as text or reasoning, except an incomplete character, and nothing else is open.
#define TOOLGLOT_STATE_MARKER 2

// The stream is finished. Nothing is open then.
#define TOOLGLOT_STATE_FINISHED 4

// Bytes are held that may be a marker: the beginning of one, or a whole one whose following bytes decide what it is. At most
// one of this flag and the next two is set, and none outside markers and blocks.
#define TOOLGLOT_STATE_TAG_OPENING 8

// In a block, while a call of it is being written or its first call is still to come. Formats whose calls are assembled when
// their block ends stay in this state until then.
#define TOOLGLOT_STATE_TAG_CONTENT 16

// In a block, after a call of it: the block's closer follows, or a separator and the next call.
#define TOOLGLOT_STATE_TAG_CLOSING 32

// When calls are sent: 0 while they are written, with the last `}` once the call is final (default); 1 whole, when their block
// has closed.
#define TOOLGLOT_OPENAI_CALLS 1

// What happens to recovered calls: 0 they are withheld (default), 1 they are delivered like complete ones.
#define TOOLGLOT_OPENAI_RECOVERED 2

// 1: include protected regions in the content. Default 0.
#define TOOLGLOT_OPENAI_PROTECTED 3

// 1: the host forced a tool by name; the reason is then `stop` even if there is a call. Default 0.
#define TOOLGLOT_OPENAI_FORCED 4

// The seed of generated ids: equal seeds give equal ids. By default every response has its own.
#define TOOLGLOT_OPENAI_ID_SEED 5

// `created`: seconds since 1970. Default 0.
#define TOOLGLOT_OPENAI_CREATED 6

// `index` of the choice. Default 0.
#define TOOLGLOT_OPENAI_CHOICE 7

// 1: chunks are framed as server-sent events, `data: {...}` and an empty line, with `data: [DONE]` at the end (unless the
// output was cancelled). Default 0: one line each.
#define TOOLGLOT_OPENAI_SSE 8

// Text: `id` of the response. Default empty.
#define TOOLGLOT_OPENAI_ID 32

// Text: `model`. Default empty.
#define TOOLGLOT_OPENAI_MODEL 33

// Text: the member that holds reasoning; empty omits reasoning. Default `reasoning_content`.
#define TOOLGLOT_OPENAI_REASONING 34

// Text: the prefix of generated ids. Default `call_`.
#define TOOLGLOT_OPENAI_ID_PREFIX 35

// The library's own text is English.
#define TOOLGLOT_LANG_EN 0

// It is Chinese.
#define TOOLGLOT_LANG_ZH 1

// A list in OpenAI's form, for the `tools` of a request.
#define TOOLGLOT_TOOLS_OPENAI 0

// A plugin manifest, with everything that is known about them; `toolglot_tools_add` and the `tools` of an agent accept it.
#define TOOLGLOT_TOOLS_MANIFEST 1

// The run waits for the model's reply, or for its end.
#define TOOLGLOT_WAITS_MODEL 0

// It waits for decisions on calls, or for their results.
#define TOOLGLOT_WAITS_CALLS 1

// It is over.
#define TOOLGLOT_WAITS_NOTHING 2

// The whole run, for `toolglot_agent_restore`. Instructions that were not taken are not part of it: take them first.
#define TOOLGLOT_RUN_SAVED 0

// The conversation so far: a list of messages.
#define TOOLGLOT_RUN_MESSAGES 1

// What remains of calls that were started: a list of `{"id", "tool", "digest"}`.
#define TOOLGLOT_RUN_RECEIPTS 2

// How the run ended: `{"outcome": "answer", "text": ..}`; `null` if it has not ended.
#define TOOLGLOT_RUN_OUTCOME 3

// The response has the form of OpenAI's chat completions.
#define TOOLGLOT_SOURCE_OPENAI 0

// The form of Anthropic's messages.
#define TOOLGLOT_SOURCE_ANTHROPIC 1

// The form of Ollama's API.
#define TOOLGLOT_SOURCE_OLLAMA 2

// A block has no closer, or the next block began inside it. (error)
#define TOOLGLOT_ISSUE_UNCLOSED_BLOCK 1

// A value has no closer. (error)
#define TOOLGLOT_ISSUE_UNCLOSED_VALUE 2

// The stream ended inside reasoning. (error)
#define TOOLGLOT_ISSUE_UNCLOSED_REASONING 3

// A block names no tool. (error)
#define TOOLGLOT_ISSUE_MISSING_NAME 4

// A block is empty. (error)
#define TOOLGLOT_ISSUE_EMPTY_BLOCK 5

// Tags do not match. (error)
#define TOOLGLOT_ISSUE_MALFORMED_XML 6

// The arguments of an API tool call are not a JSON object. (error)
#define TOOLGLOT_ISSUE_MALFORMED_JSON 7

// The body breaks its grammar, or the name cannot be one. (error)
#define TOOLGLOT_ISSUE_MALFORMED_BODY 8

// A value begins like the JSON that its type requires and does not parse. (error)
#define TOOLGLOT_ISSUE_MALFORMED_VALUE 9

// The header of a message holds a word that no rule reads, or a message that is not a call ends as one. (error)
#define TOOLGLOT_ISSUE_MALFORMED_HEADER 10

// An action has no input, and its tool requires a parameter. (error)
#define TOOLGLOT_ISSUE_MISSING_INPUT 11

// A block was opened inside a broken one, which has become text and whose closer has not come. (error)
#define TOOLGLOT_ISSUE_NESTED_OPEN 12

// A document type declaration; it is never processed. (error)
#define TOOLGLOT_ISSUE_DTD_FORBIDDEN 13

// An unknown entity or character reference; kept as written. (warning)
#define TOOLGLOT_ISSUE_UNKNOWN_ENTITY 14

// Bytes in a block that belong to nothing. (error)
#define TOOLGLOT_ISSUE_JUNK_IN_BLOCK 15

// A Python expression that is not a literal. (error)
#define TOOLGLOT_ISSUE_UNSUPPORTED_EXPRESSION 16

// A parameter occurs more than once; the last one wins. (warning)
#define TOOLGLOT_ISSUE_DUPLICATE_PARAM 17

// A field whose number belongs to no step of its chain. (warning)
#define TOOLGLOT_ISSUE_ORPHAN_PARAM 18

// An unescaped `<` or `&`; kept as written. (warning)
#define TOOLGLOT_ISSUE_BARE_MARKUP 19

// An unconfirmed closer inside a value; it is content. (warning)
#define TOOLGLOT_ISSUE_AMBIGUOUS_CLOSE 20

// A quote inside a quoted value, a Python string or a single-quoted JSON string; it is content. (warning)
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

// A marker that opens nothing in any dialect that has it; it is text. (warning)
#define TOOLGLOT_ISSUE_LOOKALIKE_MARKER 28

// A result that the model wrote itself; it is hidden. (warning)
#define TOOLGLOT_ISSUE_HALLUCINATED_RESULT 29

// A final answer beside an action; it is hidden. (warning)
#define TOOLGLOT_ISSUE_FINAL_ANSWER_WITH_ACTION 30

// An action that deliberately names no tool. (warning)
#define TOOLGLOT_ISSUE_NULL_ACTION 31

// A value that opens with one spelling of its delimiter and closes with another. (warning)
#define TOOLGLOT_ISSUE_MIXED_DELIMITERS 32

// The tool is not declared. (warning)
#define TOOLGLOT_ISSUE_UNKNOWN_TOOL 33

// The tool has no such parameter. (warning)
#define TOOLGLOT_ISSUE_UNKNOWN_PARAM 34

// A required parameter is missing. (warning)
#define TOOLGLOT_ISSUE_MISSING_REQUIRED 35

// A value does not fit its schema and stays as written. (warning)
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

// There are more issues than `max_issues`; the rest are only counted. (warning)
#define TOOLGLOT_ISSUE_LIMIT_ISSUES 45

// API tool calls are longer than `max_native`. (error)
#define TOOLGLOT_ISSUE_LIMIT_NATIVE 46

// The stream ended inside a protected region. (warning)
#define TOOLGLOT_ISSUE_UNCLOSED_SPAN 47

// A call, or its section, has no opener. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_OPENER 48

// A closing tag is misspelt (`<\/x>`), or contains whitespace or attributes. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_CLOSE_TAG 49

// An opener in a misspelling that its models are known to write, or with whitespace or attributes in its tag. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_MARKER 50

// A comma before a closing bracket, or a missing one between two calls, members or items. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_COMMA 51

// Single quotes in JSON. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_QUOTES 52

// A Python literal in JSON (`True`, `None`, `0x1F`, `.5`), or a JSON literal in Python (`true`, `null`). (warning)
#define TOOLGLOT_ISSUE_REPAIRED_LITERAL 53

// A key without quotes in JSON. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_KEY 54

// An unescaped control character in a string. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_NEWLINE 55

// The arguments are in another form than the dialect writes: under a known synonym of its key, as a string, as one JSON
// object in place of parameters, or left out where the call's closer follows. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_ARGUMENTS 56

// A key beside name and arguments that no rule reads. (warning)
#define TOOLGLOT_ISSUE_EXTRA_KEY 57

// The arguments are attributes of the call's tag. (warning)
#define TOOLGLOT_ISSUE_ATTRIBUTE_ARGUMENTS 58

// The closer of a call with parameters between tags is missing where its section's closer follows the last one. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_CLOSER 59

// An opener or closer is repeated. (warning)
#define TOOLGLOT_ISSUE_REPEATED_MARKER 60

// A parameter occurs more than once, and the dialect's document says that the last one wins. (warning)
#define TOOLGLOT_ISSUE_REPEATED_PARAM 61

// The call follows a provisional closer, which may be part of a value. (warning)
#define TOOLGLOT_ISSUE_PROVISIONAL_CLOSE 62

// The call follows a block that broke inside a string. (warning)
#define TOOLGLOT_ISSUE_OPEN_STRING 63

// A later step of a chain whose earlier step broke. (error)
#define TOOLGLOT_ISSUE_NOT_RUN 64

// An escaped lone surrogate. (warning)
#define TOOLGLOT_ISSUE_LONE_SURROGATE 65

// The text holds a bare call of a declared tool; a hint. (warning)
#define TOOLGLOT_ISSUE_BARE_CALL 66

// Leading zeros of a number; they are left out. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_NUMBER 67

// A call of the text that was replaced by API tool calls, or an API tool call that was replaced by those of the text. (warning)
#define TOOLGLOT_ISSUE_REPLACED_CALL 68

// A backslash in a string that begins no escape; it is kept. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_ESCAPE 69

// A comment between two tokens of JSON, or white space that JSON lacks (a no-break or a full-width space); it is left out. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_SPACE 70

// A full-width comma or colon in JSON. (warning)
#define TOOLGLOT_ISSUE_REPAIRED_PUNCTUATION 71

// What runs share: dialect, tools, policy. One thread at a time. Runs keep what they need, so the agent may be freed before
// them.
typedef struct toolglot_agent toolglot_agent;

// A growing buffer that functions write results into: encoded calls, escaped text, snapshots, JSON. Reuse it: it keeps its
// memory. Arguments of such a function may be views of the contents that it replaces. One thread at a time.
typedef struct toolglot_buffer toolglot_buffer;

// A list of dialects from which an engine is made. One thread at a time, also in `toolglot_engine_new`.
typedef struct toolglot_config toolglot_config;

// Compiled dialects. Immutable: any number of threads may use one engine at once, and any number of streams can be made from
// it. Streams keep what they need, so the engine may be freed before them.
typedef struct toolglot_engine toolglot_engine;

// A writer for the chat completion of one output: chunks for a streamed response, or one object. The documentation of the Rust
// module `sink::openai` describes the order, the ids, `finish_reason` and how calls are retracted; above all, no client takes
// a retracted call for a complete one. One thread at a time.
typedef struct toolglot_openai toolglot_openai;

// How to parse streams: a list of settings, each with a default. Any number of threads may create streams with them at once;
// changing them requires exclusive access, and affects only streams created later.
typedef struct toolglot_options toolglot_options;

// A reader for the response of a model server. One thread at a time.
typedef struct toolglot_response toolglot_response;

// A conversation of a model with its tools. One thread at a time.
typedef struct toolglot_run toolglot_run;

// One model output, from its first byte to its end. One thread at a time; it may move between threads. A second thread that
// calls meanwhile gets `TOOLGLOT_E_BUSY`.
typedef struct toolglot_stream toolglot_stream;

// Definitions of tools that a model may call. Any number of threads may use them at once; a change requires exclusive access.
typedef struct toolglot_tools toolglot_tools;

// The contents of an output, collected: its text, its reasoning, its calls with whole arguments, its issues. One thread at a
// time. What it returns is valid until something is added to it, or it is reset or freed.
typedef struct toolglot_turn toolglot_turn;

// The result of a function: 0 for success, negative for a failure. Numbers are never reused; treat an unknown negative number
// as a failure. `toolglot_status_name` returns the name.
//
// If the failing function has a handle, the handle's `..._error` function returns one sentence about its last failure. A
// failure changes nothing unless the function says otherwise.
typedef int32_t toolglot_status;

// Bytes that belong to the library or to the host's chunk. Not NUL-terminated; may contain NUL bytes. `ptr` is never NULL in
// views from the library: an empty view points at an empty string.
//
// The function that returns a view states how long it is valid.
typedef struct toolglot_view {
  // The first byte.
  const char *ptr;
  // The number of bytes.
  size_t len;
} toolglot_view;

// A marker of the engine: for stop strings (closers), for tokens that a tokenizer must keep (all), and for starting
// constrained decoding (openers).
typedef struct toolglot_marker {
  // The marker. A tag is given up to its name, a pattern with holes (`$name`) up to the first one.
  struct toolglot_view text;
  // Id of its dialect.
  struct toolglot_view dialect;
  // One of `TOOLGLOT_MARKER_...`.
  uint32_t role;
  // 0.
  uint32_t reserved;
} toolglot_marker;

// One event of a stream: 64 bytes with 8-byte pointers.
//
// Every event has the absolute range `start..end` of the input bytes that it covers. Text, reasoning, protected regions, raw
// bytes and whole blocks are *leaves*: their ranges partition the input. Concatenated they are the input, byte for byte.
// Adjacent fragments of one kind may be split anywhere; concatenated they are the same for every chunking of the input.
//
// The meaning of the fields depends on `kind`; fields that a kind does not mention are 0, empty, or `TOOLGLOT_NO_CALL`. Skip
// events of unknown kinds, ignore unknown flags.
//
// The views are valid as long as the batch of the event: until the next call on its stream. They may point into the chunk that
// was fed, so the chunk must live as long.
typedef struct toolglot_event {
  // One of `TOOLGLOT_EVENT_...`.
  uint32_t kind;
  // `TOOLGLOT_FLAG_...`.
  uint32_t flags;
  // Number of the call in this stream, from 0, or `TOOLGLOT_NO_CALL`.
  uint32_t call;
  // Issue: its kind, `TOOLGLOT_ISSUE_...`. Parameter: its depth, 0 for a parameter of the call.
  uint32_t code;
  // Depends on the kind.
  struct toolglot_view data;
  // Depends on the kind.
  struct toolglot_view aux;
  // Offset of the first byte, counted from the first byte of the stream.
  uint64_t start;
  // Offset after the last byte.
  uint64_t end;
} toolglot_event;

// The events of one call, in order. Valid, with all views in its events, until the next call on its stream, and only as long
// as the chunk that was fed.
typedef struct toolglot_batch {
  // The first event. Never NULL, even if there are none.
  const struct toolglot_event *events;
  // The number of events.
  size_t len;
  // Bytes that were fed and are not in an event yet: the beginning of a marker, or bytes of a lookahead. There is no flush:
  // held bytes are undecided, and `toolglot_stream_finish` decides them.
  size_t held;
  // Total bytes fed so far.
  uint64_t position;
} toolglot_batch;

// A function of the host that takes an event. It returns 0 to continue, anything else to stop. It must return: no exception,
// no `longjmp`. Functions called with the same stream meanwhile return `TOOLGLOT_E_BUSY`.
typedef int32_t (*toolglot_callback)(void *user, const struct toolglot_event *event);

// What a format says about a call besides name and arguments, for example `id`.
typedef struct toolglot_detail {
  // The key.
  struct toolglot_view key;
  // The value.
  struct toolglot_view value;
} toolglot_detail;

// A call: 104 bytes with 8-byte pointers.
typedef struct toolglot_call {
  // Name of the tool.
  struct toolglot_view name;
  // JSON text of an object; numbers are spelled as the model spelled them. A repeated key has its last value.
  struct toolglot_view arguments;
  // Id of its dialect; empty for an API tool call.
  struct toolglot_view dialect;
  // Why it is not complete: kinds of issues, one byte each, ascending.
  struct toolglot_view kinds;
  // The first of its details.
  const struct toolglot_detail *details;
  // The number of details.
  size_t details_len;
  // Offset of its first byte.
  uint64_t start;
  // Offset after its last byte.
  uint64_t end;
  // Flags: complete, repaired or recovered (do not run it without asking); native.
  uint32_t flags;
  // Its number in the turn, from 0.
  uint32_t index;
} toolglot_call;

// One mistake in what the model wrote.
typedef struct toolglot_issue {
  // Its kind, `TOOLGLOT_ISSUE_...`.
  uint32_t code;
  // `TOOLGLOT_FLAG_ERROR`, or 0 for a warning.
  uint32_t flags;
  // One sentence for people.
  struct toolglot_view message;
  // What to tell the model.
  struct toolglot_view observation;
  // Id of the dialect that reports it, or empty.
  struct toolglot_view dialect;
  // Offset of its first byte.
  uint64_t start;
  // Offset after its last byte.
  uint64_t end;
} toolglot_issue;

// A function of the host that makes the id of a call: it writes at most `cap` bytes of UTF-8 to `out` and returns how many.
// `index` counts calls from 0. It is called if the format gave no id, or a repeated one; it must return unique ids. It must
// return: no exception, no `longjmp`.
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

// The ABI version of the library. `toolglot_config_new` compares it with the header's version. Any thread.
TOOLGLOT_API uint32_t toolglot_abi_version(void);

// The name of a status, NUL-terminated; `unknown` if there is no such status. Static. Any thread.
TOOLGLOT_API const char *toolglot_status_name(toolglot_status status);

// The name of a kind of event, NUL-terminated, for example `arg_delta`; `unknown` if there is no such kind. Static. Any
// thread.
TOOLGLOT_API const char *toolglot_event_name(uint32_t kind);

// The name of a kind of issue (`code` of an issue event), NUL-terminated, for example `unclosed_block`; `unknown` if there is
// no such kind. Static. Any thread.
TOOLGLOT_API
const char *toolglot_issue_name(uint32_t code);

// The number of streams in the process that were created and not freed: for leak checks. Any thread.
TOOLGLOT_API size_t toolglot_live_streams(void);

// Creates a config without dialects; the caller frees it. Pass `TOOLGLOT_ABI_VERSION` as `abi`. Returns `TOOLGLOT_E_ABI`, and
// leaves `*out` untouched, if the library has another ABI version.
TOOLGLOT_API
toolglot_status toolglot_config_new(uint32_t abi,
                                    struct toolglot_config **out);

// Adds a built-in dialect by its id or an alias, for example `hermes`. Its existence is checked when the engine is created. If
// one byte matches several dialects, the one added first has precedence. A config without dialects means the default set.
TOOLGLOT_API
toolglot_status toolglot_config_add_builtin(struct toolglot_config *config,
                                            const void *id,
                                            size_t len);

// Adds every dialect of the default set that was not added yet: those that cannot fire on ordinary prose or code.
TOOLGLOT_API toolglot_status toolglot_config_add_defaults(struct toolglot_config *config);

// Adds every tool-call dialect that is compatible with those already added, for outputs of unknown format: also bare and
// fenced JSON, bare lists, and tags named after tools. Only calls of declared tools count (`toolglot_options_set_tools`):
// without tools, dialects without a marker of their own find nothing; with tools, calls of other tools are text unless
// `TOOLGLOT_OPTION_UNKNOWN_TOOL` says otherwise.
TOOLGLOT_API
toolglot_status toolglot_config_add_any(struct toolglot_config *config);

// Adds a dialect of the host: the text of a TOML file as described in `docs/DIALECTS.md`. `origin` identifies it in messages
// and may be empty. The text is copied; it is parsed when the engine is created.
TOOLGLOT_API
toolglot_status toolglot_config_add_toml(struct toolglot_config *config,
                                         const void *origin,
                                         size_t origin_len,
                                         const void *toml,
                                         size_t toml_len);

// Enables a named variation of a dialect that was or will be added, for example `vcp` and `fuzzy`.
TOOLGLOT_API
toolglot_status toolglot_config_switch(struct toolglot_config *config,
                                       const void *dialect,
                                       size_t dialect_len,
                                       const void *name,
                                       size_t name_len);

// One sentence about the last failure on this config, or of `toolglot_engine_new` with it; empty if there was none. Valid
// until the next call with the config.
TOOLGLOT_API
struct toolglot_view toolglot_config_error(const struct toolglot_config *config);

// Frees the config. Engines made from it remain valid. NULL is allowed.
TOOLGLOT_API void toolglot_config_free(struct toolglot_config *config);

// Adds the dialects of a model by its chat template: the text of a template, of a `tokenizer_config.json` or of the answer of
// llama.cpp's `/props`, or a GGUF file, of which the metadata suffices. They are the built-in dialects that read everything that
// the template writes, or else one that is made of it, with the id `derived`; `toolglot_engine_dialects` tells which. Takes some
// tens of milliseconds for most templates. Returns `TOOLGLOT_E_DIALECT`, and adds nothing, for an invalid template, one that
// writes no calls, or one that no dialect reads; `toolglot_config_error` says why.
TOOLGLOT_API
toolglot_status toolglot_config_add_template(struct toolglot_config *config,
                                             const void *source,
                                             size_t len);

// Compiles the dialects of a config, or the default set if `config` is NULL. The caller keeps the config, and frees the
// engine. On `TOOLGLOT_E_DIALECT`, `toolglot_config_error` says which key of which dialect is wrong and why. Takes
// a few milliseconds for the default set, whose dialects are built when a stream first meets them.
TOOLGLOT_API toolglot_status toolglot_engine_new(const struct toolglot_config *config, struct toolglot_engine **out);

// The markers of the engine, in the order of its dialects: `*markers` is set to the first of `*len`. They live as long as the
// engine. The first call takes some ten milliseconds for the default set, whose dialects it builds.
TOOLGLOT_API
toolglot_status toolglot_engine_markers(const struct toolglot_engine *engine,
                                        const struct toolglot_marker **markers,
                                        size_t *len);

// The ids of the engine's dialects, in order: `*ids` is set to the first of `*len`. They live as long as the engine.
TOOLGLOT_API
toolglot_status toolglot_engine_dialects(const struct toolglot_engine *engine,
                                         const struct toolglot_view **ids,
                                         size_t *len);

// The maximum number of bytes of text that a stream with default limits holds back. 0 if `engine` is NULL.
TOOLGLOT_API size_t toolglot_engine_bound(const struct toolglot_engine *engine);

// The id of a built-in dialect by its index, from 0; empty if the index is too large. Static. Any thread.
TOOLGLOT_API struct toolglot_view toolglot_builtin_dialect(size_t number);

// The built-in dialects in which a model writes its calls, by the model's name (that of its publisher, of a server or of a
// file): the id of one by its index, from 0; empty if the index is too large, or no dialect is known for the name. Most models
// have one; those of one model are compatible in one engine. Static. Any thread.
TOOLGLOT_API
struct toolglot_view toolglot_model_dialect(const void *name,
                                            size_t len,
                                            size_t number);

// The built-in dialect that reads a model's reasoning alone. Where a dialect of its calls reads the reasoning as well, an engine
// with both is refused (`TOOLGLOT_E_DIALECT`): leave this one out. Empty if there is none. Static. Any thread.
TOOLGLOT_API
struct toolglot_view toolglot_model_reasoning(const void *name,
                                              size_t len);

// Frees the engine and its markers. Its streams remain valid. NULL is allowed.
TOOLGLOT_API void toolglot_engine_free(struct toolglot_engine *engine);

// Creates options with all defaults; the caller frees them.
TOOLGLOT_API toolglot_status toolglot_options_new(struct toolglot_options **out);

// Sets one option, `TOOLGLOT_OPTION_...`. Returns `TOOLGLOT_E_ARG`, and changes nothing, if the library does not know the
// option or the value.
TOOLGLOT_API
toolglot_status toolglot_options_set(struct toolglot_options *options,
                                     uint32_t option,
                                     uint64_t value);

// Sets what the request says about calls, its `tool_choice`: one of the words `auto` (default), `none` and `required`, or the
// JSON text of `{"type": "function", "function": {"name": ..}}`. With `none`, markers of calls are text. With `required` or a
// named tool the output may be constrained: a bare call, a bare list of calls, or the bare arguments of the named tool. An
// empty text means `auto`.
TOOLGLOT_API
toolglot_status toolglot_options_set_tool_choice(struct toolglot_options *options,
                                                 const void *choice,
                                                 size_t len);

// Sets the declared tools: a JSON array of `{"name", "parameters": JSON Schema}`, or OpenAI's `{"type": "function",
// "function": {...}}`. They give types to untyped text, correct the spelling of keys, and cause warnings about undeclared
// tools. An empty text means no tools. The text is read only now; streams share the result.
//
// An invalid definition, or one that repeats an earlier name, is left out; `toolglot_options_tool_issues` says which, and the
// others count. If none of the definitions can be read, the result is `TOOLGLOT_E_ARG`.
TOOLGLOT_API
toolglot_status toolglot_options_set_tools(struct toolglot_options *options,
                                           const void *json,
                                           size_t len);

// The problems of the list of tools that was set last, one sentence each: what was left out or ignored, and where. `*issues`
// is set to the first of `*len`. They are valid until tools are set again, or the options are freed.
TOOLGLOT_API
toolglot_status toolglot_options_tool_issues(const struct toolglot_options *options,
                                             const struct toolglot_view **issues,
                                             size_t *len);

// Gives the prompt, or the end of it: at most its last 4 KiB are kept. The reply continues what they have opened (reasoning, a
// message, its header, a call). `TOOLGLOT_OPTION_START` other than `..._DIALECT` and `toolglot_stream_prefill` take
// precedence. An empty text removes it.
TOOLGLOT_API
toolglot_status toolglot_options_set_prompt_tail(struct toolglot_options *options,
                                                 const void *prompt,
                                                 size_t len);

// One sentence about the last failure on these options; empty if there was none. Valid until the next call with them.
TOOLGLOT_API struct toolglot_view toolglot_options_error(const struct toolglot_options *options);

// Frees the options. Streams made with them remain valid. NULL is allowed.
TOOLGLOT_API void toolglot_options_free(struct toolglot_options *options);

// Creates a stream from an engine; the caller frees it. `options` may be NULL for all defaults; they are copied (tools are
// shared). Any thread. Cheap: no allocation grows with the dialects.
TOOLGLOT_API
toolglot_status toolglot_stream_new(const struct toolglot_engine *engine,
                                    const struct toolglot_options *options,
                                    struct toolglot_stream **out);

// Feeds the next bytes of the output, in chunks of any size, even splitting a character, and returns their events. An empty
// chunk changes nothing. `*out` is valid until the next call with this stream; `data` must live as long as `*out` is used,
// because views may point into it. On failure `*out` is untouched.
//
// Linear in `len`. Text costs no allocation.
TOOLGLOT_API
toolglot_status toolglot_stream_feed(struct toolglot_stream *stream,
                                     const void *data,
                                     size_t len,
                                     struct toolglot_batch *out);

// As `toolglot_stream_feed`, for the bytes of one special token that the host knows by its id. A marker that lies wholly
// within them also counts if `TOOLGLOT_OPTION_TRUSTED_ONLY` requires the host to vouch for it.
TOOLGLOT_API
toolglot_status toolglot_stream_feed_special(struct toolglot_stream *stream,
                                             const void *data,
                                             size_t len,
                                             struct toolglot_batch *out);

// As `toolglot_stream_feed`, for what the prompt already contains of the reply, for example the opener of a forced call. It is
// parsed and counts in offsets, but text and reasoning in it are not delivered.
TOOLGLOT_API
toolglot_status toolglot_stream_prefill(struct toolglot_stream *stream,
                                        const void *data,
                                        size_t len,
                                        struct toolglot_batch *out);

// Takes API tool calls of the response: OpenAI's `tool_calls`, a JSON array. `TOOLGLOT_OPTION_PREFER` determines when they are
// delivered.
TOOLGLOT_API
toolglot_status toolglot_stream_native_calls(struct toolglot_stream *stream,
                                             const void *json,
                                             size_t len,
                                             struct toolglot_batch *out);

// Ends the output: held bytes are delivered, and whatever is open is reported. `reason` is one of `TOOLGLOT_FINISH_...`.
// Afterwards the stream accepts nothing more (`TOOLGLOT_E_STATE`) until it is reset.
TOOLGLOT_API
toolglot_status toolglot_stream_finish(struct toolglot_stream *stream,
                                       uint32_t reason,
                                       struct toolglot_batch *out);

// `toolglot_stream_feed` with a callback: `take` gets each event, in order. If it does not return 0, no further event is
// delivered and the result is `TOOLGLOT_E_STOPPED`; all bytes were consumed nevertheless, and `toolglot_stream_rest` returns
// the other events.
TOOLGLOT_API
toolglot_status toolglot_stream_feed_each(struct toolglot_stream *stream,
                                          const void *data,
                                          size_t len,
                                          toolglot_callback take,
                                          void *user);

// `toolglot_stream_finish` with a callback, like `toolglot_stream_feed_each`.
TOOLGLOT_API
toolglot_status toolglot_stream_finish_each(struct toolglot_stream *stream,
                                            uint32_t reason,
                                            toolglot_callback take,
                                            void *user);

// The events of the last call that no callback has taken: after a callback that stopped, the remaining ones; after a call
// without a callback, all of them again. Valid as long as the batch of that call.
TOOLGLOT_API
toolglot_status toolglot_stream_rest(struct toolglot_stream *stream,
                                     struct toolglot_batch *out);

// The state of the stream between two chunks: `*flags` is set to the sum of `TOOLGLOT_STATE_...`. The last batch remains
// valid.
TOOLGLOT_API
toolglot_status toolglot_stream_state(const struct toolglot_stream *stream,
                                      uint32_t *flags);

// Starts over with the same options, for another output. Keeps memory and no data.
TOOLGLOT_API toolglot_status toolglot_stream_reset(struct toolglot_stream *stream);

// Creates a second stream in the same state; the caller frees it. It allows continuing from here twice, or returning to this
// point. Linear in the bytes of the open block. The copy has no batch.
TOOLGLOT_API
toolglot_status toolglot_stream_clone(const struct toolglot_stream *stream,
                                      struct toolglot_stream **out);

// Writes the state of the stream into a buffer, to continue from it later or on another machine. It contains what the stream
// remembers and nothing that it has delivered: it does not grow with the output, only with the bytes of an open block.
TOOLGLOT_API
toolglot_status toolglot_stream_snapshot(const struct toolglot_stream *stream,
                                         struct toolglot_buffer *buffer);

// Restores the state of a snapshot, which must be of a stream with the same dialects, options and library version; otherwise
// the result is `TOOLGLOT_E_SNAPSHOT`, and the stream is unchanged. Invalidates the last batch.
TOOLGLOT_API
toolglot_status toolglot_stream_restore(struct toolglot_stream *stream,
                                        const void *data,
                                        size_t len);

// One sentence about the last failure on this stream; empty if there was none, and while another thread uses the stream. Valid
// until the next call with the stream.
TOOLGLOT_API
struct toolglot_view toolglot_stream_error(const struct toolglot_stream *stream);

// Frees the stream, its batch and all views into it. NULL is allowed. It may be called inside a callback of this stream: the
// stream is then freed when the call that called back returns.
TOOLGLOT_API
void toolglot_stream_free(struct toolglot_stream *stream);

// Creates an empty buffer; the caller frees it.
TOOLGLOT_API toolglot_status toolglot_buffer_new(struct toolglot_buffer **out);

// The contents of the buffer: the result of the last successful function that was given it. Valid until the buffer is given to
// the next function. Empty if `buffer` is NULL.
TOOLGLOT_API
struct toolglot_view toolglot_buffer_view(const struct toolglot_buffer *buffer);

// One sentence about the last failure of a function that was given this buffer; empty if there was none. Valid until the
// buffer is given to the next function.
TOOLGLOT_API
struct toolglot_view toolglot_buffer_error(const struct toolglot_buffer *buffer);

// Replaces the contents of the buffer with bytes of the host, or with a part of those contents. Linear.
TOOLGLOT_API toolglot_status toolglot_buffer_set(struct toolglot_buffer *buffer, const void *data, size_t len);

// Frees the buffer and invalidates every view into it. NULL is allowed.
TOOLGLOT_API void toolglot_buffer_free(struct toolglot_buffer *buffer);

// Creates an empty turn, to be filled with the batches of a stream; the caller frees it.
TOOLGLOT_API toolglot_status toolglot_turn_new(struct toolglot_turn **out);

// Prevents the text from being read as a call by another reader of this engine's dialects, for hosts that send it on without
// the calls: text that comes back from a retracted block is escaped (`toolglot_escape`), and text around a removed call does
// not join to form a marker. Without it the text is verbatim. NULL for `engine` disables it. This empties the turn and is kept
// across `toolglot_turn_reset`; the engine may be freed.
TOOLGLOT_API
toolglot_status toolglot_turn_guard(struct toolglot_turn *turn,
                                    const struct toolglot_engine *engine);

// Keeps all that the model wrote, markup included, for `toolglot_turn_original`: as much memory again as the output is long.
// `keep` is 1, or 0 to disable it. This empties the turn and is kept across `toolglot_turn_reset`. For `toolglot_parse` use
// `TOOLGLOT_OPTION_ORIGINAL`.
TOOLGLOT_API
toolglot_status toolglot_turn_keep_original(struct toolglot_turn *turn,
                                            uint32_t keep);

// Adds the events of a batch, which must still be valid. Give it every batch of one stream in order, with all kinds of events.
TOOLGLOT_API
toolglot_status toolglot_turn_add(struct toolglot_turn *turn,
                                  const struct toolglot_batch *batch);

// Adds hints to a finished turn without calls: an issue (`TOOLGLOT_ISSUE_BARE_CALL`) for each call of a declared tool in its
// text that no dialect of the engine has read. `options` say which tools are declared; the problems of their list are in
// `toolglot_turn_tool_issues` from now on. `toolglot_parse` has done this already.
TOOLGLOT_API
toolglot_status toolglot_turn_hint(struct toolglot_turn *turn,
                                   const struct toolglot_options *options);

// Parses a whole output into a new turn; the caller frees it. `options` may be NULL; `reason` is one of `TOOLGLOT_FINISH_...`.
// The result equals that of a stream fed with the output in any chunks. Any thread.
TOOLGLOT_API
toolglot_status toolglot_parse(const struct toolglot_engine *engine,
                               const struct toolglot_options *options,
                               const void *data,
                               size_t len,
                               uint32_t reason,
                               struct toolglot_turn **out);

// The text outside calls and reasoning, concatenated: the bytes as they arrived, not necessarily UTF-8. Empty if `turn` is
// NULL.
TOOLGLOT_API
struct toolglot_view toolglot_turn_text(const struct toolglot_turn *turn);

// The reasoning, concatenated, without its markers. Empty if `turn` is NULL.
TOOLGLOT_API struct toolglot_view toolglot_turn_reasoning(const struct toolglot_turn *turn);

// The calls that closed and were not retracted, in order: `*calls` is set to the first of `*len`. Linear in the calls and
// issues of the turn if something was added since the last query.
TOOLGLOT_API
toolglot_status toolglot_turn_calls(const struct toolglot_turn *turn,
                                    const struct toolglot_call **calls,
                                    size_t *len);

// The open call, with its arguments so far: JSON text, final as far as it goes, and no grade yet. `*call` is set to NULL if no
// call is open, and for formats whose calls open only when their block ends. Cost: that of `toolglot_turn_calls`.
TOOLGLOT_API
toolglot_status toolglot_turn_open_call(const struct toolglot_turn *turn,
                                        const struct toolglot_call **call);

// The issues, errors and warnings, in order of detection: `*issues` is set to the first of `*len`.
TOOLGLOT_API
toolglot_status toolglot_turn_issues(const struct toolglot_turn *turn,
                                     const struct toolglot_issue **issues,
                                     size_t *len);

// What a host does not get, or should not act on without asking, as JSON text: recovered calls, and bytes of dropped blocks.
// `{"withheld": [{"name", "kinds", "span"}], "dropped": [{"span", "kinds"}]}`; kinds by their names, spans as `[start, end]`.
// Empty if there is nothing to report.
TOOLGLOT_API
toolglot_status toolglot_turn_not_delivered(const struct toolglot_turn *turn,
                                            struct toolglot_view *json);

// All that the model wrote, markup included: the bytes as they arrived. `*kept` is set to 1 if `toolglot_turn_keep_original`
// or `TOOLGLOT_OPTION_ORIGINAL` asked for it and all of it was retained; otherwise to 0, and the text is empty: a block of a
// stream with `TOOLGLOT_RETAIN_NONE`, or without `TOOLGLOT_OPTION_BLOCK_BYTES`, has no bytes to keep.
TOOLGLOT_API
toolglot_status toolglot_turn_original(const struct toolglot_turn *turn,
                                       struct toolglot_view *original,
                                       uint32_t *kept);

// The problems of the list of tools that was given to `toolglot_parse` or `toolglot_turn_hint`, one sentence each, like
// `toolglot_options_tool_issues`: `*issues` is set to the first of `*len`.
TOOLGLOT_API
toolglot_status toolglot_turn_tool_issues(const struct toolglot_turn *turn,
                                          const struct toolglot_view **issues,
                                          size_t *len);

// Empties the turn for another output.
TOOLGLOT_API toolglot_status toolglot_turn_reset(struct toolglot_turn *turn);

// One sentence about the last failure on this turn; empty if there was none.
TOOLGLOT_API struct toolglot_view toolglot_turn_error(const struct toolglot_turn *turn);

// Frees the turn and everything that it returned. NULL is allowed.
TOOLGLOT_API void toolglot_turn_free(struct toolglot_turn *turn);

// Creates a writer with all defaults; the caller frees it.
TOOLGLOT_API toolglot_status toolglot_openai_new(struct toolglot_openai **out);

// Sets a numeric option, `TOOLGLOT_OPENAI_...`, before the response begins (else `TOOLGLOT_E_STATE`).
TOOLGLOT_API toolglot_status toolglot_openai_set(struct toolglot_openai *openai, uint32_t option, uint64_t value);

// Sets a text option, `TOOLGLOT_OPENAI_...`, before the response begins (else `TOOLGLOT_E_STATE`). The text is copied.
TOOLGLOT_API
toolglot_status toolglot_openai_set_text(struct toolglot_openai *openai,
                                         uint32_t option,
                                         const void *text,
                                         size_t len);

// Lets the host make ids of calls. Set it before the response begins (else `TOOLGLOT_E_STATE`). NULL for `rule` returns to
// generated ids. `user` is passed to every call of `rule` and must live as long as the writer.
TOOLGLOT_API
toolglot_status toolglot_openai_set_ids(struct toolglot_openai *openai,
                                        toolglot_id_callback rule,
                                        void *user);

// Prevents the content of responses from being read as a call by another reader of this engine's dialects, like
// `toolglot_turn_guard` for a turn (`toolglot_openai_completion` takes its content from the turn). Set it before the response
// begins (else `TOOLGLOT_E_STATE`); it stays set for later responses. NULL for `engine` disables it; the engine may be freed.
TOOLGLOT_API
toolglot_status toolglot_openai_guard(struct toolglot_openai *openai,
                                      const struct toolglot_engine *engine);

// Writes the chunks for a batch into the buffer, replacing its contents; often there are none. Give it every batch of one
// stream in order, with all kinds of events.
TOOLGLOT_API
toolglot_status toolglot_openai_write(struct toolglot_openai *openai,
                                      const struct toolglot_batch *batch,
                                      struct toolglot_buffer *buffer);

// Ends the response: writes its last chunks, with `finish_reason`, into the buffer. The writer is then ready for the next
// response. `reason` is one of `TOOLGLOT_FINISH_...`, the one that the stream was finished with.
TOOLGLOT_API
toolglot_status toolglot_openai_finish(struct toolglot_openai *openai,
                                       uint32_t reason,
                                       struct toolglot_buffer *buffer);

// Writes a turn as one `chat.completion` object into the buffer, with the settings of the writer (except ids made by the
// host). `reason` is one of `TOOLGLOT_FINISH_...`.
TOOLGLOT_API
toolglot_status toolglot_openai_completion(struct toolglot_openai *openai,
                                           const struct toolglot_turn *turn,
                                           uint32_t reason,
                                           struct toolglot_buffer *buffer);

// One sentence about the last failure on this writer; empty if there was none.
TOOLGLOT_API struct toolglot_view toolglot_openai_error(const struct toolglot_openai *openai);

// Frees the writer. NULL is allowed.
TOOLGLOT_API void toolglot_openai_free(struct toolglot_openai *openai);

// Writes calls into the buffer as a dialect of the engine spells them: what a model would have written. `dialect` is its id;
// `calls` is OpenAI's `tool_calls`, a JSON array; `options` (limits and tools with which the text will be parsed) may be NULL.
// The text parses to the same calls. A call that the dialect cannot express gives `TOOLGLOT_E_ENCODE`, and the buffer's error
// says which value and why; a dialect that the engine does not have gives `TOOLGLOT_E_DIALECT`. Fastest with an engine of this
// dialect alone. Any thread, with its own buffer.
TOOLGLOT_API
toolglot_status toolglot_encode(const struct toolglot_engine *engine,
                                const struct toolglot_options *options,
                                const void *dialect,
                                size_t dialect_len,
                                const void *calls,
                                size_t calls_len,
                                struct toolglot_buffer *buffer);

// Writes untrusted text (a tool's result, a user's message) into the buffer so that it contains none of the engine's markers.
// Text without markers is unchanged. `toolglot_unescape` restores it. Linear. Any thread, with its own buffer.
TOOLGLOT_API
toolglot_status toolglot_escape(const struct toolglot_engine *engine,
                                const void *data,
                                size_t len,
                                struct toolglot_buffer *buffer);

// Reverses `toolglot_escape`, with an engine of the same dialects.
TOOLGLOT_API
toolglot_status toolglot_unescape(const struct toolglot_engine *engine,
                                  const void *data,
                                  size_t len,
                                  struct toolglot_buffer *buffer);

// Creates an empty list; the caller frees it.
TOOLGLOT_API toolglot_status toolglot_tools_new(struct toolglot_tools **out);

// Adds definitions from JSON text: a list in OpenAI's or Anthropic's form, the result of MCP's `tools/list`, or a plugin
// manifest. All of them may be called. Returns `TOOLGLOT_E_ARG`, and adds nothing, for anything else or for a repeated name.
TOOLGLOT_API
toolglot_status toolglot_tools_add(struct toolglot_tools *tools,
                                   const void *json,
                                   size_t len);

// Writes the definitions into the buffer as JSON. `form` is one of `TOOLGLOT_TOOLS_...`.
TOOLGLOT_API
toolglot_status toolglot_tools_json(const struct toolglot_tools *tools,
                                    uint32_t form,
                                    struct toolglot_buffer *buffer);

// Writes instructions for the model's system message into the buffer: how to write calls of the tools in a dialect of the
// engine. `lang` is one of `TOOLGLOT_LANG_...`. Returns `TOOLGLOT_E_DIALECT` for a dialect that the engine does not have, or
// that has no calls.
TOOLGLOT_API
toolglot_status toolglot_tools_prompt(const struct toolglot_tools *tools,
                                      const struct toolglot_engine *engine,
                                      const void *dialect,
                                      size_t dialect_len,
                                      uint32_t lang,
                                      struct toolglot_buffer *buffer);

// Writes into the buffer, as JSON, whether a call may be carried out: `{"tool", "name", "valid", "arguments", "changes",
// "violations", "observation"}`, with the arguments to pass on and, if it is not valid, what to tell the model. `arguments` is
// the JSON text of the call. `dialect` is that of the call, for the wording of the observation; `engine` may be NULL.
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

// Writes the message that tells a model the results of its calls into the buffer, as JSON: `{"role", "content"}`. `results` is
// a JSON list of `{"id", "name", "status", "content"}`; the default status is `success`. Text that looks like a marker of the
// engine is escaped.
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

// Frees the tools. NULL is allowed.
TOOLGLOT_API void toolglot_tools_free(struct toolglot_tools *tools);

// Creates an agent without contents; fill it with `toolglot_agent_read`. The caller frees it.
TOOLGLOT_API toolglot_status toolglot_agent_new(struct toolglot_agent **out);

// Reads the description of an agent, a JSON text, with a dialect of the engine: `{"dialect", "tools", "policy", "config",
// "shape", "lang", "recovered", "references", "max_concurrent", "grammar"}`. Only the first member is required; without a
// policy nothing runs. See docs/AGENT.md. `options` (limits) may be NULL; the engine may be freed. Returns `TOOLGLOT_E_ARG`
// for an invalid description, `TOOLGLOT_E_DIALECT` for a dialect that the engine does not have, or that has no calls.
TOOLGLOT_API
toolglot_status toolglot_agent_read(struct toolglot_agent *agent,
                                    const struct toolglot_engine *engine,
                                    const struct toolglot_options *options,
                                    const void *form,
                                    size_t len);

// Creates a run that continues a conversation; the caller frees it. `messages` is a JSON list of `{"role", "content"}`.
TOOLGLOT_API
toolglot_status toolglot_agent_run(const struct toolglot_agent *agent,
                                   const void *messages,
                                   size_t len,
                                   struct toolglot_run **out);

// Creates a workflow, a run without a model; the caller frees it. `steps` is a JSON list of calls, `{"tool", "arguments"}`,
// that run one after the other.
TOOLGLOT_API
toolglot_status toolglot_agent_steps(const struct toolglot_agent *agent,
                                     const void *steps,
                                     size_t len,
                                     struct toolglot_run **out);

// Restores a saved run, with an agent of the same dialect; the caller frees it. Decisions on waiting calls are asked for
// again; each call that was started gets a `recall`. Returns `TOOLGLOT_E_SNAPSHOT` if the text is not a saved run.
TOOLGLOT_API
toolglot_status toolglot_agent_restore(const struct toolglot_agent *agent,
                                       const void *saved,
                                       size_t len,
                                       struct toolglot_run **out);

// One sentence about the last failure on this agent; empty if there was none.
TOOLGLOT_API struct toolglot_view toolglot_agent_error(const struct toolglot_agent *agent);

// Frees the agent. Its runs remain valid. NULL is allowed.
TOOLGLOT_API void toolglot_agent_free(struct toolglot_agent *agent);

// Feeds bytes of the model's reply to the run, in chunks of any size. Returns `TOOLGLOT_E_STATE` if the model was not asked,
// or its reply has ended.
TOOLGLOT_API
toolglot_status toolglot_run_model(struct toolglot_run *run,
                                   const void *data,
                                   size_t len);

// Tells the run anything else, as a JSON object with one member: `{"ended": "stop"}`, `{"failed": why}`, `{"native":
// tool_call}`, `{"gap": why}`, `{"refused": [name, kind, why]}`, `{"decision": [id, "approve"]}` (or `{"edit": arguments}`,
// `{"deny": reason}`), `{"progress": [id, text]}`, `{"done": {"id", "name", "status", "content"}}`, `{"lost": id}`, `{"begun": [id,
// task]}`, `{"later": result}`, `{"tick": milliseconds}`, `{"ask_again": null}`, `{"cancel": null}`. Returns `TOOLGLOT_E_STATE` if it
// is too late or too early for that; nothing changes then.
TOOLGLOT_API
toolglot_status toolglot_run_tell(struct toolglot_run *run,
                                  const void *what,
                                  size_t len);

// Returns the next instruction, a JSON object: `{"do": "ask", "messages": ..}`, `"confirm"`, `"start"`, `"abort"`, `"recall"`,
// `"event"`, `"finished"`. Empty if there is none until the run is told something else. Valid until the next call on the run.
TOOLGLOT_API
toolglot_status toolglot_run_take(struct toolglot_run *run,
                                  struct toolglot_view *out);

// What the run waits for once there are no instructions: `*waits` is set to one of `TOOLGLOT_WAITS_...`, `*now` to the latest
// time that the run was told, and `*deadline` to the time at which it must be told the time again (`UINT64_MAX`: never).
TOOLGLOT_API
toolglot_status toolglot_run_waits(const struct toolglot_run *run,
                                   uint32_t *waits,
                                   uint64_t *now,
                                   uint64_t *deadline);

// Writes a part of the run into the buffer, as JSON: `what` is one of `TOOLGLOT_RUN_...`.
TOOLGLOT_API
toolglot_status toolglot_run_write(const struct toolglot_run *run,
                                   uint32_t what,
                                   struct toolglot_buffer *buffer);

// One sentence about the last failure on this run; empty if there was none.
TOOLGLOT_API struct toolglot_view toolglot_run_error(const struct toolglot_run *run);

// Frees the run. NULL is allowed.
TOOLGLOT_API void toolglot_run_free(struct toolglot_run *run);

// Creates a reader for one response; the caller frees it. `source` is one of `TOOLGLOT_SOURCE_...`.
TOOLGLOT_API toolglot_status toolglot_response_new(uint32_t source, struct toolglot_response **out);

// Feeds bytes of the response, in chunks of any size, and writes what they contain into the buffer: lines, each for
// `toolglot_run_tell`. The last one is `{"ended": ..}` or `{"failed": ..}`.
TOOLGLOT_API
toolglot_status toolglot_response_feed(struct toolglot_response *response,
                                       const void *data,
                                       size_t len,
                                       struct toolglot_buffer *buffer);

// Ends the response, and writes the remaining lines into the buffer, like `toolglot_response_feed`.
TOOLGLOT_API
toolglot_status toolglot_response_finish(struct toolglot_response *response,
                                         struct toolglot_buffer *buffer);

// Frees the response. NULL is allowed.
TOOLGLOT_API void toolglot_response_free(struct toolglot_response *response);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TOOLGLOT_H */
