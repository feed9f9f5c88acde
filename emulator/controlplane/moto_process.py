"""The emulator's side of moto's process: start it, relay requests to it, read its books, end it."""

import asyncio
import contextlib
import json
import os
import secrets
import sys
from collections.abc import AsyncIterator
from importlib.util import find_spec
from typing import Any

from emulator import credentials
from emulator.exchange import Exchange
from emulator.http1 import client

__all__ = ["MotoProcess", "MotoUnavailableError"]

_START_LIMIT = 60.0
_ACCOUNT = "000000000000"
# they belong to one connection, not to the message
_HOP = {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "expect"}


class MotoUnavailableError(Exception):
    """Raised when moto is not installed or does not start."""


class MotoProcess:
    """moto, in a process that cannot reach any other machine and ends with this one."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, secret: str) -> None:
        self._process = process
        self._port = port
        self._secret = secret

    @classmethod
    async def start(cls) -> "MotoProcess":
        """Start moto and wait until it listens.

        Raises:
            MotoUnavailableError: it is not installed, or did not start.
        """
        if find_spec("moto") is None or find_spec("flask") is None:
            raise MotoUnavailableError(
                "The control plane needs moto, which is not installed: pip install 'sagemaker-bidi[control]'."
            )
        secret = secrets.token_hex(16)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "emulator.controlplane.moto_main",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=_environment(),
            start_new_session=True,  # Ctrl-C is the emulator's alone; moto ends when its input does
        )
        moto = cls(process, 0, secret)
        try:
            assert process.stdin is not None  # noqa: S101  # pipes were asked for
            assert process.stdout is not None  # noqa: S101
            process.stdin.write(f"{secret}\n".encode())
            async with asyncio.timeout(_START_LIMIT):
                moto._port = int(await process.stdout.readline())
        except (TimeoutError, ValueError, ConnectionError):
            await moto.stop()
            raise MotoUnavailableError(
                f"moto did not start (exit status {process.returncode}); what it says is on standard error."
            ) from None
        except BaseException:
            await moto.stop()
            raise
        return moto

    @property
    def ended(self) -> int | None:
        """The exit status of the process, None while it runs."""
        return self._process.returncode

    async def stop(self) -> None:
        """End the process."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        await self._process.communicate()

    async def relay(self, exchange: Exchange) -> "Answer":
        """Send a client's request to moto, unchanged; returns its whole answer."""
        headers = [(name, value) for name, value in exchange.headers if name not in _HOP]
        if exchange.authority and "host" not in {name for name, _ in headers}:
            headers.append(("host", exchange.authority))
        headers.append(("x-forwarded-proto", exchange.scheme))
        if "content-length" in {name for name, _ in headers}:
            body: bytes | AsyncIterator[bytes] = _body(exchange)
        else:
            body = b"".join([data async for data in _body(exchange)])
        async with client.request("127.0.0.1", self._port, exchange.method, exchange.path, headers, body) as response:
            head = [(name, value) for name, value in response.headers if name not in {*_HOP, "date", "server"}]
            if response.status == 500 and dict(head).get("content-type", "").startswith("text/html"):
                return _failed(exchange)
            return Answer(response.status, head, await response.read())

    async def endpoints(self) -> list[dict[str, Any]]:
        """Return the plan of each endpoint in the books."""
        plans: list[dict[str, Any]] = json.loads(await self._ask("GET", "endpoints"))
        return plans

    async def report(self, report: dict[str, Any]) -> None:
        """Write what became of an endpoint into the books."""
        await self._ask("POST", "report", json.dumps(report).encode())

    async def agents(self) -> list[dict[str, Any]]:
        """Return the plan of each agent runtime in the books."""
        plans: list[dict[str, Any]] = json.loads(await self._ask("GET", "agents"))
        return plans

    async def report_agent(self, report: dict[str, Any]) -> None:
        """Write what became of an agent runtime into the books."""
        await self._ask("POST", "agent-report", json.dumps(report).encode())

    async def _ask(self, method: str, what: str, body: bytes = b"") -> bytes:
        async with client.request("127.0.0.1", self._port, method, f"/{self._secret}/{what}", [], body) as response:
            said = await response.read()
            if response.status != 200:
                raise MotoUnavailableError(f"moto's process answered {response.status}: {said[:500]!r}")
            return said


class Answer:
    """A whole answer of moto."""

    def __init__(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    async def to(self, exchange: Exchange) -> None:
        """Give it to the client."""
        headers = self.headers
        if exchange.method != "HEAD" and self.status not in {204, 304}:  # these announce a body that does not come
            headers = [*[pair for pair in headers if pair[0] != "content-length"], _length(self.body)]
        await exchange.start(self.status, headers)
        await exchange.send(self.body)
        exchange.end()


def _failed(exchange: Exchange) -> Answer:
    """Return an error that SDKs can read, in place of the page that moto gives where it fails itself."""
    message = (
        f"moto failed at {exchange.method} {exchange.path}; its traceback is on standard error. "
        "Either moto does not support the call, or the request is none that an AWS client makes."
    )
    head = [("content-type", "application/json"), ("x-amzn-errortype", "InternalFailure")]
    return Answer(500, head, json.dumps({"__type": "InternalFailure", "message": message}).encode())


def _length(body: bytes) -> tuple[str, str]:
    return "content-length", str(len(body))


async def _body(exchange: Exchange) -> AsyncIterator[bytes]:
    while (data := await exchange.receive()) is not None:
        yield data


def _environment() -> dict[str, str]:
    """Return moto's environment: nothing of the user's AWS configuration, and the emulator's account number."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {
        "MOTO_ACCOUNT_ID": _ACCOUNT,  # unless the user has set another
        **kept,
        **credentials.ENVIRONMENT,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
