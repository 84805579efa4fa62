"""Runs that are abandoned, interrupted or asked at the wrong time; odd values; models behind servers."""

import asyncio
import contextlib
import copy
import functools
import gc
import http.server
import json
import os
import pickle
import subprocess
import sys
import threading
import types
import warnings

import pytest
import toolglot as tg
from conftest import ROOT
from test_agent import Script, agent, call, double


async def adouble(n: int) -> int:
    """Doubles a number."""
    await asyncio.sleep(0)
    return 2 * n


async def astream(messages):
    for piece in Script(call("double", n=1), "ok")(messages):
        yield piece


MODELS = [(Script(call("double", n=1), "ok"), double), (astream, tg.Tool(adouble, name="double"))]


def clean(main):
    """Runs in a loop, and checks that Python has no complaint about leftovers."""
    gc.collect()  # Leftovers of other tests do not count.
    said = []
    before, sys.unraisablehook = sys.unraisablehook, lambda one: said.append(one.exc_value)

    async def watched():
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: said.append(context))
        return await main()

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = asyncio.run(watched())
            gc.collect()
    finally:
        sys.unraisablehook = before
    assert said == []
    return made


@pytest.mark.parametrize(("model", "tool"), MODELS, ids=["threads", "async"])
def test_an_abandoned_run_continues_at_once(model, tool):
    async def main():
        states = set()
        for last in range(20):
            run = agent(model, tools=[tool]).run("go")
            at = 0
            async for _ in run:
                at += 1
                if at > last:
                    break
            async for _ in run:
                pass
            assert run.text == "ok" and len(run.calls) == 1
            states.add(run.calls[0].state)
        return states

    assert "completed" in clean(main) <= {"completed", "failed"}


def test_a_call_that_has_not_started_is_started_by_the_next_iteration():
    async def main():
        run = agent(Script(call("double", n=1), "ok")).run("go")
        kinds = []
        for _ in range(50):
            async for event in run:
                kinds.append(event.kind)
                if event.kind in ("stands", "running"):
                    break
        return run, kinds

    run, kinds = clean(main)
    assert run.calls[0].result == 2 and [kinds.count(kind) for kind in ("stands", "running", "settled")] == [1, 1, 1]


@pytest.mark.parametrize(("model", "tool"), MODELS, ids=["threads", "async"])
def test_runs_end_at_any_point(model, tool):
    async def main():
        for last in range(20):
            run = agent(model, tools=[tool]).run("go")
            at = 0
            async for _ in run:
                at += 1
                if at > last:
                    run.cancel()
            assert run.outcome in ("cancelled", "answer") and "running" not in [one.state for one in run.calls]
        for ticks in range(40):
            task = asyncio.ensure_future(agent(model, tools=[tool]).run("go")._finish(None))
            for _ in range(ticks):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        for _ in range(20):
            await agent(model, tools=[tool]).run("go").__aiter__().__anext__()

    clean(main)
    assert tg.live_streams() == 0


def test_a_fast_model_starves_nothing():
    def many(messages):
        if len(messages) > 3:
            return iter(["ok"])
        return iter([call("double", n=1), *["x"] * 500])

    async def decides():
        run = agent(many, policy="confirm").run("go")
        async for event in run:
            if event.kind == "waiting":
                await asyncio.sleep(0.05)
                run.decide(event.id, True)
        return run

    assert clean(decides).calls[0].result == 2

    async def endless(messages):
        while True:
            yield "x"

    async def cancels():
        run = agent(endless).run("go")
        async for event in run:
            if event.kind == "text":
                await asyncio.sleep(0.05)
                run.cancel()
        return run

    assert clean(cancels).outcome == "cancelled"


def test_a_blocking_model_is_abandoned():
    closed = threading.Event()

    def endless(messages):
        try:
            while True:
                yield "x"
        finally:
            closed.set()

    async def main():
        async for event in agent(endless).run("go"):
            if event.kind == "text":
                await asyncio.sleep(0.05)
                break
        return await asyncio.get_running_loop().run_in_executor(None, closed.wait, 60)

    assert clean(main)


def test_a_stream_of_a_client_is_closed():
    class Stream:
        closed = 0

        def __aiter__(self):
            return self

        async def __anext__(self):
            return "x"

        async def close(self):
            self.closed += 1

    async def left(stream):
        async for event in agent(lambda messages: stream).run("go"):
            if event.kind == "text":
                await asyncio.sleep(0.05)
                break
        await asyncio.sleep(0.01)

    async def main():
        stream = Stream()
        await left(stream)
        return stream.closed

    assert clean(main) == 1


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")


ODD = [Mute(), SystemExit(3), asyncio.CancelledError("own"), StopIteration(1), StopAsyncIteration(), ValueError("\ud800")]


@pytest.mark.parametrize("error", ODD, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("kind", ["blocks", "async"])
def test_odd_exceptions_end_nothing_but_what_raised_them(kind, error):
    def blocks(*given):
        raise error

    async def waits(*given):
        raise error

    function = blocks if kind == "blocks" else waits
    tool = tg.Tool(function, name="odd", parameters={})
    run = clean(lambda: agent(Script(call("odd"), "ok"), tools=[tool], timeout=3600).run("go")._finish(None))
    assert run.calls[0].state == "failed" and run.text == "ok"

    async def asks():
        run = agent(function).run("go")
        with pytest.raises(Exception) as raised:
            await run
        return raised.value

    clean(asks)

    async def decides():
        run = agent(Script(call("double", n=1), "ok"), policy="confirm", approve=function).run("go")
        with pytest.raises(Exception):
            await run
        run._agent._approve = lambda pending: True
        return await run

    assert clean(decides).calls[0].result == 2


@pytest.mark.parametrize(
    "reply",
    [None, 7, object(), ValueError, [None], [7], {}, ["a", {"choices": [{"delta": {"content": "x"}}]}]],
    ids=lambda reply: repr(reply).partition(" at ")[0],
)
def test_an_invalid_reply_is_a_clear_error(reply):
    async def coroutine(messages):
        return reply

    for model in (lambda messages: reply, coroutine):
        with pytest.raises(TypeError, match="no reply|a chunk is no"):
            agent(model).run_sync("go")


def test_text_of_any_bytes_is_read():
    for pieces in [[bytes([one]) for one in "é🌊".encode()], [bytearray(b"\xc3"), memoryview(b"\xa9\xf0\x9f"), b"\x8c\x8a"]]:
        assert agent(lambda messages, pieces=pieces: pieces).run_sync("go").text == "é🌊"
    assert agent(lambda messages: "\ud800 hi").run_sync("go").text == "? hi"


def test_generators_wrapped_in_callables_are_progress():
    def pieces(word, n: int):
        for at in range(n):
            yield f"{word}{at};"

    class Streams:
        async def __call__(self, n: int):
            for at in range(n):
                yield f"{at},"

    def passes(n: int):
        return pieces("p", n)

    tools = [tg.Tool(functools.partial(pieces, "z"), name="part"), tg.Tool(Streams(), name="object"), passes]
    run = agent(Script(call("part", n=2) + call("object", n=2) + call("passes", n=1), "ok"), tools=tools).run("go")
    events = []
    run.sync(events.append)
    assert [one.result for one in run.calls] == ["z0;z1;", "0,1,", "p0;"]
    assert [event.text for event in events if event.kind == "progress"] == ["z0;", "z1;", "0,", "1,", "p0;"]


def test_mcp_results_can_report_failure():
    def parts(text, **more):
        return types.SimpleNamespace(content=[types.SimpleNamespace(type="text", text=text)], **more)

    tools = [
        tg.Tool(lambda: parts("fine", isError=False), name="a", parameters={}),
        tg.Tool(lambda: parts("no such file", is_error=True), name="b", parameters={}),
    ]
    run = agent(Script(call("a") + call("b"), "ok"), tools=tools).run_sync("go")
    assert [one.state for one in run.calls] == ["completed", "failed"]
    assert run.calls[1].result == "no such file"


def test_a_resumed_run_lists_waiting_calls():
    own = agent(Script(call("double", n=4), "ok"), policy="confirm")
    saved = own.run_sync("go").save()
    run = own.resume(saved)
    assert [one.arguments for one in run.waiting] == [{"n": 4}]
    run.decide(run.waiting[0], True)
    assert run.sync().calls[0].result == 8
    cancelled = own.resume(saved)
    cancelled.cancel()
    assert cancelled.sync().outcome == "cancelled" and cancelled.waiting == []
    for broken in [[{"id": "x", "odd": 1}], ["x"], 7]:
        with pytest.raises(tg.SnapshotError, match="calls"):
            own.resume(json.dumps({**json.loads(saved), "python": broken}))


def test_many_runs_at_once():
    async def main():
        runs = [agent(Script(call("double", n=n), "ok")).run("go") for n in range(200)]
        return await asyncio.gather(*runs)

    assert [run.calls[0].result for run in clean(main)] == [2 * n for n in range(200)]


def test_a_run_is_neither_copied_nor_pickled():
    run = agent(Script("ok")).run("go")
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="save"):
            way(run)


def test_options_and_messages_are_checked_first():
    for option, why in [
        ({"timeout": 0}, "timeout=0"),
        ({"timeout": float("nan")}, "timeout=nan"),
        ({"lang": "fr"}, "lang='fr'"),
        ({"recovered": "x"}, "recovered='x'"),
    ]:
        with pytest.raises(ValueError, match=why):
            agent(Script(), **option)
    for option in [{"approve": 7}, {"system": 7}, {"dialect": ["hermes"]}, {"policy": None}, {"policy": {"allow": [7]}}]:
        with pytest.raises(TypeError, match=next(iter(option))):
            agent(Script(), **option)
    for what in [None, 7, b"x", {"role": "user"}, ["x"], [7]]:
        with pytest.raises(TypeError, match="message"):
            agent(Script()).run(what)
    for timeout in (None, float("inf"), 1e300):
        assert agent(Script(call("double", n=1), "ok"), timeout=timeout).run_sync("go").calls[0].result == 2


INTERRUPTED = """
import asyncio, os, signal, sys, threading
import toolglot as tg

# Background processes of a shell ignore this signal.
signal.signal(signal.SIGINT, signal.default_int_handler)

def interrupt():
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    threading.Event().wait()

def hangs() -> str:
    "Hangs."
    interrupt()

def model(messages):
    if sys.argv[1] == "model":
        interrupt()
    yield '<tool_call>{"name": "hangs", "arguments": {}}</tool_call>'

run = tg.Agent(model, tools=[hangs], dialect="hermes", policy="allow").run("go")

async def main():
    run.sync()

try:
    asyncio.run(main()) if sys.argv[1] == "loop" else run.sync()
except KeyboardInterrupt:
    print("interrupted", len(run.calls), bool(run.save()))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize("where", ["tool", "model", "loop"])
def test_ctrl_c_ends_a_blocking_run(where):
    if where == "loop" and sys.version_info < (3, 11):
        pytest.skip("Python 3.10 interrupts the loop itself")
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", INTERRUPTED, where], capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 0 and done.stdout == f"interrupted {int(where != 'model')} True\n", done.stderr
    assert "never awaited" not in done.stderr and "destroyed" not in done.stderr


# Servers.


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.asked.append((self.path, dict(self.headers), json.loads(self.rfile.read(int(self.headers["content-length"])))))
        status, headers, body = self.server.answers.pop(0)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def server(*answers):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        made.answers, made.asked = list(answers), []
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield made, f"http://127.0.0.1:{made.server_port}"
        finally:
            made.shutdown()
            thread.join()


def streamed(text):
    chunks = [{"choices": [{"index": 0, "delta": {"content": text}}]}, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
    return 200, {"content-type": "text/event-stream"}, b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks) + b"data: [DONE]\n\n"


def test_a_server_is_asked_and_asked_again():
    busy = 429, {"retry-after": "0"}, b'{"error": {"message": "busy"}}'
    with server(busy, streamed(call("double", n=3)), streamed("It is 6.")) as (made, address):
        run = agent(address, name="m", api_key="secret", request={"temperature": 0}).run_sync("go")
    assert run.text == "It is 6." and run.calls[0].result == 6 and len(made.asked) == 3
    path, headers, body = made.asked[0]
    assert path == "/v1/chat/completions" and headers["authorization"] == "Bearer secret"
    assert body["model"] == "m" and body["temperature"] == 0 and body["stream"] is True and "double" in body["messages"][0]["content"]
    assert "secret" not in run.save()


def test_a_server_that_refuses_says_why():
    with server((401, {}, b'{"error": {"message": "who are you"}}')) as (made, address):
        with pytest.raises(tg.ModelError, match="HTTP 401 .*who are you"):
            agent(f"{address}/v1/").run_sync("go")
        assert made.asked[0][0] == "/v1/chat/completions"
    with server((503, {"retry-after": "9999"}, b"")) as (made, address), pytest.raises(tg.ModelError, match="asks to wait for 9999 s"):
        agent(address).run_sync("go")
    with server((200, {}, b'data: {"choices": [{"index": 0, "delta": {"content": "Hel"}}]}\n\n')) as (made, address):
        run = agent(address).run_sync("go")
    assert run.outcome == "model_failed" and run.text == "Hel"


@pytest.mark.parametrize("said", ["y", "n"])
def test_an_agent_with_approval_takes_less_than_thirty_lines(said, tmp_path):
    example = ROOT / "examples/python/agent_with_approval.py"
    assert len(example.read_text("utf-8").splitlines()) < 30
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
    replies = call("ls", folder=str(tmp_path)), call("remove", path=str(tmp_path / "b.txt")), "That is all."
    with server(*map(streamed, replies)) as (made, address):
        program = [sys.executable, example, address, "m", "Remove the second file."]
        ran = subprocess.run(program, input=f"{said}\n", capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith('remove {"path":') and ran.stdout.endswith("? [y/n] That is all.\n")
    assert (tmp_path / "a.txt").exists() and (tmp_path / "b.txt").exists() == (said == "n")
    told = [body["messages"][-1]["content"] for _, _, body in made.asked]
    assert "a.txt" in told[1] and ("is gone" in told[2]) == (said == "y"), told
