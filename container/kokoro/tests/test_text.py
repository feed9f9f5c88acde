# ruff: noqa: RUF001  # phonetic and CJK symbols are what is tested
import re
import time

import pytest

from container.kokoro.markup import plain
from container.kokoro.normalise import normalise, unreadable
from container.kokoro.plan import Plan
from container.kokoro.spelling import pronounceable, spell
from container.kokoro.splitting import MAX_CHARS, halves, joint_s, parts, sentences
from container.kokoro.vocabulary import is_speech, keep_known, symbols, tokens
from container.kokoro.written import addresses, written_out


def pieces(text: str) -> list[str]:
    """Cut a text as it is spoken where nothing is known of the engine's pace."""
    return [piece.text for piece in iter(Plan(text).next, None)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello there. How are you?", ["Hello there. ", "How are you?"]),
        ("It is $3.50 now. Really!", ["It is $3.50 now. ", "Really!"]),
        ("Dr. Smith met J. R. R. Tolkien at 5 a.m. sharp.", ["Dr. Smith met J. R. R. Tolkien at 5 a.m. sharp."]),
        ('He said "Stop." Then left.', ['He said "Stop." ', "Then left."]),
        ("Wait... what?! No.", ["Wait... ", "what?! ", "No."]),
        ("你好。再见！行", ["你好。", "再见！", "行"]),
        ("one\ntwo", ["one\n", "two"]),
        ("नमस्ते। आप कैसे हैं", ["नमस्ते। ", "आप कैसे हैं"]),
        ("no stop", ["no stop"]),
        ("", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "word " * 400,
        "x" * 2_000,
        "A clause, another clause; a third: and so on, " * 40,
        "逗号，分开，" * 200,
        "Short. " + "long " * 100 + ". End.",
        " \n " * 300,
        ". " * 500,
        "Mr. " * 5_000,
    ],
)
def test_pieces_lose_nothing_and_stay_short(text: str) -> None:
    parts = pieces(text)
    assert "".join(parts) == text
    assert all(0 < len(part) <= MAX_CHARS for part in parts)


@pytest.mark.parametrize("text", ["." * 20_000 + "x", ".)" * 10_000, "," + ")" * 19_999, "Mr. " * 5_000, "—" * 20_000])
def test_the_longest_texts_are_cut_before_anyone_waits(text: str) -> None:
    begun = time.process_time()
    pieces(text)
    assert time.process_time() - begun < 0.25  # it happens on the event loop


def test_long_sentences_are_cut_at_clauses_then_at_words() -> None:
    clause = "this is one clause of a very long sentence that does not end, "
    assert all(part.endswith(", ") for part in pieces(clause * 10))
    assert all(part.endswith(" ") for part in pieces("word " * 200))


@pytest.mark.parametrize(
    ("text", "expected"), [("ab cd", ("ab ", "cd")), ("abcd", ("ab", "cd")), ("a bcdefgh", ("a ", "bcdefgh"))]
)
def test_halves(text: str, expected: tuple[str, str]) -> None:
    assert halves(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on 2026-11-29.", "on November 29, 2026."),
        ("$1.5M and £3bn", "1.5 million dollars and 3 billion pounds"),
        ("1234567890123456", "1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6"),
        ("Zürich café Æsir", "Zurich cafe Aesir"),
        ("20 °C", "20 degrees Celsius"),
        ("好！", "好! "),
        ("half \ud800 pair", "half \ufffd pair"),
        ("plain", "plain"),
    ],
)
def test_normalise(text: str, expected: str) -> None:
    assert normalise(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10-20 people", "10 to 20 people"),
        ("1990–1999", "1990 to 1999"),
        ("call 555-1234.", "call 5 5 5, 1 2 3 4."),
        ("+1 (555) 010-9999", "plus 1, 5 5 5, 0 1 0, 9 9 9 9"),
        ("see https://example.com/a-b?c=1.", "see example dot com slash a dash b."),
        ("www.example.org is up", "www dot example dot org is up"),
        ("mail bob.lee@example.com", "mail bob dot lee at example dot com"),
        ("on 12/25/2024", "on December 25, 2024"),
        ("on 25/12/2024", "on December 25, 2024"),
        ("1/2 cup, 3/4 cup, 24/7, 9/11", "1 half cup, 3 quarters cup, 24/7, 9/11"),
        ("5kg at 10 km/h", "5 kilograms at 10 kilometers per hour"),
        ("1 ft and 3 ft", "1 foot and 3 feet"),
        ("Saat 10 m\u0131? 5 lb\u017f, 10 M\u0130N", "Saat 10 m\u0131? 5 lb\u017f, 10 M\u0130N"),
        ("1.5M users and 2B more", "1.5 million users and 2 billion more"),
        ("v2.0.1 now", "v2.0.1 now"),
        ("2.0.1 now", "2 point 0 point 1 now"),
        ("5'10\" tall", "5 foot 10 tall"),
        ("C# and C++", "C sharp and C++"),
        ("2 + 2 = 4 and 5 > 3", "2 + 2 equals 4 and 5 is greater than 3"),
        ("Jan. 5", "January 5"),
        ("on Main St. today", "on Main Street today"),
        ("in St. Louis", "in Saint Louis"),
        ("In St. Louis, at St. Mary's", "In Saint Louis, at Saint Mary's"),
        ("on St. John St., near Mount St. Helens", "on Saint John Street, near Mount Saint Helens"),
        ("He lives on 5th St. He is old.", "He lives on 5th Street. He is old."),
        ("She lives on Main St.", "She lives on Main Street."),
        ("12 Main St. Springfield", "12 Main Street Springfield"),
        ("Bring apples, etc.", "Bring apples, et cetera."),
        ("Bring pens, etc. Then wait on Park Ave.", "Bring pens, et cetera. Then wait on Park Avenue."),
        ("pens, etc. are there", "pens, et cetera are there"),
        ("at 9:00, 12:00 or 18:00", "at 9 o'clock, 12 o'clock or 18 hundred"),
        ("at 10:00 PM, 9:00 a.m. or 0:00", "at 10 PM, 9 a.m. or midnight"),
        ("5:05, 5:05 p.m., 10:30, 1:07:30, 25:00", "5 oh 5, 5 oh 5 p.m., 10:30, 1:07:30, 25:00"),
        ("from 9:00-17:00", "from 9 o'clock to 17 hundred"),
        ("10am, 7 pm and I am 10", "10 AM, 7 PM and I am 10"),
        ("a 5G phone for 24h, 5g of salt", "a 5G phone for 24 hours, 5 grams of salt"),
        ("10 MB/s, 10 Mb/s and 1 Gbps", "10 megabytes per second, 10 megabits per second and 1 gigabits per second"),
        ("~5 of them on AWS. Good, AWS!", "about 5 of them on A.W.S . Good, A.W.S!"),
        ("Chapter IV, World War II, Part I.", "Chapter 4, World War 2, Part 1."),
        ("the Part I like, Chapter IIII", "the Part I like, Chapter IIII"),
        ("Henry VIII's, Louis XIV, Elizabeth I", "Henry the eighth's, Louis the fourteenth, Elizabeth the first"),
        (
            "It is -12.5 or −30, from -5 to -10, (-3)",
            "It is minus 12.5 or minus 30, from minus 5 to minus 10, (minus 3)",
        ),
        ("+12.5, A-1, x-5, --5, C++11", "plus 12.5, A-1, x-5, --5, C++11"),
        ("1,000-2,000 people, 10,000–20,000", "1,000 to 2,000 people, 10,000 to 20,000"),
        ("5 - 3 = 2", "5 minus 3 equals 2"),
        ("1-800-555-1234, +14155552671", "1, 8 0 0, 5 5 5, 1 2 3 4, plus 1 4 1 5 5 5 5 2 6 7 1"),
        ("90210-1234", "9 0 2 1 0, 1 2 3 4"),
        ("5%-10%, 30°C-35°C", "5% to 10%, 30°C to 35°C"),
        ("1 1/2 cups, 2 3/4", "1 and 1 half cups, 2 and 3 quarters"),
        (
            "5 * 3, 6 / 2 = 3, 10 m², 200km²",
            "5 times 3, 6 divided by 2 equals 3, 10 square meters, 200 square kilometers",
        ),
        ("Dec 25, 1990 and Mar 5", "December 25, 1990 and March 5"),
        ("George I know, James XX", "George I know, James the twentieth"),
        ("St. Paul vs. Ohio, e.g.", "Saint Paul versus Ohio, for example"),
        ("It is 3.14 or 1,000,000.", "It is 3.14 or 1,000,000."),
        ("COVID-19, A-1, 5-year, in 3 in", "COVID-19, A-1, 5-year, in 3 in"),
    ],
)
def test_written_out(text: str, expected: str) -> None:
    assert written_out(text) == expected


@pytest.mark.parametrize(
    "text", ["1" * 240, "1." * 120, "a@" * 120, "https://" * 30, "1/" * 120, "(555)" * 48, "www." * 60]
)
def test_writing_out_takes_no_time(text: str) -> None:
    begun = time.process_time()
    written_out(text)
    assert time.process_time() - begun < 0.1


def test_sums_in_other_currencies_keep_them() -> None:
    assert normalise("¥500 or ₹1,200.50, 50¢") == "500 yen or 1,200.50 rupees, 50 cents"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$3.5, $12.5. £2.5!", "$3.50, $12.50. £2.50!"),
        ("$3.5 million, $2.5bn, $3.50, $3.525", "$3.5 million, 2.5 billion dollars, $3.50, $3.525"),
        ("20€ and 15 € a month", "€20 and €15 a month"),
        ("$5-$10, $1,000-$2,000", "$5 to $10, $1,000 to $2,000"),
        ("US$50, -$50, -$1,250.50", "$50, minus $50, minus $1,250.50"),
    ],
)
def test_sums_of_money_are_whole(text: str, expected: str) -> None:
    assert normalise(text) == expected


def test_fractions_behind_a_number_are_added() -> None:
    assert " ".join(normalise("1½ cups, ⅓ and ⅔").split()) == "1 and one half cups, one third and two thirds"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The meeting is on Jan. 5, 2026. Come.", 2),
        ("See p. 5 of vol. 2. It is long.", 2),
        ("Ask Gov. Brown on Mt. Hood. He knows.", 2),
        ("It is 5 ft. tall. It came 10 min. later.", 2),
        ("It rained in Jan. We left.", 2),
    ],
)
def test_a_stop_of_an_abbreviation_ends_no_sentence(text: str, count: int) -> None:
    assert len(sentences(text)) == count


def test_numbers_weigh_what_it_takes_to_say_them() -> None:
    pieces = parts("+14155552671 " * 18)
    assert len(pieces) >= 3
    assert "".join(pieces) == "+14155552671 " * 18


def test_foreign_letters_are_spelled_by_their_names() -> None:
    assert normalise("да").split() == ["de", "a"]
    assert normalise("こん") == "kon"
    assert unreadable(normalise("да こん 你好")) == "你好"


@pytest.mark.parametrize(
    ("word", "american", "british"),
    [
        ("shemp", "ʃˈɛmp", "ʃˈɛmp"),
        ("blorfing", "blˈɔɹfɪŋ", "blˈɔːfɪŋ"),
        ("strake", "stɹˈAk", "stɹˈAk"),
        ("quade", "kwˈAd", "kwˈAd"),
        ("noppy", "nˈɑpi", "nˈɒpiː"),
        ("grotion", "ɡɹˈOʃən", "ɡɹˈQʃən"),
    ],
)
def test_spelling(word: str, american: str, british: str) -> None:
    assert spell(word, british=False) == american
    assert spell(word, british=True) == british


def test_every_word_gets_known_symbols() -> None:
    for word in ("aeiou", "zzz", "e", "qi", "yyy", "xylem", "eee", "tsktsk", "aqf"):
        sounds = spell(word, british=False)
        assert sounds
        assert keep_known(sounds) == sounds


def test_pronounceable() -> None:
    assert pronounceable("kubectl")
    assert not pronounceable("xlrq")
    assert not pronounceable("angstschrft")


def test_vocabulary() -> None:
    assert tokens("a.") == [0, 43, 4, 0]
    assert len(symbols()) == 114
    assert keep_known("a❓b") == "ab"
    assert is_speech("a")
    assert not is_speech("ˈ… .")
    assert not re.search(r"\d", "".join(symbols()))


@pytest.mark.parametrize("text", ["9" * 400, "a" * 5000, "x " + "y" * 100 + "."])
def test_a_word_without_an_end_is_cut_into_pieces_that_take_short_turns(text: str) -> None:
    cut = pieces(text)
    assert "".join(cut) == text
    assert max(map(len, cut)) <= 240
    assert all(len(piece) <= 40 or " " in piece for piece in cut)


def test_cjk_is_cut_at_sentences_clauses_and_signs_into_what_the_model_can_take() -> None:
    clauses = "今天天气很好，我们去公园散步吧，" * 20
    parts = pieces(clauses)
    assert "".join(parts) == clauses
    assert all(part.endswith("，") and len(part) <= 70 for part in parts)
    unbroken = "好" * 500
    assert "".join(pieces(unbroken)) == unbroken
    assert all(len(part) <= 60 for part in pieces(unbroken))


@pytest.mark.parametrize(
    ("piece", "silence"),
    [
        ("One, ", 0.18),
        ("one two ", 0.03),
        ("End. ", None),
        ('"End!" ', None),
        ("line\n", None),
        ("好，", 0.18),
        ("好。", None),
    ],
)
def test_the_silence_at_a_cut(piece: str, silence: float | None) -> None:
    assert joint_s(piece) == silence


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**Bold** and *light* and __more__.", "Bold and light and more."),
        ("# Heading\nText", "Heading.\nText"),
        ("## Heading ##\n# About C#", "Heading.\nAbout C#."),
        ("_very_ snake_case and __both _kinds_ here__", "very snake_case and both kinds here"),
        ("| a | b |\n|:--|--:|\n| c | d |", "| a | b |\n\n| c | d |"),
        ("* * *\nafter a rule", "\nafter a rule"),
        ("It was in\n99. Then", "It was in\n99. Then"),
        ("1. one\nand more\n2. two\n7) seven", "one\nand more\ntwo\nseven"),
        ("- one\n- two\n3. three", "one\ntwo\nthree"),
        ("Use `kubectl` now", "Use kubectl now"),
        ("[our site](https://example.com/a_b)", "our site"),
        ("![logo](x.png)", "logo"),
        ("> quoted", "quoted"),
        ("```python\nprint(1)\n```", "\nprint(1)\n"),
        ("<b>fat</b> &amp; thin", "fat & thin"),
        ("fine\U0001f600thanks\u2764\ufe0f", "fine thanks "),
        ("2 * 3 * 4 and a_b_c", "2 * 3 * 4 and a_b_c"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("plain text, no signs", "plain text, no signs"),
        ("If x<y and the limit holds, then z>w.", "If x<y and the limit holds, then z>w."),
        ("Keep it if a<b but drop it when b>c.", "Keep it if a<b but drop it when b>c."),
        ("List<String> is no tag", "List<String> is no tag"),
        ("<speak><say-as interpret-as='date'>today</say-as></speak>", "today"),
        ('<thinking>first</thinking> then <own kind="x">this</own> <end/>', "first then this"),
        ('<a href="x.html" hidden>a page</a><img src=x.png alt="a b">', "a page"),
        ("<p class='x'>one</p><!-- no word --><LI>two", "\none\n \ntwo"),
        ("[docs](https://a.b/c_(d)) end", "docs end"),
        ("Hola\x00 mundo\x1b grande", "Hola mundo grande"),
    ],
)
def test_markup_goes_and_words_stay(text: str, expected: str) -> None:
    words = re.sub(r"[^\S\n]+", " ", plain(text))
    assert words.strip(" ") == expected.strip(" ")


@pytest.mark.parametrize(
    "text",
    [
        "*" * 20_000, "<a " * 6_000, "[" * 20_000, "`" * 20_000, "_a" * 10_000, " __a" * 5_000, "- " * 10_000,
        "\n" + " " * 19_998 + "-", " " * 19_998 + "|x", "# a" + " " * 19_000 + "b", "\n" * 19_999 + "|",
        "-\n" * 9_999 + "x", "\n1. a" * 4_000, "<!--" * 5_000, "|---" * 4_999 + "x", "www.a.b?x" * 2_200,
        "https://a.b/?" * 1_500, "+a" * 10_000, "<a" + " b=c" * 5_000, "<a b='" * 3_000, "<b>" * 6_000, "</" * 10_000,
        "<a" + " " * 19_990 + "b", "[a](" * 5_000, "[a]((" * 4_000, "[a](" + "(b)" * 6_000,
    ],
)  # fmt: skip
def test_markup_and_addresses_without_an_end_cost_no_time(text: str) -> None:
    begun = time.process_time()
    addresses(plain(text))
    assert time.process_time() - begun < 0.25  # it happens on the event loop
