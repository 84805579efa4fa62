/* Turns bytes into a sequence of calls, in any order: nothing may crash, leak, or return anything that the header does not
 * allow.
 *
 *   calls [COUNT [SEED]]    COUNT sequences from random bytes
 *   calls FILE...           sequences from files
 *
 * Compiled with -DTOOLGLOT_FUZZ and -fsanitize=fuzzer it is a fuzz target. Run it under address and undefined-behaviour
 * sanitizers, which find the errors. Batches are read again long after their call, as long as the header says they are
 * valid, and the chunk lives in its own allocation exactly as long. */
#include "test.h"

enum { STREAMS = 4, BUFFERS = 2, ENGINES = 3, SETTINGS = 3 };

static const char *const FRAGMENTS[] = {
    "plain words ", "\n", "<tool_call>", "</tool_call>", "<tool_call name=\"f\">", "<param name=\"a\">", "</param>",
    "{\"name\": \"f\", \"arguments\": {", "\"a\": ", "[1, 2", "\"x\\n\"", "}}", "<think>", "</think>", "```\n", "<<<[TOOL_REQUEST]>>>",
    "tool_name:", "\xe3\x80\x8c\xe5\xa7\x8b\xe3\x80\x8d", "\xe3\x80\x8c\xe6\x9c\xab\xe3\x80\x8d", "<<<[END_TOOL_REQUEST]>>>",
    "<tool_c", "<", "&amp;", "\xe3\x80", "\xff", "[{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]"};

typedef struct {
  const uint8_t *at, *end;
} reader;

static uint32_t byte(reader *r) { return r->at < r->end ? *r->at++ : 0; }
static uint32_t pick(reader *r, uint32_t n) { return byte(r) % n; }

/* Bytes in an allocation of exactly their size. */
static char *piece(reader *r, size_t *len) {
  uint32_t kind = byte(r);
  const char *from;
  if (kind < 200) {
    from = FRAGMENTS[kind % (sizeof FRAGMENTS / sizeof *FRAGMENTS)];
    *len = strlen(from);
    if (kind % 7 == 0 && *len > 1) *len = 1 + pick(r, (uint32_t)*len);
  } else {
    size_t left = (size_t)(r->end - r->at);
    from = (const char *)r->at;
    *len = kind - 200 < left ? kind - 200 : left;
    r->at += *len;
  }
  char *copy = malloc(*len + !*len);
  if (!copy) abort();
  memcpy(copy, from, *len);
  return copy;
}

typedef struct {
  toolglot_stream *stream;
  char *chunk; /* the batch may point into it */
  toolglot_batch batch;
  uint32_t engine, settings;
  int finished, has_batch, in_turn;
} slot;

typedef struct {
  toolglot_buffer *buffer;
  uint32_t engine, settings;
  int finished, snapshot;
} store;

typedef struct {
  slot slots[STREAMS];
  store stores[BUFFERS];
  toolglot_turn *turn;
  toolglot_openai *openai;
} world;

static toolglot_engine *engines[ENGINES];
static toolglot_options *settings[SETTINGS];
static volatile uint64_t sum;

static void touch(toolglot_view view) {
  CHECK(view.ptr != NULL);
  for (size_t i = 0; i < view.len; i++) sum += (unsigned char)view.ptr[i];
}

static void touch_event(const toolglot_event *e) {
  touch(e->data);
  touch(e->aux);
  CHECK(e->kind >= TOOLGLOT_EVENT_TEXT && e->kind <= TOOLGLOT_EVENT_CALL_NAMED && e->start <= e->end);
}

static void touch_batch(const toolglot_batch *batch) {
  CHECK(batch->events != NULL && batch->held <= batch->position);
  for (size_t i = 0; i < batch->len; i++) {
    touch_event(&batch->events[i]);
    CHECK(batch->events[i].end <= batch->position);
  }
}

/* The last batch is no longer valid, nor is the chunk. */
static void drop(slot *s) {
  free(s->chunk);
  s->chunk = NULL;
  s->has_batch = 0;
}

static void keep(slot *s, const toolglot_batch *batch, char *chunk) {
  drop(s);
  s->batch = *batch;
  s->chunk = chunk;
  s->has_batch = 1;
  s->in_turn = 0;
  touch_batch(batch);
}

static void make(reader *r, slot *s) {
  toolglot_stream_free(s->stream);
  drop(s);
  s->stream = NULL;
  s->finished = 0;
  s->engine = pick(r, ENGINES);
  s->settings = pick(r, SETTINGS);
  OK(toolglot_stream_new(engines[s->engine], settings[s->settings], &s->stream));
}

typedef toolglot_status (*feeder)(toolglot_stream *, const void *, size_t, toolglot_batch *);

static void feed(reader *r, slot *s) {
  static const feeder feeders[] = {toolglot_stream_feed, toolglot_stream_feed, toolglot_stream_feed_special,
                                   toolglot_stream_prefill};
  feeder step = feeders[pick(r, 4)];
  toolglot_batch batch;
  size_t len;
  char *chunk = piece(r, &len);
  toolglot_status want = !s->stream ? TOOLGLOT_E_NULL : s->finished ? TOOLGLOT_E_STATE : TOOLGLOT_OK;
  STATUS(TOOLGLOT_E_NULL, step(s->stream, NULL, 1, &batch));
  STATUS(TOOLGLOT_E_NULL, step(s->stream, chunk, len, NULL));
  drop(s);
  STATUS(want, step(s->stream, chunk, len, &batch));
  if (want == TOOLGLOT_OK) {
    keep(s, &batch, chunk);
  } else {
    free(chunk);
  }
}

static void feed_nothing(reader *r, slot *s) {
  toolglot_batch batch;
  toolglot_status want = !s->stream ? TOOLGLOT_E_NULL : s->finished ? TOOLGLOT_E_STATE : TOOLGLOT_OK;
  drop(s);
  STATUS(want, toolglot_stream_feed(s->stream, pick(r, 2) ? "" : NULL, 0, &batch));
  if (want != TOOLGLOT_OK) return;
  CHECK(batch.len == 0);
  keep(s, &batch, NULL);
}

typedef struct {
  toolglot_stream *stream;
  uint32_t stop_at, calls;
} taker;

static int32_t take(void *user, const toolglot_event *event) {
  taker *t = user;
  toolglot_batch batch;
  touch_event(event);
  STATUS(TOOLGLOT_E_BUSY, toolglot_stream_feed(t->stream, "x", 1, &batch));
  return ++t->calls == t->stop_at;
}

static void each(reader *r, slot *s) {
  taker t = {s->stream, pick(r, 6), 0};
  toolglot_batch rest;
  size_t len;
  int finish = pick(r, 8) == 0;
  char *chunk = piece(r, &len);
  drop(s);
  toolglot_status got = finish ? toolglot_stream_finish_each(s->stream, TOOLGLOT_FINISH_STOP, take, &t)
                               : toolglot_stream_feed_each(s->stream, chunk, len, take, &t);
  if (!s->stream || s->finished) {
    CHECK(got == (s->stream ? TOOLGLOT_E_STATE : TOOLGLOT_E_NULL) && t.calls == 0);
    free(chunk);
    return;
  }
  CHECK(got == (t.stop_at && t.calls == t.stop_at ? TOOLGLOT_E_STOPPED : TOOLGLOT_OK));
  OK(toolglot_stream_rest(s->stream, &rest));
  CHECK(got == TOOLGLOT_E_STOPPED || rest.len == 0);
  s->finished = finish;
  keep(s, &rest, chunk);
  s->in_turn = 1; /* not the whole batch */
}

static void finish(reader *r, slot *s) {
  toolglot_batch batch;
  uint32_t reason = pick(r, 7);
  toolglot_status want = !s->stream ? TOOLGLOT_E_NULL : reason > 4 ? TOOLGLOT_E_ARG : s->finished ? TOOLGLOT_E_STATE : TOOLGLOT_OK;
  drop(s);
  STATUS(want, toolglot_stream_finish(s->stream, reason, &batch));
  if (want != TOOLGLOT_OK) return;
  CHECK(batch.held == 0);
  s->finished = 1;
  keep(s, &batch, NULL);
}

static void native(reader *r, slot *s) {
  toolglot_batch batch;
  size_t len;
  char *json = piece(r, &len);
  drop(s);
  toolglot_status got = toolglot_stream_native_calls(s->stream, json, len, &batch);
  free(json);
  CHECK(s->stream ? got == TOOLGLOT_E_ARG || got == (s->finished ? TOOLGLOT_E_STATE : TOOLGLOT_OK) : got == TOOLGLOT_E_NULL);
  if (got == TOOLGLOT_OK) keep(s, &batch, NULL);
}

static void copy(reader *r, world *w, slot *s) {
  slot *to = &w->slots[pick(r, STREAMS)];
  toolglot_stream *made = NULL;
  if (to == s) return;
  drop(s);
  STATUS(s->stream ? TOOLGLOT_OK : TOOLGLOT_E_NULL, toolglot_stream_clone(s->stream, &made));
  if (!made) return;
  toolglot_stream_free(to->stream);
  drop(to);
  *to = *s;
  to->stream = made;
}

static void snapshot(slot *s, store *to) {
  drop(s);
  STATUS(s->stream ? TOOLGLOT_OK : TOOLGLOT_E_NULL, toolglot_stream_snapshot(s->stream, to->buffer));
  if (!s->stream) return;
  to->engine = s->engine;
  to->settings = s->settings;
  to->finished = s->finished;
  to->snapshot = 1;
  touch(toolglot_buffer_view(to->buffer));
}

static void restore(reader *r, slot *s, const store *from) {
  toolglot_view bytes = toolglot_buffer_view(from->buffer);
  int damaged = pick(r, 4) == 0;
  size_t len = damaged && bytes.len > 0 ? bytes.len - 1 : bytes.len;
  drop(s);
  toolglot_status got = toolglot_stream_restore(s->stream, bytes.ptr, len);
  if (!s->stream) {
    CHECK(got == TOOLGLOT_E_NULL);
  } else if (from->snapshot && !damaged && s->engine == from->engine && s->settings == from->settings) {
    CHECK(got == TOOLGLOT_OK);
    s->finished = from->finished;
  } else {
    CHECK(got == TOOLGLOT_E_SNAPSHOT);
  }
}

/* Batches read by a turn and by a writer, in any order. */
static void collect(reader *r, world *w, const slot *s) {
  const toolglot_call *calls;
  const toolglot_issue *issues;
  size_t len;
  store *out = &w->stores[pick(r, BUFFERS)];
  if (s->has_batch && !s->in_turn) {
    toolglot_status added = toolglot_turn_add(w->turn, &s->batch);
    toolglot_status written = toolglot_openai_write(w->openai, &s->batch, out->buffer);
    /* Batches of several streams, or not from the beginning, are rejected or read as they are. */
    CHECK(added == TOOLGLOT_OK || added == TOOLGLOT_E_ARG);
    CHECK(written == TOOLGLOT_OK || written == TOOLGLOT_E_ARG);
  } else {
    toolglot_status written = toolglot_openai_finish(w->openai, pick(r, 5), out->buffer);
    CHECK(written == TOOLGLOT_OK);
  }
  out->snapshot = 0;
  touch(toolglot_buffer_view(out->buffer));
  touch(toolglot_turn_text(w->turn));
  touch(toolglot_turn_reasoning(w->turn));
  toolglot_view original;
  uint32_t kept;
  OK(toolglot_turn_original(w->turn, &original, &kept));
  touch(original);
  OK(toolglot_turn_calls(w->turn, &calls, &len));
  for (size_t i = 0; i < len; i++) {
    touch(calls[i].name);
    touch(calls[i].arguments);
    touch(calls[i].kinds);
    for (size_t j = 0; j < calls[i].details_len; j++) touch(calls[i].details[j].value);
  }
  OK(toolglot_turn_issues(w->turn, &issues, &len));
  for (size_t i = 0; i < len; i++) touch(issues[i].message);
  OK(toolglot_openai_completion(w->openai, w->turn, pick(r, 5), out->buffer));
  if (pick(r, 4) == 0) OK(toolglot_turn_reset(w->turn));
  if (pick(r, 8) == 0) OK(toolglot_turn_keep_original(w->turn, pick(r, 2)));
}

static void texts(reader *r, world *w) {
  toolglot_buffer *there = w->stores[0].buffer, *back = w->stores[1].buffer;
  const toolglot_engine *engine = engines[pick(r, ENGINES)];
  size_t len;
  char *text = piece(r, &len);
  w->stores[0].snapshot = w->stores[1].snapshot = 0;
  OK(toolglot_escape(engine, text, len, there));
  toolglot_view escaped = toolglot_buffer_view(there);
  OK(toolglot_unescape(engine, escaped.ptr, escaped.len, back));
  CHECK(toolglot_buffer_view(back).len == len && memcmp(toolglot_buffer_view(back).ptr, text, len) == 0);
  toolglot_status got = toolglot_encode(engine, settings[pick(r, SETTINGS)], "hermes", 6, text, len, there);
  CHECK(got == TOOLGLOT_OK || got == TOOLGLOT_E_ARG || got == TOOLGLOT_E_ENCODE || got == TOOLGLOT_E_DIALECT);
  touch(toolglot_buffer_view(there));
  touch(toolglot_buffer_error(there));
  got = toolglot_buffer_set(back, text, len);
  CHECK(got == TOOLGLOT_OK);
  free(text);
}

static void whole(reader *r) {
  toolglot_turn *turn = NULL;
  size_t len;
  char *text = piece(r, &len);
  OK(toolglot_parse(engines[pick(r, ENGINES)], settings[pick(r, SETTINGS)], text, len, pick(r, 5), &turn));
  free(text);
  touch(toolglot_turn_text(turn));
  toolglot_turn_free(turn);
}

static void step(reader *r, world *w) {
  uint32_t what = pick(r, 32);
  slot *s = &w->slots[pick(r, STREAMS)];
  store *b = &w->stores[pick(r, BUFFERS)];
  if (what < 14) {
    feed(r, s);
  } else if (what < 18) {
    each(r, s);
  } else {
    switch (what) {
      case 18: case 19: make(r, s); break;
      case 20: feed_nothing(r, s); break;
      case 21: finish(r, s); break;
      case 22: native(r, s); break;
      case 23: copy(r, w, s); break;
      case 24: snapshot(s, b); break;
      case 25: restore(r, s, b); break;
      case 26: case 27: collect(r, w, s); break;
      case 28: texts(r, w); break;
      case 29: whole(r); break;
      case 30:
        drop(s);
        STATUS(s->stream ? TOOLGLOT_OK : TOOLGLOT_E_NULL, toolglot_stream_reset(s->stream));
        s->finished = 0;
        break;
      default:
        toolglot_stream_free(s->stream);
        drop(s);
        s->stream = NULL;
        break;
    }
  }
  touch(toolglot_stream_error(s->stream));
  size_t live = 0;
  for (int i = 0; i < STREAMS; i++) {
    live += w->slots[i].stream != NULL;
    if (w->slots[i].has_batch) touch_batch(&w->slots[i].batch);
  }
  CHECK(toolglot_live_streams() == live);
}

static void begin(void) {
  toolglot_config *config;
  if (engines[0]) return;
  OK(toolglot_engine_new(NULL, &engines[0]));
  static const char *const ids[] = {"hermes", "vcp"};
  for (int i = 1; i < ENGINES; i++) {
    OK(toolglot_config_new(TOOLGLOT_ABI_VERSION, &config));
    OK(toolglot_config_add_builtin(config, ids[i - 1], strlen(ids[i - 1])));
    OK(toolglot_config_add_builtin(config, TOOLGLOT_LITERAL("tool-call-xml")));
    OK(toolglot_engine_new(config, &engines[i]));
    toolglot_config_free(config);
  }
  for (int i = 1; i < SETTINGS; i++) OK(toolglot_options_new(&settings[i])); /* the first is NULL: all defaults */
  OK(toolglot_options_set(settings[1], TOOLGLOT_OPTION_TEXT, TOOLGLOT_TEXT_CHARS));
  OK(toolglot_options_set(settings[1], TOOLGLOT_OPTION_MAX_BLOCK, 64));
  OK(toolglot_options_set(settings[2], TOOLGLOT_OPTION_RETAIN, TOOLGLOT_RETAIN_NONE));
  OK(toolglot_options_set(settings[2], TOOLGLOT_OPTION_UNCLOSED, TOOLGLOT_UNCLOSED_SALVAGE));
}

static void end(void) {
  for (int i = 0; i < ENGINES; i++) toolglot_engine_free(engines[i]);
  for (int i = 0; i < SETTINGS; i++) toolglot_options_free(settings[i]);
}

static void run(const uint8_t *data, size_t size) {
  reader r = {data, data + size};
  world w;
  memset(&w, 0, sizeof w);
  OK(toolglot_turn_new(&w.turn));
  OK(toolglot_openai_new(&w.openai));
  for (int i = 0; i < BUFFERS; i++) OK(toolglot_buffer_new(&w.stores[i].buffer));
  while (r.at < r.end) step(&r, &w);
  for (int i = 0; i < STREAMS; i++) {
    toolglot_stream_free(w.slots[i].stream);
    drop(&w.slots[i]);
  }
  for (int i = 0; i < BUFFERS; i++) toolglot_buffer_free(w.stores[i].buffer);
  toolglot_openai_free(w.openai);
  toolglot_turn_free(w.turn);
}

#ifdef TOOLGLOT_FUZZ
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  begin();
  run(data, size);
  (void)end;
  if (failures) abort();
  return 0;
}
#else
static void file(const char *path) {
  FILE *in = fopen(path, "rb");
  static uint8_t data[1 << 16];
  if (!in) exit(2);
  size_t len = fread(data, 1, sizeof data, in);
  fclose(in);
  run(data, len);
}

int main(int argc, char **argv) {
  char *rest = NULL;
  long count = argc > 1 ? strtol(argv[1], &rest, 10) : 200;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 88172645463325252u;
  static uint8_t data[512];
  begin();
  if (rest && *rest) {
    for (int i = 1; i < argc; i++) file(argv[i]);
    count = 0;
  }
  for (long i = 0; i < count && failures == 0; i++) {
    uint64_t first = seed;
    for (size_t j = 0; j < sizeof data; j++) {
      seed ^= seed << 13;
      seed ^= seed >> 7;
      seed ^= seed << 17;
      data[j] = (uint8_t)(seed >> 32);
    }
    run(data, sizeof data);
    if (failures) fprintf(stderr, "calls 1 %llu shows it\n", (unsigned long long)first);
  }
  end();
  return done("calls");
}
#endif
