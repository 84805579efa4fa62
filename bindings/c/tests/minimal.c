/* The smallest use: one output, printed event by event. */
#include <stdio.h>
#include "toolglot.h"

static void show(const toolglot_batch *batch) {
  for (size_t i = 0; i < batch->len; i++) {
    const toolglot_event *e = &batch->events[i];
    printf("%s %d `%.*s` `%.*s` %d..%d flags %d\n", toolglot_event_name(e->kind), (int)e->call, (int)e->data.len,
           e->data.ptr, (int)e->aux.len, e->aux.ptr, (int)e->start, (int)e->end, (int)e->flags);
  }
  printf("-- held %d of %d\n", (int)batch->held, (int)batch->position);
}

int main(void) {
  static const char *const chunks[] = {"Looking. <tool_c", "all name=\"weather\"><param name=\"city\">Le",
                                       "ith</param></tool_call>"};
  toolglot_engine *engine;
  toolglot_stream *stream;
  toolglot_batch batch;
  if (toolglot_engine_new(NULL, &engine) || toolglot_stream_new(engine, NULL, &stream)) return 1;
  for (size_t i = 0; i < 3; i++) {
    size_t len = 0;
    while (chunks[i][len]) len++;
    if (toolglot_stream_feed(stream, chunks[i], len, &batch)) return 1;
    show(&batch);
  }
  if (toolglot_stream_finish(stream, TOOLGLOT_FINISH_STOP, &batch)) return 1;
  show(&batch);
  printf("%s live %d\n", toolglot_version(), (int)toolglot_live_streams());
  toolglot_stream_free(stream);
  toolglot_engine_free(engine);
  return toolglot_live_streams() != 0;
}
