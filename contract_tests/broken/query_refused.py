"""Fault: the route is compared with path and query. As in BlackBeltTechnology/pi-agent-dashboard#297.

There `request.url === "/ws"` refused everybody who came with a ticket in the query string.
"""

from contract_tests.broken.handshake import refusing

app = refusing(lambda _, query: query != "", 404)
