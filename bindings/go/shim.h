/* One call of C for each chunk. The events of a chunk are copied here, before the call returns: views may point into the chunk,
 * which is memory of Go, and C must not keep pointers to that. */
#ifndef TOOLGLOT_SHIM_H
#define TOOLGLOT_SHIM_H

#include <toolglot.h>

/* An event whose views are ranges of `bytes`. */
typedef struct {
  uint32_t kind, flags, call, code;
  size_t data, data_len, aux, aux_len;
  uint64_t start, end;
} shim_event;

typedef struct {
  toolglot_stream *stream;
  toolglot_turn *turn; /* NULL unless the turn is collected */
  shim_event *events;
  size_t len, room;
  char *bytes;
  size_t used, size;
  uint64_t position;
  size_t held;
} shim_stream;

enum shim_call { SHIM_FEED, SHIM_SPECIAL, SHIM_PREFILL, SHIM_NATIVE };

toolglot_status shim_give(shim_stream *s, int how, const void *data, size_t len);
toolglot_status shim_finish(shim_stream *s, uint32_t reason);
void shim_free(shim_stream *s);

#endif
