"""
The native part of `toolglot`; use that package, not this module.
"""

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Final, Literal, SupportsIndex, TypeAlias, final

_Event: TypeAlias = Text | Reasoning | Protected | Raw | BlockOpen | CallNamed | CallOpen | ArgDelta | ParamOpen | ParamDelta | ParamClose | CallAbandoned | CallClose | BlockClose | BlockAbandoned | Issue

__all__ = ["__version__", "AgentCore", "ArgDelta", "BlockAbandoned", "BlockClose", "BlockOpen", "Call", "CallAbandoned", "CallClose", "CallNamed", "CallOpen", "Derived", "Dialect", "Engine", "Evidence", "Issue", "Limits", "Mask", "ModelDialects", "ParamClose", "ParamDelta", "ParamOpen", "Protected", "Raw", "Reader", "Reasoning", "ResponseCore", "Rewriter", "RunCore", "Stream", "Text", "ToolSet", "Turn", "Turns", "command", "derive", "detect", "dialect_toml", "dialects", "encode", "escape", "feed_many", "issue_kinds", "live_streams", "model_dialects", "parse_arrow", "results", "transcode", "unescape"]

__version__: Final[str]
"""
The version of the engine.
"""

@final
class AgentCore:
    """
    What the runs of an agent share. `toolglot.Agent` is built on it.
    """
    def __new__(cls, /, engine: Engine, form: str) -> AgentCore:
        """
        Reads an agent from JSON text. Dialects and limits are those of the engine.
        """
    def restore(self, /, saved: str) -> RunCore:
        """
        Restores a saved run.
        """
    def run(self, /, messages: str) -> RunCore:
        """
        Starts a run that continues a conversation: the JSON text of a list of messages.
        """
    def steps(self, /, steps: str) -> RunCore:
        """
        Starts a run of a workflow: the JSON text of a list of steps.
        """

@final
class ArgDelta:
    """
    The next piece of a call's arguments: final JSON text.
    """
    __match_args__ = ("call", "json", "start", "end")
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, call: SupportsIndex, json: str, start: SupportsIndex = ..., end: SupportsIndex = ...) -> ArgDelta: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def call(self, /) -> int:
        """
        Index of the call.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after them.
        """
    @property
    def json(self, /) -> str:
        """
        The piece.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of the source bytes.
        """

@final
class BlockAbandoned:
    """
    The block turned out not to be one. All calls since its `BlockOpen` are retracted.
    """
    __match_args__ = ("becomes", "start", "end", "raw")
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, becomes: str, start: SupportsIndex = ..., end: SupportsIndex = ..., raw: bytes = ...) -> BlockAbandoned: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def becomes(self, /) -> str:
        """
        What happens to its bytes: `"text"` (they follow as one `Text`), `"reasoning"` (they follow as one `Reasoning` of the
        thought that goes on) or `"drop"`.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after the part of it that was read.
        """
    @property
    def raw(self, /) -> bytes:
        """
        Its bytes if they were retained, otherwise empty.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of the whole block.
        """

@final
class BlockClose:
    """
    The block ends. Its calls are committed.
    """
    __match_args__ = ("start", "end", "raw")
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, start: SupportsIndex = ..., end: SupportsIndex = ..., raw: bytes = ...) -> BlockClose: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> int:
        """
        Offset after it.
        """
    @property
    def raw(self, /) -> bytes:
        """
        Its bytes if they were retained, otherwise empty.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of the whole block.
        """

@final
class BlockOpen:
    """
    A block begins.
    """
    __match_args__ = ("dialect", "start", "end")
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, dialect: str, start: SupportsIndex = ..., end: SupportsIndex = ...) -> BlockOpen: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def dialect(self, /) -> str:
        """
        The id of its dialect.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after the opening marker and its header.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of its opening marker.
        """

@final
class Call:
    """
    One tool invocation.
    """
    __match_args__ = ("name", "arguments", "index", "recovered")
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, name: str, arguments_json: str = "{}", index: SupportsIndex = 0, recovered: list[str] | None = None, dialect: str = "", meta: dict[str, str] | None = None, native: bool = False, start: SupportsIndex = 0, end: SupportsIndex = 0, repaired: list[str] | None = None) -> Call: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def arguments(self, /) -> dict[str, Any]:
        """
        The arguments as a `dict`, the same object at each access. Raises `LimitError` like `CallClose.arguments`.
        """
    @property
    def arguments_json(self, /) -> str:
        """
        The arguments as JSON text; numbers keep the model's spelling.
        """
    @property
    def complete(self, /) -> bool:
        """
        Whether the call is well formed and closed.
        """
    @property
    def dialect(self, /) -> str:
        """
        Id of its dialect; empty for an API tool call.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after its last byte.
        """
    @property
    def grade(self, /) -> str:
        """
        `"complete"`; `"repaired"`: the text broke a rule, but leaves no doubt about the call; `"recovered"`: something may be
        truncated, mixed or guessed, so do not execute the call without asking.
        """
    @property
    def index(self, /) -> int:
        """
        Its index in the turn, from 0.
        """
    @property
    def kinds(self, /) -> list[str]:
        """
        The issue kinds that explain why the call is not complete.
        """
    @property
    def meta(self, /) -> dict[str, str]:
        """
        What the format says of the call besides name and arguments (an `id`, for example).
        """
    @property
    def name(self, /) -> str:
        """
        Name of the tool.
        """
    @property
    def native(self, /) -> bool:
        """
        Whether the host delivered it beside the text.
        """
    @property
    def recovered(self, /) -> list[str] | None:
        """
        The issue kinds of a recovered call, otherwise `None`.
        """
    @property
    def repaired(self, /) -> list[str] | None:
        """
        The issue kinds of a repaired call, otherwise `None`.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of its first byte.
        """
    def to_dict(self, /) -> dict[str, Any]:
        """
        Returns the call as plain objects, which `json.dumps` accepts: `name`, `arguments`, `index`, `grade`, `dialect`, `meta`,
        `native`, `start`, `end`, and for a call that is not complete its issue kinds, as `recovered` or `repaired`.

        ```
        >>> import json, toolglot
        >>> call = toolglot.parse('<tool_call name="f"><param name="a">1</param></tool_call>').calls[0]
        >>> sorted(json.loads(json.dumps(call.to_dict())))
        ['arguments', 'dialect', 'end', 'grade', 'index', 'meta', 'name', 'native', 'start']

        ```
        """
    def to_openai(self, /, id: str | None = None) -> dict[str, Any]:
        """
        Returns the call as an OpenAI message has it: `{"id", "type", "function": {"name", "arguments"}}`. The `id` is the
        format's own, else the one given here, else a generated one.
        """

@final
class CallAbandoned:
    """
    The open call is retracted: it broke its grammar, exceeded a limit or was truncated. It never closes; discard its deltas.
    """
    __match_args__ = ("call", "start", "end")
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, call: SupportsIndex, start: SupportsIndex = ..., end: SupportsIndex = ...) -> CallAbandoned: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def call(self, /) -> int:
        """
        Index of the call.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after the part of it that was read.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of the call.
        """

@final
class CallClose:
    """
    A call ends. It is final unless its block is abandoned.
    """
    __match_args__ = ("call", "name", "arguments", "recovered", "start", "end")
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, call: SupportsIndex, name: str, arguments_json: str | None = None, recovered: list[str] | None = None, start: SupportsIndex = 0, end: SupportsIndex = 0, repaired: list[str] | None = None) -> CallClose: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def arguments(self, /) -> dict[str, Any] | None:
        """
        The arguments as a `dict`, the same object at each access. `None` if they were not kept (`retain="none"`).

        Raises `LimitError` if they cannot become Python objects: they are nested deeper than the interpreter can follow, or
        hold an integer longer than `sys.get_int_max_str_digits()` allows. `arguments_json` has them even then.
        """
    @property
    def arguments_json(self, /) -> str | None:
        """
        The arguments as JSON text; numbers keep the model's spelling. `None` if the arguments were not kept.
        """
    @property
    def call(self, /) -> int:
        """
        Index of the call.
        """
    @property
    def complete(self, /) -> bool:
        """
        Whether the call is well formed and closed.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after it.
        """
    @property
    def grade(self, /) -> str:
        """
        `"complete"`; `"repaired"`: the text broke a rule, but leaves no doubt about the call; `"recovered"`: something may be
        truncated, mixed or guessed, so do not execute the call without asking.
        """
    @property
    def kinds(self, /) -> list[str]:
        """
        The issue kinds that explain why the call is not complete.
        """
    @property
    def name(self, /) -> str:
        """
        Name of the tool.
        """
    @property
    def recovered(self, /) -> list[str] | None:
        """
        The issue kinds of a recovered call, otherwise `None`.
        """
    @property
    def repaired(self, /) -> list[str] | None:
        """
        The issue kinds of a repaired call, otherwise `None`.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of the call.
        """
    def to_dict(self, /) -> dict[str, Any]:
        """
        Returns the call as plain objects, which `json.dumps` accepts. `arguments` is `None` if they were not kept.
        """

@final
class CallNamed:
    """
    The name of a call is known. This event comes before the `CallOpen`, as early as possible; only `CallOpen` opens a call.
    """
    __match_args__ = ("block", "ordinal", "name", "provisional", "start", "end")
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, block: SupportsIndex, ordinal: SupportsIndex, name: str, provisional: bool = ..., start: SupportsIndex = ..., end: SupportsIndex = ...) -> CallNamed: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def block(self, /) -> int:
        """
        Index of the block in this stream, from 0.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after them.
        """
    @property
    def name(self, /) -> str:
        """
        Name of the tool.
        """
    @property
    def ordinal(self, /) -> int:
        """
        Index of the name in its block, from 0.
        """
    @property
    def provisional(self, /) -> bool:
        """
        Whether the name can still be retracted: a `CallOpen` of the block replaces it, or the block ends without the call.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of the bytes that name it.
        """

@final
class CallOpen:
    """
    A call begins; its name is final.
    """
    __match_args__ = ("call", "name", "dialect", "meta", "native", "start", "end")
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, call: SupportsIndex, name: str, dialect: str = ..., meta: dict[str, str] = ..., native: bool = ..., start: SupportsIndex = ..., end: SupportsIndex = ...) -> CallOpen: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def call(self, /) -> int:
        """
        Index of the call in this stream, from 0.
        """
    @property
    def dialect(self, /) -> str:
        """
        The id of its dialect; empty for an API tool call.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after them.
        """
    @property
    def meta(self, /) -> dict[str, str]:
        """
        What the format says of the call besides name and arguments (an `id`, for example).
        """
    @property
    def name(self, /) -> str:
        """
        Name of the tool.
        """
    @property
    def native(self, /) -> bool:
        """
        Whether the host delivered it beside the text.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of the bytes that name it.
        """

@final
class Derived:
    """
    What was derived from a chat template: the dialects that read what the model writes, and the template itself, which writes
    its prompts. `derive` makes it.
    """
    def __repr__(self, /) -> str: ...
    @property
    def dialects(self, /) -> list[str]:
        """
        Ids of the dialects, that of the calls first: built-in ones, or the one that was made.
        """
    def engine(self, /, **options: Any) -> Engine:
        """
        Compiles an engine of the dialects. `options` are those of `Engine` except `dialects` and `toml`.
        """
    def render(self, /, messages: Iterable[Any], tools: str | Iterable[Any] | None = None, *, generate: bool = True) -> str:
        """
        Renders a conversation as the template writes it: the prompt of a model. With `generate` it ends where the model's turn
        begins; give it to `stream` as `prompt_tail`. Messages reach the template as they are. Most templates want the arguments
        of calls as objects, not as JSON text. `strftime_now` tells the current time, UTC.

        Raises `DialectError` if the template refuses the conversation.
        """
    @property
    def report(self, /) -> str:
        """
        What was found, what the template itself loses, and what it leaves open.
        """
    @property
    def start(self, /) -> str:
        """
        The text with which the template begins the model's turn.
        """
    @property
    def stop(self, /) -> list[str]:
        """
        Tokens that end the model's turn.
        """
    @property
    def toml(self, /) -> str | None:
        """
        The file of the dialect that was made; `None` if built-in ones read the same.
        """

@final
class Dialect:
    """
    The description of a dialect.
    """
    def __repr__(self, /) -> str: ...
    @property
    def aliases(self, /) -> list[str]:
        """
        Other names that it accepts.
        """
    @property
    def closers(self, /) -> list[str]:
        """
        The markers that close its blocks.
        """
    @property
    def family(self, /) -> str:
        """
        The family of its body.
        """
    @property
    def group(self, /) -> str | None:
        """
        The group of dialects with the same markup; an engine can hold only one of them.
        """
    @property
    def id(self, /) -> str:
        """
        Its id.
        """
    @property
    def in_default_set(self, /) -> bool:
        """
        Whether it belongs to the default set.
        """
    @property
    def models(self, /) -> list[str]:
        """
        Which models or programs write it.
        """
    @property
    def openers(self, /) -> list[str]:
        """
        The markers that open its blocks; a tag is shown up to its name.
        """
    @property
    def reasoning_closers(self, /) -> list[str]:
        """
        The markers that close its reasoning.
        """
    @property
    def reasoning_openers(self, /) -> list[str]:
        """
        The markers that open its reasoning.
        """
    @property
    def sources(self, /) -> list[str]:
        """
        The sources of its rules.
        """
    @property
    def switches(self, /) -> list[tuple[str, bool]]:
        """
        Its switches, and whether each takes a value.
        """
    @property
    def title(self, /) -> str:
        """
        Its title.
        """

@final
class Engine:
    """
    Dialects compiled together, and the options of streams that read them. An engine is immutable: it can be shared between
    threads, hashed, compared and pickled.

    `dialects` names built-in dialects: one id, several, `"default"` for all dialects that cannot fire on ordinary prose or
    code, or `"any"` for whatever an output may contain (calls of declared tools only). `toml` adds your own dialects, as the
    text of their files (a mapping gives them names for error messages). Without either, the engine has the default set.

    ```
    >>> import toolglot
    >>> engine = toolglot.Engine("tool-call-xml")
    >>> turn = engine.parse('Now: <tool_call name="f"><param name="a">1</param></tool_call>')
    >>> turn.text, turn.calls[0].name, turn.calls[0].arguments
    ('Now: ', 'f', {'a': '1'})

    ```
    """
    def __copy__(self, /) -> Engine: ...
    def __deepcopy__(self, _memo: Any, /) -> Engine: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __new__(cls, /, dialects: str | Iterable[str] | None = None, *, toml: str | Iterable[str] | Mapping[str, str] | None = None, switches: Iterable[str] | None = None, tools: str | Iterable[Any] | None = None, limits: Limits | Mapping[str, int] | None = None, retain: Literal['block', 'none'] = "block", prefer: Literal['text', 'native', 'both'] = "text", reasoning: Literal['split', 'off', 'text'] = "split", calls_in_reasoning: bool = False, trusted_only: bool = False, fence: Literal['skip', 'allow'] | None = None, unclosed: Literal['drop', 'text', 'salvage'] | None = None, untyped: Literal['string', 'json'] | None = None, broken: Literal['text', 'drop'] = "text", start: Literal['dialect', 'text', 'reasoning'] = "dialect", unknown_tool: Literal['deliver', 'text', 'drop'] | None = None, tool_choice: str | Mapping[str, Any] | None = None) -> Engine:
        """
        Compiles an engine. Equal sets of dialects are compiled once and shared.

        Raises `DialectError` for an unusable dialect or switch, `ToolsError` for unusable tools, `ValueError` for an unusable option.
        """
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _from_config(config: str) -> Engine: ...
    @property
    def bound(self, /) -> int:
        """
        The maximum number of bytes of text that a stream ever holds back.
        """
    def completion(self, /, output: str | bytes | bytearray | memoryview | Turn, source: Literal['text', 'openai', 'anthropic', 'ollama'] = "text", *, finish: Literal['stop', 'length', 'tool_calls', 'error', 'cancelled'] | None = None, model: str | None = None, id: str | None = None, created: int | None = None, recovered: bool = False, reasoning: str | None = "reasoning_content", forced: bool = False, id_prefix: str = "call_", id_seed: int | None = None, start: Literal['dialect', 'text', 'reasoning'] | None = None, prompt_tail: str | None = None, tools: str | Iterable[Any] | None = None, tool_choice: str | Mapping[str, Any] | None = None) -> str:
        """
        Returns one OpenAI `chat.completion` object, as JSON text, for an output (text, or a `Turn`) or for a whole response of
        a server (`source`). `to_completion` returns it as a `dict`. The options are those of `rewriter`.

        ```
        >>> import json, toolglot
        >>> text = toolglot.Engine().completion('<tool_call name="f"><param name="a">1</param></tool_call>', id_seed=7)
        >>> json.loads(text)["choices"][0]["message"]["tool_calls"][0]["function"]
        {'name': 'f', 'arguments': '{"a":"1"}'}

        ```
        """
    @property
    def config(self, /) -> str:
        """
        The complete configuration, as one text: equal engines have equal texts, in every process.
        """
    @property
    def dialects(self, /) -> list[str]:
        """
        The ids of its dialects, in order.
        """
    @classmethod
    def for_template(cls, /, template: str | bytes | PathLike[str], *, variables: Mapping[str, Any] | None = None, own: bool = False, **options: Any) -> Engine:
        """
        Compiles the dialects that read what a chat template writes. `template`, `variables` and `own` are as for `derive`,
        `options` those of `Engine` except `dialects` and `toml`.

        Raises `DialectError` if the template is invalid, writes no calls, or no dialect reads what it writes.
        """
    @property
    def limits(self, /) -> Limits:
        """
        Its limits.
        """
    @property
    def lints(self, /) -> list[str]:
        """
        Warnings about dialects that work but may surprise, one sentence each.
        """
    def parse(self, /, text: str | bytes | bytearray | memoryview, *, finish: Literal['stop', 'length', 'tool_calls', 'error', 'cancelled'] = "stop", native_calls: str | Iterable[Any] | None = None, start: Literal['dialect', 'text', 'reasoning'] | None = None, prompt_tail: str | None = None, tools: str | Iterable[Any] | None = None, tool_choice: str | Mapping[str, Any] | None = None, guard: bool = False, original: bool = False) -> Turn:
        """
        Parses a whole output and returns the turn.

        `native_calls` are the API tool calls of the output: an OpenAI `tool_calls` array, or its JSON text. `guard` escapes the
        turn's text so that another reader of this engine's dialects finds no call in it; use it if you forward the text without the
        calls. By default the text is verbatim. `original` keeps everything the model wrote, markup included, as `Turn.original`.
        """
    def reader(self, /, source: Literal['openai', 'anthropic', 'ollama'], *, choice: SupportsIndex = 0, start: Literal['dialect', 'text', 'reasoning'] | None = None, prompt_tail: str | None = None, tools: str | Iterable[Any] | None = None, tool_choice: str | Mapping[str, Any] | None = None) -> Reader:
        """
        Creates a reader for response bodies of model servers. `source` is `"openai"`, `"anthropic"` or `"ollama"`; `choice` is
        the index of the choice to read from an OpenAI response.
        """
    def replace(self, /, **options: Any) -> Engine:
        """
        Returns the same engine with other options; dialects, `toml` and `switches` stay.

        ```
        >>> import toolglot
        >>> engine = toolglot.Engine("reasoning-think").replace(start="reasoning")
        >>> engine.parse("hm</think>yes").reasoning
        'hm'

        ```
        """
    def restore(self, /, snapshot: bytes, *, start: Literal['dialect', 'text', 'reasoning'] | None = None, prompt_tail: str | None = None, tools: str | Iterable[Any] | None = None, tool_choice: str | Mapping[str, Any] | None = None) -> Stream:
        """
        Restores a stream from a snapshot. `start`, `prompt_tail` and `tools` must be those of the original stream.

        Raises `SnapshotError` if the snapshot is damaged, or comes from another engine, other options or another version.
        """
    def rewriter(self, /, source: Literal['text', 'openai', 'anthropic', 'ollama'] = "text", *, model: str | None = None, id: str | None = None, created: int | None = None, choice: int | None = None, calls: Literal['live', 'close'] = "live", recovered: bool = False, reasoning: str | None = "reasoning_content", protected: bool = False, forced: bool = False, id_prefix: str = "call_", id_seed: int | None = None, start: Literal['dialect', 'text', 'reasoning'] | None = None, prompt_tail: str | None = None, tools: str | Iterable[Any] | None = None, tool_choice: str | Mapping[str, Any] | None = None) -> Rewriter:
        """
        Creates a rewriter, which turns text (`source="text"`) or responses of model servers into OpenAI chat completion chunks.

        `calls` says when calls are sent: `"live"` while the model writes them (the last `}` waits until the call is committed),
        or `"close"` when their block has closed. `recovered` calls are withheld unless this is `True`. `reasoning` names the
        member that holds reasoning; `None` or an empty name leaves reasoning out. `forced` says that the host forced a tool by
        name, so the finish reason stays `stop`.

        `model`, `id` and `created` override what an OpenAI-shaped response says; if neither gives an id or a time, one is
        generated. Of such a response all choices are rewritten, or only the one that `choice` names. Calls without an id get
        one derived from `id_seed`: the same seed gives the same ids. Without a seed, ids differ from response to response.
        """
    def stream(self, /, *, start: Literal['dialect', 'text', 'reasoning'] | None = None, prompt_tail: str | None = None, tools: str | Iterable[Any] | None = None, tool_choice: str | Mapping[str, Any] | None = None) -> Stream:
        """
        Opens a stream, which parses the output of one model turn. `start` and `tools` replace the engine's own. `prompt_tail` is
        the prompt, or the end of it: if its last 4 KiB open something (a thought, a header, a call), the output continues it.

        ```
        >>> import toolglot
        >>> with toolglot.Engine("tool-call-xml").stream() as stream:
        ...     events = stream.feed('Hi <tool')
        >>> events, stream.tail
        ([Text(text='Hi ', start=0, end=3, recovered=False)], [Text(text='<tool', start=3, end=8, recovered=False)])

        ```
        """
    @property
    def tool_issues(self, /) -> list[str]:
        """
        Problems in the list of its tools, one sentence each: what was left out or ignored, and where.
        """
    @property
    def tools(self, /) -> list[str]:
        """
        The names of its tools, in order.
        """

@final
class Evidence:
    """
    The evidence for one dialect in a text.
    """
    def __repr__(self, /) -> str: ...
    @property
    def broken(self, /) -> int:
        """
        The number of blocks that broke or were truncated.
        """
    @property
    def chosen(self, /) -> bool:
        """
        Whether the default set reads calls of the input as this dialect.
        """
    @property
    def complete(self, /) -> int:
        """
        The number of calls that are well formed and closed.
        """
    @property
    def confidence(self, /) -> str:
        """
        `"strong"`, `"fair"`, `"weak"` or `"faint"`.
        """
    @property
    def dialect(self, /) -> str:
        """
        Its id.
        """
    @property
    def group(self, /) -> str | None:
        """
        The group of dialects with the same markup; an engine can hold only one of them.
        """
    @property
    def in_default_set(self, /) -> bool:
        """
        Whether it belongs to the default set.
        """
    @property
    def inside(self, /) -> str | None:
        """
        The dialect whose blocks include all blocks of this one.
        """
    @property
    def reason(self, /) -> str:
        """
        The evidence, in one sentence.
        """
    @property
    def recovered(self, /) -> int:
        """
        The number of calls that were recovered.
        """
    @property
    def spans(self, /) -> list[tuple[int, int]]:
        """
        Where the evidence is, as `(start, end)`.
        """
    @property
    def title(self, /) -> str:
        """
        Its title.
        """

@final
class Issue:
    """
    An error in the model's text. Parsing continues.
    """
    __match_args__ = ("kind", "severity", "message", "start", "end", "dialect", "call", "tool", "subject", "suggestion", "observation")
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, kind: str, severity: str = ..., message: str = ..., start: SupportsIndex = ..., end: SupportsIndex = ..., dialect: str = ..., call: SupportsIndex | None = ..., tool: str = ..., subject: str = ..., suggestion: str = ..., observation: str = ...) -> Issue: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def call(self, /) -> int | None:
        """
        Index of the call concerned.
        """
    @property
    def dialect(self, /) -> str:
        """
        Id of the dialect that reported it, or empty.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after them.
        """
    @property
    def kind(self, /) -> str:
        """
        The kind, for example `"unclosed_block"`.
        """
    @property
    def message(self, /) -> str:
        """
        One sentence for people.
        """
    @property
    def observation(self, /) -> str:
        """
        The observation: one sentence for the model.
        """
    @property
    def severity(self, /) -> str:
        """
        `"error"` or `"warning"`.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of the bytes concerned.
        """
    @property
    def subject(self, /) -> str:
        """
        The parameter, entity or tag concerned, or empty.
        """
    @property
    def suggestion(self, /) -> str:
        """
        The name that was probably meant, or empty.
        """
    def to_dict(self, /) -> dict[str, Any]:
        """
        Returns the fields of the issue as plain objects, which `json.dumps` accepts.
        """
    @property
    def tool(self, /) -> str:
        """
        The tool concerned, or empty.
        """

@final
class Limits:
    """
    Upper bounds on what one stream may hold or deliver. Each limit takes effect at the same offset however the input is
    chunked, is reported as an `Issue` of its own kind, and loses no bytes. A limit that is not given has its default.

    ```
    >>> Limits(max_calls=2).max_calls
    2
    >>> Limits().max_block
    16777216

    ```
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs_ex__(self, /) -> tuple[tuple[()], dict[str, int]]: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, max_value: SupportsIndex | None = None, max_block: SupportsIndex | None = None, max_calls: SupportsIndex | None = None, max_chain: SupportsIndex | None = None, max_depth: SupportsIndex | None = None, max_params: SupportsIndex | None = None, max_name: SupportsIndex | None = None, max_header: SupportsIndex | None = None, max_lookahead: SupportsIndex | None = None, max_issues: SupportsIndex | None = None, max_native: SupportsIndex | None = None) -> Limits: ...
    def __repr__(self, /) -> str: ...
    @property
    def max_block(self, /) -> int:
        """
        Bytes of one block; also the bytes retained of it.
        """
    @property
    def max_calls(self, /) -> int:
        """
        Calls in one stream.
        """
    @property
    def max_chain(self, /) -> int:
        """
        Calls that one numbered chain may hold.
        """
    @property
    def max_depth(self, /) -> int:
        """
        Nesting depth of elements in a block.
        """
    @property
    def max_header(self, /) -> int:
        """
        Bytes of an opening tag with its attributes.
        """
    @property
    def max_issues(self, /) -> int:
        """
        Issues that are reported individually.
        """
    @property
    def max_lookahead(self, /) -> int:
        """
        Bytes that a lookahead may hold back.
        """
    @property
    def max_name(self, /) -> int:
        """
        Bytes of a tool name, parameter name or tag name.
        """
    @property
    def max_native(self, /) -> int:
        """
        Bytes of API tool calls that may wait for the end of the text.
        """
    @property
    def max_params(self, /) -> int:
        """
        Parameters of one block, all levels together.
        """
    @property
    def max_value(self, /) -> int:
        """
        Bytes of one parameter value.
        """

@final
class Mask:
    """
    Removes or replaces calls in a live text, for renderers and logs.

    `calls`, `reasoning` and `protected` say what is written for each: `True` its text, `False` nothing, a `str` that text
    (for calls, `{tools}` in it is replaced with their names). Everything written is final: a block leaves nothing, or its
    placeholder, when it ends; one that turns out not to be a block comes back verbatim.

    ```
    >>> import toolglot
    >>> mask = toolglot.Mask(toolglot.Engine(), calls="[{tools}]")
    >>> mask.feed('Now: <tool_call name="f"><param name="a">1</param></tool_call> done.') + mask.finish()
    'Now: [f] done.'

    ```
    """
    def __new__(cls, /, engine: Engine, *, calls: bool | str | None = None, reasoning: bool | str | None = None, protected: bool | str | None = None) -> Mask: ...
    def __repr__(self, /) -> str: ...
    def feed(self, /, chunk: str | bytes | bytearray | memoryview) -> str:
        """
        Takes the next chunk and returns the text that is final.
        """
    def finish(self, /, reason: Literal['stop', 'length', 'tool_calls', 'error', 'cancelled'] = "stop") -> str:
        """
        Ends the text and returns what was held back.
        """

@final
class ModelDialects:
    """
    The built-in dialects of a model; see `model_dialects`.
    """
    @property
    def all(self, /) -> list[str]:
        """
        Those to read its replies with, which fit in one engine: those of its calls, then that of its reasoning unless they read it.
        """
    @property
    def calls(self, /) -> list[str]:
        """
        The dialects of its calls; empty if none is known.
        """
    @property
    def reasoning(self, /) -> str | None:
        """
        The dialect that reads its reasoning alone.
        """

@final
class ParamClose:
    """
    The open parameter ends.
    """
    __match_args__ = ("start", "end")
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, start: SupportsIndex = ..., end: SupportsIndex = ...) -> ParamClose: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> int:
        """
        Offset after its value.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of its value.
        """

@final
class ParamDelta:
    """
    Raw bytes of the open parameter's value, as they arrive; they may end inside a character.
    """
    __match_args__ = ("data", "start", "end")
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, data: bytes, start: SupportsIndex = ..., end: SupportsIndex = ...) -> ParamDelta: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def data(self, /) -> bytes:
        """
        The bytes, as written.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after the last byte.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of the first byte.
        """

@final
class ParamOpen:
    """
    A parameter begins. Provisional: only the arguments of the call are final.
    """
    __match_args__ = ("name", "depth", "start", "end")
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, name: str, depth: SupportsIndex = ..., start: SupportsIndex = ..., end: SupportsIndex = ...) -> ParamOpen: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def depth(self, /) -> int:
        """
        Nesting depth; 0 for a parameter of the call itself.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after them.
        """
    @property
    def name(self, /) -> str:
        """
        Its name, as written.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of the bytes that name it.
        """

@final
class Protected:
    """
    Part of a region that a dialect protects: it is not searched for calls.
    """
    __match_args__ = ("text", "kind", "start", "end")
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, text: str, kind: str, start: SupportsIndex = ..., end: SupportsIndex = ...) -> Protected: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> int:
        """
        Offset after its last byte.
        """
    @property
    def kind(self, /) -> str:
        """
        The kind of the region, as its dialect names it.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of its first byte.
        """
    @property
    def text(self, /) -> str:
        """
        The text, markers included.
        """

@final
class Raw:
    """
    Bytes of a block that exceeded a limit; they continue until the block's own closer.
    """
    __match_args__ = ("data", "start", "end")
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, data: bytes, start: SupportsIndex = ..., end: SupportsIndex = ...) -> Raw: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def data(self, /) -> bytes:
        """
        The bytes.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after the last byte.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of the first byte.
        """

@final
class Reader:
    """
    Reads the body of one response: takes bytes in any chunks and returns events. Made by `Engine.reader`.

    Offsets count the bytes of the response's text, not of its body.

    ```
    >>> import toolglot
    >>> reader = toolglot.Engine().reader("ollama")
    >>> reader.feed(b'{"message":{"content":"Hi"},"done":true,"done_reason":"stop"}\\n')
    [Text(text='Hi', start=0, end=2, recovered=False)]
    >>> reader.finish(), reader.reason, reader.errors
    ([], 'stop', [])

    ```
    """
    def __repr__(self, /) -> str: ...
    @property
    def errors(self, /) -> list[str]:
        """
        What could not be read so far, one sentence each.
        """
    def feed(self, /, chunk: str | bytes | bytearray | memoryview) -> list[_Event]:
        """
        Takes the next bytes of the response. What cannot be read is added to `errors`; reading goes on.
        """
    def finish(self, /, reason: Literal['stop', 'length', 'tool_calls', 'error', 'cancelled'] | None = None) -> list[_Event]:
        """
        Ends the response. `reason` overrides the reason that the response gives.
        """
    @property
    def held(self, /) -> int:
        """
        Bytes of the text that no event covers yet.
        """
    @property
    def reason(self, /) -> str | None:
        """
        Why the response ended; `None` until it is finished.
        """

@final
class Reasoning:
    """
    Reasoning of the model, in whole characters.
    """
    __match_args__ = ("text", "start", "end", "framing")
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, text: str, start: SupportsIndex = ..., end: SupportsIndex = ..., framing: bool = ...) -> Reasoning: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> int:
        """
        Offset after its last byte.
        """
    @property
    def framing(self, /) -> bool:
        """
        Whether the text is a marker (`<think>`), not the reasoning itself.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of its first byte.
        """
    @property
    def text(self, /) -> str:
        """
        The text.
        """

@final
class ResponseCore:
    """
    Turns a response of a model server into what a run takes.
    """
    def __new__(cls, /, source: str) -> ResponseCore:
        """
        `source` is `"openai"`, `"anthropic"` or `"ollama"`.
        """
    def feed(self, /, chunk: str | bytes | bytearray | memoryview) -> list[str]:
        """
        Takes bytes; returns what to pass to a run, as JSON.
        """
    def finish(self, /) -> list[str]:
        """
        Ends the response.
        """

@final
class Rewriter:
    """
    Writes OpenAI chat completion chunks, one line of JSON each. Made by `Engine.rewriter`.

    Calls that the model wrote into its text become `tool_calls` deltas, and `finish_reason` says so. If a call is retracted
    after part of it was sent, its arguments never become valid JSON, and the reason is then never `tool_calls`.

    A response of OpenAI's own shape keeps everything else: `id`, `created`, `model`, `usage`, `logprobs`,
    `system_fingerprint`, every other member, and its errors. Each choice is parsed on its own.

    ```
    >>> import json, toolglot
    >>> rewriter = toolglot.Engine().rewriter(model="m")
    >>> lines = rewriter.feed('<tool_call name="f"><param name="a">1</param></tool_call>') + rewriter.finish()
    >>> json.loads(lines[-1])["choices"][0]["finish_reason"]
    'tool_calls'

    ```
    """
    def __repr__(self, /) -> str: ...
    @property
    def errors(self, /) -> list[str]:
        """
        What could not be read so far, one sentence each.
        """
    def feed(self, /, chunk: str | bytes | bytearray | memoryview) -> list[str]:
        """
        Takes the next chunk and returns the chunks that result from it, as JSON.
        """
    def finish(self, /, reason: Literal['stop', 'length', 'tool_calls', 'error', 'cancelled'] | None = None) -> list[str]:
        """
        Ends the response and returns the last chunks. The finish reason is that of the response that is read (`"stop"` for
        text) unless `reason` is given.
        """
    @property
    def reason(self, /) -> str | None:
        """
        Why the response ended; `None` until it is finished.
        """
    @property
    def void(self, /) -> list[int]:
        """
        Indices of the calls that were sent in part and then retracted. With several choices: those of the first choice that has any.
        """

@final
class RunCore:
    """
    A run. `toolglot.Run` is built on it.
    """
    def deadline(self, /) -> int | None:
        """
        The next time at which the run must be given the time.
        """
    def messages(self, /) -> str:
        """
        The conversation, as JSON.
        """
    def model(self, /, chunk: str | bytes | bytearray | memoryview) -> None:
        """
        Feeds a piece of the model's text.
        """
    def now(self, /) -> int:
        """
        The latest time that the run was given.
        """
    def outcome(self, /) -> str | None:
        """
        How the run ended, as JSON.
        """
    def receipts(self, /) -> str:
        """
        Receipts of the calls that were started, as JSON.
        """
    def save(self, /) -> str:
        """
        Returns the state of the run, as JSON.
        """
    def take(self, /) -> str | None:
        """
        Returns the next instruction, as JSON.
        """
    def tell(self, /, what: str) -> None:
        """
        Passes in anything else that happened, as JSON.
        """
    def waits(self, /) -> str:
        """
        What the run waits for: `"model"`, `"calls"` or `"nothing"`.
        """

@final
class Stream:
    """
    One stream: the output of one model turn. Made by `Engine.stream`.

    Feed chunks split anywhere, even inside a character, then call `finish`. One thread at a time may use a stream; a second one
    gets `BusyError` at once. A `with` block that ends without an exception finishes the stream; the resulting events are in `tail`.

    ```
    >>> import toolglot
    >>> stream = toolglot.Engine().stream()
    >>> stream.feed("Hi <tool_"), stream.held
    ([Text(text='Hi ', start=0, end=3, recovered=False)], 6)
    >>> stream.finish()
    [Text(text='<tool_', start=3, end=9, recovered=False)]

    ```
    """
    def __copy__(self, /) -> Stream: ...
    def __deepcopy__(self, _memo: Any, /) -> Stream: ...
    def __enter__(self, /) -> Stream: ...
    def __exit__(self, kind: object, _value: object, _trace: object, /) -> None: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    def _panic(self, /, later: bool = False) -> None:
        """
        For tests: panics like a bug in the engine, or makes the next chunk panic.
        """
    def copy(self, /) -> Stream:
        """
        Returns an independent stream in the same state.
        """
    @property
    def engine(self, /) -> Engine:
        """
        The engine of the stream.
        """
    def feed(self, /, chunk: str | bytes | bytearray | memoryview) -> list[_Event]:
        """
        Takes the next chunk and returns its events. An event is delivered as soon as it is certain.

        Raises `StateError` after `finish`, and `BusyError` while another thread uses the stream.
        """
    def feed_special(self, /, marker: str | bytes | bytearray | memoryview) -> list[_Event]:
        """
        Takes one special token that the host recognised by its id. Its markers count even where `trusted_only`
        accepts only tokens that the host vouches for.
        """
    def finish(self, /, reason: Literal['stop', 'length', 'tool_calls', 'error', 'cancelled'] = "stop") -> list[_Event]:
        """
        Ends the stream: delivers what is held back and reports what is still open. A second call returns nothing.
        """
    @property
    def finished(self, /) -> bool:
        """
        Whether the stream is finished.
        """
    @property
    def held(self, /) -> int:
        """
        Bytes fed that no event covers yet.
        """
    @property
    def in_reasoning(self, /) -> bool:
        """
        Whether a thought is open: text is reasoning until the closer, or until a call that ends the thought. Before the first
        byte: whether the dialects, `start` or `prompt_tail` have opened one.

        ```
        >>> import toolglot
        >>> stream = toolglot.Engine().stream(prompt_tail="<|im_start|>assistant\\n<think>\\n")
        >>> stream.in_reasoning, stream.feed("hm</thi"), stream.in_reasoning, stream.may_hold_marker
        (True, [Reasoning(text='hm', start=0, end=2, framing=False)], True, True)

        ```
        """
    @property
    def may_hold_marker(self, /) -> bool:
        """
        Whether a marker, a block or a protected region may be open: the held bytes may begin a marker, or a call is being
        written. If false, everything that was fed has been delivered, except perhaps an incomplete character.
        """
    def native_call(self, /, name: str, arguments: str = "", id: str | None = None) -> list[_Event]:
        """
        Takes an API tool call; the option `prefer` says when it is delivered. `arguments` is JSON text; an empty string means
        no arguments.
        """
    @property
    def position(self, /) -> int:
        """
        Bytes fed so far.
        """
    def prefill(self, /, text: str | bytes | bytearray | memoryview) -> list[_Event]:
        """
        Takes text that the prompt has already put at the beginning of the reply. It counts in offsets, but its text and
        reasoning are not delivered.
        """
    def reset(self, /) -> None:
        """
        Starts over with the same options.
        """
    def snapshot(self, /) -> bytes:
        """
        Returns the state of the stream as bytes, for `Engine.restore`, in this process or another. Its size does not grow with
        the stream, except by the bytes of an open block.
        """
    @property
    def stage(self, /) -> str:
        """
        Where the stream is between two chunks: `"normal"`, `"tag_opening"` (the held bytes may be a marker), `"tag_content"` (a call
        is being written, or the first call of a block is still to come) or `"tag_closing"` (in a block, after one of its calls).

        ```
        >>> import toolglot
        >>> stream = toolglot.Engine("hermes").stream()
        >>> for chunk in ["Hi ", "<tool_", 'call>{"name": "f"', ', "arguments": {}}', "</tool_call>"]:
        ...     _ = stream.feed(chunk)
        ...     print(stream.stage)
        normal
        tag_opening
        tag_content
        tag_closing
        normal

        ```
        """
    @property
    def tail(self, /) -> list[_Event]:
        """
        The events that were delivered when a `with` block ended the stream.
        """
    @property
    def tool_issues(self, /) -> list[str]:
        """
        Problems in the list of its tools, one sentence each: what was left out or ignored, and where.
        """

@final
class Text:
    """
    Plain text of the reply, in whole characters.
    """
    __match_args__ = ("text", "start", "end", "recovered")
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, text: str, start: SupportsIndex = ..., end: SupportsIndex = ..., recovered: bool = ...) -> Text: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def end(self, /) -> int:
        """
        Offset after its last byte.
        """
    @property
    def recovered(self, /) -> bool:
        """
        Whether these bytes were first taken for a block; see `BlockAbandoned`.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of its first byte in the stream.
        """
    @property
    def text(self, /) -> str:
        """
        The text. Invalid UTF-8 is replaced with U+FFFD.
        """

@final
class ToolSet:
    """
    Definitions of the tools that may be called. `toolglot.Tools` is built on it.
    """
    def __new__(cls, /, lists: list[str]) -> ToolSet:
        """
        Reads lists of tools, each as JSON text in any supported form.
        """
    def check(self, /, name: str, arguments: str, engine: Engine | None, dialect: str, unknown: bool) -> str:
        """
        Checks whether a call may be carried out, and with which arguments. Returns JSON.
        """
    def faults(self, /) -> list[str]:
        """
        What is unusable in their schemas, one sentence each.
        """
    def ids(self, /) -> list[str]:
        """
        The ids of the tools, in order.
        """
    def manifest(self, /) -> str:
        """
        The tools as a plugin manifest, which keeps everything known about them, as JSON.
        """
    def openai(self, /) -> str:
        """
        The tools as a list in OpenAI's form, as JSON.
        """
    def prompt(self, /, engine: Engine, dialect: str, lang: str, examples: bool) -> str:
        """
        The prompt text that declares the tools to a model.
        """

@final
class Turn:
    """
    The whole content of one model output.
    """
    __match_args__ = ("text", "reasoning", "calls", "issues")
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, text: str = "", reasoning: str = "", calls: list[Call] | None = None, issues: list[Issue] | None = None, toolglot_json: str | None = None, original: str | None = None, tool_issues: list[str] | None = None) -> Turn: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @property
    def calls(self, /) -> list[Call]:
        """
        The calls, in order.
        """
    @property
    def errors(self, /) -> list[Issue]:
        """
        The issues, under the name that they have in JSON.
        """
    @property
    def issues(self, /) -> list[Issue]:
        """
        The issues of the output, errors and warnings, in order of detection.
        """
    @property
    def original(self, /) -> str | None:
        """
        Everything the model wrote, markup included. `None` without `original=True`, or if not all of it was retained. Invalid
        UTF-8 is replaced, as in `text`.
        """
    @property
    def reasoning(self, /) -> str:
        """
        The reasoning, joined, without its markers.
        """
    @property
    def text(self, /) -> str:
        """
        The text outside calls and reasoning, joined.
        """
    def to_dict(self, /) -> dict[str, Any]:
        """
        Returns the turn as plain objects, which `json.dumps` accepts.

        ```
        >>> import json, toolglot
        >>> turn = toolglot.parse('Hi <tool_call name="f"><param name="a">1</param></tool_call>')
        >>> json.dumps(turn.to_dict()["calls"][0]["arguments"])
        '{"a": "1"}'

        ```
        """
    @property
    def tool_issues(self, /) -> list[str]:
        """
        Problems in the list of tools of this output, one sentence each: what was left out or ignored, and where.
        """
    @property
    def toolglot(self, /) -> dict[str, Any] | None:
        """
        What should not be used without asking, or was not delivered: `{"withheld": [{"name", "kinds", "span"}], "dropped": [{"span",
        "kinds"}]}`. `withheld` lists the recovered calls, `dropped` the bytes of dropped blocks and calls. `None` if there is neither.
        """

@final
class Turns:
    """
    Columns of turns. Made by `toolglot.arrow.parse`. Every Arrow library accepts it: `pyarrow.array(turns)` is one struct
    column, `pyarrow.table(turns)` has its fields as columns. Of conversations it is a column of lists.
    """
    def __arrow_c_array__(self, /, requested_schema: object = None) -> tuple[object, object]:
        """
        The column, as two capsules. Its type is fixed: a requested type is ignored, as the interface allows.
        """
    def __arrow_c_schema__(self, /) -> object:
        """
        The type of the column, as a capsule.
        """
    def __arrow_c_stream__(self, /, requested_schema: object = None) -> object:
        """
        Its fields, as a stream of one record batch. Where a row is null, all its fields are null. Of conversations: its lists.
        """
    def __len__(self, /) -> int: ...
    def __repr__(self, /) -> str: ...

def command(arguments: list[str]) -> int:
    """
    Runs the command `toolglot`, and returns its exit status. It may end the process.
    """

def derive(template: str | bytes | PathLike[str], *, variables: Mapping[str, Any] | None = None, own: bool = False, id: str = "derived") -> Derived:
    """
    Derives the dialect of a model from its chat template, so that models without a built-in dialect can be read.

    `template` is the template's text, or a path (an object such as `pathlib.Path`; a `str` is always text): of a model's folder,
    of a `.jinja` file, of a `tokenizer_config.json`, of the answer of llama.cpp's `/props` or of a GGUF file; or the content of
    such a file, as bytes. `variables` are those with which the template is rendered, for example `enable_thinking`. Built-in
    dialects are taken if they read everything that the template writes, because they know slips of models that no template
    shows; with `own` a dialect is made in any case, with the id `id`.

    Raises `DialectError` if the template is invalid, writes no calls, or no dialect reads what it writes.

    ```
    >>> import toolglot
    >>> template = '''
    ... {%- for m in messages %}<|{{ m.role }}|>{{ m.content }}
    ... {%- for c in m.tool_calls or [] %}<call>{{ c.function.name }}: {{ c.function.arguments | tojson }}</call>{% endfor %}
    ... {%- endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}'''
    >>> derived = toolglot.derive(template)
    >>> derived.engine().parse('It rains.<call>find: {"what": "coat"}</call>').calls[0].arguments
    {'what': 'coat'}
    >>> derived.render([{"role": user, "content": "Hello"}])
    '<|user|>Hello<|assistant|>'

    ```
    """

def detect(text: str | bytes | bytearray | memoryview, tools: str | Iterable[Any] | None = None) -> list[Evidence]:
    """
    Returns the built-in dialects that a text shows evidence of, strongest first. Give `tools` if you can: without them,
    dialects whose tags are tool names, or that have no marker, show nothing.

    ```
    >>> import toolglot
    >>> found = toolglot.detect('<tool_call name="f"><param name="a">1</param></tool_call>')
    >>> found[0].dialect, found[0].confidence
    ('tool-call-xml', 'strong')

    ```
    """

def dialect_toml(id: str) -> str:
    """
    Returns the TOML file of a built-in dialect, as a starting point for your own.

    ```
    >>> import toolglot
    >>> 'id = "vcp"' in toolglot.dialect_toml("vcp")
    True

    ```
    """

def dialects(engine: Engine | None = None) -> list[Dialect]:
    """
    Describes the dialects of an engine; without one, all built-in dialects.

    ```
    >>> import toolglot
    >>> {dialect.id: dialect for dialect in toolglot.dialects()}["vcp"].family
    'key-quote'

    ```
    """

def encode(engine: Engine, dialect: str, calls: list[tuple[str, str, str | None]], tools: str | None = None, verify: bool = True) -> str:
    """
    Writes calls, each `(name, arguments as JSON, id)`, in a dialect of the engine.
    """

def escape(engine: Engine, text: str | bytes | bytearray | memoryview) -> str | bytes:
    """
    Escapes text so that no dialect of the engine sees a marker in it.
    """

def feed_many(streams: Iterable[Stream], chunks: Iterable[str | bytes | bytearray | memoryview]) -> list[str | list[_Event]]:
    """
    Feeds `chunks[i]` to `streams[i]` in one call. Returns a list with, for each stream, a `str` if nothing but plain text came of its
    chunk (`""` if nothing came), otherwise the list of events that `Stream.feed` returns.

    Of most chunks only text comes, which needs no event here, so a step of a batch costs a fraction of as many calls of `feed`.

    Raises `ValueError` if the lengths differ, `TypeError` for what is no stream or no chunk, `StateError` and `BusyError` as `feed`
    does. The message has the index, and nothing has been fed then. Should a stream fail only when it is fed (`InternalError`), the
    others are fed first, and `results` of the exception has what they returned, and `None` for this one.

    ```
    >>> import toolglot
    >>> engine = toolglot.Engine()
    >>> streams = [engine.stream() for _ in range(3)]
    >>> toolglot.feed_many(streams, ["Hi", "<think>", "<tool_"])
    ['Hi', [Reasoning(text='<think>', start=0, end=7, framing=True)], '']

    ```
    """

def issue_kinds() -> list[tuple[int, str, str]]:
    """
    Returns the code, name and usual severity of every kind of issue.
    """

def live_streams() -> int:
    """
    The number of live streams, readers and rewriters in this process. A service can watch it for leaks.
    """

def model_dialects(name: str) -> ModelDialects:
    """
    Guesses which built-in dialects a model writes from its name: the publisher's, a server's or a file's. Fine-tuned
    models keep names but change formats; `detect` looks at what a model wrote.

    ```
    >>> import toolglot
    >>> found = toolglot.model_dialects("Qwen3-8B-Q4_K_M.gguf")
    >>> found.calls, found.reasoning
    (['hermes'], 'reasoning-think')
    >>> toolglot.Engine(found.all).dialects
    ['hermes', 'reasoning-think']

    ```
    """

def parse_arrow(engine: Engine, column: Any, columns: list[str], finish: Literal['stop', 'length', 'tool_calls', 'error', 'cancelled']) -> Turns:
    """
    Parses every row of a column of text. Use `toolglot.arrow.parse`.
    """

def results(engine: Engine, dialect: str, results: str, lang: str) -> tuple[str, str]:
    """
    Renders results of calls, the JSON text of a list, as a message in a dialect. Returns its role and its content.
    """

def transcode(engine: Engine, text: str | bytes | bytearray | memoryview, to: Engine, dialect: str, tools: str | None = None, keep: bool = False, finish: str = "stop") -> str | bytes:
    """
    Rewrites a transcript from the dialects of one engine into a dialect of another.
    """

def unescape(engine: Engine, text: str | bytes | bytearray | memoryview) -> str | bytes:
    """
    Returns the text from which `escape` made this one.
    """
