"""`python -m container.kokoro`."""

import os
import signal
import sys
from types import FrameType


def _end(number: int, frame: FrameType | None) -> None:
    """End with exit code 0, also while the imports below take their seconds.

    The first process of a container has no default for SIGTERM, so that it would be lost.
    """
    del number, frame
    raise SystemExit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    try:
        from container.kokoro.cli import main

        code = main()
    except SystemExit as end:  # --help, a wrong option, a signal
        code = end.code if isinstance(end.code, int) else 1
    sys.stdout.flush()
    sys.stderr.flush()
    # a sentence that is being computed in native code can't be stopped, and ending the interpreter under it may crash
    os._exit(code)
