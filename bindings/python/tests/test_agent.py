"""Agents: the vectors of the core, and the driver with all kinds of models, tools and decisions."""

import asyncio
import json
import sqlite3
import threading
import time

import pytest
import toolglot as tg
from conftest import ROOT
from toolglot import _native


def call(name, **arguments):
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False)}</tool_call>"


class Script:
    """A model with a script of replies; the number of replies in the conversation selects the next."""

    def __init__(self, *replies, size=5):
        self.replies, self.size, self.asked = replies, size, []

    def __call__(self, messages):
        self.asked.append(messages)
        reply = self.replies[sum(one["role"] == "assistant" for one in messages)]
        for at in range(0, len(reply), self.size):
            yield reply[at : at + self.size]


def double(n: int) -> int:
    """Doubles a number."""
    return 2 * n


def fails() -> None:
    """Fails."""
    raise ValueError("no luck")


def agent(model, tools=(double, fails), **options):
    return tg.Agent(model, **{"tools": tools, "dialect": "hermes", "policy": "allow", **options})


# The core.


def holds(wanted, have):
    if isinstance(wanted, dict):
        return isinstance(have, dict) and all(key in have and holds(one, have[key]) for key, one in wanted.items())
    if isinstance(wanted, list):
        return isinstance(have, list) and len(wanted) == len(have) and all(map(holds, wanted, have))
    return wanted == have


HIDDEN = {"text", "reasoning", "named", "written", "message"}


def said(run):
    out = []
    while (one := run.take()) is not None:
        do = json.loads(one)
        if do.get("event") not in HIDDEN:
            out.append(do)
    return out


VECTORS = [json.loads(line) for file in sorted((ROOT / "tests/agent").glob("*.jsonl")) for line in file.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda one: one["id"])
@pytest.mark.parametrize("saves", [False, True])
def test_vectors(vector, saves):
    core = _native.AgentCore(tg.Engine(vector["agent"]["dialect"]), json.dumps(vector["agent"]))
    user = json.dumps([{"role": "user", "content": vector.get("user")}])
    run = core.steps(json.dumps(vector["steps"])) if "steps" in vector else core.run(user)
    for number, line in enumerate(vector["script"]):
        if saves and number:
            run = core.restore(run.save())
            said(run)
        told = {key: value for key, value in line.items() if key not in ("expect", "fails", "begin")}
        try:
            if "model" in told:
                for byte in told["model"].encode():
                    run.model(bytes([byte]))
            elif told:
                run.tell(json.dumps(told))
        except tg.StateError as error:
            assert "fails" in line and line["fails"] in str(error), error
        else:
            assert "fails" not in line
        assert holds(line.get("expect", []), said(run)), (vector["id"], number)


# The driver.


def test_events_arrive_as_they_happen():
    run = agent(Script("So: " + call("double", n=21), "It is 42.")).run("Double 21.")
    seen = []

    async def main():
        async for event in run:
            seen.append((event.kind, event.id, event.name or event.text))

    asyncio.run(main())
    kinds = [kind for kind, _, _ in seen]
    assert kinds.index("stands") < kinds.index("running") < kinds.index("settled") < kinds.index("message")
    assert "".join(text for kind, _, text in seen if kind == "text") == "So: It is 42."
    assert ("settled", "call_0_0", "double") in seen
    assert run.outcome == "answer" and run.text == "It is 42." and run.completed
    one = run.calls[0]
    assert (one.name, one.arguments, one.state, one.result) == ("double", {"n": 21}, "completed", 42)
    assert [message["role"] for message in run.messages] == ["user", "assistant", "user", "assistant"]
    assert run.receipts[0]["tool"] == "double" and len(run.receipts[0]["digest"]) == 64


ASKED = [call("double", n=1), "done"]


class Chunks:
    """The same replies in every form that a model can return."""

    @staticmethod
    def text(messages):
        return ASKED[len(messages) > 2]

    @staticmethod
    def generator(messages):
        yield from ASKED[len(messages) > 2]

    @staticmethod
    def pieces(messages):
        yield from (bytes([one]) for one in ASKED[len(messages) > 2].encode())

    @staticmethod
    async def coroutine(messages):
        return ASKED[len(messages) > 2]

    @staticmethod
    async def asynchronous(messages):
        for piece in ASKED[len(messages) > 2]:
            await asyncio.sleep(0)
            yield piece

    @staticmethod
    async def stream(messages):
        return Chunks.asynchronous(messages)

    @staticmethod
    def lazy(messages):
        return Chunks.asynchronous(messages)

    @staticmethod
    def openai(messages):
        for piece in ASKED[len(messages) > 2]:
            yield {"choices": [{"index": 0, "delta": {"content": piece}}]}
        yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}

    @staticmethod
    def whole(messages):
        return {"choices": [{"index": 0, "message": {"content": ASKED[len(messages) > 2]}, "finish_reason": "stop"}]}

    @staticmethod
    def body(messages):
        chunk = {"message": {"content": ASKED[len(messages) > 2]}}
        yield from (json.dumps(chunk).encode() + b"\n", b'{"done": true}\n')


@pytest.mark.parametrize("kind", [name for name in vars(Chunks) if not name.startswith("_")])
def test_every_kind_of_model_is_read(kind):
    for what in ["go", [{"role": "user", "content": "go"}]]:
        run = agent(getattr(Chunks, kind)).run_sync(what)
        assert run.text == "done" and [one.state for one in run.calls] == ["completed"]


def test_a_dialect_has_aliases():
    for given in [{"dialect": "qwen25"}, {"dialect": "qwen25", "engine": tg.Engine(["vcp", "hermes"])}, {"dialect": None, "engine": tg.Engine("qwen25")}]:
        assert agent(Script(call("double", n=1), "ok"), **given).run_sync("go").calls[0].result == 2


def test_the_system_message_comes_first():
    model = Script("ok")
    run = agent(model, system="Be brief.").run_sync("go")
    assert model.asked[0][0]["content"].startswith("Be brief.\n\n") and "double" in model.asked[0][0]["content"]
    assert run.messages[0] == {"role": "system", "content": "Be brief."}


def test_native_calls_of_a_server_are_carried_out():
    def model(messages, tools, stop, *, grammar=None):
        assert tools[0]["function"]["name"] == "double" and grammar is None and isinstance(stop, list)
        if any(one["role"] == "tool" for one in messages):
            yield {"choices": [{"index": 0, "delta": {"content": "ok"}, "finish_reason": "stop"}]}
            return
        yield {"choices": [{"index": 0, "delta": {"reasoning_content": "hm"}}]}
        part = {"index": 0, "id": "c7", "function": {"name": "double", "arguments": '{"n": '}}
        yield {"choices": [{"index": 0, "delta": {"tool_calls": [part]}}]}
        part = {"index": 0, "function": {"arguments": "4}"}}
        yield {"choices": [{"index": 0, "delta": {"tool_calls": [part]}, "finish_reason": "tool_calls"}]}

    events = []
    run = agent(model, tools=[double], native=True).run_sync("go", on_event=events.append)
    assert run.text == "ok" and run.calls[0].id == "c7" and run.calls[0].result == 8
    assert [event.text for event in events if event.kind == "reasoning"] == ["hm"]


def test_tools_of_every_kind_are_carried_out():
    async def waits(n: int) -> int:
        "Waits."
        await asyncio.sleep(0.001)
        return n

    def pieces(n: int):
        "In pieces."
        for at in range(n):
            yield f"{at};"

    async def streams(n: int):
        "In pieces, too."
        for at in range(n):
            yield f"{at},"

    async def inner(n: int) -> int:
        return -n

    def lazy(n: int):
        "Gives something to await."
        return inner(n)

    def nothing(n: int) -> None:
        "Gives nothing."

    def odd(n: int):
        "Gives what JSON cannot say."
        return object

    def nan(n: int):
        "No number."
        return {"x": float("nan"), "y": "\ud800"}

    def exits(n: int):
        "Ends the program."
        raise SystemExit(3)

    tools = [waits, pieces, streams, lazy, nothing, odd, nan, exits]
    reply = "\n".join(call(one.__name__, n=3) for one in tools)
    events = []
    run = agent(Script(reply, "ok"), tools=tools, parallel=True).run_sync("go", on_event=events.append)
    got = {one.name: (one.state, one.result) for one in run.calls}
    assert got["waits"] == ("completed", 3) and got["lazy"] == ("completed", -3)
    assert got["pieces"] == ("completed", "0;1;2;") and got["streams"] == ("completed", "0,1,2,")
    assert got["nothing"] == ("completed", None) and got["nan"][1]["x"] == "NaN"
    assert got["odd"][0] == "failed" and "TypeError" in got["odd"][1]
    assert got["exits"][0] == "failed" and "SystemExit" in got["exits"][1]
    progress = [event.text for event in events if event.kind == "progress" and event.name == "pieces"]
    assert progress == ["0;", "1;", "2;"] and run.text == "ok"


def test_a_failed_step_stops_those_after_it():
    run = agent(Script(call("fails") + call("double", n=1), "I see.")).run_sync("go")
    assert [one.state for one in run.calls] == ["failed", "not_run"]
    assert run.calls[0].result == "ValueError: no luck" and "no luck" in run.messages[2]["content"]


def test_people_decide():
    shown = []

    def approve(pending):
        shown.append(pending)
        return {1: True, 2: False, 3: "too many", 4: {"n": 40}, 5: {"n": "x"}}[pending.arguments["n"]]

    reply = "".join(call("double", n=n) for n in range(1, 6))
    run = agent(Script(reply, "ok"), policy={"confirm": ["dou*"]}, approve=approve, parallel=True).run_sync("go")
    assert [(one.state, one.arguments["n"]) for one in run.calls] == [
        ("completed", 1),
        ("denied", 2),
        ("denied", 3),
        ("completed", 40),
        ("failed", 5),
    ]
    assert run.calls[3].result == 80 and "too many" in run.calls[2].result
    assert shown[0].tool == "double" and json.loads(shown[0].arguments_json) == {"n": 1} and len(shown[0].digest) == 64


def test_people_are_asked_asynchronously_too():
    async def approve(pending):
        await asyncio.sleep(0)
        return pending.name == "double"

    async def main():
        return await agent(Script(call("double", n=4), "ok"), policy="confirm", approve=approve).run("go")

    run = asyncio.run(main())
    assert run.calls[0].result == 8


def test_without_a_policy_nothing_runs_unasked():
    run = tg.Agent(Script(call("double", n=4), "ok"), tools=[double], dialect="hermes").run_sync("go")
    assert run.outcome is None and [one.state for one in run.calls] == ["waiting"]
    assert [one.arguments for one in run.waiting] == [{"n": 4}]
    run.decide(run.waiting[0], True)
    assert run.sync().text == "ok" and run.calls[0].result == 8 and run.waiting == []
    with pytest.raises(tg.StateError):
        run.decide("call_0_0", True)


def test_a_saved_run_continues_elsewhere():
    own = agent(Script(call("double", n=4) + call("double", n=5), "ok"), policy={"confirm": [{"tools": ["double"], "reason": "careful"}]})
    run = own.run_sync("go")
    saved = run.save()
    again = agent(Script("", "ok"), policy="confirm", approve=lambda one: {"n": one.arguments["n"] + 1}).resume(saved)
    assert [one.state for one in again.calls][0] == "waiting"
    assert again.sync().text == "ok" and [one.result for one in again.calls] == [10, 12]
    assert run.outcome is None
    for broken in ["", "{}", saved.replace('"hermes"', '"action"')]:
        with pytest.raises(tg.SnapshotError):
            own.resume(broken)


def test_what_was_started_is_never_started_again():
    began = []

    async def hangs(n: int) -> int:
        "Hangs."
        began.append(n)
        await asyncio.sleep(3600)

    def own(**more):
        return agent(Script(call("hangs", n=1), "ok"), tools=[hangs], timeout=7200, **more)

    async def main():
        run = own().run("go")
        async for event in run:
            if event.kind == "running":
                await asyncio.sleep(0.01)
                break
        return run

    run = asyncio.run(main())
    assert began == [1]
    told = own().resume(run.save()).sync()
    assert told.text == "ok" and told.calls[0].state == "failed" and "unknown" in told.calls[0].result
    found = own(recall=lambda receipt: f"found {receipt['tool']}").resume(run.save()).sync()
    assert found.calls[0].result == "found hangs" and found.calls[0].state == "completed"
    gone = own(recall=lambda receipt: None).resume(run.save()).sync()
    assert gone.calls[0].state == "failed"
    # The run itself can continue too; the result of the call is unknown.
    assert run.sync().text == "ok" and run.calls[0].state == "failed" and began == [1]


@pytest.mark.parametrize("blocks", [False, True])
def test_slow_tools_time_out(blocks):
    ended = []

    async def sleeps() -> None:
        "Sleeps."
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append(1)

    done = threading.Event()

    def blocked() -> None:
        "Blocks."
        done.wait(60)

    own = agent(Script(call("blocked" if blocks else "sleeps"), "ok"), tools=[blocked, sleeps], timeout=0.05)
    began = time.monotonic()
    run = own.run_sync("go")
    done.set()
    assert run.calls[0].state == "timed_out" and run.text == "ok" and time.monotonic() - began < 30
    assert ended == ([] if blocks else [1])


def test_a_run_is_cancelled_from_any_thread():
    ended = []

    async def sleeps() -> None:
        "Sleeps."
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append(1)

    run = agent(Script(call("sleeps"), "ok"), tools=[sleeps], timeout=7200).run("go")

    def watch(event):
        if event.kind == "running":
            threading.Thread(target=run.cancel).start()

    assert run.sync(watch).outcome == "cancelled" and run.calls[0].state == "cancelled" and ended == [1]
    early = agent(Script("never")).run("go")
    early.cancel()
    assert early.sync().outcome == "cancelled" and early.text == ""


def test_errors_of_the_model_propagate_and_the_run_can_continue():
    tries = []

    def model(messages):
        tries.append(1)
        yield "Hel"
        if len(tries) == 1:
            raise ConnectionError("gone")
        yield "lo"

    run = agent(model).run("go")
    with pytest.raises(ConnectionError, match="gone"):
        run.sync()
    assert run.outcome is None and run.sync().text == "Hello" and len(tries) == 2

    def approve(pending):
        raise RuntimeError("nobody there")

    run = agent(Script(call("double", n=1), "ok"), policy="confirm", approve=approve).run("go")
    with pytest.raises(RuntimeError, match="nobody there"):
        run.sync()
    assert [one.id for one in run.waiting] == ["call_0_0"]
    broken = agent(lambda messages: [{"choices": [{"index": 0, "delta": {"content": "Hel"}}]}, {"error": {"message": "too hot"}}]).run_sync("go")
    assert broken.outcome == "model_failed" and broken.text == "Hel"


def test_two_iterations_at_once_are_refused():
    async def main():
        run = agent(Script("Hello.")).run("go")
        async for _ in run:
            with pytest.raises(tg.BusyError):
                async for _ in run:
                    pass
            break

    asyncio.run(main())


def test_a_blocking_run_within_a_loop_has_its_own_loop():
    async def main():
        return agent(Script(call("double", n=2), "ok")).run_sync("go")

    assert asyncio.run(main()).calls[0].result == 4


def test_rules_of_the_core_hold_here():
    same = [call("double", n=1)] * 4 + ["ok"]
    run = agent(Script(*same)).run_sync("go")
    assert [one.state for one in run.calls] == ["completed", "completed", "not_run", "not_run"]
    many = [call("double", n=n) for n in range(9)]
    run = agent(Script(*many), max_rounds=2).run_sync("go")
    assert run.outcome == "iterations" and "2" in run.text and not run.completed
    run = agent(Script(call("double", n="three"), call("double", n=3), "6.")).run_sync("go")
    assert [one.state for one in run.calls] == ["failed", "completed"] and "n" in run.calls[0].result
    run = agent(Script(call("nothing"), call("double", n=1), "ok"), policy={"deny": [{"tools": ["d*"], "reason": "no doubles"}], "allow": "*"}).run_sync("go")
    assert [one.state for one in run.calls] == ["failed", "denied"] and "no doubles" in run.calls[1].result


def test_a_budget_limits_a_run():
    many = [call("double", n=n) for n in range(9)]
    run = agent(Script(*many), budget={"calls": 1}).run_sync("go")
    assert run.outcome == "budget" and "budget" in run.text and [one.state for one in run.calls] == ["completed", "not_run"]
    assert run.calls[0].duration >= 0 and run.calls[1].duration is None
    assert agent(Script("x" * 100), budget={"bytes": 10}).run_sync("go").outcome == "budget"

    async def hangs() -> None:
        "Hangs."
        await asyncio.sleep(3600)

    run = agent(Script(call("hangs")), tools=[hangs], budget={"time": 0.02}, timeout=7200).run_sync("go")
    # The time may be up before the call is written.
    assert run.outcome == "budget" and {one.state for one in run.calls} <= {"cancelled"}
    for wrong, words in [({"call": 1}, "'call'"), ({"calls": -1}, "calls=-1"), ({"bytes": 0.5}, "bytes=0.5"), ({"calls": True}, "calls=True")]:
        with pytest.raises(ValueError, match=words):
            agent(Script(), budget=wrong)
    with pytest.raises(TypeError, match="budget"):
        agent(Script(), budget=3)


def test_a_query_of_a_database_is_a_tool():
    """Item 28 of the checklist: besides functions, services and workflows."""
    table = sqlite3.connect(":memory:", check_same_thread=False)
    table.execute("create table ferries (port text, leaves text)")
    table.executemany("insert into ferries values (?, ?)", [("Leith", "12:00"), ("Leith", "17:30"), ("Burntisland", "9:00")])

    def ferries(port: str) -> list[str]:
        "Tells when the ferries of a port leave."
        return [leaves for (leaves,) in table.execute("select leaves from ferries where port = ? order by leaves", [port])]

    replies = [call("ferries", port="Leith"), call("ferries", port="' or 1=1 --"), "Twice."]
    run = agent(Script(*replies), tools=[ferries]).run_sync("When?")
    assert [one.result for one in run.calls] == [["12:00", "17:30"], []] and run.text == "Twice."
    table.close()


def test_policies_match_tags_and_arguments():
    @tg.tool(tags=["read"])
    def read(path: str) -> str:
        "Reads."
        return "text"

    @tg.tool(annotations={"destructiveHint": True})
    def write(path: str) -> str:
        "Writes."
        return "done"

    policy = {
        "deny": [{"arguments": [{"pointer": "/path", "pattern": "^/etc/"}], "reason": "not there"}],
        "confirm": {"annotations": {"destructiveHint": True}},
        "allow": {"tags": ["read"]},
    }
    reply = call("read", path="/a") + call("read", path="/etc/b") + call("write", path="/a")
    asked = []
    own = agent(Script(reply, "ok"), tools=[read, write], policy=policy, parallel=True, approve=lambda one: asked.append(one.name) or True)
    run = own.run_sync("go")
    assert [one.state for one in run.calls] == ["completed", "denied", "completed"] and asked == ["write"]
    assert "not there" in run.calls[1].result


def test_workflows_and_references():
    own = agent(Script())
    run = own.steps([{"tool": "double", "arguments": {"n": 2}}, {"tool": "double", "arguments": {"n": "{{1.result}}"}}]).sync()
    assert run.completed and [one.result for one in run.calls] == [4, 8] and run.outcome == "steps"
    run = own.steps([{"tool": "fails"}, {"tool": "double", "arguments": {"n": 1}}]).sync()
    assert not run.completed and [one.state for one in run.calls] == ["failed", "not_run"]


def test_later_results_come_with_the_next_message():
    run = agent(Script(call("double", n=2), "ok"), policy="confirm").run_sync("go")
    run.later("job", {"state": "ready"})
    run.decide(run.waiting[0], True)
    run.sync()
    assert any("job: " in str(one["content"]) and "ready" in str(one["content"]) for one in run.messages)


def index(n: int):
    "Begins a task that somebody else carries on."
    return tg.Task(f"job-{n}")


def test_a_task_gives_its_id_now_and_its_result_later():
    threads = []

    def blocks(n: int):
        "Takes long."
        threads.append(threading.current_thread())

        def work():
            threads.append(threading.current_thread())
            time.sleep(0.02)
            return n + 1

        return tg.Task("blocks", work)

    async def waits(n: int):
        "Takes long, too."

        async def work():
            for at in range(n):
                await asyncio.sleep(0.01)
                yield f"{at};"

        return tg.Task("waits", work)

    async def breaks(n: int):
        "Fails in the end."

        async def work():
            raise ValueError("no disk")

        return tg.Task("breaks", work)

    model = Script("".join(call(name, n=2) for name in ("blocks", "waits", "breaks")), *["I wait."] * 3, "done")
    events = []
    run = agent(model, tools=[blocks, waits, breaks], parallel=True).run_sync("go", on_event=events.append)
    assert run.outcome == "answer" and run.tasks == []
    assert [(one.state, one.result["task"]) for one in run.calls] == [("completed", one) for one in ("blocks", "waits", "breaks")]
    assert {event.task: event.id for event in events if event.kind == "begun"} == {"blocks": "call_0_0", "waits": "call_0_1", "breaks": "call_0_2"}
    later = {event.id: (event.name, event.state, event.result) for event in events if event.kind == "later"}
    assert later["blocks"] == ("blocks", "completed", 3) and later["waits"] == ("waits", "completed", "0;1;")
    assert later["breaks"][1:] == ("failed", "ValueError: no disk")
    assert [(event.id, event.name, event.text) for event in events if event.kind == "progress"] == [("waits", "waits", "0;"), ("waits", "waits", "1;")]
    told = " ".join(one["content"] for one in run.messages if one["role"] == "user")
    assert "blocks blocks: 3" in told and "waits waits: 0;1;" in told and "breaks breaks: Error: ValueError: no disk" in told
    assert len(set(threads)) == 2 and threading.current_thread() not in threads


def test_a_task_can_run_elsewhere():
    run = agent(Script(call("index", n=1), "I wait.", "done"), tools=[index]).run_sync("go")
    assert run.outcome is None and run.tasks == ["job-1"] and run.receipts[0]["task"] == "job-1"
    run.later("job-1", {"files": 3})
    with pytest.raises(tg.StateError, match="job-1 is ended"):
        run.later("job-1", "again")
    run.sync()
    assert run.text == "done" and run.tasks == [] and "index job-1: " in run.messages[-2]["content"] and '"files": 3' in run.messages[-2]["content"]
    # The result arrives during an iteration.
    both = Script(call("index", n=1) + call("slow", n=1), "I wait.", "done")

    async def main():
        told = asyncio.Event()

        async def slow(n: int) -> int:
            "Ends when the task does."
            await told.wait()
            return n

        run = agent(both, tools=[index, slow]).run("go")
        async for event in run:
            if event.kind == "running" and event.name == "slow":
                run.later("job-1", OSError("gone"))
                told.set()
        return run

    run = asyncio.run(main())
    assert run.outcome == "answer" and any("index job-1: Error: OSError: gone" in one["content"] for one in run.messages)


def test_a_task_is_recalled_by_its_own_id():
    saved = agent(Script(call("index", n=1), "I wait."), tools=[index]).run_sync("go").save()
    asked = []

    def own(found, **more):
        def recall(receipt):
            asked.append(receipt)
            return found

        return agent(Script("", "I wait.", "done"), tools=[index], recall=recall, **more)

    run = own("3 files").resume(saved)
    assert run.tasks == ["job-1"]
    assert run.sync().text == "done" and "index job-1: 3 files" in run.messages[-2]["content"]
    assert asked[0]["id"] == "call_0_0" and asked[0]["task"] == "job-1" and asked[0]["tool"] == "index"
    run = own(None).resume(saved).sync()
    assert run.text == "done" and "unknown" in run.messages[-2]["content"]
    # The task continues: here, or elsewhere.
    run = own(tg.Task("job-1", lambda: "4 files")).resume(saved).sync()
    assert run.text == "done" and "index job-1: 4 files" in run.messages[-2]["content"]
    run = own(tg.Task("job-1")).resume(saved).sync()
    assert run.outcome is None and run.tasks == ["job-1"]
    run = agent(Script("", "I wait.", "done"), tools=[index]).resume(run.save())
    run.later("job-1", "5 files")
    assert run.sync().text == "done" and "index job-1: 5 files" in run.messages[-2]["content"]
    with pytest.raises(ValueError, match="'job-2'"):
        own(tg.Task("job-2")).resume(saved).sync()


def test_tasks_end_with_their_time_and_with_the_run():
    ended = []

    async def begins(n: int):
        "Takes for ever."

        async def work():
            try:
                await asyncio.sleep(3600)
            finally:
                ended.append(n)

        return tg.Task(f"job-{n}", work)

    run = agent(Script(call("begins", n=1), "I wait.", "done"), tools=[begins], task_timeout=0.02).run_sync("go")
    assert run.text == "done" and ended == [1] and run.messages[-2]["content"].startswith("begins job-1: ")
    events = []

    def cancels(event):
        events.append(event)
        if event.kind == "text":
            run.cancel()

    run = agent(Script(call("begins", n=2), "I wait."), tools=[begins]).run("go")
    run.sync(cancels)
    assert run.outcome == "cancelled" and ended == [1, 2] and run.tasks == []
    assert [(event.id, event.state) for event in events if event.kind == "later"] == [("job-2", "cancelled")]


def test_a_task_needs_an_id_of_its_own():
    async def begins(id: str):
        "Begins one."
        return tg.Task(id)

    async def twice(id: str):
        "Begins one that begins one."

        async def work():
            await asyncio.sleep(0.02)
            return tg.Task("other")

        return tg.Task(id, work)

    async def odd(id: str):
        "Begins none."
        return tg.Task(7)

    replies = "".join(call(name, id=one) for name, one in [("begins", "a"), ("begins", "a"), ("begins", ""), ("begins", "call_0_0"), ("odd", "x")])
    run = agent(Script(replies, "ok"), tools=[begins, odd], parallel=True).run_sync("go")
    assert [one.state for one in run.calls] == ["completed", "failed", "failed", "failed", "failed"]
    assert "cannot be the id of a task" in run.calls[1].result and "the id is text, not int" in run.calls[4].result
    run = agent(Script(call("twice", id="a"), "I wait.", "done"), tools=[twice]).run_sync("go")
    assert run.text == "done" and "TypeError: a task cannot continue as another task" in run.messages[-2]["content"]


def test_a_step_of_a_workflow_waits_for_its_task():
    async def begins(n: int):
        "Doubles later."

        async def work():
            return 2 * n

        return tg.Task("job", work)

    own = agent(Script(), tools=[begins, double])
    run = own.steps([{"tool": "begins", "arguments": {"n": 2}}, {"tool": "double", "arguments": {"n": "{{1.result}}"}}]).sync()
    assert run.completed and [one.result for one in run.calls] == [4, 8] and run.tasks == []


def test_bad_agents_say_what_is_wrong():
    with pytest.raises(TypeError, match="dialect"):
        tg.Agent(Script(), tools=[double])
    with pytest.raises(tg.DialectError, match="nothing"):
        tg.Agent(Script(), dialect="nothing")
    with pytest.raises(tg.ToolsError, match="f: a tool of an agent needs a function"):
        agent(Script(), tools=[{"name": "f"}])
    with pytest.raises(ValueError, match="policy='maybe'"):
        agent(Script(), policy="maybe")
    with pytest.raises(ValueError, match="allow rule 0"):
        agent(Script(), policy={"allow": [{"arguments": [{"pointer": "n", "pattern": "x"}]}]})
    with pytest.raises(ValueError, match="alow"):
        agent(Script(), policy={"alow": ["x"]})
    with pytest.raises(ValueError, match="http"):
        agent("localhost:8000")
    with pytest.raises(TypeError, match="int"):
        agent(7)
    with pytest.raises(ValueError, match="source"):
        agent(Script(), source="x")
    with pytest.raises(TypeError, match="a decision is"):
        agent(Script(call("double", n=1), "ok"), policy="confirm", approve=lambda one: 7).run_sync("go")
