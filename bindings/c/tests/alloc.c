/* Text costs no allocation, in either form. Linked with --wrap, so that every allocation of the library is counted. */
#include "test.h"

static size_t allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size) {
  allocations++;
  return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
  allocations++;
  return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) {
  allocations++;
  return __real_realloc(old, size);
}

static int32_t count(void *user, const toolglot_event *event) {
  *(size_t *)user += event->data.len;
  return 0;
}

int main(void) {
  static const char *const chunks[] = {"words ", "of a reply, ", "a < b and <", "tool_c", "at, \n", "\xe4\xb8\xad"};
  toolglot_engine *engine;
  toolglot_stream *stream;
  toolglot_batch batch;
  size_t bytes = 0, fed = 0;
  OK(toolglot_engine_new(NULL, &engine));
  OK(toolglot_stream_new(engine, NULL, &stream));
  CHECK(allocations > 0);
  for (int round = 0; round < 1000; round++) {
    if (round == 10) allocations = 0;
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
      fed += strlen(chunks[i]);
      if (round % 2) {
        OK(toolglot_stream_feed_each(stream, chunks[i], strlen(chunks[i]), count, &bytes));
      } else {
        OK(toolglot_stream_feed(stream, chunks[i], strlen(chunks[i]), &batch));
        for (size_t j = 0; j < batch.len; j++) bytes += batch.events[j].data.len;
      }
    }
  }
  CHECK(allocations == 0);
  CHECK(bytes == fed);
  toolglot_stream_free(stream);
  toolglot_engine_free(engine);
  return done("alloc");
}
