// Every conformance vector through the C++ interface, in single bytes, compared with what the engine says without it.
//
//   vectors FILE [N]     FILE is what bindings/c/tests/flat/vectors.rs writes; N: every Nth case only
//
// Each event is read through the accessors of its kind; every kind must occur. Each case also goes through the callback
// form in one piece.
#include <algorithm>
#include <bitset>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "test.hpp"

namespace tg = toolglot;

namespace {

class reader {
 public:
  explicit reader(std::string_view file) : rest_(file) {}
  bool done() const { return rest_.empty(); }
  const char *at() const { return rest_.data(); }
  std::uint64_t number(std::size_t bytes) {
    std::string_view taken = take(bytes);
    std::uint64_t n = 0;
    for (std::size_t i = bytes; i-- > 0;) n = n << 8 | static_cast<unsigned char>(taken[i]);
    return n;
  }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::string_view text() { return take(u32()); }
  std::string_view take(std::size_t bytes) {
    if (bytes > rest_.size()) {
      std::fprintf(stderr, "the file is truncated\n");
      std::exit(2);
    }
    std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

 private:
  std::string_view rest_;
};

struct entry {
  std::uint32_t kind, flags, call, code;
  std::uint64_t start, end;
  std::string data, aux;

  bool operator==(const entry &o) const {
    return kind == o.kind && flags == o.flags && call == o.call && code == o.code && start == o.start && end == o.end &&
           data == o.data && aux == o.aux;
  }
};

using log_t = std::vector<entry>;

std::bitset<64> kinds;

// The event through the accessors of its kind.
entry read(tg::event e) {
  entry read{static_cast<std::uint32_t>(e.kind()), e.flags(), e.call(), 0, e.start(), e.end(), {}, {}};
  std::string_view data, aux;
  std::uint32_t flags = 0;
  auto flag = [&flags](bool set, std::uint32_t bit) { flags |= set ? bit : 0; };
  switch (e.kind()) {
    case tg::event_kind::text:
      data = e.text();
      flag(e.recovered_text(), TOOLGLOT_FLAG_RECOVERED_TEXT);
      break;
    case tg::event_kind::reasoning:
      data = e.text();
      flag(e.framing(), TOOLGLOT_FLAG_FRAMING);
      break;
    case tg::event_kind::protected_region:
      data = e.text();
      aux = e.region();
      break;
    case tg::event_kind::raw:
    case tg::event_kind::param_delta:
    case tg::event_kind::block_close: data = e.text(); break;
    case tg::event_kind::block_open: aux = e.dialect(); break;
    case tg::event_kind::call_named:
      data = e.name();
      read.code = e.ordinal();
      flag(e.provisional(), TOOLGLOT_FLAG_PROVISIONAL);
      break;
    case tg::event_kind::call_open:
      data = e.name();
      aux = e.dialect();
      flag(e.native(), TOOLGLOT_FLAG_NATIVE);
      break;
    case tg::event_kind::detail:
      data = e.value();
      aux = e.key();
      break;
    case tg::event_kind::arg_delta: data = e.json(); break;
    case tg::event_kind::param_open:
      data = e.name();
      read.code = e.depth();
      break;
    case tg::event_kind::param_close:
    case tg::event_kind::call_abandoned: break;
    case tg::event_kind::call_close:
      data = e.mended();
      flag(e.complete(), TOOLGLOT_FLAG_COMPLETE);
      flag(e.repaired(), TOOLGLOT_FLAG_REPAIRED);
      flag(e.recovered(), TOOLGLOT_FLAG_RECOVERED);
      flag(e.params_only(), TOOLGLOT_FLAG_PARAMS_ONLY);
      break;
    case tg::event_kind::block_abandoned:
      data = e.text();
      flag(e.as_text(), TOOLGLOT_FLAG_AS_TEXT);
      flag(e.as_reasoning(), TOOLGLOT_FLAG_AS_REASONING);
      break;
    case tg::event_kind::issue:
      data = e.message();
      aux = e.observation();
      read.code = e.issue();
      flag(e.is_error(), TOOLGLOT_FLAG_ERROR);
      break;
    default: CHECK(!"an event of an unknown kind");
  }
  // The accessors show every nonempty field.
  CHECK(data == e.data() && aux == e.aux() && flags == e.flags() && read.code == e.code());
  kinds.set(read.kind);
  read.data = data;
  read.aux = aux;
  return read;
}

bool delta(const entry &e) { return e.kind == TOOLGLOT_EVENT_ARG_DELTA || e.kind == TOOLGLOT_EVENT_PARAM_DELTA; }

// Merges adjacent fragments of one kind; argument and parameter deltas stay separate.
void add(log_t &log, entry e) {
  if (e.kind > TOOLGLOT_EVENT_RAW && !delta(e)) {
    log.push_back(std::move(e));
    return;
  }
  if (e.data.empty() && e.start == e.end) return;
  std::size_t from = log.size();
  if (delta(e)) {
    while (from > 0 && delta(log[from - 1])) from--;
  } else if (from > 0) {
    from--;
  }
  for (std::size_t i = from; i < log.size(); i++) {
    entry &have = log[i];
    if (have.kind != e.kind || have.flags != e.flags || have.call != e.call || have.aux != e.aux) continue;
    have.data += e.data;
    have.start = std::min(have.start, e.start);
    have.end = std::max(have.end, e.end);
    return;
  }
  auto at = e.kind == TOOLGLOT_EVENT_PARAM_DELTA ? from : log.size();
  log.insert(log.begin() + static_cast<std::ptrdiff_t>(at), std::move(e));
}

void add(log_t &log, const tg::batch &batch) {
  for (tg::event e : batch) add(log, read(e));
}

struct test_case {
  std::string_view id, native, input;
  bool native_first;
  tg::finish_reason reason;
  log_t want;
};

// In single bytes, each in its own allocation, which is freed once its batch was read.
log_t in_bytes(const test_case &c, tg::stream &stream) {
  log_t log;
  if (c.native_first && !c.native.empty()) add(log, stream.native_calls(c.native));
  for (char byte : c.input) {
    auto chunk = std::make_unique<char>(byte);
    add(log, stream.feed({chunk.get(), 1}));
  }
  if (!c.native_first && !c.native.empty()) add(log, stream.native_calls(c.native));
  add(log, stream.finish(c.reason));
  return log;
}

log_t by_callback(const test_case &c, tg::stream &stream) {
  log_t log;
  auto take = [&log](tg::event e) { add(log, read(e)); };
  if (c.native_first && !c.native.empty()) add(log, stream.native_calls(c.native));
  CHECK(stream.feed_each(c.input, take));
  if (!c.native_first && !c.native.empty()) add(log, stream.native_calls(c.native));
  CHECK(stream.finish_each(c.reason, take));
  return log;
}

void show(const char *name, const log_t &log) {
  std::fprintf(stderr, " %s\n", name);
  for (const entry &e : log) {
    std::fprintf(stderr, "  %s flags %u call %d code %u %u..%u `%s` `%s`\n", toolglot_event_name(e.kind), e.flags,
                 static_cast<int>(e.call), e.code, static_cast<unsigned>(e.start), static_cast<unsigned>(e.end),
                 e.data.c_str(), e.aux.c_str());
  }
}

void compare(const test_case &c, const char *how, const log_t &log) {
  if (log == c.want) return;
  if (failures++ >= 5) return;
  std::fprintf(stderr, "%s: another log, %s\n", std::string(c.id).c_str(), how);
  show("wanted", c.want);
  show("got", log);
}

// One case; `last` keeps the engine for neighbours with the same dialects.
void one(reader &r, std::map<std::string, std::optional<tg::engine>> &last, bool wanted) {
  test_case c;
  tg::config config;
  tg::options options;
  c.id = r.text();
  const char *key = r.at();
  bool defaults = r.number(1) != 0;
  std::string_view dialect = r.text();
  // Building a set of all dialects takes longer than running a case.
  if (wanted) config.add_builtin(dialect);
  if (wanted && defaults) config.add_defaults();
  for (std::uint32_t n = r.u32(); n > 0; n--) {
    dialect = r.text();
    std::string_view name = r.text();
    if (wanted) config.switch_on(dialect, name);
  }
  std::string dialects(key, r.at());
  for (std::uint32_t n = r.u32(); n > 0; n--) {
    std::uint32_t option = r.u32();
    options.set(option, r.number(8));
  }
  options.set_tools(r.text());
  c.native = r.text();
  c.native_first = r.number(1) != 0;
  c.reason = static_cast<tg::finish_reason>(r.u32());
  c.input = r.text();
  for (std::uint32_t n = r.u32(); n > 0; n--) {
    entry e{r.u32(), r.u32(), r.u32(), r.u32(), r.number(8), r.number(8), {}, {}};
    e.data = r.text();
    e.aux = r.text();
    c.want.push_back(std::move(e));
  }
  if (!wanted) return;
  if (last.count(dialects) == 0) {
    last.clear();
    last[dialects] = tg::engine(config);
  }
  tg::stream stream(*last[dialects], options);
  if (c.input.size() < 20000) {
    compare(c, "in single bytes", in_bytes(c, stream));
    stream.reset();
  }
  compare(c, "whole, by callback", by_callback(c, stream));
}

}  // namespace

int main(int argc, char **argv) {
  std::ifstream in(argc > 1 ? argv[1] : "", std::ios::binary);
  std::string file((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::size_t step = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1, cases = 0;
  reader r(file);
  if (file.empty() || step == 0 || r.take(11) != "TGvectors1\n") {
    std::fprintf(stderr, "usage: vectors FILE [STEP]\n");
    return 2;
  }
  {
    std::map<std::string, std::optional<tg::engine>> last;
    while (r.number(1) != 0) one(r, last, cases++ % step == 0);
  }
  CHECK(r.done());
  if (step == 1) {
    for (std::uint32_t kind = TOOLGLOT_EVENT_TEXT; kind <= TOOLGLOT_EVENT_ISSUE; kind++) CHECK(kinds.test(kind));
  }
  std::printf("%zu cases\n", cases);
  return done("cpp/vectors");
}
