"""The admin API: looks into a running emulator and sets its faults, under ``/_emulator/`` of its own address.

Only programs on this machine are let in, and no page of a browser that is not the emulator's own: see
:func:`refusal`.
"""

import asyncio
import contextlib
import ipaddress
import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from emulator import started
from emulator.dataplane import DataPlane
from emulator.exchange import Exchange, answer, read_body
from emulator.fault_settings import FaultSettings
from emulator.http2 import ClientGoneError
from emulator.recording import lines_of
from emulator.registry import NoVariantError, Registry
from emulator.started import PROCESS_FAULTS, NotStartedError, ProcessFault
from emulator.trace import SessionTrace
from emulator.wire.faults import FaultError, Faults

__all__ = ["PREFIX", "Admin", "refusal"]

PREFIX = "/_emulator/"
_log = logging.getLogger("emulator.admin")
_MAX_BODY = 64 * 1024
_ROUTES = """\
GET    endpoints                        what is served, by which containers
POST   endpoints/NAME/process           {"fault": "kill"}, "variant" where it has several
GET    sessions                         open and ended sessions, oldest first
POST   sessions/ID/cut                  end a session as at the end of its longest duration
GET    sessions/ID/trace                its wire log, newline-delimited JSON
GET    traces                           all that are kept, newline-delimited JSON
GET    faults                           what is set
PUT    faults, faults/NAME              {"faults": "drop_part=3"}, "seed", "sessions" for the next ones only
DELETE faults, faults/NAME              take it back
"""


class _AdminError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def refusal(peer: str, scheme: str, authority: str, headers: Mapping[str, str]) -> str | None:
    """Return why a request is not let in, None where it is.

    The caller's address must be of this machine. The Host must name this machine by address or as ``localhost``: a
    name of somebody's own, which was made to point here, is how a web page gets around the browser's rules. What a
    browser sends for a page of another origin is refused by ``Origin`` and ``Sec-Fetch-Site``.
    """
    if not _is_loopback(peer):
        return f"the admin API serves this machine only, this request came from {peer or 'an unknown address'}"
    try:
        host = urlsplit(f"//{authority}").hostname or ""
    except ValueError:
        host = ""
    if host != "localhost" and not _is_loopback(host):
        return f"Host {authority!r} is not this machine; expected is localhost or 127.0.0.1"
    origin = headers.get("origin")
    if origin is not None and origin != f"{scheme}://{authority}":
        return f"a web page of {origin} may not use the admin API"
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return "a web page of another origin may not use the admin API"
    return None


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


class Admin:
    """Answers what is asked under :data:`PREFIX`."""

    def __init__(self, registry: Registry, data_plane: DataPlane, faults: FaultSettings) -> None:
        self._registry = registry
        self._data_plane = data_plane
        self._faults = faults

    @staticmethod
    def serves(path: str) -> bool:
        """Whether a raw path is the admin API's."""
        return f"{path.partition('?')[0]}/".startswith(PREFIX)

    async def serve(self, exchange: Exchange) -> None:
        """Answer one request, whatever comes."""
        with contextlib.suppress(ClientGoneError):
            await self._serve(exchange)

    async def _serve(self, exchange: Exchange) -> None:
        fields = dict(exchange.headers)
        try:
            why = refusal(exchange.peer, exchange.scheme, exchange.authority, fields)
            if why is not None:
                raise _AdminError(403, f"Refused: {why}.")
            body = await _read(exchange, fields)
            path = f"{exchange.path.partition('?')[0]}/".removeprefix(PREFIX)
            parts = [unquote(part) for part in path.strip("/").split("/")]
            kind, data = await self._route(exchange.method, parts, body)
        except _AdminError as error:
            _log.warning("%s %s answered with %d: %s", exchange.method, exchange.path, error.status, error.message)
            body = json.dumps({"error": error.message}).encode()
            await exchange.fail(error.status, _head("application/json", body), body)
        else:
            await answer(exchange, 200, [("content-type", kind), *_HEADERS], data)

    async def _route(self, method: str, parts: list[str], body: bytes) -> tuple[str, bytes]:
        match method, parts:
            case "GET", [""]:
                return "text/plain", _ROUTES.encode()
            case "GET", ["endpoints"]:
                return _json([self._endpoint(name) for name in self._registry])
            case "POST", ["endpoints", name, "process"]:
                return _json(await self._process(name, _members(body, "fault", "variant")))
            case "GET", ["sessions"]:
                return _json([self._session(trace) for trace in self._data_plane.traces])
            case "POST", ["sessions", request_id, "cut"]:
                if not await self._data_plane.cut(request_id):
                    raise _AdminError(404, f"No session {request_id} is open. GET {PREFIX}sessions lists them.")
                return _json({"cut": request_id})
            case "GET", ["sessions", request_id, "trace"]:
                return "application/x-ndjson", b"".join(self._lines(self._trace(request_id)))
            case "GET", ["traces"]:
                return "application/x-ndjson", b"".join(
                    line for trace in list(self._data_plane.traces) for line in self._lines(trace)
                )
            case _, ["faults"]:
                return _json(self._change_faults(method, None, body))
            case _, ["faults", name] if name:
                return _json(self._change_faults(method, name, body))
            case _:
                raise _AdminError(404, f"{method} {PREFIX}{'/'.join(parts)} is nothing. There is:\n{_ROUTES}")

    # --- endpoints ---

    def _endpoint(self, name: str) -> dict[str, object]:
        variants = [
            {
                "name": variant.name,
                "container": variant.container,
                "weight": variant.weight,
                "bidirectional": variant.bidirectional,
                "sessions": self._registry.sessions(variant.container),
                "process": started.state(variant.container),
                "ping_fails": started.ping_fails(variant.container),
            }
            for variant in self._registry[name].variants
        ]
        return {"name": name, "variants": variants}

    async def _process(self, name: str, wanted: Mapping[str, Any]) -> dict[str, object]:
        fault = wanted.get("fault")
        if not isinstance(fault, str) or fault not in PROCESS_FAULTS:
            raise _AdminError(400, f"fault {fault!r}: expected is one of {', '.join(PROCESS_FAULTS)}")
        try:
            variant = self._registry.variant(name, wanted.get("variant"))
            await asyncio.to_thread(started.apply, variant.container, cast("ProcessFault", fault))
        except NoVariantError as error:
            raise _AdminError(400 if error.unclear else 404, str(error)) from None
        except NotStartedError as error:
            raise _AdminError(409, f"{name}: {error}.") from None
        _log.warning("fault on demand: %s of the container of %s, variant %s", fault, name, variant.name)
        return self._endpoint(name)

    def _no_endpoint(self, name: str) -> _AdminError:
        return _AdminError(404, f"No endpoint {name} is served; there are: {', '.join(self._registry) or 'none'}.")

    # --- sessions ---

    def _session(self, trace: SessionTrace) -> dict[str, object]:
        open_ones = {each.request_id for each in self._data_plane.open_sessions()}
        return {
            "id": trace.request_id,
            "endpoint": trace.endpoint,
            "variant": trace.variant,
            "operation": trace.operation,
            "state": "open" if trace.request_id in open_ones else "ended",
            "age": round(trace.clock() - trace.began, 3),
            "entries": len(trace.entries) + trace.dropped,
            "metered": dict(trace.metered),
        }

    def _trace(self, request_id: str) -> SessionTrace:
        for trace in self._data_plane.traces:
            if trace.request_id == request_id:
                return trace
        raise _AdminError(404, f"No session {request_id} is known, or it is too old to be kept.")

    @staticmethod
    def _lines(trace: SessionTrace) -> Iterator[bytes]:
        return (line.encode() for line in lines_of(trace))

    # --- faults ---

    def _change_faults(self, method: str, endpoint: str | None, body: bytes) -> dict[str, object]:
        if endpoint is not None and endpoint not in self._registry and method == "PUT":
            raise self._no_endpoint(endpoint)
        match method:
            case "GET":
                pass
            case "PUT":
                self._set_faults(endpoint, _members(body, "faults", "seed", "sessions"))
            case "DELETE":
                self._faults.set(None, endpoint)
            case _:
                raise _AdminError(405, f"{method}: faults can be read with GET, set with PUT, taken back with DELETE.")
        settings = self._faults.settings()
        if endpoint is not None:
            return {"endpoint": endpoint, **settings.get(endpoint, {})}
        return {"all": settings.pop(None, {}), "endpoints": settings}

    def _set_faults(self, endpoint: str | None, given: Mapping[str, Any]) -> None:
        wanted, seed, sessions = given.get("faults"), given.get("seed"), given.get("sessions")
        for name, value in (("seed", seed), ("sessions", sessions)):
            if value is not None and type(value) is not int:
                raise _AdminError(400, f"{name} is {value!r}, expected is a whole number")
        try:
            if isinstance(wanted, str):
                faults = Faults.parse(wanted) if wanted else Faults()
            elif isinstance(wanted, dict):
                faults = Faults.of(wanted)
            else:
                raise _AdminError(400, 'faults: expected is a text, as in "drop_part=3", or an object {"drop_part": 3}')
            if sessions is None:
                self._faults.set(faults, endpoint, seed)
            else:
                self._faults.set_once(faults, endpoint, seed, sessions)
        except FaultError as error:
            raise _AdminError(400, str(error)) from None


# what a page of another origin must not read, a proxy must not keep, and a browser must not take for a page
_HEADERS = [
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("cross-origin-resource-policy", "same-origin"),
]


def _head(kind: str, body: bytes) -> list[tuple[str, str]]:
    return [("content-type", kind), ("content-length", str(len(body))), *_HEADERS]


def _json(value: object) -> tuple[str, bytes]:
    return "application/json", json.dumps(value).encode() + b"\n"


async def _read(exchange: Exchange, fields: Mapping[str, str]) -> bytes:
    body = await read_body(exchange, _check_size)
    # a form of a web page cannot send this type without asking first
    kind = fields.get("content-type", "").partition(";")[0].strip().lower()
    if exchange.method in ("PUT", "POST") and body and kind != "application/json":
        raise _AdminError(415, f"content-type is {kind!r}, expected is application/json")
    return body


def _check_size(size: int) -> None:
    if size > _MAX_BODY:
        raise _AdminError(413, f"The body has more than {_MAX_BODY} bytes.")


def _members(body: bytes, *known: str) -> dict[str, Any]:
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _AdminError(400, f"The body is no JSON: {error}") from None
    if not isinstance(given, dict):
        raise _AdminError(400, "The body is no JSON object.")
    if unknown := sorted(given.keys() - set(known)):
        raise _AdminError(400, f"unknown: {', '.join(unknown)}; expected are {', '.join(known)}")
    return given
