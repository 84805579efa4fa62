/* The cost of chunks in C: bench null|batch|callback BEFORE REPEATED TIMES; see direct.rs. `null` is the loop alone, without calls. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "toolglot.h"

typedef struct {
  unsigned long long bytes, events;
} count;

static int32_t take(void *user, const toolglot_event *event) {
  count *all = user;
  switch (event->kind) {
    case TOOLGLOT_EVENT_TEXT:
    case TOOLGLOT_EVENT_ARG_DELTA:
    case TOOLGLOT_EVENT_PARAM_DELTA:
      all->bytes += event->data.len;
      all->events++;
      break;
    default:
      break;
  }
  return 0;
}

static toolglot_status none(toolglot_stream *stream, const void *data, size_t len, toolglot_batch *out) {
  (void)stream, (void)data, (void)len;
  out->len = 0;
  return TOOLGLOT_OK;
}

/* Not known to the compiler, which would leave out a call of nothing. */
static toolglot_status (*volatile feed)(toolglot_stream *, const void *, size_t, toolglot_batch *) = toolglot_stream_feed;

static char *read_all(const char *path, size_t *len) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) exit(2);
  *len = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*len + 1);
  if (!bytes || fread(bytes, 1, *len, file) != *len) exit(2);
  fclose(file);
  return bytes;
}

static void batches(toolglot_stream *stream, const char *data, size_t len, count *all) {
  toolglot_status (*const step)(toolglot_stream *, const void *, size_t, toolglot_batch *) = feed;
  toolglot_batch batch;
  for (size_t at = 0; at < len; at += 4) {
    if (step(stream, data + at, len - at < 4 ? len - at : 4, &batch) != TOOLGLOT_OK) exit(1);
    for (size_t i = 0; i < batch.len; i++) take(all, &batch.events[i]);
  }
}

static void calls(toolglot_stream *stream, const char *data, size_t len, count *all) {
  for (size_t at = 0; at < len; at += 4) {
    size_t size = len - at < 4 ? len - at : 4;
    if (toolglot_stream_feed_each(stream, data + at, size, take, all) != TOOLGLOT_OK) exit(1);
  }
}

int main(int argc, char **argv) {
  count all = {0, 0};
  toolglot_engine *engine;
  toolglot_stream *stream;
  size_t before_len, len;
  if (argc != 5) return 2;
  char *before = read_all(argv[2], &before_len), *data = read_all(argv[3], &len);
  if (strcmp(argv[1], "null") == 0) feed = none;
  if (toolglot_engine_new(NULL, &engine) || toolglot_stream_new(engine, NULL, &stream)) return 1;
  if (toolglot_stream_feed_each(stream, before, before_len, take, &all) != TOOLGLOT_OK) return 1;
  for (int times = atoi(argv[4]); times > 0; times--) {
    (strcmp(argv[1], "callback") == 0 ? calls : batches)(stream, data, len, &all);
  }
  printf("%llu %llu\n", all.bytes, all.events);
  toolglot_stream_free(stream);
  toolglot_engine_free(engine);
  free(before);
  free(data);
  return 0;
}
