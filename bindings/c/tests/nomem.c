/* Out of memory: whichever allocation fails, alone or with all later ones, the process survives, the result is
 * TOOLGLOT_E_NOMEM or the same as without failures, nothing leaks, and objects created once memory is back work.
 *
 *     nomem [STEP]      every STEP-th allocation if there are many (default 1: every one)
 *
 * Linked with --wrap. Each failure runs in a separate process, so that a crash is detected. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* In scenarios with fewer allocations each one fails once. */
#define MANY 300
/* In those with more than this, rarely one does. */
#define DEEP 100000

static size_t allocations, fail_at, live;
static int fail_after;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
int __real_posix_memalign(void **out, size_t align, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void __real_free(void *old);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
int __wrap_posix_memalign(void **out, size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void __wrap_free(void *old);

static int refused(void) {
  allocations++;
  return fail_at != 0 && (fail_after ? allocations >= fail_at : allocations == fail_at);
}

static void *counted(void *new) {
  live += new != NULL;
  return new;
}

void *__wrap_malloc(size_t size) { return refused() ? NULL : counted(__real_malloc(size)); }

void *__wrap_calloc(size_t count, size_t size) { return refused() ? NULL : counted(__real_calloc(count, size)); }

void *__wrap_realloc(void *old, size_t size) {
  void *new;
  if (refused()) return NULL;
  new = __real_realloc(old, size);
  live += old == NULL && new != NULL;
  return new;
}

int __wrap_posix_memalign(void **out, size_t align, size_t size) {
  int status = refused() ? ENOMEM : __real_posix_memalign(out, align, size);
  live += status == 0;
  return status;
}

void *__wrap_aligned_alloc(size_t align, size_t size) {
  return refused() ? NULL : counted(__real_aligned_alloc(align, size));
}

void __wrap_free(void *old) {
  live -= old != NULL;
  __real_free(old);
}

/* Everything that a scenario creates, and frees at the end. */
static struct {
  toolglot_config *config;
  toolglot_engine *engine;
  toolglot_options *options;
  toolglot_stream *stream, *second;
  toolglot_turn *turn;
  toolglot_buffer *buffer;
  toolglot_openai *openai;
  toolglot_tools *tools;
  toolglot_agent *agent;
  toolglot_run *run, *again;
  toolglot_response *response;
} made;

/* The engines with which scenarios begin. */
static toolglot_engine *hermes, *defaults;

/* The output, and the expected output without failures. */
static uint64_t said;

/* The ended stream, if a call on it returned that. */
static toolglot_stream *ended;

static void say(const void *data, size_t len) {
  const unsigned char *bytes = data;
  for (size_t i = 0; i < len; i++) said = (said ^ bytes[i]) * 0x100000001b3;
}

static void say_view(toolglot_view view) {
  say(&view.len, sizeof view.len);
  say(view.ptr, view.len);
}

static void say_batch(const toolglot_batch *batch) {
  for (size_t i = 0; i < batch->len; i++) {
    const toolglot_event *event = &batch->events[i];
    uint64_t numbers[] = {event->kind, event->flags, event->call, event->code, event->start, event->end};
    say(numbers, sizeof numbers);
    say_view(event->data);
    say_view(event->aux);
  }
}

#define TRY(call)                       \
  do {                                  \
    toolglot_status status_ = (call);   \
    if (status_ != 0) return status_;   \
  } while (0)

/* Of a stream. */
#define STREAM(which, call)                                  \
  do {                                                       \
    toolglot_status status_ = (call);                        \
    if (status_ == TOOLGLOT_E_NOMEM) ended = (which);        \
    if (status_ != 0) return status_;                        \
  } while (0)

static toolglot_status feed(toolglot_stream *stream, const char *text, size_t len, size_t step) {
  toolglot_batch batch;
  for (size_t at = 0; at < len; at += step) {
    size_t part = len - at < step ? len - at : step;
    STREAM(stream, toolglot_stream_feed(stream, text + at, part, &batch));
    say_batch(&batch);
  }
  return 0;
}

static toolglot_status finish(toolglot_stream *stream) {
  toolglot_batch batch;
  STREAM(stream, toolglot_stream_finish(stream, TOOLGLOT_FINISH_STOP, &batch));
  say_batch(&batch);
  return 0;
}

static const char call[] =
    "Looking it up.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Leith \\u00e9\", \"days\": [1, 2, "
    "{\"a\": null}]}}\n</tool_call>\nand <tool_call>{broken";

static toolglot_status pieces(void) {
  TRY(toolglot_stream_new(hermes, NULL, &made.stream));
  TRY(feed(made.stream, call, sizeof call - 1, 4));
  return finish(made.stream);
}

/* A long argument of a call, and one that must be whole before it is delivered. */
static char text[1 << 20], list[1 << 18];

static size_t fill(char *into, size_t size, const char *head, const char *unit, const char *tail) {
  size_t at = strlen(head), step = strlen(unit), end = strlen(tail);
  memcpy(into, head, at);
  for (; at + step + end <= size; at += step) memcpy(into + at, unit, step);
  memcpy(into + at, tail, end);
  return at + end;
}

static size_t text_len, list_len;

static toolglot_status long_chunks(void) {
  TRY(toolglot_stream_new(defaults, made.options, &made.stream));
  TRY(feed(made.stream, text, text_len, text_len));
  TRY(feed(made.stream, list, list_len, list_len));
  return finish(made.stream);
}

static toolglot_status again(void) {
  TRY(toolglot_stream_new(defaults, NULL, &made.stream));
  for (int round = 0; round < 3; round++) {
    TRY(feed(made.stream, call, sizeof call - 1, 11));
    TRY(finish(made.stream));
    STREAM(made.stream, toolglot_stream_reset(made.stream));
  }
  TRY(feed(made.stream, call, 60, 7));
  STREAM(made.stream, toolglot_stream_reset(made.stream));
  TRY(feed(made.stream, call, sizeof call - 1, 1000));
  return finish(made.stream);
}

static int32_t take(void *user, const toolglot_event *event) {
  *(size_t *)user += event->data.len;
  say_view(event->data);
  return 0;
}

static toolglot_status reading(void) {
  toolglot_batch batch;
  const toolglot_call *calls;
  const toolglot_issue *issues;
  toolglot_view view;
  size_t len, bytes = 0;
  uint32_t kept;
  TRY(toolglot_stream_new(hermes, NULL, &made.stream));
  TRY(toolglot_turn_new(&made.turn));
  TRY(toolglot_turn_keep_original(made.turn, 1));
  TRY(toolglot_openai_new(&made.openai));
  TRY(toolglot_openai_set(made.openai, TOOLGLOT_OPENAI_ID_SEED, 7));
  TRY(toolglot_openai_set_text(made.openai, TOOLGLOT_OPENAI_MODEL, TOOLGLOT_LITERAL("some")));
  TRY(toolglot_buffer_new(&made.buffer));
  for (size_t at = 0; at < sizeof call - 1; at += 16) {
    size_t part = sizeof call - 1 - at < 16 ? sizeof call - 1 - at : 16;
    STREAM(made.stream, toolglot_stream_feed(made.stream, call + at, part, &batch));
    TRY(toolglot_turn_add(made.turn, &batch));
    TRY(toolglot_openai_write(made.openai, &batch, made.buffer));
    say_view(toolglot_buffer_view(made.buffer));
  }
  STREAM(made.stream, toolglot_stream_finish(made.stream, TOOLGLOT_FINISH_STOP, &batch));
  STREAM(made.stream, toolglot_stream_rest(made.stream, &batch));
  TRY(toolglot_turn_add(made.turn, &batch));
  TRY(toolglot_openai_write(made.openai, &batch, made.buffer));
  TRY(toolglot_openai_finish(made.openai, TOOLGLOT_FINISH_STOP, made.buffer));
  say_view(toolglot_buffer_view(made.buffer));
  TRY(toolglot_turn_calls(made.turn, &calls, &len));
  for (size_t i = 0; i < len; i++) say_view(calls[i].arguments);
  TRY(toolglot_turn_issues(made.turn, &issues, &len));
  for (size_t i = 0; i < len; i++) say_view(issues[i].observation);
  say_view(toolglot_turn_text(made.turn));
  TRY(toolglot_turn_not_delivered(made.turn, &view));
  say_view(view);
  TRY(toolglot_turn_original(made.turn, &view, &kept));
  say_view(view);
  STREAM(made.stream, toolglot_stream_reset(made.stream));
  STREAM(made.stream, toolglot_stream_feed_each(made.stream, call, sizeof call - 1, take, &bytes));
  STREAM(made.stream, toolglot_stream_finish_each(made.stream, TOOLGLOT_FINISH_LENGTH, take, &bytes));
  return 0;
}

static const char toml[] =
    "id = \"memo\"\ntitle = \"Memo requests\"\nmodels = [\"the house model\"]\nsources = [\"house style guide\"]\nfence = \"skip\"\n"
    "deltas = \"at-call-end\"\n\n[key_quote]\nopen = [\"[[request]]\"]\nclose = [\"[[done]]\"]\nname = \"tool\"\nchain = \"tool\"\n"
    "colon = [\"=\", \":\"]\nseparators = [\",\"]\nfold = [\"case\"]\ntrim = \"ends\"\n[[key_quote.quotes]]\nopen = [\"{=\"]\n"
    "close = [\"=}\"]\n";
static const char tools[] =
    "[{\"name\": \"get_weather\", \"parameters\": {\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}, "
    "\"days\": {\"type\": \"array\", \"items\": {\"type\": \"integer\"}}}, \"required\": [\"city\"]}}, {\"odd\": 1}]";

static toolglot_status building(void) {
  toolglot_view view;
  TRY(toolglot_options_new(&made.options));
  TRY(toolglot_options_set(made.options, TOOLGLOT_OPTION_TEXT, TOOLGLOT_TEXT_CHARS));
  TRY(toolglot_options_set_tools(made.options, TOOLGLOT_LITERAL(tools)));
  TRY(toolglot_config_new(TOOLGLOT_ABI_VERSION, &made.config));
  TRY(toolglot_config_add_toml(made.config, TOOLGLOT_LITERAL("mine.toml"), TOOLGLOT_LITERAL(toml)));
  TRY(toolglot_config_add_builtin(made.config, TOOLGLOT_LITERAL("hermes")));
  TRY(toolglot_engine_new(made.config, &made.engine));
  TRY(toolglot_stream_new(made.engine, made.options, &made.stream));
  TRY(feed(made.stream, call, 70, 70));
  TRY(toolglot_buffer_new(&made.buffer));
  TRY(toolglot_stream_snapshot(made.stream, made.buffer));
  view = toolglot_buffer_view(made.buffer);
  TRY(toolglot_stream_new(made.engine, made.options, &made.second));
  STREAM(made.second, toolglot_stream_restore(made.second, view.ptr, view.len));
  TRY(feed(made.second, call + 70, sizeof call - 71, 9));
  TRY(finish(made.second));
  TRY(toolglot_encode(made.engine, made.options, TOOLGLOT_LITERAL("hermes"),
                      TOOLGLOT_LITERAL("[{\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}}]"), made.buffer));
  say_view(toolglot_buffer_view(made.buffer));
  TRY(toolglot_escape(made.engine, call, sizeof call - 1, made.buffer));
  say_view(toolglot_buffer_view(made.buffer));
  return 0;
}

static const char chat_template[] =
    "{%- for m in messages %}{{- '<|' + m.role + '|>' + (m.content or '') }}{%- for c in m.tool_calls or [] %}"
    "{{- '<call>' + (c.function | tojson) + '</call>' }}{%- endfor %}{{- '<|end|>' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}";

static toolglot_status deriving(void) {
  TRY(toolglot_config_new(TOOLGLOT_ABI_VERSION, &made.config));
  TRY(toolglot_config_add_template(made.config, TOOLGLOT_LITERAL(chat_template)));
  return toolglot_engine_new(made.config, &made.engine);
}

static toolglot_status whole(void) {
  const toolglot_call *calls;
  size_t len;
  TRY(toolglot_parse(defaults, NULL, call, sizeof call - 1, TOOLGLOT_FINISH_STOP, &made.turn));
  TRY(toolglot_turn_calls(made.turn, &calls, &len));
  for (size_t i = 0; i < len; i++) say_view(calls[i].arguments);
  return 0;
}

/* All output of a run. */
static toolglot_status take_all(toolglot_run *run) {
  toolglot_view said_now;
  do {
    TRY(toolglot_run_take(run, &said_now));
    say_view(said_now);
  } while (said_now.len != 0);
  return 0;
}

static toolglot_status agents(void) {
  static const char form[] =
      "{\"dialect\": \"hermes\", \"tools\": [{\"name\": \"f\", \"parameters\": {\"properties\": {\"n\": {\"type\": "
      "\"integer\"}}}}], \"policy\": {\"allow\": [{\"tools\": [\"f*\"]}]}}";
  static const char reply[] = "<tool_call>{\"name\": \"f\", \"arguments\": {\"n\": 7}}</tool_call>";
  static const char body[] = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n";
  toolglot_view saved;
  TRY(toolglot_buffer_new(&made.buffer));
  TRY(toolglot_tools_new(&made.tools));
  TRY(toolglot_tools_add(made.tools, TOOLGLOT_LITERAL("[{\"name\": \"f\", \"parameters\": {}}]")));
  TRY(toolglot_tools_prompt(made.tools, hermes, TOOLGLOT_LITERAL("hermes"), TOOLGLOT_LANG_EN, made.buffer));
  say_view(toolglot_buffer_view(made.buffer));
  TRY(toolglot_tools_check(made.tools, hermes, TOOLGLOT_LITERAL("hermes"), TOOLGLOT_LITERAL("f"), TOOLGLOT_LITERAL("{}"),
                           made.buffer));
  say_view(toolglot_buffer_view(made.buffer));
  TRY(toolglot_agent_new(&made.agent));
  TRY(toolglot_agent_read(made.agent, hermes, NULL, form, sizeof form - 1));
  TRY(toolglot_agent_run(made.agent, TOOLGLOT_LITERAL("[{\"role\": \"user\", \"content\": \"go\"}]"), &made.run));
  TRY(take_all(made.run));
  TRY(toolglot_run_model(made.run, reply, sizeof reply - 1));
  TRY(toolglot_run_tell(made.run, TOOLGLOT_LITERAL("{\"ended\": \"stop\"}")));
  TRY(take_all(made.run));
  TRY(toolglot_run_tell(made.run, TOOLGLOT_LITERAL("{\"done\": {\"id\": \"call_0_0\", \"name\": \"f\", \"content\": \"x\"}}")));
  TRY(take_all(made.run));
  TRY(toolglot_run_write(made.run, TOOLGLOT_RUN_SAVED, made.buffer));
  saved = toolglot_buffer_view(made.buffer);
  say_view(saved);
  TRY(toolglot_agent_restore(made.agent, saved.ptr, saved.len, &made.again));
  TRY(take_all(made.again));
  TRY(toolglot_response_new(TOOLGLOT_SOURCE_OPENAI, &made.response));
  TRY(toolglot_response_feed(made.response, body, sizeof body - 1, made.buffer));
  say_view(toolglot_buffer_view(made.buffer));
  return 0;
}

static void clean(void) {
  toolglot_tools_free(made.tools);
  toolglot_agent_free(made.agent);
  toolglot_run_free(made.run);
  toolglot_run_free(made.again);
  toolglot_response_free(made.response);
  toolglot_config_free(made.config);
  toolglot_engine_free(made.engine);
  toolglot_options_free(made.options);
  toolglot_stream_free(made.stream);
  toolglot_stream_free(made.second);
  toolglot_turn_free(made.turn);
  toolglot_buffer_free(made.buffer);
  toolglot_openai_free(made.openai);
  memset(&made, 0, sizeof made);
}

static const struct {
  const char *name;
  toolglot_status (*run)(void);
} scenarios[] = {{"pieces", pieces},   {"long chunks", long_chunks}, {"reset", again},
                 {"reading", reading}, {"building", building},       {"whole", whole},
                 {"agents", agents},   {"deriving", deriving}};

/* Runs a scenario in which the given allocation fails; none if it is 0. */
static toolglot_status run(size_t scenario, size_t failing, int after) {
  toolglot_status status;
  said = 0xcbf29ce484222325;
  ended = NULL;
  allocations = 0;
  fail_after = after;
  fail_at = failing;
  status = scenarios[scenario].run();
  fail_at = 0;
  return status;
}

/* Checks the invariants of an ended stream. */
static void check_ended(void) {
  toolglot_batch batch;
  uint32_t flags;
  if (ended == NULL) return;
  STATUS(TOOLGLOT_E_NOMEM, toolglot_stream_feed(ended, "a", 1, &batch));
  STATUS(TOOLGLOT_E_NOMEM, toolglot_stream_feed(ended, call, sizeof call - 1, &batch));
  STATUS(TOOLGLOT_E_NOMEM, toolglot_stream_finish(ended, TOOLGLOT_FINISH_STOP, &batch));
  STATUS(TOOLGLOT_E_NOMEM, toolglot_stream_rest(ended, &batch));
  STATUS(TOOLGLOT_E_NOMEM, toolglot_stream_state(ended, &flags));
  STATUS(TOOLGLOT_E_NOMEM, toolglot_stream_reset(ended));
  STATUS(TOOLGLOT_E_NOMEM, toolglot_stream_feed(ended, "a", 1, &batch));
  CHECK(has(toolglot_stream_error(ended), "memory"));
}

/* Runs in a separate process; 0 on success. `want` is the output without failures. */
static int one(size_t scenario, size_t failing, int after, uint64_t want) {
  size_t before = live;
  toolglot_status status = run(scenario, failing, after);
  CHECK(status == TOOLGLOT_OK || status == TOOLGLOT_E_NOMEM);
  CHECK(status != TOOLGLOT_OK || said == want);
  check_ended();
  clean();
  CHECK(toolglot_live_streams() == 0);
  CHECK(live == before);
  STATUS(TOOLGLOT_OK, run(scenario, 0, 0));
  CHECK(said == want);
  clean();
  CHECK(live == before);
  return failures == 0 ? (status == 0 ? 0 : 2) : 1;
}

int main(int argc, char **argv) {
  size_t step = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 1;
  toolglot_config *config;
  OK(toolglot_config_new(TOOLGLOT_ABI_VERSION, &config));
  OK(toolglot_config_add_builtin(config, TOOLGLOT_LITERAL("hermes")));
  OK(toolglot_engine_new(config, &hermes));
  OK(toolglot_engine_new(NULL, &defaults));
  toolglot_config_free(config);
  text_len = fill(text, sizeof text, "<tool_call>\n<function=write>\n<parameter=text>\n", "a long text, ",
                  "\n</parameter>\n</function>\n</tool_call>");
  list_len = fill(list, sizeof list, "<tool_call>\n<function=write>\n<parameter=list>\n[", "1, ",
                  "2]\n</parameter>\n</function>\n</tool_call>");
  for (size_t scenario = 0; scenario < sizeof scenarios / sizeof *scenarios; scenario++) {
    size_t total, tried = 0, refusals = 0;
    uint64_t want;
    /* Twice: the first run may create permanent allocations. */
    OK(run(scenario, 0, 0));
    clean();
    OK(run(scenario, 0, 0));
    want = said;
    total = allocations;
    clean();
    CHECK(total > 10);
    for (size_t n = 1; n <= total + 1; n += total > DEEP ? 40 * step : total > MANY ? step : 1) {
      for (int after = 0; after < 2; after++) {
        int status;
        pid_t child = fork();
        if (child == 0) _exit(one(scenario, n, after, want));
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status));
        if (!WIFEXITED(status) || WEXITSTATUS(status) == 1) {
          fprintf(stderr, "%s: allocation %zu of %zu%s\n", scenarios[scenario].name, n, total, after ? " and all after it" : "");
          if (++failures > 5) return done("nomem");
        }
        tried++;
        refusals += WIFEXITED(status) && WEXITSTATUS(status) == 2;
      }
    }
    CHECK(refusals > 0);
    printf("%s: %zu of %zu failures answered\n", scenarios[scenario].name, refusals, tried);
  }
  toolglot_engine_free(hermes);
  toolglot_engine_free(defaults);
  return done("nomem");
}
