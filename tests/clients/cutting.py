"""A server that sends given bodies, split in hostile ways."""

import json
import random
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Ways to split a body: whole, single bytes, random pieces.
CUTS = ["whole", "bytes", "lot"]


def by_lot(data, seed, sizes=(1, 1, 2, 3, 5, 17, 64)):
    """Pieces of random sizes from this list; the same each time for a seed."""
    lot = random.Random(seed)
    out, at = [], 0
    while at < len(data):
        size = lot.choice(sizes)
        out.append(data[at : at + size])
        at += size
    return out


def pieces(data, how, seed=0):
    """The data whole, byte by byte, or in random pieces."""
    if how == "whole":
        return [data] if data else []
    if how == "bytes":
        return [data[at : at + 1] for at in range(len(data))]
    return by_lot(data, f"{len(data)} {seed}")


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        # The client hung up, as clients do after `[DONE]`. Only what it has read matters.
        pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def asked(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def say(self, kind, body, how, status=200, dies=False):
        """Sends a response. `dies`: the connection ends before the body does."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces(body, how):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if dies:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass
