"""TLS contexts that say in the log why a client went away."""

import asyncio
import logging
import ssl
from typing import override

__all__ = ["ServerContext", "note_silent_client", "trust_hint"]

_log = logging.getLogger("emulator.tls")
_PLAIN = {"HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "WRONG_VERSION_NUMBER"}


def trust_hint(environment: dict[str, str]) -> str:
    """Return how to make each client trust the authority, from the variables that point clients at the emulator."""
    who = {
        "SSL_CERT_FILE": "Python SDK for HTTP/2",
        "AWS_CA_BUNDLE": "boto3, AWS CLI",
        "NODE_EXTRA_CA_CERTS": "JavaScript",
    }
    return ", ".join(f"{name}={environment[name]} ({clients})" for name, clients in who.items())


class _Handshake(ssl.SSLObject):
    """The server's side of one connection; asyncio itself drops a failed handshake without a word."""

    @override
    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            hint = self.context.hint if isinstance(self.context, ServerContext) else ""
            if error.reason in _PLAIN:
                _log.warning("a client speaks no TLS to the TLS port: the URL begins with https://")
            else:
                # CRT does not even send an alert, after a pause of 10 to 30 seconds
                _log.warning(
                    "a client broke the TLS handshake off (%s); usually it does not trust the emulator's authority: "
                    "set %s",
                    error.reason or error.strerror,
                    hint,
                )
            raise


class ServerContext(ssl.SSLContext):
    """A context whose failed handshakes are logged with ``hint``."""

    hint = ""
    sslobject_class = _Handshake


def note_silent_client(transport: asyncio.BaseTransport) -> None:
    """Say what it means that a client ended its connection without a byte: Node.js judges certificates that late."""
    context = transport.get_extra_info("sslcontext")
    if isinstance(context, ServerContext):
        _log.warning(
            "a client left right after the TLS handshake; JavaScript clients do so where they do not trust the "
            "emulator's authority: set %s",
            context.hint,
        )
