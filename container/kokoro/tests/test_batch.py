import math
from collections.abc import Mapping

import pytest

from container.kokoro.batch import size_that_pays


@pytest.mark.parametrize(
    ("costs", "best"),
    [
        pytest.param({1: 1.0, 2: 1.05}, 1, id="a processor that is busy with one text"),
        pytest.param({1: 1.0, 2: 0.9}, 1, id="a gain that is not worth the wait of all"),
        pytest.param({1: 1.0, 2: 0.5, 4: 0.26, 8: 0.25}, 4, id="a GPU that is full with four"),
        pytest.param({1: 1.0, 2: 0.5, 4: 0.25, 8: 0.13, 16: 0.07}, 16, id="a GPU that is not full with any"),
        pytest.param({1: 1.0, 2: 0.5, 4: math.inf}, 2, id="no memory for four"),
        pytest.param({1: math.inf, 2: math.inf}, 1, id="nothing works at all"),
    ],
)
def test_the_last_size_that_pays_is_taken(costs: Mapping[int, float], best: int) -> None:
    tried = []

    def cost(size: int) -> float:
        tried.append(size)
        return costs[size]

    assert size_that_pays(cost) == best
    assert tried == sorted(set(tried)), "a size was tried twice, or after a larger one"
