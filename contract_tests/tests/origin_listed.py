"""A container that lets only listed Origins in, and callers without one."""

from contract_tests.broken.handshake import refusing

app = refusing(lambda headers, _: headers.get(b"origin", b"http://localhost") != b"http://localhost")
