"""Running checks without pytest."""

from pathlib import Path

from contract_tests.checks.bad_message_isolation import BadMessageIsolation
from contract_tests.checks.good_request import GoodRequest
from contract_tests.checks.many_sentences import ManySentences
from contract_tests.checks.ping import PingHealth
from contract_tests.checks.text_and_binary import TextAndBinary
from contract_tests.profile import load
from contract_tests.report import render
from contract_tests.runner import run_checks
from contract_tests.verdict import Status
from emulator.launch import launched
from emulator.target import Target

NO_STREAM = """
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

async def ping(_):
    return Response()

app = Starlette(routes=[Route("/ping", ping, methods=["GET", "POST"])])
"""


def test_verdicts_come_in_the_order_of_the_checks(tmp_path: Path) -> None:
    checks = [PingHealth(), GoodRequest(), TextAndBinary()]
    with launched(Target("app", "contract_tests.good.echo:app"), 30, tmp_path) as url:
        verdicts = run_checks(url, load("sagemaker"), checks)
    assert [(verdict.id, verdict.status) for verdict in verdicts] == [(check.id, Status.PASS) for check in checks]


def test_an_answer_of_several_parts_is_not_mistaken_for_several_answers(tmp_path: Path) -> None:
    checks = [GoodRequest(), BadMessageIsolation(), ManySentences()]
    with launched(Target("app", "contract_tests.good.starlette_speech:app"), 60, tmp_path) as url:
        good, *others = run_checks(url, load("sagemaker"), checks, idle_seconds=0.5)
    assert good.status is Status.WARN
    assert "it goes on" in good.worst.observed
    assert "run the checks with --profile=kokoro" in render(good)
    assert [each.status for each in others] == [Status.PASS, Status.PASS]


def test_a_container_without_the_route_is_told_so_once(tmp_path: Path) -> None:
    (tmp_path / "no_stream.py").write_text(NO_STREAM, "utf-8")
    with launched(Target("app", "no_stream:app"), 30, tmp_path) as url:
        good, other = run_checks(url, load("sagemaker"), [GoodRequest(), TextAndBinary()])
    assert good.status is Status.FAIL
    assert "refused the upgrade" in render(good)
    assert "/invocations-bidirectional-stream" in render(good)
    assert other.status is Status.NOT_APPLICABLE
