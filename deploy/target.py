"""AWS or a rehearsal, and nothing in between: decided by the endpoint variables, before the first request."""

import ipaddress
import os
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from deploy.errors import DeployError

__all__ = ["NODE_GUARD", "PROXIES", "guard", "is_rehearsal", "prepare", "stay_at_home"]

NODE_GUARD = Path(__file__).with_name("stay_at_home.cjs")
_GENERAL = "AWS_ENDPOINT_URL"
# whatever could lead to somebody's account
_STRIPPED = (
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
)
_PROXY_NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
PROXIES: dict[str, str] = {}
"""What a rehearsal has taken out of the environment, and npm needs to fetch cdk."""


def is_rehearsal(environment: MutableMapping[str, str]) -> bool:
    """Whether the endpoint variables lead to this machine.

    Raises:
        DeployError: some do and some do not, or they lead elsewhere.
    """
    urls = {
        name: value
        for name, value in environment.items()
        if name.startswith(_GENERAL) and value and name != "AWS_ENDPOINT_URL_"
    }
    if not urls:
        return False
    away = {name: url for name, url in urls.items() if not _is_loopback(urlsplit(url).hostname)}
    if away:
        raise DeployError(
            f"{', '.join(f'{name}={url}' for name, url in away.items())} leads to another machine. A deployment goes "
            "to AWS (unset these variables), or is a rehearsal on this machine (all of them on 127.0.0.1)."
        )
    if _GENERAL not in urls:
        raise DeployError(
            f"{', '.join(urls)} is set and {_GENERAL} is not: one part would go to this machine and the rest to AWS. "
            f"Set {_GENERAL} too (a rehearsal), or unset them all (AWS)."
        )
    return True


def prepare(environment: MutableMapping[str, str]) -> bool:
    """Make the environment fit for what it is for; returns whether this is a rehearsal.

    A rehearsal loses every variable that could lead to an account, and gets the emulator's credentials.

    Raises:
        DeployError: see :func:`is_rehearsal`.
    """
    environment["AWS_EC2_METADATA_DISABLED"] = "true"
    if not is_rehearsal(environment):
        return False
    for name in _STRIPPED:
        environment.pop(name, None)
    PROXIES.update({name: environment.pop(name) for name in _PROXY_NAMES if name in environment})
    from emulator import credentials  # noqa: PLC0415  # the emulator is there in a rehearsal only

    if not environment.get("AWS_DEFAULT_REGION"):
        environment.setdefault("AWS_REGION", credentials.REGION)
    environment.update(
        {
            "AWS_ACCESS_KEY_ID": credentials.ACCESS_KEY_ID,
            "AWS_SECRET_ACCESS_KEY": credentials.SECRET_ACCESS_KEY,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "NODE_OPTIONS": f'--require "{NODE_GUARD}"',
        }
    )
    return True


def guard() -> None:
    """Let this process reach no other machine any longer; nothing in it can take that back."""
    sys.addaudithook(stay_at_home)


def stay_at_home(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse to leave the machine (an audit hook).

    Raises:
        PermissionError: something wants to reach another machine.
    """
    if event in {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}:
        host = arguments[0]
    elif event in {"socket.connect", "socket.sendto"}:
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None  # a path is a local socket
    else:
        return
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host and not _is_loopback(str(host)):
        raise PermissionError(f"A rehearsal reaches nothing but this machine, and {host} is another.")


def _is_loopback(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return host is not None and ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
