"""Fault: an offer of compression is an error. Stands for https://github.com/Kludex/uvicorn/issues/1298.

An extension is an offer: a server that does not know it leaves it out of its answer.
"""

from contract_tests.broken.handshake import refusing

app = refusing(lambda headers, _: b"permessage-deflate" in headers.get(b"sec-websocket-extensions", b""), 400)
