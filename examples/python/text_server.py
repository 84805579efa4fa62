"""Stands for a server whose model knows no `tools`: it writes a call of Hermes into its text, and then what came of it."""

import contextlib
import http.server
import json
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert "tools" not in body and "weather" in body["messages"][0]["content"], body
        last = body["messages"][-1]["content"]
        text = '<tool_call>{"name": "weather", "arguments": {"city": "Leith"}}</tool_call>'
        if "<tool_response>" in last:
            text = "In Leith there is " + last.removeprefix("<tool_response>").removesuffix("</tool_response>").strip() + "."
        frame = {"id": "chatcmpl-1", "created": 1, "model": body["model"]}
        self.send_response(200)
        if body.get("stream"):
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for at in range(0, len(text), 4):
                self.chunk(frame, {"role": "assistant", "content": text[at : at + 4]}, None)
            self.chunk(frame, {}, "stop")
            self.wfile.write(b"data: [DONE]\n\n")
        else:
            self.send_header("content-type", "application/json")
            self.end_headers()
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            made = {**frame, "object": "chat.completion", "choices": [choice], "usage": usage}
            self.wfile.write(json.dumps(made).encode())

    def chunk(self, frame, delta, reason):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        chunk = {**frame, "object": "chat.completion.chunk", "choices": [choice]}
        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def text_server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
