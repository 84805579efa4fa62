"""Runs vLLM's tool parsers in its own drivers: peer_vllm.py FOLDER, the unpacked sources."""

import logging
import sys
import uuid
from types import SimpleNamespace

import jobs
import pydantic
import stand_ins

REAL = [
    "vllm.entrypoints.generate.base.protocol",
    "vllm.entrypoints.serve.engine.protocol",
    "vllm.exceptions",
    "vllm.parser*",
    "vllm.reasoning*",
    "vllm.tool_parsers*",
    "vllm.utils.collection_utils",
    "vllm.utils.import_utils",
    "vllm.utils.mistral",
]
stand_ins.ABSENT |= {"openai_harmony", "prometheus_client"}
stand_ins.install(sys.argv[1], "vllm", REAL)

import vllm.entrypoints.openai.chat_completion.protocol as protocol  # noqa: E402
import vllm.envs as envs  # noqa: E402
import vllm.renderers.chat_utils as chat  # noqa: E402


class Function(pydantic.BaseModel):
    name: str
    description: str = ""
    parameters: dict = {}
    strict: bool = False


class Tool(pydantic.BaseModel):
    """A declared tool, as the server's request has it."""

    type: str = "function"
    function: Function


class Request(SimpleNamespace):
    """A request, as far as parsers ask."""

    def extract_structured_outputs(self):
        return None


protocol.ChatCompletionToolsParam, protocol.ChatCompletionRequest = Tool, Request
chat.make_tool_call_id = lambda **_: f"chatcmpl-tool-{uuid.uuid4().hex}"
chat.get_tool_call_id_type = lambda config: "random"
# The server's default: seconds that the regular expression of pythonic calls may take.
envs.VLLM_TOOL_PARSE_REGEX_TIMEOUT_SECONDS = 1

import vllm.utils.mistral as mistral  # noqa: E402

mistral.is_mistral_tokenizer = lambda tokenizer: False

import vllm.parser.response_template as template  # noqa: E402
from vllm.parser.parser_manager import ParserManager  # noqa: E402

template.response_template_parser_cls = lambda parser: None
logging.disable(logging.CRITICAL)


class Tokenizer:
    """One token for each token of the table, and one for each other character."""

    eos_token_id = bos_token_id = None

    def __init__(self, tokens):
        self.ids = {token: 0x110000 + number for number, token in enumerate(tokens)}
        self.words = {number: token for token, number in self.ids.items()}
        self.all_special_tokens = [token for token in tokens if any(mark in token for mark in "|｜[") or token == "</s>"]
        self.all_special_ids = [self.ids[token] for token in self.all_special_tokens]
        self.vocab = {chr(code): code for code in range(256)} | self.ids

    def get_vocab(self):
        return self.vocab

    def encode(self, text, add_special_tokens=False):
        out, at = [], 0
        while at < len(text):
            token = next((token for token in self.ids if text.startswith(token, at)), None) if text[at] in "<[" else None
            out.append(self.ids[token] if token else ord(text[at]))
            at += len(token or " ")
        return out

    def decode(self, ids, skip_special_tokens=False):
        return "".join(self.words.get(one) or chr(one) for one in ([ids] if isinstance(ids, int) else ids))


class Peer:
    def __init__(self, job):
        self.tools = [Tool(function=Function(**tool)) for tool in job["tools"]]
        self.tokenizer = Tokenizer(job["tokens"])
        made = ParserManager.get_parser(tool_parser_name=job["parser"], reasoning_parser_name=None, enable_auto_tools=True)
        self.parser = made(self.tokenizer, self.tools)
        self.request = self.parser.adjust_request(Request(
            tools=self.tools, tool_choice="auto", include_reasoning=True, skip_special_tokens=True, structured_outputs=None,
            parallel_tool_calls=True, response_format=None, chat_template_kwargs=None, _grammar_from_parser=False,
        ))

    def feed(self, chunk, last, out):
        """Does what the server's loop does."""
        delta = self.parser.parse_delta(chunk, self.tokenizer.encode(chunk), self.request, prompt_token_ids=[], finished=last)
        if delta is None:
            return
        out.text += delta.content or ""
        for piece in delta.tool_calls:
            out.piece(piece.index, piece.function.name, piece.function.arguments)

    def at_once(self, text, out):
        _, content, calls = self.parser.parse(text, self.request, enable_auto_tools=True)
        out.text = content or ""
        for index, call in enumerate(calls or ()):
            out.piece(index, call.name, call.arguments)


jobs.serve(Peer)
