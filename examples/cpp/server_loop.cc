// The loop of an inference server: each token that the model makes becomes the chunks of a chat completion that it amounts
// to (deltas of content, of reasoning, of tool calls), as server-sent events, and nothing waits that need not wait.
//
// Standard input stands for the model; a token is four bytes, which cuts characters and markers as real tokens do. What a
// client gets goes to standard output, what the server does about the calls itself to standard error.
//
// Build, from the root of the repository, with the library installed by `bindings/c/install.sh $PREFIX`:
//
//     c++ -std=c++17 examples/cpp/server_loop.cc -I$PREFIX/include -L$PREFIX/lib -Wl,-rpath,$PREFIX/lib -ltoolglot -o server_loop
//     c++ -std=c++17 examples/cpp/server_loop.cc -I$PREFIX/include $PREFIX/lib/libtoolglot.a -lpthread -ldl -lm -o server_loop
//     c++ -std=c++17 examples/cpp/server_loop.cc $(pkg-config --cflags --libs toolglot) -Wl,-rpath,$PREFIX/lib -o server_loop
//
// The last with PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig. Run:
//
//     ./server_loop < examples/transcript.txt

#include <iostream>
#include <string>
#include <string_view>

#include <toolglot.hpp>

namespace {

// One request: a stream for its output, a writer for its response, a turn for what the server itself wants to know.
class slot {
 public:
  slot(const toolglot::engine &engine, const toolglot::options &options, std::string_view model)
      : stream_(engine, options) {
    writer_.set(TOOLGLOT_OPENAI_ID, "chatcmpl-1")
        .set(TOOLGLOT_OPENAI_MODEL, model)
        .set(TOOLGLOT_OPENAI_SSE, 1)
        .set(TOOLGLOT_OPENAI_ID_SEED, 1);  // A server leaves it out: then ids of calls differ from response to response.
  }

  // What a token means to the client. A token's text may end inside a character: JSON gets whole ones.
  std::string_view token(std::string_view piece) { return say(stream_.feed(piece)); }

  // Why the model stopped: its end token, or its length limit.
  std::string finish(toolglot::finish_reason reason) {
    std::string last(say(stream_.finish(reason)));
    return last.append(writer_.finish(reason));
  }

  const toolglot::turn &turn() const { return turn_; }

 private:
  std::string_view say(const toolglot::batch &batch) {
    turn_.add(batch);
    return writer_.write(batch);
  }

  toolglot::stream stream_;
  toolglot::openai writer_;
  toolglot::turn turn_;
};

}  // namespace

int main() try {
  const toolglot::engine engine;  // one for the server; every request and thread uses it
  toolglot::options options;
  options.set(TOOLGLOT_OPTION_TEXT, TOOLGLOT_TEXT_CHARS)
      .set_tools(R"([{"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}}}])");

  slot request(engine, options, "example-model");
  char token[4];
  while (std::cin.read(token, sizeof token) || std::cin.gcount() > 0) {
    std::cout << request.token({token, static_cast<std::size_t>(std::cin.gcount())}) << std::flush;
  }
  std::cout << request.finish(toolglot::finish_reason::stop);

  for (toolglot::call call : request.turn().calls()) {
    std::cerr << (call.complete() ? "to run: " : "to ask about: ") << call.name() << ' ' << call.arguments() << '\n';
  }
  for (toolglot::issue issue : request.turn().issues()) {
    std::cerr << (issue.is_error() ? "error: " : "warning: ") << issue.message() << '\n';
  }
  return 0;
} catch (const toolglot::error &e) {
  std::cerr << e.what() << '\n';
  return 1;
}
