/* toolglot for C++17 and later: a header-only wrapper of toolglot.h, which remains the manual of every function.
 *
 *     toolglot::engine engine;                              compiled dialects: one for the program
 *     toolglot::stream stream(engine);                      one model output
 *     while (next_chunk(chunk)) {                           bytes, in chunks of any size
 *         for (toolglot::event e : stream.feed(chunk)) {
 *             if (e.kind() == toolglot::event_kind::text) show(e.text());
 *         }
 *     }
 *     for (toolglot::event e : stream.finish()) ...         the last events
 *
 * Differences from C
 *
 * - Handles are objects that can be moved and not copied. They free themselves; `get()` returns the pointer for C. Every other
 *   call on a moved-from handle, and every call that is given one, throws `error` with `TOOLGLOT_E_NULL`; it may be destroyed or
 *   assigned to.
 * - A status other than success is thrown as `toolglot::error`. What the model did wrong is never an exception: it is an event.
 * - Views are `std::string_view` with the lifetimes of C: those of a batch are valid until the next call on its stream, and
 *   only as long as the chunk. Code whose views would dangle immediately does not compile: a chunk that is a temporary
 *   `std::string`, a batch of a temporary stream, the calls of a temporary turn.
 * - Moving a handle ends no lifetime: the batch of a moved stream remains valid.
 * - Exceptions do not pass through C: those of a callback are kept and rethrown after the call.
 *
 * Threads are as in C: an engine (and options that are not being changed) may be used by any number of threads at once,
 * everything else by one.
 */

#ifndef TOOLGLOT_HPP
#define TOOLGLOT_HPP

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "toolglot.h"

namespace toolglot {

/* A failure. `what()` is the name of the status and the handle's sentence about it. */
class error : public std::runtime_error {
 public:
  error(toolglot_status status, std::string_view message)
      : std::runtime_error(sentence(status, message)),
        status_(status),
        message_(message.empty() ? nullptr : std::make_shared<const std::string>(message)) {}

  /* One of `TOOLGLOT_E_...`. */
  toolglot_status status() const noexcept { return status_; }

  /* Only the sentence; empty if there is none. A NUL in it ends `what()`, but not this. Valid as long as a copy of the error. */
  std::string_view message() const noexcept { return message_ ? std::string_view(*message_) : std::string_view(); }

 private:
  static std::string sentence(toolglot_status status, std::string_view message) {
    std::string text = toolglot_status_name(status);
    if (!message.empty()) text.append(": ").append(message);
    return text;
  }

  toolglot_status status_;
  std::shared_ptr<const std::string> message_;  // shared, so that copying cannot throw
};

namespace detail {

inline std::string_view view(toolglot_view bytes) noexcept { return {bytes.ptr, bytes.len}; }

/* An owned C pointer. */
template <class T, void (*Free)(T *), toolglot_view (*Error)(const T *)>
class handle {
 public:
  /* The pointer, still owned by this object; null after a move. */
  T *get() const noexcept { return pointer_.get(); }

 protected:
  handle() = default;
  explicit handle(T *owned) noexcept : pointer_(owned) {}

  void own(T *owned) noexcept { pointer_.reset(owned); }

  void check(toolglot_status status) const {
    if (status != TOOLGLOT_OK) throw error(status, view(Error(get())));
  }

 private:
  struct free_it {
    void operator()(T *owned) const noexcept { Free(owned); }
  };
  std::unique_ptr<T, free_it> pointer_;
};

/* The pointer of a handle that a call needs. For C, NULL may mean a default: a moved-from handle never does. */
template <class Handle>
auto *given(const Handle &handle) {
  if (handle.get() == nullptr) throw error(TOOLGLOT_E_NULL, "the handle was moved from");
  return handle.get();
}

inline toolglot_view no_message(const toolglot_engine *) { return {"", 0}; }

/* A callback of the host: its exception is kept until C has returned. */
template <class Take>
struct callback {
  Take &take;
  std::exception_ptr thrown;

  static std::int32_t run(void *user, const toolglot_event *event) noexcept;
};

template <class T>
inline constexpr bool is_temporary_string = std::is_same_v<T, std::string> || std::is_same_v<T, const std::string>;

}  // namespace detail

/* A non-owning view of a C array whose elements are accessed as `View`. */
template <class View, class C>
class list {
 public:
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;  // C++17 requires references for stronger categories
    using iterator_concept = std::forward_iterator_tag;
    using value_type = View;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = View;

    iterator() noexcept = default;
    explicit iterator(const C *at) noexcept : at_(at) {}
    View operator*() const noexcept { return show(*at_); }
    iterator &operator++() noexcept {
      ++at_;
      return *this;
    }
    iterator operator++(int) noexcept { return iterator(at_++); }
    friend bool operator==(iterator a, iterator b) noexcept { return a.at_ == b.at_; }
    friend bool operator!=(iterator a, iterator b) noexcept { return a.at_ != b.at_; }

   private:
    const C *at_ = nullptr;
  };
  using const_iterator = iterator;
  using value_type = View;

  list() noexcept = default;
  list(const C *first, std::size_t size) noexcept : first_(first), size_(size) {}
  iterator begin() const noexcept { return iterator(first_); }
  iterator end() const noexcept { return iterator(first_ + size_); }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  /* `at` must be less than `size()`. */
  View operator[](std::size_t at) const noexcept { return show(first_[at]); }

 private:
  static View show(const C &member) noexcept {
    if constexpr (std::is_same_v<C, toolglot_view>) {
      return detail::view(member);
    } else {
      return View(member);
    }
  }

  const C *first_ = nullptr;
  std::size_t size_ = 0;
};

/* Kinds of events. A later library may add others: have a `default`. */
enum class event_kind : std::uint32_t {
  text = TOOLGLOT_EVENT_TEXT,
  reasoning = TOOLGLOT_EVENT_REASONING,
  protected_region = TOOLGLOT_EVENT_PROTECTED,
  raw = TOOLGLOT_EVENT_RAW,
  block_open = TOOLGLOT_EVENT_BLOCK_OPEN,
  call_open = TOOLGLOT_EVENT_CALL_OPEN,
  call_named = TOOLGLOT_EVENT_CALL_NAMED,
  detail = TOOLGLOT_EVENT_DETAIL,
  arg_delta = TOOLGLOT_EVENT_ARG_DELTA,
  param_open = TOOLGLOT_EVENT_PARAM_OPEN,
  param_delta = TOOLGLOT_EVENT_PARAM_DELTA,
  param_close = TOOLGLOT_EVENT_PARAM_CLOSE,
  call_abandoned = TOOLGLOT_EVENT_CALL_ABANDONED,
  call_close = TOOLGLOT_EVENT_CALL_CLOSE,
  block_close = TOOLGLOT_EVENT_BLOCK_CLOSE,
  block_abandoned = TOOLGLOT_EVENT_BLOCK_ABANDONED,
  issue = TOOLGLOT_EVENT_ISSUE,
};

/* Why an output ended. */
enum class finish_reason : std::uint32_t {
  stop = TOOLGLOT_FINISH_STOP,
  length = TOOLGLOT_FINISH_LENGTH,
  tool_calls = TOOLGLOT_FINISH_TOOL_CALLS,
  error = TOOLGLOT_FINISH_ERROR,
  cancelled = TOOLGLOT_FINISH_CANCELLED,
};

/* The stage of a stream between two chunks. */
enum class stage {
  /* In text, reasoning or a protected region. */
  normal,
  /* Bytes are held that may be a marker. */
  tag_opening,
  /* In a block, while a call of it is being written or its first call is still to come. */
  tag_content,
  /* In a block, after a call of it. */
  tag_closing,
};

/* A view of one event: as large as a pointer, valid as long as its batch. An accessor that does not apply to the kind returns
 * empty, 0 or false. */
class event {
 public:
  explicit event(const toolglot_event &of) noexcept : event_(&of) {}
  const toolglot_event *get() const noexcept { return event_; }

  event_kind kind() const noexcept { return static_cast<event_kind>(event_->kind); }
  /* For example `arg_delta`. */
  std::string_view kind_name() const noexcept { return toolglot_event_name(event_->kind); }
  /* The range of the input that it covers, in bytes from the start of the stream. */
  std::uint64_t start() const noexcept { return event_->start; }
  std::uint64_t end() const noexcept { return event_->end; }
  bool has_call() const noexcept { return event_->call != TOOLGLOT_NO_CALL; }
  /* Number of its call, or `TOOLGLOT_NO_CALL`. */
  std::uint32_t call() const noexcept { return event_->call; }

  /* Text, reasoning, protected region, raw, parameter delta, block close, block abandoned: the bytes. */
  std::string_view text() const noexcept {
    switch (kind()) {
      case event_kind::text:
      case event_kind::reasoning:
      case event_kind::protected_region:
      case event_kind::raw:
      case event_kind::param_delta:
      case event_kind::block_close:
      case event_kind::block_abandoned:
        return data();
      default:
        return {};
    }
  }
  /* Text: it was first taken for a block. */
  bool recovered_text() const noexcept { return has(event_kind::text, TOOLGLOT_FLAG_RECOVERED_TEXT); }
  /* Reasoning: the marker, not the reasoning itself. */
  bool framing() const noexcept { return has(event_kind::reasoning, TOOLGLOT_FLAG_FRAMING); }
  /* Protected region: its kind. */
  std::string_view region() const noexcept { return aux_of(event_kind::protected_region); }

  /* Block open, call open: id of the dialect. */
  std::string_view dialect() const noexcept { return kind() == event_kind::block_open ? aux() : aux_of(event_kind::call_open); }
  /* Call named, call open: the tool. Parameter open: the parameter. */
  std::string_view name() const noexcept {
    return kind() == event_kind::param_open || kind() == event_kind::call_named ? data() : data_of(event_kind::call_open);
  }
  /* Call named: the number of the name in its block, from 0; `call()` is the number of the block. */
  std::uint32_t ordinal() const noexcept { return kind() == event_kind::call_named ? event_->code : 0; }
  /* Call named: the name may still be taken back. */
  bool provisional() const noexcept { return has(event_kind::call_named, TOOLGLOT_FLAG_PROVISIONAL); }
  /* Call open: it is an API tool call, given by the host. */
  bool native() const noexcept { return has(event_kind::call_open, TOOLGLOT_FLAG_NATIVE); }
  /* Parameter open: its nesting depth. */
  std::uint32_t depth() const noexcept { return kind() == event_kind::param_open ? event_->code : 0; }
  /* Detail. */
  std::string_view key() const noexcept { return aux_of(event_kind::detail); }
  std::string_view value() const noexcept { return data_of(event_kind::detail); }
  /* Argument delta: the next piece of the arguments' JSON. */
  std::string_view json() const noexcept { return data_of(event_kind::arg_delta); }

  /* Call close: well formed; or a rule was broken without leaving doubt about the call; or something may be truncated, mixed or
     guessed (do not run it without asking). */
  bool complete() const noexcept { return has(event_kind::call_close, TOOLGLOT_FLAG_COMPLETE); }
  bool repaired() const noexcept { return has(event_kind::call_close, TOOLGLOT_FLAG_REPAIRED); }
  bool recovered() const noexcept { return has(event_kind::call_close, TOOLGLOT_FLAG_RECOVERED); }
  /* Call close: the arguments were delivered only as parameters, without pieces of JSON. */
  bool params_only() const noexcept { return has(event_kind::call_close, TOOLGLOT_FLAG_PARAMS_ONLY); }
  /* Call close: the kinds of issues for which it is repaired or recovered, one byte each. */
  std::string_view mended() const noexcept { return data_of(event_kind::call_close); }
  /* Block abandoned: its bytes follow as text. */
  bool as_text() const noexcept { return has(event_kind::block_abandoned, TOOLGLOT_FLAG_AS_TEXT); }
  /* Block abandoned: it opened in a thought that goes on, and its bytes follow as reasoning. */
  bool as_reasoning() const noexcept { return has(event_kind::block_abandoned, TOOLGLOT_FLAG_AS_REASONING); }

  /* Issue: its kind, `TOOLGLOT_ISSUE_...`, and the kind's name. */
  std::uint32_t issue() const noexcept { return kind() == event_kind::issue ? event_->code : 0; }
  std::string_view issue_name() const noexcept {
    return kind() == event_kind::issue ? std::string_view(toolglot_issue_name(event_->code)) : std::string_view();
  }
  /* Issue: whether it is an error or a warning. */
  bool is_error() const noexcept { return has(event_kind::issue, TOOLGLOT_FLAG_ERROR); }
  /* Issue: one sentence for people, and what to tell the model. */
  std::string_view message() const noexcept { return data_of(event_kind::issue); }
  std::string_view observation() const noexcept { return aux_of(event_kind::issue); }

  /* The raw fields, for kinds that this header does not know. */
  std::string_view data() const noexcept { return detail::view(event_->data); }
  std::string_view aux() const noexcept { return detail::view(event_->aux); }
  std::uint32_t flags() const noexcept { return event_->flags; }
  std::uint32_t code() const noexcept { return event_->code; }

 private:
  bool has(event_kind of, std::uint32_t flag) const noexcept { return kind() == of && (event_->flags & flag) != 0; }
  std::string_view data_of(event_kind of) const noexcept { return kind() == of ? data() : std::string_view(); }
  std::string_view aux_of(event_kind of) const noexcept { return kind() == of ? aux() : std::string_view(); }

  const toolglot_event *event_;
};

template <class Take>
std::int32_t detail::callback<Take>::run(void *user, const toolglot_event *one) noexcept {
  callback &self = *static_cast<callback *>(user);
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Take &, event>>) {
      self.take(event(*one));
      return 0;
    } else {
      return self.take(event(*one)) ? 0 : 1;
    }
  } catch (...) {
    self.thrown = std::current_exception();
    return 1;
  }
}

/* The events of one call on a stream, in order: a range of `event`. Valid until the next call on that stream. */
class batch : public list<event, toolglot_event> {
 public:
  explicit batch(const toolglot_batch &of) noexcept : list(of.events, of.len), batch_(of) {}
  const toolglot_batch *get() const noexcept { return &batch_; }
  /* Bytes that are not in an event yet, because they are undecided. */
  std::size_t held() const noexcept { return batch_.held; }
  /* Total bytes fed so far. */
  std::uint64_t position() const noexcept { return batch_.position; }

 private:
  toolglot_batch batch_;
};

/* What a format says about a call besides name and arguments. */
class call_detail {
 public:
  explicit call_detail(const toolglot_detail &of) noexcept : detail_(&of) {}
  std::string_view key() const noexcept { return detail::view(detail_->key); }
  std::string_view value() const noexcept { return detail::view(detail_->value); }

 private:
  const toolglot_detail *detail_;
};

/* A view of a call of a turn. */
class call {
 public:
  explicit call(const toolglot_call &of) noexcept : call_(&of) {}
  const toolglot_call *get() const noexcept { return call_; }
  std::string_view name() const noexcept { return detail::view(call_->name); }
  /* JSON text of an object. */
  std::string_view arguments() const noexcept { return detail::view(call_->arguments); }
  /* Empty for an API tool call. */
  std::string_view dialect() const noexcept { return detail::view(call_->dialect); }
  std::uint32_t index() const noexcept { return call_->index; }
  bool complete() const noexcept { return (call_->flags & TOOLGLOT_FLAG_COMPLETE) != 0; }
  /* A rule was broken without leaving doubt about the call. */
  bool repaired() const noexcept { return (call_->flags & TOOLGLOT_FLAG_REPAIRED) != 0; }
  /* Something may be truncated, mixed or guessed: do not run it without asking. */
  bool recovered() const noexcept { return (call_->flags & TOOLGLOT_FLAG_RECOVERED) != 0; }
  bool native() const noexcept { return (call_->flags & TOOLGLOT_FLAG_NATIVE) != 0; }
  std::string_view mended() const noexcept { return detail::view(call_->kinds); }
  list<call_detail, toolglot_detail> details() const noexcept { return {call_->details, call_->details_len}; }
  std::uint64_t start() const noexcept { return call_->start; }
  std::uint64_t end() const noexcept { return call_->end; }

 private:
  const toolglot_call *call_;
};

/* A view of an issue of a turn. */
class issue {
 public:
  explicit issue(const toolglot_issue &of) noexcept : issue_(&of) {}
  const toolglot_issue *get() const noexcept { return issue_; }
  /* One of `TOOLGLOT_ISSUE_...`. */
  std::uint32_t code() const noexcept { return issue_->code; }
  std::string_view name() const noexcept { return toolglot_issue_name(issue_->code); }
  bool is_error() const noexcept { return (issue_->flags & TOOLGLOT_FLAG_ERROR) != 0; }
  std::string_view message() const noexcept { return detail::view(issue_->message); }
  std::string_view observation() const noexcept { return detail::view(issue_->observation); }
  std::string_view dialect() const noexcept { return detail::view(issue_->dialect); }
  std::uint64_t start() const noexcept { return issue_->start; }
  std::uint64_t end() const noexcept { return issue_->end; }

 private:
  const toolglot_issue *issue_;
};

/* A view of a marker of an engine. */
class marker {
 public:
  explicit marker(const toolglot_marker &of) noexcept : marker_(&of) {}
  std::string_view text() const noexcept { return detail::view(marker_->text); }
  std::string_view dialect() const noexcept { return detail::view(marker_->dialect); }
  /* One of `TOOLGLOT_MARKER_...`. */
  std::uint32_t role() const noexcept { return marker_->role; }

 private:
  const toolglot_marker *marker_;
};

/* The version of the linked library, for example `0.1.0`. */
inline std::string_view version() noexcept { return toolglot_version(); }
/* The number of streams in the process that were created and not freed. */
inline std::size_t live_streams() noexcept { return toolglot_live_streams(); }
/* The id of a built-in dialect by its index, from 0; empty if the index is too large. */
inline std::string_view builtin_dialect(std::size_t number) noexcept {
  return detail::view(toolglot_builtin_dialect(number));
}

/* The built-in dialects in which a model writes its calls, by the model's name; empty if none is known. */
inline std::vector<std::string_view> model_dialects(std::string_view name) {
  std::vector<std::string_view> ids;
  for (;;) {
    const std::string_view id = detail::view(toolglot_model_dialect(name.data(), name.size(), ids.size()));
    if (id.empty()) return ids;
    ids.push_back(id);
  }
}
/* The built-in dialect that reads a model's reasoning alone. Where a dialect of its calls reads it as well, an engine with both is refused:
   leave this one out. Empty if none. */
inline std::string_view model_reasoning(std::string_view name) noexcept {
  return detail::view(toolglot_model_reasoning(name.data(), name.size()));
}

/* A list of dialects from which an engine is made. An empty one means the default set. */
class config : public detail::handle<toolglot_config, toolglot_config_free, toolglot_config_error> {
 public:
  config() {
    toolglot_config *made = nullptr;
    check(toolglot_config_new(TOOLGLOT_ABI_VERSION, &made));
    own(made);
  }
  config &add_builtin(std::string_view id) {
    check(toolglot_config_add_builtin(get(), id.data(), id.size()));
    return *this;
  }
  config &add_defaults() {
    check(toolglot_config_add_defaults(get()));
    return *this;
  }
  config &add_any() {
    check(toolglot_config_add_any(get()));
    return *this;
  }
  config &add_toml(std::string_view origin, std::string_view toml) {
    check(toolglot_config_add_toml(get(), origin.data(), origin.size(), toml.data(), toml.size()));
    return *this;
  }
  config &add_template(std::string_view chat_template) {
    check(toolglot_config_add_template(get(), chat_template.data(), chat_template.size()));
    return *this;
  }
  /* C's `toolglot_config_switch`: `switch` is a keyword. */
  config &switch_on(std::string_view dialect, std::string_view name) {
    check(toolglot_config_switch(get(), dialect.data(), dialect.size(), name.data(), name.size()));
    return *this;
  }

 private:
  friend class engine;  // its failures leave their message here
};

/* How to parse streams. */
class options : public detail::handle<toolglot_options, toolglot_options_free, toolglot_options_error> {
 public:
  options() {
    toolglot_options *made = nullptr;
    check(toolglot_options_new(&made));
    own(made);
  }
  /* `option` is one of `TOOLGLOT_OPTION_...`. */
  options &set(std::uint32_t option, std::uint64_t value) {
    check(toolglot_options_set(get(), option, value));
    return *this;
  }
  options &set_tools(std::string_view json) {
    check(toolglot_options_set_tools(get(), json.data(), json.size()));
    return *this;
  }
  /* The problems of that list, one sentence each: what was left out or ignored, and where. */
  list<std::string_view, toolglot_view> tool_issues() const & {
    const toolglot_view *first = nullptr;
    std::size_t size = 0;
    check(toolglot_options_tool_issues(get(), &first, &size));
    return {first, size};
  }
  list<std::string_view, toolglot_view> tool_issues() const && = delete;
  /* `auto`, `none`, `required`, or the JSON text of a named function. */
  options &set_tool_choice(std::string_view choice) {
    check(toolglot_options_set_tool_choice(get(), choice.data(), choice.size()));
    return *this;
  }
  options &set_prompt_tail(std::string_view prompt) {
    check(toolglot_options_set_prompt_tail(get(), prompt.data(), prompt.size()));
    return *this;
  }
};

/* A growing buffer that functions write results into; it keeps its memory. */
class buffer : public detail::handle<toolglot_buffer, toolglot_buffer_free, toolglot_buffer_error> {
 public:
  buffer() {
    toolglot_buffer *made = nullptr;
    check(toolglot_buffer_new(&made));
    own(made);
  }
  buffer &set(std::string_view bytes) {
    check(toolglot_buffer_set(get(), bytes.data(), bytes.size()));
    return *this;
  }
  /* Valid until the buffer is given to the next function. */
  std::string_view view() const & { return detail::view(toolglot_buffer_view(detail::given(*this))); }
  std::string_view view() const && = delete;
  std::string str() const { return std::string(view()); }

 private:
  friend class engine;
  friend class response;
  friend class run;
  friend class tools;
};

/* Compiled dialects. Immutable: any number of threads may use one. Streams keep what they need. */
class engine : public detail::handle<toolglot_engine, toolglot_engine_free, detail::no_message> {
 public:
  /* The default set. */
  engine() : engine(config()) {}
  explicit engine(const config &dialects) {
    toolglot_engine *made = nullptr;
    dialects.check(toolglot_engine_new(detail::given(dialects), &made));
    own(made);
  }
  /* Built-in dialects by their ids or aliases. */
  engine(std::initializer_list<std::string_view> ids) : engine(named(ids)) {}

  list<marker, toolglot_marker> markers() const & {
    const toolglot_marker *first = nullptr;
    std::size_t size = 0;
    check(toolglot_engine_markers(get(), &first, &size));
    return {first, size};
  }
  list<marker, toolglot_marker> markers() const && = delete;
  list<std::string_view, toolglot_view> dialects() const & {
    const toolglot_view *first = nullptr;
    std::size_t size = 0;
    check(toolglot_engine_dialects(get(), &first, &size));
    return {first, size};
  }
  list<std::string_view, toolglot_view> dialects() const && = delete;
  /* The maximum number of bytes of text that a stream with default limits holds back. */
  std::size_t bound() const { return toolglot_engine_bound(detail::given(*this)); }

  /* Encodes calls (OpenAI's `tool_calls`) in a dialect of this engine. */
  std::string encode(std::string_view dialect, std::string_view calls) const { return encode(dialect, calls, nullptr); }
  std::string encode(std::string_view dialect, std::string_view calls, const options &options) const {
    return encode(dialect, calls, detail::given(options));
  }
  /* Escapes untrusted text, so that it contains none of the engine's markers. */
  std::string escape(std::string_view text) const { return through(toolglot_escape, text); }
  std::string unescape(std::string_view text) const { return through(toolglot_unescape, text); }
  /* The message with the results of calls, as JSON; `lang` is one of `TOOLGLOT_LANG_...`. */
  std::string results(std::string_view dialect, std::string_view results, std::uint32_t lang = TOOLGLOT_LANG_EN) const {
    buffer out;
    out.check(toolglot_results(get(), dialect.data(), dialect.size(), lang, results.data(), results.size(), out.get()));
    return out.str();
  }

 private:
  static config named(std::initializer_list<std::string_view> ids) {
    config made;
    for (std::string_view id : ids) made.add_builtin(id);
    return made;
  }
  std::string encode(std::string_view dialect, std::string_view calls, const toolglot_options *options) const {
    buffer out;
    out.check(toolglot_encode(get(), options, dialect.data(), dialect.size(), calls.data(), calls.size(), out.get()));
    return out.str();
  }
  template <class Function>
  std::string through(Function function, std::string_view text) const {
    buffer out;
    out.check(function(get(), text.data(), text.size(), out.get()));
    return out.str();
  }
};

/* One model output, from its first byte to its end. */
class stream : public detail::handle<toolglot_stream, toolglot_stream_free, toolglot_stream_error> {
 public:
  explicit stream(const engine &dialects) : stream(dialects, nullptr) {}
  stream(const engine &dialects, const options &options) : stream(dialects, detail::given(options)) {}

  /* Feeds the next bytes, in chunks of any size. The chunk must live as long as the batch is used. */
  batch feed(std::string_view chunk) & { return step(toolglot_stream_feed, chunk); }
  /* Feeds the bytes of one special token. */
  batch feed_special(std::string_view token) & { return step(toolglot_stream_feed_special, token); }
  /* Feeds what the prompt already contains of the reply. */
  batch prefill(std::string_view opener) & { return step(toolglot_stream_prefill, opener); }
  template <class T, class = std::enable_if_t<detail::is_temporary_string<T>>>
  batch feed(T &&chunk) & = delete;
  template <class T, class = std::enable_if_t<detail::is_temporary_string<T>>>
  batch feed_special(T &&token) & = delete;
  template <class T, class = std::enable_if_t<detail::is_temporary_string<T>>>
  batch prefill(T &&opener) & = delete;
  /* Takes API tool calls: OpenAI's `tool_calls`. */
  batch native_calls(std::string_view json) & { return step(toolglot_stream_native_calls, json); }
  /* Ends the output. */
  batch finish(finish_reason reason = finish_reason::stop) & {
    toolglot_batch out;
    check(toolglot_stream_finish(get(), static_cast<std::uint32_t>(reason), &out));
    return batch(out);
  }

  /* `feed` with a function that takes an `event` and returns nothing, or a bool: false stops. Returns whether all events
   * were delivered; `rest()` has the others, even if the function threw. The bytes are consumed in any case. */
  template <class Take>
  bool feed_each(std::string_view chunk, Take &&take) {
    return each(take, [&](toolglot_callback call, void *user) {
      return toolglot_stream_feed_each(get(), chunk.data(), chunk.size(), call, user);
    });
  }
  /* `finish`, likewise. */
  template <class Take>
  bool finish_each(finish_reason reason, Take &&take) {
    return each(take, [&](toolglot_callback call, void *user) {
      return toolglot_stream_finish_each(get(), static_cast<std::uint32_t>(reason), call, user);
    });
  }
  /* The events of the last call that no function has taken. Invalidates no batch. */
  batch rest() & {
    toolglot_batch out;
    check(toolglot_stream_rest(get(), &out));
    return batch(out);
  }

  /* The state between two chunks: the sum of `TOOLGLOT_STATE_...`. */
  std::uint32_t state() const {
    std::uint32_t flags = 0;
    check(toolglot_stream_state(get(), &flags));
    return flags;
  }
  /* Reasoning is open. */
  bool in_reasoning() const { return (state() & TOOLGLOT_STATE_REASONING) != 0; }
  /* Outside of blocks, at a marker, in a call or after one. */
  toolglot::stage stage() const {
    const std::uint32_t flags = state();
    if ((flags & TOOLGLOT_STATE_TAG_OPENING) != 0) return toolglot::stage::tag_opening;
    if ((flags & TOOLGLOT_STATE_TAG_CONTENT) != 0) return toolglot::stage::tag_content;
    if ((flags & TOOLGLOT_STATE_TAG_CLOSING) != 0) return toolglot::stage::tag_closing;
    return toolglot::stage::normal;
  }
  /* A marker or a block is open. */
  bool may_hold_marker() const { return (state() & TOOLGLOT_STATE_MARKER) != 0; }

  /* Starts over with the same options. */
  void reset() { check(toolglot_stream_reset(get())); }
  /* A second stream in the same state. */
  stream clone() const {
    toolglot_stream *made = nullptr;
    check(toolglot_stream_clone(get(), &made));
    return stream(made);
  }
  /* The state, to continue from it later or elsewhere. */
  std::string snapshot() const {
    buffer out;
    check(toolglot_stream_snapshot(get(), out.get()));
    return out.str();
  }
  void restore(std::string_view snapshot) { check(toolglot_stream_restore(get(), snapshot.data(), snapshot.size())); }

 private:
  explicit stream(toolglot_stream *owned) noexcept : handle(owned) {}
  stream(const engine &dialects, const toolglot_options *options) {
    toolglot_stream *made = nullptr;
    check(toolglot_stream_new(detail::given(dialects), options, &made));
    own(made);
  }
  template <class Function>
  batch step(Function function, std::string_view bytes) {
    toolglot_batch out;
    check(function(get(), bytes.data(), bytes.size(), &out));
    return batch(out);
  }
  template <class Take, class Run>
  bool each(Take &take, Run run) {
    detail::callback<Take> call{take, nullptr};
    toolglot_status status = run(detail::callback<Take>::run, static_cast<void *>(&call));
    if (call.thrown) std::rethrow_exception(call.thrown);
    if (status != TOOLGLOT_E_STOPPED) check(status);
    return status == TOOLGLOT_OK;
  }
};

/* The contents of an output, collected. What it returns is valid until something is added, or it is reset or destroyed. */
class turn : public detail::handle<toolglot_turn, toolglot_turn_free, toolglot_turn_error> {
 public:
  turn() {
    toolglot_turn *made = nullptr;
    check(toolglot_turn_new(&made));
    own(made);
  }
  /* Prevents the text from being read as a call by another reader of these dialects. Empties the turn; kept across `reset`. */
  void guard(const engine &dialects) { check(toolglot_turn_guard(get(), detail::given(dialects))); }
  /* Keeps all that the model wrote, for `original`. Empties the turn; kept across `reset`. For `parse` use
   * `TOOLGLOT_OPTION_ORIGINAL`. */
  void keep_original(bool keep = true) { check(toolglot_turn_keep_original(get(), keep ? 1 : 0)); }
  /* Adds a batch. Give it every batch of one stream, in order, each before the next call on the stream. */
  void add(const batch &events) { check(toolglot_turn_add(get(), events.get())); }
  /* If a finished turn has no calls: adds an issue for each call of a tool of `options` in its text. */
  void hint(const options &given) { check(toolglot_turn_hint(get(), detail::given(given))); }
  std::string_view text() const & { return detail::view(toolglot_turn_text(detail::given(*this))); }
  std::string_view text() const && = delete;
  std::string_view reasoning() const & { return detail::view(toolglot_turn_reasoning(detail::given(*this))); }
  std::string_view reasoning() const && = delete;
  list<call, toolglot_call> calls() const & {
    const toolglot_call *first = nullptr;
    std::size_t size = 0;
    check(toolglot_turn_calls(get(), &first, &size));
    return {first, size};
  }
  list<call, toolglot_call> calls() const && = delete;
  /* The open call, with its arguments so far. */
  std::optional<call> open_call() const & {
    const toolglot_call *open = nullptr;
    check(toolglot_turn_open_call(get(), &open));
    return open != nullptr ? std::optional(call(*open)) : std::nullopt;
  }
  std::optional<call> open_call() const && = delete;
  list<issue, toolglot_issue> issues() const & {
    const toolglot_issue *first = nullptr;
    std::size_t size = 0;
    check(toolglot_turn_issues(get(), &first, &size));
    return {first, size};
  }
  list<issue, toolglot_issue> issues() const && = delete;
  /* What a host does not get, or should not act on without asking: JSON text, empty if there is nothing to report. */
  std::string_view not_delivered() const & {
    toolglot_view json = {};
    check(toolglot_turn_not_delivered(get(), &json));
    return detail::view(json);
  }
  std::string_view not_delivered() const && = delete;
  /* All that the model wrote, markup included, if it was asked for and all of it was retained. */
  std::optional<std::string_view> original() const & {
    toolglot_view bytes = {};
    std::uint32_t kept = 0;
    check(toolglot_turn_original(get(), &bytes, &kept));
    return kept != 0 ? std::optional(detail::view(bytes)) : std::nullopt;
  }
  std::optional<std::string_view> original() const && = delete;
  /* The problems of the tools in the options given to `parse` or `hint`, one sentence each. */
  list<std::string_view, toolglot_view> tool_issues() const & {
    const toolglot_view *first = nullptr;
    std::size_t size = 0;
    check(toolglot_turn_tool_issues(get(), &first, &size));
    return {first, size};
  }
  list<std::string_view, toolglot_view> tool_issues() const && = delete;
  void reset() { check(toolglot_turn_reset(get())); }

 private:
  friend turn parse(const engine &, std::string_view, const toolglot_options *, finish_reason);
  explicit turn(toolglot_turn *owned) noexcept : handle(owned) {}
};

/* Parses a whole output; `options` may be null. */
inline turn parse(const engine &dialects, std::string_view output, const toolglot_options *options,
                  finish_reason reason = finish_reason::stop) {
  toolglot_turn *made = nullptr;
  toolglot_status status = toolglot_parse(detail::given(dialects), options, output.data(), output.size(),
                                          static_cast<std::uint32_t>(reason), &made);
  if (status != TOOLGLOT_OK) throw error(status, {});
  return turn(made);
}
inline turn parse(const engine &dialects, std::string_view output, finish_reason reason = finish_reason::stop) {
  return parse(dialects, output, nullptr, reason);
}
inline turn parse(const engine &dialects, std::string_view output, const options &options,
                  finish_reason reason = finish_reason::stop) {
  return parse(dialects, output, detail::given(options), reason);
}

/* Writes the chat completion of one output, as chunks or as one object. */
class openai : public detail::handle<toolglot_openai, toolglot_openai_free, toolglot_openai_error> {
 public:
  openai() {
    toolglot_openai *made = nullptr;
    check(toolglot_openai_new(&made));
    own(made);
  }
  /* `option` is one of `TOOLGLOT_OPENAI_...`; some are numbers, some are texts. */
  openai &set(std::uint32_t option, std::uint64_t value) {
    check(toolglot_openai_set(get(), option, value));
    return *this;
  }
  openai &set(std::uint32_t option, std::string_view text) {
    check(toolglot_openai_set_text(get(), option, text.data(), text.size()));
    return *this;
  }
  /* Prevents the content from being read as a call by another reader of these dialects. */
  openai &guard(const engine &dialects) {
    check(toolglot_openai_guard(get(), detail::given(dialects)));
    return *this;
  }
  /* Lets `rule(index, name)` make the ids of calls. Its exceptions are rethrown by `write` or `finish`. */
  openai &set_ids(std::function<std::string(std::uint32_t index, std::string_view name)> rule) {
    auto ids = std::make_unique<id_rule>(id_rule{std::move(rule), nullptr});
    check(toolglot_openai_set_ids(get(), id_rule::run, ids.get()));
    ids_ = std::move(ids);
    return *this;
  }
  /* The chunks for a batch; often none. Valid until the next call on this writer. */
  std::string_view write(const batch &events) & {
    return done(toolglot_openai_write(get(), events.get(), out_.get()));
  }
  /* The last chunks. The writer is then ready for another response. */
  std::string_view finish(finish_reason reason = finish_reason::stop) & {
    return done(toolglot_openai_finish(get(), static_cast<std::uint32_t>(reason), out_.get()));
  }
  /* One `chat.completion` object. */
  std::string_view completion(const turn &output, finish_reason reason = finish_reason::stop) & {
    return done(toolglot_openai_completion(get(), detail::given(output), static_cast<std::uint32_t>(reason), out_.get()));
  }

 private:
  struct id_rule {
    std::function<std::string(std::uint32_t, std::string_view)> make;
    std::exception_ptr thrown;

    static std::size_t run(void *user, std::uint32_t index, const char *name, std::size_t name_len, char *out,
                           std::size_t cap) noexcept {
      id_rule &self = *static_cast<id_rule *>(user);
      try {
        std::string id = self.make(index, std::string_view(name, name_len));
        if (id.size() > cap) throw std::length_error("the id of a call is too long");
        return id.copy(out, cap);
      } catch (...) {
        self.thrown = std::current_exception();
        return 0;
      }
    }
  };

  std::string_view done(toolglot_status status) {
    if (ids_ && ids_->thrown) std::rethrow_exception(std::exchange(ids_->thrown, nullptr));
    check(status);
    return out_.view();
  }

  buffer out_;
  std::unique_ptr<id_rule> ids_;
};

/* Definitions of tools that a model may call. */
class tools : public detail::handle<toolglot_tools, toolglot_tools_free, toolglot_tools_error> {
 public:
  tools() {
    toolglot_tools *made = nullptr;
    check(toolglot_tools_new(&made));
    own(made);
  }
  explicit tools(std::string_view json) : tools() { add(json); }
  /* A list in the form of OpenAI, Anthropic, MCP or a plugin manifest. */
  tools &add(std::string_view json) {
    check(toolglot_tools_add(get(), json.data(), json.size()));
    return *this;
  }
  /* `form` is one of `TOOLGLOT_TOOLS_...`. */
  std::string json(std::uint32_t form = TOOLGLOT_TOOLS_OPENAI) const {
    buffer out;
    out.check(toolglot_tools_json(get(), form, out.get()));
    return out.str();
  }
  /* Instructions about them for a model. */
  std::string prompt(const engine &dialects, std::string_view dialect, std::uint32_t lang = TOOLGLOT_LANG_EN) const {
    buffer out;
    out.check(toolglot_tools_prompt(get(), detail::given(dialects), dialect.data(), dialect.size(), lang, out.get()));
    return out.str();
  }
  /* Whether a call may be carried out, and with which arguments, as JSON. */
  std::string check_call(const engine &dialects, std::string_view dialect, std::string_view name,
                         std::string_view arguments) const {
    buffer out;
    out.check(toolglot_tools_check(get(), detail::given(dialects), dialect.data(), dialect.size(), name.data(), name.size(),
                                   arguments.data(), arguments.size(), out.get()));
    return out.str();
  }
};

/* A conversation of a model with its tools: it gives instructions, and is told the results. */
class run : public detail::handle<toolglot_run, toolglot_run_free, toolglot_run_error> {
 public:
  /* What it waits for; times are in milliseconds. */
  struct waits {
    /* One of `TOOLGLOT_WAITS_...`. */
    std::uint32_t what;
    std::uint64_t now;
    /* `UINT64_MAX`: no deadline. */
    std::uint64_t deadline;
  };

  /* Feeds bytes of the model's reply, in chunks of any size. */
  void model(std::string_view bytes) { check(toolglot_run_model(get(), bytes.data(), bytes.size())); }
  /* Tells the run anything else, as JSON. */
  void tell(std::string_view what) { check(toolglot_run_tell(get(), what.data(), what.size())); }
  /* The next instruction, as JSON; empty if there is none. Valid until the next call on the run. */
  std::string_view take() & {
    toolglot_view out = {};
    check(toolglot_run_take(get(), &out));
    return detail::view(out);
  }
  waits waiting() const {
    waits out = {};
    check(toolglot_run_waits(get(), &out.what, &out.now, &out.deadline));
    return out;
  }
  std::string save() const { return write(TOOLGLOT_RUN_SAVED); }
  std::string messages() const { return write(TOOLGLOT_RUN_MESSAGES); }
  std::string receipts() const { return write(TOOLGLOT_RUN_RECEIPTS); }
  /* How it ended; `null` if it has not ended. */
  std::string outcome() const { return write(TOOLGLOT_RUN_OUTCOME); }

 private:
  friend class agent;
  explicit run(toolglot_run *owned) noexcept : handle(owned) {}
  std::string write(std::uint32_t what) const {
    buffer out;
    out.check(toolglot_run_write(get(), what, out.get()));
    return out.str();
  }
};

/* What runs share: dialect, tools, policy; see docs/AGENT.md. */
class agent : public detail::handle<toolglot_agent, toolglot_agent_free, toolglot_agent_error> {
 public:
  agent(const engine &dialects, std::string_view form) : agent(dialects, form, nullptr) {}
  agent(const engine &dialects, std::string_view form, const options &options)
      : agent(dialects, form, detail::given(options)) {}

  /* A run that continues messages, a JSON list. */
  run start(std::string_view messages) const { return begin(toolglot_agent_run, messages); }
  /* A workflow: a JSON list of calls. */
  run steps(std::string_view steps) const { return begin(toolglot_agent_steps, steps); }
  run restore(std::string_view saved) const { return begin(toolglot_agent_restore, saved); }

 private:
  agent(const engine &dialects, std::string_view form, const toolglot_options *options) {
    toolglot_agent *made = nullptr;
    check(toolglot_agent_new(&made));
    own(made);
    check(toolglot_agent_read(get(), detail::given(dialects), options, form.data(), form.size()));
  }
  template <class Function>
  run begin(Function function, std::string_view json) const {
    toolglot_run *made = nullptr;
    check(function(get(), json.data(), json.size(), &made));
    return run(made);
  }
};

namespace detail {
inline toolglot_view no_words(const toolglot_response *) { return {"", 0}; }
}  // namespace detail

/* Reads the response of a model server: returns lines, each for `run::tell`. */
class response : public detail::handle<toolglot_response, toolglot_response_free, detail::no_words> {
 public:
  /* `source` is one of `TOOLGLOT_SOURCE_...`. */
  explicit response(std::uint32_t source) {
    toolglot_response *made = nullptr;
    check(toolglot_response_new(source, &made));
    own(made);
  }
  /* Valid until the next call. */
  std::string_view feed(std::string_view bytes) & {
    out_.check(toolglot_response_feed(get(), bytes.data(), bytes.size(), out_.get()));
    return out_.view();
  }
  std::string_view finish() & {
    out_.check(toolglot_response_finish(get(), out_.get()));
    return out_.view();
  }

 private:
  buffer out_;
};

}  // namespace toolglot

#endif  /* TOOLGLOT_HPP */
