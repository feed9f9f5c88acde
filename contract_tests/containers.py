"""What the suite is itself tested with: small containers that are known to be good, or to have exactly one fault."""

import shlex
import sys
from dataclasses import dataclass
from typing import Literal

from contract_tests import toolchains
from emulator.target import Target

type Server = Literal["uvicorn", "hypercorn", "aiohttp", "websockets", "ws", "libwebsockets"]


@dataclass(frozen=True)
class Container:
    """One container of the suite's own test bench: how to serve it and which check has to catch it.

    name        unique, as printed in the matrix
    app         ASGI app as `module:attribute`; without an attribute, a module that serves itself; or the source of a
                container that is not Python, a file of this package
    server      what serves it; the same bug looks different under each
    caught_by   id of the check whose fault it has; None for a good container, which no check may fail
    profile     the protocol that it speaks, by name or as a TOML file, and so the checks that it is judged by
    stands_for  one line: the mistake as people make it, with the public report that it stands for
    cause       what the first cause that its check names has to say; empty for a good container
    blocks      whether not even a good request is answered, so that CT0 fails as well
    """

    name: str
    app: str
    server: Server
    caught_by: str | None
    profile: str
    stands_for: str
    cause: str = ""
    blocks: bool = False

    @property
    def source(self) -> str:
        """The file that it is written in, from the root of the repository."""
        if "/" in self.app:
            return f"contract_tests/{self.app}"
        return f"{self.app.split(':')[0].replace('.', '/')}.py"

    @property
    def target(self) -> Target:
        """How it is started.

        Raises:
            ToolMissingError: what it is written in is not to be had on this machine.
        """
        if ":" in self.app:
            return Target("app", self.app, self.server)
        words = toolchains.command(self.app) if "/" in self.app else [sys.executable, "-m", self.app, "{port}"]
        return Target("command", shlex.join(words).replace("'{port}'", "{port}"))

    @property
    def missing(self) -> str:
        """Why it cannot be started on this machine, empty if it can."""
        try:
            _ = self.target
        except toolchains.ToolMissingError as problem:
            return str(problem)
        return ""
