"""Targets: what ``--target`` names, and how it is reached."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from emulator import facts

__all__ = ["SERVERS", "Kind", "Target", "TargetSyntaxError", "parse"]

Kind = Literal["kokoro", "app", "url", "image", "command"]
SERVERS = ("uvicorn", "hypercorn")
_CONTAINER_PORT = facts.integer("ctr.port")
_EXPECTED = """\
expected one of
  MODULE:APP            an ASGI app, e.g. myapp.server:app (the current directory can be imported)
  FILE.py:APP           the same by its file, e.g. src/server.py:app
  http://HOST:PORT      a container that already runs (ws://HOST:PORT means the same)
  image:NAME[:TAG]      an image, run with the argument 'serve' and port 8080
  command:WORDS         a program, started with {port} replaced, e.g. command:node server.js --port {port}
  kokoro                the Kokoro container of this repository"""
_START_TIMEOUT_S: dict[Kind, float] = {"kokoro": 180.0, "app": 30.0, "url": 10.0, "image": 300.0, "command": 60.0}


class TargetSyntaxError(ValueError):
    """Raised when ``--target`` cannot be understood."""

    def __init__(self, text: str, problem: str) -> None:
        self.text = text
        self.problem = problem
        super().__init__(text, problem)

    def __str__(self) -> str:
        return f"--target {self.text!r}: {self.problem}; {_EXPECTED}"


@dataclass(frozen=True, slots=True)
class Target:
    """One container to judge. ``address`` is an app, a base URL, an image or a command, by ``kind``.

    ``folder`` is where an app that was named by its file is imported from, empty for the current directory.
    """

    kind: Kind
    address: str
    server: str = SERVERS[0]
    folder: str = ""

    @property
    def profile(self) -> str:
        """The profile to judge it by, where none is asked for."""
        return "kokoro-cancel" if self.kind == "kokoro" else "sagemaker"

    @property
    def start_timeout(self) -> float:
        """Seconds until the first 200 from ``/ping``, where nothing else is asked for."""
        return _START_TIMEOUT_S[self.kind]

    def __str__(self) -> str:
        return {
            "kokoro": "the Kokoro container of this repository",
            "app": f"the ASGI app {self.address}{f' in {self.folder}' if self.folder else ''}, served by {self.server}",
            "url": f"the running container at {self.address}",
            "image": f"the image {self.address}",
            "command": f"the command {self.address}",
        }[self.kind]


def parse(text: str | None, server: str = SERVERS[0]) -> Target:
    """Return the target that ``--target`` (None: not given) names.

    Raises:
        TargetSyntaxError: the text names no target.
    """
    if text is None or text == "kokoro":
        return Target("kokoro", "container.kokoro")
    if text.startswith("image:"):
        name = text.removeprefix("image:")
        if not name or re.search(r"\s", name):
            raise TargetSyntaxError(text, "there is no image name behind 'image:'")
        return Target("image", name)
    if text.startswith("command:"):
        return Target("command", _words(text))
    if "://" in text:
        return Target("url", _base_url(text))
    if re.fullmatch(r"[^\s:]+:\d+", text):
        raise TargetSyntaxError(text, f"did you mean http://{text}?")
    if match := re.fullmatch(r"(.+\.py)(?::([A-Za-z_][\w.]*))?", text):
        return _file(text, match[1], match[2], server)
    if "/" in text:
        raise TargetSyntaxError(text, f"did you mean {text.split(':')[0].rstrip('/')}.py:app?")
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", text):
        raise TargetSyntaxError(text, "that is no target")
    return Target("app", text, server)


def _file(text: str, name: str, app: str | None, server: str) -> Target:
    file = Path(name).expanduser().resolve()
    if not file.is_file():
        raise TargetSyntaxError(text, f"there is no file {file}")
    if app is None:
        raise TargetSyntaxError(text, f"the name of the app in it is missing; did you mean {name}:app?")
    folder, module = file.parent, file.stem
    while (folder / "__init__.py").is_file():  # its imports may be relative
        folder, module = folder.parent, f"{folder.name}.{module}"
    return Target("app", f"{module}:{app}", server, str(folder))


def _words(text: str) -> str:
    command = text.removeprefix("command:").strip()
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise TargetSyntaxError(text, f"the command cannot be read: {error}") from None
    if not words:
        raise TargetSyntaxError(text, "there is no command behind 'command:'")
    if "{port}" not in command:
        raise TargetSyntaxError(text, "the command has to hold {port}, e.g. command:env PORT={port} node server.js")
    return command


def _base_url(text: str) -> str:
    try:
        parts = urlsplit(text)
    except ValueError as error:  # of an address in brackets
        raise TargetSyntaxError(text, f"the host cannot be read ({error})") from None
    if parts.scheme in {"https", "wss"}:
        raise TargetSyntaxError(text, "SageMaker speaks plain HTTP and WebSocket with a container")
    if parts.scheme not in {"http", "ws"}:
        raise TargetSyntaxError(text, f"{parts.scheme}:// is unknown")
    try:
        port = parts.port or _CONTAINER_PORT
    except ValueError:
        raise TargetSyntaxError(text, "the port is no number from 1 to 65535") from None
    if not parts.hostname:
        raise TargetSyntaxError(text, "the host is missing")
    if parts.path.strip("/") or parts.query:
        raise TargetSyntaxError(text, "leave the path out; another path than the default one is set in a profile")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"http://{host}:{port}"
