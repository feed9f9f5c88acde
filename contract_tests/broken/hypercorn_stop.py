"""Fault: SIGTERM waits for the callers to leave. Seen in https://github.com/pgjones/hypercorn/issues/308.

The application is the good one; the server is hypercorn 0.18 on Python 3.12, which waits for the end of every open
connection before it looks at its own time limit.
"""

from contract_tests.good.speech import speech_app

app = speech_app()
