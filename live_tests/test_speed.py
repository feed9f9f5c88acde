"""How fast the deployed endpoint speaks."""

import asyncio
import statistics
from dataclasses import asdict

import pytest

from contract_tests.bench import Bench
from contract_tests.checks import good_request
from live_tests.cloud import Cloud
from live_tests.parity.report import Findings
from live_tests.speed import NoAudioError, measure, ratio, table

pytestmark = pytest.mark.live

_RUNS = 5


def test_the_first_sentence_is_heard_before_the_whole_text(
    live: Cloud, live_bench: Bench, live_findings: Findings
) -> None:
    del live
    if live_bench.profile.audio is None:
        pytest.skip(f"profile {live_bench.profile.name!r} does not say what the audio is (no table [audio])")

    async def run() -> None:
        if not live_bench.measured:
            async with live_bench.client():
                await good_request.measure(live_bench)
        try:
            samples = await measure(live_bench, _RUNS)
        except NoAudioError as error:
            pytest.fail(f"nothing can be measured: {error}", pytrace=False)
        lines = table(samples)
        live_findings.notes += lines
        live_findings.measurements["first_audio_ms"] = {
            "runs": [asdict(sample) for sample in samples],
            "ratio": round(ratio(samples), 2),
        }
        batch = statistics.median(sample.batch for sample in samples)
        sentence = statistics.median(sample.sentence for sample in samples)
        assert sentence < batch, "\n".join(lines)

    asyncio.run(run())
