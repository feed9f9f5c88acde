"""What is read aloud of an answer with markup."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from container.agent.sentences import SentenceSplitter
from container.agent.spoken import SpokenText


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("Plain text stays, 3.5 * 2 and a_b too.", "Plain text stays, 3.5 * 2 and a_b too."),
        ("**Bold** and *italic* and __both__ and ~~gone~~.", "Bold and italic and both and gone."),
        ("***Very*** _much_.", "Very much."),
        ("## A heading", "A heading"),
        ("- apples", "apples"),
        ("* [x] done", "done"),
        ("12. Open the door.", "12, Open the door."),
        ("> quoted\n> twice", "quoted twice"),
        ("See [the docs](https://docs.example.org/a.b?c=d).", "See the docs."),
        ("![a cat](cat.png) sleeps", "a cat sleeps"),
        ("Go to https://www.example.org/a/b?c=d#e, then come back.", "Go to example.org, then come back."),
        ("It is at <https://example.org>.", "It is at example.org."),
        ("Run `pip install x` now.", "Run pip install x now."),
        ("| name | size |", "name , size"),
        ("|---|:--:|", ""),
        ("---", ""),
        ("Well done! 🎉👍🏽", "Well done!"),
        ("👨‍👩‍👧 family", "family"),
        ("salt & pepper → soup", "salt and pepper , soup"),
        ("It costs $5 at 20 °C, that is 100 %.", "It costs $5 at 20 °C, that is 100 %."),
        ("a<br>b</b>", "ab"),
        ("if a < b and c > d", "if a < b and c > d"),
        ("```pip install x``` installs it.", "pip install x installs it."),
        ("...", ""),
        ("🙂", ""),
        ("* * *", ""),
        ("C'est l'été — déjà !", "C'est l'été — déjà !"),
        ("这是**重点**。", "这是重点。"),
    ],
)
def test_markup(written: str, spoken: str) -> None:
    assert SpokenText().clean(written) == spoken
    assert SpokenText(enabled=False).clean(written) == written


def test_code_is_not_read_even_where_it_covers_several_sentences() -> None:
    answer = "Try this:\n```python\nprint(1)\nprint('Done. Good.')\n```\nThen go on."
    splitter, spoken = SentenceSplitter(), SpokenText()
    sentences = splitter.feed(answer) + splitter.flush()
    assert len(sentences) > 1
    assert [text for text in map(spoken.clean, sentences) if text] == ["Try this:", "Then go on."]


def test_code_within_a_line_is_no_block_that_swallows_the_rest() -> None:
    spoken = SpokenText()
    assert spoken.clean("```ls``` lists the files.") == "ls lists the files."
    assert spoken.clean("That is all.") == "That is all."
    # in a block of its own, too, other fences are code
    block = ["~~~~ text", "```ls``` lists", "~~~~", "Heard."]
    assert [spoken.clean(line) for line in block] == ["", "", "", "Heard."]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.sampled_from("aB1 \n*_~`#>|[](){}<>!-+.,:/&😀\u200d\ud800https"), max_size=80))
def test_any_text_is_cleaned_to_something_readable_or_to_nothing(text: str) -> None:
    spoken = SpokenText().clean(text)
    assert spoken == "" or any(map(str.isalnum, spoken))
    assert "\n" not in spoken
    spoken.encode()
