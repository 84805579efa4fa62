#!/usr/bin/env python3
"""Reads exported grammars with XGrammar and llguidance.

For every dialect: each of the three forms must be accepted by its reader, must accept the calls that `toolglot encode` writes,
and must reject the same calls with another tool's name, or truncated. Dialects for which the export is refused are listed.
"""

import importlib.abc
import importlib.machinery
import importlib.metadata
import json
import re
import subprocess
import sys
import types


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in for packages that xgrammar imports for its tensors and tokenizers, which its grammars do not need."""

    ROOTS = ("torch", "transformers", "triton", "mlx", "tokenizers", "sentencepiece", "tiktoken")

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.ROOTS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__path__ = []

        def missing(name):
            if name.startswith("__"):
                raise AttributeError(name)
            inner = {
                "__init__": lambda self, *args, **more: None,
                "__class_getitem__": classmethod(lambda cls, item: cls),
            }
            return type(name, (), inner)

        module.__getattr__ = missing
        return module

    def exec_module(self, module):
        pass


CALLS = [
    [{"name": "get_weather", "arguments": {"city": "Leith"}}],
    [{"name": "get_weather", "arguments": {"city": "A < B & C, \"D\" 天气", "days": 12, "unit": "celsius"}}],
    [{"name": "notify", "arguments": {"tags": ["a", "b"], "urgent": True}}],
    [{"name": "ping", "arguments": {}}],
    [{"name": "ping", "arguments": {}}, {"name": "get_weather", "arguments": {"city": "x", "days": 0}}],
]


def verbatim(calls, text, in_json):
    """Whether every value is in the text as the grammar allows it: strings verbatim or as JSON, everything else as JSON."""

    def spelled(value):
        if isinstance(value, str) and not in_json:
            return value
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    return all(spelled(value) in text for call in calls for value in call["arguments"].values())


def main(command, tools):
    import tvm_ffi  # noqa: F401: it looks for torch by itself, and does without

    sys.meta_path.insert(0, Absent())
    import llguidance
    import xgrammar
    from xgrammar.testing import _is_grammar_accept_string as accepts

    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("xgrammar", "llguidance")]
    print(", ".join(versions))
    tokenizer = llguidance.LLTokenizer("byte")

    def run(*args, text=""):
        return subprocess.run([command, *args], input=text, capture_output=True, text=True, check=False)

    def lark(grammar, text):
        matcher = llguidance.LLMatcher(tokenizer, grammar)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        tokens = tokenizer.tokenize_str(text)
        return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()

    listed = run("dialects").stdout
    ids = re.findall(r"(?m)^\s*([a-z0-9][a-z0-9.-]+)\s", listed)
    wrong, refused, checked, texts = [], [], 0, 0
    for dialect in dict.fromkeys(ids):
        made = {part: run("prompt", "--dialect", dialect, "--tools", tools, "--part", part) for part in ("gbnf", "lark", "structural-tag")}
        if any(one.returncode for one in made.values()):
            if "with calls" not in made["gbnf"].stderr and "no dialect" not in made["gbnf"].stderr:
                refused.append(f"{dialect}: {made['gbnf'].stderr.strip()}")
            continue
        checked += 1
        try:
            ebnf = xgrammar.Grammar.from_ebnf(made["gbnf"].stdout)
            tag = xgrammar.Grammar.from_structural_tag(json.loads(made["structural-tag"].stdout))
            error = llguidance.LLMatcher.validate_grammar(made["lark"].stdout, tokenizer)
            if error:
                raise ValueError(error)
        except Exception as error:  # whatever a reader says is what the report says
            wrong.append(f"{dialect}: {type(error).__name__}: {str(error)[:300]}")
            continue
        in_json = '"json_schema"' in made["structural-tag"].stdout
        readers = {
            "gbnf": lambda text: accepts(ebnf, text),
            "structural-tag": lambda text: accepts(tag, text),
            "lark": lambda text: lark(made["lark"].stdout, text),
        }
        for calls in CALLS:
            ran = run("encode", "--dialect", dialect, "--tools", tools, text=json.dumps(calls, ensure_ascii=False))
            if ran.returncode:
                continue
            text = ran.stdout
            if not verbatim(calls, text, in_json):
                refused.append(f"{dialect}: values that it spells otherwise are not allowed")
                continue
            # A block holds only one call: the export has no second one.
            single = run("encode", "--dialect", dialect, "--tools", tools, text=json.dumps(calls[:1])).stdout
            for form, reads in readers.items():
                texts += 1
                try:
                    if not reads(text):
                        if len(calls) > 1 and reads(single):
                            refused.append(f"{dialect}: {form}: one call a block")
                        else:
                            wrong.append(f"{dialect}: {form} refuses {text!r}")
                    if form != "structural-tag":
                        for bad in (text[: len(text) // 2], text.replace(calls[0]["name"], "rm_rf")):
                            if bad != text and reads(bad):
                                wrong.append(f"{dialect}: {form} accepts {bad!r}")
                except Exception as error:
                    wrong.append(f"{dialect}: {form}: {type(error).__name__}: {str(error)[:300]}")
                    break
    for line in dict.fromkeys(refused):
        print("refused  ", line)
    for line in dict.fromkeys(wrong):
        print("WRONG    ", line)
    print(f"{checked} dialects, {texts} texts, {len(set(wrong))} wrong")
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
