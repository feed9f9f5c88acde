"""A run as one HTML file, to open in a browser: nothing is loaded from elsewhere, and no script is needed."""

import re
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources
from typing import Literal

from contract_tests.report import why
from contract_tests.sound import Sound
from contract_tests.verdict import Finding, Status, Verdict
from emulator import facts

__all__ = ["to_html"]

_LINE = re.compile(r"^\s*(\d+\.\d+)\s{2}(\S.*)$")
_ARROW = re.compile(r"^(client|SageMaker)\s+(→|←)\s+(SageMaker|container|AgentCore)\s+(\w+)\s*(.*)$")
_WORDS = {
    Status.PASS: "passed",
    Status.WARN: "warnings",
    Status.FAIL: "failed",
    Status.NOT_APPLICABLE: "not applicable",
}
_BAD = frozenset({Status.FAIL, Status.WARN})
_SHORT_S = 0.001
type _Lane = Literal["client", "front", "container"]
_LANES: dict[_Lane, int] = {"client": 24, "front": 58, "container": 92}
"""Where they run, in px from the top: with room for the marks of one and the name of the next."""


def to_html(verdicts: Sequence[Verdict], target: str, profile: str, when: str) -> str:
    """Return the report: a summary, and a section for each check. ``when`` is shown as it is."""
    style = resources.files("contract_tests").joinpath("report.css").read_text("utf-8")
    title = f"Contract report: {target}"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<link rel="icon" href="data:,">',
        f"<title>{escape(title)}</title><style>{style}</style></head><body>",
        '<a class="skip" href="#checks">To the checks</a>',
        f"<header><h1>Contract report</h1><p>{escape(target)}, profile {escape(profile)}, {escape(when)}</p></header>",
        "<main>",
        *_summary(verdicts),
        '<section id="checks" aria-label="Checks">',
        *(line for verdict in verdicts for line in _check(verdict)),
        "</section></main></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _summary(verdicts: Sequence[Verdict]) -> Iterator[str]:
    counts = {status: sum(each.status is status for each in verdicts) for status in _WORDS}
    yield '<section aria-label="Summary"><h2>Summary</h2><ul class="counts">'
    yield from (f'<li class="{_css(status)}"><b>{counts[status]}</b> {word}</li>' for status, word in _WORDS.items())
    yield "</ul><table><caption>All checks</caption><thead><tr>"
    heads = ("Check", "Behaviour, closing", "What was seen")
    yield "".join(f'<th scope="col">{head}</th>' for head in heads) + "</tr></thead><tbody>"
    for each in verdicts:
        seen = escape(each.worst.observed.split("\n")[0][:160])
        yield (
            f'<tr><th scope="row"><a href="#{each.id}">{each.id} {escape(each.name)}</a></th>'
            f'<td>{_badge(each.behaviour.status)} <span class="level">closing</span> '
            f"{_badge(each.closing.status)}</td><td>{seen}</td></tr>"
        )
    yield "</tbody></table></section>"


def _check(verdict: Verdict) -> Iterator[str]:
    opened = " open" if verdict.status in _BAD else ""
    yield f"<details{opened}><summary><h2>{verdict.id} {escape(verdict.name)}</h2>"
    yield f'{_badge(verdict.status)} <span class="level">{verdict.level}, {verdict.seconds:.1f} s</span></summary>'
    yield f'<p class="stake" id="{verdict.id}">{escape(verdict.stake)}</p>'  # inside: a link to it opens the box
    yield from _finding("Behaviour", verdict.behaviour)
    yield from _finding("Closing behaviour", verdict.closing)
    if verdict.sound is not None:
        yield from _sound(verdict.id, verdict.sound)
    if verdict.log:
        yield from _timeline(verdict)
    if verdict.output:
        text = escape("\n".join(verdict.output))
        yield f'<h3>The container\'s own output</h3><pre tabindex="0" aria-label="Container output">{text}</pre>'
    if verdict.facts:
        yield f"<h3>{why(verdict.facts)}</h3><ul>"
        for fact_id in verdict.facts:
            fact = facts.get(fact_id)
            link = (
                f'<a href="{escape(fact.url)}">{fact.confidence}</a>' if "//" in fact.url else escape(fact.confidence)
            )
            yield f"<li>{escape(fact.statement)} ({link}, <code>{fact.id}</code>)</li>"
        yield "</ul>"
    yield "</details>"


def _finding(title: str, finding: Finding) -> Iterator[str]:
    yield f"<h3>{title} {_badge(finding.status)}</h3><dl>"
    if finding.status in _BAD:
        for name, text in (("Sent", finding.sent), ("Expected", finding.expected), ("Seen", finding.observed)):
            if text:
                yield f"<dt>{name}</dt><dd>{escape(text).replace(chr(10), '<br>')}</dd>"
    else:
        yield f"<dt>Seen</dt><dd>{escape(finding.observed).replace(chr(10), '<br>')}</dd>"
    yield "</dl>"
    if finding.causes:
        yield "<h4>Probable causes, the likeliest first</h4><ol>"
        yield from (f"<li>{escape(cause)}</li>" for cause in finding.causes)
        yield "</ol>"
    if finding.fix is not None:
        yield f"<h4>Fix</h4><p>{escape(finding.fix.text)}</p>"
        if finding.fix.after:
            lines = [f"<del>- {escape(line)}</del>" for line in finding.fix.before.splitlines()]
            lines += [f"<ins>+ {escape(line)}</ins>" for line in finding.fix.after.splitlines()]
            code = "\n".join(lines)
            yield f'<pre tabindex="0" aria-label="Code before and after">{code}</pre>'


def _sound(check_id: str, sound: Sound) -> Iterator[str]:
    points = sound.envelope()
    width = max(1, len(points))
    upper = " ".join(f"{x},{50 - 48 * high:.1f}" for x, (_, high) in enumerate(points))
    lower = " ".join(f"{x},{50 - 48 * low:.1f}" for x, (low, _) in reversed(list(enumerate(points))))
    more = f", the first {sound.shown_seconds:.0f} s of it" if sound.shown_seconds < sound.seconds else ""
    label = f"Waveform of {sound.seconds:.2f} s of audio"
    yield f"<h3>Audio of {escape(sound.what)}: {sound.seconds:.2f} s{more}</h3>"
    yield f'<svg class="wave" viewBox="0 0 {width} 100" preserveAspectRatio="none" role="img" aria-label="{label}">'
    yield f'<line x1="0" y1="50" x2="{width}" y2="50"/><polygon points="{upper} {lower}"/></svg>'
    yield f'<audio controls preload="metadata" aria-label="Audio of {check_id}" src="{sound.data_uri()}"></audio>'


def _timeline(verdict: Verdict) -> Iterator[str]:
    """Draw the wire log: a mark for each event on the lane of its hop, and the log itself below as a table."""
    rows = [
        (float(match[1]), match[2]) if (match := _LINE.match(line)) else (None, line.strip()) for line in verdict.log
    ]
    last = max((at for at, _ in rows if at is not None), default=0.0) or _SHORT_S
    yield "<h3>Frames</h3>"
    label = f"{len(rows)} lines of the wire log over {last:.3f} s"
    yield f'<svg class="lanes" role="img" aria-label="{label}">'  # across in %, so that letters keep their size
    agent = any("AgentCore" in line for line in verdict.log)
    names = ("client", "client ↔ AgentCore") if agent else ("client", "client ↔ SageMaker", "SageMaker ↔ container")
    for y, name in zip(_LANES.values(), names, strict=False):  # an agent has no lane of a container
        yield f'<line x1="0" y1="{y}" x2="100%" y2="{y}"/><text x="4" y="{y - 8}">{name}</text>'
    for at, text in rows:
        if at is not None:
            lane, kind = _placed(text)
            x = 2 + 96 * at / last
            tip = f"<title>{at:.3f} s {escape(text[:120])}</title>"
            yield f'<circle class="{kind}" cx="{x:.2f}%" cy="{_LANES[lane]}" r="5">{tip}</circle>'
    yield '</svg><div class="log" tabindex="0" role="region" aria-label="Wire log">'
    yield '<table aria-label="Frames, the first on top"><thead><tr>'
    yield '<th scope="col">s</th><th scope="col">what</th></tr></thead><tbody>'
    for at, text in rows:
        kind = _placed(text)[1]
        yield f'<tr class="{kind}"><td>{"" if at is None else f"{at:.3f}"}</td><td>{escape(text)}</td></tr>'
    yield "</tbody></table></div>"


def _placed(text: str) -> tuple[_Lane, str]:
    """Return the lane and the kind of an event of the log."""
    match = _ARROW.match(text)
    if match is None:
        return "client", "note"
    lane: _Lane = "front" if match[1] == "client" else "container"
    kind = match[4]
    if kind in {"part", "frame"}:
        return lane, "text" if "UTF8" in match[5][:12] or "TEXT" in match[5][:12] else "binary"
    return lane, kind if kind in {"close", "eof", "exception", "ping", "pong"} else "other"


def _badge(status: Status) -> str:
    return f'<span class="badge {_css(status)}">{status}</span>'


def _css(status: Status) -> str:
    return {Status.PASS: "pass", Status.WARN: "warn", Status.FAIL: "fail", Status.NOT_APPLICABLE: "na"}[status]
