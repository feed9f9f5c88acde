"""A live run under pytest-xdist."""

from types import SimpleNamespace
from typing import cast

import pytest

from live_tests import plugin


def test_a_live_run_is_not_spread() -> None:
    config = SimpleNamespace(workerinput={"workerid": "gw0"})
    item = SimpleNamespace(get_closest_marker=lambda name: name == "live", config=config)
    with pytest.raises(pytest.skip.Exception, match="leave out -n"):
        plugin.pytest_runtest_setup(cast("pytest.Item", item))
