"""What AWS says of the endpoint before anything is sent to it, and whether one session goes through."""

import asyncio
from typing import cast

import pytest

from contract_tests.bench import Bench
from deploy.errors import DeployError
from emulator import facts
from live_tests.cloud import Cloud
from live_tests.configuration import problems
from live_tests.description import Description
from live_tests.parity.report import Findings
from live_tests.plugin import Labels

pytestmark = pytest.mark.live


def test_the_endpoint_is_in_service_with_settings_that_work(
    live: Cloud, live_endpoint: Description, live_findings: Findings
) -> None:
    del live
    live_findings.measurements["configuration"] = {
        "endpoint_config": live_endpoint.config,
        "variants": [
            {
                "name": variant.name,
                "instance_type": variant.instance_type,
                "instances": variant.instances,
                "image": variant.image,
                "ami": variant.settings.get("InferenceAmiVersion"),
            }
            for variant in live_endpoint.variants
        ],
    }
    allowed = cast("list[int]", facts.get("life.startup-extend").value)
    for variant in live_endpoint.variants:
        given = variant.settings.get("ContainerStartupHealthCheckTimeoutInSeconds")
        if given is not None:
            seen = f"{given} s in the configuration of an endpoint that is {live_endpoint.status}"
            live_findings.ledger.judge("life.startup-extend", seen, holds=allowed[0] <= given <= allowed[1])
    found = problems(live_endpoint)
    assert not found, "\n".join(found)


def test_the_image_carries_the_label_for_bidirectional_streaming(
    live: Cloud, live_endpoint: Description, live_labels: Labels, live_findings: Findings
) -> None:
    name = facts.text("ctr.label")
    for variant in live_endpoint.variants:
        try:
            labels = live_labels(live, variant.image)
        except DeployError as error:
            pytest.skip(str(error))
        value = labels.get(name)
        assert value == "true", (
            f"the image of variant {variant.name} has {name}={value!r}, expected is 'true': without it SageMaker opens "
            f"no WebSocket. Add LABEL {name}=true to its Dockerfile. Image: {variant.image}"
        )
        live_findings.ledger.confirm("ctr.label", f"{name}=true on an image that is served")


def test_one_session_goes_through(live: Cloud, live_bench: Bench, live_endpoint: Description) -> None:
    del live

    async def smoke() -> None:
        async with live_bench.client(), live_bench.connect() as conversation:
            answer = await conversation.ask("smoke")
            session = conversation.session
        assert answer.complete, f"a good request got {answer.describe()}\n" + "\n".join(live_bench.log(conversation))
        if live_bench.profile.audio is not None:
            assert any(answer.audio), "the answer is complete, but it holds no audio"
        assert session.variant in live_endpoint.variant_names, (
            f"the response names the variant {session.variant!r}, not one of {sorted(live_endpoint.variant_names)}"
        )

    asyncio.run(smoke())
