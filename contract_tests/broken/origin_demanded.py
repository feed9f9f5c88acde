"""Fault: no Origin, no entry. Seen in https://github.com/kiwiirc/webircgateway/pull/44.

Meant against foreign web pages; but a proxy is no browser and sends none.
"""

from contract_tests.broken.handshake import refusing

app = refusing(lambda headers, _: b"origin" not in headers)
