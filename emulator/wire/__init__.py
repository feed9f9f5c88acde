"""Sans-I/O: bytes, events, frames, states and limits. Nothing in here opens a socket or reads a clock."""
