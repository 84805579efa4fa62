"""What the peers in Python share: jobs come as lines, answers leave as lines. `src/main.rs` has the fields."""

import json
import sys
import time


class Out:
    """What a parser said: text, and calls by their number."""

    def __init__(self):
        self.text, self.calls = "", {}

    def piece(self, index, name, arguments):
        call = self.calls.setdefault(index, ["", ""])
        call[0] += name or ""
        call[1] += arguments or ""


def chunks(text, cuts):
    at, out = 0, []
    for length in cuts:
        out.append(text[at : at + length])
        at += length
    return out


def counted(peer, pieces, limit, out):
    """Feeds the chunks until the time is up; returns how many characters were fed."""
    begun, fed = time.thread_time(), 0
    for number, chunk in enumerate(pieces):
        peer.feed(chunk, number == len(pieces) - 1, out)
        fed += len(chunk)
        if number % 16 == 15 and time.thread_time() - begun > limit:
            break
    return fed


def serve(make):
    """Answers jobs. `make(job)` returns an object with `feed(chunk, last, out)` and `at_once(text, out)`."""
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        job = json.loads(line)
        out, error, fed, seconds = Out(), None, 0, 0
        try:
            peer = make(job)
            if job["cuts"] is None:
                peer.at_once(job["input"], out)
            else:
                pieces = chunks(job["input"], job["cuts"])
                begun = time.thread_time()
                fed = counted(peer, pieces, job["limit"], out)
                seconds = time.thread_time() - begun
        except Exception as why:  # noqa: BLE001: an exception is a result here
            error = f"{type(why).__name__}: {why}"
        if job.get("quiet"):
            out = Out()
        answers.write(json.dumps({"text": out.text, "calls": out.calls, "error": error, "fed": fed, "seconds": seconds}) + "\n")
        answers.flush()
