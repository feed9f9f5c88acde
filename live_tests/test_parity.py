"""Experiments that ask the service about the facts of the emulator's table, and the emulator's answers beside them.

A fact that is refuted fails nothing here: it is for the report, and for whoever reads it.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contract_tests.bench import Bench
from contract_tests.checks import good_request
from contract_tests.client import Client, Session
from contract_tests.plugin import verdicts
from contract_tests.reach import Emulated
from contract_tests.runner import bench_for
from emulator import target
from emulator.launch import TargetError, launched
from live_tests.cloud import Cloud
from live_tests.deployed import Deployed
from live_tests.description import Description
from live_tests.parity.ledger import Ledger
from live_tests.parity.other_services import agent_refusals, no_model
from live_tests.parity.probes import PROBES, Probe, wrong_secret
from live_tests.parity.raw import RawError
from live_tests.parity.raw_probes import look
from live_tests.parity.report import Findings
from live_tests.parity.response_stream import body_limit, custom_attributes, one_invocation, response_stream
from live_tests.parity.transcript import differences, transcript
from live_tests.parity.verdicts import enter

pytestmark = pytest.mark.live

_LONGEST_S = 60.0
_START_TIMEOUT_S = 180.0


async def _measured(bench: Bench) -> None:
    if not bench.measured:
        async with bench.client():
            await good_request.measure(bench)


async def _probe(bench: Bench, ledger: Ledger, probe: Probe) -> None:
    async with asyncio.timeout(_LONGEST_S):
        await probe.run(bench, ledger)


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_probe(probe: Probe, live: Cloud, live_bench: Bench, live_findings: Findings) -> None:
    reach = live_bench.reach
    assert isinstance(reach, Deployed)
    heard: list[dict[str, Any]] = []
    told = reach.witness

    def witness(session: Session) -> None:
        heard.append(transcript(session))
        if told is not None:
            told(session)

    asyncio.run(_measured(live_bench))
    observed = replace(live_bench, reach=Deployed(live, reach.endpoint, witness))
    asyncio.run(_probe(observed, live_findings.ledger, probe))
    if probe.repeatable:
        live_findings.transcripts[probe.name] = heard


def test_a_wrong_secret(live: Cloud, live_bench: Bench, live_findings: Findings) -> None:
    async def run() -> None:
        account = replace(live.account(), secret_key="0" * 40, token=None)
        async with Client.connect(live.settings.streaming_url, account) as client:
            await wrong_secret(client, live_bench.reach.endpoint, live_findings.ledger)

    asyncio.run(run())


def test_a_stream_without_the_sdk(live: Cloud, live_bench: Bench, live_findings: Findings) -> None:
    if live_bench.profile.request.is_audio:
        pytest.skip("the requests of this profile are audio")
    endpoint, profile = live_bench.reach.endpoint, live_bench.profile
    try:
        asyncio.run(look(live.settings.streaming_url, live.account, endpoint, profile, live_findings.ledger))
    except RawError as error:
        live_findings.notes.append(f"a stream without the SDK: {error}")


def test_the_older_operations(
    live: Cloud, live_bench: Bench, live_endpoint: Description, live_findings: Findings
) -> None:
    rule = live_bench.profile.invocations
    if rule is None:
        pytest.skip(f"profile {live_bench.profile.name!r} says nothing of POST /invocations")
    runtime = live.client("sagemaker-runtime")
    sizes = response_stream(runtime, live_bench.reach.endpoint, rule, live_findings.ledger)
    live_findings.measurements["response_stream_parts"] = sizes
    one_invocation(runtime, live_endpoint.name, rule, live_endpoint.variant_names, live_findings.ledger)
    custom_attributes(runtime, live_endpoint.name, live_findings.ledger)
    body_limit(runtime, live_endpoint.name, live_findings.ledger)


def test_what_agentcore_and_bedrock_refuse(live: Cloud, live_endpoint: Description, live_findings: Findings) -> None:
    del live_endpoint
    no_model(live.client("bedrock-runtime"), live_findings.ledger)
    if live.settings.agent_runtime is not None:
        agent_refusals(live.client("bedrock-agentcore"), live.settings.agent_runtime, live_findings.ledger)


def test_what_the_checks_have_shown(pytestconfig: pytest.Config, live: Cloud, live_findings: Findings) -> None:
    del live
    enter(live_findings.ledger, {verdict.id: verdict for verdict in verdicts(pytestconfig)})


class _Twin(Emulated):
    """The emulator in front of the local container; keeps a transcript of every session."""

    heard: list[dict[str, Any]]

    def client(self) -> AbstractAsyncContextManager[Client]:
        return Client.connect(self.emulator.url, witness=lambda session: self.heard.append(transcript(session)))


@pytest.fixture
def twin(live_bench: Bench, live: Cloud, pytestconfig: pytest.Config) -> Iterator[Bench]:
    """The same container on this machine behind the emulator, where one is named."""
    if live.settings.twin is None:
        pytest.skip("--twin TARGET names no local container to compare with")
    try:
        chosen = target.parse(live.settings.twin)
        with (
            launched(chosen, _START_TIMEOUT_S, Path(pytestconfig.invocation_params.dir)) as url,
            bench_for(url, live_bench.profile, live_bench.idle_seconds) as bench,
        ):
            yield bench
    except (target.TargetSyntaxError, TargetError) as error:
        pytest.fail(str(error).replace("--target", "--twin"), pytrace=False)


def test_the_emulator_s_answers_to_the_same_input(twin: Bench, live_findings: Findings) -> None:
    if not live_findings.transcripts:
        pytest.skip("no probe has run")
    answers: Mapping[str, list[dict[str, Any]]] = {name: [] for name in live_findings.transcripts}
    emulated = twin.reach
    assert isinstance(emulated, Emulated)
    reach = _Twin(emulated.emulator, emulated.endpoint, emulated.url)
    asyncio.run(_measured(twin))
    own = Ledger()
    for probe in PROBES:
        if probe.name in answers:
            reach.heard = answers[probe.name]
            asyncio.run(_probe(replace(twin, reach=reach), own, probe))
    live_findings.differences = differences(live_findings.transcripts, answers)
