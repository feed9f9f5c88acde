"""`python -m container.kokoro`."""

import os
import sys

from container.kokoro.cli import main

if __name__ == "__main__":
    try:
        code = main()
    except SystemExit as end:  # --help, a wrong option, a signal
        code = end.code if isinstance(end.code, int) else 1
    sys.stdout.flush()
    sys.stderr.flush()
    # a sentence that is being computed in native code can't be stopped, and ending the interpreter under it may crash
    os._exit(code)
