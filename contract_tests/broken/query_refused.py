"""Fault: the route is compared with path and query. Stands for https://github.com/fastapi/fastapi/issues/98.

A middleware that knows only its own paths; callers may add any query string.
"""

from contract_tests.broken.handshake import refusing

app = refusing(lambda _, query: query != "", 404)
