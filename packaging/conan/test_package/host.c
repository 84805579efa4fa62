#include <stdio.h>
#include <string.h>
#include <toolglot.h>

int main(void) {
  toolglot_engine *engine = NULL;
  toolglot_turn *turn = NULL;
  const toolglot_call *calls;
  size_t count = 0;
  if (strcmp(toolglot_version(), TOOLGLOT_VERSION) != 0) return 1;
  if (toolglot_engine_new(NULL, &engine)) return 1;
  if (toolglot_parse(engine, NULL, TOOLGLOT_LITERAL("<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>"),
                     TOOLGLOT_FINISH_STOP, &turn)) {
    return 1;
  }
  if (toolglot_turn_calls(turn, &calls, &count) || count != 1) return 1;
  printf("%s: %.*s %.*s\n", toolglot_version(), (int)calls[0].name.len, calls[0].name.ptr, (int)calls[0].arguments.len,
         calls[0].arguments.ptr);
  toolglot_turn_free(turn);
  toolglot_engine_free(engine);
  return 0;
}
