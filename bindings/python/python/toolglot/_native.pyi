"""
The native part of `toolglot`; use that package, not this module.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, SupportsIndex, TypeAlias, final

_Event: TypeAlias = Text | Reasoning | Protected | Raw | BlockOpen | CallNamed | CallOpen | ArgDelta | ParamOpen | ParamDelta | ParamClose | CallAbandoned | CallClose | BlockClose | BlockAbandoned | Issue

__all__ = ["__version__", "AgentCore", "ArgDelta", "BlockAbandoned", "BlockClose", "BlockOpen", "Call", "CallAbandoned", "CallClose", "CallNamed", "CallOpen", "Dialect", "Engine", "Evidence", "Issue", "Limits", "Mask", "ModelDialects", "ParamClose", "ParamDelta", "ParamOpen", "Protected", "Raw", "Reader", "Reasoning", "ResponseCore", "Rewriter", "RunCore", "Stream", "Text", "ToolSet", "Turn", "Turns", "detect", "dialect_toml", "dialects", "encode", "escape", "issue_kinds", "live_streams", "model_dialects", "parse_arrow", "results", "transcode", "unescape"]

__version__: Final[str]
"""
The version of the engine.
"""

@final
class AgentCore:
    """
    What the runs of an agent share. `toolglot.Agent` is made of it.
    """
    def __new__(cls, /, engine: Engine, form: str) -> AgentCore:
        """
        Reads an agent, JSON text. Dialects and limits are those of the engine.
        """
    def restore(self, /, saved: str) -> RunCore:
        """
        A run that was saved.
        """
    def run(self, /, messages: str) -> RunCore:
        """
        A run that goes on with messages, JSON text of a list.
        """
    def steps(self, /, steps: str) -> RunCore:
        """
        A workflow, JSON text of a list of steps.
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
        Number of the call.
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
        Offset of the source bytes that it came from.
        """

@final
class BlockAbandoned:
    """
    The block was none after all. All calls since its `BlockOpen` are void.
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
        What becomes of its bytes: `"text"` (they follow as one `Text`) or `"drop"`.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after it, as far as it went.
        """
    @property
    def raw(self, /) -> bytes:
        """
        Its bytes if they were retained, else empty.
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
        Its bytes if they were retained, else empty.
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
        Offset after the opening marker with its header.
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
        The arguments as a `dict`, the same one at each access; `LimitError` as in `CallClose.arguments`.
        """
    @property
    def arguments_json(self, /) -> str:
        """
        The arguments as JSON text; numbers are spelled as the model spelled them.
        """
    @property
    def complete(self, /) -> bool:
        """
        Whether it is well formed and closed.
        """
    @property
    def dialect(self, /) -> str:
        """
        Id of its dialect; empty for a native call.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after its last byte.
        """
    @property
    def grade(self, /) -> str:
        """
        `"complete"`; `"repaired"`: a rule was broken, but the call is not in doubt; `"recovered"`: something may be cut,
        mixed or guessed, so it should not be executed without asking.
        """
    @property
    def index(self, /) -> int:
        """
        Its number in the turn, from 0.
        """
    @property
    def kinds(self, /) -> list[str]:
        """
        Why it is not complete.
        """
    @property
    def meta(self, /) -> dict[str, str]:
        """
        What the format says of the call beside name and arguments (an `id`, for example).
        """
    @property
    def name(self, /) -> str:
        """
        Name of the tool.
        """
    @property
    def native(self, /) -> bool:
        """
        The host gave it beside the text.
        """
    @property
    def recovered(self, /) -> list[str] | None:
        """
        The kinds of a recovered call; `None` for any other.
        """
    @property
    def repaired(self, /) -> list[str] | None:
        """
        The kinds of a repaired call; `None` for any other.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of its first byte.
        """
    def to_dict(self, /) -> dict[str, Any]:
        """
        The call as plain objects, which `json.dumps` takes: `name`, `arguments`, `index`, `grade`, `dialect`, `meta`, `native`,
        `start`, `end`, and the kinds of one that is not complete as `recovered` or `repaired`.

        ```
        >>> import json, toolglot
        >>> call = toolglot.parse('<tool_call name="f"><param name="a">1</param></tool_call>').calls[0]
        >>> sorted(json.loads(json.dumps(call.to_dict())))
        ['arguments', 'dialect', 'end', 'grade', 'index', 'meta', 'name', 'native', 'start']

        ```
        """
    def to_openai(self, /, id: str | None = None) -> dict[str, Any]:
        """
        The call as a message of OpenAI has it: `{"id", "type", "function": {"name", "arguments"}}`. Without an id of the
        format's own `id` is taken, or one is made.
        """

@final
class CallAbandoned:
    """
    The open call is retracted: it broke its grammar or a limit, or was truncated. It never closes, and its deltas are void.
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
        Number of the call.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after it, as far as it went.
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
        The arguments as a `dict`, the same one at each access. `None` if they were not kept (`retain="none"`).

        `LimitError` if they cannot be Python objects: nested deeper than the interpreter can follow, or an integer longer
        than `sys.get_int_max_str_digits()` allows. `arguments_json` has them all the same.
        """
    @property
    def arguments_json(self, /) -> str | None:
        """
        The arguments as JSON text; numbers are spelled as the model spelled them. `None` if they were not kept.
        """
    @property
    def call(self, /) -> int:
        """
        Number of the call.
        """
    @property
    def complete(self, /) -> bool:
        """
        Whether it is well formed and closed.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after it.
        """
    @property
    def grade(self, /) -> str:
        """
        `"complete"`; `"repaired"`: a rule was broken, but the call is not in doubt; `"recovered"`: something may be cut,
        mixed or guessed, so it should not be executed without asking.
        """
    @property
    def kinds(self, /) -> list[str]:
        """
        Why it is not complete.
        """
    @property
    def name(self, /) -> str:
        """
        Name of the tool.
        """
    @property
    def recovered(self, /) -> list[str] | None:
        """
        The kinds of a recovered call; `None` for any other.
        """
    @property
    def repaired(self, /) -> list[str] | None:
        """
        The kinds of a repaired call; `None` for any other.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of the call.
        """
    def to_dict(self, /) -> dict[str, Any]:
        """
        The call as plain objects, which `json.dumps` takes. `arguments` is `None` if they were not kept.
        """

@final
class CallNamed:
    """
    The name of a call is written. It comes before the `CallOpen`, as early as the name is known; only that opens a call.
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
        Number of the block in this stream, from 0.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after that.
        """
    @property
    def name(self, /) -> str:
        """
        Name of the tool.
        """
    @property
    def ordinal(self, /) -> int:
        """
        Number of the name in its block, from 0.
        """
    @property
    def provisional(self, /) -> bool:
        """
        What follows can still take the name back: a `CallOpen` of the block replaces it, or it is void when the block ends.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of what names it.
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
        Number of the call in this stream, from 0.
        """
    @property
    def dialect(self, /) -> str:
        """
        The id of its dialect; empty for a native call.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after what named it.
        """
    @property
    def meta(self, /) -> dict[str, str]:
        """
        What the format says of the call beside name and arguments (an `id`, for example).
        """
    @property
    def name(self, /) -> str:
        """
        Name of the tool.
        """
    @property
    def native(self, /) -> bool:
        """
        The host gave it beside the text.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of what named it.
        """

@final
class Dialect:
    """
    What a dialect is.
    """
    def __repr__(self, /) -> str: ...
    @property
    def aliases(self, /) -> list[str]:
        """
        Other names it is asked for by.
        """
    @property
    def closers(self, /) -> list[str]:
        """
        What closes its blocks.
        """
    @property
    def family(self, /) -> str:
        """
        The family of its body.
        """
    @property
    def group(self, /) -> str | None:
        """
        The group of dialects with the same markup, of which an engine can hold one.
        """
    @property
    def id(self, /) -> str:
        """
        Its id.
        """
    @property
    def in_default_set(self, /) -> bool:
        """
        It belongs to the default set.
        """
    @property
    def models(self, /) -> list[str]:
        """
        Who writes it.
        """
    @property
    def openers(self, /) -> list[str]:
        """
        What opens its blocks; a tag is shown up to its name.
        """
    @property
    def reasoning_closers(self, /) -> list[str]:
        """
        What closes its reasoning.
        """
    @property
    def reasoning_openers(self, /) -> list[str]:
        """
        What opens its reasoning.
        """
    @property
    def sources(self, /) -> list[str]:
        """
        Where its rules come from.
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
    Dialects compiled together, and the options of streams that read them. Immutable: share it between threads, hash it,
    compare it, pickle it.

    `dialects` are ids of built-in dialects: one, several, or `"default"` for all that cannot fire on ordinary prose or
    code, or `"any"` for whatever an output may hold (calls of declared tools only). `toml` adds dialects of your own, as text of files (a mapping gives them names for error messages). Without
    either it is the default set.

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

        Raises `DialectError` for a dialect or switch that cannot be used, `ToolsError` for tools, `ValueError` for an
        option.
        """
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _from_config(config: str) -> Engine: ...
    @property
    def bound(self, /) -> int:
        """
        The most bytes of text that a stream ever withholds.
        """
    def completion(self, /, output: str | bytes | bytearray | memoryview | Turn, source: Literal['text', 'openai', 'anthropic', 'ollama'] = "text", *, finish: Literal['stop', 'length', 'tool_calls', 'error', 'cancelled'] | None = None, model: str | None = None, id: str | None = None, created: int | None = None, recovered: bool = False, reasoning: str | None = "reasoning_content", forced: bool = False, id_prefix: str = "call_", id_seed: int | None = None, start: Literal['dialect', 'text', 'reasoning'] | None = None, prompt_tail: str | None = None, tools: str | Iterable[Any] | None = None, tool_choice: str | Mapping[str, Any] | None = None) -> str:
        """
        Writes one OpenAI `chat.completion` object, as JSON text: of an output (text, or a `Turn`), or of a whole response of a
        server (`source`). `to_completion` gives it as a `dict`. Options are those of `rewriter`.

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
        All that makes it what it is, as one text: equal engines have equal texts, in every process.
        """
    @property
    def dialects(self, /) -> list[str]:
        """
        Ids of its dialects, in order.
        """
    @property
    def limits(self, /) -> Limits:
        """
        Its limits.
        """
    @property
    def lints(self, /) -> list[str]:
        """
        What works and may still surprise, one sentence each.
        """
    def parse(self, /, text: str | bytes | bytearray | memoryview, *, finish: Literal['stop', 'length', 'tool_calls', 'error', 'cancelled'] = "stop", native_calls: str | Iterable[Any] | None = None, start: Literal['dialect', 'text', 'reasoning'] | None = None, prompt_tail: str | None = None, tools: str | Iterable[Any] | None = None, tool_choice: str | Mapping[str, Any] | None = None, guard: bool = False, original: bool = False) -> Turn:
        """
        Parses a whole output.

        `native_calls` are calls that the API delivered beside the text: an OpenAI `tool_calls` array, or its JSON text. `guard`
        keeps the turn's text from being a call for the next reader of this engine's dialects, for hosts that send it on without
        the calls; without it the text is verbatim. `original` keeps all that the model wrote, markup included, as `Turn.original`.
        """
    def reader(self, /, source: Literal['openai', 'anthropic', 'ollama'], *, choice: SupportsIndex = 0, start: Literal['dialect', 'text', 'reasoning'] | None = None, prompt_tail: str | None = None, tools: str | Iterable[Any] | None = None, tool_choice: str | Mapping[str, Any] | None = None) -> Reader:
        """
        Reads responses of model servers, as bytes. `source` is `"openai"`, `"anthropic"` or `"ollama"`; `choice` is the
        one that is read of an OpenAI response.
        """
    def replace(self, /, **options: Any) -> Engine:
        """
        The same engine with other options; dialects, `toml` and `switches` stay.

        ```
        >>> import toolglot
        >>> engine = toolglot.Engine("reasoning-think").replace(start="reasoning")
        >>> engine.parse("hm</think>yes").reasoning
        'hm'

        ```
        """
    def restore(self, /, snapshot: bytes, *, start: Literal['dialect', 'text', 'reasoning'] | None = None, prompt_tail: str | None = None, tools: str | Iterable[Any] | None = None, tool_choice: str | Mapping[str, Any] | None = None) -> Stream:
        """
        The stream that a snapshot was made of. `start`, `prompt_tail` and `tools` must be those it was made with.

        Raises `SnapshotError` if the snapshot is damaged, or of another engine, options or version.
        """
    def rewriter(self, /, source: Literal['text', 'openai', 'anthropic', 'ollama'] = "text", *, model: str | None = None, id: str | None = None, created: int | None = None, choice: int | None = None, calls: Literal['live', 'close'] = "live", recovered: bool = False, reasoning: str | None = "reasoning_content", protected: bool = False, forced: bool = False, id_prefix: str = "call_", id_seed: int | None = None, start: Literal['dialect', 'text', 'reasoning'] | None = None, prompt_tail: str | None = None, tools: str | Iterable[Any] | None = None, tool_choice: str | Mapping[str, Any] | None = None) -> Rewriter:
        """
        Writes OpenAI chat completion chunks of what is fed: text (`source="text"`) or responses of model servers.

        `calls` says when calls are sent: `"live"` while they are written (the last `}` waits until the call stands), or
        `"close"` when their block has closed. `recovered` calls are withheld unless `True`. `reasoning` is the member that
        holds reasoning; `None` leaves it out. `forced`: the host forced a tool by name, so the reason stays `stop`.

        `model`, `id` and `created` win over what a response of OpenAI's shape says; where nobody says anything, id and time are
        made. Of such a response all choices are rewritten, or the one that `choice` names. Ids of calls that have none are made
        of `id_seed`: the same seed, the same ids; without it they differ from response to response.
        """
    def stream(self, /, *, start: Literal['dialect', 'text', 'reasoning'] | None = None, prompt_tail: str | None = None, tools: str | Iterable[Any] | None = None, tool_choice: str | Mapping[str, Any] | None = None) -> Stream:
        """
        One stream: the output of one model turn. `start` and `tools` stand in for the engine's own. `prompt_tail` is the prompt,
        or the end of it: what its last 4 KiB have opened (a thought, a header, a call), the output goes on with.

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
        What was odd in the list of its tools, one sentence each: what was left out or passed over, and where.
        """
    @property
    def tools(self, /) -> list[str]:
        """
        Names of its tools, in order.
        """

@final
class Evidence:
    """
    What speaks for one dialect.
    """
    def __repr__(self, /) -> str: ...
    @property
    def broken(self, /) -> int:
        """
        Blocks that broke or were cut.
        """
    @property
    def chosen(self, /) -> bool:
        """
        The default set reads calls of the input as this dialect.
        """
    @property
    def complete(self, /) -> int:
        """
        Calls that are well formed and closed.
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
        The group of dialects with the same markup, of which an engine can hold one.
        """
    @property
    def in_default_set(self, /) -> bool:
        """
        It belongs to the default set.
        """
    @property
    def inside(self, /) -> str | None:
        """
        The dialect whose blocks hold all of this one's.
        """
    @property
    def reason(self, /) -> str:
        """
        One sentence.
        """
    @property
    def recovered(self, /) -> int:
        """
        Calls that were put together.
        """
    @property
    def spans(self, /) -> list[tuple[int, int]]:
        """
        Where it shows, as `(start, end)`.
        """
    @property
    def title(self, /) -> str:
        """
        Its title.
        """

@final
class Issue:
    """
    Something is wrong with what the model wrote. Parsing goes on.
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
        Number of the call concerned.
        """
    @property
    def dialect(self, /) -> str:
        """
        Id of the dialect that speaks, or empty.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after them.
        """
    @property
    def kind(self, /) -> str:
        """
        What, for example `"unclosed_block"`.
        """
    @property
    def message(self, /) -> str:
        """
        One sentence for people.
        """
    @property
    def observation(self, /) -> str:
        """
        What to tell the model.
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
        A name that was probably meant, or empty.
        """
    def to_dict(self, /) -> dict[str, Any]:
        """
        The issue as plain objects, which `json.dumps` takes: its fields.
        """
    @property
    def tool(self, /) -> str:
        """
        The tool concerned, or empty.
        """

@final
class Limits:
    """
    Upper bounds of what one stream may hold or deliver. Each fires at one offset however the input is cut, is an
    `Issue` of its own kind, and loses nothing. What is not given has its default.

    ```
    >>> Limits(max_calls=2).max_calls
    2
    >>> Limits().max_block
    16777216

    ```
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, *, max_value: SupportsIndex | None = None, max_block: SupportsIndex | None = None, max_calls: SupportsIndex | None = None, max_chain: SupportsIndex | None = None, max_depth: SupportsIndex | None = None, max_params: SupportsIndex | None = None, max_name: SupportsIndex | None = None, max_header: SupportsIndex | None = None, max_lookahead: SupportsIndex | None = None, max_issues: SupportsIndex | None = None, max_native: SupportsIndex | None = None) -> Limits: ...
    def __reduce__(self, /) -> tuple[object, ...]: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _from_list(list: list[int]) -> Limits: ...
    @property
    def max_block(self, /) -> int:
        """
        Bytes of one block, which is also what is retained of it.
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
        Issues that are reported one by one.
        """
    @property
    def max_lookahead(self, /) -> int:
        """
        Bytes that a lookahead may withhold.
        """
    @property
    def max_name(self, /) -> int:
        """
        Bytes of a tool name, parameter name or tag name.
        """
    @property
    def max_native(self, /) -> int:
        """
        Bytes of native calls that may wait for the end of the text.
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
    The text with calls taken out, live: for renderers and logs.

    `calls`, `reasoning` and `protected` say what is written for each: `True` its text, `False` nothing, a `str` that text
    (for calls, `{tools}` in it stands for their names). What is written is final: a block leaves nothing, or its
    placeholder, when it ends, and one that was none comes back verbatim.

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
        Takes the next chunk and gives what is final.
        """
    def finish(self, /, reason: Literal['stop', 'length', 'tool_calls', 'error', 'cancelled'] = "stop") -> str:
        """
        Ends the text and gives what waited.
        """

@final
class ModelDialects:
    """
    The built-in dialects of a model; see `model_dialects`.
    """
    @property
    def all(self, /) -> list[str]:
        """
        All of them, which fit in one engine.
        """
    @property
    def calls(self, /) -> list[str]:
        """
        Those of its calls; empty if none is known.
        """
    @property
    def reasoning(self, /) -> str | None:
        """
        That of its reasoning, where no dialect of its calls reads it.
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
    Raw bytes of the open parameter's value, at once; they may end inside a character.
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
        The bytes as written.
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
    A parameter begins. Provisional: what counts are the arguments of the call.
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
        Nesting depth; 0 is a parameter of the call.
        """
    @property
    def end(self, /) -> int:
        """
        Offset after that.
        """
    @property
    def name(self, /) -> str:
        """
        Its name as written.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of where it is named.
        """

@final
class Protected:
    """
    Part of a region that a dialect protects: no calls are looked for inside.
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
        The kind of region, as its dialect names it.
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
    Bytes of a block that broke a limit; they go on until the block's own closer.
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
    Reads the body of one response: bytes in any cut go in, events come out. Made by `Engine.reader`.

    Offsets count the bytes of the text that the response holds, not those of its body.

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
        Takes the next bytes of the response. What cannot be read of it goes to `errors` and stops nothing.
        """
    def finish(self, /, reason: Literal['stop', 'length', 'tool_calls', 'error', 'cancelled'] | None = None) -> list[_Event]:
        """
        Ends the response. The reason is that of the response, or a given one, for a host that knows better.
        """
    @property
    def held(self, /) -> int:
        """
        Bytes of the text that are in no event yet.
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
        The text is the marker (`<think>`), not the reasoning itself.
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
    Reads a response of a model server into what a run is told.
    """
    def __new__(cls, /, source: str) -> ResponseCore:
        """
        Of a source: `"openai"`, `"anthropic"`, `"ollama"`.
        """
    def feed(self, /, chunk: str | bytes | bytearray | memoryview) -> list[str]:
        """
        Takes bytes; gives what a run is told, as JSON.
        """
    def finish(self, /) -> list[str]:
        """
        There are no more bytes.
        """

@final
class Rewriter:
    """
    Writes OpenAI chat completion chunks, one line of JSON each. Made by `Engine.rewriter`.

    Calls that the model wrote into its text become `tool_calls` deltas, and `finish_reason` says so. A call that turns out
    to be none after it was sent in part never becomes valid JSON, and the reason is then never `tool_calls`.

    Of a response of OpenAI's own shape all else stays: `id`, `created`, `model`, `usage`, `logprobs`, `system_fingerprint` and
    every other member, errors as they came, and each choice is parsed on its own.

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
        Takes the next chunk and gives the chunks that it brings, as JSON.
        """
    def finish(self, /, reason: Literal['stop', 'length', 'tool_calls', 'error', 'cancelled'] | None = None) -> list[str]:
        """
        Ends the response and gives the last chunks. The reason is that of the response that is read (`"stop"` for text),
        or a given one.
        """
    @property
    def reason(self, /) -> str | None:
        """
        Why the response ended; `None` until it is finished.
        """
    @property
    def void(self, /) -> list[int]:
        """
        Indices of calls that were sent in part and do not stand; of several choices, those of the first that has some.
        """

@final
class RunCore:
    """
    A run. `toolglot.Run` is made of it.
    """
    def deadline(self, /) -> int | None:
        """
        When the time matters next.
        """
    def messages(self, /) -> str:
        """
        The conversation, as JSON.
        """
    def model(self, /, chunk: str | bytes | bytearray | memoryview) -> None:
        """
        A piece of the model's text.
        """
    def now(self, /) -> int:
        """
        The latest time it was told.
        """
    def outcome(self, /) -> str | None:
        """
        How it ended, as JSON.
        """
    def receipts(self, /) -> str:
        """
        Receipts of calls that were started, as JSON.
        """
    def save(self, /) -> str:
        """
        The run, as JSON.
        """
    def take(self, /) -> str | None:
        """
        The next instruction, as JSON.
        """
    def tell(self, /, what: str) -> None:
        """
        Something else that happened, as JSON.
        """
    def waits(self, /) -> str:
        """
        What it waits for: `"model"`, `"calls"` or `"nothing"`.
        """

@final
class Stream:
    """
    One stream: the output of one model turn. Made by `Engine.stream`.

    Feed chunks cut anywhere, also inside a character, and then `finish`. A stream belongs to one thread at a time; a second
    one gets `BusyError` at once. In a `with` block that ends without an exception it is finished, and `tail` has the
    events of that.

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
    def _panic(self, /) -> None:
        """
        For the tests: breaks as a mistake of the engine would.
        """
    def copy(self, /) -> Stream:
        """
        A second stream in the same state; the two go their own ways.
        """
    @property
    def engine(self, /) -> Engine:
        """
        Its engine.
        """
    def feed(self, /, chunk: str | bytes | bytearray | memoryview) -> list[_Event]:
        """
        Takes the next chunk and gives the events that it brings. Nothing waits that could be said.

        Raises `StateError` after `finish`, `BusyError` if another thread is feeding.
        """
    def feed_special(self, /, marker: str | bytes | bytearray | memoryview) -> list[_Event]:
        """
        Takes one special token that the host knows by its id: markers in it count also where a dialect, or
        `trusted_only`, asks the host to vouch for them.
        """
    def finish(self, /, reason: Literal['stop', 'length', 'tool_calls', 'error', 'cancelled'] = "stop") -> list[_Event]:
        """
        Ends the stream: what is withheld comes out, what is open is reported. A second time it gives nothing.
        """
    @property
    def finished(self, /) -> bool:
        """
        Whether it is finished.
        """
    @property
    def held(self, /) -> int:
        """
        Bytes that were fed and are in no event yet.
        """
    @property
    def in_reasoning(self, /) -> bool:
        """
        Whether a thought is open: what comes next is reasoning until its closer, or a call that ends it. Before the first byte:
        what the dialects, `start` and `prompt_tail` have opened.

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
        Whether a marker, a block or a protected region is under way: bytes are held that may be the beginning of a marker, or a
        call is being written. If not, whatever was fed has come out, but for half a character.
        """
    def native_call(self, /, name: str, arguments: str = "", id: str | None = None) -> list[_Event]:
        """
        Takes a call that the API delivered beside the text; the option `prefer` says when it comes out. `arguments` is
        JSON text; empty means none.
        """
    @property
    def position(self, /) -> int:
        """
        Bytes fed so far.
        """
    def prefill(self, /, text: str | bytes | bytearray | memoryview) -> list[_Event]:
        """
        Takes what the prompt has already put at the beginning of the reply. It counts in offsets, but its text and
        reasoning are not delivered.
        """
    def reset(self, /) -> None:
        """
        Starts over with the same options.
        """
    def snapshot(self, /) -> bytes:
        """
        Its state as bytes, for `Engine.restore`: to go back to, or to move it to another process. It does not grow with
        the stream but for the bytes of an open block.
        """
    @property
    def stage(self, /) -> str:
        """
        Where the stream stands between two chunks: `"normal"`, `"tag_opening"` (what is held may be a marker), `"tag_content"` (a
        call is written, or the first of a block is still to come) or `"tag_closing"` (in a block, after a call of it).

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
        The events that came when a `with` block ended the stream.
        """
    @property
    def tool_issues(self, /) -> list[str]:
        """
        What was odd in the list of its tools, one sentence each: what was left out or passed over, and where.
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
        It was taken for a block first; see `BlockAbandoned`.
        """
    @property
    def start(self, /) -> int:
        """
        Offset of its first byte in the stream.
        """
    @property
    def text(self, /) -> str:
        """
        The text. What is not UTF-8 is U+FFFD.
        """

@final
class ToolSet:
    """
    Definitions of tools, all of which may be called. `toolglot.Tools` is made of it.
    """
    def __new__(cls, /, lists: list[str]) -> ToolSet:
        """
        Reads lists of tools, as JSON texts in any form.
        """
    def check(self, /, name: str, arguments: str, engine: Engine | None, dialect: str, unknown: bool) -> str:
        """
        Whether a call is one that may be carried out, and with which arguments, as JSON.
        """
    def faults(self, /) -> list[str]:
        """
        What cannot be used of their schemas, one sentence each.
        """
    def ids(self, /) -> list[str]:
        """
        The ids, in order.
        """
    def manifest(self, /) -> str:
        """
        A plugin manifest, which says all that is known of them, as JSON.
        """
    def openai(self, /) -> str:
        """
        A list of OpenAI's form, as JSON.
        """
    def prompt(self, /, engine: Engine, dialect: str, lang: str, examples: bool) -> str:
        """
        What a model is told of them.
        """

@final
class Turn:
    """
    Everything that one model output says.
    """
    __match_args__ = ("text", "reasoning", "calls", "errors")
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, text: str = "", reasoning: str = "", calls: list[Call] | None = None, errors: list[Issue] | None = None, toolglot_json: str | None = None, original: str | None = None, tool_issues: list[str] | None = None) -> Turn: ...
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
        What is wrong with the output, errors and warnings, in order of detection.
        """
    @property
    def original(self, /) -> str | None:
        """
        All that the model wrote, markup included; `None` where `original=True` did not ask for it, or not all of it was
        retained. Bytes that are not UTF-8 are replaced, as in `text`.
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
        The turn as plain objects, which `json.dumps` takes.

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
        What was odd in the list of tools that this output was parsed with, one sentence each: what was left out or passed
        over, and where.
        """
    @property
    def toolglot(self, /) -> dict[str, Any] | None:
        """
        What a host does not get, or should not act on without asking: `{"withheld": [{"name", "kinds", "span"}],
        "dropped": [{"span", "kinds"}]}`, recovered calls and bytes of blocks that were dropped. `None` where there is nothing
        to say.
        """

@final
class Turns:
    """
    Columns of turns. Made by `toolglot.arrow.parse`; every Arrow library takes it: `pyarrow.array(turns)` is one column of
    structures, `pyarrow.table(turns)` has its fields as columns.
    """
    def __arrow_c_array__(self, /, requested_schema: object = None) -> tuple[object, object]:
        """
        The column, as two capsules. Its type is fixed: a requested one is not looked at, as the interface allows.
        """
    def __arrow_c_schema__(self, /) -> object:
        """
        The type of the column, as a capsule.
        """
    def __arrow_c_stream__(self, /, requested_schema: object = None) -> object:
        """
        Its fields as a stream of one record batch. Where a row is null, all of them are.
        """
    def __len__(self, /) -> int: ...
    def __repr__(self, /) -> str: ...

def detect(text: str | bytes | bytearray | memoryview, tools: str | Iterable[Any] | None = None) -> list[Evidence]:
    """
    The built-in dialects that a text shows, strongest evidence first. Give `tools` where you can: dialects whose tags are
    names of tools, or that have no marker, show nothing without.

    ```
    >>> import toolglot
    >>> found = toolglot.detect('<tool_call name="f"><param name="a">1</param></tool_call>')
    >>> found[0].dialect, found[0].confidence
    ('tool-call-xml', 'strong')

    ```
    """

def dialect_toml(id: str) -> str:
    """
    The text of a built-in dialect's file, to start one of your own from.

    ```
    >>> import toolglot
    >>> 'id = "vcp"' in toolglot.dialect_toml("vcp")
    True

    ```
    """

def dialects(engine: Engine | None = None) -> list[Dialect]:
    """
    What the dialects of an engine are; without one, all that are built in.

    ```
    >>> import toolglot
    >>> {dialect.id: dialect for dialect in toolglot.dialects()}["vcp"].family
    'key-quote'

    ```
    """

def encode(engine: Engine, dialect: str, calls: list[tuple[str, str, str | None]], tools: str | None = None, verify: bool = True) -> str:
    """
    Writes calls, `(name, arguments as JSON, id)`, in a dialect of the engine.
    """

def escape(engine: Engine, text: str | bytes | bytearray | memoryview) -> str | bytes:
    """
    Escapes text so that no dialect of the engine sees a marker in it.
    """

def issue_kinds() -> list[tuple[int, str, str]]:
    """
    Codes, names and usual severities of every kind of issue.
    """

def live_streams() -> int:
    """
    How many streams, readers and rewriters exist in this process: a service that leaks them sees it here.
    """

def model_dialects(name: str) -> ModelDialects:
    """
    The built-in dialects that a model writes, by its name: that of its publisher, of a server or of a file. It is a guess:
    fine-tuned models keep names and change formats. `detect` looks at what a model wrote.

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
    Results of calls, JSON text of a list, as a message in a dialect: its role and its content.
    """

def transcode(engine: Engine, text: str | bytes | bytearray | memoryview, to: Engine, dialect: str, tools: str | None = None, keep: bool = False, finish: str = "stop") -> str | bytes:
    """
    Writes a transcript of one engine's dialects in a dialect of another's.
    """

def unescape(engine: Engine, text: str | bytes | bytearray | memoryview) -> str | bytes:
    """
    The text that `escape` made this of.
    """
