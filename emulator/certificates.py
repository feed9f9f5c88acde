"""The local certificate authority, and the files that make SDKs trust it.

SDKs speak to the emulator over TLS (fact ``wire.tls-alpn``). The authority is made on first use and kept, so that a
variable exported once stays right; the server's certificate is made anew at every start.
"""

import os
import shutil
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path

import certifi
import trustme

from emulator import credentials, facts
from emulator.tls import ServerContext, trust_hint

__all__ = ["Certificates", "StateDirectoryError", "default_state_directory"]

_REGIONS = (
    "us-east-1", "us-east-2", "us-west-1", "us-west-2", "ca-central-1", "sa-east-1",
    "eu-central-1", "eu-north-1", "eu-west-1", "eu-west-2", "eu-west-3",
    "ap-northeast-1", "ap-northeast-2", "ap-south-1", "ap-southeast-1", "ap-southeast-2",
)  # fmt: skip
# clients that hard-code the service's host name reach the emulator by a line in the hosts file
_NAMES = ("localhost", "127.0.0.1", "::1", *(f"runtime.sagemaker.{region}.amazonaws.com" for region in _REGIONS))


class StateDirectoryError(Exception):
    """Raised when the local authority can neither be read nor made."""


def default_state_directory() -> Path:
    """Return where the authority is kept: ``$BIDI_STATE_DIR``, else the user's state directory."""
    if given := os.environ.get("BIDI_STATE_DIR"):
        return Path(given)
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "sagemaker-bidi"


@dataclass(frozen=True, slots=True)
class Certificates:
    """The files of one local authority.

    ``ca`` is the authority alone (for variables that *add* to the trusted ones), ``bundle`` holds the system's
    authorities too (for variables that *replace* them).
    """

    ca: Path
    bundle: Path
    _key: Path

    @classmethod
    def load(cls, directory: Path | None = None) -> "Certificates":
        """Read the authority, or make it on first use; safe against two processes that do so at once.

        Raises:
            StateDirectoryError: the directory cannot be written, or its files are damaged.
        """
        home = (directory or default_state_directory()) / "ca"
        files = cls(home / "ca.pem", home / "bundle.pem", home / "ca.key")
        try:
            if not files._key.exists() and not files.ca.exists():
                _make(home)
            for file in (files.ca, files._key):
                if not file.is_file():
                    raise _damaged(home, f"{file.name} is missing")
            _write(files.bundle, _system_authorities(files.bundle) + files.ca.read_bytes())
        except OSError as error:
            raise StateDirectoryError(
                f"The local certificate authority cannot be kept in {home}: {error.strerror or error}.\n"
                "Name a directory that can be written with --state-dir or BIDI_STATE_DIR."
            ) from error
        return files

    def server_context(self, host: str = "localhost") -> ssl.SSLContext:
        """Return a server's TLS context with a fresh certificate, for ``host`` too, and ALPN ``h2`` or ``http/1.1``."""
        context = ServerContext(ssl.PROTOCOL_TLS_SERVER)
        context.hint = trust_hint(self.environment(""))
        context.minimum_version = ssl.TLSVersion.TLSv1_2  # older SDKs negotiate no more
        context.set_alpn_protocols([facts.text("wire.tls-alpn"), "http/1.1"])
        self.issue(host).configure_cert(context)
        return context

    def issue(self, *hosts: str) -> trustme.LeafCert:
        """Return a fresh server certificate with its key, for ``hosts`` beside the usual names.

        Raises:
            StateDirectoryError: the authority's files are damaged.
            ValueError: one of ``hosts`` is no name and no address.
        """
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.ca, self._key)  # do they belong together?
            authority = trustme.CA.from_pem(self.ca.read_bytes(), self._key.read_bytes())
        except (ssl.SSLError, ValueError) as error:
            raise _damaged(self.ca.parent, str(error)) from error
        try:
            return authority.issue_cert(*_NAMES, *filter(None, hosts))
        except ValueError as error:
            raise ValueError(f"no certificate can be made for {' or '.join(map(repr, hosts))}: {error}") from None

    def environment(self, url: str) -> dict[str, str]:
        """Return the variables that point each SDK at the emulator, with its credentials and its authority."""
        return {
            **credentials.ENVIRONMENT,
            "AWS_ENDPOINT_URL": url,
            "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE": url,
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": url,
            "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2": url,
            "AWS_CA_BUNDLE": str(self.bundle),
            "SSL_CERT_FILE": str(self.bundle),
            "NODE_EXTRA_CA_CERTS": str(self.ca),
        }


def _damaged(home: Path, what: str) -> StateDirectoryError:
    return StateDirectoryError(
        f"The local certificate authority in {home} is damaged: {what}.\nDelete {home} to have a new one made; clients "
        "that were given the old one must then be given the new one."
    )


def _make(home: Path) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    authority = trustme.CA(organization_name="sagemaker-bidi local emulator")
    draft = Path(tempfile.mkdtemp(prefix="ca.", dir=home.parent))  # only the user can read it
    authority.cert_pem.write_to_path(draft / "ca.pem")
    authority.private_key_pem.write_to_path(draft / "ca.key")
    (draft / "ca.key").chmod(0o600)
    try:
        draft.rename(home)
    except OSError:
        shutil.rmtree(draft)
        if not (home / "ca.key").exists():  # not the other process that was quicker
            raise


def _write(path: Path, data: bytes) -> None:
    """Replace a file in one step: another process may be reading it."""
    if path.exists() and path.read_bytes() == data:
        return
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as draft:
        draft.write(data)
    Path(draft.name).chmod(0o644)
    Path(draft.name).replace(path)


def _system_authorities(own_bundle: Path) -> bytes:
    # SSL_CERT_FILE may already be our own bundle, exported earlier: it must not grow into itself
    named = os.environ.get("SSL_CERT_FILE")
    candidates = [named, ssl.get_default_verify_paths().openssl_cafile, certifi.where()]
    for candidate in candidates:
        if candidate and Path(candidate).is_file() and Path(candidate).resolve() != own_bundle.resolve():
            return Path(candidate).read_bytes().rstrip() + b"\n"
    return b""
