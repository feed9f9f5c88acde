"""``emulator demo``: agent, model and speech container as processes, a WAV file and a timeline as result."""

import wave
from pathlib import Path

import pytest

from emulator.bench.codecs import CODECS
from emulator.cli import main
from emulator.demo import Answer, DemoError
from emulator.tests.scripted_agent import PCM

QUICK = ("--target", "emulator.bench.speech:app", "--agent", "emulator.tests.scripted_agent:app")


def script(tmp_path: Path) -> str:
    path = tmp_path / "script.toml"
    path.write_text("[[turn]]\ntext = 'One. Two.'\nfirst_token = 0.1\ntokens_per_second = 10\n")
    return str(path)


def test_a_question_becomes_a_file_and_a_timeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "answer.wav"
    arguments = ["demo", "Why?", "--mode", "both", "--output", str(output), "--state-dir", str(tmp_path)]
    assert main([*arguments, *QUICK, "--bedrock-script", script(tmp_path)]) == 0
    for mode in ("bidi", "batch"):
        with wave.open(str(tmp_path / f"answer-{mode}.wav")) as file:
            assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (24_000, 1, 2)
            assert file.getnframes() == 2 * 2400
    printed = capsys.readouterr().out
    assert "Why? (bidi)" in printed
    bidi, batch = printed.split("Why? (batch)")
    assert bidi.index("audio_chunk") < bidi.index("text_done")
    assert batch.index("audio_chunk") > batch.index("text_done")
    assert "0.2 s of speech: One. Two." in bidi
    assert "First audio after agent_start: bidi" in batch
    assert "only after the end of the text" not in printed


def test_speech_that_is_not_early_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Answer, "is_late", True)
    arguments = ["demo", "Why?", "--output", str(tmp_path / "a.wav"), "--state-dir", str(tmp_path), *QUICK]
    assert main([*arguments, "--bedrock-script", script(tmp_path)]) == 0
    assert "The first audio came only after the end of the text: on this machine" in capsys.readouterr().out


def test_one_sentence_cannot_be_early_which_is_no_fault_of_the_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "script.toml"
    path.write_text("text = 'One.'\nfirst_token = 0.1\ntokens_per_second = 0\n")
    arguments = ["demo", "Why?", "--output", str(tmp_path / "a.wav"), "--state-dir", str(tmp_path), *QUICK]
    assert main([*arguments, "--bedrock-script", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "on this machine" not in printed
    assert "it is one sentence" in printed or "The first audio came only after" not in printed


def test_a_question_need_not_be_quoted_and_steers_no_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "script.toml"
    path.write_text('text = "One.\\u001b[2J Two."\nfirst_token = 0.1\n')
    arguments = ["demo", "Why", "is\x1b[1m", "it?", "--output", str(tmp_path / "a.wav"), "--state-dir", str(tmp_path)]
    assert main([*arguments, *QUICK, "--bedrock-script", str(path)]) == 0
    said = capfd.readouterr()
    assert "Why is\\x1b[1m it? (bidi)" in said.out
    assert "One.\\x1b[2J Two." in said.out
    assert "\x1b" not in said.out
    assert "WARNING" not in said.err


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([""], "the question is blank; expected is a text"),
        (["  ", " "], "the question is blank; expected is a text"),
        (["Why?", "--format", "mp3", "--output", "a.wav"], "a.wav is named as another format than --format mp3"),
        (["Why?", "--output", "a.MP3"], "a.MP3 is named as another format than --format pcm16"),
    ],
)
def test_what_makes_no_sense_is_told_before_anything_starts(
    arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", *arguments]) == 2
    said = capsys.readouterr()
    assert error in said.err
    assert "Starting" not in said.out


@pytest.mark.parametrize(
    ("kinds", "late"),
    [(("audio_chunk", "text_done"), False), (("text_done", "audio_chunk"), True), (("text_done",), False)],
)
def test_an_answer_is_late_whose_first_audio_comes_behind_its_text(kinds: tuple[str, ...], *, late: bool) -> None:
    answer = Answer()
    for at, kind in enumerate(kinds):
        answer.take({"type": kind, "t_ms": float(at), "data": "AAAA"})
    assert answer.is_late is late


def test_an_answer_in_mp3_is_written_as_it_came(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = str(Path.cwd())
    monkeypatch.syspath_prepend(root)
    monkeypatch.setenv("PYTHONPATH", root)
    monkeypatch.chdir(tmp_path)
    arguments = ["demo", "Why?", "--format", "mp3", "--state-dir", str(tmp_path), *QUICK]
    assert main([*arguments, "--bedrock-script", script(tmp_path)]) == 0
    sent = b"".join(piece.data for piece in CODECS[1].encode(PCM * 3))
    assert (tmp_path / "answer.mp3").read_bytes() == sent * 2
    assert "answer.mp3: " in capsys.readouterr().out


def test_an_agent_that_fails_is_one_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["demo", "fail", "--output", str(tmp_path / "a.wav"), "--state-dir", str(tmp_path)]
    assert main([*arguments, *QUICK]) == 2
    assert "the agent answered with an error: as it was asked to" in capsys.readouterr().err
    assert not (tmp_path / "a.wav").exists()


def test_what_was_heard_before_an_error_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "a.wav"
    arguments = ["demo", "fail late", "--output", str(output), "--state-dir", str(tmp_path)]
    assert main([*arguments, *QUICK]) == 2
    said = capsys.readouterr()
    assert "the agent answered with an error: as it was asked to" in said.err
    assert f"{output}: 1.0 s of speech: Well." in said.out
    with wave.open(str(output)) as file:
        assert file.readframes(file.getnframes()) == PCM * 10


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (["--target", "no_such_module:app"], "no_such_module"),
        (["--agent", "no_such_module:app"], "The agent did not come up"),
        (["--bedrock-script", "nothing.toml"], "No such file"),
        (["--target", "x y"], "that is no target"),
    ],
)
def test_what_does_not_come_up_is_one_clear_error(
    more: list[str], error: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--state-dir", str(tmp_path), *QUICK, *more]) == 2
    assert error in capfd.readouterr().err


def test_an_output_that_could_not_be_written_is_told_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["demo", "--output", str(tmp_path / "nowhere" / "a.wav")])
    said = capsys.readouterr()
    assert f"argument --output: {tmp_path}/nowhere/a.wav: the directory {tmp_path}/nowhere does not exist" in said.err
    assert "Starting" not in said.out


def test_another_agent_s_events_without_times_are_told_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["demo", "Why?", "--mode", "both", "--output", str(tmp_path / "a.wav"), "--state-dir", str(tmp_path)]
    more = ("--target", "emulator.bench.speech:app", "--agent", "emulator.tests.plain_agent:app")
    assert main([*arguments, *more]) == 0
    printed = capsys.readouterr().out
    assert "        ? ms  audio_chunk  the first\n        …     audio_chunk  1 more\n" in printed
    assert "0.0 s of speech: Hello." in printed
    assert "First audio after agent_start: bidi unknown (its event has no t_ms), batch unknown" in printed


@pytest.mark.parametrize(
    ("event", "error"),
    [
        (
            {"type": "audio_chunk", "sound": "AAAA"},
            "has no audio, its members are type, sound; expected is base64 in 'data'",
        ),
        ({"type": "audio_chunk", "data": [1]}, "expected is base64"),
        ({"type": "audio_chunk", "data": "A"}, "is no base64"),
        ({"type": "audio_chunk", "data": "QUJD-QUJD"}, "is no base64"),
        ({"type": "agent_start", "sample_rate": "24 kHz"}, "sample_rate '24 kHz', expected is a whole number of Hz"),
    ],
)
def test_an_event_that_cannot_be_played_says_what_is_expected(event: dict[str, object], error: str) -> None:
    with pytest.raises(DemoError, match=error):
        Answer().take(event)


def test_chunks_are_counted_between_other_events() -> None:
    answer = Answer()
    for event in (
        {"type": "agent_start", "t_ms": 0.0, "mode": "bidi", "sample_rate": 16_000},
        {"type": "text", "t_ms": 1.0, "text": "One."},
        {"type": "text", "t_ms": 2.0, "text": " Two."},
        *({"type": "audio_chunk", "t_ms": 3.0 + at, "data": "AAAA"} for at in range(3)),
        {"type": "done", "t_ms": 9.0},
    ):
        answer.take(event)
    assert [" ".join(line.split()) for line in answer.lines] == [
        "0.0 ms agent_start mode='bidi'",
        "1.0 ms text the first of it",
        "3.0 ms audio_chunk the first",
        "… audio_chunk 2 more",
        "9.0 ms done",
    ]
    assert (answer.text, answer.audio, answer.rate, answer.first_audio_ms) == ("One. Two.", bytes(9), 16_000, 3.0)
    with pytest.raises(DemoError, match="KeyError"):
        answer.take({"error": "KeyError", "message": "KeyError"})
