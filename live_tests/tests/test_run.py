"""The whole live path as a user runs it, with the emulator and moto standing in for AWS."""

import json
import re
from pathlib import Path

from contract_tests.agents.catalogue import AGENT_CHECKS
from contract_tests.catalogue import CHECKS
from emulator import facts
from live_tests.parity.probes import PROBES
from live_tests.tests.conftest import AGENT, BROKEN_IMAGE, Rehearsal

WITHOUT_THE_SDK = {
    *("req.net-extra", "resp.content-type", "unk.h2", "event.padding", "sign.event-string", "stream.then-end"),
    *("sign.event-chain", "sign.end-frame", "req.content-type", "sign.clock-skew", "wire.protocol"),
}
OF_OTHER_SERVICES = {
    *("bedrock.converse-path", "bedrock.stream-path", "agent.unknown-text", "agent.error-text", "agent.session-id"),
    *("agent.stop-path", "inv.headers", "inv.response", "inv.container-name", "inv.body-max-model", "rs.headers"),
}
BEYOND_A_CLIENT = {check.id for check in CHECKS if check.needs}


def test_the_whole_run_against_a_deployed_endpoint(rehearsal: Rehearsal, tmp_path: Path) -> None:
    code, output = rehearsal.run(
        tmp_path,
        *("--twin", "live_tests.tests.voice:app"),
        *("--negative-control", BROKEN_IMAGE),
        *("--agent-runtime", rehearsal.emulator.agent_arn(AGENT)),
    )
    assert code == 0, output
    words = re.sub(r"\s+", " ", output)
    assert "nothing is billed, and nothing is learnt about AWS" in words
    assert re.search(r"first sentence alone, first audio +\d", output)
    assert "the first sentence is heard" in output
    assert "bidi is heard" in output
    assert "0 differences from the emulator's answers to the same input" in output, output

    report = json.loads((tmp_path / "live-report.json").read_text("utf-8"))
    assert report["against"] == "emulator"
    statuses = {check_id: verdict["status"] for check_id, verdict in report["verdicts"].items()}
    assert set(statuses) == {check.id for check in (*CHECKS, *AGENT_CHECKS)}
    assert {statuses[check.id] for check in AGENT_CHECKS} == {"PASS"}, report["verdicts"]
    # a busy machine may make a warning of a slow answer; nothing may fail
    not_judged = {check_id for check_id, status in statuses.items() if status == "N/A"}
    assert BEYOND_A_CLIENT <= not_judged <= BEYOND_A_CLIENT | {"CT25"}, statuses  # a tone says nothing to recognise
    for check_id in BEYOND_A_CLIENT:
        assert "behind a deployed endpoint only SageMaker does that" in report["verdicts"][check_id]["observed"]

    outcomes = {fact_id: entry["outcome"] for fact_id, entry in report["facts"].items()}
    assert set(outcomes) == set(facts.table())
    assert "refuted" not in outcomes.values(), {k: v for k, v in report["facts"].items() if v["outcome"] == "refuted"}
    confirmed = {fact_id for fact_id, outcome in outcomes.items() if outcome == "confirmed"}
    asked = {fact_id for probe in PROBES for fact_id in probe.facts}
    assert asked <= confirmed, asked - confirmed
    assert confirmed >= WITHOUT_THE_SDK, WITHOUT_THE_SDK - confirmed
    assert confirmed >= OF_OTHER_SERVICES, OF_OTHER_SERVICES - confirmed
    unsaid = [k for k, entry in report["facts"].items() if entry.get("why", "").startswith("one answer does not show")]
    assert set(unsaid) <= {"wire.port", "ctr.label"}  # of AWS's address and registry, for which nothing stands in here
    assert {"err.403", "rs.events", "rs.before-first-byte", "inv.custom-attributes-max", "inv.validation"} <= confirmed
    assert "wire.port" not in confirmed  # the emulator's port says nothing about the service's

    assert set(report["sessions"]) == {probe.name for probe in PROBES if probe.repeatable}
    assert report["differences"] == []
    assert report["measurements"]["negative_control"]["status"] == "FAIL"
    assert len(report["measurements"]["first_audio_ms"]["runs"]) >= 5
    assert all(turn["chunks"] == 2 for turn in report["measurements"]["agent"]["bidi"])
    sagemaker = rehearsal.client("sagemaker")
    assert [each["EndpointName"] for each in sagemaker.list_endpoints()["Endpoints"]] == ["voice"]
    assert [each["ModelName"] for each in sagemaker.list_models()["Models"]] == ["voice-1"]
    sagemaker.close()


def test_time_and_place_that_are_not_there(rehearsal: Rehearsal, tmp_path: Path) -> None:
    code, output = rehearsal.run(tmp_path, "--budget-minutes", "0.00001", files=("test_contract.py",))
    assert code == 2, output
    assert "the time budget of 1e-05 minutes is used up; raise it with --budget-minutes" in output
    assert (tmp_path / "live-report.json").exists()
    code, output = rehearsal.run(tmp_path, files=("test_speed.py",), endpoint="elsewhere")
    assert code == 3, output
    assert output.count("no endpoint: the endpoint elsewhere at https://127.0.0.1") == 1
    assert "speech-infra status" in output
    assert "Traceback" not in output


def test_a_check_that_the_budget_ends_is_not_judged(rehearsal: Rehearsal, tmp_path: Path) -> None:
    options = ("--budget-minutes", "0.1", "--idle-seconds", "60", "-k", "CT7 or CT8")
    code, output = rehearsal.run(tmp_path, *options, files=("test_contract.py",))
    assert code == 2, output
    assert "the time budget of 0.1 minutes is used up; raise it with --budget-minutes" in output
    assert "1 skipped" in output, output
    assert json.loads((tmp_path / "live-report.json").read_text("utf-8"))["verdicts"] == {}


def test_without_an_endpoint_there_is_one_reason(rehearsal: Rehearsal, tmp_path: Path) -> None:
    code, output = rehearsal.run(tmp_path, files=("test_contract.py", "test_speed.py"), endpoint=None)
    assert code == 0, output
    assert len(re.findall(r"^SKIPPED", output, re.MULTILINE)) == 1
    assert "the live tests need a deployed endpoint: --endpoint NAME" in output
    assert not (tmp_path / "live-report.json").exists()
