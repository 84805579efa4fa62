"""A local server that replays model outputs as responses of the OpenAI and Anthropic APIs, split in hostile ways."""

import json
import threading

import cutting
from cutting import CUTS, pieces

__all__ = ["CUTS", "Server"]


def openai_body(text, how):
    """Chunks of a chat completion with `text` as content."""
    head = {"id": "chatcmpl-r", "object": "chat.completion.chunk", "created": 7, "model": "replayed"}
    deltas = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces(text, how))]
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    lines = [{**head, "choices": [choice]} for choice in choices]
    # Uses both ways in which JSON can write a character.
    sent = [f"data: {json.dumps(line, ensure_ascii=at % 2 == 0)}\n\n" for at, line in enumerate(lines)]
    return "".join([*sent, "data: [DONE]\n\n"]).encode()


def anthropic_body(text, how):
    """Events of a message with `text` in two blocks."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_r", "type": "message", "role": "assistant", "model": "replayed", "content": [], "stop_reason": None}
    events = [{"type": "message_start", "message": {**message, "stop_sequence": None, "usage": usage}}, {"type": "ping"}]
    middle = len(text) // 2
    for index, part in enumerate([text[:middle], text[middle:]]):
        events.append({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}})
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(part, how, index)]
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage})
    events.append({"type": "message_stop"})
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events).encode()


class Handler(cutting.Handler):
    """The path begins with the way to split the body; the model is the index of the output."""

    def do_POST(self):
        how = self.path.split("/")[1]
        make = anthropic_body if self.path.endswith("/messages") else openai_body
        body = make(self.server.outputs[int(self.asked()["model"])], how)
        # Text and body are split in opposite ways, which limits the cost of single bytes.
        self.say("text/event-stream", body, {"whole": "bytes", "bytes": "lot", "lot": "lot"}[how])


class Server(cutting.Server):
    """A context manager that runs the server."""

    def __init__(self, outputs):
        super().__init__(("127.0.0.1", 0), Handler)
        self.outputs = outputs

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def url(self, how):
        return f"http://127.0.0.1:{self.server_port}/{how}"
