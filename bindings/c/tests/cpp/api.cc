// The C++ interface: ownership, lifetimes, exceptions, callbacks, and what each function passes on.
#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "test.hpp"

#if __cplusplus >= 202002L
#include <ranges>
static_assert(std::ranges::forward_range<toolglot::batch>);
static_assert(std::ranges::sized_range<toolglot::batch>);
#endif

namespace tg = toolglot;
using namespace std::string_view_literals;

namespace {

constexpr std::string_view CALL = R"(<tool_call name="weather"><param name="city">Leith</param></tool_call>)";

template <class T>
constexpr bool moves = std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
                       std::is_nothrow_destructible_v<T> && !std::is_copy_constructible_v<T> &&
                       !std::is_copy_assignable_v<T>;
static_assert(moves<tg::config> && moves<tg::options> && moves<tg::engine> && moves<tg::stream>);
static_assert(moves<tg::buffer> && moves<tg::turn> && moves<tg::openai>);
static_assert(std::is_trivially_copyable_v<tg::event> && sizeof(tg::event) == sizeof(void *));
static_assert(std::is_trivially_copyable_v<tg::batch> && std::is_trivially_copyable_v<tg::call>);
static_assert(std::is_base_of_v<std::runtime_error, tg::error>);

// Code whose views would dangle immediately does not compile.
template <class Stream, class Chunk, class = void>
constexpr bool feeds = false;
template <class Stream, class Chunk>
constexpr bool feeds<Stream, Chunk, std::void_t<decltype(std::declval<Stream>().feed(std::declval<Chunk>()))>> = true;
static_assert(feeds<tg::stream &, std::string_view> && feeds<tg::stream &, std::string &>);
static_assert(feeds<tg::stream &, const char *> && feeds<tg::stream &, const std::string &>);
static_assert(!feeds<tg::stream &, std::string> && !feeds<tg::stream &, const std::string>);
static_assert(!feeds<tg::stream, std::string_view>);
template <class Turn, class = void>
constexpr bool lists = false;
template <class Turn>
constexpr bool lists<Turn, std::void_t<decltype(std::declval<Turn>().calls())>> = true;
static_assert(lists<tg::turn &> && lists<const tg::turn &> && !lists<tg::turn>);

std::string text_of(const tg::batch &batch) {
  return std::accumulate(batch.begin(), batch.end(), std::string(), [](std::string all, tg::event e) {
    return std::move(all).append(e.kind() == tg::event_kind::text ? e.text() : ""sv);
  });
}

void library() {
  CHECK(tg::version() == TOOLGLOT_VERSION);
  CHECK(!tg::builtin_dialect(0).empty() && tg::builtin_dialect(100000).empty());
  CHECK(tg::model_dialects("Llama-4-Scout") == std::vector<std::string_view>({"llama3-json", "llama4-pythonic"}));
  CHECK(tg::model_dialects("gpt-2").empty() && tg::model_reasoning("Qwen3-8B") == "reasoning-think");
  tg::error plain(TOOLGLOT_E_BUSY, {});
  CHECK(plain.what() == "busy"sv && plain.message().empty());
  tg::error full(TOOLGLOT_E_ARG, "a: b");
  CHECK(full.status() == TOOLGLOT_E_ARG && full.message() == "a: b");
  // A NUL does not end the message, and a copy keeps it.
  std::optional<tg::error> whole(std::in_place, TOOLGLOT_E_ARG, "a\0b"sv);
  const tg::error copy = *whole;
  whole.reset();
  CHECK(copy.message() == "a\0b"sv);
  THROWS(TOOLGLOT_E_DIALECT, "her\0mes"sv, tg::engine({"her\0mes"sv}));
}

void engines() {
  THROWS(TOOLGLOT_E_DIALECT, "did you mean vcp?", tg::engine({"vpc"}));
  THROWS(TOOLGLOT_E_DIALECT, "mine.toml", tg::engine(tg::config().add_toml("mine.toml", "id = 3")));
  THROWS(TOOLGLOT_E_ARG, "", tg::config().add_builtin("\xff"));
  constexpr auto chat_template =
      "{%- for m in messages %}{{- '<|' + m.role + '|>' + (m.content or '') }}{%- for c in m.tool_calls or [] %}"
      "{{- '<call>' + (c.function | tojson) + '</call>' }}{%- endfor %}{{- '<|end|>' }}{%- endfor %}"
      "{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}"sv;
  tg::engine derived(tg::config().add_template(chat_template));
  CHECK(derived.dialects().size() == 1 && derived.dialects()[0] == "derived");
  THROWS(TOOLGLOT_E_DIALECT, "writes no calls", tg::config().add_template("{{ messages[0].content }}"));
  tg::config config;
  config.add_builtin("vcp").switch_on("vcp", "fuzzy").add_defaults();
  tg::engine engine(config);
  CHECK(engine.dialects().size() > 10 && engine.dialects()[0] == "vcp" && engine.bound() > 0);
  auto markers = engine.markers();
  CHECK(std::any_of(markers.begin(), markers.end(), [](tg::marker m) {
    return m.text() == "<think>" && m.role() == TOOLGLOT_MARKER_REASONING_OPEN && !m.dialect().empty();
  }));

  // Moving ends no lifetime; a moved-from handle reports it and accepts another value.
  tg::engine other = std::move(engine);
  CHECK(engine.get() == nullptr && other.get() != nullptr && !(*markers.begin()).text().empty());
  THROWS(TOOLGLOT_E_NULL, "", engine.markers());
  THROWS(TOOLGLOT_E_NULL, "", tg::stream(std::move(engine)));
  engine = tg::engine{"hermes"};
  CHECK(engine.dialects().size() == 1);
  std::swap(engine, other);
  CHECK(other.dialects().size() == 1);
}

// A moved-from handle is neither used nor taken for an argument that was left out.
void moved(const tg::engine &engine) {
  tg::config config;
  tg::options options;
  tg::engine gone{"hermes"};
  tg::turn turn;
  tg::buffer buffer;
  { tg::config a = std::move(config); }
  { tg::options a = std::move(options); }
  { tg::engine a = std::move(gone); }
  { tg::turn a = std::move(turn); }
  { tg::buffer a = std::move(buffer); }
  THROWS(TOOLGLOT_E_NULL, "moved", tg::engine{config});
  THROWS(TOOLGLOT_E_NULL, "moved", tg::parse(engine, "a", options));
  THROWS(TOOLGLOT_E_NULL, "moved", tg::parse(gone, "a"));
  THROWS(TOOLGLOT_E_NULL, "moved", tg::stream(engine, options));
  THROWS(TOOLGLOT_E_NULL, "moved", tg::stream{gone});
  THROWS(TOOLGLOT_E_NULL, "moved", engine.encode("tool-call-xml", "[]", options));
  THROWS(TOOLGLOT_E_NULL, "moved", tg::turn().guard(gone));
  THROWS(TOOLGLOT_E_NULL, "moved", tg::turn().hint(options));
  THROWS(TOOLGLOT_E_NULL, "moved", tg::openai().guard(gone));
  tg::openai writer;
  THROWS(TOOLGLOT_E_NULL, "moved", writer.completion(turn));
  tg::tools tools(R"([{"name":"f"}])");
  THROWS(TOOLGLOT_E_NULL, "moved", tools.prompt(gone, "hermes"));
  THROWS(TOOLGLOT_E_NULL, "moved", tools.check_call(gone, "hermes", "f", "{}"));
  THROWS(TOOLGLOT_E_NULL, "moved", tg::agent(gone, "{}"));
  THROWS(TOOLGLOT_E_NULL, "moved", tg::agent(engine, "{}", options));
  // What C answers with an empty view or 0.
  THROWS(TOOLGLOT_E_NULL, "moved", gone.bound());
  THROWS(TOOLGLOT_E_NULL, "moved", turn.text());
  THROWS(TOOLGLOT_E_NULL, "moved", turn.reasoning());
  THROWS(TOOLGLOT_E_NULL, "moved", buffer.view());
  THROWS(TOOLGLOT_E_NULL, "moved", buffer.str());
  THROWS(TOOLGLOT_E_NULL, "", buffer.set("a"));
  turn = tg::turn();
  buffer = tg::buffer();
  CHECK(turn.text().empty() && buffer.set("a").view() == "a");
}

void options(const tg::engine &engine) {
  tg::options options;
  THROWS(TOOLGLOT_E_ARG, "", options.set(99, 0));
  THROWS(TOOLGLOT_E_ARG, "not JSON", options.set_tools("{"));
  options.set_tools(R"([{"name":"f"},{"nam":"g"}])");
  CHECK(options.tool_issues().size() == 1 && options.tool_issues()[0] == "tools[1]: it has no `name`");
  options.set(TOOLGLOT_OPTION_START, TOOLGLOT_START_REASONING)
      .set_tools(R"([{"name":"f","parameters":{"type":"object","properties":{"n":{"type":"integer"}}}}])");
  constexpr std::string_view output = R"(hm</think>so <tool_call name="f"><param name="n">7</param></tool_call>)";
  CHECK(options.tool_issues().empty());
  tg::turn turn = tg::parse(engine, output, options);
  CHECK(turn.reasoning() == "hm" && turn.text() == "so " && turn.calls().size() == 1 && turn.issues().empty());
  CHECK(!turn.original() && turn.tool_issues().empty());
  options.set(TOOLGLOT_OPTION_ORIGINAL, 1).set_tools(R"([{"name":"f"},{"nam":"g"}])");
  tg::turn kept = tg::parse(engine, output, options);
  CHECK(kept.original() == output && kept.tool_issues().size() == 1 && kept.tool_issues()[0] == "tools[1]: it has no `name`");
  tg::call call = turn.calls()[0];
  CHECK(call.name() == "f" && call.arguments() == R"({"n":7})" && call.complete() && !call.recovered());
  CHECK(call.index() == 0 && !call.native() && call.details().empty() && call.dialect() == "tool-call-xml");
  CHECK(output.substr(call.start(), call.end() - call.start()).find("f\">") != output.npos);
}

// The state of a stream, and text that is not read as a call again.
void between(const tg::engine &engine) {
  tg::stream stream(engine);
  tg::turn plain, guarded;
  tg::openai writer;
  guarded.guard(engine);
  guarded.keep_original();
  writer.guard(engine);
  CHECK(stream.state() == 0 && !stream.in_reasoning() && !stream.may_hold_marker());
  stream.feed("<think>hm <");
  CHECK(stream.in_reasoning() && stream.may_hold_marker() && stream.stage() == tg::stage::tag_opening);
  stream.feed("</think>");
  CHECK(!stream.in_reasoning() && !stream.may_hold_marker() && stream.stage() == tg::stage::normal);
  std::string sent;
  tg::batch batch = stream.feed(R"(<tool_<tool_call name="f"></tool_call>call name="g"></tool_call>)");
  plain.add(batch);
  guarded.add(batch);
  sent = writer.write(batch);
  // Only the end shows whether the last closer is text.
  batch = stream.finish();
  plain.add(batch);
  guarded.add(batch);
  CHECK(stream.state() == TOOLGLOT_STATE_FINISHED);
  CHECK(!plain.original() && guarded.original() == R"(<tool_<tool_call name="f"></tool_call>call name="g"></tool_call>)");
  tg::turn again = tg::parse(engine, plain.text()), never = tg::parse(engine, guarded.text());
  CHECK(again.calls().size() == 1 && never.calls().empty());
  CHECK(sent.find(R"("content":"<tool_\\")") != sent.npos && sent.find(R"("content":"<tool_")") == sent.npos);
}

// The events of a stream in the typical loop of a host.
void loop(const tg::engine &engine) {
  std::string text, reasoning, name, dialect, arguments, block;
  int complete = 0, opened = 0, params = 0, named = 0;
  auto take = [&](tg::event e) {
    switch (e.kind()) {
      case tg::event_kind::text: text += e.text(); break;
      case tg::event_kind::reasoning:
        if (!e.framing()) reasoning += e.text();
        break;
      case tg::event_kind::block_open: opened++; break;
      case tg::event_kind::call_named:
        // Before the call opens; the number is that of the block.
        CHECK(name.empty() && e.name() == "weather" && e.call() == 0 && e.ordinal() == 0);
        named++;
        break;
      case tg::event_kind::call_open:
        name = e.name();
        dialect = e.dialect();
        CHECK(e.has_call() && e.call() == 0);
        break;
      case tg::event_kind::param_open:
        CHECK(e.name() == "city" && e.depth() == 0);
        params++;
        break;
      case tg::event_kind::arg_delta: arguments += e.json(); break;
      case tg::event_kind::call_close: complete += e.complete() && !e.repaired() && !e.recovered() && !e.params_only(); break;
      case tg::event_kind::block_close: block = e.text(); break;
      default: break;
    }
  };
  std::string output = "<think>why</think>Looking. ";
  output.append(CALL);
  tg::stream stream(engine);
  for (char byte : output) {
    for (tg::event e : stream.feed({&byte, 1})) take(e);
  }
  tg::batch last = stream.finish();
  for (tg::event e : last) take(e);
  CHECK(last.held() == 0 && last.position() == output.size());
  CHECK(text == "Looking. " && reasoning == "why" && name == "weather" && dialect == "tool-call-xml");
  CHECK(arguments == R"({"city":"Leith"})" && complete == 1 && opened == 1 && params == 1);
  CHECK(block == CALL && named > 0);
}

// An accessor of another kind returns nothing.
void accessors(const tg::engine &engine) {
  tg::stream stream(engine);
  tg::event text = stream.feed("hello")[0];
  CHECK(text.kind() == tg::event_kind::text && text.kind_name() == "text" && text.text() == "hello");
  CHECK(text.start() == 0 && text.end() == 5 && !text.has_call() && text.call() == TOOLGLOT_NO_CALL);
  CHECK(text.name().empty() && text.json().empty() && text.message().empty() && text.observation().empty());
  CHECK(text.key().empty() && text.value().empty() && text.dialect().empty() && text.region().empty());
  CHECK(text.mended().empty() && text.issue() == 0 && text.issue_name().empty() && text.depth() == 0);
  CHECK(!text.complete() && !text.recovered() && !text.native() && !text.framing() && !text.is_error());
  CHECK(!text.as_text() && !text.params_only() && !text.recovered_text());
  CHECK(!text.repaired() && !text.provisional() && text.ordinal() == 0);

  // A truncated call: issues are events, never exceptions.
  stream.feed(R"(<tool_call name="f"><param name="a">1)");
  int issues = 0, abandoned = 0;
  for (tg::event e : stream.finish(tg::finish_reason::length)) {
    abandoned += e.kind() == tg::event_kind::block_abandoned && e.as_text() && !e.text().empty();
    if (e.kind() != tg::event_kind::issue) continue;
    issues++;
    CHECK(e.is_error() && e.issue() == e.code() && !e.issue_name().empty() && e.issue_name() != "unknown");
    CHECK(!e.message().empty() && !e.observation().empty() && e.text().empty());
  }
  CHECK(issues > 0 && abandoned == 1);

  // API tool calls and their details.
  stream.reset();
  stream.native_calls(R"([{"id":"call_9","function":{"name":"f","arguments":"{}"}}])");
  tg::batch last = stream.finish();
  CHECK(last.size() == 4 && last[0].native() && last[0].name() == "f");
  CHECK(last[1].kind() == tg::event_kind::detail && last[1].key() == "id" && last[1].value() == "call_9");
}

void lifetimes(const tg::engine &engine) {
  tg::stream stream(engine), other(engine);
  const std::string chunk("a\0b", 3);
  tg::batch batch = stream.feed(chunk);
  CHECK(batch.size() == 1 && batch[0].text() == chunk);
  CHECK(batch[0].text().data() == chunk.data());  // no copy

  // Neither another stream, nor a copy of the batch, nor `rest`, nor a move invalidates it.
  other.feed("something else entirely");
  tg::batch copy = batch;
  CHECK(stream.rest().size() == 1);
  tg::stream moved = std::move(stream);
  CHECK(copy[0].text() == chunk && batch.get()->events == copy.get()->events);
  THROWS(TOOLGLOT_E_NULL, "", stream.feed("x"));
  stream = tg::stream(engine);
  CHECK(copy[0].text() == chunk && text_of(stream.feed("x")) == "x" && text_of(moved.feed("y")) == "y");

  // Empty chunks, with a null and a valid pointer.
  CHECK(stream.feed({}).empty() && stream.feed("").empty() && stream.feed("").begin() == stream.feed("").end());

  // Streams outlive their engine.
  tg::stream late = [] {
    tg::engine short_lived;
    return tg::stream(short_lived);
  }();
  CHECK(text_of(late.feed("still here")) == "still here");

  // A freed stream leaves nothing allocated.
  std::size_t live = tg::live_streams();
  std::vector<tg::stream> many;
  for (int i = 0; i < 10; i++) many.emplace_back(engine);
  CHECK(tg::live_streams() == live + 10);
  many.clear();
  CHECK(tg::live_streams() == live);
}

void states(const tg::engine &engine) {
  tg::stream stream(engine);
  CHECK(stream.feed("<tool_c").held() == 7);
  std::string snapshot = stream.snapshot();
  tg::stream copy = stream.clone();
  CHECK(text_of(stream.feed("at")) == "<tool_cat" && text_of(copy.feed("at")) == "<tool_cat");
  copy.restore(snapshot);
  CHECK(text_of(copy.finish()) == "<tool_c");
  THROWS(TOOLGLOT_E_STATE, "the stream is finished", copy.feed("x"));
  THROWS(TOOLGLOT_E_SNAPSHOT, "damaged", copy.restore("TGss"));
  THROWS(TOOLGLOT_E_STATE, "", copy.finish());
  copy.reset();
  THROWS(TOOLGLOT_E_ARG, "", copy.finish(static_cast<tg::finish_reason>(99)));
  THROWS(TOOLGLOT_E_ARG, "", copy.native_calls("{"));
  CHECK(text_of(copy.feed("x")) == "x");  // a failure changes nothing

  copy.reset();
  copy.prefill(R"(<tool_call name="f">)");
  int complete = 0;
  for (tg::event e : copy.feed(R"(<param name="a">1</param></tool_call>)")) complete += e.complete();
  CHECK(complete == 1);

  tg::stream trusting(engine, tg::options().set(TOOLGLOT_OPTION_TRUSTED_ONLY, 1));
  for (tg::event e : trusting.feed(R"(<tool_call name="f">)")) CHECK(e.kind() != tg::event_kind::call_open);
  int opened = 0;
  for (tg::event e : trusting.feed_special(R"(<tool_call name="f">)")) opened += e.kind() == tg::event_kind::call_open;
  CHECK(opened == 1);
}

void callbacks(const tg::engine &engine) {
  tg::stream stream(engine);
  std::string chunk = "a";
  chunk.append(CALL);
  int all = 0;
  CHECK(stream.feed_each(chunk, [&](tg::event) { all++; }));
  CHECK(all == 13 && stream.rest().empty());
  CHECK(stream.finish_each(tg::finish_reason::stop, [&](tg::event) { all++; }));

  // False stops; the other events are kept.
  stream.reset();
  int some = 0;
  CHECK(!stream.feed_each(chunk, [&](tg::event) { return ++some < 3; }));
  CHECK(some == 3 && stream.rest().size() == static_cast<std::size_t>(all - 3));

  // Exceptions of any type are rethrown unchanged; undelivered events are kept, too.
  stream.reset();
  try {
    stream.feed_each(chunk, [](tg::event e) {
      if (e.kind() == tg::event_kind::call_open) throw std::out_of_range("the host's own");
    });
    CHECK(false);
  } catch (const std::out_of_range &e) {
    CHECK(e.what() == "the host's own"sv);
  }
  CHECK(!stream.rest().empty() && stream.rest()[0].kind() != tg::event_kind::call_open);
  try {
    stream.feed_each("b", [](tg::event) { throw 7; });
    CHECK(false);
  } catch (int thrown) {
    CHECK(thrown == 7);
  }
  CHECK(text_of(stream.feed("c")) == "c");

  // Inside a callback its stream is busy; that exception is rethrown after C.
  THROWS(TOOLGLOT_E_BUSY, "", stream.feed_each("d", [&](tg::event) { stream.feed("x"); }));
  // A stream freed inside is dropped when the call ends.
  std::size_t live = tg::live_streams();
  auto gone = std::make_unique<tg::stream>(engine);
  bool told = gone->feed_each("e", [&](tg::event e) {
    tg::stream taken = std::move(*gone);
    CHECK(e.text() == "e");
  });
  CHECK(told && tg::live_streams() == live && gone->get() == nullptr);
}

void writing(const tg::engine &engine) {
  constexpr std::string_view calls = R"([{"function":{"name":"weather","arguments":"{\"city\":\"Leith\"}"}}])";
  std::string encoded = engine.encode("tool-call-xml", calls);
  tg::turn turn = tg::parse(engine, encoded);
  CHECK(turn.calls().size() == 1 && turn.calls()[0].arguments() == R"({"city":"Leith"})");
  CHECK(engine.encode("tool-call-xml", calls, tg::options()) == encoded);
  THROWS(TOOLGLOT_E_DIALECT, "nobody", engine.encode("nobody", calls));
  THROWS(TOOLGLOT_E_ARG, "", engine.encode("tool-call-xml", "{"));

  std::string escaped = engine.escape(CALL);
  tg::turn harmless = tg::parse(engine, escaped);
  CHECK(escaped != CALL && harmless.calls().empty() && harmless.text() == escaped);
  CHECK(engine.unescape(escaped) == CALL && engine.escape("plain") == "plain");

  tg::buffer buffer;
  CHECK(buffer.view().empty() && buffer.set("ab"sv).view() == "ab" && buffer.str() == "ab");
}

void completions(const tg::engine &engine) {
  std::string output = "Hi. ";
  output.append(CALL);
  tg::openai writer;
  writer.set(TOOLGLOT_OPENAI_MODEL, "m").set(TOOLGLOT_OPENAI_ID, "chat-1").set(TOOLGLOT_OPENAI_CREATED, 5);
  writer.set_ids([](std::uint32_t index, std::string_view name) { return std::string(name) + std::to_string(index); });
  THROWS(TOOLGLOT_E_ARG, "", writer.set(999, 1));
  THROWS(TOOLGLOT_E_ARG, "", writer.set(999, "x"));
  auto respond = [&] {
    std::string all;
    tg::stream stream(engine);
    for (char byte : output) all += writer.write(stream.feed({&byte, 1}));
    all += writer.write(stream.finish());
    all += writer.finish();
    return all;
  };
  std::string first = respond();
  CHECK(first.find(R"("content":"H")") != first.npos && first.find(R"("id":"weather0")") != first.npos);
  CHECK(first.find(R"("model":"m")") != first.npos && first.find(R"("finish_reason":"tool_calls")") != first.npos);
  tg::openai moved = std::move(writer);
  THROWS(TOOLGLOT_E_NULL, "", writer.finish());
  writer = std::move(moved);
  CHECK(respond() == first);  // the rule for ids has moved along

  tg::stream stream(engine);
  writer.write(stream.feed("a"));
  THROWS(TOOLGLOT_E_STATE, "has begun", writer.set(TOOLGLOT_OPENAI_SSE, 1));
  writer.finish();
  writer.set(TOOLGLOT_OPENAI_SSE, 1);
  CHECK(respond().find("data: [DONE]\n\n") != std::string::npos);

  // The rule's exception is rethrown, and the writer continues.
  writer.set_ids([](std::uint32_t, std::string_view) -> std::string { throw std::logic_error("no id"); });
  try {
    respond();
    CHECK(false);
  } catch (const std::logic_error &e) {
    CHECK(e.what() == "no id"sv);
  }
  writer.finish();
  writer.set_ids([](std::uint32_t, std::string_view) { return std::string(100000, 'x'); });
  try {
    respond();
    CHECK(false);
  } catch (const std::length_error &) {
  }

  tg::turn turn;
  stream.reset();
  turn.add(stream.feed(output));
  turn.add(stream.finish());
  CHECK(turn.text() == "Hi. " && turn.calls().size() == 1);
  tg::openai fresh;
  std::string_view whole = fresh.completion(turn);
  CHECK(whole.find("chat.completion") != whole.npos && whole.find("weather") != whole.npos);
  turn.reset();
  CHECK(turn.text().empty() && turn.calls().empty());

  tg::turn bad = tg::parse(engine, R"(<tool_call name="f"><param name="a">1)", tg::finish_reason::length);
  CHECK(!bad.issues().empty() && bad.issues()[0].is_error() && !bad.issues()[0].message().empty());
  CHECK(bad.issues()[0].name() == tg::issue(*bad.issues()[0].get()).name());
  THROWS(TOOLGLOT_E_ARG, "", tg::parse(engine, "", static_cast<tg::finish_reason>(99)));
}

// An agent with approval, driven by hand.
void agents() {
  tg::engine engine{"hermes"};
  tg::tools tools(R"([{"name": "f", "description": "F", "parameters": {"properties": {"n": {"type": "integer"}}}}])");
  THROWS(TOOLGLOT_E_ARG, "f", tools.add(R"([{"name": "f"}])"));
  CHECK(tools.json().find("\"name\":\"f\"") != std::string::npos);
  CHECK(tools.prompt(engine, "hermes").find("\"f\"") != std::string::npos);
  THROWS(TOOLGLOT_E_DIALECT, "vcp", tools.prompt(engine, "vcp"));
  CHECK(tools.check_call(engine, "hermes", "f", R"({"n": "7"})").find(R"("arguments":{"n":7})") != std::string::npos);
  CHECK(engine.results("hermes", R"([{"name": "f", "content": "x"}])").find("tool_response") != std::string::npos);

  std::string form = R"({"dialect": "hermes", "policy": {"confirm": [{}]}, "tools": )" + tools.json(TOOLGLOT_TOOLS_MANIFEST) + "}";
  tg::agent agent(engine, form);
  THROWS(TOOLGLOT_E_ARG, "dialect", tg::agent(engine, "{}"));
  THROWS(TOOLGLOT_E_ARG, "messages", agent.start("7"));
  THROWS(TOOLGLOT_E_SNAPSHOT, "saved", agent.restore("{}"));
  tg::run run = agent.start(R"([{"role": "user", "content": "go"}])");
  std::vector<std::string> does;
  int replies = 0;
  for (int i = 0; i < 100 && run.waiting().what != TOOLGLOT_WAITS_NOTHING; i++) {
    std::string one(run.take());
    std::string what = one.substr(0, one.find(','));
    if (what != R"({"do":"event")") does.push_back(what);
    if (what == R"({"do":"ask")") {
      tg::response response(TOOLGLOT_SOURCE_OLLAMA);
      std::string said = R"({"message": {"content": ")";
      said += replies++ == 0 ? R"(<tool_call>{\"name\": \"f\", \"arguments\": {\"n\": 1}}</tool_call>)" : "ok";
      said += "\"}}\n{\"done\": true}\n";
      std::string lines(response.feed(said));
      lines += response.finish();
      for (std::size_t at = 0, end; (end = lines.find('\n', at)) != lines.npos; at = end + 1) {
        run.tell(lines.substr(at, end - at));
      }
    } else if (what == R"({"do":"confirm")") {
      run = agent.restore(run.save());
      CHECK(run.take().substr(0, 15) == R"({"do":"confirm")");
      run.tell(R"({"decision": ["call_0_0", "approve"]})");
      THROWS(TOOLGLOT_E_STATE, "call_0_0", run.tell(R"({"decision": ["call_0_0", "approve"]})"));
    } else if (what == R"({"do":"start")") {
      CHECK(run.waiting().deadline == 30000);
      run.tell(R"({"done": {"id": "call_0_0", "name": "f", "content": "x"}})");
    }
  }
  std::vector<std::string> wanted;
  for (const char *what : {"ask", "confirm", "start", "ask"}) wanted.push_back(std::string(R"({"do":")") + what + "\"");
  CHECK(does == wanted);
  CHECK(run.outcome() == R"({"outcome":"answer","text":"ok"})");
  CHECK(run.messages().find("tool_response") != std::string::npos && run.receipts().find("digest") != std::string::npos);
  CHECK(agent.steps("[]").outcome().find("steps") != std::string::npos);
}

// One engine, many threads.
void threads(const tg::engine &engine) {
  std::vector<std::thread> running;
  std::vector<std::string> texts(4);
  for (std::string &text : texts) {
    running.emplace_back([&engine, &text] {
      tg::stream stream(engine);
      for (int i = 0; i < 200; i++) {
        std::string chunk = "word " + std::to_string(i) + " ";
        text += text_of(stream.feed(chunk));
        text += text_of(stream.feed(CALL));
      }
      text += text_of(stream.finish());
    });
  }
  for (std::thread &thread : running) thread.join();
  for (const std::string &text : texts) CHECK(text == texts[0] && text.size() > 1000);
}

}  // namespace

int main() {
  {
    tg::engine engine;
    library();
    engines();
    moved(engine);
    options(engine);
    between(engine);
    loop(engine);
    accessors(engine);
    lifetimes(engine);
    states(engine);
    callbacks(engine);
    writing(engine);
    completions(engine);
    agents();
    threads(engine);
  }
  return done("cpp/api");
}
