"""The power switch: kills a console script right after a change that it asked AWS for, before it hears of it."""

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, unquote

from emulator.controlplane.moto_process import Answer, MotoProcess
from emulator.exchange import Exchange

__all__ = ["Switch", "change"]

_READS = re.compile(r"(Describe|List|Get|Batch(Get|Check)|Head|Lookup|Validate|AssumeRole)")
_KEPT = 4096
_NAMES = ("StackName", "repositoryName", "logGroupName")


class _Tapped:
    """An exchange whose body is remembered, as far as names stand in it."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.body = b""

    async def receive(self) -> bytes | None:
        data = await self._exchange.receive()
        self.body += (data or b"")[: _KEPT - len(self.body)]
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._exchange, name)


def change(method: str, path: str, headers: dict[str, str], body: bytes) -> str | None:
    """Return what a request changes, as operation and name: "CreateStack speech-endpoint". None for a mere look."""
    target = headers.get("x-amz-target")
    if target is not None:
        operation = target.rpartition(".")[2]
        try:
            found = json.loads(body)
        except ValueError:
            found = {}
        named = next((str(found[name]) for name in _NAMES if name in found), "")
    elif "x-www-form-urlencoded" in headers.get("content-type", ""):
        fields = parse_qs(body.decode("utf-8", "replace"))
        operation = fields.get("Action", [""])[0]
        named = next((fields[name][0] for name in _NAMES if name in fields), "")
    elif method in ("GET", "HEAD") or path == "/runtimes/":  # ListAgentRuntimes is a POST
        return None
    else:
        operation, named = method, unquote(path.partition("?")[0] + ("?delete" if path.endswith("?delete") else ""))
    if not operation or _READS.match(operation):
        return None
    return (
        f"{operation} {named.rpartition('stack/')[2].partition('/')[0] if named.startswith('arn:') else named}".strip()
    )


class Switch:
    """Armed with a process, it kills that process's group after the next change for which ``wanted`` says so."""

    def __init__(self) -> None:
        self.changes: list[str] = []
        """All changes so far."""
        self.killed: str | None = None
        self._process: int | None = None
        self._wanted: Callable[[str], bool] = lambda _: False

    def arm(self, process: int, wanted: Callable[[str], bool]) -> None:
        """Get ready to kill."""
        self._process, self._wanted, self.killed = process, wanted, None

    def disarm(self) -> None:
        """Kill nothing from here on."""
        self._process = None

    def note(self, what: str) -> None:
        """Take note of a change, and kill where it is time."""
        self.changes.append(what)
        if self._process is not None and self._wanted(what):
            process, self._process = self._process, None
            self.killed = what
            os.killpg(process, signal.SIGKILL)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Stand between the emulator and moto."""
        relay = MotoProcess.relay

        async def noted(moto: MotoProcess, exchange: Exchange) -> Answer:
            tapped = _Tapped(exchange)
            answer = await relay(moto, tapped)
            what = change(exchange.method, exchange.path, dict(exchange.headers), tapped.body)
            if what is not None:
                self.note(what)
            return answer

        MotoProcess.relay = noted  # type: ignore[assignment,method-assign]
        try:
            yield
        finally:
            MotoProcess.relay = relay  # type: ignore[method-assign]
