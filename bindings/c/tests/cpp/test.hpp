// Shared by the C++ tests: checks that report where they failed.
#ifndef TOOLGLOT_TEST_HPP
#define TOOLGLOT_TEST_HPP

#include <cstdio>
#include <string_view>

#include "toolglot.hpp"

inline int failures = 0;

inline void check_at(bool ok, const char *what, const char *file, int line) {
  if (ok) return;
  failures++;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
}

#define CHECK(condition) check_at(static_cast<bool>(condition), #condition, __FILE__, __LINE__)

// Runs `action`, which must throw `toolglot::error` with this status and a message that contains this text.
template <class Action>
void throws_at(toolglot_status status, std::string_view part, Action action, const char *file, int line) {
  try {
    action();
    check_at(false, "nothing was thrown", file, line);
  } catch (const toolglot::error &e) {
    check_at(e.status() == status, e.what(), file, line);
    check_at(e.message().find(part) != std::string_view::npos, e.what(), file, line);
    check_at(std::string_view(e.what()).find(toolglot_status_name(status)) == 0, e.what(), file, line);
  }
}

#define THROWS(status, part, ...) throws_at(status, part, [&] { __VA_ARGS__; }, __FILE__, __LINE__)

inline int done(const char *name) {
  CHECK(toolglot::live_streams() == 0);
  if (failures == 0) {
    std::printf("%s: ok\n", name);
    return 0;
  }
  std::fprintf(stderr, "%s: %d checks failed\n", name, failures);
  return 1;
}

#endif
