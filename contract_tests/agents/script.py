"""What the model of an agent answers in its checks, by what it is asked."""

import re

from emulator.bedrock.script import Script, ToolUse, Turn

__all__ = ["CASES", "HELLO", "SCRIPT", "SEPARATORS", "UNFINISHED", "prompt_of", "request_of"]

HELLO = "Good morning. How are you today?"
SEPARATORS = (
    'First comes a "quoted" word\u2028on a new line. Then caf\u00e9, \U0001f600 and \\ back\u2029slashes follow.\r\n'
    "The end of it\u0085is near. NaN is a number."
)
UNFINISHED = (
    "It begins well. But this sentence has no end because the caller leaves in the middle of it and nobody hears"
)

CASES: dict[str, tuple[str, ...]] = {
    "decimal": ("It is $3", ".50 now, and it was 98", ".6 before."),
    "three": ("Hello! I am A. How?",),
    "ellipsis": ("With respect... ", "Vous", " know."),
    "tail": ("One more thing. And so we say good", "bye"),
    "abbreviations": ("Dr. Smith met J. R. R. Tol", "kien at 9 a.m. in the U.S. and", ", e.g., in Rome."),
    "year": ("It was 1980.", " Another one came."),
    "aside": ("(Note: see x.) Go on.",),
}
"""Deltas of the model whose sentences are hard to find."""


def prompt_of(tag: str) -> str:
    """Return what the agent is asked for the turn ``tag``."""
    return f"Please read the text {tag!r} of the contract."


def _turn(tag: str, text: str = "", fragments: tuple[str, ...] = (), **more: object) -> Turn:
    settings: dict[str, object] = {"first_token": 0.0, "tokens_per_second": 0.0, **more}
    return Turn(
        text="".join(fragments) or text,
        fragments=fragments,
        when=re.escape(repr(tag)),
        **settings,  # type: ignore[arg-type]  # by name
    )


SCRIPT = Script(
    (
        _turn("hello", HELLO),
        _turn("separators", SEPARATORS),
        _turn("tool", "Let me look", tool=ToolUse("look_up", {"word": "weather"})),
        _turn("tool", "It is sunny."),
        _turn("long", "One is said. Two is said. Three is said. Four is said. Five is said. Six is said."),
        _turn("unfinished", UNFINISHED, tokens_per_second=20.0),
        *(_turn(tag, fragments=deltas) for tag, deltas in CASES.items()),
    )
)


def request_of(tag: str) -> str:
    """Return what an agent is asked whose model is not the script: to say what the script would."""
    text = " ".join(turn.text for turn in SCRIPT.turns if turn.when == re.escape(repr(tag)))
    return f"{prompt_of(tag)[:-1]} aloud, word for word, and say nothing else: {text}"
