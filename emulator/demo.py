"""``emulator demo QUESTION``: the whole chain on this machine, asked once; a WAV file and a timeline come out."""

import argparse
import asyncio
import base64
import contextlib
import json
import os
import sys
import unicodedata
import wave
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from emulator import facts
from emulator.agentcore.command import add_agent_options, agent_environment, script_of
from emulator.agentcore.sse import EventReader, SseError
from emulator.agentcore.start import AgentStartError, agent_command, agent_container
from emulator.arguments import add_start_timeout
from emulator.bedrock.script import Script
from emulator.certificates import StateDirectoryError
from emulator.endpoint import Endpoint
from emulator.http1 import client
from emulator.http1.client import PeerError
from emulator.launch import TargetError, launched
from emulator.outputfile import output_file
from emulator.server import PortInUseError, Server
from emulator.sigterm import ended_by_sigterm
from emulator.target import parse

__all__ = ["Answer", "DemoError", "add_command"]

_ENDPOINT = "voice"
_RATE = 24_000
_MODES = ("bidi", "batch")
_QUESTION = "Why should an agent speak before its answer is complete?"
_SUFFIXES = {"pcm16": ".wav", "mp3": ".mp3"}


def _printable(text: str) -> str:
    """Return a text without what would steer the terminal: a model or a user may have written it."""
    return "".join(
        each if each == "\n" or unicodedata.category(each) != "Cc" else f"\\x{ord(each):02x}" for each in text
    )


class DemoError(Exception):
    """Raised when the agent did not answer."""


@dataclass
class Answer:
    """What became of the events of one answer: its timeline, its text, its audio (``format``, mono, ``rate`` Hz).

    Times are those of the agent, in the member ``t_ms`` of its events; another agent may have none.
    """

    lines: list[str] = field(default_factory=list)
    text: str = ""
    audio: bytes = b""
    rate: int = _RATE
    format: str = "pcm16"
    seconds: float | None = None
    """Of speech, where the agent says it."""
    first_audio_ms: float | None = None
    text_done_ms: float | None = None
    over: bool = False
    sentences: int = 0
    """That were handed to the voice, where the agent says it."""
    _heard: bool = False
    _chunks: int = 0

    @property
    def is_late(self) -> bool:
        """Whether the first audio came after the end of the text."""
        if self.first_audio_ms is None or self.text_done_ms is None:
            return False
        return self.first_audio_ms > self.text_done_ms

    def take(self, event: dict[str, Any]) -> None:
        """Take the next event.

        Raises:
            DemoError: it says that the agent failed, or holds no audio where it should.
        """
        kind, at = str(event.get("type", "error")), _number(event.get("t_ms"))
        if kind != "audio_chunk":
            self._tell_chunks()
        if kind == "error":
            raise DemoError(f"the agent answered with an error: {event.get('message', event)}")
        if kind == "text":
            if not self.text:
                self._tell(at, "text", "the first of it")
            self.text += str(event.get("text") or "")
        elif kind == "audio_chunk":
            self.audio += _audio(event)
            if self._heard:
                self._chunks += 1
            else:
                self._heard = True
                self.first_audio_ms = at
                self._tell(at, "audio_chunk", "the first")
        else:
            self.rate = _rate(event.get("sample_rate", self.rate))
            self.format = str(event.get("format", self.format))
            seconds = _number(event.get("duration_s"))
            self.seconds = self.seconds if seconds is None else seconds  # the last one is that of `done`
            shown = ("mode", "text", "sentence", "duration_s", "stop_reason", "sentences", "total_chunks")
            self.sentences += kind == "sentence"
            self.text_done_ms = at if kind == "text_done" else self.text_done_ms
            self._tell(at, kind, "  ".join(f"{name}={event[name]!r}" for name in shown if name in event))
        self.over = self.over or kind == "done"

    def _tell(self, at: float | None, kind: str, more: str) -> None:
        time = f"{'?' if at is None else at:>9} ms"
        self.lines.append(f"{time}  {kind:<12} {more}".rstrip())

    def _tell_chunks(self) -> None:
        if self._chunks:
            self.lines.append(f"{'…':>9}     audio_chunk  {self._chunks} more")
            self._chunks = 0


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) else None


def _rate(value: object) -> int:
    if type(value) is not int or value <= 0:
        raise DemoError(f"an event of the agent has sample_rate {value!r:.100}, expected is a whole number of Hz")
    return value


def _audio(event: dict[str, Any]) -> bytes:
    data = event.get("data", event.get("audio"))
    if not isinstance(data, str):
        raise DemoError(
            f"an audio_chunk of the agent has no audio, its members are {', '.join(event)}; expected is base64 in "
            "'data' or in 'audio'"
        )
    try:
        return base64.b64decode(data, validate=True)
    except ValueError as error:
        raise DemoError(f"the audio in an audio_chunk of the agent is no base64 ({error}): {data!r:.100}") from None


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add ``emulator demo``."""
    demo = commands.add_parser("demo", help="ask the agent one question: a WAV file and a timeline come out")
    demo.set_defaults(run=_demo)
    demo.add_argument(
        "question", nargs="*", metavar="QUESTION", default=[_QUESTION], help=f"what to ask (default: {_QUESTION})"
    )
    demo.add_argument(
        "--mode",
        choices=(*_MODES, "both"),
        default="bidi",
        help="speak early, or the whole text (default: %(default)s)",
    )
    demo.add_argument(
        "--format", choices=("pcm16", "mp3"), default="pcm16", help="of the audio; mp3 is written as it comes"
    )
    demo.add_argument(
        "--output", type=output_file, metavar="FILE", help="where to (default: answer.wav, or answer.mp3)"
    )
    demo.add_argument(
        "--target", default="kokoro", help="the speech container, as 'up' takes it (default: %(default)s)"
    )
    add_start_timeout(demo)
    demo.add_argument("--state-dir", type=Path, metavar="DIR", help="where the local CA is kept (or $BIDI_STATE_DIR)")
    add_agent_options(demo, default="agent")


@ended_by_sigterm()
def _demo(options: argparse.Namespace) -> int:
    try:
        _check(options)
        script = script_of(options)
        target = parse(options.target)
        print(f"Starting {target} …", flush=True)
        with launched(target, options.start_timeout, Path.cwd()) as url:
            answers = asyncio.run(_answers(options, url, script))
    except (ValueError, StateDirectoryError, PortInUseError, TargetError, AgentStartError, DemoError, OSError) as error:
        print(f"emulator: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    if len(answers) > 1:
        shown = ", ".join(f"{mode} {_milliseconds(answers[mode].first_audio_ms)}" for mode in _MODES)
        print(f"\nFirst audio after agent_start: {shown}.")
    return 0


def _check(options: argparse.Namespace) -> None:
    """Say what is wrong before anything is started.

    Raises:
        DemoError: the question is blank, or the output is named as another format is.
    """
    options.question = " ".join(options.question)
    if not options.question.strip():
        raise DemoError("the question is blank; expected is a text, as in: emulator demo 'Why is the sky blue?'")
    options.output = options.output or Path("answer").with_suffix(_SUFFIXES[options.format])
    named = options.output.suffix.lower()
    if named != _SUFFIXES[options.format] and named in _SUFFIXES.values():
        raise DemoError(
            f"--output {options.output} is named as another format than --format {options.format} is; expected is a "
            f"name in {_SUFFIXES[options.format]}, or the other --format"
        )


def _milliseconds(value: float | None) -> str:
    return "unknown (its event has no t_ms)" if value is None else f"{value:.0f} ms"


async def _answers(options: argparse.Namespace, container: str, script: Script | None) -> dict[str, Answer]:
    answers = {}
    server = Server(
        {_ENDPOINT: Endpoint(container)},
        http_port=0,
        state_directory=options.state_dir,
        bedrock_script=script,
    )
    if agent_command(options.agent) is not None:
        print("Starting the agent …", flush=True)
    async with server, contextlib.AsyncExitStack() as agents:  # the agent ends first: nothing it does is cut short
        # a container that shares a laptop's processor with everything else is slow, and no fault to be told of
        patience = {"SPEECH_WORK_TIMEOUT_S": os.environ.get("SPEECH_WORK_TIMEOUT_S", "60")}
        starting = agent_container(options.agent, {**patience, **agent_environment(server, _ENDPOINT)})
        address = await agents.enter_async_context(starting)
        arn = server.agents.runtimes.put(options.agent_name, address)
        if script is None:
            print(
                "The model is scripted: it says the same to every question (--bedrock-script FILE for another answer)."
            )
        for mode in _MODES if options.mode == "both" else (options.mode,):
            output = options.output
            if options.mode == "both":
                output = output.with_stem(f"{output.stem}-{mode}")
            payload = {"prompt": options.question, "mode": mode, "format": options.format}
            answers[mode] = answer = Answer()
            try:
                await _ask(server, arn, payload, answer)
            finally:
                if answer.over or answer.audio:  # of an answer that failed, what was heard is kept
                    _write(output, answer)
    return answers


async def _ask(server: Server, arn: str, payload: dict[str, str], answer: Answer) -> None:
    print(f"\n{_printable(payload['prompt'])} ({payload['mode']})")
    told = 0
    async for event in _events(server, arn, payload):
        try:
            answer.take(event)
        finally:
            for line in answer.lines[told:]:
                print(_printable(line), flush=True)
            told = len(answer.lines)
    if not answer.over:
        raise DemoError("the answer broke off: it has no 'done'")
    if payload["mode"] == "bidi" and answer.is_late:
        why = (
            "it is one sentence, and the voice begins when a sentence is complete. A longer answer shows it."
            if answer.sentences == 1
            else "on this machine the voice took longer for its first piece than the model for the rest. A longer "
            "answer, a shorter first sentence or a faster machine shows it."
        )
        print(f"The first audio came only after the end of the text: {why}")


async def _events(server: Server, arn: str, payload: dict[str, str]) -> AsyncIterator[dict[str, Any]]:
    """Call ``InvokeAgentRuntime`` as a client that cannot sign does, with a bearer token."""
    base = urlsplit(server.http_url or "")
    path = facts.text("agent.invoke-path").replace("{agentRuntimeArn}", quote(arn, safe=""))
    headers = [("authorization", f"Bearer {server.agents.token}"), ("content-type", "application/json")]
    body = json.dumps(payload).encode()
    reader = EventReader()
    try:
        async with client.request(base.hostname or "", base.port or 0, "POST", path, headers, body) as response:
            if response.status != 200:
                raise DemoError(f"HTTP {response.status}: {(await response.read(4096)).decode('utf-8', 'replace')}")
            while (data := await response.receive()) is not None:
                for event in reader.feed(data):
                    yield event
        reader.finish()
    except (PeerError, SseError) as error:
        raise DemoError(f"the answer broke off: {error}") from error


def _write(path: Path, answer: Answer) -> None:
    if answer.format == "pcm16":
        answer.seconds = len(answer.audio) / 2 / answer.rate
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(answer.rate)
            file.writeframes(answer.audio)
    else:
        path.write_bytes(answer.audio)
    length = "" if answer.seconds is None else f"{answer.seconds:.1f} s of speech: "
    print(f"{path}: {length}{_printable(answer.text.strip())}")
