/* Shared by the C tests: checks that report where they failed. */
#ifndef TOOLGLOT_TEST_H
#define TOOLGLOT_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "toolglot.h"

static int failures;

static inline void check_at(int ok, const char *what, const char *file, int line) {
  if (!ok) {
    failures++;
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
  }
}

static inline void status_at(toolglot_status want, toolglot_status got, const char *what, const char *file, int line) {
  if (want != got) {
    failures++;
    fprintf(stderr, "%s:%d: %s: wanted %s, got %s\n", file, line, what, toolglot_status_name(want),
            toolglot_status_name(got));
  }
}

#define CHECK(condition) check_at(!!(condition), #condition, __FILE__, __LINE__)
#define STATUS(want, call) status_at(want, call, #call, __FILE__, __LINE__)
#define OK(call) STATUS(TOOLGLOT_OK, call)

static inline int is(toolglot_view view, const char *text) {
  return view.ptr != NULL && view.len == strlen(text) && memcmp(view.ptr, text, view.len) == 0;
}

static inline int has(toolglot_view view, const char *part) {
  size_t n = strlen(part);
  for (size_t i = 0; i + n <= view.len; i++) {
    if (memcmp(view.ptr + i, part, n) == 0) return 1;
  }
  return 0;
}

static inline int done(const char *name) {
  if (is(toolglot_builtin_dialect((size_t)-1), "") && failures == 0) {
    printf("%s: ok\n", name);
    return 0;
  }
  fprintf(stderr, "%s: %d checks failed\n", name, failures);
  return 1;
}

#endif
