"""AWS as the live tests use it: boto3 clients, and credentials for the streaming SDK. Or what stands in for AWS."""

import os
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from contract_tests.client import Account
from emulator import credentials
from emulator.certificates import Certificates
from emulator.environment import environment_of
from live_tests.settings import NotConfiguredError, Settings

__all__ = ["Cloud", "UnreachableError", "connected"]


_HANDSHAKE_S = 10.0


class UnreachableError(Exception):
    """Raised when what stands in for AWS does not answer, or is not trusted."""


class Cloud:
    """One account and region. ``bundle`` are the authorities to trust, None for the usual ones."""

    def __init__(self, settings: Settings, session: Any, bundle: Path | None = None) -> None:
        self.settings = settings
        self._session = session
        self._bundle = bundle
        self._clients: dict[tuple[str, float], Any] = {}

    def client(self, service: str, read_timeout: float = 60.0) -> Any:
        """Return a boto3 client of ``service``; the same one each time. ``read_timeout`` in seconds."""
        key = (service, read_timeout)
        if key not in self._clients:
            # AWS_ENDPOINT_URL_<SERVICE> names another address for one service: boto3 then looks it up itself
            named = f"AWS_ENDPOINT_URL_{service.upper().replace('-', '_')}" in os.environ
            self._clients[key] = self._session.client(
                service,
                endpoint_url=None if named else self.settings.endpoint_url,
                verify=None if self._bundle is None else str(self._bundle),
                config=Config(read_timeout=read_timeout, retries={"total_max_attempts": 1, "mode": "standard"}),
            )
        return self._clients[key]

    def account(self) -> Account:
        """Return the credentials as they are now: those of a role are renewed when they are about to end."""
        now = self._session.get_credentials().get_frozen_credentials()
        return Account(self.settings.region, now.access_key, now.secret_key, now.token)

    def close(self) -> None:
        """Let go of all connections."""
        for client in self._clients.values():
            client.close()


@contextmanager
def connected(settings: Settings, environment: Mapping[str, str] = os.environ) -> Iterator[Cloud]:
    """Yield the cloud of a run.

    Credentials come from boto3's usual chain. On this machine, where the environment has none, they are the
    emulator's own, and its authority is trusted where ``SSL_CERT_FILE`` and ``AWS_CA_BUNDLE`` name no other that fits.

    Raises:
        NotConfiguredError: there are no credentials.
        UnreachableError: what stands in for AWS does not answer, or is not trusted.
    """
    local = settings.local
    own = local and "AWS_ACCESS_KEY_ID" not in environment
    session = boto3.session.Session(
        aws_access_key_id=credentials.ACCESS_KEY_ID if own else None,
        aws_secret_access_key=credentials.SECRET_ACCESS_KEY if own else None,
        region_name=settings.region,
    )
    try:
        found = session.get_credentials()
        if found is not None:
            found.get_frozen_credentials()  # those of a role or of a sign-in may have to be fetched, or be over
    except BotoCoreError as error:
        raise NotConfiguredError(f"the AWS credentials cannot be used: {error}") from error
    if found is None:
        raise NotConfiguredError(
            "no AWS credentials: sign in (aws configure, aws sso login), or name a profile with AWS_PROFILE"
        )
    bundle = _authorities(str(settings.endpoint_url), environment) if local else None
    cloud = Cloud(settings, session, bundle)
    try:
        with _trusting(bundle):
            yield cloud
    finally:
        cloud.close()


def _authorities(url: str, environment: Mapping[str, str]) -> Path:
    """Return the file of authorities under which a server on this machine is trusted.

    Found out beforehand: the streaming SDK takes 15 s to say that it does not trust a server.
    """
    named = [Path(path) for name in ("SSL_CERT_FILE", "AWS_CA_BUNDLE") if (path := environment.get(name))]
    parts = urlsplit(url)
    where = (parts.hostname or "", parts.port or 443)
    for bundle in (*named, Certificates.load().bundle):
        try:
            context = ssl.create_default_context(cafile=bundle)
            with (
                socket.create_connection(where, timeout=_HANDSHAKE_S) as connection,
                context.wrap_socket(connection, server_hostname=where[0]),
            ):
                return bundle
        except ssl.SSLCertVerificationError:
            continue
        except OSError as error:
            raise UnreachableError(
                f"nothing answers at {url} ({error}). Start it first: uv run emulator up; it prints its address."
            ) from error
    raise UnreachableError(
        f"the certificate of {url} is not trusted. Set SSL_CERT_FILE to the bundle that the emulator printed at its "
        "start, or BIDI_STATE_DIR to its --state-dir."
    )


def _trusting(bundle: Path | None) -> AbstractContextManager[None]:
    """The streaming SDK reads its trust store from this variable when a client is made, and takes no other way."""
    return environment_of({} if bundle is None else {"SSL_CERT_FILE": str(bundle)})
