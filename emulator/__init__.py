"""A local stand-in for Amazon SageMaker AI bidirectional streaming."""

from emulator.endpoint import Endpoint
from emulator.server import Emulator, PortInUseError, Server
from emulator.switches import Switches
from emulator.trace import SessionTrace, TraceEntry

__all__ = ["Emulator", "Endpoint", "PortInUseError", "Server", "SessionTrace", "Switches", "TraceEntry"]
