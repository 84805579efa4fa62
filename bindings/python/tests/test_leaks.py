"""Nothing leaks: streams are counted, and memory does not grow with use."""

import gc
import os
import subprocess
import sys
import tracemalloc

import pytest
import toolglot as tg

CALL = '<tool_call name="f"><param name="a">1</param></tool_call>'
ENGINE = tg.Engine()


def test_streams_are_counted():
    gc.collect()
    before = tg.live_streams()
    things = [ENGINE.stream(), ENGINE.reader("openai"), ENGINE.rewriter(), tg.Mask(ENGINE), ENGINE.stream().copy()]
    assert tg.live_streams() == before + 5
    with pytest.raises(tg.InternalError):
        things[0]._panic()
    things.clear()
    gc.collect()
    assert tg.live_streams() == before


def use():
    with ENGINE.stream() as stream:
        for event in stream.feed("Grüße " + CALL + " x"):
            repr(event), getattr(event, "arguments", None), hash(event)
        stream.snapshot(), stream.copy(), stream.tail
    tg.parse(CALL).calls[0].arguments
    for bad in ("no such", 3):
        try:
            tg.Engine(bad)
        except (tg.DialectError, TypeError):
            pass
    list(tg.events([{"choices": [{"delta": {"content": CALL}}]}]))
    list(tg.to_openai([CALL]))
    tg.mask(CALL), tg.escape(CALL)


def test_python_memory():
    for _ in range(20):
        use()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(20):
            use()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(200):
            use()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 20_000, grown


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory of a process is read from /proc")
def test_native_memory():
    # In a separate process: memory freed by other tests would hide growth.
    script = """
import gc, resource, toolglot as tg
engine = tg.Engine("tool-call-xml")
text = '<tool_call name="f"><param name="a">' + "x" * 100_000 + "</param></tool_call>"
def use():
    stream = engine.stream()
    stream.feed(text), stream.snapshot(), stream.copy()
    engine.parse(text).calls[0].arguments
def size():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
for _ in range(50): use()
before = size()
for _ in range(300): use()
print(size() - before)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    # One leaked text per round would be 30 MB.
    assert int(done.stdout) < 8_000_000


def test_engines_of_one_set_share_it():
    engines = [tg.Engine("vcp", limits={"max_calls": n}) for n in range(1, 200)]
    assert len(set(engines)) == 199
