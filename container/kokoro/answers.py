"""HTTP answers that hold JSON."""

import json

from starlette.responses import JSONResponse


class AsciiJson(JSONResponse):
    """JSON in ASCII: what a client sent is repeated in it, also half a surrogate pair, which UTF-8 cannot carry."""

    def render(self, content: object) -> bytes:
        """Return the body."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")
