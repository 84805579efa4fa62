// Runs llama.cpp's chat parsers as its server does: `peer_llama FOLDER`, where the chat templates are, as NAME.jinja. One job a line;
// src/main.rs has the fields, drive.py those of templates and tokens. The parser is the one that the server makes for a request, from the
// template and the declared tools.
//
// Linked in are the parsers and the server's own files for requests and for the state of a stream. What these would call in the
// library for inference is not linked: the symbols are left open, so a call of one ends the process, which counts as an exception.

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "chat.h"
#include "log.h"
#include "server-common.h"
#include "server-task.h"

namespace {

double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

std::string read(const std::string &path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("there is no template " + path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

// What a request has for its parser.
struct Request {
  common_chat_parser_params params;
  std::vector<std::string> preserved;
  std::string opening;  // what the model writes before the input
};

bool ends_with(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Does what the server does with a request: `oaicompat_chat_params_parse`, and then the fields of `server-schema.cpp`. No input holds
// reasoning, so the request turns it off. As in llama.cpp's own tests, templates get no text for the tokens at both ends of a conversation.
Request request(const std::string &path, const json &job) {
  server_chat_params options{};
  options.use_jinja = true;
  options.reasoning_format = COMMON_REASONING_FORMAT_DEEPSEEK;  // the server's default
  options.tmpls = common_chat_templates_init(nullptr, read(path));
  json tools = json::array();
  for (const auto &tool : job.at("tools")) {
    json declared = json::object();
    declared["type"] = "function";
    declared["function"] = tool;
    tools.push_back(declared);
  }
  json message = json::object();
  message["role"] = "user";
  message["content"] = "What is the weather like?";
  json body = json::object();
  body["messages"] = json::array();
  body["messages"].push_back(message);
  body["tools"] = tools;
  body["stream"] = !job.at("cuts").is_null();
  body["chat_template_kwargs"] = json::object();
  body["chat_template_kwargs"]["enable_thinking"] = false;
  std::vector<raw_buffer> files;
  const json made = oaicompat_chat_params_parse(body, options, files);

  Request out;
  out.params.format = static_cast<common_chat_format>(made.at("chat_format").get<int>());
  out.params.reasoning_format = options.reasoning_format;
  out.params.generation_prompt = made.at("generation_prompt").get<std::string>();
  if (made.contains("chat_parser")) out.params.parser.load(made.at("chat_parser").get<std::string>());
  for (const auto &token : made.at("preserved_tokens")) out.preserved.push_back(token.get<std::string>());
  // Some prompts open a thought all the same. The model then closes it first.
  if (made.contains("reasoning_budget_end_tags")) {
    const auto start = made.at("reasoning_budget_start_tag").get<std::string>();
    if (!start.empty() && ends_with(string_strip(out.params.generation_prompt), start)) {
      out.opening = made.at("reasoning_budget_end_tags").at(0).get<std::string>();
    }
  }
  return out;
}

// The request with the template that wrote the input, or with the usual one of the dialect. The last is kept, because an input is read
// under many cuts.
const Request &cached(const std::string &folder, const json &job) {
  static std::string last;
  static Request made;
  const auto own = job.at("template").get<std::string>();
  const std::string path = folder + "/" + (own.empty() ? job.at("parser").get<std::string>() : own) + ".jinja";
  const std::string key = path + job.at("tools").dump();
  if (key != last) {
    last.clear();
    made = request(path, job);
    last = key;
  }
  return made;
}

struct Piece {
  std::string text;
  bool last;
};

// The text of tokens, up to one that ends the turn. The server leaves out other special ones, unless the template's parser asks for them.
Piece piece(const std::string &text, const json &job, const std::vector<std::string> &preserved) {
  size_t end = text.size();
  for (const auto &token : job.at("ends")) end = std::min(end, text.find(token.get<std::string>()));
  Piece out{text.substr(0, end), end < text.size()};
  for (const auto &one : job.at("special")) {
    const auto token = one.get<std::string>();
    if (std::find(preserved.begin(), preserved.end(), token) == preserved.end()) string_replace_all(out.text, token, "");
  }
  return out;
}

// The number of bytes of so many characters at a place.
size_t bytes(const std::string &text, size_t at, size_t characters) {
  size_t end = at;
  while (end < text.size() && characters > 0) {
    do ++end;
    while (end < text.size() && (text[end] & 0xC0) == 0x80);
    --characters;
  }
  return end - at;
}

struct Out {
  std::string text;
  std::vector<std::pair<std::string, std::string>> calls;

  void piece(size_t index, const std::string &name, const std::string &arguments) {
    if (calls.size() <= index) calls.resize(index + 1);
    calls[index].first += name;
    calls[index].second += arguments;
  }
};

// What a client of the stream makes of it.
void update(task_result_state &state, const std::string &text, bool partial, Out &out) {
  std::vector<common_chat_msg_diff> diffs;
  state.update_chat_msg(text, partial, diffs);
  for (const auto &diff : diffs) {
    out.text += diff.content_delta;
    if (diff.tool_call_index != std::string::npos) out.piece(diff.tool_call_index, diff.tool_call_delta.name, diff.tool_call_delta.arguments);
  }
}

void stream(const Request &made, const json &job, Out &out, size_t &fed) {
  const auto text = job.at("input").get<std::string>();
  const double limit = job.at("limit").get<double>(), begun = seconds();
  task_result_state state(made.params);
  if (!made.opening.empty()) update(state, made.opening, true, out);
  size_t number = 0;
  for (const auto &length : job.at("cuts")) {
    const size_t size = bytes(text, fed, length.get<size_t>());
    const Piece next = piece(text.substr(fed, size), job, made.preserved);
    update(state, next.text, true, out);
    fed += size;
    if (next.last) break;
    if (number++ % 16 == 15 && seconds() - begun > limit) return;
  }
  // The last result has no text of its own.
  update(state, "", false, out);
}

void at_once(const Request &made, const json &job, Out &out) {
  const auto text = piece(job.at("input").get<std::string>(), job, made.preserved).text;
  task_result_state state(made.params);
  std::vector<common_chat_msg_diff> diffs;
  const auto message = state.update_chat_msg(made.opening + text, false, diffs);
  out.text = message.empty() ? text : message.content;
  for (const auto &call : message.tool_calls) out.piece(out.calls.size(), call.name, call.arguments);
}

json answer(const std::string &folder, const json &job) {
  Out out;
  json said = json::object();
  size_t fed = 0;
  double begun = seconds();
  try {
    const Request &made = cached(folder, job);
    begun = seconds();
    if (job.at("cuts").is_null()) {
      at_once(made, job, out);
    } else {
      stream(made, job, out, fed);
    }
    said["error"] = nullptr;
  } catch (const std::exception &why) {
    said["error"] = std::string("exception: ") + why.what();
  }
  said["seconds"] = seconds() - begun;
  said["fed"] = static_cast<int64_t>(fed);
  if (job.value("quiet", false)) out = Out();
  said["text"] = out.text;
  said["calls"] = json::object();
  for (size_t index = 0; index < out.calls.size(); ++index) {
    json call = json::array();
    call.push_back(out.calls[index].first);
    call.push_back(out.calls[index].second);
    said["calls"][std::to_string(index)] = call;
  }
  return said;
}

}  // namespace

int main(int, char **arguments) {
  common_log_set_verbosity_thold(-1);
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << answer(arguments[1], json::parse(line)).dump_safe() << std::endl;
  }
}
