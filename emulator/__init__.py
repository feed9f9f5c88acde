"""A local stand-in for Amazon SageMaker AI bidirectional streaming."""

from emulator.endpoint import Endpoint, Variant
from emulator.launch import launched
from emulator.server import Emulator, PortInUseError, Server
from emulator.started import NotStartedError
from emulator.switches import Switches
from emulator.target import Target
from emulator.trace import SessionTrace, TraceEntry
from emulator.wire.faults import CloseFault, FaultError, Faults

__all__ = [
    "CloseFault",
    "Emulator",
    "Endpoint",
    "FaultError",
    "Faults",
    "NotStartedError",
    "PortInUseError",
    "Server",
    "SessionTrace",
    "Switches",
    "Target",
    "TraceEntry",
    "Variant",
    "launched",
]
