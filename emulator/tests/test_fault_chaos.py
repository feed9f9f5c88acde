"""Random combinations of faults: after each, a fresh session works, and nothing is left behind."""

import asyncio
import logging
from pathlib import Path
from random import Random

import pytest

from emulator import Faults
from emulator.bench import chaos
from emulator.bench.chaos import ChaosError, random_faults, run

SCENARIOS = 100


async def test_a_hundred_random_combinations_leave_nothing_behind(
    state_directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    async with asyncio.timeout(300):
        tally = await run(SCENARIOS, 0, state_directory, process_every=33)
    assert tally.scenarios == SCENARIOS
    # the hundred have met everything
    assert tally.faults.keys() >= {name for name, _, _ in Faults.help()} - {"direction"}
    assert tally.faults.keys() & {"kill", "freeze", "freeze and resume"}
    assert tally.faults["cut now"] > 0


def test_the_same_seed_gives_the_same_faults() -> None:
    first, again, other = (str(random_faults(Random(seed))) for seed in (7, 7, 8))  # noqa: S311  # repeatable
    assert first == again != other


async def test_what_is_left_behind_is_told_with_the_scenario(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[asyncio.Task[bool]] = []

    async def leaky(*_: object) -> None:
        left.append(asyncio.create_task(asyncio.Event().wait()))

    monkeypatch.setattr(chaos, "_scenario", leaky)
    monkeypatch.setattr(chaos, "_PATIENCE", 1.0)
    with pytest.raises(ChaosError, match=r"scenario 5: .*left behind after 1 s: 1 tasks"):
        await run(3, 5, state_directory, process_every=0)
    left[0].cancel()
    await asyncio.gather(*left, return_exceptions=True)
