"""What is derived from results: drift, cost, the capacity plan, pictures. The results are written by hand here."""

import io
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from container.kokoro.bench import __main__ as bench
from container.kokoro.bench import saved, scalability
from container.kokoro.bench.load import Rung
from container.kokoro.bench.progress import Progress
from container.kokoro.bench.report import Table
from container.kokoro.bench.result import Result
from emulator.bench.chart import Chart


def rung(sessions: int, rate: float, first_s: float, *, in_system_s: float | None = None) -> Rung:
    """Return 100 answers at `rate` a second; by default as Little's law has it."""
    total = sessions / rate if in_system_s is None else in_system_s
    return Rung(sessions, 100 / rate, (first_s,) * 100, (total,) * 100, audio_s=600.0, characters=9_000)


# the shape of the sample's own ladder: 17.9 requests/s however many sessions, waiting grows instead
LADDER = [rung(1, 16.1, 0.060), rung(10, 17.9, 0.555), rung(50, 17.9, 2.794), rung(60, 17.9, 3.354)]


def write(path: Path, rungs: list[Rung], **conditions: Any) -> Path:
    table = scalability.table("A load", rungs)
    raw = {"rungs": [one.data() for one in rungs]}
    fixed = {"fingerprint": "abc", "processor": "a processor", "time": str(path), **conditions}
    saved.write(path, "scalability", fixed, Result(table, raw, scalability.chart(rungs)))
    return path


def run(tmp_path: Path, *arguments: str | Path, code: int = 0) -> dict[str, Any]:
    file = tmp_path / "derived.json"
    assert bench.main([*map(str, arguments), "--json", str(file)]) == code
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def test_a_plan_obeys_littles_law(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ladder = write(tmp_path / "ladder.json", LADDER)
    found = run(tmp_path, "plan", ladder, "--peak", "5000", "--limit", "3", "--headroom", "0")
    assert found["raw"]["instances"] == 280
    assert found["raw"]["in_system"] / found["raw"]["instances"] <= found["raw"]["sessions_per_instance"]
    printed = capsys.readouterr().out
    assert "would say" in printed
    small = run(tmp_path, "plan", ladder, "--peak", "5000", "--limit", "3", "--headroom", "0.5")
    assert small["raw"]["instances"] == 559
    grown = ("--growth", "600", "--scale-out", "300")
    assert (
        run(tmp_path, "plan", ladder, "--peak", "10", "--limit", "3", *grown)["raw"]["growth_during_scale_out"] == 3000
    )


def test_the_limit_chooses_the_rung(tmp_path: Path) -> None:
    ladder = write(tmp_path / "ladder.json", [rung(1, 10.0, 0.1), rung(2, 18.0, 0.4), rung(4, 20.0, 2.0)])
    assert run(tmp_path, "plan", ladder, "--peak", "10", "--limit", "0.5")["raw"]["sessions_per_instance"] == 2
    assert run(tmp_path, "plan", ladder, "--peak", "10", "--limit", "2")["raw"]["sessions_per_instance"] == 4
    failed = run(tmp_path, "plan", ladder, "--peak", "10", "--limit", "0.05", code=1)["failed"]
    assert "no rung keeps the limit" in failed


def test_a_load_that_contradicts_littles_law_makes_no_plan(tmp_path: Path) -> None:
    wrong = write(tmp_path / "wrong.json", [rung(1, 10.0, 0.1), rung(8, 10.0, 0.1, in_system_s=0.1)])
    found = run(tmp_path, "plan", wrong, "--peak", "10", code=1)
    assert found["failed"] == "rungs of 8 sessions contradict Little's law; measure them for longer"


def test_cost(tmp_path: Path) -> None:
    load = write(tmp_path / "load.json", [rung(1, 10.0, 0.1)])  # 60 audio-hours and 3.24 million characters an hour
    row = run(tmp_path, "cost", load, "--price", "1.5")["rows"][0]
    assert row[1:4] == pytest.approx([60.0, 0.025, 1.5 / 3.24])
    assert run(tmp_path, "cost", load, "--instance", "ml.g5.xlarge")["raw"]["price"] > 0
    nameless = json.loads(load.read_text(encoding="utf-8")) | {"conditions": {}}
    load.write_text(json.dumps(nameless), encoding="utf-8")
    assert run(tmp_path, "cost", load, "--price", "1.5")["rows"][0][1] == pytest.approx(60.0)
    assert bench.main(["cost", str(load), "--instance", "ml.none"]) == 1


def test_drift(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = write(tmp_path / "before.json", [rung(1, 10.0, 0.1), rung(2, 12.0, 0.2)])
    same = write(tmp_path / "same.json", [rung(1, 10.5, 0.1), rung(2, 12.0, 0.21)])
    slower = write(tmp_path / "slower.json", [rung(1, 10.0, 0.1), rung(2, 12.0, 0.3)])
    elsewhere = write(tmp_path / "elsewhere.json", [rung(1, 10.0, 0.1), rung(2, 12.0, 0.2)], processor="another")
    assert run(tmp_path, "drift", before, same)["failed"] is None
    assert run(tmp_path, "drift", before, slower, code=1)["failed"] == "a figure differs by 50%, more than 15%"
    assert "conditions differ" in run(tmp_path, "drift", before, elsewhere, code=1)["failed"]
    assert "processor was 'a processor', is 'another'" in capsys.readouterr().out
    assert run(tmp_path, "drift", before, elsewhere, "--any-conditions")["failed"] is None
    fewer = write(tmp_path / "fewer.json", [rung(1, 10.0, 0.1)])
    assert bench.main(["drift", str(before), str(fewer)]) == 1
    assert "has no row '2'" in capsys.readouterr().err


@pytest.mark.parametrize(("after", "failed"), [(0.0, None), (0.3, "a figure that was 0 is something else")])
def test_a_figure_that_was_nothing_drifts(tmp_path: Path, after: float, failed: str | None) -> None:
    for name, figure in (("before", 0.0), ("after", after)):
        table = Table("Gaps", ("texts", "dry ms"), [("short", figure)])
        saved.write(tmp_path / f"{name}.json", "latency", {"fingerprint": "abc"}, Result(table))
    drift = ("drift", tmp_path / "before.json", tmp_path / "after.json", "--tolerance", "1000")
    found = run(tmp_path, *drift, code=1 if failed else 0)
    assert found["failed"] == failed
    assert found["rows"] == [["short", "dry ms", 0.0, after, "was 0 !" if failed else "+0.0%"]]
    assert "Infinity" not in (tmp_path / "derived.json").read_text(encoding="utf-8"), "that is no JSON"


def test_results_with_other_columns_do_not_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        saved.write(tmp_path / f"{name}.json", "latency", {}, Result(Table("Gaps", ("texts", name), [("short", 1.0)])))
    assert bench.main(["drift", str(tmp_path / "one.json"), str(tmp_path / "two.json")]) == 1
    assert "have other columns; measure both with one version" in capsys.readouterr().err


def test_what_is_derived_of_what_is_derived(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ladder = write(tmp_path / "ladder.json", LADDER)
    run(tmp_path, "plan", ladder, "--peak", "10", "--limit", "3")
    plan = (tmp_path / "derived.json").rename(tmp_path / "plan.json")
    no_load = f"error: {plan} is a result of 'plan', which has no load; expected one of throughput, scalability"
    for command, said in (
        (["cost", plan, "--price", "1"], no_load),
        (["plan", plan, "--peak", "1"], no_load),
        (["plot", plan, tmp_path / "plan.svg"], f"error: {plan} has nothing to draw"),
        (["panel", plan], f"error: {plan} holds no audio of quality --wav"),
        (["drift", plan, ladder], f"error: {ladder} is a result of 'scalability', {plan} one of 'plan'"),
    ):
        assert bench.main([*map(str, command)]) == 1
        assert said in capsys.readouterr().err
    # a plan can drift from another one
    assert run(tmp_path, "drift", plan, plan)["failed"] is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        ("no JSON", "is no result of this benchmark"),
        ("[]", "it is a list, expected an object"),
        ('{"rows": []}', "it has no format, expected 1"),
        ('{"format": 9}', "it has format 9, expected 1"),
        ('{"format": 1, "rows": []}', "it has no command, conditions, columns, raw, chart"),
    ],
)
def test_files_that_are_no_results(
    tmp_path: Path, content: str | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    assert bench.main(["cost", str(file), "--price", "1"]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"raw": {"rungs": [5]}}, "has a load that cannot be read"),
        ({"raw": {"rungs": [{}]}}, "no rung of a load: KeyError('sessions')"),
        ({"raw": {"rungs": [{**LADDER[0].data(), "total_s": []}]}}, "a rung without answers"),
        ({"raw": {"rungs": [{**LADDER[0].data(), "audio_s": 0}]}}, "a rung without sessions, seconds, audio or"),
        ({"raw": {"rungs": [{**LADDER[0].data(), "server": "a peer"}]}}, "has no load"),
        ({"rows": [[1]]}, "its rows are not as long as its columns"),
        ({"conditions": 5}, "is no result of this benchmark"),
        ({"chart": {"series": 5}}, "no chart"),
    ],
)
def test_a_result_that_somebody_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: dict[str, Any], said: str
) -> None:
    file = write(tmp_path / "load.json", LADDER)
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | changed), encoding="utf-8")
    assert bench.main(["cost", str(file), "--price", "1"]) == 1
    told = capsys.readouterr().err
    assert said in told
    assert str(file) in told


def test_a_result_is_drawn(tmp_path: Path) -> None:
    load = write(tmp_path / "load.json", LADDER)
    picture = tmp_path / "load.svg"
    assert bench.main(["plot", str(load), str(picture)]) == 0
    root = ElementTree.fromstring(picture.read_text(encoding="utf-8"))  # noqa: S314  # our own
    kinds = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert kinds.count("polyline") == 2
    assert kinds.count("circle") == 2 * len(LADDER)
    assert {"sessions", "p50", "p95"} <= {element.text for element in root.iter()}


def test_a_panel_is_blind_and_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for voice in ("af_heart", "am_adam"):
        for number in range(5):
            (tmp_path / f"{voice}-harvard-{number}.wav").write_bytes(b"RIFF")
    assert bench.main(["panel", str(tmp_path)]) == 0
    page = (tmp_path / "panel.html").read_text(encoding="utf-8")
    order = re.findall(r'src="(\w+)-harvard-\d\.wav"', page)
    assert sorted(order) == ["af_heart"] * 5 + ["am_adam"] * 5
    assert order != sorted(order)
    scores = tmp_path / "scores.json"
    scores.write_text(json.dumps({str(n): 5 if voice == "af_heart" else 2 for n, voice in enumerate(order)}))
    rows = run(tmp_path, "panel", tmp_path, "--scores", scores)["rows"]
    assert rows == [["af_heart", 5, 5.0, "± 0.00"], ["am_adam", 5, 2.0, "± 0.00"]]
    scores.write_text('{"0": 9}')
    assert bench.main(["panel", str(tmp_path), "--scores", str(scores)]) == 1
    assert "is no score" in capsys.readouterr().err
    assert bench.main(["panel", str(tmp_path / "none")]) == 1


def test_bars_are_as_high_as_their_values() -> None:
    chart = Chart("Title <&>", "", "ms", {"one": [(0.0, 10.0), (1.0, 40.0)]}, ("a", "b"))
    root = ElementTree.fromstring(chart.svg())  # noqa: S314  # our own
    heights = [float(one.get("height", 0)) for one in root.iter() if one.tag.endswith("rect")]
    assert heights[2] / heights[1] == pytest.approx(4, rel=0.01)
    assert Chart.read(chart.data()) == chart


def test_progress_is_shown_on_a_terminal_only() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        progress = Progress(stream)
        progress.begin(4)
        progress.step("one")
        progress.step("two")
        progress.end()
        assert ("1/4" in stream.getvalue()) is shown
