"""moto in a process of its own: ``python -m emulator.controlplane.moto_main``, started by the emulator.

It prints its port, serves on loopback, and ends with its standard input. It cannot reach any other machine: an audit
hook, which nothing in the process can take off, refuses every connection and every name that is not loopback.
Paths under ``/{secret}/`` (the first line of standard input) are the emulator's own.
"""

import ipaddress
import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

Start = Callable[[str, list[tuple[str, str]]], Any]
_LOOPBACK = {"localhost", "127.0.0.1", "::1", "0.0.0.0", "::", "", None}  # noqa: S104  # to bind, not to reach


def stay_at_home(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse to leave the machine (an audit hook).

    Raises:
        PermissionError: something wants to reach another machine.
    """
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in {"socket.connect", "socket.sendto"}:
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None  # a path is a local socket
    elif event in {"socket.gethostbyname", "socket.gethostbyaddr"}:
        host = arguments[0]
    else:
        return
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host not in _LOOPBACK and not _is_loopback(str(host)):
        what = f"moto wants to reach {host}: the emulator keeps it on this machine"
        print(f"WARNING {what}", file=sys.stderr, flush=True)  # what raises here may be swallowed, or become a bare 500
        raise PermissionError(what)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Application:
    """The WSGI application: moto's own, and the emulator's paths beside it."""

    def __init__(self, moto: Any, secret: str) -> None:
        self._moto = moto
        self._prefix = f"/{secret}/"
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        """Answer one request."""
        path = environ.get("PATH_INFO", "")
        if not path.startswith(self._prefix):
            answer: Iterable[bytes] = self._moto(environ, start)
            return answer
        from emulator.controlplane import moto_agents, moto_gaps  # noqa: PLC0415  # after the hook is set

        with self._lock:
            what = path.removeprefix(self._prefix)
            if what in ("endpoints", "agents"):
                body = json.dumps(moto_gaps.endpoints() if what == "endpoints" else moto_agents.agents()).encode()
            else:
                size = int(environ.get("CONTENT_LENGTH") or 0)
                report = moto_gaps.report if what == "report" else moto_agents.report
                report(**json.loads(environ["wsgi.input"].read(size)))
                body = b"{}"
        start("200 OK", [("content-type", "application/json"), ("content-length", str(len(body)))])
        return [body]


def main() -> None:
    """Serve until standard input ends."""
    secret = sys.stdin.readline().strip()
    sys.addaudithook(stay_at_home)
    from moto.moto_server.werkzeug_app import (  # noqa: PLC0415
        DomainDispatcherApplication,
        MotoRequestHandler,
        create_backend_app,
    )
    from werkzeug.middleware.proxy_fix import ProxyFix  # noqa: PLC0415
    from werkzeug.serving import make_server  # noqa: PLC0415

    from emulator.controlplane import moto_agents, moto_gaps, moto_imports, moto_stacks  # noqa: PLC0415

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    moto_gaps.apply()
    moto_stacks.apply()
    moto_imports.apply()
    moto_agents.apply()

    class Handler(MotoRequestHandler):
        protocol_version = "HTTP/1.1"

    application = Application(ProxyFix(DomainDispatcherApplication(create_backend_app), x_for=0, x_proto=1), secret)
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Handler)
    os.environ["MOTO_PORT"] = str(server.port)
    threading.Thread(target=_end_with_input, daemon=True).start()
    print(server.port, flush=True)
    server.serve_forever()


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
