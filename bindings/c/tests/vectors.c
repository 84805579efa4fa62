/* Every conformance vector through the C interface, compared with what the engine says without it.
 *
 *   vectors FILE            whole, in single bytes, and every 2-way split
 *   vectors FILE SEEDS      whole, in single bytes, and SEEDS random splits (for slow machines: sanitizers, valgrind)
 *   vectors FILE SEEDS N    every Nth case only
 *
 * FILE is what tests/flat/vectors.rs writes. Half of the runs go through the callback form. */
#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* anonymous mappings */
#endif
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "test.h"

typedef struct {
  const unsigned char *at, *end;
} reader;

static const unsigned char *take(reader *r, size_t n) {
  if ((size_t)(r->end - r->at) < n) {
    fprintf(stderr, "the file is truncated\n");
    exit(2);
  }
  r->at += n;
  return r->at - n;
}

static uint64_t number(reader *r, int bytes) {
  const unsigned char *p = take(r, (size_t)bytes);
  uint64_t n = 0;
  for (int i = bytes - 1; i >= 0; i--) n = n << 8 | p[i];
  return n;
}

static toolglot_view text(reader *r) {
  toolglot_view view;
  view.len = (size_t)number(r, 4);
  view.ptr = (const char *)take(r, view.len);
  return view;
}

/* One entry of a joined log. */
typedef struct {
  uint32_t kind, flags, call, code;
  uint64_t start, end;
  char *data, *aux;
  size_t data_len, data_cap, aux_len;
} entry;

typedef struct {
  entry *list;
  size_t len, cap;
} log_t;

static void append(entry *e, const char *data, size_t len) {
  if (e->data_len + len > e->data_cap) {
    e->data_cap = 2 * (e->data_len + len);
    e->data = realloc(e->data, e->data_cap);
    if (!e->data) abort();
  }
  if (len) memcpy(e->data + e->data_len, data, len);
  e->data_len += len;
}

static void clear(log_t *log) {
  for (size_t i = 0; i < log->len; i++) {
    free(log->list[i].data);
    free(log->list[i].aux);
  }
  log->len = 0;
}

static void insert(log_t *log, size_t at, const toolglot_event *e) {
  if (log->len == log->cap) {
    log->cap = 2 * log->cap + 16;
    log->list = realloc(log->list, log->cap * sizeof(entry));
    if (!log->list) abort();
  }
  memmove(&log->list[at + 1], &log->list[at], (log->len - at) * sizeof(entry));
  log->len++;
  entry *new = &log->list[at];
  memset(new, 0, sizeof *new);
  new->kind = e->kind;
  new->flags = e->flags;
  new->call = e->call;
  new->code = e->code;
  new->start = e->start;
  new->end = e->end;
  append(new, e->data.ptr, e->data.len);
  new->aux = malloc(e->aux.len + 1);
  if (!new->aux) abort();
  memcpy(new->aux, e->aux.ptr, e->aux.len);
  new->aux_len = e->aux.len;
}

static int delta(uint32_t kind) { return kind == TOOLGLOT_EVENT_ARG_DELTA || kind == TOOLGLOT_EVENT_PARAM_DELTA; }

static int same(const entry *have, const toolglot_event *e) {
  return have->kind == e->kind && have->flags == e->flags && have->call == e->call && have->aux_len == e->aux.len &&
         memcmp(have->aux, e->aux.ptr, e->aux.len) == 0;
}

/* Merges adjacent fragments of one kind; argument and parameter deltas stay separate. */
static void add(log_t *log, const toolglot_event *e) {
  if (e->kind > TOOLGLOT_EVENT_RAW && !delta(e->kind)) {
    insert(log, log->len, e);
    return;
  }
  if (e->data.len == 0 && e->start == e->end) return;
  size_t from = log->len;
  if (delta(e->kind)) {
    while (from > 0 && delta(log->list[from - 1].kind)) from--;
  } else if (from > 0) {
    from--;
  }
  for (size_t i = from; i < log->len; i++) {
    entry *have = &log->list[i];
    if (same(have, e)) {
      append(have, e->data.ptr, e->data.len);
      if (e->start < have->start) have->start = e->start;
      if (e->end > have->end) have->end = e->end;
      return;
    }
  }
  insert(log, e->kind == TOOLGLOT_EVENT_PARAM_DELTA ? from : log->len, e);
}

static int32_t add_one(void *user, const toolglot_event *e) {
  add(user, e);
  return 0;
}

static void add_all(log_t *log, const toolglot_batch *batch) {
  for (size_t i = 0; i < batch->len; i++) add(log, &batch->events[i]);
}

typedef struct {
  toolglot_view id, native, input;
  int native_first;
  uint32_t finish;
  log_t want;
} test_case;

static void give_native(const test_case *c, toolglot_stream *stream, log_t *log) {
  toolglot_batch batch;
  if (!c->native.len) return;
  OK(toolglot_stream_native_calls(stream, c->native.ptr, c->native.len, &batch));
  add_all(log, &batch);
}

#ifdef __SANITIZE_ADDRESS__
/* The sanitizer detects a view that is used too long, and a read past the end. */
static char *lend(const char *data, size_t len) {
  char *chunk = malloc(len + !len);
  if (!chunk) abort();
  return memcpy(chunk, data, len);
}

static void take_back(char *chunk) { free(chunk); }
#else
enum { PAGES = 64 };

#ifdef _WIN32
static size_t page_size(void) {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwPageSize;
}

/* Pages that cannot be read. */
static char *reserve(size_t len) { return VirtualAlloc(NULL, len, MEM_RESERVE | MEM_COMMIT, PAGE_NOACCESS); }

static int allow(char *from, size_t len, int yes) {
  DWORD before;
  return VirtualProtect(from, len, yes ? PAGE_READWRITE : PAGE_NOACCESS, &before) != 0;
}
#else
static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* Pages that cannot be read. */
static char *reserve(size_t len) {
  void *found = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return found == MAP_FAILED ? NULL : found;
}

static int allow(char *from, size_t len, int yes) {
  return mprotect(from, len, yes ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}
#endif

/* Between two pages that cannot be read, alternately at the end and at the start of what lies between them. Once it was taken
 * back, none of it can be read. The library's own loads are seen too, which no sanitizer of C sees. */
static char *pages;
static size_t page;

static char *lend(const char *data, size_t len) {
  static int turn;
  if (!pages) {
    page = page_size();
    pages = reserve((PAGES + 2) * page);
    if (!pages) abort();
  }
  size_t used = (len + page - 1) / page + !len;
  int last = turn++ % 2;
  char *from = last ? pages + (PAGES + 1 - used) * page : pages + page;
  if (used > PAGES || !allow(from, used * page, 1)) abort();
  return memcpy(last ? from + used * page - len : from, data, len);
}

static void take_back(char *chunk) {
  (void)chunk;
  if (!allow(pages, (PAGES + 2) * page, 0)) abort();
}
#endif

/* The chunk exists until its batch was read. */
static void feed(toolglot_stream *stream, const char *data, size_t len, int callback, log_t *log) {
  toolglot_batch batch;
  char *chunk = lend(data, len);
  if (callback) {
    OK(toolglot_stream_feed_each(stream, chunk, len, add_one, log));
  } else {
    OK(toolglot_stream_feed(stream, chunk, len, &batch));
    add_all(log, &batch);
  }
  take_back(chunk);
}

static void run(const test_case *c, toolglot_stream *stream, const size_t *cuts, size_t count, int callback,
                log_t *log) {
  toolglot_batch batch;
  size_t from = 0;
  OK(toolglot_stream_reset(stream));
  if (c->native_first) give_native(c, stream, log);
  for (size_t i = 0; i <= count; i++) {
    size_t to = i < count ? cuts[i] : c->input.len;
    feed(stream, c->input.ptr + from, to - from, callback, log);
    from = to;
  }
  if (!c->native_first) give_native(c, stream, log);
  if (callback) {
    OK(toolglot_stream_finish_each(stream, c->finish, add_one, log));
  } else {
    OK(toolglot_stream_finish(stream, c->finish, &batch));
    add_all(log, &batch);
    CHECK(batch.held == 0 && batch.position == c->input.len);
  }
}

static int equal(const log_t *a, const log_t *b) {
  if (a->len != b->len) return 0;
  for (size_t i = 0; i < a->len; i++) {
    const entry *x = &a->list[i], *y = &b->list[i];
    if (x->kind != y->kind || x->flags != y->flags || x->call != y->call || x->code != y->code ||
        x->start != y->start || x->end != y->end || x->data_len != y->data_len || x->aux_len != y->aux_len ||
        (x->data_len && memcmp(x->data, y->data, x->data_len) != 0) || memcmp(x->aux, y->aux, x->aux_len) != 0) {
      return 0;
    }
  }
  return 1;
}

static void show(const char *name, const log_t *log) {
  fprintf(stderr, " %s\n", name);
  for (size_t i = 0; i < log->len; i++) {
    const entry *e = &log->list[i];
    fprintf(stderr, "  %s flags %u call %d code %u %u..%u `%.*s` `%.*s`\n", toolglot_event_name(e->kind), e->flags,
            (int)e->call, e->code, (unsigned)e->start, (unsigned)e->end, (int)e->data_len, e->data ? e->data : "",
            (int)e->aux_len, e->aux);
  }
}

static size_t runs;

static void check(const test_case *c, toolglot_stream *stream, const size_t *cuts, size_t count) {
  static log_t log;
  run(c, stream, cuts, count, (int)(runs++ & 1), &log);
  if (!equal(&c->want, &log)) {
    if (failures++ < 5) {
      fprintf(stderr, "%.*s: another log, %u splits, the first at %u\n", (int)c->id.len, c->id.ptr, (unsigned)count,
              (unsigned)(count ? cuts[0] : 0));
      show("wanted", &c->want);
      show("got", &log);
    }
  }
  clear(&log);
}

static uint64_t seed = 88172645463325252u;

static size_t below(size_t n) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (size_t)(seed % n);
}

static int ascending(const void *a, const void *b) {
  size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return (x > y) - (x < y);
}

static void every_way(const test_case *c, toolglot_stream *stream, long seeds) {
  size_t n = c->input.len;
  size_t *cuts = malloc((n + 16) * sizeof *cuts);
  if (!cuts) abort();
  check(c, stream, NULL, 0);
  for (size_t i = 0; i + 1 < n; i++) cuts[i] = i + 1;
  if (n > 1 && n < 20000) check(c, stream, cuts, n - 1);
  if (seeds < 0) {
    size_t step = n > 4000 ? n / 200 : 1;
    for (size_t i = 0; i <= n; i += step) check(c, stream, &i, 1);
  }
  for (long i = 0; i < seeds && n * (size_t)i < 1000000; i++) {
    size_t count = 1 + below(12);
    for (size_t j = 0; j < count; j++) cuts[j] = below(n + 1);
    qsort(cuts, count, sizeof *cuts, ascending);
    check(c, stream, cuts, count);
  }
  free(cuts);
}

static toolglot_engine *engine_of(const char *key, size_t key_len, toolglot_config *config) {
  static toolglot_engine *engine;
  static char *last;
  static size_t last_len;
  if (!key || !last || last_len != key_len || memcmp(last, key, key_len) != 0) {
    toolglot_engine_free(engine);
    free(last);
    engine = NULL;
    last = NULL;
    if (!key) return NULL;
    OK(toolglot_engine_new(config, &engine));
    last = malloc(key_len);
    if (!last) abort();
    memcpy(last, key, key_len);
    last_len = key_len;
  }
  return engine;
}

static void one(reader *r, long seeds, int wanted) {
  test_case c;
  toolglot_config *config = NULL;
  toolglot_options *options = NULL;
  toolglot_stream *stream = NULL;
  memset(&c, 0, sizeof c);
  OK(toolglot_config_new(TOOLGLOT_ABI_VERSION, &config));
  OK(toolglot_options_new(&options));
  c.id = text(r);
  const char *key = (const char *)r->at;
  int defaults = (int)number(r, 1);
  toolglot_view dialect = text(r);
  if (wanted) OK(toolglot_config_add_builtin(config, dialect.ptr, dialect.len));
  if (wanted && defaults) OK(toolglot_config_add_defaults(config));
  for (size_t n = (size_t)number(r, 4); n > 0; n--) {
    dialect = text(r);
    toolglot_view name = text(r);
    if (wanted) OK(toolglot_config_switch(config, dialect.ptr, dialect.len, name.ptr, name.len));
  }
  size_t key_len = (size_t)((const char *)r->at - key);
  for (size_t n = (size_t)number(r, 4); n > 0; n--) {
    uint32_t option = (uint32_t)number(r, 4);
    uint64_t value = number(r, 8);
    if (wanted) OK(toolglot_options_set(options, option, value));
  }
  toolglot_view tools = text(r);
  if (wanted) OK(toolglot_options_set_tools(options, tools.ptr, tools.len));
  c.native = text(r);
  c.native_first = (int)number(r, 1);
  c.finish = (uint32_t)number(r, 4);
  c.input = text(r);
  for (size_t n = (size_t)number(r, 4); n > 0; n--) {
    toolglot_event e;
    e.kind = (uint32_t)number(r, 4);
    e.flags = (uint32_t)number(r, 4);
    e.call = (uint32_t)number(r, 4);
    e.code = (uint32_t)number(r, 4);
    e.start = number(r, 8);
    e.end = number(r, 8);
    e.data = text(r);
    e.aux = text(r);
    if (wanted) insert(&c.want, c.want.len, &e);
  }
  if (wanted) {
    OK(toolglot_stream_new(engine_of(key, key_len, config), options, &stream));
    if (stream) every_way(&c, stream, seeds);
  }
  toolglot_stream_free(stream);
  toolglot_options_free(options);
  toolglot_config_free(config);
  clear(&c.want);
  free(c.want.list);
}

int main(int argc, char **argv) {
  long seeds = argc > 2 ? atol(argv[2]) : -1;
  size_t step = argc > 3 ? (size_t)atol(argv[3]) : 1, cases = 0;
  FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  if (!file || fseek(file, 0, SEEK_END) != 0) {
    fprintf(stderr, "usage: vectors FILE [SEEDS [STEP]]\n");
    return 2;
  }
  size_t size = (size_t)ftell(file);
  rewind(file);
  unsigned char *bytes = malloc(size + 1);
  if (!bytes || fread(bytes, 1, size, file) != size) return 2;
  fclose(file);
  reader r = {bytes, bytes + size};
  if (memcmp(take(&r, 11), "TGvectors1\n", 11) != 0) return 2;
  while (number(&r, 1)) one(&r, seeds, cases++ % step == 0);
  engine_of(NULL, 0, NULL);
  CHECK(r.at == r.end);
  CHECK(toolglot_live_streams() == 0);
  free(bytes);
  printf("%u cases, %u runs\n", (unsigned)cases, (unsigned)runs);
  return done("vectors");
}
