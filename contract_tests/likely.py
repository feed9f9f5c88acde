"""Which protocol a container seems to speak: what came back, held against the profiles that there are."""

import json
import shlex
from collections.abc import Sequence

from contract_tests.answer import json_object
from contract_tests.client import Part
from contract_tests.mark import JsonMark
from contract_tests.profile import builtin_profiles, load

__all__ = ["likely_profile", "profile_command"]

_KINDS = ("type", "event", "op", "status")


def likely_profile(parts: Sequence[Part], request_id: str) -> str | None:
    """Return the name of a profile whose end of an answer is among the parts, None if there is none."""
    bodies = [body for part in parts if (body := json_object(part.data)) is not None]
    for name in builtin_profiles():
        end = load(name).end
        if isinstance(end, JsonMark) and any(
            end.matches(body, request_id) or end.matches_another(body, request_id) for body in bodies
        ):
            return name
    return None


def profile_command(parts: Sequence[Part], request_id: str) -> str:
    """Return a command that writes a profile for what came back; its last JSON message is taken for the end."""
    bodies = [body for part in parts if (body := json_object(part.data)) is not None]
    last = bodies[-1] if bodies else {}
    end = {key: last[key] for key in _KINDS if isinstance(last.get(key), str)}
    end |= {key: "{id}" for key, value in last.items() if value == request_id}
    return f"contract init my.toml --end-json {shlex.quote(json.dumps(end or {'type': 'done'}))}"
