#include "shim.h"

#include <stdlib.h>
#include <string.h>

/* Makes room for `want` items in all; false if there is no memory. */
static int grow(void **list, size_t *room, size_t want, size_t item) {
  size_t size = *room ? *room : 64;
  void *more;
  if (want <= *room) return 1;
  while (size < want) size *= 2;
  more = realloc(*list, size * item);
  if (!more) return 0;
  *list = more;
  *room = size;
  return 1;
}

static size_t keep(shim_stream *s, toolglot_view view) {
  size_t at = s->used;
  memcpy(s->bytes + at, view.ptr, view.len);
  s->used += view.len;
  return at;
}

static toolglot_status copy(shim_stream *s, const toolglot_batch *batch) {
  size_t bytes = 0;
  s->position = batch->position;
  s->held = batch->held;
  for (size_t i = 0; i < batch->len; i++) bytes += batch->events[i].data.len + batch->events[i].aux.len;
  if (!grow((void **)&s->events, &s->room, batch->len, sizeof *s->events) || !grow((void **)&s->bytes, &s->size, bytes + 1, 1)) {
    return TOOLGLOT_E_NOMEM;
  }
  for (size_t i = 0; i < batch->len; i++) {
    const toolglot_event *e = &batch->events[i];
    shim_event *to = &s->events[i];
    to->kind = e->kind;
    to->flags = e->flags;
    to->call = e->call;
    to->code = e->code;
    to->start = e->start;
    to->end = e->end;
    to->data_len = e->data.len;
    to->aux_len = e->aux.len;
    to->data = keep(s, e->data);
    to->aux = keep(s, e->aux);
  }
  s->len = batch->len;
  return s->turn ? toolglot_turn_add(s->turn, batch) : TOOLGLOT_OK;
}

toolglot_status shim_give(shim_stream *s, int how, const void *data, size_t len) {
  toolglot_batch batch;
  toolglot_status status = TOOLGLOT_E_ARG;
  s->len = s->used = 0;
  switch (how) {
    case SHIM_FEED: status = toolglot_stream_feed(s->stream, data, len, &batch); break;
    case SHIM_SPECIAL: status = toolglot_stream_feed_special(s->stream, data, len, &batch); break;
    case SHIM_PREFILL: status = toolglot_stream_prefill(s->stream, data, len, &batch); break;
    case SHIM_NATIVE: status = toolglot_stream_native_calls(s->stream, data, len, &batch); break;
  }
  return status ? status : copy(s, &batch);
}

toolglot_status shim_finish(shim_stream *s, uint32_t reason) {
  toolglot_batch batch;
  toolglot_status status;
  s->len = s->used = 0;
  status = toolglot_stream_finish(s->stream, reason, &batch);
  return status ? status : copy(s, &batch);
}

void shim_free(shim_stream *s) {
  toolglot_stream_free(s->stream);
  toolglot_turn_free(s->turn);
  free(s->events);
  free(s->bytes);
  free(s);
}
