"""The benchmarks of a speech container: the client, what encodings cost, and both commands against a quick one."""

import itertools
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from aws_sdk_sagemaker_runtime_http2.models import ModelStreamError

from container.bench import __main__ as bench
from emulator.bench import agent, transport, tts
from emulator.bench.client import Client
from emulator.bench.codecs import CODECS, RATE
from emulator.bench.figures import figures, headline, markdown
from emulator.bench.speaking import SpeechFailedError, speak
from emulator.bench.texts import CLIPS, SENTENCES

QUICK = "emulator.bench.speech:app"
_AT = np.arange(RATE)
TONE = (9000 * np.sin(_AT / 20 + (_AT / 2000) ** 2) * np.sin(_AT / 4000)).astype("<i2").tobytes()
START, COMPLETE = (json.dumps({"type": f"synthesis_{kind}"}).encode() for kind in ("start", "complete"))


class Scripted(Client):
    """Answers with fixed payloads."""

    def __init__(self, *payloads: bytes | Exception) -> None:
        self.sent: list[dict[str, str]] = []
        self._payloads = iter(payloads)

    async def open(self) -> None: ...

    async def send(self, data: bytes) -> None:
        self.sent.append(json.loads(data))

    async def receive(self) -> bytes:
        payload = next(self._payloads)
        if isinstance(payload, Exception):
            raise payload
        return payload

    async def close(self) -> None: ...


async def test_the_first_audio_and_all_of_it_is_heard() -> None:
    client = Scripted(START, b"{\x00", b"\x01\x02", COMPLETE, START, bytes(48_000), COMPLETE, b"not asked for")
    clock = iter([10.0, 10.25, 13.0]).__next__
    heard = await speak(client, ["One.", "Two."], clock=clock)
    assert (heard.first_s, heard.total_s, heard.pcm) == (0.25, 3.0, b"{\x00\x01\x02" + bytes(48_000))
    assert heard.audio_s == pytest.approx(1, abs=0.001)
    assert [(each["text"], each["request_id"]) for each in client.sent] == [("One.", "0"), ("Two.", "1")]


@pytest.mark.parametrize(
    ("payloads", "error"),
    [
        ([START, b'{"type": "error", "message": "no such voice"}'], "no such voice"),
        ([START, COMPLETE], "without any audio"),
        ([START, TypeError("the stream gave None")], "the stream gave None"),
        ([START, ModelStreamError("it dropped the connection")], "did not speak to the end: it dropped the connection"),
    ],
)
async def test_a_text_that_is_not_spoken_is_an_error(payloads: list[bytes | Exception], error: str) -> None:
    with pytest.raises(SpeechFailedError, match=error):
        await speak(Scripted(*payloads), ["One."])


def test_the_texts_are_what_the_tables_say() -> None:
    assert len(" ".join(SENTENCES)) == 267
    assert len(SENTENCES) == 4
    assert len(set(CLIPS)) == 24


@pytest.mark.parametrize(
    ("sizes", "block", "count"),
    [([4, 4, 4], 4, 0), ([3, 3, 3], 4, 2), ([2] * 8, 4, 0), ([10], 4, 1), ([], 4, 0), ([4, 1, 4], 8, 1)],
)
def test_what_transport_blocks_cut(sizes: list[int], block: int, count: int) -> None:
    assert transport.cut(sizes, block) == count
    # the same by looking at every byte
    owners = [number for number, size in enumerate(sizes) for _ in range(size)]
    seams = {owners[at] for at in range(block, len(owners), block) if owners[at - 1] == owners[at]}
    assert len(seams) == count


def test_each_encoding_is_what_it_says_and_can_be_heard() -> None:
    heard: list[bytes] = []

    def hear(pcm: bytes) -> list[str]:
        heard.append(pcm)
        return ["a", "b", "d"]

    costs = {
        codec.name: transport.cost(
            codec, [TONE, TONE], ["a b c"] * 2, 4096, (hear, lambda said, got: float(said.split() != got))
        )
        for codec in CODECS
    }
    pcm, mp3, aac = costs.values()
    assert pcm.raw_bytes == 2 * len(TONE)
    assert pcm.units_cut == 0  # blocks are of an even size
    assert 4 / 3 < pcm.sse_bytes / pcm.raw_bytes < 1.36
    assert mp3.raw_bytes == pytest.approx(2 * 6000, rel=0.2)
    assert aac.raw_bytes == pytest.approx(2 * 4000, rel=0.3)
    for each in costs.values():
        assert each.events_cut > 0
        assert each.wer == [1.0, 1.0]
        assert min(each.encode_ms) >= 0
    assert len(heard) == 6
    for got in heard:
        assert likeness(got, TONE) > 0.98


def likeness(heard: bytes, wanted: bytes) -> float:
    """Correlate the middle of both, at the best of the delays that a codec may have."""
    one = np.frombuffer(wanted, "<i2")[6000:12_000].astype(float)
    other = np.frombuffer(heard, "<i2")[6000:15_000].astype(float)
    products = np.correlate(other, one, "valid")
    powers = np.convolve(other**2, np.ones(len(one)), "valid") * (one**2).sum()
    return float((products / np.sqrt(powers + 1)).max())


def test_without_a_recogniser_words_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "contract_tests.recognition", None)
    assert transport._recogniser() is None  # noqa: SLF001  # the command says so, see below
    module = SimpleNamespace(
        unavailable=lambda: "not installed",
        words_heard=lambda samples, rate: [f"{samples.dtype} {len(samples)} {rate}"],
        word_error_rate=lambda said, got: len(said) + len(got),
    )
    monkeypatch.setitem(sys.modules, "contract_tests.recognition", module)
    assert transport._recogniser() is None  # noqa: SLF001
    module.unavailable = lambda: None
    found = transport._recogniser()  # noqa: SLF001
    assert found is not None
    assert (found[0](bytes(4)), found[1]("a", ["b"])) == (["int16 2 24000"], 2)


def test_figures() -> None:
    assert figures([3.0, 1.0, 2.0]) == {"n": 3, "mean": 2, "p50": 2, "p95": pytest.approx(2.9), "min": 1, "max": 3}
    assert figures([5.0])["p95"] == 5
    calm = {"cores": 2, "machine": "m", "python": "3", "load_average": 0.4}
    assert "LOADED" not in headline(calm)
    assert "LOADED: load average 1.5" in headline(calm | {"load_average": 1.5})
    assert markdown(("a", "b"), [["x", None], ["y", 1234.5]]).splitlines()[2:] == [
        "| x | not measured |",
        "| y | 1234 |",
    ]


def test_tts_is_measured_through_the_emulator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, drawn = tmp_path / "tts.json", tmp_path / "tts.svg"
    assert tts.main(["--target", QUICK, "--runs", "1", "--json", str(out), "--plot", str(drawn)]) == 0
    printed = capsys.readouterr().out
    assert "267 characters in 4 sentences" in printed
    assert f"| {QUICK}, batch | 1 |" in printed
    assert "ml.g5.xlarge, first sentence |  |  | 157 |" in printed
    written = json.loads(out.read_text())
    batch, first = written["raw"]["rows"]
    assert first["first_ms"]["p50"] < batch["first_ms"]["p50"]
    assert first["times_earlier"] > 1
    assert len(written["raw"]["runs"]) == 2
    assert drawn.read_text().count("<rect") == 1 + 4 + 2  # bars, and the legend
    assert bench.main(["plot", str(out), str(tmp_path / "again.svg")]) == 0
    assert (tmp_path / "again.svg").read_text() == drawn.read_text()
    assert bench.main(["drift", str(out), str(out)]) == 0


def test_transports_are_measured_through_the_emulator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, drawn = tmp_path / "t.json", tmp_path / "t.svg"
    arguments = ["--target", QUICK, "--clips", "2", "--no-words", "--json", str(out), "--plot", str(drawn)]
    assert transport.main(arguments) == 0
    printed = capsys.readouterr().out
    assert "| not measured |" in printed
    assert "| published: PCM16 | 2396400 | 3195200 | 33.3 |" in printed
    rows = json.loads(out.read_text())["raw"]["rows"]
    assert [row["encoding"] for row in rows] == [codec.name for codec in CODECS]
    sizes = [row["raw_bytes"] for row in rows]
    assert all(more > 3 * less for more, less in itertools.pairwise(sizes[:2]))
    assert drawn.read_text().count("<rect") == 1 + 6 + 2
    assert bench.main(["drift", str(out), str(out)]) == 0


@pytest.mark.parametrize("command", [tts.main, transport.main])
def test_a_container_that_does_not_come_up_is_one_clear_error(
    command: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(command)
    assert command(["--target", "no_such_module:app"]) == 2
    assert "no_such_module" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "option"), [(tts.main, "--runs"), (agent.main, "--runs"), (transport.main, "--clips")]
)
def test_nothing_to_measure_is_refused(command: object, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert callable(command)
    for value in ("0", "-1", "x"):
        with pytest.raises(SystemExit, match="2"):
            command([option, value])
        assert f"argument {option}: {value!r}: expected a whole number " in capsys.readouterr().err


@pytest.mark.parametrize("command", [tts.main, agent.main, transport.main])
@pytest.mark.parametrize("option", ["--json", "--plot"])
def test_a_result_that_could_not_be_written_is_told_before_anything_is_measured(
    command: Callable[[Sequence[str]], int], option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        command([option, str(tmp_path / "nowhere" / "result")])
    said = capsys.readouterr()
    assert f"argument {option}: {tmp_path}/nowhere/result: the directory {tmp_path}/nowhere does not exist" in said.err
    assert "starting" not in said.err
