"""``contract init``: a commented profile to start from."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from contract_tests.audioformat import ENCODINGS
from contract_tests.cli.toml import toml_text, toml_texts, toml_value
from contract_tests.exit_status import ExitStatus
from contract_tests.profile import ProfileError, load
from contract_tests.visible import visible
from emulator.arguments import seconds
from emulator.outputfile import output_problem

__all__ = ["add_to", "profile_text"]


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "init", help="write a commented profile for a protocol of your own", epilog="The format: docs/profiles.md."
    )
    parser.set_defaults(run=_run)
    parser.add_argument("file", metavar="FILE.toml", type=Path)
    parser.add_argument("--title", default="my protocol")
    parser.add_argument(
        "--request",
        default='{"text": "{text}", "request_id": "{id}"}',
        help="a good request, with {text}, and {id} and {voice} where there are such (default: %(default)s)",
    )
    parser.add_argument("--sentence", action="append", default=[], help="a text to ask for; may be repeated")
    parser.add_argument("--voice", action="append", default=[], help="value of {voice}; may be repeated")
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--end-json", metavar="JSON", help='members of the last message, e.g. {"type": "done"}')
    end.add_argument("--end-text", metavar="REGEX", help="what the last message looks like, where it is no JSON")
    end.add_argument("--end-silence", metavar="SECONDS", type=seconds, help="silence that ends an answer")
    parser.add_argument("--start-json", metavar="JSON", help="members of the message ahead of the audio")
    parser.add_argument("--error-json", metavar="JSON", help="members of an error message")
    parser.add_argument("--close", metavar="MESSAGE", help="the message that asks for the end of the session")
    parser.add_argument("--close-code", metavar="CODE", type=int, default=1000)
    parser.add_argument("--sample-rate", metavar="HZ", type=int, help="of the audio, mono, in BINARY frames")
    parser.add_argument("--encoding", choices=ENCODINGS, default=ENCODINGS[0], help="of the audio (%(default)s)")
    parser.add_argument(
        "--audio-json", metavar="JSON", help="members of the messages that carry audio in base64, where they do"
    )
    parser.add_argument("--audio-member", metavar="NAME", default="delta", help="their member with it (%(default)s)")
    parser.add_argument(
        "--duration-member", metavar="NAME", help="member of the last message with the seconds of audio"
    )
    parser.add_argument("--language", metavar="CODE", help="of the speech, e.g. en: a recogniser can listen to it then")
    parser.add_argument("--path", help="of the WebSocket, where it is not the default one (without a slash in front)")
    parser.add_argument("--timeout", metavar="SECONDS", type=seconds, default=5.0, help="silence that is no answer")
    parser.add_argument("--force", action="store_true", help="overwrite the file")


def _run(options: argparse.Namespace) -> int:
    if options.file.suffix != ".toml":
        print(f"contract init: {options.file}: the name has to end in .toml", file=sys.stderr)
        return ExitStatus.USAGE
    if (problem := output_problem(options.file)) is not None:
        print(f"contract init: {problem}", file=sys.stderr)
        return ExitStatus.USAGE
    if options.file.exists() and not options.force:
        print(f"contract init: {options.file} exists; --force overwrites it", file=sys.stderr)
        return ExitStatus.USAGE
    try:
        options.file.write_bytes(profile_text(options).encode())
    except (ValueError, OSError) as error:
        print(f"contract init: {error}", file=sys.stderr)
        return ExitStatus.USAGE
    try:
        load(str(options.file))
    except ProfileError as error:  # what was asked for does not hold together: the file is there to be mended
        print(f"contract init: written, but not yet usable: {error}", file=sys.stderr)
        return ExitStatus.FOUND
    print(f"{options.file} is written. Try it: contract check TARGET --profile {options.file} --only CT0")
    return ExitStatus.GOOD


def profile_text(options: argparse.Namespace) -> str:
    """Return the profile as TOML with comments.

    Raises:
        ValueError: an option that has to be a JSON object is none, or holds what a profile cannot.
    """
    title = " ".join(visible(options.title).split())
    sentences = options.sentence or ["Hello there.", "How are you today?", "This is the third one."]
    lines = [
        f"# How to speak with: {title}. The format is explained in docs/profiles.md.",
        f"title = {toml_text(options.title)}",
        _line("path", options.path, 'path = "my/stream"', "of the WebSocket, where it is not the default one"),
        "",
        "[request]",
        "# a good request: {text} is the sentence, {id} names the request, {voice} comes from the list of voices",
        f"template = {toml_text(options.request)}",
        *(
            ['format = "plain"                 # no JSON, so nothing is escaped']
            if not _is_json(options.request)
            else []
        ),
        f"sentences = {toml_texts(sentences)}",
        *([f"voices = {toml_texts(options.voice)}"] if options.voice else []),
        "",
        "[reply]",
        f"timeout = {options.timeout:g}                      # seconds without a message that count as no answer",
        f"end = {_end(options)}",
        _mark("start", options.start_json, "the message ahead of the audio"),
        _mark("error", options.error_json, "the message that refuses a request; without it CT2 and CT15 see less"),
        "",
        "# what asks the container to end the session, and the code that it closes with",
        *_table(
            "close", {"message": options.close, "code": options.close_code}, '{"type": "close"}', present=options.close
        ),
        "",
        "# audio in BINARY frames: signed 16-bit little-endian PCM, mono",
        *_audio(options),
    ]
    return "\n".join(lines) + "\n"


def _is_json(template: str) -> bool:
    return template.lstrip().startswith(("{", "["))


def _line(key: str, value: str | None, example: str, what: str) -> str:
    return f"{key} = {toml_text(value)}" if value else f"# {example}    # {what}"


def _inline(text: str, option: str) -> str:
    try:
        members = json.loads(text)
    except ValueError:
        members = None
    if not isinstance(members, dict) or not members:
        raise ValueError(f'--{option} {text!r}: expected a JSON object, e.g. \'{{"type": "done"}}\'')
    try:
        return toml_value({"json": members})
    except ValueError as error:
        raise ValueError(f"--{option} {text!r}: {error}") from None


def _end(options: argparse.Namespace) -> str:
    if options.end_json:
        return _inline(options.end_json, "end-json")
    if options.end_text:
        return f"{{ text = {toml_text(options.end_text)} }}"
    if options.end_silence:
        return f"{{ silence = {options.end_silence:g} }}"
    return (
        '{ first = "reply" }    # or { json = { type = "done", id = "{id}" } }, { text = "^done" }, { silence = 1.0 }'
    )


def _mark(key: str, value: str | None, what: str) -> str:
    if value:
        return f"{key} = {_inline(value, f'{key}-json')}"
    return f'# {key} = {{ json = {{ type = "{key}" }} }}    # {what}'


def _table(name: str, values: dict[str, Any], example: str, *, present: str | None) -> list[str]:
    if present:
        return [f"[{name}]", f"message = {toml_text(present)}", f"code = {values['code']}"]
    return [f"# [{name}]", f"# message = '{example}'", f"# code = {values['code']}"]


def _audio(options: argparse.Namespace) -> list[str]:
    event = _inline(options.audio_json, "audio-json") if options.audio_json else ""
    keys = {
        "encoding": toml_text(options.encoding),
        "sample_rate": str(options.sample_rate or 24000),
        "duration_member": toml_text(options.duration_member or "seconds"),
        "language": toml_text(options.language or "en"),
        "event": event or '{ json = { type = "audio.delta" } }',
        "member": toml_text(options.audio_member),
    }
    if not options.sample_rate:
        return ["# [audio]", *(f"# {key} = {value}" for key, value in keys.items())]
    given = {"encoding", "sample_rate", *(key for key in ("duration_member", "language") if getattr(options, key))}
    given |= {"event", "member"} if event else set()
    return ["[audio]", *(f"{key} = {value}" for key, value in keys.items() if key in given)]
