"""The whole live path as a user runs it, with the emulator and moto standing in for AWS."""

from pathlib import Path

from live_tests.tests.conftest import Rehearsal


def test_the_checks_of_the_contract_run_against_a_deployed_endpoint(rehearsal: Rehearsal, tmp_path: Path) -> None:
    code, output = rehearsal.run(tmp_path)
    Path("/tmp/live_out.txt").write_text(output)
    assert code == 0, output
