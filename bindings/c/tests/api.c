/* Every function with NULL, with wrong arguments, on a finished stream, while busy, and after a panic. */
#include "test.h"

#ifdef TEST_PANIC
toolglot_status toolglot_test_panic(toolglot_stream *stream);
#endif

#define CALL "<tool_call name=\"weather\"><param name=\"city\">Leith</param></tool_call>"

static toolglot_engine *engine;

static toolglot_stream *stream_of(toolglot_options *options) {
  toolglot_stream *stream = NULL;
  OK(toolglot_stream_new(engine, options, &stream));
  return stream;
}

static void library(void) {
  CHECK(strcmp(toolglot_version(), TOOLGLOT_VERSION) == 0);
  CHECK(toolglot_abi_version() == TOOLGLOT_ABI_VERSION);
  CHECK(strcmp(toolglot_status_name(TOOLGLOT_OK), "ok") == 0);
  CHECK(strcmp(toolglot_status_name(TOOLGLOT_E_BUSY), "busy") == 0);
  CHECK(strcmp(toolglot_status_name(12345), "unknown") == 0);
  for (int status = 0; status >= TOOLGLOT_E_STOPPED; status--) {
    CHECK(strcmp(toolglot_status_name(status), "unknown") != 0);
  }
  for (uint32_t kind = TOOLGLOT_EVENT_TEXT; kind <= TOOLGLOT_EVENT_ISSUE; kind++) {
    CHECK(strcmp(toolglot_event_name(kind), "unknown") != 0);
  }
  CHECK(strcmp(toolglot_event_name(TOOLGLOT_EVENT_ARG_DELTA), "arg_delta") == 0);
  CHECK(strcmp(toolglot_event_name(0), "unknown") == 0);
  CHECK(strcmp(toolglot_event_name(UINT32_MAX), "unknown") == 0);
  CHECK(strcmp(toolglot_issue_name(TOOLGLOT_ISSUE_UNCLOSED_BLOCK), "unclosed_block") == 0);
  CHECK(strcmp(toolglot_issue_name(0), "unknown") == 0);
  CHECK(toolglot_builtin_dialect(0).len > 0);
  CHECK(is(toolglot_builtin_dialect(100000), ""));
  CHECK(is(toolglot_model_dialect(TOOLGLOT_LITERAL("Qwen/Qwen3-8B"), 0), "hermes"));
  CHECK(is(toolglot_model_dialect(TOOLGLOT_LITERAL("Qwen/Qwen3-8B"), 1), ""));
  CHECK(is(toolglot_model_reasoning(TOOLGLOT_LITERAL("Qwen/Qwen3-8B")), "reasoning-think"));
  CHECK(is(toolglot_model_dialect(TOOLGLOT_LITERAL("Llama-4-Scout-17B-16E"), 1), "llama4-pythonic"));
  CHECK(is(toolglot_model_dialect(TOOLGLOT_LITERAL("gpt-2"), 0), ""));
  CHECK(is(toolglot_model_dialect(TOOLGLOT_LITERAL("qwen3\xff"), 0), ""));
  CHECK(is(toolglot_model_dialect(NULL, 3, 0), "") && is(toolglot_model_reasoning(NULL, 3), ""));
}

/* NULL handles, NULL results and NULL inputs. */
static void nulls(void) {
  toolglot_batch batch;
  toolglot_stream *stream = stream_of(NULL), *copy;
  toolglot_config *config;
  toolglot_options *options;
  toolglot_buffer *buffer;
  toolglot_turn *turn;
  toolglot_openai *openai;
  const toolglot_marker *markers;
  const toolglot_view *ids;
  uint32_t flags;
  const toolglot_call *calls;
  const toolglot_issue *issues;
  size_t len;

  STATUS(TOOLGLOT_E_NULL, toolglot_config_new(TOOLGLOT_ABI_VERSION, NULL));
  OK(toolglot_config_new(TOOLGLOT_ABI_VERSION, &config));
  STATUS(TOOLGLOT_E_NULL, toolglot_config_add_builtin(NULL, "vcp", 3));
  STATUS(TOOLGLOT_E_NULL, toolglot_config_add_builtin(config, NULL, 3));
  STATUS(TOOLGLOT_E_NULL, toolglot_config_add_defaults(NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_config_add_any(NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_config_add_toml(NULL, "", 0, "", 0));
  STATUS(TOOLGLOT_E_NULL, toolglot_config_add_toml(config, NULL, 1, "", 0));
  STATUS(TOOLGLOT_E_NULL, toolglot_config_add_toml(config, NULL, 0, NULL, 1));
  STATUS(TOOLGLOT_E_NULL, toolglot_config_add_template(NULL, "", 0));
  STATUS(TOOLGLOT_E_NULL, toolglot_config_add_template(config, NULL, 1));
  STATUS(TOOLGLOT_E_NULL, toolglot_config_switch(NULL, "", 0, "", 0));
  STATUS(TOOLGLOT_E_NULL, toolglot_config_switch(config, NULL, 1, "", 0));
  STATUS(TOOLGLOT_E_NULL, toolglot_config_switch(config, "", 0, NULL, 1));
  CHECK(is(toolglot_config_error(NULL), ""));
  CHECK(has(toolglot_config_error(config), "NULL"));
  STATUS(TOOLGLOT_E_NULL, toolglot_engine_new(config, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_engine_new(NULL, NULL));
  toolglot_config_free(config);
  toolglot_config_free(NULL);

  STATUS(TOOLGLOT_E_NULL, toolglot_engine_markers(NULL, &markers, &len));
  STATUS(TOOLGLOT_E_NULL, toolglot_engine_markers(engine, NULL, &len));
  STATUS(TOOLGLOT_E_NULL, toolglot_engine_markers(engine, &markers, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_engine_dialects(NULL, &ids, &len));
  STATUS(TOOLGLOT_E_NULL, toolglot_engine_dialects(engine, NULL, &len));
  STATUS(TOOLGLOT_E_NULL, toolglot_engine_dialects(engine, &ids, NULL));
  CHECK(toolglot_engine_bound(NULL) == 0);
  toolglot_engine_free(NULL);

  STATUS(TOOLGLOT_E_NULL, toolglot_options_new(NULL));
  OK(toolglot_options_new(&options));
  STATUS(TOOLGLOT_E_NULL, toolglot_options_set(NULL, TOOLGLOT_OPTION_TEXT, 0));
  STATUS(TOOLGLOT_E_NULL, toolglot_options_set_tools(NULL, "[]", 2));
  STATUS(TOOLGLOT_E_NULL, toolglot_options_set_tools(options, NULL, 2));
  OK(toolglot_options_set_tools(options, NULL, 0));
  STATUS(TOOLGLOT_E_NULL, toolglot_options_tool_issues(NULL, &ids, &len));
  STATUS(TOOLGLOT_E_NULL, toolglot_options_tool_issues(options, NULL, &len));
  STATUS(TOOLGLOT_E_NULL, toolglot_options_tool_issues(options, &ids, NULL));
  OK(toolglot_options_tool_issues(options, &ids, &len));
  CHECK(len == 0);
  CHECK(is(toolglot_options_error(NULL), ""));
  toolglot_options_free(options);
  toolglot_options_free(NULL);

  STATUS(TOOLGLOT_E_NULL, toolglot_stream_new(NULL, NULL, &copy));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_new(engine, NULL, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_feed(NULL, "", 0, &batch));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_feed(stream, "", 0, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_feed(stream, NULL, 1, &batch));
  OK(toolglot_stream_feed(stream, NULL, 0, &batch));
  CHECK(batch.events != NULL && batch.len == 0 && batch.held == 0 && batch.position == 0);
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_feed_special(NULL, "", 0, &batch));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_feed_special(stream, "", 0, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_feed_special(stream, NULL, 1, &batch));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_prefill(NULL, "", 0, &batch));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_prefill(stream, "", 0, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_prefill(stream, NULL, 1, &batch));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_native_calls(NULL, "[]", 2, &batch));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_native_calls(stream, "[]", 2, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_native_calls(stream, NULL, 2, &batch));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_finish(NULL, 0, &batch));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_finish(stream, 0, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_feed_each(NULL, "", 0, NULL, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_feed_each(stream, "a", 1, NULL, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_finish_each(NULL, 0, NULL, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_finish_each(stream, 0, NULL, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_rest(NULL, &batch));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_rest(stream, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_state(NULL, &flags));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_state(stream, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_reset(NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_clone(NULL, &copy));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_clone(stream, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_snapshot(stream, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_restore(NULL, "", 0));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_restore(stream, NULL, 1));
  CHECK(is(toolglot_stream_error(NULL), ""));
  CHECK(has(toolglot_stream_error(stream), "NULL"));

  STATUS(TOOLGLOT_E_NULL, toolglot_buffer_new(NULL));
  OK(toolglot_buffer_new(&buffer));
  STATUS(TOOLGLOT_E_NULL, toolglot_stream_snapshot(NULL, buffer));
  STATUS(TOOLGLOT_E_NULL, toolglot_buffer_set(NULL, "", 0));
  STATUS(TOOLGLOT_E_NULL, toolglot_buffer_set(buffer, NULL, 1));
  CHECK(is(toolglot_buffer_view(NULL), ""));
  CHECK(is(toolglot_buffer_view(buffer), ""));
  CHECK(is(toolglot_buffer_error(NULL), ""));
  STATUS(TOOLGLOT_E_NULL, toolglot_encode(NULL, NULL, "vcp", 3, "[]", 2, buffer));
  STATUS(TOOLGLOT_E_NULL, toolglot_encode(engine, NULL, NULL, 3, "[]", 2, buffer));
  STATUS(TOOLGLOT_E_NULL, toolglot_encode(engine, NULL, "vcp", 3, NULL, 2, buffer));
  STATUS(TOOLGLOT_E_NULL, toolglot_encode(engine, NULL, "vcp", 3, "[]", 2, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_escape(NULL, "", 0, buffer));
  STATUS(TOOLGLOT_E_NULL, toolglot_escape(engine, NULL, 1, buffer));
  STATUS(TOOLGLOT_E_NULL, toolglot_escape(engine, "", 0, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_unescape(NULL, "", 0, buffer));
  STATUS(TOOLGLOT_E_NULL, toolglot_unescape(engine, NULL, 1, buffer));
  STATUS(TOOLGLOT_E_NULL, toolglot_unescape(engine, "", 0, NULL));

  STATUS(TOOLGLOT_E_NULL, toolglot_turn_new(NULL));
  OK(toolglot_turn_new(&turn));
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_add(NULL, &batch));
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_add(turn, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_parse(NULL, NULL, "", 0, 0, &turn));
  STATUS(TOOLGLOT_E_NULL, toolglot_parse(engine, NULL, NULL, 1, 0, &turn));
  STATUS(TOOLGLOT_E_NULL, toolglot_parse(engine, NULL, "", 0, 0, NULL));
  CHECK(is(toolglot_turn_text(NULL), "") && is(toolglot_turn_reasoning(NULL), ""));
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_calls(NULL, &calls, &len));
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_calls(turn, NULL, &len));
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_calls(turn, &calls, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_issues(NULL, &issues, &len));
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_issues(turn, NULL, &len));
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_issues(turn, &issues, NULL));
  uint32_t kept;
  toolglot_view view;
  const toolglot_view *odd;
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_keep_original(NULL, 1));
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_original(NULL, &view, &kept));
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_original(turn, NULL, &kept));
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_original(turn, &view, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_tool_issues(NULL, &odd, &len));
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_tool_issues(turn, NULL, &len));
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_tool_issues(turn, &odd, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_reset(NULL));
  CHECK(is(toolglot_turn_error(NULL), ""));

  STATUS(TOOLGLOT_E_NULL, toolglot_openai_new(NULL));
  OK(toolglot_openai_new(&openai));
  STATUS(TOOLGLOT_E_NULL, toolglot_openai_set(NULL, TOOLGLOT_OPENAI_CALLS, 0));
  STATUS(TOOLGLOT_E_NULL, toolglot_openai_set_text(NULL, TOOLGLOT_OPENAI_MODEL, "", 0));
  STATUS(TOOLGLOT_E_NULL, toolglot_openai_set_text(openai, TOOLGLOT_OPENAI_MODEL, NULL, 1));
  STATUS(TOOLGLOT_E_NULL, toolglot_openai_set_ids(NULL, NULL, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_openai_write(NULL, &batch, buffer));
  STATUS(TOOLGLOT_E_NULL, toolglot_openai_write(openai, NULL, buffer));
  STATUS(TOOLGLOT_E_NULL, toolglot_openai_write(openai, &batch, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_openai_finish(NULL, 0, buffer));
  STATUS(TOOLGLOT_E_NULL, toolglot_openai_finish(openai, 0, NULL));
  STATUS(TOOLGLOT_E_NULL, toolglot_openai_completion(NULL, turn, 0, buffer));
  STATUS(TOOLGLOT_E_NULL, toolglot_openai_completion(openai, NULL, 0, buffer));
  STATUS(TOOLGLOT_E_NULL, toolglot_openai_completion(openai, turn, 0, NULL));
  CHECK(is(toolglot_openai_error(NULL), ""));

  toolglot_openai_free(openai);
  toolglot_openai_free(NULL);
  toolglot_turn_free(turn);
  toolglot_turn_free(NULL);
  toolglot_buffer_free(buffer);
  toolglot_buffer_free(NULL);
  toolglot_stream_free(stream);
  toolglot_stream_free(NULL);
}

static void configs(void) {
  toolglot_config *config = NULL;
  toolglot_engine *own = NULL;
  const toolglot_view *ids;
  const toolglot_marker *markers;
  size_t len, openers = 0, closers = 0, reasoning = 0;
  STATUS(TOOLGLOT_E_ABI, toolglot_config_new(TOOLGLOT_ABI_VERSION + 1, &config));
  STATUS(TOOLGLOT_E_ABI, toolglot_config_new(0, &config));
  CHECK(config == NULL);

  OK(toolglot_config_new(TOOLGLOT_ABI_VERSION, &config));
  STATUS(TOOLGLOT_E_ARG, toolglot_config_add_builtin(config, "\xff", 1));
  OK(toolglot_config_add_builtin(config, TOOLGLOT_LITERAL("vpc")));
  STATUS(TOOLGLOT_E_DIALECT, toolglot_engine_new(config, &own));
  CHECK(own == NULL && is(toolglot_config_error(config), "there is no dialect vpc (did you mean vcp?)"));
  toolglot_config_free(config);

  OK(toolglot_config_new(TOOLGLOT_ABI_VERSION, &config));
  OK(toolglot_config_add_toml(config, TOOLGLOT_LITERAL("mine.toml"), TOOLGLOT_LITERAL("id = 3")));
  STATUS(TOOLGLOT_E_DIALECT, toolglot_engine_new(config, &own));
  CHECK(has(toolglot_config_error(config), "mine.toml"));
  toolglot_config_free(config);

  OK(toolglot_config_new(TOOLGLOT_ABI_VERSION, &config));
  OK(toolglot_config_add_builtin(config, TOOLGLOT_LITERAL("vcp")));
  OK(toolglot_config_switch(config, TOOLGLOT_LITERAL("vcp"), TOOLGLOT_LITERAL("fuzzy")));
  OK(toolglot_engine_new(config, &own));
  OK(toolglot_engine_dialects(own, &ids, &len));
  CHECK(len == 1 && is(ids[0], "vcp"));
  CHECK(toolglot_engine_bound(own) > 0);
  toolglot_config_free(config);
  toolglot_engine_free(own);

  OK(toolglot_engine_markers(engine, &markers, &len));
  for (size_t i = 0; i < len; i++) {
    CHECK(markers[i].text.len > 0 && markers[i].dialect.len > 0);
    openers += markers[i].role == TOOLGLOT_MARKER_OPEN;
    closers += markers[i].role == TOOLGLOT_MARKER_CLOSE;
    reasoning += markers[i].role == TOOLGLOT_MARKER_REASONING_OPEN && is(markers[i].text, "<think>");
  }
  CHECK(openers > 10 && closers > 10 && reasoning > 0);
}

/* Chat templates, with one call in its own markup and in that of a built-in dialect. */
#define TEMPLATE(calls) \
  "{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' + (m.content or '') }}" \
  "{%- for c in m.tool_calls or [] %}{{- " calls " }}{%- endfor %}{{- '<|im_end|>\\n' }}{%- endfor %}" \
  "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
static const char own_markup[] = TEMPLATE("'<call>' + c.function.name + ': ' + (c.function.arguments | tojson) + '</call>'");
static const char built_in_markup[] = TEMPLATE("'<tool_call>\\n' + (c.function | tojson) + '\\n</tool_call>'");

/* The id of the dialect that a template gives, or why it gives none. */
static void template_gives(const char *text, size_t size, toolglot_status status, const char *told) {
  toolglot_config *config;
  toolglot_engine *own = NULL;
  const toolglot_view *ids;
  size_t len = 0;
  OK(toolglot_config_new(TOOLGLOT_ABI_VERSION, &config));
  STATUS(status, toolglot_config_add_template(config, text, size));
  CHECK(status == TOOLGLOT_OK || has(toolglot_config_error(config), told));
  OK(toolglot_engine_new(config, &own));
  OK(toolglot_engine_dialects(own, &ids, &len));
  /* Without a dialect of the template it is the default set. */
  CHECK(status == TOOLGLOT_OK ? len == 1 && is(ids[0], told) : len > 10);
  toolglot_config_free(config);
  toolglot_engine_free(own);
}

static void templates(void) {
  static const char props[] = "{\"chat_template\": \"{{ messages[0].content }}\"}";
  static const char call[] = "Yes.<call>find: {\"what\": \"coat\"}</call>";
  toolglot_config *config;
  toolglot_engine *own;
  toolglot_turn *turn;
  const toolglot_call *calls;
  size_t len;
  template_gives(own_markup, sizeof own_markup - 1, TOOLGLOT_OK, "derived");
  template_gives(built_in_markup, sizeof built_in_markup - 1, TOOLGLOT_OK, "hermes");
  template_gives(props, sizeof props - 1, TOOLGLOT_E_DIALECT, "writes no calls");
  template_gives(TOOLGLOT_LITERAL("{% if"), TOOLGLOT_E_DIALECT, "syntax error");
  template_gives(TOOLGLOT_LITERAL("{}"), TOOLGLOT_E_DIALECT, "no `chat_template`");
  template_gives(TOOLGLOT_LITERAL("GGUF"), TOOLGLOT_E_DIALECT, "");
  template_gives(TOOLGLOT_LITERAL("\xff"), TOOLGLOT_E_DIALECT, "not UTF-8");
  template_gives(TOOLGLOT_LITERAL(TEMPLATE("'x' * 100000000")), TOOLGLOT_E_DIALECT, "fuel");
  template_gives(NULL, 0, TOOLGLOT_E_DIALECT, "writes no calls");

  OK(toolglot_config_new(TOOLGLOT_ABI_VERSION, &config));
  OK(toolglot_config_add_template(config, TOOLGLOT_LITERAL(own_markup)));
  OK(toolglot_engine_new(config, &own));
  OK(toolglot_parse(own, NULL, TOOLGLOT_LITERAL(call), TOOLGLOT_FINISH_STOP, &turn));
  OK(toolglot_turn_calls(turn, &calls, &len));
  CHECK(len == 1 && is(calls[0].name, "find") && is(calls[0].arguments, "{\"what\": \"coat\"}"));
  toolglot_turn_free(turn);
  toolglot_engine_free(own);
  toolglot_config_free(config);
}

static void options(void) {
  static const uint64_t last[] = {[1] = 1, [2] = 1, [3] = 2, [4] = 2, [5] = 1, [6] = 2, [7] = 3, [8] = 1, [9] = 2, [12] = 2, [13] = 1, [14] = 3, [15] = 1};
  toolglot_options *options;
  OK(toolglot_options_new(&options));
  for (uint32_t option = 0; option < 100; option++) {
    int known = (option >= 1 && option <= 15) || (option >= 32 && option <= 42);
    STATUS(known ? TOOLGLOT_OK : TOOLGLOT_E_ARG, toolglot_options_set(options, option, 1));
    if (option < sizeof last / sizeof *last && last[option] != 0) {
      OK(toolglot_options_set(options, option, last[option]));
      STATUS(TOOLGLOT_E_ARG, toolglot_options_set(options, option, last[option] + 1));
    }
  }
  STATUS(TOOLGLOT_E_ARG, toolglot_options_set(options, TOOLGLOT_OPTION_MAX_CALLS, UINT64_MAX));
  STATUS(TOOLGLOT_E_ARG, toolglot_options_set(options, UINT32_MAX, 0));
  STATUS(TOOLGLOT_E_ARG, toolglot_options_set_tools(options, TOOLGLOT_LITERAL("{")));
  CHECK(has(toolglot_options_error(options), "not JSON"));
  STATUS(TOOLGLOT_E_ARG, toolglot_options_set_tools(options, TOOLGLOT_LITERAL("3")));
  CHECK(toolglot_options_error(options).len > 0);
  toolglot_options_free(options);

  /* An invalid definition is left out and reported; the others count. */
  OK(toolglot_options_new(&options));
  const char *odd = "[{\"name\":3},{\"name\":\"f\"},5,{\"name\":\"f\"},{\"name\":\"工具\",\"parameters\":[]}]";
  OK(toolglot_options_set_tools(options, odd, strlen(odd)));
  toolglot_turn *turn;
  const toolglot_view *told;
  size_t odds;
  OK(toolglot_options_tool_issues(options, &told, &odds));
  CHECK(odds == 4);
  CHECK(is(told[0], "tools[0].name: it must be a string that is not empty"));
  CHECK(is(told[1], "tools[2]: a tool must be an object"));
  CHECK(has(told[2], "tools[3].name") && has(told[3], "tools[4].parameters"));
  /* A list without any valid definition is rejected, and the previous one stays. */
  STATUS(TOOLGLOT_E_ARG, toolglot_options_set_tools(options, TOOLGLOT_LITERAL("[{\"nam\":\"f\"},5]")));
  CHECK(is(toolglot_options_error(options), "tools[0]: it has no `name`"));
  OK(toolglot_options_tool_issues(options, &told, &odds));
  CHECK(odds == 4 && has(told[0], "tools[0].name"));
  OK(toolglot_parse(engine, options, TOOLGLOT_LITERAL("<tool_call name=\"f\"></tool_call>"), 0, &turn));
  const toolglot_issue *issues;
  size_t len;
  OK(toolglot_turn_issues(turn, &issues, &len));
  CHECK(len == 0);
  OK(toolglot_turn_tool_issues(turn, &told, &odds));
  CHECK(odds == 4 && is(told[1], "tools[2]: a tool must be an object"));
  toolglot_turn_free(turn);
  OK(toolglot_parse(engine, options, TOOLGLOT_LITERAL("<tool_call name=\"3\"></tool_call>"), 0, &turn));
  OK(toolglot_turn_issues(turn, &issues, &len));
  CHECK(len == 1 && issues[0].code == TOOLGLOT_ISSUE_UNKNOWN_TOOL);
  /* A turn keeps its reports, whatever happens to the options. */
  OK(toolglot_turn_tool_issues(turn, &told, &odds));
  OK(toolglot_options_set_tools(options, TOOLGLOT_LITERAL("[{\"name\":\"f\"}]")));
  CHECK(odds == 4 && is(told[0], "tools[0].name: it must be a string that is not empty"));
  OK(toolglot_turn_reset(turn));
  OK(toolglot_turn_tool_issues(turn, &told, &odds));
  CHECK(odds == 0);
  OK(toolglot_options_set_tools(options, odd, strlen(odd)));
  OK(toolglot_turn_hint(turn, options));
  OK(toolglot_turn_tool_issues(turn, &told, &odds));
  CHECK(odds == 4 && has(told[3], "tools[4].parameters"));
  toolglot_turn_free(turn);
  OK(toolglot_options_set_tools(options, TOOLGLOT_LITERAL("[{\"name\":\"f\"}]")));
  OK(toolglot_options_tool_issues(options, &told, &odds));
  CHECK(odds == 0);
  toolglot_options_free(options);
}

/* The state of a stream after each piece. */
static void states(void) {
  static const struct {
    const char *piece;
    uint32_t state;
  } steps[] = {
      {"", 0},
      {"Hi. ", 0},
      {"<", TOOLGLOT_STATE_MARKER | TOOLGLOT_STATE_TAG_OPENING},
      {"b>", 0},
      {"\n<thi", TOOLGLOT_STATE_MARKER | TOOLGLOT_STATE_TAG_OPENING},
      {"nk>", TOOLGLOT_STATE_REASONING},
      {"\xe6\x83\xb3", TOOLGLOT_STATE_REASONING},
      {"</thin", TOOLGLOT_STATE_REASONING | TOOLGLOT_STATE_MARKER | TOOLGLOT_STATE_TAG_OPENING},
      {"k>", 0},
      {"<tool_call name=\"f\">", TOOLGLOT_STATE_MARKER | TOOLGLOT_STATE_TAG_CONTENT},
      {"<param name=\"a\">1</param>", TOOLGLOT_STATE_MARKER | TOOLGLOT_STATE_TAG_CONTENT},
      {"</tool_call>", 0},
      {"<tool_call>{\"name\": \"f\", \"arguments\": {}}", TOOLGLOT_STATE_MARKER | TOOLGLOT_STATE_TAG_CLOSING},
      {"</tool_call>", 0},
      {"end <", TOOLGLOT_STATE_MARKER | TOOLGLOT_STATE_TAG_OPENING},
  };
  toolglot_options *options;
  toolglot_batch batch;
  toolglot_turn *turn;
  const toolglot_call *open, *calls;
  size_t len;
  uint32_t flags;
  toolglot_stream *stream = stream_of(NULL);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    OK(toolglot_stream_feed(stream, steps[i].piece, strlen(steps[i].piece), &batch));
    flags = 77;
    OK(toolglot_stream_state(stream, &flags));
    if (flags != steps[i].state) fprintf(stderr, "state after %s: %u\n", steps[i].piece, flags);
    CHECK(flags == steps[i].state);
  }
  OK(toolglot_stream_finish(stream, 0, &batch));
  OK(toolglot_stream_state(stream, &flags));
  CHECK(flags == TOOLGLOT_STATE_FINISHED && batch.len == 1);
  toolglot_stream_free(stream);

  /* The calls so far, and the open one. */
  stream = stream_of(NULL);
  OK(toolglot_turn_new(&turn));
  OK(toolglot_turn_open_call(turn, &open));
  CHECK(open == NULL);
  OK(toolglot_stream_feed(stream, TOOLGLOT_LITERAL("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x"), &batch));
  OK(toolglot_turn_add(turn, &batch));
  OK(toolglot_turn_calls(turn, &calls, &len));
  CHECK(len == 0);
  OK(toolglot_turn_open_call(turn, &open));
  CHECK(open != NULL && is(open->name, "f") && is(open->arguments, "{\"a\": \"x") && open->index == 0 && open->flags == 0);
  OK(toolglot_stream_feed(stream, TOOLGLOT_LITERAL("y\"}}"), &batch));
  OK(toolglot_turn_add(turn, &batch));
  OK(toolglot_turn_open_call(turn, &open));
  CHECK(open == NULL);
  OK(toolglot_turn_calls(turn, &calls, &len));
  CHECK(len == 1 && is(calls[0].arguments, "{\"a\": \"xy\"}"));
  CHECK(toolglot_turn_open_call(NULL, &open) == TOOLGLOT_E_NULL && toolglot_turn_open_call(turn, NULL) == TOOLGLOT_E_NULL);
  toolglot_turn_free(turn);
  toolglot_stream_free(stream);

  /* What the prompt has opened is open before the first byte. */
  OK(toolglot_options_new(&options));
  OK(toolglot_options_set_prompt_tail(options, TOOLGLOT_LITERAL("<|im_start|>assistant\n<think>\n")));
  stream = stream_of(options);
  OK(toolglot_stream_state(stream, &flags));
  CHECK(flags == TOOLGLOT_STATE_REASONING);
  OK(toolglot_stream_feed(stream, TOOLGLOT_LITERAL("so</think>"), &batch));
  OK(toolglot_stream_state(stream, &flags));
  CHECK(flags == 0);
  toolglot_stream_free(stream);
  toolglot_options_free(options);
}

/* Two parts of a text that would form a call once the call between them is removed. */
#define SPLIT "<tool_" CALL "call name=\"g\"></tool_call>"

/* The number of calls in a text. */
static size_t calls_in(toolglot_view text) {
  toolglot_turn *turn;
  const toolglot_call *calls;
  size_t len;
  OK(toolglot_parse(engine, NULL, text.ptr, text.len, 0, &turn));
  OK(toolglot_turn_calls(turn, &calls, &len));
  toolglot_turn_free(turn);
  return len;
}

/* The text without its calls is not read as a call again. */
static void guards(void) {
  toolglot_turn *turn;
  toolglot_openai *openai;
  toolglot_buffer *buffer;
  toolglot_batch batch;
  toolglot_engine *own;
  OK(toolglot_turn_new(&turn));
  OK(toolglot_openai_new(&openai));
  OK(toolglot_buffer_new(&buffer));
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_guard(NULL, engine));
  STATUS(TOOLGLOT_E_NULL, toolglot_openai_guard(NULL, engine));
  for (int round = 0; round < 4; round++) {
    toolglot_stream *stream = stream_of(NULL);
    OK(toolglot_stream_feed(stream, TOOLGLOT_LITERAL(SPLIT), &batch));
    OK(toolglot_turn_add(turn, &batch));
    OK(toolglot_openai_write(openai, &batch, buffer));
    /* A breaker at its end keeps the first part of the content apart from the second. */
    int joined = !has(toolglot_buffer_view(buffer), "\"content\":\"<tool_\\\\\"");
    CHECK(has(toolglot_buffer_view(buffer), "\"content\":\"<tool_\"") == joined);
    STATUS(TOOLGLOT_E_STATE, toolglot_openai_guard(openai, engine));
    /* Only the end shows whether the last closer is text. */
    OK(toolglot_stream_finish(stream, 0, &batch));
    OK(toolglot_turn_add(turn, &batch));
    OK(toolglot_openai_write(openai, &batch, buffer));
    OK(toolglot_openai_finish(openai, 0, buffer));
    /* The first round has no guard, the others have one, also after a reset. */
    CHECK(calls_in(toolglot_turn_text(turn)) == (round == 0 || round == 3));
    CHECK(joined == (round == 0 || round == 3));
    toolglot_stream_free(stream);
    OK(toolglot_turn_reset(turn));
    if (round == 0) {
      OK(toolglot_engine_new(NULL, &own));
      OK(toolglot_turn_guard(turn, own));
      OK(toolglot_openai_guard(openai, own));
      toolglot_engine_free(own);
    }
    if (round == 2) {
      OK(toolglot_turn_guard(turn, NULL));
      OK(toolglot_openai_guard(openai, NULL));
    }
  }
  toolglot_turn_free(turn);
  toolglot_openai_free(openai);
  toolglot_buffer_free(buffer);
}

/* The original text of a turn; NULL if it has none. */
static const char *original_of(toolglot_turn *turn, size_t *len) {
  toolglot_view view = {NULL, 99};
  uint32_t kept = 7;
  OK(toolglot_turn_original(turn, &view, &kept));
  CHECK(kept <= 1 && (kept == 1 || view.len == 0));
  *len = view.len;
  return kept == 1 ? view.ptr : NULL;
}

/* All that the model wrote, in turns that ask for it: from batches of any size, and from a whole output. */
static void originals(void) {
  static const char *texts[] = {"<think>\xe5\x97\xaf</think>Hi " CALL " there", "a <tool_call name=\"f\"><param name=\"a\">1", "",
                                "\xff \xe7\xba\xaf <tool_call name=\"\xe5 " CALL};
  toolglot_options *options;
  toolglot_turn *turn, *whole;
  toolglot_batch batch;
  size_t len;
  OK(toolglot_options_new(&options));
  OK(toolglot_turn_new(&turn));
  OK(toolglot_turn_keep_original(turn, 1));
  OK(toolglot_turn_guard(turn, engine));
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    size_t all = strlen(texts[i]);
    OK(toolglot_options_set(options, TOOLGLOT_OPTION_ORIGINAL, 1));
    OK(toolglot_parse(engine, options, texts[i], all, TOOLGLOT_FINISH_LENGTH, &whole));
    const char *kept = original_of(whole, &len);
    CHECK(kept != NULL && len == all && memcmp(kept, texts[i], all) == 0);
    toolglot_turn_free(whole);
    OK(toolglot_options_set(options, TOOLGLOT_OPTION_ORIGINAL, 0));
    OK(toolglot_parse(engine, options, texts[i], all, TOOLGLOT_FINISH_LENGTH, &whole));
    CHECK(original_of(whole, &len) == NULL);
    toolglot_turn_free(whole);
    for (size_t step = 1; step < 4; step++) {
      toolglot_stream *stream = stream_of(NULL);
      for (size_t at = 0; at < all; at += step) {
        OK(toolglot_stream_feed(stream, texts[i] + at, at + step < all ? step : all - at, &batch));
        OK(toolglot_turn_add(turn, &batch));
      }
      OK(toolglot_stream_finish(stream, TOOLGLOT_FINISH_LENGTH, &batch));
      OK(toolglot_turn_add(turn, &batch));
      kept = original_of(turn, &len);
      CHECK(kept != NULL && len == all && memcmp(kept, texts[i], all) == 0);
      toolglot_stream_free(stream);
      /* The setting is kept across the reset. */
      OK(toolglot_turn_reset(turn));
      CHECK(original_of(turn, &len) != NULL && len == 0);
    }
  }
  /* Without the bytes of a block there is none. */
  OK(toolglot_options_set(options, TOOLGLOT_OPTION_BLOCK_BYTES, 0));
  toolglot_stream *stream = stream_of(options);
  OK(toolglot_stream_feed(stream, TOOLGLOT_LITERAL("a " CALL " b"), &batch));
  OK(toolglot_turn_add(turn, &batch));
  CHECK(original_of(turn, &len) == NULL);
  toolglot_stream_free(stream);
  OK(toolglot_turn_keep_original(turn, 0));
  CHECK(original_of(turn, &len) == NULL);
  STATUS(TOOLGLOT_E_ARG, toolglot_turn_keep_original(turn, 2));
  CHECK(is(toolglot_turn_error(turn), "`keep` is 0 or 1, not 2"));
  STATUS(TOOLGLOT_E_ARG, toolglot_options_set(options, TOOLGLOT_OPTION_ORIGINAL, 2));
  toolglot_turn_free(turn);
  toolglot_options_free(options);
}

/* The effect of options on the events. */
static void tools_and_masks(void) {
  toolglot_options *options;
  toolglot_stream *stream;
  toolglot_batch batch;
  toolglot_turn *turn;
  const toolglot_call *calls;
  size_t len;
  OK(toolglot_options_new(&options));
  OK(toolglot_options_set_tools(
      options, TOOLGLOT_LITERAL("[{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"n\":"
                                "{\"type\":\"integer\"}}}}]")));
  OK(toolglot_parse(engine, options, TOOLGLOT_LITERAL("<tool_call name=\"f\"><param name=\"n\">7</param></tool_call>"),
                    TOOLGLOT_FINISH_STOP, &turn));
  OK(toolglot_turn_calls(turn, &calls, &len));
  CHECK(len == 1 && is(calls[0].name, "f") && is(calls[0].arguments, "{\"n\":7}"));
  CHECK(calls[0].flags == TOOLGLOT_FLAG_COMPLETE && calls[0].details_len == 0);
  toolglot_turn_free(turn);

  OK(toolglot_options_set(options, TOOLGLOT_OPTION_EVENTS,
                          TOOLGLOT_EVENT_BIT(TOOLGLOT_EVENT_TEXT) | TOOLGLOT_EVENT_BIT(TOOLGLOT_EVENT_CALL_OPEN)));
  stream = stream_of(options);
  OK(toolglot_stream_feed(stream, TOOLGLOT_LITERAL("a" CALL "b"), &batch));
  CHECK(batch.len == 3 && batch.events[0].kind == TOOLGLOT_EVENT_TEXT &&
        batch.events[1].kind == TOOLGLOT_EVENT_CALL_OPEN && is(batch.events[2].data, "b"));
  toolglot_stream_free(stream);

  OK(toolglot_options_set(options, TOOLGLOT_OPTION_EVENTS, TOOLGLOT_EVENT_BIT(TOOLGLOT_EVENT_BLOCK_CLOSE)));
  OK(toolglot_options_set(options, TOOLGLOT_OPTION_BLOCK_BYTES, 0));
  stream = stream_of(options);
  OK(toolglot_stream_feed(stream, TOOLGLOT_LITERAL(CALL), &batch));
  CHECK(batch.len == 1 && batch.events[0].data.len == 0 && batch.events[0].end == sizeof CALL - 1);
  toolglot_stream_free(stream);

  OK(toolglot_options_set(options, TOOLGLOT_OPTION_EVENTS, UINT32_MAX));
  OK(toolglot_options_set(options, TOOLGLOT_OPTION_START, TOOLGLOT_START_REASONING));
  stream = stream_of(options);
  OK(toolglot_stream_feed(stream, TOOLGLOT_LITERAL("hm</think>so"), &batch));
  CHECK(batch.events[0].kind == TOOLGLOT_EVENT_REASONING && is(batch.events[0].data, "hm"));
  CHECK(batch.events[1].flags == TOOLGLOT_FLAG_FRAMING && batch.events[2].kind == TOOLGLOT_EVENT_TEXT);
  toolglot_stream_free(stream);
  toolglot_options_free(options);
}

/* The data of a batch's events, concatenated. */
static int joined(const toolglot_batch *batch, const char *text) {
  size_t at = 0, len = strlen(text);
  for (size_t i = 0; i < batch->len; i++) {
    toolglot_view data = batch->events[i].data;
    if (batch->events[i].kind != TOOLGLOT_EVENT_TEXT || at + data.len > len) return 0;
    if (memcmp(text + at, data.ptr, data.len) != 0) return 0;
    at += data.len;
  }
  return at == len;
}

static void streams(void) {
  toolglot_batch batch, none = {NULL, 77, 77, 77};
  toolglot_stream *stream = stream_of(NULL), *copy;
  toolglot_buffer *buffer;
  size_t live = toolglot_live_streams();
  static const char nul[] = "a\0b" CALL;
  OK(toolglot_buffer_new(&buffer));

  /* NUL bytes are bytes; the view of text points into the chunk. */
  OK(toolglot_stream_feed(stream, nul, sizeof nul - 1, &batch));
  CHECK(batch.events[0].data.len == 3 && batch.events[0].data.ptr == nul);
  CHECK(batch.position == sizeof nul - 1 && batch.held == 0);
  OK(toolglot_stream_feed(stream, TOOLGLOT_LITERAL("<tool_c"), &batch));
  CHECK(batch.len == 0 && batch.held == 7);

  /* A copy, a snapshot and the stream itself continue alike. */
  OK(toolglot_stream_clone(stream, &copy));
  CHECK(toolglot_live_streams() == live + 1);
  OK(toolglot_stream_snapshot(stream, buffer));
  OK(toolglot_stream_feed(stream, TOOLGLOT_LITERAL("at"), &batch));
  CHECK(joined(&batch, "<tool_cat"));
  OK(toolglot_stream_feed(copy, TOOLGLOT_LITERAL("at"), &batch));
  CHECK(joined(&batch, "<tool_cat"));
  OK(toolglot_stream_restore(stream, toolglot_buffer_view(buffer).ptr, toolglot_buffer_view(buffer).len));
  OK(toolglot_stream_finish(stream, TOOLGLOT_FINISH_STOP, &batch));
  CHECK(joined(&batch, "<tool_c"));
  STATUS(TOOLGLOT_E_SNAPSHOT, toolglot_stream_restore(copy, "TGss", 4));
  CHECK(has(toolglot_stream_error(copy), "damaged"));
  toolglot_stream_free(copy);

  /* Finished: nothing more is accepted, and earlier results are unchanged. */
  STATUS(TOOLGLOT_E_STATE, toolglot_stream_feed(stream, "a", 1, &none));
  STATUS(TOOLGLOT_E_STATE, toolglot_stream_feed_special(stream, "a", 1, &none));
  STATUS(TOOLGLOT_E_STATE, toolglot_stream_prefill(stream, "a", 1, &none));
  STATUS(TOOLGLOT_E_STATE, toolglot_stream_native_calls(stream, "[]", 2, &none));
  STATUS(TOOLGLOT_E_STATE, toolglot_stream_finish(stream, TOOLGLOT_FINISH_STOP, &none));
  CHECK(none.events == NULL && none.len == 77);
  CHECK(is(toolglot_stream_error(stream), "the stream is finished"));
  OK(toolglot_stream_snapshot(stream, buffer));
  OK(toolglot_stream_reset(stream));
  OK(toolglot_stream_feed(stream, "a", 1, &batch));
  CHECK(batch.position == 1);
  OK(toolglot_stream_restore(stream, toolglot_buffer_view(buffer).ptr, toolglot_buffer_view(buffer).len));
  STATUS(TOOLGLOT_E_STATE, toolglot_stream_feed(stream, "a", 1, &none));
  OK(toolglot_stream_reset(stream));
  STATUS(TOOLGLOT_E_ARG, toolglot_stream_finish(stream, 99, &batch));
  STATUS(TOOLGLOT_E_ARG, toolglot_stream_native_calls(stream, TOOLGLOT_LITERAL("{"), &batch));

  /* What the prompt has opened; API tool calls; details. */
  OK(toolglot_stream_prefill(stream, TOOLGLOT_LITERAL("<tool_call name=\"f\">"), &batch));
  OK(toolglot_stream_feed(stream, TOOLGLOT_LITERAL("<param name=\"a\">1</param></tool_call>"), &batch));
  CHECK(batch.events[batch.len - 2].kind == TOOLGLOT_EVENT_CALL_CLOSE &&
        batch.events[batch.len - 2].flags == TOOLGLOT_FLAG_COMPLETE);
  OK(toolglot_stream_reset(stream));
  OK(toolglot_stream_native_calls(
      stream, TOOLGLOT_LITERAL("[{\"id\":\"call_9\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]"), &batch));
  OK(toolglot_stream_finish(stream, TOOLGLOT_FINISH_STOP, &batch));
  CHECK(batch.len == 4 && batch.events[0].kind == TOOLGLOT_EVENT_CALL_OPEN &&
        batch.events[0].flags == TOOLGLOT_FLAG_NATIVE);
  CHECK(batch.events[1].kind == TOOLGLOT_EVENT_DETAIL && is(batch.events[1].aux, "id") &&
        is(batch.events[1].data, "call_9"));

  /* A truncated block is an issue, not a status. */
  OK(toolglot_stream_reset(stream));
  OK(toolglot_stream_feed(stream, TOOLGLOT_LITERAL("<tool_call name=\"f\"><param name=\"a\">1"), &batch));
  OK(toolglot_stream_finish(stream, TOOLGLOT_FINISH_LENGTH, &batch));
  size_t issues = 0;
  for (size_t i = 0; i < batch.len; i++) {
    if (batch.events[i].kind != TOOLGLOT_EVENT_ISSUE) continue;
    issues++;
    CHECK(batch.events[i].flags == TOOLGLOT_FLAG_ERROR && batch.events[i].data.len && batch.events[i].aux.len);
  }
  CHECK(issues > 0);
  toolglot_buffer_free(buffer);
  toolglot_stream_free(stream);
}

/* Callbacks: busy inside, stopping, freeing inside. */
typedef struct {
  toolglot_stream *stream;
  int stop_at, calls, busy, free_it;
} watcher;

static int32_t watch(void *user, const toolglot_event *event) {
  watcher *w = user;
  toolglot_batch batch;
  toolglot_stream *copy;
  CHECK(event->kind != 0);
  if (w->busy) {
    toolglot_buffer *buffer;
    OK(toolglot_buffer_new(&buffer));
    STATUS(TOOLGLOT_E_BUSY, toolglot_stream_feed(w->stream, "a", 1, &batch));
    STATUS(TOOLGLOT_E_BUSY, toolglot_stream_feed_special(w->stream, "a", 1, &batch));
    STATUS(TOOLGLOT_E_BUSY, toolglot_stream_prefill(w->stream, "a", 1, &batch));
    STATUS(TOOLGLOT_E_BUSY, toolglot_stream_native_calls(w->stream, "[]", 2, &batch));
    STATUS(TOOLGLOT_E_BUSY, toolglot_stream_finish(w->stream, 0, &batch));
    STATUS(TOOLGLOT_E_BUSY, toolglot_stream_feed_each(w->stream, "a", 1, watch, w));
    STATUS(TOOLGLOT_E_BUSY, toolglot_stream_finish_each(w->stream, 0, watch, w));
    STATUS(TOOLGLOT_E_BUSY, toolglot_stream_rest(w->stream, &batch));
    STATUS(TOOLGLOT_E_BUSY, toolglot_stream_reset(w->stream));
    STATUS(TOOLGLOT_E_BUSY, toolglot_stream_clone(w->stream, &copy));
    STATUS(TOOLGLOT_E_BUSY, toolglot_stream_snapshot(w->stream, buffer));
    STATUS(TOOLGLOT_E_BUSY, toolglot_stream_restore(w->stream, "a", 1));
    CHECK(is(toolglot_stream_error(w->stream), ""));
    toolglot_buffer_free(buffer);
  }
  if (w->free_it) {
    toolglot_stream_free(w->stream);
    w->free_it = 0;
    CHECK(event->data.ptr != NULL && event->kind != 0);
  }
  return ++w->calls == w->stop_at ? 5 : 0;
}

static void callbacks(void) {
  toolglot_batch batch;
  watcher w;
  memset(&w, 0, sizeof w);
  w.stream = stream_of(NULL);
  OK(toolglot_stream_feed_each(w.stream, TOOLGLOT_LITERAL("a" CALL), watch, &w));
  int all = w.calls;
  CHECK(all == 13);
  OK(toolglot_stream_rest(w.stream, &batch));
  CHECK(batch.len == 0 && batch.events != NULL);

  OK(toolglot_stream_reset(w.stream));
  w.calls = 0;
  w.stop_at = 3;
  STATUS(TOOLGLOT_E_STOPPED, toolglot_stream_feed_each(w.stream, TOOLGLOT_LITERAL("a" CALL), watch, &w));
  CHECK(w.calls == 3);
  OK(toolglot_stream_rest(w.stream, &batch));
  CHECK(batch.len == (size_t)all - 3 && batch.events[batch.len - 1].kind == TOOLGLOT_EVENT_BLOCK_CLOSE);

  w.stop_at = 0;
  w.busy = 1;
  OK(toolglot_stream_feed_each(w.stream, "b", 1, watch, &w));
  OK(toolglot_stream_finish_each(w.stream, 0, watch, &w));

  OK(toolglot_stream_reset(w.stream));
  size_t live = toolglot_live_streams();
  w.busy = 0;
  w.free_it = 1;
  OK(toolglot_stream_feed_each(w.stream, "b", 1, watch, &w));
  CHECK(toolglot_live_streams() == live - 1);
}

/* A handle of another type is detected. */
static void confused(void) {
  toolglot_batch batch;
  toolglot_stream *stream = stream_of(NULL);
  STATUS(TOOLGLOT_E_ARG, toolglot_stream_feed((toolglot_stream *)(void *)engine, "a", 1, &batch));
  STATUS(TOOLGLOT_E_ARG, toolglot_turn_reset((toolglot_turn *)(void *)stream));
  STATUS(TOOLGLOT_E_ARG, toolglot_stream_new((toolglot_engine *)(void *)stream, NULL, &stream));
  toolglot_engine_free((toolglot_engine *)(void *)stream);
  OK(toolglot_stream_feed(stream, "a", 1, &batch));
  toolglot_stream_free(stream);
}

static void texts(void) {
  toolglot_buffer *buffer, *back;
  toolglot_turn *turn;
  const toolglot_call *calls;
  size_t len;
  static const char hostile[] = "a <tool_call name=\"f\"></tool_call> \0 b";
  OK(toolglot_buffer_new(&buffer));
  OK(toolglot_buffer_new(&back));
  OK(toolglot_encode(engine, NULL, TOOLGLOT_LITERAL("tool-call-xml"),
                     TOOLGLOT_LITERAL("[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":\"<&>\"}}}]"), buffer));
  OK(toolglot_parse(engine, NULL, toolglot_buffer_view(buffer).ptr, toolglot_buffer_view(buffer).len, 0, &turn));
  OK(toolglot_turn_calls(turn, &calls, &len));
  CHECK(len == 1 && is(calls[0].name, "f") && is(calls[0].arguments, "{\"a\":\"<&>\"}"));
  CHECK(is(calls[0].dialect, "tool-call-xml"));
  toolglot_turn_free(turn);
  STATUS(TOOLGLOT_E_DIALECT, toolglot_encode(engine, NULL, "nothing", 7, "[]", 2, buffer));
  CHECK(has(toolglot_buffer_error(buffer), "nothing"));
  STATUS(TOOLGLOT_E_ARG, toolglot_encode(engine, NULL, "vcp", 3, "{", 1, buffer));
  OK(toolglot_escape(engine, hostile, sizeof hostile, buffer));
  OK(toolglot_parse(engine, NULL, toolglot_buffer_view(buffer).ptr, toolglot_buffer_view(buffer).len, 0, &turn));
  OK(toolglot_turn_calls(turn, &calls, &len));
  CHECK(len == 0);
  toolglot_turn_free(turn);
  OK(toolglot_unescape(engine, toolglot_buffer_view(buffer).ptr, toolglot_buffer_view(buffer).len, back));
  CHECK(toolglot_buffer_view(back).len == sizeof hostile &&
        memcmp(toolglot_buffer_view(back).ptr, hostile, sizeof hostile) == 0);
  OK(toolglot_buffer_set(back, "x", 1));
  CHECK(is(toolglot_buffer_view(back), "x"));

  /* The input may be a view of the contents that are replaced. */
  OK(toolglot_buffer_set(back, TOOLGLOT_LITERAL("0123456789")));
  OK(toolglot_buffer_set(back, toolglot_buffer_view(back).ptr, 10));
  CHECK(is(toolglot_buffer_view(back), "0123456789"));
  OK(toolglot_buffer_set(back, toolglot_buffer_view(back).ptr + 2, 7));
  CHECK(is(toolglot_buffer_view(back), "2345678"));
  OK(toolglot_buffer_set(back, toolglot_buffer_view(back).ptr + 6, 1));
  CHECK(is(toolglot_buffer_view(back), "8"));
  OK(toolglot_buffer_set(back, toolglot_buffer_view(back).ptr + 1, 0));
  CHECK(is(toolglot_buffer_view(back), ""));
  OK(toolglot_buffer_set(back, hostile, sizeof hostile));
  OK(toolglot_escape(engine, toolglot_buffer_view(back).ptr, toolglot_buffer_view(back).len, back));
  CHECK(toolglot_buffer_view(back).len == toolglot_buffer_view(buffer).len &&
        memcmp(toolglot_buffer_view(back).ptr, toolglot_buffer_view(buffer).ptr, toolglot_buffer_view(back).len) == 0);
  OK(toolglot_unescape(engine, toolglot_buffer_view(back).ptr, toolglot_buffer_view(back).len, back));
  CHECK(toolglot_buffer_view(back).len == sizeof hostile && memcmp(toolglot_buffer_view(back).ptr, hostile, sizeof hostile) == 0);
  toolglot_buffer_free(buffer);
  toolglot_buffer_free(back);
}

static size_t make_id(void *user, uint32_t index, const char *name, size_t name_len, char *out, size_t cap) {
  const char *want = index == 0 ? "weather" : "g";
  CHECK(name_len == strlen(want) && memcmp(name, want, name_len) == 0 && cap >= 64);
  ++*(int *)user;
  return (size_t)snprintf(out, cap, "host-%u", index);
}

/* The sinks: a turn from batches equals the turn of the whole; chunks of a completion. */
static void sinks(void) {
  static const char input[] = "Hi <think>hm</think>\n" CALL " <tool_call name=\"g\">";
  toolglot_stream *stream = stream_of(NULL);
  toolglot_batch batch;
  toolglot_turn *whole, *turn;
  toolglot_openai *openai;
  toolglot_buffer *buffer;
  const toolglot_call *calls;
  const toolglot_issue *issues, *others;
  size_t len, other;
  int asked = 0, roles = 0, ids = 0;
  OK(toolglot_turn_new(&turn));
  OK(toolglot_openai_new(&openai));
  OK(toolglot_buffer_new(&buffer));
  OK(toolglot_openai_set(openai, TOOLGLOT_OPENAI_SSE, 1));
  OK(toolglot_openai_set(openai, TOOLGLOT_OPENAI_CREATED, 12));
  OK(toolglot_openai_set_text(openai, TOOLGLOT_OPENAI_MODEL, "m", 1));
  OK(toolglot_openai_set_ids(openai, make_id, &asked));
  STATUS(TOOLGLOT_E_ARG, toolglot_openai_set(openai, TOOLGLOT_OPENAI_MODEL, 1));
  STATUS(TOOLGLOT_E_ARG, toolglot_openai_set(openai, TOOLGLOT_OPENAI_CALLS, 2));
  STATUS(TOOLGLOT_E_ARG, toolglot_openai_set_text(openai, TOOLGLOT_OPENAI_CALLS, "1", 1));
  for (size_t i = 0; i < sizeof input - 1; i++) {
    OK(toolglot_stream_feed(stream, input + i, 1, &batch));
    OK(toolglot_turn_add(turn, &batch));
    OK(toolglot_openai_write(openai, &batch, buffer));
    roles += has(toolglot_buffer_view(buffer), "\"role\"");
    ids += has(toolglot_buffer_view(buffer), "\"id\":\"host-0\"");
  }
  STATUS(TOOLGLOT_E_STATE, toolglot_openai_set(openai, TOOLGLOT_OPENAI_SSE, 0));
  STATUS(TOOLGLOT_E_STATE, toolglot_openai_set_text(openai, TOOLGLOT_OPENAI_MODEL, "n", 1));
  STATUS(TOOLGLOT_E_STATE, toolglot_openai_set_ids(openai, NULL, NULL));
  CHECK(has(toolglot_openai_error(openai), "begun"));
  OK(toolglot_stream_finish(stream, TOOLGLOT_FINISH_STOP, &batch));
  OK(toolglot_turn_add(turn, &batch));
  OK(toolglot_openai_write(openai, &batch, buffer));
  OK(toolglot_openai_finish(openai, TOOLGLOT_FINISH_STOP, buffer));
  CHECK(roles == 1 && ids == 1 && asked == 2);
  CHECK(has(toolglot_buffer_view(buffer), "finish_reason\":\"") && has(toolglot_buffer_view(buffer), "data: [DONE]\n\n"));
  STATUS(TOOLGLOT_E_ARG, toolglot_openai_finish(openai, 77, buffer));
  OK(toolglot_openai_set(openai, TOOLGLOT_OPENAI_SSE, 0));

  OK(toolglot_parse(engine, NULL, input, sizeof input - 1, TOOLGLOT_FINISH_STOP, &whole));
  toolglot_view a = toolglot_turn_text(whole), b = toolglot_turn_text(turn);
  CHECK(a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0);
  a = toolglot_turn_reasoning(whole);
  b = toolglot_turn_reasoning(turn);
  CHECK(a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0);
  OK(toolglot_turn_calls(turn, &calls, &len));
  CHECK(len == 1 && is(calls[0].name, "weather") && is(calls[0].arguments, "{\"city\":\"Leith\"}"));
  OK(toolglot_turn_issues(turn, &issues, &len));
  OK(toolglot_turn_issues(whole, &others, &other));
  CHECK(len == other && len > 0);
  for (size_t i = 0; i < len && i < other; i++) {
    CHECK(issues[i].code == others[i].code && issues[i].flags == others[i].flags);
    CHECK(issues[i].start == others[i].start && issues[i].dialect.len == others[i].dialect.len);
    CHECK(issues[i].observation.len == others[i].observation.len && issues[i].message.len > 0);
  }
  /* Each response has its own ids, unless the host gives the seed. */
  static char first[64];
  OK(toolglot_openai_set_ids(openai, NULL, NULL));
  for (int round = 0; round < 4; round++) {
    if (round == 2) OK(toolglot_openai_set(openai, TOOLGLOT_OPENAI_ID_SEED, 5));
    OK(toolglot_openai_completion(openai, whole, TOOLGLOT_FINISH_STOP, buffer));
    toolglot_view made = toolglot_buffer_view(buffer);
    char text[4096] = {0};
    CHECK(made.len < sizeof text);
    memcpy(text, made.ptr, made.len < sizeof text ? made.len : sizeof text - 1);
    const char *id = strstr(text, "\"id\":\"call_");
    CHECK(id != NULL);
    if (id == NULL) break;
    if (round > 0) CHECK((memcmp(id, first, 30) == 0) == (round == 3));
    memcpy(first, id, 30);
  }
  CHECK(memcmp(first + 6, "call_000000000000000500000000", 24) == 0);
  OK(toolglot_openai_completion(openai, whole, TOOLGLOT_FINISH_STOP, buffer));
  CHECK(has(toolglot_buffer_view(buffer), "\"chat.completion\"") && has(toolglot_buffer_view(buffer), "weather"));
  OK(toolglot_turn_reset(turn));
  CHECK(is(toolglot_turn_text(turn), ""));
  OK(toolglot_turn_calls(turn, &calls, &len));
  CHECK(len == 0);

  /* Events of the host: unknown kinds are skipped, invalid text is rejected. */
  toolglot_event made[2];
  memset(made, 0, sizeof made);
  made[0].kind = 9999;
  made[1].kind = TOOLGLOT_EVENT_ARG_DELTA;
  made[1].data.ptr = "\xff";
  made[1].data.len = 1;
  batch.events = made;
  batch.len = 1;
  OK(toolglot_turn_add(turn, &batch));
  batch.len = 2;
  STATUS(TOOLGLOT_E_ARG, toolglot_turn_add(turn, &batch));
  CHECK(has(toolglot_turn_error(turn), "UTF-8"));
  batch.events = NULL;
  STATUS(TOOLGLOT_E_NULL, toolglot_turn_add(turn, &batch));

  toolglot_turn_free(whole);
  toolglot_turn_free(turn);
  toolglot_openai_free(openai);
  toolglot_buffer_free(buffer);
  toolglot_stream_free(stream);
}

/* What is dropped is reported with its kinds in a whole output, in a turn from batches and by the writer alike. */
static void dropped(void) {
  static const struct {
    const char *input, *want;
  } cases[] = {
      {"<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"x", "\"withheld\":[],\"dropped\":[{\"span\":[0,42],\"kinds\":[\"unclosed_block\"]}]}"},
      {"<tool_call name=\"g\"></tool_call> <tool_call name=\"h\"><param name=\"a\">1</param></tool_call>",
       "\"withheld\":[],\"dropped\":[{\"span\":[0,32],\"kinds\":[\"unknown_tool\"]},{\"span\":[33,90],\"kinds\":[\"unknown_tool\"]}]}"},
      {"hello", NULL},
  };
  toolglot_options *options;
  toolglot_turn *turn, *whole;
  toolglot_openai *openai;
  toolglot_buffer *buffer;
  toolglot_batch batch;
  toolglot_view left;
  OK(toolglot_options_new(&options));
  OK(toolglot_options_set_tools(options, TOOLGLOT_LITERAL("[{\"name\":\"f\"}]")));
  OK(toolglot_options_set(options, TOOLGLOT_OPTION_UNKNOWN_TOOL, TOOLGLOT_UNKNOWN_TOOL_DROP));
  OK(toolglot_turn_new(&turn));
  OK(toolglot_openai_new(&openai));
  OK(toolglot_buffer_new(&buffer));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *input = cases[i].input, *want = cases[i].want;
    OK(toolglot_parse(engine, options, input, strlen(input), TOOLGLOT_FINISH_STOP, &whole));
    OK(toolglot_turn_not_delivered(whole, &left));
    CHECK(want == NULL ? left.len == 0 : has(left, want));
    toolglot_turn_free(whole);
    toolglot_stream *stream = stream_of(options);
    for (size_t at = 0; at < strlen(input); at++) {
      OK(toolglot_stream_feed(stream, input + at, 1, &batch));
      OK(toolglot_turn_add(turn, &batch));
      OK(toolglot_openai_write(openai, &batch, buffer));
    }
    OK(toolglot_stream_finish(stream, TOOLGLOT_FINISH_STOP, &batch));
    OK(toolglot_turn_add(turn, &batch));
    OK(toolglot_openai_write(openai, &batch, buffer));
    OK(toolglot_openai_finish(openai, TOOLGLOT_FINISH_STOP, buffer));
    OK(toolglot_turn_not_delivered(turn, &left));
    CHECK(want == NULL ? left.len == 0 : has(left, want));
    CHECK(want == NULL ? !has(toolglot_buffer_view(buffer), "toolglot\":") : has(toolglot_buffer_view(buffer), want));
    OK(toolglot_openai_completion(openai, turn, TOOLGLOT_FINISH_STOP, buffer));
    CHECK(want == NULL ? !has(toolglot_buffer_view(buffer), "toolglot\":") : has(toolglot_buffer_view(buffer), want));
    toolglot_stream_free(stream);
    OK(toolglot_turn_reset(turn));
  }
  toolglot_options_free(options);
  toolglot_turn_free(turn);
  toolglot_openai_free(openai);
  toolglot_buffer_free(buffer);
}

#ifdef TEST_PANIC
static void panics(void) {
  toolglot_batch batch;
  toolglot_stream *stream = stream_of(NULL), *copy, *other = stream_of(NULL);
  toolglot_buffer *buffer;
  watcher w;
  memset(&w, 0, sizeof w);
  OK(toolglot_buffer_new(&buffer));
  STATUS(TOOLGLOT_E_PANIC, toolglot_test_panic(stream));
  CHECK(has(toolglot_stream_error(stream), "failed inside"));
  STATUS(TOOLGLOT_E_POISONED, toolglot_stream_feed(stream, "a", 1, &batch));
  STATUS(TOOLGLOT_E_POISONED, toolglot_stream_feed_special(stream, "a", 1, &batch));
  STATUS(TOOLGLOT_E_POISONED, toolglot_stream_prefill(stream, "a", 1, &batch));
  STATUS(TOOLGLOT_E_POISONED, toolglot_stream_native_calls(stream, "[]", 2, &batch));
  STATUS(TOOLGLOT_E_POISONED, toolglot_stream_finish(stream, 0, &batch));
  STATUS(TOOLGLOT_E_POISONED, toolglot_stream_feed_each(stream, "a", 1, watch, &w));
  STATUS(TOOLGLOT_E_POISONED, toolglot_stream_finish_each(stream, 0, watch, &w));
  STATUS(TOOLGLOT_E_POISONED, toolglot_stream_rest(stream, &batch));
  STATUS(TOOLGLOT_E_POISONED, toolglot_stream_reset(stream));
  STATUS(TOOLGLOT_E_POISONED, toolglot_stream_clone(stream, &copy));
  STATUS(TOOLGLOT_E_POISONED, toolglot_stream_snapshot(stream, buffer));
  STATUS(TOOLGLOT_E_POISONED, toolglot_stream_restore(stream, "a", 1));
  STATUS(TOOLGLOT_E_POISONED, toolglot_test_panic(stream));
  OK(toolglot_stream_feed(other, "a", 1, &batch));
  OK(toolglot_buffer_set(buffer, "a", 1));
  STATUS(TOOLGLOT_E_NULL, toolglot_test_panic(NULL));
  toolglot_stream_free(stream);
  toolglot_stream_free(other);
  toolglot_buffer_free(buffer);
}
#endif

int main(void) {
  OK(toolglot_engine_new(NULL, &engine));
  library();
  nulls();
  configs();
  templates();
  options();
  states();
  guards();
  originals();
  tools_and_masks();
  streams();
  callbacks();
  confused();
  texts();
  sinks();
  dropped();
#ifdef TEST_PANIC
  panics();
#endif
  /* A stream outlives its engine. */
  toolglot_stream *stream = stream_of(NULL);
  toolglot_batch batch;
  toolglot_engine_free(engine);
  OK(toolglot_stream_feed(stream, TOOLGLOT_LITERAL(CALL), &batch));
  CHECK(batch.len == 12);
  toolglot_stream_free(stream);
  CHECK(toolglot_live_streams() == 0);
  return done("api");
}
