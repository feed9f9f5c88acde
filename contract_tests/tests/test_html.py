"""The report page, by its markup."""

import base64
import io
import re
import wave
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from contract_tests.html import to_html
from contract_tests.sound import Sound
from contract_tests.verdict import Fix, Level, Verdict, failed, not_applicable, passed

LOG = (
    "   0.001  client    → SageMaker  part      UTF8, 9 B '{\"text\": 1}'",
    "   0.002  SageMaker → container  frame     TEXT 9 B '<b>'",
    "   0.500  SageMaker ← container  eof       without a Close frame",
    "a line without a time",
)
SOUND = Sound(bytes(range(256)) * 1000, 24000, "request 'r1'")
BAD = Verdict(
    "CT1",
    "text-and-binary",
    Level.MUST,
    'A <client> & its "frames".',
    ("frame.default-binary",),
    failed(
        sent="one <frame>",
        expected="an answer",
        observed="no reply\nat all",
        causes=("the <likeliest>", "another"),
        fix=Fix("Read both.", before="old()", after="new(a < b)"),
    ),
    passed("Close 1000"),
    LOG,
    output=("Traceback", "KeyError: '<x>'"),
    sound=SOUND,
)
GOOD = Verdict("CT2", "other", Level.SHOULD, "much", (), passed("fine"), not_applicable("not judged"))


class Page(HTMLParser):
    """Collects elements, and checks that each is closed in order."""

    VOID = frozenset({"meta", "link", "br", "line", "circle", "polygon"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def page() -> tuple[str, Page]:
    text = to_html([BAD, GOOD], "the <app>", "kokoro", "today")
    return text, Page(text)


def test_nothing_is_loaded_from_elsewhere_and_nothing_is_left_open() -> None:
    _, parsed = page()
    assert parsed.open == []
    assert not parsed.all("script")
    sources = [each.get("src") or "" for _, each in parsed.found if "src" in each]
    assert sources
    assert all(source.startswith("data:") for source in sources)
    assert all((each.get("href") or "").startswith("data:") for each in parsed.all("link"))


def test_the_summary_comes_first_and_leads_to_each_check() -> None:
    text, parsed = page()
    assert text.index("Summary") < text.index("<details open>") < text.index('id="CT1"') < text.index("<details>")
    links = {each.get("href") for each in parsed.all("a")}
    assert {"#CT1", "#CT2", "#checks"} <= links
    assert '<li class="fail"><b>1</b> failed</li>' in text
    row = re.search(r'<a href="#CT1">.*?</tr>', text)
    assert row is not None
    assert re.findall(r'class="badge (\w+)"', row[0]) == ["fail", "pass"]  # behaviour, then closing behaviour


def test_a_verdict_is_told_whole_and_escaped() -> None:
    text, _ = page()
    for part in (
        "the &lt;app&gt;",
        "A &lt;client&gt; &amp; its",
        "one &lt;frame&gt;",
        "no reply<br>at all",
        "<li>the &lt;likeliest&gt;</li><li>another</li>".replace("</li><li>", "</li>\n<li>"),
        "<del>- old()</del>",
        "<ins>+ new(a &lt; b)</ins>",
        "KeyError: &#x27;&lt;x&gt;&#x27;",
        "A part with DataType BINARY",
    ):
        assert part in text


def test_frames_are_a_timeline_and_a_table() -> None:
    text, parsed = page()
    marks = parsed.all("circle")
    assert [each["class"] for each in marks] == ["text", "text", "eof"]
    assert [each["cy"] for each in marks] == ["58", "92", "92"]
    assert marks[-1]["cx"] == "98.00%"
    assert "a line without a time" in text


def test_audio_can_be_seen_and_played() -> None:
    text, parsed = page()
    (audio,) = parsed.all("audio")
    assert "controls" in audio
    assert audio["aria-label"]
    assert "5.33 s" in text
    polygon = parsed.all("polygon")[0]["points"] or ""
    heights = [float(each) for each in re.findall(r",([\d.]+)", polygon)]
    assert len(heights) == 600
    assert all(0 <= each <= 100 for each in heights)


def test_long_audio_is_cut_to_what_a_page_can_hold() -> None:
    sound = Sound(bytes(2 * 8000 * 60), 8000, "x")
    assert (sound.seconds, sound.shown_seconds) == (60.0, 6.0)
    assert len(sound.data_uri()) < 150_000
    assert Sound(b"", 8000, "x").envelope() == []


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 4801, 4803])
def test_half_a_sample_at_the_end_is_left_out(size: int) -> None:
    text = to_html([replace(BAD, sound=Sound(b"\1" * size, 24000, "request 'r1'"))], "the app", "kokoro", "today")
    (audio,) = Page(text).all("audio")
    with wave.open(io.BytesIO(base64.b64decode((audio["src"] or "").split(",")[1]))) as file:
        assert file.getnframes() == size // 2


def test_images_have_a_text_and_scrolling_boxes_take_the_keyboard() -> None:
    _, parsed = page()
    assert all(each.get("aria-label") for each in parsed.all("svg"))
    assert all(each.get("tabindex") == "0" and each.get("aria-label") for each in parsed.all("pre"))
