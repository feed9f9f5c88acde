"""What is read aloud of an answer with markup."""

# ruff: noqa: RUF001  # CJK characters look like others, and are meant

import itertools

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
        ("a<br>b</b>", "a b"),
        ('<a href="https://x.org/y" download>He</a>llo <input type=text disabled/><BR>you', "Hello you"),
        ("if x<y and y>z then stop.", "if x<y and y>z then stop."),
        ("if a<b and b>c then stop.", "if a<b and b>c then stop."),
        ("Type <user name> here.", "Type <user name> here."),
        ("A List<String>, a List<Object>, a Set<A>.", "A List<String>, a List<Object>, a Set<A>."),
        ("Use the `<div>` tag.", "Use the <div> tag."),
        ("Write to <help@example.com>.", "Write to help@example.com."),
        ("Write to <mailto:a@b.org> or <tel:+4930123>.", "Write to a@b.org or +4930123."),
        ("[link](https://a.b/c_(d)) and ![a cat](c_(1).png).", "link and a cat."),
        ("[link](https://a.b/c_(d) goes on", "link goes on"),
        ("See https://en.example.org/wiki/A_(b), please (https://a.org/b).", "See en.example.org, please (a.org)."),
        ("2 ** 3 is 8, and **2** is **3 dollars**.", "2 ** 3 is 8, and 2 is 3 dollars."),
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


def aloud(fragments: list[str]) -> list[str]:
    splitter, spoken = SentenceSplitter(), SpokenText()
    sentences = [sentence for fragment in fragments for sentence in splitter.feed(fragment)] + splitter.flush()
    return [text for text in map(spoken.clean, sentences) if text]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            "Here is the code: ```python\nprint(1)\n```\nNow run it. It prints one. Have fun!",
            "Here is the code:|Now run it.|It prints one.|Have fun!",
        ),
        ("1. ```bash\n   ls\n   ```\n2. Then run it.\n\nIt works. Bye.", "2, Then run it.|It works.|Bye."),
        ("- ```bash\n  ls\n  ```\n- Then run it.\n\nIt works. Bye.", "Then run it.|It works.|Bye."),
        ("**Code** ```\nx\n```\nBye. All done.", "Code|Bye.|All done."),
        ("Run ```\nls\n``` now. Then open the file. It works.", "Run now.|Then open the file.|It works."),
        ("Look:\n```js {1,3}\nx = 1\n``` Now run it. Bye.", "Look:|Now run it.|Bye."),
        ("Look:\n```js\nx = 1 ```\nNow run it. Bye.", "Look:|Now run it.|Bye."),
        ("> ```\n> x = 1\n> ```\nNow run it. Bye.", "Now run it.|Bye."),
        ("Look:\n````md\nA text.\n```py\nx = 1\n```\nMore text.\n````\nNow run it. Bye.", "Look:|Now run it.|Bye."),
        ("One:\n```\na = 1\n```\nTwo:\n~~~\nb = 1\n~~~\nThree. Four.", "One:|Two:|Three.|Four."),
        ("Try ~~~\nx\n~~~\nNow run it. Bye.", "Try|Now run it.|Bye."),
        ("代码：```python\nprint(1)\n```\n现在运行它。再见。", "代码：|现在运行它。|再见。"),
        # marks that are spoken of
        ("A fence is ``` and nothing else. It opens a block.", "A fence is and nothing else.|It opens a block."),
        ("You need a mark:\n\n``` is the mark. It opens.", "You need a mark:|is the mark.|It opens."),
        ("Then ```Say it. Wow!``` He left. Bye.", "Then Say it.|Wow!|He left.|Bye."),
        ("Run ```echo hi. Then``` and go. It works.", "Run echo hi.|Then and go.|It works."),
    ],
)
def test_a_block_of_code_is_silent_and_the_prose_around_it_is_not(written: str, expected: str) -> None:
    fours = [written[at : at + 4] for at in range(0, len(written), 4)]
    for fragments in ([written], list(written), fours):
        assert aloud(fragments) == expected.split("|")


@pytest.mark.parametrize(
    "written",
    [
        "Look:\n```md\n# T\n```py\nx = 1\n```\nText.\n```\nNow it runs. It works.",  # the same fence in a block
        "Look:\n```py\nx = 1\n```bash\nls\n```\nNow it runs. It works.",  # one that was not closed
        "Start it with ```\nand end it with ```\nNow it runs. It works.",
        "Start it with ```\nNow it runs. It works.",
        "Look:\n```py\nx = 1\ny ```\nz\n```\nNow it runs. It works.",
        "> ```\n> x = 1\n\nNow it runs. It works.",
    ],
)
def test_fences_that_can_be_counted_in_two_ways_do_not_silence_what_follows(written: str) -> None:
    spoken = aloud([written])
    assert spoken[-2:] == ["Now it runs.", "It works."]
    assert "x = 1" not in " ".join(spoken)


def test_a_block_that_is_not_closed_is_code_to_the_end() -> None:
    assert aloud(["Look:\n```python\nx = 1\nPrint it. Stop."]) == ["Look:"]


BLOCKS = st.sampled_from([
    (" ```\n", "```"), (" ```py\n", "```"), ("\n```\n", "```"), ("\n\n```python\n", "```"), ("\n- ```sh\n  ", "  ```"),
    ("\n1. ~~~\n", "~~~"), ("\n````md\nhidden\n```x\n", "````"), ("\n> ```\n> ", "> ```"),
])  # fmt: skip
AFTER = st.sampled_from(["\n", " And prose. ", "\n\n"])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(BLOCKS, AFTER), min_size=1, max_size=4), st.lists(st.integers(1, 9), min_size=1), st.data())
def test_no_fragmentation_and_no_pause_confuses_code_and_prose(
    blocks: list[tuple[tuple[str, str], str]], sizes: list[int], data: st.DataObject
) -> None:
    code = "hidden = 3.5\n hidden(2)\n"
    text = "".join(f"Some prose.{opening}{code}{closing}{after}" for (opening, closing), after in blocks)
    text += "Last prose."
    now = 0.0
    splitter, spoken = SentenceSplitter(max_seconds=2.0, clock=lambda: now), SpokenText()
    said, at = [], 0
    for size in itertools.cycle(sizes):
        said += splitter.feed(text[at : at + size])
        now += data.draw(st.sampled_from([0.0, 3.0]))
        said += splitter.feed("")
        if (at := at + size) >= len(text):
            break
    heard = " ".join(map(spoken.clean, said + splitter.flush()))
    assert "hidden" not in heard
    assert heard.split().count("prose.") == text.count("prose.")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.sampled_from("aB1 \n*_~`#>|[](){}<>!-+.,:/&😀\u200d\ud800https"), max_size=80))
def test_any_text_is_cleaned_to_something_readable_or_to_nothing(text: str) -> None:
    spoken = SpokenText().clean(text)
    assert spoken == "" or any(map(str.isalnum, spoken))
    assert "\n" not in spoken
    spoken.encode()
