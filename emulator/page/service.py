"""Serves the page: its files, and what it must know of this emulator."""

import json
import logging
from collections.abc import Mapping
from importlib import resources
from urllib.parse import quote

from emulator import facts
from emulator.admin import refusal
from emulator.agentcore.service import AgentPlane
from emulator.exchange import Exchange, answer

__all__ = ["PREFIX", "Page"]

PREFIX = "/_page/"
_log = logging.getLogger("emulator.page")
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
}
_HEAD = [
    ("cache-control", "no-store"),
    ("content-security-policy", "default-src 'self'; img-src data:; frame-ancestors 'none'"),
    ("x-content-type-options", "nosniff"),
]


class Page:
    """Answers what is asked under :data:`PREFIX`, to this machine only: the configuration holds a token."""

    def __init__(self, agents: AgentPlane) -> None:
        self._agents = agents

    @staticmethod
    def serves(method: str, path: str, headers: Mapping[str, str]) -> bool:
        """Whether a request is for the page: under its path, or a browser at the root (where boto3 lists buckets)."""
        bare = path.partition("?")[0]
        browser = "text/html" in headers.get("accept", "") and "authorization" not in headers
        return bare.startswith(PREFIX) or (method == "GET" and bare == "/" and browser)

    async def serve(self, exchange: Exchange) -> None:
        """Answer one request."""
        bare = exchange.path.partition("?")[0]
        why = refusal(exchange.peer, exchange.scheme, exchange.authority, dict(exchange.headers))
        if why is not None:
            _log.warning("%s refused: %s", exchange.path, why)
            await _say(exchange, 403, f"Refused: {why}.\n".encode())
        elif bare == "/":
            await answer(exchange, 302, [("location", PREFIX)], b"")
        elif exchange.method != "GET":
            await _say(exchange, 405, b"The page is read with GET.\n")
        elif (data := self._read(bare.removeprefix(PREFIX) or "index.html")) is None:
            await _say(exchange, 404, f"{bare} is no part of the page, which is at {PREFIX}.\n".encode())
        else:
            kind = _TYPES[(bare.rpartition(".")[2] if "." in bare else "html")]
            await answer(exchange, 200, [("content-type", kind), *_HEAD], data)

    def _read(self, name: str) -> bytes | None:
        if name == "config.json":
            return json.dumps(self.configuration()).encode()
        folder = resources.files("emulator.page").joinpath("static")
        # by name from the list: nothing that a request says becomes a path
        return next((file.read_bytes() for file in folder.iterdir() if file.name == name and file.is_file()), None)

    def configuration(self) -> dict[str, object]:
        """Return what the page must know: the agents, the operations' paths for each, and the bearer token."""
        paths = {"path": "agent.invoke-path", "socket": "agent.ws-path"}
        return {
            "agents": [
                {"id": agent, **{name: self._path(fact, agent) for name, fact in paths.items()}}
                for agent in self._agents.runtimes
            ],
            "token": self._agents.token,
        }

    def _path(self, fact: str, agent: str) -> str:
        arn = self._agents.runtimes.arn(agent.rpartition("-")[0])
        bare = facts.text(fact).replace("{agentRuntimeArn}", quote(arn, safe=""))
        return f"{bare}?qualifier={facts.text('agent.qualifier')}"


async def _say(exchange: Exchange, status: int, text: bytes) -> None:
    await answer(exchange, status, [("content-type", "text/plain; charset=utf-8")], text)
