/* The smallest use: a model's output from standard input, its text and calls to standard output while they arrive.
 *
 * Build, from the root of the repository, with the library installed by `bindings/c/install.sh $PREFIX`:
 *
 *     cc examples/c/minimal.c -I$PREFIX/include -L$PREFIX/lib -Wl,-rpath,$PREFIX/lib -ltoolglot -o minimal
 *     cc examples/c/minimal.c -I$PREFIX/include $PREFIX/lib/libtoolglot.a -lpthread -ldl -lm -o minimal
 *     cc examples/c/minimal.c $(pkg-config --cflags --libs toolglot) -Wl,-rpath,$PREFIX/lib -o minimal
 *
 * The last with PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig. Run:
 *
 *     ./minimal < examples/transcript.txt
 */
#include <stdio.h>

#include <toolglot.h>

static void put(toolglot_view view) { fwrite(view.ptr, 1, view.len, stdout); }

static void show(const toolglot_batch *batch) {
  for (size_t i = 0; i < batch->len; i++) {
    const toolglot_event *event = &batch->events[i];
    switch (event->kind) {
      case TOOLGLOT_EVENT_TEXT:
        put(event->data);
        break;
      case TOOLGLOT_EVENT_CALL_OPEN:
        put(event->data);
        fputs(" <- ", stdout);
        break;
      case TOOLGLOT_EVENT_ARG_DELTA:
        put(event->data);
        break;
      case TOOLGLOT_EVENT_CALL_CLOSE:
        puts(event->flags & TOOLGLOT_FLAG_COMPLETE ? "" : " (mended)");
        break;
      case TOOLGLOT_EVENT_ISSUE:
        put(event->data);
        putchar('\n');
        break;
      default: /* kinds that do not matter here, or that a later library has */
        break;
    }
  }
  fflush(stdout);
}

int main(void) {
  toolglot_engine *engine = NULL;
  toolglot_stream *stream = NULL;
  toolglot_batch batch;
  toolglot_status status = toolglot_engine_new(NULL, &engine);
  if (status == TOOLGLOT_OK) status = toolglot_stream_new(engine, NULL, &stream);

  char chunk[16]; /* a token's worth; any size is right */
  size_t len;
  while (status == TOOLGLOT_OK && (len = fread(chunk, 1, sizeof chunk, stdin)) > 0) {
    status = toolglot_stream_feed(stream, chunk, len, &batch);
    if (status == TOOLGLOT_OK) show(&batch);
  }
  if (status == TOOLGLOT_OK) status = toolglot_stream_finish(stream, TOOLGLOT_FINISH_STOP, &batch);
  if (status == TOOLGLOT_OK) show(&batch);

  if (status != TOOLGLOT_OK) {
    toolglot_view message = toolglot_stream_error(stream);
    fprintf(stderr, "%s: %.*s\n", toolglot_status_name(status), (int)message.len, message.ptr);
  }
  toolglot_stream_free(stream);
  toolglot_engine_free(engine);
  return status != TOOLGLOT_OK;
}
