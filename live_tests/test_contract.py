"""The contract checks against the deployed endpoint: the same ones as ``-m contract``, through the same SDK."""

from collections.abc import Callable

import pytest

from contract_tests.catalogue import CHECKS
from contract_tests.check import Check

pytestmark = pytest.mark.live


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{check.id}-{check.name}")
def test_contract(check: Check, live_judge: Callable[[Check], None]) -> None:
    live_judge(check)
