"""`python -m toolglot` is the command `toolglot`."""

import sys

from ._command import main

if __name__ == "__main__":
    sys.exit(main())
