"""Round trips through SDK, emulator and echo container, side by side with a direct WebSocket and another server.

``bench round-trips`` prints the table. Everything listens on 127.0.0.1, runs in processes of its own and ends
with the run.
"""
