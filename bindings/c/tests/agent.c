/* Agents through the C interface: the vectors of tests/agent give the same instructions as without it; and errors.
 *
 *     agent AGENTS.FLAT
 *
 * bindings/c/tests/flat/agents.rs writes the file and says what is in it. */
#include "test.h"

static char *file;
static size_t size, at;

typedef struct {
  char letter;
  const char *bytes;
  size_t len;
} entry;

static int next(entry *found) {
  char *end;
  if (at >= size) return 0;
  found->letter = file[at];
  found->len = strtoul(file + at + 2, &end, 10);
  found->bytes = end + 1;
  at = (size_t)(end + 1 - file) + found->len;
  return 1;
}

static int peek(char letter) { return at < size && file[at] == letter; }

static int same(toolglot_view view, const entry *wanted) {
  return view.len == wanted->len && memcmp(view.ptr, wanted->bytes, view.len) == 0;
}

static const char *vector;
static size_t vector_len;

static void compare(toolglot_view have, const entry *wanted) {
  if (same(have, wanted)) return;
  failures++;
  fprintf(stderr, "%.*s:\nwanted %.*s\nhave   %.*s\n", (int)vector_len, vector, (int)wanted->len, wanted->bytes,
          (int)have.len, have.ptr);
}

/* Takes all instructions; they must be those that follow in the file. */
static void take(toolglot_run *run) {
  toolglot_view said;
  for (;;) {
    entry wanted;
    OK(toolglot_run_take(run, &said));
    if (said.len == 0) break;
    CHECK(peek('i'));
    if (!peek('i') || !next(&wanted)) return;
    compare(said, &wanted);
  }
  CHECK(!peek('i'));
}

static void vectors(void) {
  toolglot_engine *engine = NULL;
  toolglot_agent *agent;
  toolglot_run *run = NULL;
  toolglot_buffer *buffer;
  toolglot_status status;
  entry one;
  size_t runs = 0, told = 0;
  OK(toolglot_agent_new(&agent));
  OK(toolglot_buffer_new(&buffer));
  while (next(&one) && failures == 0) {
    switch (one.letter) {
      case 'v':
        vector = one.bytes;
        vector_len = one.len;
        break;
      case 'd': {
        toolglot_config *config;
        toolglot_engine_free(engine);
        OK(toolglot_config_new(TOOLGLOT_ABI_VERSION, &config));
        OK(toolglot_config_add_builtin(config, one.bytes, one.len));
        OK(toolglot_engine_new(config, &engine));
        toolglot_config_free(config);
        break;
      }
      case 'a':
        OK(toolglot_agent_read(agent, engine, NULL, one.bytes, one.len));
        break;
      case 'r':
      case 's':
        toolglot_run_free(run);
        OK((one.letter == 'r' ? toolglot_agent_run : toolglot_agent_steps)(agent, one.bytes, one.len, &run));
        runs++;
        take(run);
        break;
      case 'x': {
        toolglot_run *again;
        toolglot_view said, saved;
        OK(toolglot_run_write(run, TOOLGLOT_RUN_SAVED, buffer));
        saved = toolglot_buffer_view(buffer);
        OK(toolglot_agent_restore(agent, saved.ptr, saved.len, &again));
        toolglot_run_free(run);
        run = again;
        do {
          OK(toolglot_run_take(run, &said));
        } while (said.len != 0);
        break;
      }
      case 'm':
      case 't':
        told++;
        status = (one.letter == 'm' ? toolglot_run_model : toolglot_run_tell)(run, one.bytes, one.len);
        if (peek('e')) {
          CHECK(next(&one));
          STATUS(TOOLGLOT_E_STATE, status);
          compare(toolglot_run_error(run), &one);
        } else {
          OK(status);
        }
        take(run);
        break;
      case 'o':
        OK(toolglot_run_write(run, TOOLGLOT_RUN_OUTCOME, buffer));
        compare(toolglot_buffer_view(buffer), &one);
        break;
      default:
        CHECK(!"a letter that is known");
    }
  }
  CHECK(runs > 45 && told > 300);
  toolglot_run_free(run);
  toolglot_agent_free(agent);
  toolglot_engine_free(engine);
  toolglot_buffer_free(buffer);
}

static const char TOOLS[] = "[{\"name\": \"f\", \"description\": \"F\", \"parameters\": {\"type\": \"object\", "
                            "\"properties\": {\"n\": {\"type\": \"integer\"}}, \"required\": [\"n\"]}}]";

static void tools(toolglot_engine *engine, toolglot_buffer *buffer) {
  toolglot_tools *tools;
  toolglot_view view;
  OK(toolglot_tools_new(&tools));
  OK(toolglot_tools_add(tools, TOOLGLOT_LITERAL(TOOLS)));
  STATUS(TOOLGLOT_E_ARG, toolglot_tools_add(tools, TOOLGLOT_LITERAL(TOOLS)));
  CHECK(has(toolglot_tools_error(tools), "f"));
  STATUS(TOOLGLOT_E_ARG, toolglot_tools_add(tools, TOOLGLOT_LITERAL("[{\"description\": \"none\"}]")));
  CHECK(has(toolglot_tools_error(tools), "name"));
  OK(toolglot_tools_add(tools, TOOLGLOT_LITERAL("{\"tools\": [{\"name\": \"g\", \"inputSchema\": {}}]}")));
  OK(toolglot_tools_json(tools, TOOLGLOT_TOOLS_OPENAI, buffer));
  CHECK(has(toolglot_buffer_view(buffer), "\"name\":\"f\"") && has(toolglot_buffer_view(buffer), "\"name\":\"g\""));
  OK(toolglot_tools_json(tools, TOOLGLOT_TOOLS_MANIFEST, buffer));
  CHECK(has(toolglot_buffer_view(buffer), "\"agentCallable\":true"));
  STATUS(TOOLGLOT_E_ARG, toolglot_tools_json(tools, 7, buffer));

  OK(toolglot_tools_prompt(tools, engine, TOOLGLOT_LITERAL("hermes"), TOOLGLOT_LANG_EN, buffer));
  CHECK(has(toolglot_buffer_view(buffer), "\"f\""));
  STATUS(TOOLGLOT_E_DIALECT, toolglot_tools_prompt(tools, engine, TOOLGLOT_LITERAL("vcp"), TOOLGLOT_LANG_EN, buffer));
  CHECK(has(toolglot_buffer_error(buffer), "vcp"));
  STATUS(TOOLGLOT_E_ARG, toolglot_tools_prompt(tools, engine, TOOLGLOT_LITERAL("hermes"), 7, buffer));

  OK(toolglot_tools_check(tools, engine, TOOLGLOT_LITERAL("hermes"), TOOLGLOT_LITERAL("f"),
                          TOOLGLOT_LITERAL("{\"n\": \"7\"}"), buffer));
  view = toolglot_buffer_view(buffer);
  CHECK(has(view, "\"valid\":true") && has(view, "\"arguments\":{\"n\":7}"));
  OK(toolglot_tools_check(tools, NULL, NULL, 0, TOOLGLOT_LITERAL("f"), TOOLGLOT_LITERAL("{}"), buffer));
  CHECK(has(toolglot_buffer_view(buffer), "\"kind\":\"missing_required\""));
  OK(toolglot_tools_check(tools, NULL, NULL, 0, TOOLGLOT_LITERAL("none"), TOOLGLOT_LITERAL("{}"), buffer));
  CHECK(has(toolglot_buffer_view(buffer), "\"tool\":null"));

  OK(toolglot_results(engine, TOOLGLOT_LITERAL("hermes"), TOOLGLOT_LANG_EN,
                      TOOLGLOT_LITERAL("[{\"name\": \"f\", \"content\": \"</tool_response>\"}]"), buffer));
  view = toolglot_buffer_view(buffer);
  CHECK(has(view, "\"role\":\"user\"") && has(view, "<tool_response>") && has(view, "<\\\\/tool_response>"));
  STATUS(TOOLGLOT_E_ARG, toolglot_results(engine, TOOLGLOT_LITERAL("hermes"), TOOLGLOT_LANG_EN,
                                          TOOLGLOT_LITERAL("[{\"status\": \"odd\"}]"), buffer));
  STATUS(TOOLGLOT_E_NULL, toolglot_tools_add(NULL, TOOLGLOT_LITERAL(TOOLS)));
  toolglot_tools_free(tools);
  toolglot_tools_free(NULL);
}

static void agents(toolglot_engine *engine, toolglot_buffer *buffer) {
  toolglot_agent *agent;
  toolglot_run *run;
  toolglot_view said;
  uint32_t waits;
  uint64_t now, deadline;
  OK(toolglot_agent_new(&agent));
  STATUS(TOOLGLOT_E_STATE, toolglot_agent_run(agent, TOOLGLOT_LITERAL("[]"), &run));
  CHECK(has(toolglot_agent_error(agent), "toolglot_agent_read"));
  STATUS(TOOLGLOT_E_ARG, toolglot_agent_read(agent, engine, NULL, TOOLGLOT_LITERAL("{}")));
  CHECK(has(toolglot_agent_error(agent), "dialect"));
  STATUS(TOOLGLOT_E_DIALECT, toolglot_agent_read(agent, engine, NULL, TOOLGLOT_LITERAL("{\"dialect\": \"vcp\"}")));
  STATUS(TOOLGLOT_E_NULL, toolglot_agent_read(agent, NULL, NULL, TOOLGLOT_LITERAL("{\"dialect\": \"hermes\"}")));
  OK(toolglot_agent_read(agent, engine, NULL, TOOLGLOT_LITERAL("{\"dialect\": \"hermes\"}")));
  STATUS(TOOLGLOT_E_ARG, toolglot_agent_run(agent, TOOLGLOT_LITERAL("7"), &run));
  CHECK(has(toolglot_agent_error(agent), "messages"));
  STATUS(TOOLGLOT_E_ARG, toolglot_agent_steps(agent, TOOLGLOT_LITERAL("[{}]"), &run));
  STATUS(TOOLGLOT_E_SNAPSHOT, toolglot_agent_restore(agent, TOOLGLOT_LITERAL("{}"), &run));
  STATUS(TOOLGLOT_E_NULL, toolglot_agent_run(agent, TOOLGLOT_LITERAL("[]"), NULL));
  OK(toolglot_agent_run(agent, TOOLGLOT_LITERAL("[{\"role\": \"user\", \"content\": \"go\"}]"), &run));
  /* A run keeps what it needs. */
  toolglot_agent_free(agent);
  OK(toolglot_run_take(run, &said));
  CHECK(has(said, "{\"do\":\"ask\""));
  OK(toolglot_run_take(run, &said));
  CHECK(is(said, ""));
  OK(toolglot_run_waits(run, &waits, &now, &deadline));
  CHECK(waits == TOOLGLOT_WAITS_MODEL && now == 0 && deadline == UINT64_MAX);
  STATUS(TOOLGLOT_E_ARG, toolglot_run_tell(run, TOOLGLOT_LITERAL("{\"odd\": 1}")));
  CHECK(has(toolglot_run_error(run), "cannot be told"));
  STATUS(TOOLGLOT_E_STATE, toolglot_run_tell(run, TOOLGLOT_LITERAL("{\"lost\": \"c\"}")));
  OK(toolglot_run_model(run, TOOLGLOT_LITERAL("Hi.")));
  OK(toolglot_run_tell(run, TOOLGLOT_LITERAL("{\"ended\": \"stop\"}")));
  OK(toolglot_run_write(run, TOOLGLOT_RUN_MESSAGES, buffer));
  CHECK(has(toolglot_buffer_view(buffer), "\"content\":\"Hi.\""));
  OK(toolglot_run_write(run, TOOLGLOT_RUN_RECEIPTS, buffer));
  CHECK(is(toolglot_buffer_view(buffer), "[]"));
  STATUS(TOOLGLOT_E_ARG, toolglot_run_write(run, 7, buffer));
  OK(toolglot_run_waits(run, &waits, &now, &deadline));
  CHECK(waits == TOOLGLOT_WAITS_NOTHING);
  toolglot_run_free(run);
  toolglot_run_free(NULL);
  toolglot_agent_free(NULL);
}

static void responses(toolglot_buffer *buffer) {
  static const char body[] = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n";
  toolglot_response *response;
  STATUS(TOOLGLOT_E_ARG, toolglot_response_new(7, &response));
  OK(toolglot_response_new(TOOLGLOT_SOURCE_OPENAI, &response));
  OK(toolglot_response_feed(response, body, 20, buffer));
  CHECK(is(toolglot_buffer_view(buffer), ""));
  OK(toolglot_response_feed(response, body + 20, sizeof body - 21, buffer));
  CHECK(is(toolglot_buffer_view(buffer), "{\"model\":\"Hi\"}\n{\"ended\":\"stop\"}\n"));
  OK(toolglot_response_finish(response, buffer));
  CHECK(is(toolglot_buffer_view(buffer), ""));
  toolglot_response_free(response);
  OK(toolglot_response_new(TOOLGLOT_SOURCE_OLLAMA, &response));
  OK(toolglot_response_finish(response, buffer));
  CHECK(has(toolglot_buffer_view(buffer), "{\"failed\":"));
  toolglot_response_free(response);
  toolglot_response_free(NULL);
}

int main(int argc, char **argv) {
  toolglot_engine *engine;
  toolglot_config *config;
  toolglot_buffer *buffer;
  FILE *in = argc > 1 ? fopen(argv[1], "rb") : NULL;
  if (in == NULL) {
    fprintf(stderr, "usage: agent AGENTS.FLAT\n");
    return 2;
  }
  fseek(in, 0, SEEK_END);
  size = (size_t)ftell(in);
  rewind(in);
  file = malloc(size + 1);
  if (file == NULL || fread(file, 1, size, in) != size) return 2;
  file[size] = 0;
  fclose(in);
  vectors();
  free(file);

  OK(toolglot_buffer_new(&buffer));
  OK(toolglot_config_new(TOOLGLOT_ABI_VERSION, &config));
  OK(toolglot_config_add_builtin(config, TOOLGLOT_LITERAL("hermes")));
  OK(toolglot_engine_new(config, &engine));
  toolglot_config_free(config);
  tools(engine, buffer);
  agents(engine, buffer);
  responses(buffer);
  toolglot_engine_free(engine);
  toolglot_buffer_free(buffer);
  return done("agent");
}
