"""HTTP/2 over asyncio, with the timing and the endings that AWS SDK clients need.

Ready-made servers answer too late, end streams with a reset, or break on the GOAWAY of JavaScript clients; so this is
``h2`` under a thin shell. ``SDK`` in the comments is the Python SDK with its CRT transport.
"""

from emulator.http2.connection import Handler, Http2Connection
from emulator.http2.stream import ClientGoneError, Http2Stream

__all__ = ["ClientGoneError", "Handler", "Http2Connection", "Http2Stream"]
