"""`python -m container.kokoro`."""

import os
import signal
import sys

from container.kokoro.ending import ends_at

if __name__ == "__main__":
    # before all that takes seconds: the first process of a container has no default for it, so that it would be lost
    ends_at(signal.SIGTERM)
    try:
        from container.kokoro.cli import main

        code = main()
    except SystemExit as end:  # --help, a wrong option, a signal
        code = end.code if isinstance(end.code, int) else 1
    sys.stdout.flush()
    sys.stderr.flush()
    # a sentence that is being computed in native code can't be stopped, and ending the interpreter under it may crash
    os._exit(code)
