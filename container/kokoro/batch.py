"""How many texts one pass of a model should take, found out on the machine that it runs on."""

from collections.abc import Callable

AUTO = "auto"
_SIZES = (2, 4, 8, 16)
_WORTH = 0.85
"""A larger batch has to bring the cost of a text under this share of what it was: everybody in it waits for all."""


def size_that_pays(cost: Callable[[int], float]) -> int:
    """Return the size up to which every step pays; `cost` gives what one text costs in a batch of a size, in any unit.

    Sizes are tried in ascending order, each at most once, and none beyond the first that does not pay.
    """
    best, least = 1, cost(1)
    for size in _SIZES:
        if (now := cost(size)) >= _WORTH * least:
            break
        best, least = size, now
    return best
