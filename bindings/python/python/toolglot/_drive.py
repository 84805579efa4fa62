"""Drives a run: carries out the instructions of the native part, and returns the results to it.

There is one asyncio task for the model's reply, and one for each call and each question. They belong to the iteration that started
them, and end with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import inspect
import json
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _clients, _native, _support, _threads, _tools
from ._errors import StateError, ToolsError

if TYPE_CHECKING:
    from ._agent import PendingCall, Run, RunEvent

_log = logging.getLogger("toolglot")

Decision: TypeAlias = bool | str | Mapping[str, Any] | None
"""What `approve` returns: `True`, `False`, a reason for refusing, other arguments, or `None` to defer the decision."""


@dataclasses.dataclass(frozen=True)
class Task:
    """What a tool returns to continue its work in the background: the call completes at once, with the task's id as its result,
    and the model gets the task's result later.

    `work` is a function without parameters, sync or async. Its return value is the result of the task; values that it yields are
    progress. Without `work` the task runs elsewhere, and `Run.later` supplies its result.

    >>> import toolglot
    >>> def index(folder: str):
    ...     "Reads all files of a folder."
    ...     return toolglot.Task(f"index-{folder}", lambda: f"{folder} has 3 files")
    >>> def model(messages):
    ...     if "3 files" in messages[-1]["content"]:
    ...         return "There are 3."
    ...     return "I wait." if len(messages) > 2 else '<tool_call>{"name": "index", "arguments": {"folder": "a"}}</tool_call>'
    >>> run = toolglot.Agent(model, tools=[index], dialect="hermes", policy="allow").run_sync("Index a.")
    >>> run.text, run.messages[-2]["content"]
    ('There are 3.', 'index index-a: a has 3 files')
    """

    id: str
    """Its id: unique among the calls and tasks of the run."""
    work: Callable[[], Any] | None = None
    """The function that does the work."""

    def __post_init__(self) -> None:
        """Checks the types, since the values come from a tool."""
        if not isinstance(self.id, str):
            raise TypeError(f"Task: the id is text, not {type(self.id).__name__}")
        if self.work is not None and not callable(self.work):
            raise TypeError(f"Task: work is a function without parameters, not {type(self.work).__name__}")


class Drive:
    """Drives a run for one iteration. Owns everything that it starts."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.core = run._core
        self.agent = run._agent
        self.loop = asyncio.get_running_loop()
        # Bounded, so that a model that is faster than its host waits.
        self.inbox: asyncio.Queue[tuple[Any, ...]] = asyncio.Queue(64)
        self.tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        # Calls whose asyncio task has not run yet.
        self.unbegun: dict[str, dict[str, Any]] = {}
        self.errors: list[Exception] = []
        self.clock = (self.loop.time(), self.core.now())
        self.begun = self.cancelled = False

    def now(self) -> int:
        began, then = self.clock
        return then + int((self.loop.time() - began) * 1000)

    def wake(self) -> None:
        # A full inbox wakes the drive anyway.
        if not self.inbox.full():
            self.inbox.put_nowait(("wake",))

    def cancel(self) -> None:
        self.cancelled = True
        self.wake()

    async def event(self) -> RunEvent | None:
        """Returns the next event; `None` if there will be none."""
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
        """Continues where the last iteration ended."""
        for identity in self.run._left:
            # Started by an earlier iteration that was left: its result is unknown.
            self.lost(identity)
        self.run._left = []
        for question in self.run.waiting:
            self.ask_person(question)
        self.act()
        if self.core.waits() == "model" and ("reply", "") not in self.tasks:
            # The rest of the reply is lost.
            self.ask_again()

    def act(self) -> None:
        """Starts all pending work."""
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
                self.lost(runs(do))
            else:
                self.begin("call", runs(do), lambda: self.recall(do))

    def lost(self, identity: str) -> None:
        with contextlib.suppress(StateError):  # It may be settled by now.
            self.core.tell(json.dumps({"lost": identity}))

    def begin(self, kind: str, identity: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        # The task makes the coroutine: one made here would never be awaited if the task is stopped before it runs.
        self.tasks[kind, identity] = self.loop.create_task(self.guarded(kind, identity, work))

    async def guarded(self, kind: str, identity: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Runs work that puts its results into the inbox, and puts the end there last."""
        if kind == "call":
            self.unbegun.pop(identity, None)
        try:
            await work()
        except Exception as error:  # noqa: BLE001
            await self.inbox.put(("raise", _threads.tamed(error)))
        except BaseException as error:
            # SystemExit raised by a model or by `approve` does not end the program, and a task that cancels itself has failed.
            # Nothing is awaited here, since the loop may be closing.
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
        """Whether the current task was stopped, by this drive or with the loop; its work may raise the same error itself."""
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
        """Stops everything that was started. Calls that have not run yet are left to the next iteration."""
        self.run._todo = [*self.unbegun.values(), *self.run._todo]
        self.run._left += [identity for kind, identity in self.tasks if kind == "call" and identity not in self.unbegun]
        for kind, identity in list(self.tasks):
            self.stop(kind, identity)
        if self.run._drive is self:
            self.run._drive = None

    async def next(self) -> None:
        """Waits for the next input and passes it to the run."""
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
                # The run refuses an input that comes too late; nothing changes then.
                with contextlib.suppress(StateError):
                    self.core.tell(text)
                if kind == "person":
                    self.run._questions.pop(identity, None)
        elif item[0] == "begun":
            call, went_on, task = item[1:]
            if self.current("call", call["id"], task):
                self.go_on(call, went_on)

    def go_on(self, call: dict[str, Any], task: Task) -> None:
        """Continues a call as a task."""
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
        """Whether output of a task still counts: the task may have been stopped, or the run may no longer wait for it."""
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
            # Calls of the reply are already committed.
            self.core.tell('{"ended": "error"}')

    # Model.

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
                await _clients._closed(said)
        for kind, last in feed.finish():
            await self.inbox.put((kind, last, task) if kind == "model" else (kind, "reply", "", last, task))

    # People.

    def ask_person(self, call: PendingCall) -> None:
        if self.agent._approve is not None and ("person", call.id) not in self.tasks:
            self.begin("person", call.id, lambda: self.confirm(call))

    async def confirm(self, call: PendingCall) -> None:
        approve = self.agent._approve
        assert approve is not None
        said = decided(await _called(approve, call))
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
        own = {"id": runs(receipt), "name": receipt["tool"]}
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
        """Runs a call or a task and passes its result to the run."""
        identity = call["id"]
        began = self.loop.time()
        try:
            value = await self.value(identity, work, function)
            if isinstance(value, Task):
                if how == "done":
                    await self.inbox.put(("begun", call, value, asyncio.current_task()))
                    return
                raise TypeError("a task cannot continue as another task")
            gave = outcome_of(value)
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, GeneratorExit)):
                raise
            if isinstance(error, asyncio.CancelledError) and self.stopped("call", identity):
                raise
            _log.warning("the tool %s failed", call["name"], exc_info=error)
            gave = outcome_of(error)
        took = int((self.loop.time() - began) * 1000)
        await self.tell("call", identity, {how: {"id": identity, "name": call["name"], **gave, "duration_ms": took}})

    async def value(self, identity: str, work: Callable[[], Any], function: Any) -> Any:
        """Returns the awaited result of a function. Values that it yields are progress; their joined text is the result."""
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
                await _clients._closed(value)
            return "".join(pieces)
        return value


def outcome_of(value: Any) -> dict[str, Any]:
    """The members of a result for a tool's return value; an exception is a failure with its message."""
    if isinstance(value, BaseException):
        return {"status": "error", "content": _threads.words(value)}
    return {"status": "error" if _tools.failed(value) else "success", "content": _tools.content(value)}


def runs(do: Mapping[str, Any]) -> Any:
    """The id of running work: that of the task, else that of the call."""
    return do.get("task") or do.get("id")


def decided(said: Decision) -> Any:
    if said is None:
        return None
    if isinstance(said, bool):
        return "approve" if said else {"deny": ""}
    if isinstance(said, str):
        return {"deny": said}
    if isinstance(said, Mapping):
        return {"edit": _support.dumps("arguments", dict(said))}
    raise TypeError(f"a decision is True, False, a reason for refusing, arguments or None, not {type(said).__name__}")


class _Text:
    """Feeds a reply that is text."""

    def feed(self, chunk: str | bytes, /) -> list[Any]:
        return [("model", _support.utf8(chunk) if isinstance(chunk, str) else chunk)] if chunk else []

    def finish(self) -> list[Any]:
        return [("tell", '{"ended": "stop"}')]


class _Response:
    """Feeds a reply that is the response of a server."""

    def __init__(self, source: str) -> None:
        self._core = _native.ResponseCore(source)

    def feed(self, chunk: str | bytes, /) -> list[Any]:
        return [("tell", line) for line in self._core.feed(chunk)]

    def finish(self) -> list[Any]:
        return [("tell", line) for line in self._core.finish()]


def _target(source: str, _item: Any) -> Any:
    return _Text() if source == "text" else _Response(source)


def _sync(reply: Any) -> Any:
    """Returns an iterator for a thread; returns anything async unchanged."""
    if hasattr(reply, "__aiter__") or inspect.isawaitable(reply):
        return reply
    try:
        return _clients._iter(reply)
    except TypeError:
        raise TypeError(f"the model returned no reply but {type(reply).__name__}: text, chunks or a response are needed") from None


def _is_async(function: Any) -> bool:
    """Whether a call only creates an object to await or iterate in the loop."""
    while isinstance(function, functools.partial):
        function = function.func
    inner = function if inspect.isroutine(function) else getattr(function, "__call__", function)
    return inspect.iscoroutinefunction(inner) or inspect.isasyncgenfunction(inner)


async def _called(function: Callable[..., Any], *given: Any) -> Any:
    value = function(*given) if _is_async(function) else await _threads.call(lambda: function(*given))
    return await value if inspect.isawaitable(value) else value


def _accepted(model: Callable[..., Any]) -> set[str]:
    """Returns which of `tools`, `stop` and `grammar` a model accepts by name."""
    try:
        parameters = inspect.signature(model).parameters
    except (TypeError, ValueError):
        return set()
    named = {name for name, one in parameters.items() if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)}
    return named & {"tools", "stop", "grammar"}
