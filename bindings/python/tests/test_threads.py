"""Threads: engines are shared, a stream belongs to one thread at a time, long chunks let others run."""

import os
import sys
import threading
import time

import pytest
import toolglot as tg

CALL = '<tool_call name="f"><param name="a">1</param></tool_call>'
ENGINE = tg.Engine()


def test_an_engine_is_shared():
    found, begun = [], threading.Barrier(8)

    def work():
        begun.wait()
        for _ in range(50):
            found.append(len(ENGINE.parse("text " + CALL * 3).calls))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [3] * 400


def test_a_second_thread_gets_busy_error_at_once():
    # Much longer than any call from the other thread takes, on any machine.
    chunk = (CALL + "text ") * 200_000
    stream = ENGINE.stream()
    done = []

    def work():
        while not done:
            try:
                done.append(len(stream.feed(chunk)))
            except tg.BusyError:
                continue  # The other thread was using it.

    thread = threading.Thread(target=work)
    thread.start()
    message = ""
    while thread.is_alive() and not message:
        try:
            stream.feed("x")
        except tg.BusyError as error:
            message = str(error)
            assert not done, "it waited until the other thread was done"
    thread.join()
    assert "another thread is using this stream; one stream belongs to one thread at a time" in message
    assert done[0] > 200_000
    assert stream.feed("free again")


def test_other_threads_run_during_a_long_chunk():
    chunk = b"word " * 20_000_000
    stream = tg.Engine("tool-call-xml").stream()
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    interval = sys.getswitchinterval()
    begun = time.perf_counter()
    stream.feed(chunk)
    ended = time.perf_counter()
    stop.set()
    thread.join()
    during = [at for at in ticks if begun + interval < at < ended - interval]
    assert during, f"nothing ran in {ended - begun} s"


def test_a_stream_may_move_between_threads():
    stream = ENGINE.stream()
    events = []
    for piece in (CALL[:9], CALL[9:30], CALL[30:]):
        thread = threading.Thread(target=lambda piece=piece: events.extend(stream.feed(piece)))
        thread.start()
        thread.join()
    assert [event.name for event in events if isinstance(event, tg.CallClose)] == ["f"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_both_sides_of_a_fork_work():
    stream = ENGINE.stream()
    stream.feed(CALL[:30])

    def rest():
        return [event.arguments for event in stream.feed(CALL[30:]) if isinstance(event, tg.CallClose)]

    child = os.fork()
    if child == 0:
        os._exit(0 if rest() == [{"a": "1"}] else 1)
    assert rest() == [{"a": "1"}]
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
