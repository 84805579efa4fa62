"""Agents: a model, its tools, and the policy that decides which of its calls are carried out.

The native part implements the rules and performs no I/O: it returns instructions (`_native.RunCore.take`) and accepts their
results. `_drive` carries them out while a run is iterated.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import contextvars
import dataclasses
import inspect
import json
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Mapping
from typing import Any, Literal

from . import _clients, _native, _support, _tools
from ._drive import Decision, Drive, Task, decided, outcome_of, runs
from ._errors import BusyError, SnapshotError, StateError, ToolsError
from ._native import Engine
from ._server import Server
from ._tools import Tools

__all__ = ["Agent", "PendingCall", "Run", "RunCall", "RunEvent", "Task"]

# No time limit, in milliseconds.
_LONG = 2**48


@dataclasses.dataclass(frozen=True)
class PendingCall:
    """A call that waits for a person's decision. An approved call runs with these arguments, byte for byte."""

    id: str
    """Its id."""
    name: str
    """The name of the tool, as written in the call."""
    tool: str
    """The name of the tool, as defined."""
    arguments: dict[str, Any]
    """The arguments that the tool would get."""
    arguments_json: str
    """Their JSON text."""
    digest: str
    """SHA-256 of that text."""
    reason: str
    """Why the call needs confirmation."""


@dataclasses.dataclass
class RunCall:
    """A committed call."""

    id: str
    """Its id."""
    name: str
    """The name of the tool."""
    arguments: Any
    """The arguments as the model wrote them; once the call runs, those that the tool got. Text if they are not valid JSON."""
    state: str = "stands"
    """`"stands"`, `"waiting"`, `"running"`, and finally `"completed"`, `"failed"`, `"denied"`, `"timed_out"`, `"cancelled"`
    or `"not_run"`."""
    result: Any = None
    """The result that the model gets: text, a JSON value, or a list of MCP content parts."""
    duration: float | None = None
    """How long it ran, in seconds; `None` if it did not run, or nobody measured it."""


@dataclasses.dataclass(frozen=True)
class RunEvent:
    """An event of a run.

    | kind | meaning | members |
    |---|---|---|
    | `text`, `reasoning` | a piece of the reply | `text` |
    | `missing` | part of the reply is missing: it could not be read, or a length limit truncated it | `text`: why |
    | `named`, `written`, `retracted` | the model wrote the name of a call, or a whole call; the call was retracted | `name` |
    | `stands` | a call is committed | `id`, `name`, `arguments` |
    | `waiting`, `running` | a call waits for a person, or was started | `id`, `name` |
    | `progress` | a call or a task produced a piece of its output | `id`, `name`, `text` |
    | `settled` | a call has its result | `id`, `name`, `state`, `result` |
    | `begun` | a call continues as a task | `id`, `name`, `task` |
    | `later` | a task has its result | `id` (the task's), `name`, `state`, `result` |
    | `message` | a message was added to the conversation | `message` |
    """

    kind: str
    id: str = ""
    name: str = ""
    text: str = ""
    arguments: Any = None
    state: str = ""
    result: Any = None
    message: dict[str, Any] | None = None
    task: str = ""


class Agent:
    """A model with tools.

    `model` is the address of an OpenAI-compatible server, or a callable that takes the messages and returns the reply: an
    iterator, sync or async, of `str`, `bytes` or chunks of the official clients, or a whole response. It also gets `tools`, `stop`
    and `grammar` if it has parameters of these names.

    `tools` are functions, sync or async, or anything that `Tools` accepts. `policy` decides which calls are carried out:
    `"confirm"` (a person is asked about each), `"allow"`, `"deny"`, or rules, `{"deny": [..], "confirm": [..], "allow": [..]}`. The
    first matching rule applies, in this order; a call that matches none is denied. A rule is the name of a tool (`*` matches
    anything), or a mapping of `tools`, `tags`, `namespaces`, `annotations`, `arguments`
    (`[{"pointer": "/path", "pattern": "^/etc"}]`) and `reason`.

    `approve` decides on calls that need confirmation: a function of a `PendingCall`, sync or async, that returns `True`, `False`,
    a reason for refusing, a mapping of other arguments, or `None` to defer the decision. Without it such calls wait in
    `Run.waiting`.

    >>> import toolglot
    >>> def weather(city: str) -> str:
    ...     "Tells the weather of a city."
    ...     return f"rain in {city}"
    >>> replies = iter(['<tool_call>{"name": "weather", "arguments": {"city": "Leith"}}</tool_call>', "It rains."])
    >>> agent = toolglot.Agent(model=lambda messages: next(replies), tools=[weather], dialect="hermes", policy="allow")
    >>> run = agent.run_sync("How is the weather in Leith?")
    >>> run.text, run.calls[0].state, run.calls[0].result
    ('It rains.', 'completed', 'rain in Leith')
    """

    def __init__(
        self,
        model: str | Callable[..., Any],
        *,
        tools: Any = None,
        dialect: str | None = None,
        policy: str | Mapping[str, Any] = "confirm",
        approve: Callable[[PendingCall], Any] | None = None,
        system: str | None = None,
        name: str = "",
        api_key: str | None = None,
        request: Mapping[str, Any] | None = None,
        source: str = "auto",
        patience: float = 300.0,
        native: bool = False,
        engine: Engine | None = None,
        lang: Literal["en", "zh"] = "en",
        timeout: float | None = 30.0,
        task_timeout: float | None = 3600.0,
        max_rounds: int = 5,
        parallel: bool = False,
        max_concurrent: int = 4,
        budget: Mapping[str, float] | None = None,
        recovered: Literal["answer", "confirm"] = "answer",
        references: bool = False,
        grammar: bool = False,
        recall: Callable[[Mapping[str, str]], Any] | None = None,
    ) -> None:
        """`dialect` is the format in which the model writes its calls. The system message explains it to the model, after `system`.
        With `native` the server gets the definitions as `tools` instead, and `dialect` is the format of calls in its text.

        For a server, `name` is the name of the model, `request` holds further members of the request (`temperature`), and `patience`
        is the longest silence in seconds. `source` is the kind of a callable's chunks if it cannot be detected; see `events`.

        `timeout` limits a call and `task_timeout` a `Task`, in seconds; `None` sets no limit. After `max_rounds` rounds of calls no
        more are carried out. `budget` limits a run further: `{"calls": 20, "bytes": 100_000, "time": 60}`, calls that may start, bytes
        that the model may write, and seconds. With `parallel` the calls of a reply run concurrently, at most `max_concurrent` at a time; otherwise one
        after another, up to the first that fails. Functions that are not async run in threads of their own; the thread of a call
        that exceeds its limit continues, and its result is dropped.

        `recovered` decides about calls that were recovered from broken text: the model gets an error message (`"answer"`), or a
        person is asked (`"confirm"`). `references` lets arguments refer to results: `{{1.result.path}}`. `recall` supplies the
        results of calls that were started before a run was saved: a function of their receipt (`id`, `tool`, `digest`, and `task`
        for a call that continued as one). `None` means that the result is unknown, and a `Task` that the call continues as one.

        Raises `ToolsError`, `DialectError`, `ValueError` or `TypeError`; the message says what is wrong.
        """
        if dialect is not None and not isinstance(dialect, str):
            raise TypeError(f"dialect: a name is needed, not {type(dialect).__name__}")
        if system is not None and not isinstance(system, str):
            raise TypeError(f"system: text is needed, not {type(system).__name__}")
        if approve is not None and not callable(approve):
            raise TypeError(f"approve: a callable is needed, not {type(approve).__name__}")
        for option, time in (("timeout", timeout), ("task_timeout", task_timeout)):
            if time is not None and not time > 0:
                raise ValueError(f"{option}={time!r}: it must be greater than 0, or None for no limit")
        for option, value, known in (("lang", lang, ("en", "zh")), ("recovered", recovered, ("answer", "confirm"))):
            if value not in known:
                raise ValueError(f"{option}={value!r}: it is {' or '.join(map(repr, known))}")
        self.tools: Tools = _tools.of(tools)
        """Its tools."""
        missing = [one for one in self.tools.names if self.tools.function(one) is None]
        if missing:
            raise ToolsError(f"{', '.join(missing)}: a tool of an agent needs a function: toolglot.Tool(name=, parameters=, function=)")
        if isinstance(model, str):
            model, source = Server(model, name, api_key, request or {}, patience), "openai"
        elif not callable(model):
            raise TypeError(f"model: an address or a callable is needed, not {type(model).__name__}")
        if source not in _clients.SOURCES:
            raise ValueError(f"source={source!r}: it is one of {', '.join(map(repr, _clients.SOURCES))}")
        if dialect is None and engine is None:
            raise TypeError("dialect: name the model's tool-call format, for example 'hermes'")
        engine, dialect = (engine, engine.dialects[0]) if engine and not dialect else _tools.engine_of(engine, str(dialect))
        self._model = model
        self._source = source
        self._approve = approve
        self._recall = recall
        self._system = system
        form = {
            "dialect": dialect,
            "tools": json.loads(self.tools._native.manifest()),
            "config": {
                "timeout": _milliseconds(timeout),
                "maxIterations": max_rounds,
                "parallelExecution": parallel,
            },
            "policy": _policy(policy),
            "shape": "openai" if native else "text",
            "lang": lang,
            "recovered": recovered,
            "references": references,
            "max_concurrent": max_concurrent,
            "task_timeout": _milliseconds(task_timeout),
            "budget": _budget(budget),
            "grammar": grammar,
        }
        self._core = _native.AgentCore(engine, _support.dumps("agent", form))

    def run(self, what: str | Iterable[Mapping[str, Any]]) -> Run:
        """Returns a run that begins with a user's message, or continues a conversation. It starts when iterated or awaited."""
        messages = [{"role": "user", "content": what}] if isinstance(what, str) else _tools.conversation(what)
        if self._system is not None:
            messages.insert(0, {"role": "system", "content": self._system})
        return Run(self, self._core.run(_support.dumps("messages", messages)))

    def steps(self, steps: Iterable[Mapping[str, Any]]) -> Run:
        """Returns the run of a workflow: calls, `{"tool", "arguments"}`, that run one after another without a model. They may refer
        to results of earlier ones, `{{1.result.path}}`. The first that does not complete stops the rest."""
        return Run(self, self._core.steps(_support.dumps("steps", list(steps))), workflow=True)

    def run_sync(
        self, what: str | Iterable[Mapping[str, Any]], *, on_event: Callable[[RunEvent], Any] | None = None
    ) -> Run:
        """`run` for programs without an event loop. Returns the run when it is finished or waits for a decision."""
        return self.run(what).sync(on_event)

    def resume(self, saved: str) -> Run:
        """Continues a saved run of this agent or of one with the same tools, on any machine.

        Never starts a call twice: `recall` supplies the results of calls that were started, or else the model learns that they are
        unknown. Requests an incomplete reply again. Raises `SnapshotError`.
        """
        core = self._core.restore(saved)
        read = json.loads(saved)
        run = Run(self, core, workflow=read["workflow"])
        try:
            run.calls = [RunCall(**one) for one in read.get("python", [])]
        except (TypeError, AttributeError) as error:
            raise SnapshotError(f"the calls of the saved run cannot be read: {error}") from None
        run._collect()
        return run

    def __repr__(self) -> str:
        return f"<toolglot.Agent with {len(self.tools)} tools>"


class Run:
    """A conversation of a model with its tools. Made by `Agent.run`, `Agent.steps` and `Agent.resume`.

    `async for event in run` drives the run and yields its `RunEvent`s; `await run` does the same and returns the run. When that ends,
    the run has an `outcome`, or calls of it wait for a decision (`waiting`): make it with `decide`, or save the run, and iterate again.

    Leaving an iteration, by `break` or an exception, stops everything that it started. The next one requests an incomplete reply
    again, and the model learns that the result of a running call is unknown.

    An exception of the model or of `approve` propagates from the iteration; the next iteration asks again. An exception of a tool is
    the tool's result: the model gets its name and message, and the traceback is logged (logger `toolglot`).
    """

    def __init__(self, agent: Agent, core: _native.RunCore, *, workflow: bool = False) -> None:
        """Made by an agent."""
        self._agent = agent
        self._workflow = workflow
        self._core = core
        self.calls: list[RunCall] = []
        """The committed calls, in order."""
        self._questions: dict[str, PendingCall] = {}
        # Ids of running tasks, and of the calls that began them.
        self._tasks: dict[str, str] = {}
        # Undelivered events, pending instructions, and calls whose result is unknown.
        self._events: collections.deque[RunEvent] = collections.deque()
        self._todo: list[dict[str, Any]] = []
        self._left: list[str] = []
        self._drive: Drive | None = None

    # State.

    @property
    def outcome(self) -> str | None:
        """How it ended: `"answer"`, `"iterations"` (too many rounds), `"budget"` (used up), `"model_failed"`, `"cancelled"`,
        `"steps"` (of a workflow); `None` if it has not."""
        return self._outcome().get("outcome")

    @property
    def text(self) -> str:
        """The model's answer. After too many rounds or a used-up budget, a message for the user. If the model failed, its text so
        far, or else the reason."""
        outcome = self._outcome()
        return str(outcome.get("text") or outcome.get("message") or "")

    @property
    def completed(self) -> bool:
        """Whether the model answered, or all steps of a workflow completed."""
        outcome = self._outcome()
        return outcome.get("outcome") == "answer" or outcome.get("completed") is True

    def _outcome(self) -> dict[str, Any]:
        return json.loads(self._core.outcome() or "{}")  # type: ignore[no-any-return]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far, without the agent's prompt about its tools."""
        return json.loads(self._core.messages())  # type: ignore[no-any-return]

    @property
    def receipts(self) -> list[dict[str, str]]:
        """Receipts of the calls that were started: `id`, `tool`, `digest` (SHA-256 of the arguments), and `task` if it began one."""
        return json.loads(self._core.receipts())  # type: ignore[no-any-return]

    @property
    def waiting(self) -> list[PendingCall]:
        """Calls that wait for a decision."""
        return list(self._questions.values())

    @property
    def tasks(self) -> list[str]:
        """Ids of tasks that have no result yet."""
        return list(self._tasks)

    def save(self) -> str:
        """Returns the run as JSON text for `Agent.resume`. Can be called at any time."""
        saved = json.loads(self._core.save())
        saved["python"] = [dataclasses.asdict(one) for one in self.calls]
        return _support.dumps("run", saved)

    # Inputs.

    def decide(self, call: PendingCall | str, decision: Decision) -> None:
        """Decides on a waiting call, as `approve` would. Raises `StateError` if it is not waiting."""
        identity = call if isinstance(call, str) else call.id
        said = decided(decision)
        if said is None:
            return
        self._tell({"decision": [identity, said]})
        self._questions.pop(identity, None)
        self._wake()

    def later(self, task: str, result: Any) -> None:
        """Supplies the result of a task, by its id, or by any name if no tool began it; an exception means that the task failed.
        The model gets it with the next message, and is asked again if it has already answered. Raises `StateError` if the run is
        over or the task already has its result."""
        known = any(receipt.get("task") == task for receipt in self.receipts)
        self._tell({"later": {"id": task if known else "", "name": task, **outcome_of(result)}})
        self._wake()

    def cancel(self) -> None:
        """Ends the run: aborts running calls, and cancels all without a result. Can be called from any thread."""
        drive = self._drive
        if drive is not None:
            with contextlib.suppress(RuntimeError):  # Its loop may be closed by now.
                drive.loop.call_soon_threadsafe(drive.cancel)
                return
        self._core.tell('"cancel"')
        self._collect()

    def _wake(self) -> None:
        if self._drive is not None:
            self._drive.wake()

    def _tell(self, what: dict[str, Any]) -> None:
        self._core.tell(_support.utf8(_support.dumps("run", what)))

    # Iteration.

    def __aiter__(self) -> AsyncIterator[RunEvent]:
        """Drives the run and yields its events."""
        return _Iteration(self)

    def _begin(self) -> Drive:
        if self._drive is not None:
            if not self._drive.loop.is_closed():
                raise BusyError("the run is already being iterated")
            self._drive.close()
        self._drive = Drive(self)
        return self._drive

    def __await__(self) -> Generator[Any, None, Run]:
        """Drives the run, and returns it when it is finished or waits for a decision."""
        return self._finish(None).__await__()

    async def _finish(self, on_event: Callable[[RunEvent], Any] | None) -> Run:
        async for event in self:
            said = on_event(event) if on_event is not None else None
            if inspect.isawaitable(said):
                await said
        return self

    def sync(self, on_event: Callable[[RunEvent], Any] | None = None) -> Run:
        """Drives the run without an event loop, until it is finished or waits for a decision."""
        try:
            here = asyncio.current_task()
        except RuntimeError:
            return asyncio.run(self._finish(on_event))
        # This thread already runs a loop, as in a notebook: use a loop in another thread.
        out: list[Any] = []

        def work() -> None:
            try:
                out.append(asyncio.run(self._finish(on_event)))
            except BaseException as error:  # noqa: BLE001
                out.append(error)

        thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), name="toolglot", daemon=True)
        thread.start()
        asked = getattr(here, "cancelling", int)  # Since Python 3.11, where Ctrl-C cancels the task.
        before = asked()
        try:
            while thread.is_alive():
                thread.join(0.1)
                if asked() > before:
                    raise asyncio.CancelledError
        except BaseException:
            # The caller no longer waits for the run.
            self.cancel()
            raise
        if isinstance(out[0], BaseException):
            raise out[0]
        return self

    def _collect(self) -> None:
        """Takes all instructions of the core: queues events for delivery, and the rest for execution."""
        while (one := self._core.take()) is not None:
            do = json.loads(one)
            self._note(do)
            if do["do"] == "event":
                self._events.append(self._event(do))
            elif do["do"] == "abort":
                self._todo = [other for other in self._todo if runs(other) != do["call"]]
                self._todo.append(do)
            elif do["do"] != "finished":
                self._todo.append(do)

    def _event(self, do: dict[str, Any]) -> RunEvent:
        identity = do.get("id", "")
        call = self._call(self._tasks.get(identity, identity))
        # The id of a later result is that of a task that has ended.
        name = do["result"]["name"] if do["event"] == "later" else do.get("name")
        return RunEvent(
            kind=do["event"],
            id=identity,
            name=name or (call.name if call else ""),
            text=do.get("text", ""),
            arguments=_loads(do["arguments"]) if "arguments" in do else None,
            state=do.get("state", ""),
            result=_result(do["result"]) if "result" in do else None,
            message=do.get("message"),
            task=do.get("task", ""),
        )

    def _note(self, do: dict[str, Any]) -> None:
        kind = do.get("event") if do["do"] == "event" else do["do"]
        if kind == "stands" and self._call(do["id"]) is None:
            self.calls.append(RunCall(do["id"], do["name"], _loads(do["arguments"])))
        elif kind == "confirm":
            self._questions[do["id"]] = PendingCall(
                id=do["id"],
                name=do["name"],
                tool=do["tool"],
                arguments=json.loads(do["arguments"]),
                arguments_json=do["arguments"],
                digest=do["digest"],
                reason=do["reason"],
            )
        elif kind in ("begun", "recall") and do.get("task"):
            self._tasks[do["task"]] = do["id"]
        elif kind == "later":
            self._tasks.pop(do["id"], None)
        call = self._call(do.get("id", ""))
        if kind == "start" and call is None:
            # A step of a workflow, which no model wrote.
            call = RunCall(do["id"], do["name"], None, "running")
            self.calls.append(call)
        if call is None:
            return
        if kind == "start":
            call.arguments = json.loads(do["arguments"])
        elif kind in ("waiting", "running"):
            call.state = kind
        elif kind == "settled":
            call.state, call.result = do["state"], _result(do["result"])
            took = do["result"].get("duration_ms")
            call.duration = None if took is None else took / 1000
            self._questions.pop(call.id, None)
            if self._workflow:
                # A step of a workflow waits for its task.
                self._tasks = {task: by for task, by in self._tasks.items() if by != call.id}

    def _call(self, identity: str) -> RunCall | None:
        return next((call for call in reversed(self.calls) if call.id == identity), None)

    def __reduce__(self) -> Any:
        """Refuses: two copies would carry out each call twice."""
        raise TypeError("a run cannot be copied or pickled; Run.save returns it as text")

    def __repr__(self) -> str:
        return f"<toolglot.Run, {self.outcome or 'not finished'}>"


class _Iteration(AsyncIterator[RunEvent]):
    """An iteration over a run. Not a generator: Python may close an abandoned async generator late; this ends at once."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._drive: Drive | None = None
        self._over = self._runs = False

    def __aiter__(self) -> _Iteration:
        return self

    async def __anext__(self) -> RunEvent:
        if self._runs:
            raise BusyError("this iteration is already being awaited")
        if self._over:
            raise StopAsyncIteration
        self._runs = True
        try:
            if self._drive is None:
                self._drive = self._run._begin()
            event = await self._drive.event()
        except BaseException:
            self._end()
            raise
        finally:
            self._runs = False
        if event is None:
            self._end()
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        """Ends the iteration."""
        self._end()

    def _end(self) -> None:
        self._over = True
        drive, self._drive = self._drive, None
        if drive is not None:
            drive.close()

    def __del__(self) -> None:
        self._end()


def _milliseconds(seconds: float | None) -> int:
    return _LONG if seconds is None else max(1, round(min(seconds * 1000, _LONG)))


def _budget(budget: Mapping[str, float] | None) -> dict[str, int]:
    """The limits of a run: counts, and seconds for `time`."""
    if budget is not None and not isinstance(budget, Mapping):
        raise TypeError(f"budget: a mapping is needed, not {type(budget).__name__}")
    limits = {}
    for name, limit in (budget or {}).items():
        if name not in ("calls", "bytes", "time"):
            raise ValueError(f"budget: there is no limit {name!r}; there are 'calls', 'bytes' and 'time'")
        if isinstance(limit, bool) or not isinstance(limit, (int, float) if name == "time" else int) or limit < 0:
            raise ValueError(f"budget: {name}={limit!r}: a number that is not negative is needed")
        limits[name] = _milliseconds(limit) if name == "time" else int(limit)
    return limits


def _policy(policy: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(policy, str):
        if policy not in ("deny", "confirm", "allow"):
            raise ValueError(f"policy={policy!r}: it is 'deny', 'confirm', 'allow' or a mapping with rules of these names")
        return {policy: [{}]}
    if not isinstance(policy, Mapping):
        raise TypeError(f"policy: 'deny', 'confirm', 'allow' or a mapping is needed, not {type(policy).__name__}")
    rules: dict[str, Any] = {}
    for verdict, found in policy.items():
        given = [found] if isinstance(found, (str, Mapping)) else list(found or [])
        if not all(isinstance(one, (str, Mapping)) for one in given):
            raise TypeError(f"policy: a rule of {verdict!r} is the name of a tool or a mapping")
        rules[verdict] = [{"tools": [one]} if isinstance(one, str) else dict(one) for one in given]
    return rules


def _result(result: dict[str, Any]) -> Any:
    content = result["content"]
    if isinstance(content, list) and len(content) == 1 and content[0].get("type") == "json":
        return content[0]["json"]
    return content


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
