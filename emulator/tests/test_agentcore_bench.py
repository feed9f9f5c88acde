"""The benchmark of the agent, and through it ``emulator up`` with an agent, as processes."""

import argparse
import importlib.util
import json
from pathlib import Path

import pytest

from container.bench import __main__ as bench
from emulator.agentcore.sse import EventReader, SseError
from emulator.bench import agent
from emulator.bench.carried import CarriedError, over_events, over_websocket
from emulator.bench.figures import conditions
from emulator.bench.first_audio import Condition, Run, report, row_of, timed
from emulator.bench.stack import running
from emulator.environment import environment_of

QUICK = "emulator.bench.speech:app"
ARN = "arn:aws:bedrock-agentcore:us-west-2:000000000000:runtime/x-1"

CONDITION = Condition(40, 0.5)
EVENTS = [
    {"type": "agent_start", "t_ms": 0, "text": "é\u2028 \u0085"},
    {"type": "text", "t_ms": 500},
    {"type": "audio_chunk", "t_ms": 700, "data": "AAAA"},
    {"type": "text_done", "t_ms": 900},
    {"type": "audio_chunk", "t_ms": 950, "data": "AAAA"},
    {"type": "done", "t_ms": 960},
]


def frame(event: object) -> bytes:
    return f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def test_events_are_read_wherever_the_blocks_end() -> None:
    whole = b": a comment\n\n" + b"".join(map(frame, EVENTS))
    for at in range(len(whole) + 1):
        reader = EventReader()
        assert reader.feed(whole[:at]) + reader.feed(whole[at:]) == EVENTS
        reader.finish()
    bytewise = EventReader()
    assert [event for byte in whole for event in bytewise.feed(bytes((byte,)))] == EVENTS


def test_a_stream_that_ends_inside_an_event_or_holds_no_json_is_an_error() -> None:
    reader = EventReader()
    reader.feed(frame(EVENTS[0])[:-1])
    with pytest.raises(SseError, match="ended inside an event"):
        reader.finish()
    with pytest.raises(SseError, match="no JSON"):
        EventReader().feed(b"data: {\n\n")


def test_first_audio_counts_from_agent_start_on_both_clocks() -> None:
    clock = iter([1.0, 1.1, 1.8, 2.0, 2.1, 2.2]).__next__
    run = timed(CONDITION, "bidi", map(frame, EVENTS), clock)
    assert run == Run(CONDITION, "bidi", run.client_ms, 700, 900, 960, 6)
    assert run.client_ms == pytest.approx(800)
    assert not run.late


@pytest.mark.parametrize(
    ("events", "error"),
    [
        (EVENTS[:2], "no audio_chunk, text_done, done"),
        ([*EVENTS[:2], {"type": "error", "message": "broke"}], "broke"),
        ([{"error": "broke"}], "broke"),  # as the AgentCore SDK says it
    ],
)
def test_an_answer_without_what_is_measured_is_an_error(events: list[dict[str, object]], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        timed(CONDITION, "bidi", map(frame, events))


def test_the_table_has_mean_median_p95_and_the_ratio() -> None:
    runs = [Run(CONDITION, "bidi", ms, ms, 900, 960, 6) for ms in (100, 200, 600)]
    runs += [Run(CONDITION, "batch", ms, ms, 100, 960, 6) for ms in (500, 500)]
    row = row_of(CONDITION, "bidi", runs)
    assert row["client"] == {"n": 3, "mean": 300, "p50": 200, "p95": pytest.approx(560), "min": 100, "max": 600}
    table = report(runs, conditions(agent="agent", target="speech"))
    assert "| 40 tok/s, TTFT 0.5 s | bidi | 3 | 300 | 200 | 560 |" in table
    assert "| 2.50 |" in table
    assert "2.4x" in table
    assert runs[-1].late


@pytest.mark.parametrize("given", ["40", "x:1", "0:1", "nan:1", "40:-1", "40:inf", ""])
def test_a_condition_that_cannot_be_one_is_refused(given: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="expected is TPS:TTFT"):
        Condition.parse(given)


def test_both_modes_are_measured_through_the_emulator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    # the agent of this repository, where what it needs is installed
    real = importlib.util.find_spec("strands") and importlib.util.find_spec("bedrock_agentcore")
    arguments = [
        "--agent",
        "agent" if real else "emulator.tests.scripted_agent:app",
        "--condition",
        "60:0.1",
        "--runs",
        "1",
    ]
    assert agent.main([*arguments, "--json", str(out), "--plot", str(tmp_path / "out.svg")]) == 0
    printed = capsys.readouterr().out
    assert "| 60 tok/s, TTFT 0.1 s | bidi | 1 |" in printed
    written = json.loads(out.read_text())
    assert written["conditions"]["prompt"]
    rows = {row["mode"]: row for row in written["raw"]["rows"]}
    assert rows["bidi"]["container"]["p50"] < rows["bidi"]["text_ms"]  # before the text is complete
    assert rows["batch"]["container"]["p50"] >= rows["batch"]["text_ms"]
    assert rows["bidi"]["client"]["p50"] < rows["batch"]["client"]["p50"]
    assert (tmp_path / "out.svg").read_text().startswith("<svg")
    assert bench.main(["plot", str(out), str(tmp_path / "again.svg")]) == 0
    assert (tmp_path / "again.svg").read_text() == (tmp_path / "out.svg").read_text()
    assert bench.main(["drift", str(out), str(out)]) == 0
    assert "60 tok/s, TTFT 0.1 s bidi" in capsys.readouterr().out
    carried = written["raw"]["carried"]
    assert carried["told"] in printed
    assert carried["audio_bytes"] < carried["ws_bytes"] < 1.1 * carried["audio_bytes"]
    assert carried["sse_bytes"] > 4 / 3 * carried["audio_bytes"]


def test_a_runtime_that_is_there_already_is_measured_with_its_own_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    script = tmp_path / "script.toml"
    script.write_text("[[turn]]\ntext = 'One. Two.'\ntokens_per_second = 20\n")
    up = ["--target", QUICK, "--agent", "emulator.tests.scripted_agent:app", "--bedrock-script", str(script)]
    with running(up, tmp_path) as stack, environment_of(stack.environment):
        assert agent.main(["--runtime", stack.arn, "--yes", "--runs", "2", "--json", str(out)]) == 0
        assert agent.main(["--runtime", stack.arn.replace("runtime/", "runtime/not"), "--yes"]) == 2
    told = capsys.readouterr()
    assert f"agent runtime {stack.arn}, asked from here" in told.out
    assert "| deployed | bidi | 2 |" in told.out
    assert "ResourceNotFoundException" in told.err
    written = json.loads(out.read_text())
    assert [row["condition"] for row in written["raw"]["rows"]] == ["deployed"] * 2
    assert written["raw"]["carried"] == {}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--runtime", "local"], "'local': expected arn:aws:bedrock-agentcore:REGION:ACCOUNT:runtime/ID"),
        (["--runtime", ARN, "--runs", "3"], "8 turns of its model, and their speech, are billed; agree with --yes"),
        (["--runtime", ARN, "--yes", "--condition", "40:0"], "leave it out with --runtime"),
    ],
)
def test_what_costs_money_is_agreed_to_first(
    more: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        agent.main(more)
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize("body", [b"", b'data: {"type":"error","message":"no"}\n\n'])
def test_an_answer_that_was_not_carried_to_its_end_weighs_nothing(body: bytes) -> None:
    with pytest.raises(CarriedError, match="expected was 'done'"):
        over_events([body])


def test_an_agent_without_a_websocket_is_not_measured_over_it(tmp_path: Path) -> None:
    up = ["--target", QUICK, "--agent", "emulator.bench.speech:app"]
    with running(up, tmp_path) as stack, pytest.raises(CarriedError, match="no answer over the WebSocket"):
        over_websocket(stack.http_url, stack.arn, stack.environment, {"prompt": "Hello."})


def test_a_stack_that_does_not_come_up_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert agent.main(["--agent", "no_such_module:app", "--runs", "1"]) == 2
    error = capsys.readouterr().err
    assert "emulator up exited with 2" in error
    assert "no_such_module" in error
