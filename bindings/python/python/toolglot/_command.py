"""The command `toolglot`, which is also `python -m toolglot`."""

import signal
import sys

__all__ = ["main"]


def main() -> int:
    """Runs the command with the arguments of this process, and returns its exit status."""
    try:
        from ._native import command
    except ImportError:
        print("toolglot: this build of the package carries no command", file=sys.stderr)
        return 2
    # Python would note an interrupt and wait for the command to return.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command(["toolglot", *sys.argv[1:]])
