"""Round trips through SDK, emulator and echo container, side by side with a direct WebSocket and another server.

``python -m emulator.bench`` prints the table. Everything listens on 127.0.0.1, runs in processes of its own and ends
with the run.
"""
