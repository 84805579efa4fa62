"""Runs SGLang's detectors in its own parser: peer_sglang.py FOLDER, the unpacked wheel."""

import json
import logging
import sys
from types import SimpleNamespace

import jobs
import stand_ins

stand_ins.install(sys.argv[1], "sglang", ["sglang.srt.environ", "sglang.srt.function_call.*", "sglang.srt.plugins", "sglang.srt.plugins.*"])

from sglang.srt.function_call.function_call_parser import FunctionCallParser  # noqa: E402

logging.disable(logging.CRITICAL)


class Peer:
    def __init__(self, job):
        functions = [SimpleNamespace(description="", strict=False, **tool) for tool in job["tools"]]
        self.parser = FunctionCallParser([SimpleNamespace(type="function", function=one) for one in functions], job["parser"])

    def take(self, result, out):
        text, items = result
        out.text += text or ""
        for item in items:
            out.piece(item.tool_index, item.name, item.parameters)

    def feed(self, chunk, last, out):
        """Does what the server's loop does."""
        self.take(self.parser.parse_stream_chunk(chunk), out)
        if last:
            self.take(self.parser.parse_stream_end(), out)
            self.rest(out)

    def rest(self, out):
        """The server sends at the end what the detector has parsed of the last call and not sent."""
        detector = self.parser.detector
        known, sent = getattr(detector, "prev_tool_call_arr", None), getattr(detector, "streamed_args_for_tool", None)
        if not known or not sent or len(known) > len(sent):
            return
        index = len(known) - 1
        wanted = known[index].get("arguments", {})
        wanted = wanted if isinstance(wanted, str) else json.dumps(wanted, ensure_ascii=False)
        if wanted.startswith(sent[index]) and wanted != sent[index]:
            out.piece(index, None, wanted[len(sent[index]) :])

    def at_once(self, text, out):
        if not self.parser.has_tool_call(text):
            out.text = text
            return
        content, items = self.parser.parse_non_stream(text)
        out.text = content or ""
        for index, item in enumerate(items):
            out.piece(index, item.name, item.parameters)


jobs.serve(Peer)
