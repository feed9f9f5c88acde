"""The addresses of AWS's services, as the environment gives them: what is wrong with one."""

from urllib.parse import urlsplit

__all__ = ["VARIABLES", "what_is_wrong"]

VARIABLES = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2")
"""Those that the agent's own services are found by; all may be missing."""


def what_is_wrong(address: str) -> str | None:
    """Say "is X; expected Y" of what is no address, None of one.

    SDKs would wait for it in vain, or fail in ways of their own.
    """
    try:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return None
    except ValueError:  # the port
        pass
    return f"is {address!r}; expected https://HOST or https://HOST:PORT with a port from 1 to 65535"
