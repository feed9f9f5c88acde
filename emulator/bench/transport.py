"""What it costs to send speech: as PCM16, MP3 or AAC, as it is or in base64 as server-sent events.

``bench transport``: 24 clips, spoken by a real container and carried through SDK and emulator; then
each encoding: bytes, time, what transport blocks cut, and how many words a recogniser no longer understands:
offline, or Amazon Transcribe.
"""

import argparse
import asyncio
import base64
import importlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from emulator.arguments import add_dry_run, count
from emulator.bench import saved
from emulator.bench.chart import Chart
from emulator.bench.client import SdkClient
from emulator.bench.codecs import CODECS, RATE, Codec, Piece, are_available
from emulator.bench.figures import conditions, headline, markdown
from emulator.bench.speaking import SpeechFailedError, speak
from emulator.bench.stack import StackError, running
from emulator.bench.texts import CLIPS
from emulator.bench.transcribe import LEAST_BILLED_S, PRICES, Transcribe, TranscribeError
from emulator.environment import environment_of
from emulator.outputfile import output_file

__all__ = ["Cost", "cost", "cut", "main"]

_COLUMNS = (
    "encoding", "bytes", "as events", "overhead %", "encoding ms per s of audio", "units cut", "events cut", "WER %"
)  # fmt: skip
_BLOCK = 8192
_LETTERS_PER_S = 15  # of Kokoro, roughly: to say beforehand what will be billed
_REFERENCE: dict[str, dict[str, float]] = {
    "PCM16": {"raw_bytes": 2_396_400, "sse_bytes": 3_195_200, "wer": 0.0},
    "MP3, 48 kbit/s": {"raw_bytes": 308_304, "sse_bytes": 411_072, "wer": 0.0},
    "AAC, 32 kbit/s, ADTS": {"raw_bytes": 258_039, "sse_bytes": 344_084, "wer": 0.0},
}
"""Published for AWS's sample: 24 other clips; base64 alone, without what is around it; AAC in fMP4; Transcribe."""

Hear = Callable[[bytes], Sequence[str]]
"""PCM to the words that are heard in it."""
Wer = Callable[[str, Sequence[str]], float]
"""What was said and what was heard to the rate of wrong words."""


@dataclass
class Cost:
    """Of one encoding, over all clips."""

    name: str
    raw_bytes: int = 0
    sse_bytes: int = 0
    encode_ms: list[float] = field(default_factory=list)
    """Milliseconds for each second of audio, by clip."""
    units: int = 0
    units_cut: int = 0
    """Samples or frames that do not lie in one transport block, sent as they are."""
    events: int = 0
    events_cut: int = 0
    """The same of events, sent as server-sent events."""
    wer: list[float] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the figures."""
        return {
            "encoding": self.name,
            "raw_bytes": self.raw_bytes,
            "sse_bytes": self.sse_bytes,
            "overhead": self.sse_bytes / self.raw_bytes - 1,
            "encode_ms_per_s": statistics.fmean(self.encode_ms),
            "units": self.units,
            "units_cut": self.units_cut,
            "events": self.events,
            "events_cut": self.events_cut,
            "wer": None if self.wer is None else statistics.fmean(self.wer),
        }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    options = _options(arguments)
    codecs = CODECS if are_available() else CODECS[:1]
    texts = CLIPS[: options.clips]
    if options.dry_run:
        return _dry_run(options, texts, codecs)
    try:
        heard_by, hearing = _ears(options, texts, len(codecs))
        found = conditions(target=options.target, clips=len(texts), block=options.block, heard_by=heard_by)
        clips = asyncio.run(_spoken(options.target, texts))
    except (StackError, SpeechFailedError, TranscribeError, ValueError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    found["audio_s"] = round(sum(map(len, clips)) / 2 / RATE, 1)
    costs = []
    try:
        for codec in codecs:
            _progress(f"encoding and hearing {codec.name}: {found['audio_s']} s of audio …")
            costs.append(cost(codec, clips, texts, options.block, hearing))
    except TranscribeError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    print(_report(found, costs, len(codecs) < len(CODECS)))
    rows = [each.as_json() for each in costs]
    chart = _chart(rows, found["audio_s"])
    if options.json is not None:
        raw = {"rows": rows, "reference": _REFERENCE, "wer_by_clip": _by_clip(costs)}
        saved.write(options.json, "transport", found, _COLUMNS, _table(rows), raw, chart=chart)
    if options.plot is not None:
        options.plot.write_text(chart.svg())
    return 0


def _dry_run(options: argparse.Namespace, texts: Sequence[str], codecs: Sequence[Codec]) -> int:
    found = conditions(target=options.target, clips=len(texts), block=options.block)
    names = "; ".join(codec.name for codec in codecs)
    heard = f"heard by the {options.hear} recogniser" if options.words else "without a recogniser"
    print(
        f"{headline(found)}\nwould: start {options.target} and an emulator before it, have {len(texts)} clips spoken, "
        f"and encode each as {names}; {heard}"
    )
    if options.hear == "transcribe":
        print(_bill(texts, len(codecs)))
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench transport", description=__doc__)
    parser.add_argument("--target", default="kokoro", help="a speech container, as emulator up takes it (%(default)s)")
    parser.add_argument(
        "--clips",
        type=partial(count, most=len(CLIPS)),
        default=len(CLIPS),
        metavar="N",
        help="only the first N (%(default)s)",
    )
    parser.add_argument("--block", type=count, default=_BLOCK, metavar="BYTES", help="of the transport (%(default)s)")
    parser.add_argument("--no-words", dest="words", action="store_false", help="leave the recogniser out")
    parser.add_argument(
        "--hear", choices=("offline", "transcribe"), default="offline",
        help="the recogniser: Whisper on this machine, or Amazon Transcribe streaming, which costs money (%(default)s)",
    )  # fmt: skip
    parser.add_argument("--region", help="of Amazon Transcribe; else AWS_REGION or the AWS profile's")
    parser.add_argument("--yes", action="store_true", help="agree to what Amazon Transcribe bills")
    add_dry_run(parser)
    parser.add_argument("--json", type=output_file, metavar="FILE", help="write the table and the conditions")
    parser.add_argument("--plot", type=output_file, metavar="FILE", help="write an SVG of the bytes")
    options = parser.parse_args(arguments)
    if options.hear == "transcribe" and not options.words:
        parser.error("--no-words leaves the recogniser out that --hear transcribe asks for: give one of them")
    if options.hear != "transcribe" and (options.region or options.yes):
        parser.error("--region and --yes are for --hear transcribe")
    return options


async def _spoken(target: str, texts: Sequence[str]) -> list[bytes]:
    _progress(f"starting {target} and an emulator before it …")
    with (
        tempfile.TemporaryDirectory() as state,
        running(["--target", target, "--endpoint", "bench"], Path(state)) as stack,
        environment_of(stack.environment),
    ):
        client = SdkClient(stack.environment["AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2"], "UTF8")
        await client.open()
        try:
            return [(await speak(client, [text])).pcm for text in texts]
        finally:
            await client.close()


def cost(
    codec: Codec, clips: Sequence[bytes], texts: Sequence[str], block: int, hearing: tuple[Hear, Wer] | None = None
) -> Cost:
    """Encode clips of PCM and add up what it costs; `block` is the size of the transport's blocks in bytes."""
    total = Cost(codec.name, wer=None if hearing is None else [])
    codec.encode(bytes(2 * RATE))  # loads what has to be loaded
    for pcm, text in zip(clips, texts, strict=True):
        began = time.perf_counter()
        pieces = codec.encode(pcm)
        total.encode_ms.append((time.perf_counter() - began) * 1000 / (len(pcm) / 2 / RATE))
        data = b"".join(piece.data for piece in pieces)
        units = [size for piece in pieces for size in piece.units]
        events = [len(_event(number, piece)) for number, piece in enumerate(pieces)]
        total.raw_bytes += len(data)
        total.sse_bytes += sum(events)
        total.units += len(units)
        total.units_cut += cut(units, block)
        total.events += len(events)
        total.events_cut += cut(events, block)
        if hearing is not None and total.wer is not None:
            hear, wer = hearing
            total.wer.append(wer(text, hear(codec.decode(data))))
    return total


def cut(sizes: Iterable[int], block: int) -> int:
    """Return how many of these pieces, one behind the other, do not lie in one block of a stream."""
    ends = list(accumulate(sizes, initial=0))
    return sum(begin // block != (end - 1) // block for begin, end in pairwise(ends))


def _event(number: int, piece: Piece) -> bytes:
    """Return the event in which the agent of this repository sends a piece."""
    event = {
        "type": "audio_chunk",
        "seq": 10 + number,
        "t_ms": 1000.0 + number,
        "request_id": "00000000-0000-0000-0000-000000000000",
        "sentence": 0,
        "format": "pcm16",
        "data": base64.b64encode(piece.data).decode(),
    }
    return f"data: {json.dumps(event, separators=(',', ':'))}\n\n".encode()


def _ears(
    options: argparse.Namespace, texts: Sequence[str], encodings: int
) -> tuple[str | None, tuple[Hear, Wer] | None]:
    """Return by whom words are heard, and how; nothing is sent yet.

    Raises:
        TranscribeError: Amazon Transcribe cannot be used, or what it bills is not agreed to.
    """
    if not options.words:
        return None, None
    if options.hear == "offline":
        hearing = _recogniser()
        return None if hearing is None else "Whisper tiny.en, offline", hearing
    plan = _bill(texts, encodings)
    if not options.yes:
        raise TranscribeError(f"{plan}\nNothing was started: agree with --yes.")
    suite = _suite()
    if suite is None:
        raise TranscribeError("word error rates need the contract suite, which is not installed; run 'uv sync'.")
    transcribe = Transcribe.found(options.region, RATE)
    _progress(f"{plan}\nIt is {transcribe}")
    return str(transcribe), (lambda pcm: suite.spoken_words(asyncio.run(transcribe.heard(pcm))), suite.word_error_rate)


def _bill(texts: Sequence[str], encodings: int) -> str:
    requests, audio_s = len(texts) * encodings, sum(map(len, texts)) / _LETTERS_PER_S * encodings
    return (
        f"Amazon Transcribe is sent {len(texts)} clips x {encodings} encodings, about {audio_s:.0f} s of audio. It "
        f"bills by the second of audio, at least {LEAST_BILLED_S} s a request: {requests * LEAST_BILLED_S} s or more "
        f"for these {requests} requests; prices: {PRICES}"
    )


def _suite() -> Any:
    try:
        # by name, and only here: an emulator without the contract suite is whole
        return importlib.import_module("contract_tests.recognition")
    except ImportError:
        return None


def _recogniser() -> tuple[Hear, Wer] | None:
    """Return the offline recogniser of the contract suite, None where it is not installed."""
    module = _suite()
    if module is None or module.unavailable() is not None:
        return None
    numpy: Any = importlib.import_module("numpy")  # the suite needs it as well
    return lambda pcm: module.words_heard(numpy.frombuffer(pcm, dtype="<i2"), RATE), module.word_error_rate


def _table(rows: Sequence[dict[str, Any]]) -> list[list[object]]:
    return [
        [
            row["encoding"],
            row["raw_bytes"],
            row["sse_bytes"],
            row["overhead"] * 100,
            row["encode_ms_per_s"],
            f"{row['units_cut']} of {row['units']}",
            f"{row['events_cut']} of {row['events']}",
            None if row["wer"] is None else row["wer"] * 100,
        ]
        for row in rows
    ]


def _report(found: dict[str, Any], costs: Sequence[Cost], incomplete: bool) -> str:
    table = _table([each.as_json() for each in costs])
    for name, known in _REFERENCE.items():
        raw, sse = int(known["raw_bytes"]), int(known["sse_bytes"])
        table.append([f"published: {name}", raw, sse, (sse / raw - 1) * 100, "", "", "", known["wer"] * 100])
    lines = [
        f"{headline(found)}; speech: {found['target']}",
        f"{found['clips']} clips, {found['audio_s']} s at 24 kHz, in pieces of 0.5 s; blocks of {found['block']} bytes",
        "",
        markdown(_COLUMNS, table),
        "",
        "Units are what a receiver needs whole: samples of PCM, frames of the others. Published: for AWS's sample, 24",
        "other clips, base64 without the JSON around it, AAC in fMP4, words heard by Amazon Transcribe.",
    ]
    if incomplete:
        lines.append("MP3 and AAC were not measured: the extra 'codecs' is not installed.")
    if found["heard_by"] is not None:
        lines.append(f"Words were heard by {found['heard_by']}.")
    if any(each.wer is None for each in costs):
        lines.append("Words were not measured: without --no-words, and with the extra 'recogniser', they are.")
    return "\n".join(lines)


def _chart(rows: Sequence[dict[str, Any]], seconds: float) -> Chart:
    series = {
        name: [(at, row[figure] / seconds / 1000) for at, row in enumerate(rows)]
        for name, figure in (("as it is", "raw_bytes"), ("events in base64", "sse_bytes"))
    }
    names = [row["encoding"] for row in rows]
    return Chart("Bytes for a second of speech", "encoding", "kB/s", series, names)


def _by_clip(costs: Sequence[Cost]) -> dict[str, list[float] | None]:
    return {each.name: each.wer for each in costs}


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
