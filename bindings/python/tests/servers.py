"""Doubles of inference servers' classes, as far as the plug-ins use them, made from the stored signatures."""

import json
import sys
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STORED = json.loads((Path(__file__).parent / "plugins" / "signatures.json").read_text(encoding="utf-8"))


def classes(server):
    """`{full name: {member: shape}}`"""
    return STORED[server]["classes"]


def record(name, members):
    """A class whose instances take exactly the fields of the stored one, or others too if the stored one does."""
    fields = {key: kind for key, kind in members.items() if key != "(bases)"}
    extra = "allow" if "OpenAIBaseModel" in members["(bases)"] else "ignore"

    def init(self, **given):
        unknown = given.keys() - fields.keys()
        assert not unknown or extra == "allow", f"{name} has no {unknown}"
        for key in unknown:
            setattr(self, key, given[key])
        for key, kind in fields.items():
            if key not in given and "list[" in str(kind).lower():
                given[key] = []
            elif key not in given and key == "normal_text":
                given[key] = ""
            setattr(self, key, given.get(key))

    return type(name.rpartition(".")[2], (), {"__init__": init, "model_config": {"extra": extra}})


@dataclass
class Manager:
    """The registry of parsers."""

    found: dict[str, Any] = field(default_factory=dict)
    lazy: dict[str, tuple[str, str]] = field(default_factory=dict)

    def register_module(self, name=None, force=True, module=None):
        self.found[name] = module

    def register_lazy_module(self, name, module_path, class_name):
        self.lazy[name] = (module_path, class_name)


class Parser:
    """The base class of vLLM's parsers."""

    def __init__(self, tokenizer, tools=None, **_):
        self.model_tokenizer, self.tools, self.prev_tool_call_arr = tokenizer, tools or [], []

    @property
    def vocab(self):
        return self.model_tokenizer.get_vocab()

    def adjust_request(self, request):
        return request


class Detector:
    """The base class of SGLang's detectors."""

    def __init__(self):
        self.prev_tool_call_arr, self.streamed_args_for_tool = [], []


class FunctionCallParser:
    """The registry of detectors."""

    ToolCallParserEnum: dict[str, Any] = {}


BASES = {
    "ToolParser": Parser,
    "ReasoningParser": type("ReasoningParser", (Parser,), {}),
    "BaseFormatDetector": Detector,
    "FunctionCallParser": FunctionCallParser,
}


def install(server):
    """Installs doubles of a server's modules."""
    for full, members in classes(server).items():
        module, _, name = full.rpartition(".")
        parts = module.split(".")
        for depth in range(1, len(parts) + 1):
            sys.modules.setdefault(".".join(parts[:depth]), types.ModuleType(".".join(parts[:depth])))
        for depth in range(1, len(parts)):
            setattr(sys.modules[".".join(parts[:depth])], parts[depth], sys.modules[".".join(parts[: depth + 1])])
        double = Manager() if name.endswith("Manager") else BASES.get(name) or record(full, members)
        setattr(sys.modules[module], name, double)
    if server == "sglang":
        names = types.ModuleType("sglang.srt.function_call.parser_names")
        names.TOOL_CALL_PARSER_NAMES = ["hermes"]
        sys.modules[names.__name__] = sys.modules["sglang.srt.function_call"].parser_names = names
