"""Agents: a model, its tools, and who says which of its calls are carried out.

The rules are those of the native part, which does no input or output: it says what to do (`_native.RunCore.take`) and is told
what came of it. Here is what does it: one task for the reply of the model and one for each call and each question. They belong to
the iteration that began them and end with it.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import contextvars
import dataclasses
import functools
import inspect
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Mapping
from typing import Any, Literal, TypeAlias

from . import _clients, _native, _support, _threads, _tools
from ._errors import BusyError, SnapshotError, StateError, ToolsError
from ._native import Engine
from ._server import Server
from ._tools import Tools

__all__ = ["Agent", "PendingCall", "Run", "RunCall", "RunEvent", "Task"]

_log = logging.getLogger("toolglot")
# Milliseconds that no call takes.
_LONG = 2**48


@dataclasses.dataclass(frozen=True)
class PendingCall:
    """A call that a person is to decide on. What runs is byte for byte what is approved."""

    id: str
    """Its id."""
    name: str
    """Name of the tool, as the call has it."""
    tool: str
    """Name of the tool, as it is defined."""
    arguments: dict[str, Any]
    """The arguments that would be handed over."""
    arguments_json: str
    """Their JSON text."""
    digest: str
    """SHA-256 of that text."""
    reason: str
    """Why a person is asked."""


@dataclasses.dataclass
class RunCall:
    """A call that stands."""

    id: str
    """Its id."""
    name: str
    """Name of the tool."""
    arguments: Any
    """The arguments: those that were handed over, once it runs. Text where the model's own cannot be read."""
    state: str = "stands"
    """`"stands"`, `"waiting"`, `"running"`, and in the end `"completed"`, `"failed"`, `"denied"`, `"timed_out"`, `"cancelled"`
    or `"not_run"`."""
    result: Any = None
    """What the model is told: text, a JSON value, or a list of parts as MCP writes them."""


@dataclasses.dataclass(frozen=True)
class RunEvent:
    """Something that happened in a run.

    | kind | says | with |
    |---|---|---|
    | `text`, `reasoning` | a piece of the reply | `text` |
    | `named`, `written`, `retracted` | the model writes a call, has written it, or took it back | `name` |
    | `stands` | a call counts | `id`, `name`, `arguments` |
    | `waiting`, `running` | it waits for a person, was started | `id`, `name` |
    | `progress` | it, or a task, gave a piece of its output | `id`, `name`, `text` |
    | `settled` | it has its result | `id`, `name`, `state`, `result` |
    | `begun` | it goes on as a task | `id`, `name`, `task` |
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


@dataclasses.dataclass(frozen=True)
class Task:
    """What a tool gives in place of a result where that takes longer than anybody waits: the call is completed at once, with the
    task's id as its result, and the model is told later what came of it.

    `work` is a function without parameters, sync or async, and what it gives is the result of the task; what it yields is
    progress. Without it somebody else carries the task on, and `Run.later` tells what came of it.

    >>> import toolglot
    >>> def index(folder: str):
    ...     "Reads all files of a folder."
    ...     return toolglot.Task(f"index-{folder}", lambda: f"{folder} has 3 files")
    >>> replies = ['<tool_call>{"name": "index", "arguments": {"folder": "a"}}</tool_call>', "I wait.", "There are 3."]
    >>> model = lambda messages: replies[sum(one["role"] == "assistant" for one in messages)]
    >>> run = toolglot.Agent(model, tools=[index], dialect="hermes", policy="allow").run_sync("Index a.")
    >>> run.text, run.messages[-2]["content"]
    ('There are 3.', 'index index-a: a has 3 files')
    """

    id: str
    """Its id, which no other call or task of the run may have."""
    work: Callable[[], Any] | None = None
    """What carries it on."""

    def __post_init__(self) -> None:
        """Looks at the types, for a tool makes it."""
        if not isinstance(self.id, str):
            raise TypeError(f"Task: the id is text, not {type(self.id).__name__}")
        if self.work is not None and not callable(self.work):
            raise TypeError(f"Task: work is a function without parameters, not {type(self.work).__name__}")


Decision: TypeAlias = bool | str | Mapping[str, Any] | None
"""What `approve` says: `True`, `False`, words that say why not, other arguments, or `None` to put it off."""


class Agent:
    """A model with tools.

    `model` is the address of an OpenAI-compatible server, or a callable that takes the messages and gives the reply: an
    iterator, sync or async, of `str`, `bytes` or what the official clients yield, or a whole response. It gets `tools`, `stop` and
    `grammar` too if it has parameters of these names.

    `tools` are functions, sync or async, or whatever `Tools` takes. `policy` says which calls are carried out: `"confirm"` (a
    person is asked about each), `"allow"`, or rules, `{"deny": [..], "confirm": [..], "allow": [..]}`, of which the first that
    applies counts, in this order; what none allows is denied. A rule is the name of a tool (`*` stands for anything), or a
    mapping of `tools`, `tags`, `namespaces`, `annotations`, `arguments` (`[{"pointer": "/path", "pattern": "^/etc"}]`) and `reason`.

    `approve` is asked about calls that are to be confirmed: a function of a `PendingCall`, sync or async, that gives `True`,
    `False`, words that say why not, a mapping of other arguments, or `None` to put it off. Without it such calls wait in `Run.waiting`.

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
        recovered: Literal["answer", "confirm"] = "answer",
        references: bool = False,
        grammar: bool = False,
        recall: Callable[[Mapping[str, str]], Any] | None = None,
    ) -> None:
        """`dialect` is what the model writes its calls in, and is taught in the system message after `system`. With `native` the
        server gets the definitions as `tools` instead, and `dialect` says what calls in its text look like.

        Of a server `name` is the model's, `request` holds further members of the request (`temperature`), and `patience` is how
        many seconds it may be silent. `source` says what the chunks of a callable are where that cannot be told; see `events`.

        A call has `timeout` seconds and a `Task` `task_timeout`, or with `None` as long as it takes; after `max_rounds` rounds of calls no more are carried out. With `parallel` the calls of a
        reply run side by side, `max_concurrent` at most; else one after the other up to the first that fails. Functions that are
        not async run in threads of their own; one that is too slow is left alone, its result dropped.

        `recovered` says what becomes of calls that were recovered from broken text: the model is told what was wrong, or a
        person is asked. `references` lets arguments refer to results: `{{1.result.path}}`. `recall` is asked, for calls that
        were started before a run was saved, what they gave: a function of their receipt (`id`, `tool`, `digest`, and `task` of a call that
        went on as one); `None` says that nobody knows, and a `Task` that it goes on.

        Raises `ToolsError`, `DialectError`, `ValueError` or `TypeError`, with what is wrong.
        """
        if dialect is not None and not isinstance(dialect, str):
            raise TypeError(f"dialect: the name of one is needed, not {type(dialect).__name__}")
        if system is not None and not isinstance(system, str):
            raise TypeError(f"system: text is needed, not {type(system).__name__}")
        if approve is not None and not callable(approve):
            raise TypeError(f"approve: a callable is needed, not {type(approve).__name__}")
        for option, time in (("timeout", timeout), ("task_timeout", task_timeout)):
            if time is not None and not time > 0:
                raise ValueError(f"{option}={time!r}: more than no time is needed; None is as long as it takes")
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
            raise TypeError("dialect: say what the model writes its calls in, for example 'hermes'")
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
            "grammar": grammar,
        }
        self._core = _native.AgentCore(engine, _support.dumps("agent", form))

    def run(self, what: str | Iterable[Mapping[str, Any]]) -> Run:
        """A run that begins with what a user says, or goes on with messages. It does nothing until it is iterated or awaited."""
        messages = [{"role": "user", "content": what}] if isinstance(what, str) else _tools.conversation(what)
        if self._system is not None:
            messages.insert(0, {"role": "system", "content": self._system})
        return Run(self, self._core.run(_support.dumps("messages", messages)))

    def steps(self, steps: Iterable[Mapping[str, Any]]) -> Run:
        """A workflow: calls, `{"tool", "arguments"}`, that run one after the other without a model, and may refer to results of
        earlier ones, `{{1.result.path}}`. The first that does not complete stops the rest."""
        return Run(self, self._core.steps(_support.dumps("steps", list(steps))), workflow=True)

    def run_sync(
        self, what: str | Iterable[Mapping[str, Any]], *, on_event: Callable[[RunEvent], Any] | None = None
    ) -> Run:
        """`run` for programs without an event loop: gives the run when it is finished, or waits for a decision."""
        return self.run(what).sync(on_event)

    def resume(self, saved: str) -> Run:
        """Goes on with a run that was saved: by this agent or by one with the same tools, on any machine.

        Calls that were started are not started again: `recall` is asked, or the model is told that their result is unknown.
        A reply that was on its way is asked for again. Raises `SnapshotError`.
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

    `async for event in run` carries it on and gives a `RunEvent` for all that happens; `await run` does the same and gives the run.
    When that ends, the run has an `outcome`, or calls of it wait for a decision (`waiting`): say it with `decide`, or save the run, and carry it on.

    An iteration that is left, by `break` or an exception, ends what it had begun: a reply is asked for again by the next one, and the
    model is told that the result of a call that ran is unknown.

    An exception of the model or of `approve` comes out of the iteration; iterating anew asks again. One of a tool is the
    tool's result: the model is told its name and words, and the traceback is logged (logger `toolglot`).
    """

    def __init__(self, agent: Agent, core: _native.RunCore, *, workflow: bool = False) -> None:
        """Made by an agent."""
        self._agent = agent
        self._workflow = workflow
        self._core = core
        self.calls: list[RunCall] = []
        """The calls that stand, in order."""
        self._questions: dict[str, PendingCall] = {}
        # Tasks that run, and the calls that began them.
        self._tasks: dict[str, str] = {}
        # What happened and was not yet told, what is to be done, and calls of which nobody knows what came.
        self._events: collections.deque[RunEvent] = collections.deque()
        self._todo: list[dict[str, Any]] = []
        self._left: list[str] = []
        self._drive: _Drive | None = None

    # What it says.

    @property
    def outcome(self) -> str | None:
        """How it ended: `"answer"`, `"iterations"` (too many rounds), `"budget"` (nothing is left of it), `"model_failed"`, `"cancelled"`, `"steps"` (of a workflow);
        `None` if it has not."""
        return self._outcome().get("outcome")

    @property
    def text(self) -> str:
        """The model's answer; after too many rounds what to tell the user; of a model that failed what it had said, or why."""
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
        """The conversation so far, without what the agent says of its tools."""
        return json.loads(self._core.messages())  # type: ignore[no-any-return]

    @property
    def receipts(self) -> list[dict[str, str]]:
        """What calls left that were started: `id`, `tool`, `digest` (SHA-256 of the arguments), `task` of those that went on as one."""
        return json.loads(self._core.receipts())  # type: ignore[no-any-return]

    @property
    def waiting(self) -> list[PendingCall]:
        """Calls that wait for a decision."""
        return list(self._questions.values())

    @property
    def tasks(self) -> list[str]:
        """Ids of tasks that were begun and have no result yet."""
        return list(self._tasks)

    def save(self) -> str:
        """The run as JSON text, at any time, for `Agent.resume`."""
        saved = json.loads(self._core.save())
        saved["python"] = [dataclasses.asdict(one) for one in self.calls]
        return _support.dumps("run", saved)

    # What it is told.

    def decide(self, call: PendingCall | str, decision: Decision) -> None:
        """Says of a call that waits what `approve` would. Raises `StateError` if it does not wait."""
        identity = call if isinstance(call, str) else call.id
        said = _decision(decision)
        if said is None:
            return
        self._tell({"decision": [identity, said]})
        self._questions.pop(identity, None)
        self._wake()

    def later(self, task: str, result: Any) -> None:
        """The result of a task, by its id, or by any name if no tool said that there is one; an exception is a task that failed.
        The model is told with the next message, and asked again if it has answered. Raises `StateError` once the run is over, or
        the task has its result."""
        known = any(receipt.get("task") == task for receipt in self.receipts)
        self._tell({"later": {"id": task if known else "", "name": task, **_gave(result)}})
        self._wake()

    def cancel(self) -> None:
        """Ends the run: calls that run are aborted, and those without a result are cancelled. From any thread."""
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

    # What carries it on.

    def __aiter__(self) -> AsyncIterator[RunEvent]:
        """Carries it on and gives what happens."""
        return _Iteration(self)

    def _begin(self) -> _Drive:
        if self._drive is not None:
            if not self._drive.loop.is_closed():
                raise BusyError("the run is being carried on already")
            self._drive.close()
        self._drive = _Drive(self)
        return self._drive

    def __await__(self) -> Generator[Any, None, Run]:
        """Carries it on, and gives it when it is finished or waits for a decision."""
        return self._finish(None).__await__()

    async def _finish(self, on_event: Callable[[RunEvent], Any] | None) -> Run:
        async for event in self:
            said = on_event(event) if on_event is not None else None
            if inspect.isawaitable(said):
                await said
        return self

    def sync(self, on_event: Callable[[RunEvent], Any] | None = None) -> Run:
        """Carries it on without an event loop, until it is finished or waits for a decision."""
        try:
            here = asyncio.current_task()
        except RuntimeError:
            return asyncio.run(self._finish(on_event))
        # A loop runs in this thread already, as in a notebook: another thread has another one.
        out: list[Any] = []

        def work() -> None:
            try:
                out.append(asyncio.run(self._finish(on_event)))
            except BaseException as error:  # noqa: BLE001
                out.append(error)

        thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), name="toolglot", daemon=True)
        thread.start()
        asked = getattr(here, "cancelling", int)  # Since Python 3.11, which cancels the task where Ctrl-C is pressed.
        before = asked()
        try:
            while thread.is_alive():
                thread.join(0.1)
                if asked() > before:
                    raise asyncio.CancelledError
        except BaseException:
            # Nobody waits for the run any more.
            self.cancel()
            raise
        if isinstance(out[0], BaseException):
            raise out[0]
        return self

    def _collect(self) -> None:
        """Takes all that the core says: what happened waits to be told, the rest to be done."""
        while (one := self._core.take()) is not None:
            do = json.loads(one)
            self._note(do)
            if do["do"] == "event":
                self._events.append(self._event(do))
            elif do["do"] == "abort":
                self._todo = [other for other in self._todo if _runs(other) != do["call"]]
                self._todo.append(do)
            elif do["do"] != "finished":
                self._todo.append(do)

    def _event(self, do: dict[str, Any]) -> RunEvent:
        identity = do.get("id", "")
        call = self._call(self._tasks.get(identity, identity))
        # The id of a later result is that of a task, which has ended.
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
            # A step of a workflow: no model wrote it.
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
            self._questions.pop(call.id, None)
            if self._workflow:
                # A step waits for its task.
                self._tasks = {task: by for task, by in self._tasks.items() if by != call.id}

    def _call(self, identity: str) -> RunCall | None:
        return next((call for call in reversed(self.calls) if call.id == identity), None)

    def __reduce__(self) -> Any:
        """Refuses: two copies would carry out each call twice."""
        raise TypeError("a run is neither copied nor pickled; Run.save gives it as text")

    def __repr__(self) -> str:
        return f"<toolglot.Run, {self.outcome or 'not finished'}>"


class _Iteration(AsyncIterator[RunEvent]):
    """An iteration over a run. No generator: Python ends those that are left at some later time, and this one at once."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._drive: _Drive | None = None
        self._over = self._runs = False

    def __aiter__(self) -> _Iteration:
        return self

    async def __anext__(self) -> RunEvent:
        if self._runs:
            raise BusyError("this iteration is awaited already")
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
        """Leaves it."""
        self._end()

    def _end(self) -> None:
        self._over = True
        drive, self._drive = self._drive, None
        if drive is not None:
            drive.close()

    def __del__(self) -> None:
        self._end()


class _Drive:
    """What carries a run on for one iteration: owns all that it begins."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.core = run._core
        self.agent = run._agent
        self.loop = asyncio.get_running_loop()
        # Small: a model that is faster than its host waits.
        self.inbox: asyncio.Queue[tuple[Any, ...]] = asyncio.Queue(64)
        self.tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        # Calls whose task has not run yet.
        self.unbegun: dict[str, dict[str, Any]] = {}
        self.errors: list[Exception] = []
        self.clock = (self.loop.time(), self.core.now())
        self.begun = self.cancelled = False

    def now(self) -> int:
        began, then = self.clock
        return then + int((self.loop.time() - began) * 1000)

    def wake(self) -> None:
        # Where it is full, there is something to wake up for.
        if not self.inbox.full():
            self.inbox.put_nowait(("wake",))

    def cancel(self) -> None:
        self.cancelled = True
        self.wake()

    async def event(self) -> RunEvent | None:
        """The next thing that happens; `None` if nothing will."""
        if not self.begun:
            self.begun = True
            self.pick_up()
        while True:
            self.act()
            if self.run._events:
                return self.run._events.popleft()
            if self.core.waits() == "nothing" or not self.tasks and self.inbox.empty() and not self.errors:
                return None
            await self.next()

    def pick_up(self) -> None:
        """Goes on where the last iteration ended."""
        for identity in self.run._left:
            # It was begun by an iteration that was left: what came of it is not known.
            self.lost(identity)
        self.run._left = []
        for question in self.run.waiting:
            self.ask_person(question)
        self.act()
        if self.core.waits() == "model" and ("reply", "") not in self.tasks:
            # Nobody has the rest of the reply.
            self.ask_again()

    def act(self) -> None:
        """Begins all that is to be done."""
        self.run._collect()
        while todo := self.run._todo:
            self.run._todo = []
            if self.core.waits() == "nothing":
                todo = [do for do in todo if do["do"] == "abort"]
            for do in todo:
                self.do(do)
            self.run._collect()

    def do(self, do: dict[str, Any]) -> None:
        what = do["do"]
        if what == "ask":
            self.stop("reply", "")
            self.begin("reply", "", lambda: self.ask(do))
        elif what == "confirm":
            question = self.run._questions.get(do["id"])
            if question is not None:
                self.ask_person(question)
        elif what == "start":
            self.unbegun[do["id"]] = do
            self.begin("call", do["id"], lambda: self.carry(do))
        elif what == "abort":
            self.stop("call", do["call"])
        elif what == "recall":
            if self.agent._recall is None:
                self.lost(_runs(do))
            else:
                self.begin("call", _runs(do), lambda: self.recall(do))

    def lost(self, identity: str) -> None:
        with contextlib.suppress(StateError):  # It may be settled by now.
            self.core.tell(json.dumps({"lost": identity}))

    def begin(self, kind: str, identity: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        # Made in the task: what is stopped before it ran has then no coroutine that nobody awaited.
        self.tasks[kind, identity] = self.loop.create_task(self.guarded(kind, identity, work))

    async def guarded(self, kind: str, identity: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """What is begun puts what comes of it into the inbox, and last of all that it has ended."""
        if kind == "call":
            self.unbegun.pop(identity, None)
        try:
            await work()
        except Exception as error:  # noqa: BLE001
            await self.inbox.put(("raise", _threads.tamed(error)))
        except BaseException as error:
            # SystemExit and its like of a model or a person do not end the program, and one that cancels itself is not stopped.
            # Nothing is awaited here: it may be the end of the loop.
            if not self.stopped(kind, identity):
                del self.tasks[kind, identity]
                self.errors.append(_threads.tamed(error))
                with contextlib.suppress(RuntimeError):
                    self.wake()
            if isinstance(error, (asyncio.CancelledError, KeyboardInterrupt)):
                raise
            return
        await self.inbox.put(("over", kind, identity, asyncio.current_task()))

    def stopped(self, kind: str, identity: str) -> bool:
        """Whether the task that runs was stopped, by this drive or with the loop. What it carries out may raise the same error."""
        task = asyncio.current_task()
        asked = getattr(task, "cancelling", None)  # Since Python 3.11.
        return self.tasks.get((kind, identity)) is not task or bool(asked and asked())

    def stop(self, kind: str, identity: str) -> None:
        if kind == "call":
            self.unbegun.pop(identity, None)
        task = self.tasks.pop((kind, identity), None)
        if task is None:
            return
        try:
            here = asyncio.get_running_loop() is self.loop
        except RuntimeError:
            here = False
        if here:
            task.cancel()
        else:
            # The iteration was dropped elsewhere, or its loop is closed.
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(task.cancel)

    def close(self) -> None:
        """Ends all that was begun. Calls that had not run yet are begun by the next iteration."""
        self.run._todo = [*self.unbegun.values(), *self.run._todo]
        self.run._left += [identity for kind, identity in self.tasks if kind == "call" and identity not in self.unbegun]
        for kind, identity in list(self.tasks):
            self.stop(kind, identity)
        if self.run._drive is self:
            self.run._drive = None

    async def next(self) -> None:
        """Waits for the next thing that happens, and tells the run."""
        deadline = self.core.deadline()
        timer = None if deadline is None else self.loop.call_later(max(0, deadline - self.now()) / 1000, self.wake)
        try:
            item = await self.inbox.get()
        finally:
            if timer is not None:
                timer.cancel()
        now = self.now()
        if now > self.core.now():
            self.core.tell(json.dumps({"tick": now}))
        if self.cancelled:
            self.cancelled = False
            self.core.tell('"cancel"')
        if self.errors:
            raise self.errors.pop(0)
        if item[0] == "raise":
            raise item[1]
        if item[0] == "over":
            if self.tasks.get((item[1], item[2])) is item[3]:
                del self.tasks[item[1], item[2]]
        elif item[0] == "model":
            if self.current("reply", "", item[2]):
                self.core.model(item[1])
        elif item[0] == "tell":
            kind, identity, text, task = item[1:]
            if self.current(kind, identity, task):
                # It may be too late for that, which the run knows; then nothing changes.
                with contextlib.suppress(StateError):
                    self.core.tell(text)
                if kind == "person":
                    self.run._questions.pop(identity, None)
        elif item[0] == "begun":
            call, went_on, task = item[1:]
            if self.current("call", call["id"], task):
                self.go_on(call, went_on)

    def go_on(self, call: dict[str, Any], task: Task) -> None:
        """A call goes on as a task."""
        try:
            self.core.tell(_support.utf8(_support.dumps("run", {"begun": [call["id"], task.id]})))
        except StateError as error:
            failed = {"id": call["id"], "name": call["name"], "status": "error", "content": str(error)}
            with contextlib.suppress(StateError):
                self.core.tell(_support.utf8(_support.dumps("run", {"done": failed})))
            return
        work = task.work
        if work is not None:
            own = {"id": task.id, "name": call["name"]}
            self.begin("call", task.id, lambda: self.settle(own, work, work, "later"))

    def current(self, kind: str, identity: str, task: Any) -> bool:
        """Whether what a task says still counts: it may have been stopped, and the run may know it settled."""
        if self.tasks.get((kind, identity)) is not task:
            return False
        if kind == "reply":
            return self.core.waits() == "model"
        return True

    async def tell(self, kind: str, identity: str, what: dict[str, Any], task: Any = None) -> None:
        text = _support.utf8(_support.dumps("run", what))
        await self.inbox.put(("tell", kind, identity, text, task or asyncio.current_task()))

    def ask_again(self) -> None:
        try:
            self.core.tell('"ask_again"')
        except StateError:
            # Calls of it stand already.
            self.core.tell('{"ended": "error"}')

    # The model.

    async def ask(self, do: dict[str, Any]) -> None:
        task = asyncio.current_task()
        feed = _clients.Feed(self.agent._source, _target)

        async def put(item: Any) -> None:
            for kind, said in feed.feed(item):
                await self.inbox.put((kind, said, task) if kind == "model" else (kind, "reply", "", said, task))

        model = self.agent._model
        more = {"tools": do.get("tools") or [], "stop": do["stop"], "grammar": do.get("grammar")}
        given = {key: value for key, value in more.items() if key in _accepted(model)}
        said: Any = model(do["messages"], **given) if _is_async(model) else None
        if said is None:
            said = await _threads.each(lambda: _sync(model(do["messages"], **given)), put)
        if inspect.isawaitable(said):
            made = await said
            said = made if hasattr(made, "__aiter__") else await _threads.each(lambda: _sync(made), put)
        if said is not None:
            try:
                async for item in said:
                    await put(item)
            finally:
                await _closed(said)
        for kind, last in feed.finish():
            await self.inbox.put((kind, last, task) if kind == "model" else (kind, "reply", "", last, task))

    # People.

    def ask_person(self, call: PendingCall) -> None:
        if self.agent._approve is not None and ("person", call.id) not in self.tasks:
            self.begin("person", call.id, lambda: self.confirm(call))

    async def confirm(self, call: PendingCall) -> None:
        approve = self.agent._approve
        assert approve is not None
        said = _decision(await _called(approve, call))
        if said is not None:
            await self.tell("person", call.id, {"decision": [call.id, said]})

    # Tools.

    async def carry(self, do: dict[str, Any]) -> None:
        tool = self.agent.tools.function(do["tool"])
        if tool is None:
            raise ToolsError(f"the tool {do['tool']} has no function")
        arguments = json.loads(do["arguments"])
        await self.settle(do, lambda: tool.run(arguments), tool.function)

    async def recall(self, receipt: dict[str, Any]) -> None:
        recall = self.agent._recall
        assert recall is not None
        shown = {key: receipt[key] for key in ("id", "tool", "digest", "task") if key in receipt}
        found = await _called(recall, shown)
        own = {"id": _runs(receipt), "name": receipt["tool"]}
        if found is None:
            await self.tell("call", own["id"], {"lost": own["id"]})
        elif "task" not in receipt:
            await self.settle(own, lambda: found, None)
        elif not isinstance(found, Task):
            await self.settle(own, lambda: found, None, "later")
        elif found.id != receipt["task"]:
            raise ValueError(f"recall: the task is {receipt['task']!r}, not {found.id!r}")
        elif found.work is not None:
            await self.settle(own, found.work, found.work, "later")

    async def settle(self, call: dict[str, Any], work: Callable[[], Any], function: Any, how: str = "done") -> None:
        """Tells what came of a call or a task."""
        identity = call["id"]
        began = self.loop.time()
        try:
            value = await self.value(identity, work, function)
            if isinstance(value, Task):
                if how == "done":
                    await self.inbox.put(("begun", call, value, asyncio.current_task()))
                    return
                raise TypeError("a task goes on as no other task")
            gave = _gave(value)
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, GeneratorExit)):
                raise
            if isinstance(error, asyncio.CancelledError) and self.stopped("call", identity):
                raise
            _log.warning("the tool %s failed", call["name"], exc_info=error)
            gave = _gave(error)
        took = int((self.loop.time() - began) * 1000)
        await self.tell("call", identity, {how: {"id": identity, "name": call["name"], **gave, "duration_ms": took}})

    async def value(self, identity: str, work: Callable[[], Any], function: Any) -> Any:
        """What a function gives, awaited. What it yields is progress, and its result the text of all."""
        pieces: list[str] = []

        async def put(piece: Any) -> None:
            pieces.append(piece if isinstance(piece, str) else str(piece))
            await self.tell("call", identity, {"progress": [identity, pieces[-1]]}, task)

        task = asyncio.current_task()
        value = work() if _is_async(function) else await _threads.call(work)
        if inspect.isawaitable(value):
            value = await value
        if inspect.isgenerator(value):
            await _threads.each(lambda: value, put)
            return "".join(pieces)
        if inspect.isasyncgen(value):
            try:
                async for piece in value:
                    await put(piece)
            finally:
                await _closed(value)
            return "".join(pieces)
        return value


def _gave(value: Any) -> dict[str, Any]:
    """What a tool gave, as results have it; an exception is a failure in its words."""
    if isinstance(value, BaseException):
        return {"status": "error", "content": _threads.words(value)}
    return {"status": "error" if _tools.failed(value) else "success", "content": _tools.content(value)}


def _runs(do: Mapping[str, Any]) -> Any:
    """The id by which what runs is spoken of: that of the task, else that of the call."""
    return do.get("task") or do.get("id")


def _milliseconds(seconds: float | None) -> int:
    return _LONG if seconds is None else max(1, round(min(seconds * 1000, _LONG)))


class _Text:
    """A reply that is text."""

    def feed(self, chunk: str | bytes, /) -> list[Any]:
        return [("model", _support.utf8(chunk) if isinstance(chunk, str) else chunk)] if chunk else []

    def finish(self) -> list[Any]:
        return [("tell", '{"ended": "stop"}')]


class _Response:
    """A reply that is the response of a server."""

    def __init__(self, source: str) -> None:
        self._core = _native.ResponseCore(source)

    def feed(self, chunk: str | bytes, /) -> list[Any]:
        return [("tell", line) for line in self._core.feed(chunk)]

    def finish(self) -> list[Any]:
        return [("tell", line) for line in self._core.finish()]


def _target(source: str, _item: Any) -> Any:
    return _Text() if source == "text" else _Response(source)


def _sync(reply: Any) -> Any:
    """What a thread iterates over; what is async stays as it is."""
    if hasattr(reply, "__aiter__") or inspect.isawaitable(reply):
        return reply
    try:
        return _clients._iter(reply)
    except TypeError:
        raise TypeError(f"the model gave no reply but {type(reply).__name__}: text, chunks or a response are needed") from None


async def _closed(stream: Any) -> None:
    """Ends what was iterated over: a connection may hang on it."""
    close = getattr(stream, "aclose", None) or getattr(stream, "close", None)
    with contextlib.suppress(Exception):
        done = close() if callable(close) else None
        if inspect.isawaitable(done):
            await done


def _is_async(function: Any) -> bool:
    """Whether calling it only makes what is to be awaited or iterated in the loop."""
    while isinstance(function, functools.partial):
        function = function.func
    inner = function if inspect.isroutine(function) else getattr(function, "__call__", function)
    return inspect.iscoroutinefunction(inner) or inspect.isasyncgenfunction(inner)


async def _called(function: Callable[..., Any], *given: Any) -> Any:
    value = function(*given) if _is_async(function) else await _threads.call(lambda: function(*given))
    return await value if inspect.isawaitable(value) else value


def _accepted(model: Callable[..., Any]) -> set[str]:
    """What of `tools`, `stop` and `grammar` a model takes by name."""
    try:
        parameters = inspect.signature(model).parameters
    except (TypeError, ValueError):
        return set()
    named = {name for name, one in parameters.items() if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)}
    return named & {"tools", "stop", "grammar"}


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


def _decision(said: Decision) -> Any:
    if said is None:
        return None
    if isinstance(said, bool):
        return "approve" if said else {"deny": ""}
    if isinstance(said, str):
        return {"deny": said}
    if isinstance(said, Mapping):
        return {"edit": _support.dumps("arguments", dict(said))}
    raise TypeError(f"a decision is True, False, words that say why not, arguments or None, not {type(said).__name__}")


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
