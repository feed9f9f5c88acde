"""Where the SDK's transport would connect to."""

from typing import Any

import pytest
from smithy_http.aio.crt import AWSCRTHTTPClient

__all__ = ["dialled"]


def dialled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let every request of the SDK fail with "no network here"; return a list that their ``host:port`` come into.

    No address is set in the environment, as for somebody who calls AWS.
    """
    called: list[str] = []

    async def send(_: AWSCRTHTTPClient, request: Any, **__: Any) -> None:
        called.append(f"{request.destination.host}:{request.destination.port}")
        raise OSError("no network here")

    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(AWSCRTHTTPClient, "send", send)
    return called
