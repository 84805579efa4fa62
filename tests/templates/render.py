"""Renders chat templates as the servers do, and extracts the assistant's part of a conversation.

A template is probed once for the form of messages that it accepts (`Template.probe`): arguments as an object or as JSON text,
the content of a call without text, text in parts. A conversation that no form renders is not supported by that template.
"""

import datetime
import json

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment


class Refused(Exception):
    """The template cannot write this conversation."""


def _raise(message):
    raise jinja2.TemplateError(message)


def _tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


class _Generation(Extension):
    """`{% generation %}` marks the assistant's part for training; it renders as its contents."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(["name:endgeneration"], drop_needle=True), lineno=line)


def _environment(kind):
    env = kind(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation])
    env.filters["tojson"] = _tojson
    env.globals["raise_exception"] = _raise
    env.globals["strftime_now"] = datetime.datetime(2025, 1, 31, 12).strftime
    return env


# A few templates append to lists, which one of the two servers allows.
ENVIRONMENTS = [_environment(ImmutableSandboxedEnvironment), _environment(SandboxedEnvironment)]
QUESTION = "What is the weather like?"
USER = {"role": "user", "content": QUESTION}
NEEDLE = {"text": "", "reasoning": "needle of thought", "calls": [{"name": "get_weather", "arguments": {"city": "needle in it"}}]}
BROKEN = (jinja2.TemplateError, TypeError, ValueError, KeyError, AttributeError, IndexError, RecursionError)


class Template:
    """One chat template. `variables` are its own; `ids` gives the form of call ids, with {name} and {index}."""

    def __init__(self, source, variables, ids):
        self.variables = variables
        self.ids = ids
        self.source = source
        self.compiled = ENVIRONMENTS[0].from_string(source)

    def _call(self, index, call, form):
        value = call["arguments"]
        if form["text"]:
            value = json.dumps(value, ensure_ascii=False)
        made = self.ids.format(name=call["name"], index=index)
        return {"id": made, "type": "function", "function": {"name": call["name"], "arguments": value}}

    def _message(self, turn, form):
        message = {"role": "assistant", "content": turn["text"]}
        if turn["calls"]:
            message["tool_calls"] = [self._call(i, call, form) for i, call in enumerate(turn["calls"])]
            if not turn["text"]:
                message["content"] = form["empty"]
        if turn["text"] and form["parts"]:
            message["content"] = [{"type": "text", "text": turn["text"]}]
        if turn["reasoning"] and form["thought"]:
            parts = [{"type": "thinking", "thinking": turn["reasoning"]}]
            message["content"] = parts + ([{"type": "text", "text": turn["text"]}] if turn["text"] else [])
        elif turn["reasoning"]:
            for key in ("reasoning_content", "reasoning", "thinking"):
                if key in self.source:
                    message[key] = turn["reasoning"]
        return message

    def _render(self, messages, tools, generate=False):
        settings = {"bos_token": "<s>", "eos_token": "</s>", "documents": None, **self.variables}
        return self.compiled.render(messages=messages, tools=tools, add_generation_prompt=generate, **settings)

    def render(self, messages, tools, generate=False):
        try:
            return self._render(messages, tools, generate)
        except BROKEN as why:
            raise Refused(str(why)) from why

    def probe(self, tools):
        """Finds the form in which a call's arguments are rendered as JSON or between markers; false if there is none."""
        for environment in ENVIRONMENTS:
            self.compiled = environment.from_string(self.source)
            found = [ranked for ranked in map(lambda form: self._rank(form, tools), FORMS) if ranked]
            if found:
                self.form = min(found, key=lambda ranked: ranked[:-1])[-1]
                return True
        return False

    def _rank(self, form, tools):
        try:
            out = self.render([USER, self._message(NEEDLE, form)], tools)
            bare = self.render([USER], tools)
        except Refused:
            return None
        out = out.removeprefix(bare)
        if "needle in it" not in out or "get_weather" not in out[out.rfind(QUESTION) + 1 :]:
            return None
        # Arguments as text, escaped twice; arguments or parts as Python; reasoning that is not written.
        python = "{'city'" in out or "'needle of thought'" in out or '"needle of thought"' in out
        return ('\\"city' in out) + 2 * python, "needle of thought" not in out, form

    def write(self, turn, tools):
        """The end of the prompt, and what the assistant wrote after it, without the end of its turn."""
        whole = self.render([USER, self._message(turn, self.form)], tools)
        prompt = self.render([USER], tools, generate=True)
        at = prompt.rfind(QUESTION) + len(QUESTION)
        begin = whole.rfind(QUESTION) + len(QUESTION)
        tail, reply = _after_header(prompt[at:], whole[begin:])
        if turn["reasoning"] and reply.lstrip().startswith(turn["reasoning"].strip()):
            # Later prompts omit the beginning of the reasoning, which this one wrote.
            tail = prompt[at:]
        opener = prompt[at:].rstrip().rpartition("<")[2]
        if reply.lstrip().startswith("</" + opener) and opener.endswith(">"):
            # The same holds for empty reasoning.
            tail = prompt[at:]
        return prompt[:at] + tail, self._without_end(reply, tools)

    def _without_end(self, reply, tools):
        """Without what the template writes after any text: the tokens that end a turn, at which a server stops."""
        said = {"text": "needle in it", "reasoning": "", "calls": []}
        try:
            end = self.render([USER, self._message(said, self.form)], tools).rpartition("needle in it")[2]
        except Refused:
            return reply
        for n in range(len(end), 0, -1):
            whole = n == len(end) or (end[-n] in "<[\n" and reply[-n - 1 : -n] in (">", "]", "}", "\n"))
            if reply.endswith(end[-n:]) and whole:
                return reply[:-n]
        return reply


def _after_header(header, after):
    """The length to which the generation prompt and the template's output agree, ignoring white space, in whole tokens."""
    i = j = 0
    while i < len(header) and j < len(after):
        if header[i] == after[j]:
            i, j = i + 1, j + 1
        elif header[i].isspace():
            i += 1
        elif after[j].isspace():
            j += 1
        else:
            break
    if i < len(header):
        # Not within a token.
        while j and after[j - 1] not in ">]\n" and i and header[i - 1] not in ">]\n":
            i, j = i - 1, j - 1
    return header[:i], after[j:]


FORMS = [
    {"text": text, "thought": thought, "empty": empty, "parts": parts}
    for text in (False, True)
    for thought in (False, True)
    for empty in ("", None)
    for parts in (False, True)
]
