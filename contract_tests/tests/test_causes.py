"""What a verdict says where the fault lies between two levels; the causes of the containers are held by the matrix."""

from pathlib import Path

from contract_tests import profile
from contract_tests.checks.handshake import HandshakeVariants
from contract_tests.runner import run_checks
from contract_tests.verdict import Status
from emulator.launch import launched
from emulator.target import Target


def test_a_listed_origin_is_a_warning() -> None:
    """Nobody knows whether SageMaker ever sends an Origin."""
    with launched(Target("app", "contract_tests.tests.origin_listed:app"), 60, Path.cwd()) as url:
        (verdict,) = run_checks(url, profile.load("kokoro"), [HandshakeVariants()])
    assert verdict.status is Status.WARN
    assert "Only listed Origins" in verdict.worst.causes[0]
    assert verdict.worst.fix is not None
    assert verdict.log
