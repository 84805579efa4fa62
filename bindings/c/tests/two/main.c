/* Two static Rust libraries in one program. */
#include "../test.h"

uint32_t other_answer(void);

int main(void) {
  toolglot_engine *engine;
  toolglot_turn *turn;
  const toolglot_call *calls;
  size_t len;
  CHECK(other_answer() == 42);
  OK(toolglot_engine_new(NULL, &engine));
  OK(toolglot_parse(engine, NULL, TOOLGLOT_LITERAL("<tool_call name=\"f\"><param name=\"a\">1</param></tool_call>"),
                    TOOLGLOT_FINISH_STOP, &turn));
  OK(toolglot_turn_calls(turn, &calls, &len));
  CHECK(len == 1 && is(calls[0].arguments, "{\"a\":\"1\"}"));
  toolglot_turn_free(turn);
  toolglot_engine_free(engine);
  return done("two");
}
