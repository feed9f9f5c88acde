"""A local stand-in for Amazon SageMaker AI bidirectional streaming."""

from emulator.endpoint import Endpoint, Variant
from emulator.server import Emulator, PortInUseError, Server
from emulator.switches import Switches
from emulator.trace import SessionTrace, TraceEntry
from emulator.wire.faults import CloseFault, FaultError, Faults

__all__ = [
    "CloseFault",
    "Emulator",
    "Endpoint",
    "FaultError",
    "Faults",
    "PortInUseError",
    "Server",
    "SessionTrace",
    "Switches",
    "TraceEntry",
    "Variant",
]
