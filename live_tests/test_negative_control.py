"""A container that reads text only has to fail on AWS as it does here: else the run proves nothing."""

import asyncio
from dataclasses import replace
from functools import partial

import pytest

from contract_tests.bench import Bench
from contract_tests.checks.text_and_binary import TextAndBinary
from contract_tests.plugin import tell
from contract_tests.runner import judge
from contract_tests.verdict import Status
from deploy.prices import dollars
from live_tests.budget import Budget
from live_tests.cloud import Cloud
from live_tests.deployed import Deployed
from live_tests.description import Description
from live_tests.negative_control import DeploymentError, NotInTimeError, deployed
from live_tests.parity.report import Findings
from live_tests.plugin import Billing, OutOfTime

pytestmark = pytest.mark.live

_MINUTES = 15
_PATIENCE_S = 1800.0


def test_a_container_that_reads_text_only_fails_here_too(
    live: Cloud,
    live_endpoint: Description,
    live_bench: Bench,
    live_budget: Budget,
    live_billing: Billing,
    live_findings: Findings,
    live_out_of_time: OutOfTime,
    pytestconfig: pytest.Config,
) -> None:
    image = live.settings.negative_control
    if image is None:
        pytest.skip("opt-in: --negative-control IMAGE deploys a container that has to fail CT1")
    instance_type = live_endpoint.variants[0].instance_type
    hour = live.settings.prices.hour(instance_type)
    about = dollars(None if hour is None else hour * _MINUTES / 60)
    live_billing(f"an instance of {instance_type} for some {_MINUTES} minutes, {about}")
    every = 0.2 if live.settings.local else 15.0
    limit = min(_PATIENCE_S, live_budget.left)
    try:
        sagemaker, aloud = live.client("sagemaker"), partial(tell, pytestconfig)
        with deployed(sagemaker, live_endpoint, image, limit, every=every, tell=aloud) as name:
            bench = replace(live_bench, reach=Deployed(live, name), baseline=None, measured=False)
            verdict = asyncio.run(judge(TextAndBinary(), bench))
    except NotInTimeError as error:
        if limit < _PATIENCE_S:
            live_out_of_time()
        pytest.fail(str(error), pytrace=False)
    except DeploymentError as error:
        pytest.fail(str(error), pytrace=False)
    live_findings.measurements["negative_control"] = {"status": verdict.status, "observed": verdict.worst.observed}
    proven = verdict.status is Status.FAIL and bool(verdict.worst.causes)  # a check that was cut names none
    assert proven, (
        f"CT1 is {verdict.status} for a container that reads text only ({verdict.behaviour.observed}): the fact "
        "frame.default-binary does not hold here, or the image is not the broken one"
    )
    live_findings.ledger.confirm("frame.json-as-binary", f"a container that reads text only: {verdict.worst.observed}")
