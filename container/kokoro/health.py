"""The image's health check: exit code 0 when GET /ping says 200. Only the standard library, so that it costs little."""

import http.client
import os
import sys

TIMEOUT_S = 2.0
"""As long as SageMaker waits."""


def main() -> int:
    """Ask once."""
    port = os.environ.get("PORT") or "8080"
    try:
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=TIMEOUT_S)
        connection.request("GET", "/ping")
        answer = connection.getresponse()
        said = answer.read(1000).decode(errors="replace")
    except (OSError, ValueError, http.client.HTTPException) as error:
        sys.stderr.write(f"GET /ping on port {port}: {error}\n")
        return 1
    sys.stdout.write(f"{answer.status} {said}\n")
    return 0 if answer.status == http.HTTPStatus.OK else 1


if __name__ == "__main__":
    sys.exit(main())
