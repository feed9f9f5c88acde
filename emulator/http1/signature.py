"""The signature of a request whose whole body is here: what every HTTP/1.1 service of the emulator asks first."""

import datetime
import logging

from emulator import credentials
from emulator.exchange import Exchange
from emulator.http1.invocation import signed_headers
from emulator.switches import Switches
from emulator.trace import without_secrets
from emulator.wire.exceptions import RequestError
from emulator.wire.sigv4 import verify_request

__all__ = ["check_signature", "note_unsigned"]

_log = logging.getLogger("emulator.signature")


def check_signature(exchange: Exchange, body: bytes, service: str, switches: Switches) -> None:
    """Check that a request was signed for ``service`` with the emulator's credentials (switch ``signatures``).

    Raises:
        RequestError: it was not, and ``signatures`` is ``enforce``.
    """
    if switches.signatures == "off":
        return
    try:
        headers = signed_headers(exchange.headers, body)
        now = datetime.datetime.now(datetime.UTC)
        verify_request(
            exchange.method,
            exchange.path,
            exchange.authority,
            headers,
            credentials.SECRETS,
            now,
            service,
            switches.clock_skew,
        )
    except RequestError as error:
        if switches.signatures == "enforce":
            raise
        note_unsigned(exchange, error)


def note_unsigned(exchange: Exchange, error: RequestError) -> None:
    """Log what AWS would answer, where ``signatures`` is ``log``."""
    _log.warning("%s: AWS would refuse the request: %s", without_secrets(exchange.path), error)
