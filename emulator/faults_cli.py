"""``emulator faults``: a thin client of the admin API of a running emulator."""

import argparse
import http.client
import json
import ssl
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from emulator import facts
from emulator.admin import PREFIX
from emulator.certificates import default_state_directory
from emulator.started import PROCESS_FAULTS
from emulator.wire.faults import FaultError, Faults

__all__ = ["AdminClient", "AdminClientError", "add_commands"]

_TIMEOUT_S = 30.0


class AdminClientError(Exception):
    """Raised when a running emulator cannot be asked, or refuses."""


class AdminClient:
    """Asks the admin API of the emulator at ``url``; ``state`` is the state directory that its authority is in."""

    def __init__(self, url: str, state: Path | None = None) -> None:
        try:
            scheme = urlsplit(url).scheme
        except ValueError:
            scheme = ""
        if scheme not in ("http", "https") or not url.isascii():
            raise AdminClientError(f"{url!r} is no URL of an emulator; expected is https://127.0.0.1:8443 or the like")
        self._url = url.rstrip("/")
        authority = (state or default_state_directory()) / "ca" / "ca.pem"
        try:
            context = ssl.create_default_context(cafile=str(authority) if authority.exists() else None)
        except OSError as error:  # ssl.SSLError is one
            raise AdminClientError(
                f"the local CA {authority} cannot be read: {error}. Name the emulator's state directory with "
                f"--state-dir; if it is that one, delete {authority.parent}, and 'emulator up' makes a new CA"
            ) from None
        # no proxy of the environment: the emulator is here
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )

    def ask(self, method: str, path: str, body: object = None) -> bytes:
        """Return what the emulator answers.

        Raises:
            AdminClientError: it cannot be reached, or refuses; says why.
        """
        request = urllib.request.Request(  # noqa: S310  # http or https, see above
            f"{self._url}{PREFIX}{path}",
            None if body is None else json.dumps(body).encode(),
            {"content-type": "application/json"},
            method=method,
        )
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                said: bytes = answer.read()
        except urllib.error.HTTPError as error:
            with error:
                raise AdminClientError(_reason(error.read(), error.code)) from None
        except (OSError, http.client.HTTPException) as error:
            why = getattr(error, "reason", error)
            raise AdminClientError(f"no emulator answers at {self._url} ({why}); name it with --url") from None
        return said


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``faults`` with its own commands."""
    parser = commands.add_parser("faults", help="set, list and clear the faults of a running emulator")
    inner = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, text: str) -> argparse.ArgumentParser:
        made = inner.add_parser(name, help=text)
        made.set_defaults(run=lambda options: _run(name, options))
        made.add_argument(
            "--url",
            default=f"https://127.0.0.1:{facts.integer('wire.port')}",
            help="address of the emulator (default: %(default)s)",
        )
        made.add_argument("--state-dir", type=Path, metavar="DIR", help="of the emulator, for its local CA")
        return made

    command("list", "what is set, what is served, and the sessions")
    setting = command("set", "let new sessions go wrong")
    setting.add_argument("fault", nargs="+", metavar="NAME=VALUE", help="as --fault of 'up' (docs/faults.md)")
    setting.add_argument("--endpoint", metavar="NAME", help="of one endpoint only")
    setting.add_argument("--seed", type=int, metavar="N", help="the same seed, the same faults")
    setting.add_argument("--sessions", type=int, metavar="N", help="only the next N sessions")
    clear = command("clear", "take it back")
    clear.add_argument("--endpoint", metavar="NAME", help="of one endpoint only")
    cut = command("cut", "end a session now, as at the end of its longest duration")
    cut.add_argument("session", metavar="ID", help="its x-amzn-requestid, see 'list'")
    process = command("process", "kill or freeze a container that the emulator has started, or fail its /ping")
    process.add_argument("fault", choices=PROCESS_FAULTS)
    process.add_argument("endpoint", metavar="ENDPOINT")
    process.add_argument("--variant", metavar="NAME", help="where the endpoint has several")


def _run(name: str, options: argparse.Namespace) -> int:
    try:
        client = AdminClient(options.url, options.state_dir)
        print(_commands(name, client, options))
    except (AdminClientError, FaultError) as error:
        print(f"emulator: {error}", file=sys.stderr)
        return 2
    return 0


def _commands(name: str, client: AdminClient, options: argparse.Namespace) -> str:
    match name:
        case "list":
            return "\n".join(
                f"{what}\n{_shown(client.ask('GET', what))}" for what in ("faults", "endpoints", "sessions")
            )
        case "set":
            body: dict[str, Any] = {"faults": str(Faults.parse(*options.fault))}
            body |= {n: value for n in ("seed", "sessions") if (value := getattr(options, n)) is not None}
            return _shown(client.ask("PUT", _faults_of(options.endpoint), body))
        case "clear":
            answer = client.ask("DELETE", _faults_of(options.endpoint))
            shown = _shown(answer)
            if options.endpoint is None and (names := ", ".join(json.loads(answer)["endpoints"])):
                hint = f"These endpoints keep faults of their own: {names}. Take them back with --endpoint NAME."
                print(f"emulator: {hint}", file=sys.stderr)
            return shown
        case "cut":
            return _shown(client.ask("POST", f"sessions/{quote(options.session, safe='')}/cut"))
        case _:
            wanted = {"fault": options.fault} | ({"variant": options.variant} if options.variant else {})
            return _shown(client.ask("POST", f"endpoints/{quote(options.endpoint, safe='')}/process", wanted))


def _faults_of(endpoint: str | None) -> str:
    return "faults" if endpoint is None else f"faults/{quote(endpoint, safe='')}"


def _shown(answer: bytes) -> str:
    try:
        return json.dumps(json.loads(answer), indent=2)
    except (ValueError, RecursionError):
        raise AdminClientError(
            f"what answers is no emulator: expected is JSON, it says {answer[:100].decode('utf-8', 'replace')!r}; name "
            "the emulator with --url"
        ) from None


def _reason(body: bytes, status: int) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return f"the emulator answered HTTP {status}: {body[:200].decode('utf-8', 'replace')!r}"
