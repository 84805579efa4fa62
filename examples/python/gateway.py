"""A gateway between a client of OpenAI and a server whose model writes its calls into its text.

Tools are told in the system message, in the dialect of the model; calls in its text become `tool_calls`, live. It needs nothing
but toolglot and the standard library.

    python gateway.py http://localhost:8000 hermes
"""

import contextlib
import http.server
import json
import sys
import threading
import urllib.error
import urllib.request

import toolglot


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        tools = toolglot.Tools(body.pop("tools", None) or [])
        for name in ("tool_choice", "parallel_tool_calls"):
            body.pop(name, None)
        body["messages"] = tools.messages(body["messages"], self.server.dialect, engine=self.server.engine)
        headers = {name: self.headers[name] for name in ("authorization", "content-type") if self.headers[name]}
        asked = urllib.request.Request(self.server.upstream + self.path, json.dumps(body).encode(), headers)
        try:
            reply = urllib.request.urlopen(asked, timeout=300)
        except urllib.error.HTTPError as refused:
            return self.answer(refused.code, "application/json", [refused.read()])
        except OSError as error:
            return self.answer(502, "application/json", [json.dumps({"error": {"message": str(error)}}).encode()])
        with reply:
            given = {"engine": self.server.engine, "tools": tools.definitions}
            if not body.get("stream"):
                made = toolglot.to_completion(reply.read(), **given)
                return self.answer(200, "application/json", [json.dumps(made).encode()])
            chunks = toolglot.to_openai(iter(lambda: reply.read1(65536), b""), **given)
            self.answer(200, "text/event-stream", self.lines(chunks))

    @staticmethod
    def lines(chunks):
        for chunk in chunks:
            yield b"data: " + json.dumps(chunk).encode() + b"\n\n"
        yield b"data: [DONE]\n\n"

    def answer(self, status, kind, pieces):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.end_headers()  # HTTP/1.0: the connection ends with the answer.
        for piece in pieces:
            self.wfile.write(piece)
            self.wfile.flush()

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def gateway(upstream, dialect, port=0):
    """Serves in a thread, at the address that it gives."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        server.upstream, server.dialect, server.engine = upstream.rstrip("/"), dialect, toolglot.Engine(dialect)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


if __name__ == "__main__":
    with gateway(*sys.argv[1:3], port=8080) as address:
        print(address)
        threading.Event().wait()
