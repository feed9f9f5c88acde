"""What the agent takes from its environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from container.agent import address
from container.agent.encoding import FORMATS, Format, is_available

__all__ = ["DEFAULT_MODEL_ID", "Settings", "SettingsError", "from_environment"]

DEFAULT_MODEL_ID = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
DEFAULT_PROMPT = (
    "You are a voice assistant: your answers are read aloud while you write them. Write short, complete, spoken "
    "sentences. Use no lists, no headings, no markup, no emoji."
)
_TRUE, _FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})


class SettingsError(ValueError):
    """Raised for a variable whose value makes no sense."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All times in seconds. The variables are named in :func:`from_environment`."""

    endpoint: str = ""
    """The SageMaker endpoint that speaks. Without one, every turn answers with an error."""
    model_id: str = DEFAULT_MODEL_ID
    region: str = "us-west-2"
    voice: str = "af_heart"
    audio_format: Format = "pcm16"
    """Of the answer's audio, where the request names none."""
    system_prompt: str = DEFAULT_PROMPT
    clean_text: bool = True
    """Whether markup is taken out of what is spoken: see spoken.py."""
    speech_timeout_s: float = 8.0
    """How long the speech container may take to take up a sentence."""
    speech_work_timeout_s: float = 8.0
    """How long it may then be silent, before, between and after its frames of audio."""
    model_timeout_s: float = 60.0
    """How long the model may keep silent."""
    sentence_wait_s: float = 4.0
    """How long a sentence may wait for its end before it is cut at the best place."""
    keep_sessions: bool = False
    """Whether a speech session is kept for the next turn of the same AgentCore session, or made for one turn."""


def from_environment(environment: Mapping[str, str] = os.environ) -> Settings:
    """Read SPEECH_ENDPOINT, AGENT_MODEL_ID, AWS_REGION, AGENT_VOICE and the rest. Raises SettingsError.

    The addresses of AWS's services are looked at too; it is the SDKs that use them.
    """
    for name in address.VARIABLES:
        if (value := environment.get(name)) and (wrong := address.what_is_wrong(value)):
            raise SettingsError(f"{name} {wrong}")
    default = Settings()
    return Settings(
        endpoint=environment.get("SPEECH_ENDPOINT", ""),
        model_id=environment.get("AGENT_MODEL_ID") or default.model_id,
        region=environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or default.region,
        voice=environment.get("AGENT_VOICE") or default.voice,
        audio_format=_format(environment, "AGENT_AUDIO_FORMAT", default.audio_format),
        system_prompt=environment.get("AGENT_SYSTEM_PROMPT") or default.system_prompt,
        clean_text=_flag(environment, "AGENT_CLEAN_TEXT", default.clean_text),
        speech_timeout_s=_seconds(environment, "SPEECH_TIMEOUT_S", default.speech_timeout_s),
        speech_work_timeout_s=_seconds(environment, "SPEECH_WORK_TIMEOUT_S", default.speech_work_timeout_s),
        model_timeout_s=_seconds(environment, "AGENT_MODEL_TIMEOUT_S", default.model_timeout_s),
        sentence_wait_s=_seconds(environment, "AGENT_SENTENCE_WAIT_S", default.sentence_wait_s),
        keep_sessions=_flag(environment, "SPEECH_KEEP_SESSIONS", default.keep_sessions),
    )


def _flag(environment: Mapping[str, str], name: str, default: bool) -> bool:
    value = environment.get(name, "").strip().lower()
    if value not in _TRUE | _FALSE | {""}:
        raise SettingsError(f"{name} is {value!r}; expected 1 or 0")
    return default if not value else value in _TRUE


def _format(environment: Mapping[str, str], name: str, default: Format) -> Format:
    value = environment.get(name, "").strip() or default
    if value not in FORMATS:
        raise SettingsError(f"{name} is {value!r}; expected pcm16 or mp3")
    if not is_available(value):
        raise SettingsError(f"{name} is {value!r}, which needs the extra 'mp3', and that is not installed")
    return value


def _seconds(environment: Mapping[str, str], name: str, default: float) -> float:
    value = environment.get(name, "").strip()
    try:
        seconds = float(value) if value else default
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 86_400:
        raise SettingsError(f"{name} is {value!r}; expected a number of seconds above 0")
    return seconds
