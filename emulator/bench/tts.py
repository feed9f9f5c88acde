"""When a text is first heard: given as a whole, or sentence by sentence.

``bench emulated-tts``: one text of four sentences, through SDK, emulator and a real container. Beside the
Kokoro container of this repository stands a server on the same weights that speaks a whole text before it sends any of
it, as AWS's sample does: what was measured there and then is what this one repeats here.
"""

import argparse
import asyncio
import contextlib
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulator.arguments import add_dry_run, count
from emulator.bench import saved
from emulator.bench.chart import Chart
from emulator.bench.client import SdkClient
from emulator.bench.figures import conditions, figures, headline, markdown
from emulator.bench.speaking import Heard, SpeechFailedError, speak
from emulator.bench.stack import StackError, running
from emulator.bench.texts import SENTENCES
from emulator.environment import environment_of
from emulator.outputfile import output_file

__all__ = ["main"]

_COLUMNS = ("server, mode", "n", "mean ms", "p50 ms", "p95 ms", "times earlier", "whole answer s", "audio s")

_WHOLE = "a server that speaks the whole text first"
_TARGETS = {
    _WHOLE: f"command:{shlex.quote(sys.executable)} -W ignore -m container.kokoro.bench.naive --port {{port}}",
    "the Kokoro container": "kokoro",
}
_MODES = {"batch": (" ".join(SENTENCES),), "first sentence": SENTENCES}
_REFERENCE_MS = {"batch": 329.3, "first sentence": 156.7}
"""Published for AWS's sample, which speaks the whole text first, on ml.g5.xlarge; another text of that length."""


@dataclass(frozen=True, slots=True)
class Run:
    """One answer."""

    server: str
    mode: str
    heard: Heard


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit status is 1 where a whole text was heard before its first sentence alone.

    That is for the server that speaks the whole text first: the other may cut a text by itself.
    """
    options = _parser().parse_args(arguments)
    targets = {target: target for target in options.target} or _TARGETS
    found = conditions(
        text_characters=len(_MODES["batch"][0]),
        sentences=len(SENTENCES),
        servers=list(targets),
        runs_each=options.runs,
    )
    if options.dry_run:
        print(
            f"{headline(found)}\nwould: start {len(targets)} servers ({'; '.join(targets)}), each behind an emulator "
            f"of its own, and speak {found['text_characters']} characters: a warm-up, then {options.runs} times in "
            "both modes"
        )
        return 0
    try:
        runs = asyncio.run(_measure(targets, options.runs))
    except (StackError, SpeechFailedError, ValueError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    rows = _rows(runs)
    print(_report(found, rows, options.runs))
    chart = _chart(rows)
    if options.json is not None:
        seconds = [
            {"server": run.server, "mode": run.mode, "first_s": run.heard.first_s, "total_s": run.heard.total_s}
            | {"audio_s": run.heard.audio_s}
            for run in runs
        ]
        raw = {"rows": rows, "reference_ms": _REFERENCE_MS, "runs": seconds}
        saved.write(options.json, "emulated-tts", found, _COLUMNS, _table(rows), raw, chart=chart)
    if options.plot is not None:
        options.plot.write_text(chart.svg())
    p50 = {(row["server"], row["mode"]): row["first_ms"]["p50"] for row in rows}
    late = [server for server in targets if server == _WHOLE and p50[server, "batch"] <= p50[server, "first sentence"]]
    for server in late:
        print(f"not early: {server}: the first sentence alone was not heard before the whole text")
    return 1 if late else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench emulated-tts", description=__doc__)
    parser.add_argument(
        "--target",
        action="append",
        default=[],
        help="a speech container, as emulator up takes it; may be repeated (default: "
        f"{_WHOLE}, and {', '.join(list(_TARGETS)[1:])})",
    )
    parser.add_argument("--runs", type=count, default=7, help="of each server and mode (default: %(default)s)")
    add_dry_run(parser)
    parser.add_argument("--json", type=output_file, metavar="FILE", help="write all runs, the table and the conditions")
    parser.add_argument("--plot", type=output_file, metavar="FILE", help="write an SVG of the medians")
    return parser


async def _measure(targets: dict[str, str], count: int) -> list[Run]:
    runs = []
    with contextlib.ExitStack() as started:
        urls = {}
        for name, target in targets.items():
            print(f"starting {name} and an emulator before it …", file=sys.stderr)
            state = Path(started.enter_context(tempfile.TemporaryDirectory()))
            stack = started.enter_context(running(["--target", target, "--endpoint", "bench"], state))
            urls[name] = stack.environment
        for number in range(count + 1):  # the first round warms up
            for name, environment in urls.items():
                for mode in _MODES if number % 2 else reversed(_MODES):
                    heard = await _ask(environment, _MODES[mode])
                    if number:
                        runs.append(Run(name, mode, heard))
    return runs


async def _ask(environment: dict[str, str], texts: Sequence[str]) -> Heard:
    with environment_of(environment):
        client = SdkClient(environment["AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME_HTTP2"], "UTF8")
        await client.open()
        try:
            return await speak(client, texts)
        finally:
            await client.close()


def _rows(runs: Sequence[Run]) -> list[dict[str, Any]]:
    rows = []
    for server in dict.fromkeys(run.server for run in runs):
        first = {
            mode: figures([run.heard.first_s * 1000 for run in runs if (run.server, run.mode) == (server, mode)])
            for mode in _MODES
        }
        for mode in _MODES:
            mine = [run.heard for run in runs if (run.server, run.mode) == (server, mode)]
            rows.append(
                {
                    "server": server,
                    "mode": mode,
                    "first_ms": first[mode],
                    "times_earlier": first["batch"]["p50"] / first[mode]["p50"],
                    "total_s": figures([heard.total_s for heard in mine]),
                    "audio_s": figures([heard.audio_s for heard in mine]),
                }
            )
    return rows


def _report(found: dict[str, Any], rows: Sequence[dict[str, Any]], count: int) -> str:
    table = _table(rows)
    batch = _REFERENCE_MS["batch"]
    for mode, value in _REFERENCE_MS.items():
        table.append([f"published for AWS's sample, ml.g5.xlarge, {mode}", "", "", value, "", batch / value, "", ""])
    lines = [
        headline(found),
        "first audio counts from the first text that is sent, on a session that is open already",
        f"{found['text_characters']} characters in {found['sentences']} sentences",
        f"one warm-up round, then {count}; the servers in turn, the order of the modes alternating",
    ]
    return "\n".join([*lines, "", markdown(_COLUMNS, table)])


def _table(rows: Sequence[dict[str, Any]]) -> list[list[object]]:
    return [
        [
            f"{row['server']}, {row['mode']}",
            row["first_ms"]["n"],
            *(row["first_ms"][name] for name in ("mean", "p50", "p95")),
            row["times_earlier"],
            row["total_s"]["p50"],
            row["audio_s"]["p50"],
        ]
        for row in rows
    ]


def _chart(rows: Sequence[dict[str, Any]]) -> Chart:
    names = [*dict.fromkeys(row["server"] for row in rows), "ml.g5.xlarge (published)"]
    series = {
        mode: [
            *((names.index(row["server"]), row["first_ms"]["p50"]) for row in rows if row["mode"] == mode),
            (len(names) - 1, _REFERENCE_MS[mode]),
        ]
        for mode in _MODES
    }
    return Chart("First audio, p50", "server", "ms", series, names)


if __name__ == "__main__":
    raise SystemExit(main())
