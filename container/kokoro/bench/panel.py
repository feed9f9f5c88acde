"""Opinions of listeners: a blind page over the audio of `quality --wav`, and their scores as means with intervals."""

import argparse
import json
import random
import re
import statistics
from html import escape
from pathlib import Path

from container.kokoro.bench.report import Table
from container.kokoro.bench.result import Result

SCALE = ("bad", "poor", "fair", "good", "excellent")
"""ITU-T P.800's absolute category rating, 1 to 5."""
_NAME = re.compile(r"(?P<voice>[a-z]{2}_[a-z]+)-(?P<text>[a-z]+-\d+)\.wav")

_PAGE = """<!doctype html><meta charset="utf-8"><title>Listening panel</title>
<style>body{{font:16px sans-serif;max-width:46em;margin:2em auto}}li{{margin:1.2em 0}}label{{margin-right:1em}}</style>
<h1>How good is the speech?</h1>
<p>Listen to each one with headphones and choose. Do not compare, do not go back. Then save the file and hand it in.</p>
<ol>
{items}
</ol>
<button onclick="save()">Save my scores</button>
<script>
function save() {{
  const scores = {{}};
  for (const chosen of document.querySelectorAll("input:checked")) scores[chosen.name] = Number(chosen.value);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(scores)], {{type: "application/json"}}));
  link.download = "scores-" + Date.now() + ".json";
  link.click();
}}
</script>
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("audio", type=Path, help="the directory that quality --wav wrote; panel.html is put into it")
    parser.add_argument("--scores", type=Path, nargs="+", metavar="FILE", help="what listeners saved: score it")
    parser.add_argument("--seed", type=int, default=0, help="of the order (%(default)s)")


def derive(options: argparse.Namespace) -> Result:
    """Write the page, or return a row for each voice."""
    names = sorted(path.name for path in options.audio.glob("*.wav") if _NAME.fullmatch(path.name))
    if not names:
        raise ValueError(f"{options.audio} holds no audio of quality --wav (VOICE-TEXT.wav)")
    random.Random(options.seed).shuffle(names)  # noqa: S311  # the same order for all listeners
    if options.scores:
        return _scored(names, options.scores)
    page = options.audio / "panel.html"
    page.write_text(_PAGE.format(items="\n".join(map(_item, range(len(names)), names))), encoding="utf-8")
    table = Table("Listening panel", ("page", "clips"), [(str(page), len(names))])
    table.notes.append("Clips are numbered, not named: open it in a browser, then score with --scores FILE ...")
    return Result(table)


def _item(number: int, name: str) -> str:
    choices = "".join(
        f'<label><input type="radio" name="{number}" value="{value}">{word}</label>'
        for value, word in enumerate(SCALE, 1)
    )
    return f'<li><audio controls preload="none" src="{escape(name)}"></audio><br>{choices}</li>'


def _scored(names: list[str], files: list[Path]) -> Result:
    by_voice: dict[str, list[int]] = {}
    for file in files:
        for number, value in _read(file).items():
            if not number.isdecimal() or int(number) >= len(names) or value not in range(1, len(SCALE) + 1):
                raise ValueError(f"{file}: {number!r}: {value!r} is no score of one of {len(names)} clips, 1 to 5")
            match = _NAME.fullmatch(names[int(number)])
            assert match is not None  # noqa: S101
            by_voice.setdefault(match["voice"], []).append(value)
    table = Table(f"Mean opinion score, {len(files)} listeners", ("voice", "scores", "mean", "95 % interval"))
    for voice, values in sorted(by_voice.items()):
        half = 1.96 * statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
        table.rows.append((voice, len(values), statistics.fmean(values), f"± {half:.2f}"))
    return Result(table, {"scores": by_voice})


def _read(file: Path) -> dict[str, int]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{file} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{file} holds no scores; expected what the page saves")  # noqa: TRY004  # no fault of ours
    return found
