// The cost of chunks in C++: bench BEFORE REPEATED TIMES; see direct.rs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "toolglot.hpp"

namespace {

std::string read(const char *path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const std::string before = read(argv[1]), repeated = read(argv[2]);
  unsigned long long bytes = 0, events = 0;
  toolglot::engine engine;
  toolglot::stream stream(engine);
  auto take = [&](const toolglot::batch &batch) {
    for (toolglot::event e : batch) {
      switch (e.kind()) {
        case toolglot::event_kind::text:
        case toolglot::event_kind::arg_delta:
        case toolglot::event_kind::param_delta:
          bytes += e.data().size();
          events++;
          break;
        default: break;
      }
    }
  };
  take(stream.feed(before));
  for (int times = std::atoi(argv[3]); times > 0; times--) {
    std::string_view rest = repeated;
    while (!rest.empty()) {
      std::string_view chunk = rest.substr(0, 4);
      take(stream.feed(chunk));
      rest.remove_prefix(chunk.size());
    }
  }
  std::printf("%llu %llu\n", bytes, events);
}
