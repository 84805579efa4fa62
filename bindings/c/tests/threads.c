/* One engine on many threads; one stream on two; a stream that moves; fork with a live stream, and while other threads feed. */
#define _POSIX_C_SOURCE 200809L
#include "test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALL "<tool_call name=\"weather\"><param name=\"city\">Leith</param></tool_call>"
#define THREADS 8
#define FORKS 8 /* while the threads run */

static toolglot_engine *engine;
static toolglot_options *options;

/* Separate streams of a shared engine and shared options. */
static void *own_streams(void *user) {
  size_t bad = 0;
  (void)user;
  for (int round = 0; round < 200; round++) {
    toolglot_stream *stream;
    toolglot_batch batch;
    size_t calls = 0;
    if (toolglot_stream_new(engine, options, &stream)) return (void *)(size_t)1000000;
    for (size_t i = 0; i < sizeof CALL - 1; i++) {
      bad += toolglot_stream_feed(stream, &CALL[i], 1, &batch) != TOOLGLOT_OK;
      for (size_t j = 0; j < batch.len; j++) calls += batch.events[j].kind == TOOLGLOT_EVENT_CALL_CLOSE;
    }
    bad += toolglot_stream_finish(stream, TOOLGLOT_FINISH_STOP, &batch) != TOOLGLOT_OK;
    bad += calls != 1;
    toolglot_stream_free(stream);
  }
  return (void *)bad;
}

/* One stream that all threads feed: each call either works or returns that it is busy. */
static void *same_stream(void *user) {
  size_t fed = 0;
  for (int round = 0; round < 20000; round++) {
    toolglot_batch batch;
    toolglot_status status = toolglot_stream_feed(user, "abc", 3, &batch);
    if (status == TOOLGLOT_OK) {
      fed++;
    } else if (status != TOOLGLOT_E_BUSY) {
      return (void *)(size_t)-1;
    }
  }
  return (void *)fed;
}

static void *one_feed(void *user) {
  toolglot_batch batch;
  return (void *)(size_t)toolglot_stream_feed(user, TOOLGLOT_LITERAL("ol_call name=\"f\">"), &batch);
}

int main(void) {
  pthread_t threads[THREADS];
  toolglot_stream *stream;
  toolglot_batch batch;
  void *answer;
  OK(toolglot_engine_new(NULL, &engine));
  OK(toolglot_options_new(&options));

  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, own_streams, NULL) == 0);
  for (int i = 0; i < THREADS; i++) {
    CHECK(pthread_join(threads[i], &answer) == 0);
    CHECK(answer == NULL);
  }

  OK(toolglot_stream_new(engine, options, &stream));
  size_t fed = 0;
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, same_stream, stream) == 0);
  for (int i = 0; i < THREADS; i++) {
    CHECK(pthread_join(threads[i], &answer) == 0);
    CHECK((size_t)answer != (size_t)-1);
    fed += (size_t)answer;
  }
  OK(toolglot_stream_feed(stream, NULL, 0, &batch));
  CHECK(batch.position == 3 * fed && fed > 0);

  OK(toolglot_stream_reset(stream));
  OK(toolglot_stream_feed(stream, TOOLGLOT_LITERAL("<to"), &batch));
  CHECK(pthread_create(&threads[0], NULL, one_feed, stream) == 0 && pthread_join(threads[0], &answer) == 0);
  CHECK(answer == NULL);

  /* Parent and child continue the stream separately. */
  pid_t child = fork();
  OK(toolglot_stream_feed(stream, TOOLGLOT_LITERAL("<param name=\"a\">1</param></tool_call>"), &batch));
  CHECK(batch.len > 2 && batch.events[batch.len - 1].kind == TOOLGLOT_EVENT_BLOCK_CLOSE);
  if (child == 0) {
    toolglot_stream_free(stream);
    toolglot_options_free(options);
    toolglot_engine_free(engine);
    _exit(failures != 0);
  }
  int status = 1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);

#ifndef __SANITIZE_ADDRESS__ /* whose own allocator does not survive such a fork */
  /* Children of a process whose other threads feed streams of the same engine. One that waits for them ends by its alarm. */
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, own_streams, NULL) == 0);
  for (int i = 0; i < FORKS; i++) {
    child = fork();
    if (child == 0) {
      alarm(60);
      _exit(own_streams(NULL) != NULL);
    }
    status = 1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  }
  for (int i = 0; i < THREADS; i++) {
    CHECK(pthread_join(threads[i], &answer) == 0);
    CHECK(answer == NULL);
  }
#endif

  toolglot_stream_free(stream);
  toolglot_options_free(options);
  toolglot_engine_free(engine);
  CHECK(toolglot_live_streams() == 0);
  return done("threads");
}
