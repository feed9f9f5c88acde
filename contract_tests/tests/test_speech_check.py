from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from contract_tests import good, profile
from contract_tests.checks.speech import Heard, SpeechSaysText, judge
from contract_tests.passage import LONG, SHORT
from contract_tests.recognition import spoken_words, unavailable
from contract_tests.runner import run_checks
from contract_tests.verdict import Finding, Status
from emulator.launch import launched

WORDS = spoken_words(" ".join(LONG))


def judged(long: Sequence[str], short: Sequence[str] | None = None) -> Finding:
    return judge(Heard(LONG, long), Heard(SHORT, spoken_words(" ".join(SHORT)) if short is None else short))


def test_the_two_texts_share_the_beginning_and_the_length_of_a_sentence() -> None:
    alike = [(one, other) for one in LONG for other in SHORT if (one[:14], len(one)) == (other[:14], len(other))]
    assert len(alike) == 1
    assert len({*spoken_words(" ".join(LONG))} & {*spoken_words(" ".join(SHORT))}) < 6


@pytest.mark.parametrize("wrong", [[], [3], [3, 20], [0, 5, 10, 15, 20]])
def test_a_few_words_that_the_recogniser_mistakes_are_no_fault(wrong: list[int]) -> None:
    finding = judged(["mumble" if number in wrong else word for number, word in enumerate(WORDS)])
    assert finding.status is Status.PASS
    assert finding.observed.startswith(f"{67 - len(wrong)} of 67 words")


def test_a_lost_sentence() -> None:
    finding = judged(spoken_words(" ".join(LONG[:2] + LONG[3:])))
    assert finding.status is Status.FAIL
    assert "'every evening she waters the roses behind the kitchen'" in finding.observed
    assert finding.causes[0].startswith("A piece of the text is lost")


def test_words_of_the_other_text() -> None:
    finding = judged(WORDS, spoken_words(" ".join((LONG[2], SHORT[1]))))
    assert finding.status is Status.FAIL
    assert (
        "says 'every evening she waters the roses behind the kitchen', which belongs to the other" in finding.observed
    )
    assert finding.causes[0].startswith("A cache takes two texts for the same")


def test_answers_that_were_swapped_belong_to_the_other_text() -> None:
    finding = judged(spoken_words(" ".join(SHORT)), WORDS)
    assert "which belongs to the other text" in finding.observed


@pytest.mark.parametrize(("place", "what"), [(slice(1, None), "first"), (slice(0, -1), "last")])
def test_the_same_end_of_each_sentence_missing(place: slice, what: str) -> None:
    long, short = ([word for each in text for word in spoken_words(each)[place]] for text in (LONG, SHORT))
    finding = judged(long, short)
    assert finding.status is Status.FAIL
    assert f"the {what} words of " in finding.observed
    assert finding.causes[0].startswith(f"The {what} sound of each piece is cut")


def test_what_is_not_understood_at_all_is_a_warning_without_a_cause() -> None:
    finding = judged(["la"] * 40, ["la"] * 20)
    assert (finding.status, finding.causes) == (Status.WARN, ())


def test_many_wrong_words() -> None:
    finding = judged(["mumble" if number % 2 else word for number, word in enumerate(WORDS)], None)
    assert finding.status is Status.FAIL
    assert "words are wrong" in finding.observed


def test_it_applies_to_speech_in_a_language_that_the_recogniser_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    kokoro = profile.load("kokoro")
    assert kokoro.audio is not None
    check = SpeechSaysText()
    assert check.applies(kokoro) == unavailable()
    assert "[audio] language" in str(check.applies(replace(kokoro, audio=replace(kokoro.audio, language=None))))
    assert "knows en, not 'fr'" in str(check.applies(replace(kokoro, audio=replace(kokoro.audio, language="fr"))))
    assert "no table [audio]" in str(check.applies(replace(kokoro, audio=None)))
    assert "are audio" in str(check.applies(replace(profile.load("deepgram-stt"), audio=kokoro.audio)))
    monkeypatch.setattr("contract_tests.recognition.whisper.find_spec", lambda _: None)
    assert "uv sync --extra recogniser" in str(check.applies(kokoro))


def test_a_profile_names_a_language_by_two_letters(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    request = '[request]\nformat = "plain"\ntemplate = "{text}"\n'
    text = f'{request}[reply]\nend = {{ first = "reply" }}\n[audio]\nsample_rate = 8000\n'
    file.write_text(text + 'language = "English"\n')
    with pytest.raises(profile.ProfileError, match=r"language.* is 'English', expected two small letters"):
        profile.load(str(file))
    file.write_text(text + 'language = "en"\n')
    audio = profile.load(str(file)).audio
    assert audio is not None
    assert audio.language == "en"


@pytest.mark.skipif(unavailable() is not None, reason=str(unavailable()))
@pytest.mark.parametrize(
    ("name", "status", "observed"), [("spoken", "PASS", "67 of 67"), ("starlette", "N/A", "no voice")]
)
def test_a_good_container_is_heard_or_not_judged(name: str, status: str, observed: str) -> None:
    container = next(each for each in good.CONTAINERS if each.name == name)
    with launched(container.target, 60.0, Path.cwd()) as url:
        [verdict] = run_checks(url, profile.load(container.profile), [SpeechSaysText()])
    assert verdict.status == status
    assert observed in verdict.behaviour.observed
