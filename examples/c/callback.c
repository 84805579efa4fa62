/* A host with a function that takes events one by one, tools whose types are known, and calls that run as soon as their block
 * has closed. The function stops the delivery there; what it did not get waits in the stream.
 *
 * Build, from the root of the repository, with the library installed by `bindings/c/install.sh $PREFIX`:
 *
 *     cc examples/c/callback.c -I$PREFIX/include -L$PREFIX/lib -Wl,-rpath,$PREFIX/lib -ltoolglot -o callback
 *     cc examples/c/callback.c -I$PREFIX/include $PREFIX/lib/libtoolglot.a -lpthread -ldl -lm -o callback
 *     cc examples/c/callback.c $(pkg-config --cflags --libs toolglot) -Wl,-rpath,$PREFIX/lib -o callback
 *
 * The last with PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig. Run:
 *
 *     ./callback < examples/transcript.txt
 */
#include <stdio.h>
#include <string.h>

#include <toolglot.h>

static const char TOOLS[] =
    "[{\"name\": \"weather\", \"parameters\": {\"type\": \"object\", \"required\": [\"city\"], \"properties\": {"
    "\"city\": {\"type\": \"string\"}, \"days\": {\"type\": \"integer\"}}}}]";

typedef struct {
  char name[64], arguments[1024];
  size_t name_len, arguments_len;
  int fits;
} call;

/* The calls of the open block. They count when it has closed: a block may turn out to be none. A real host gives them memory
 * that grows. */
typedef struct {
  call calls[8];
  size_t len;
} block;

static int keep(char *to, size_t *have, size_t cap, toolglot_view piece) {
  if (piece.len > cap - *have) return 0;
  memcpy(to + *have, piece.ptr, piece.len);
  *have += piece.len;
  return 1;
}

/* Must return, and must not call functions of the same stream. Not 0: no more events for now. */
static int32_t take(void *user, const toolglot_event *event) {
  block *open = user;
  call *last = open->len > 0 ? &open->calls[open->len - 1] : NULL;
  switch (event->kind) {
    case TOOLGLOT_EVENT_TEXT:
      fwrite(event->data.ptr, 1, event->data.len, stdout);
      break;
    case TOOLGLOT_EVENT_BLOCK_OPEN:
    case TOOLGLOT_EVENT_BLOCK_ABANDONED:
      open->len = 0;
      break;
    case TOOLGLOT_EVENT_CALL_OPEN:
      if (open->len == sizeof open->calls / sizeof *open->calls) open->len--; /* no room: the last one is lost */
      last = &open->calls[open->len++];
      memset(last, 0, sizeof *last);
      last->fits = keep(last->name, &last->name_len, sizeof last->name, event->data);
      break;
    case TOOLGLOT_EVENT_ARG_DELTA:
      last->fits &= keep(last->arguments, &last->arguments_len, sizeof last->arguments, event->data);
      break;
    case TOOLGLOT_EVENT_CALL_ABANDONED:
      open->len--;
      break;
    case TOOLGLOT_EVENT_CALL_CLOSE: /* a mended call would be run only after asking */
      if (!(event->flags & TOOLGLOT_FLAG_COMPLETE) || !last->fits) open->len--;
      break;
    case TOOLGLOT_EVENT_BLOCK_CLOSE:
      return open->len > 0;
    default:
      break;
  }
  return 0;
}

static void run(block *of) {
  for (size_t i = 0; i < of->len; i++) {
    const call *c = &of->calls[i];
    printf("[runs %.*s with %.*s]", (int)c->name_len, c->name, (int)c->arguments_len, c->arguments);
  }
  of->len = 0;
}

/* Runs the calls of a block that has closed, and takes the events behind it. */
static toolglot_status go_on(toolglot_stream *stream, toolglot_status status, block *open) {
  toolglot_batch rest;
  if (status != TOOLGLOT_E_STOPPED) return status;
  status = toolglot_stream_rest(stream, &rest);
  run(open);
  for (size_t i = 0; status == TOOLGLOT_OK && i < rest.len; i++) {
    if (take(open, &rest.events[i]) != 0) run(open);
  }
  return status;
}

int main(void) {
  toolglot_engine *engine = NULL;
  toolglot_options *options = NULL;
  toolglot_stream *stream = NULL;
  block open;
  open.len = 0;
  toolglot_status status = toolglot_engine_new(NULL, &engine);
  if (status == TOOLGLOT_OK) status = toolglot_options_new(&options);
  if (status == TOOLGLOT_OK) status = toolglot_options_set_tools(options, TOOLGLOT_LITERAL(TOOLS));
  if (status == TOOLGLOT_OK) status = toolglot_stream_new(engine, options, &stream);
  toolglot_options_free(options);

  char chunk[16];
  size_t len;
  while (status == TOOLGLOT_OK && (len = fread(chunk, 1, sizeof chunk, stdin)) > 0) {
    status = go_on(stream, toolglot_stream_feed_each(stream, chunk, len, take, &open), &open);
  }
  if (status == TOOLGLOT_OK) {
    status = go_on(stream, toolglot_stream_finish_each(stream, TOOLGLOT_FINISH_STOP, take, &open), &open);
  }
  if (status != TOOLGLOT_OK) fprintf(stderr, "%s\n", toolglot_status_name(status));
  toolglot_stream_free(stream);
  toolglot_engine_free(engine);
  return status != TOOLGLOT_OK;
}
