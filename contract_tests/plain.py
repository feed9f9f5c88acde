"""HTTP without TLS, as SageMaker speaks it with a container."""

import ssl

import httpx

__all__ = ["plain_http"]

_TRUSTS_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def plain_http() -> httpx.AsyncClient:
    """Return a client for ``http://`` addresses, which no proxy of the environment comes between.

    httpx reads the whole certificate store for each client, 20 ms of computing for what is never used here; an
    ``https://`` address fails.
    """
    return httpx.AsyncClient(trust_env=False, verify=_TRUSTS_NOBODY)
