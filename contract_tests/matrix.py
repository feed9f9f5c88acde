"""Every check against every container of the test bench: ``python -m contract_tests.matrix [--page] [NAME ...]``.

Each broken container has to fail its own check and no other MUST check, each good one has to fail none.
"""

import asyncio
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from contract_tests import broken, good, profile
from contract_tests.bench import Bench
from contract_tests.catalogue import CHECKS
from contract_tests.containers import Container
from contract_tests.grid import CELLS, problems, table
from contract_tests.reach import Emulated, Starter
from contract_tests.runner import emulated, judge_all
from contract_tests.verdict import Level, Status, Verdict
from emulator import Emulator, Endpoint
from emulator.launch import launched, starting

__all__ = ["Matrix", "measure"]

_AT_ONCE = 8
_STARTS_AT_ONCE = 2
_IDLE_S = 2.5  # longer than the idle timer of the container that has one
_START_TIMEOUT_S = 90.0
_STOP_S = 6.0
_HANG_UPS = 4
_MOST_HANG_UPS = 12
_MOST_AGAIN = 3
_HANG_UP = "CT12"
_STARTS = "CT18"
_PAGE = "--page"
_NOTHING_TO_JUDGE = "CT0"
_HEAD = """\
# Every check against every container

Written by `uv run python -m contract_tests.matrix --page > docs/matrix.md`, from what was seen in that run. A column is
a check (`docs/checks.md`), a row a container; the last rows are those that no MUST check may fail. `.` passed, `warn`
a SHOULD that does not hold, `-` not to be judged here (the container cannot do it, or its profile does not say it),
**FAIL** what its fault is caught by (FAIL without weight: a SHOULD besides, or CT0 where nothing at all is answered).
"""


@dataclass(frozen=True)
class Matrix:
    """What every check said of every container; ``seconds`` is the wall time of the whole.

    ``missing``: the containers that could not be started on this machine, and why.
    """

    rows: Sequence[tuple[Container, Sequence[Verdict]]]
    seconds: float
    missing: Mapping[str, str] = field(default_factory=dict)

    def problems(self) -> Iterator[str]:
        """Yield one text for each cell that is not what the container's registration says."""
        for container, verdicts in self.rows:
            failures = {verdict.id: verdict for verdict in verdicts if _counts(verdict, container)}
            yield from problems(container, failures)

    def lines(self) -> Iterator[str]:
        """Yield the table: a row for each container, a column for each check."""
        yield from table(self.rows, CHECKS)
        yield f"{len(self.rows)} containers, {len(CHECKS)} checks, {self.seconds:.0f} s"
        for why, names in _grouped(self.missing):
            yield f"not run: {', '.join(names)}: {why}"

    def page(self) -> Iterator[str]:
        """Yield the lines of ``docs/matrix.md``."""
        yield _HEAD
        yield "| container | server | " + " | ".join(check.id.removeprefix("CT") for check in CHECKS) + " |"
        yield "|---|---|" + ":-:|" * len(CHECKS)
        for container, verdicts in self.rows:
            cells = [
                f"**{CELLS[each.status]}**" if _counts(each, container) else CELLS[each.status] for each in verdicts
            ]
            yield f"| `{container.name}` | {container.server} | {' | '.join(cells)} |"


def _grouped(missing: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each reason once, with the names of the containers that it holds back."""
    for why in dict.fromkeys(missing.values()):
        yield why, [name for name, reason in missing.items() if reason == why]


def _counts(verdict: Verdict, container: Container) -> bool:
    """Tell whether a failure counts: of a MUST check, or of the SHOULD check that has to catch the container."""
    if verdict.id == _NOTHING_TO_JUDGE and container.blocks:
        return False
    counted = verdict.level is Level.MUST or verdict.id == container.caught_by
    return counted and verdict.status is Status.FAIL


def measure(containers: Sequence[Container]) -> Matrix:
    """Start, judge and end all containers that can be started here, a few at a time.

    What a few of them seem to be wrong in is looked at again, one container at a time: the checks compare times, and a
    neighbour's load can hide a fault that is one of time.
    """
    began = time.monotonic()
    missing = {container.name: why for container in containers if (why := container.missing)}
    containers = [container for container in containers if container.name not in missing]
    with emulated({}):  # so that the authority that all emulators share is trusted
        verdicts = asyncio.run(_judge(containers))
    rows = list(zip(containers, verdicts, strict=True))
    return Matrix(rows, time.monotonic() - began, missing)


async def _judge(containers: Sequence[Container]) -> list[list[Verdict]]:
    slots, starts = asyncio.Semaphore(_AT_ONCE), asyncio.Semaphore(_STARTS_AT_ONCE)

    async def one(container: Container) -> list[Verdict]:
        async with slots:
            with ExitStack() as running:
                async with starts:
                    bench = await asyncio.to_thread(_start, container, running)
                verdicts = await judge_all(CHECKS, bench)
                await asyncio.to_thread(running.close)
                return verdicts

    verdicts = await asyncio.gather(*map(one, containers))
    wrong = [at for at, row in enumerate(zip(containers, verdicts, strict=True)) if any(Matrix([row], 0).problems())]
    if len(wrong) <= _MOST_AGAIN:
        for at in wrong:
            verdicts[at] = await one(containers[at])
    return verdicts


def _start(container: Container, running: ExitStack) -> Bench:
    """Bring a container up, with an emulator in front of it; both end with ``running``."""
    url = running.enter_context(launched(container.target, _START_TIMEOUT_S, Path.cwd()))
    emulator = running.enter_context(Emulator({container.name: Endpoint(url)}))
    return Bench(
        Emulated(emulator, container.name, url, starter=_starter(container)),
        profile.load(container.profile),
        _IDLE_S,
        stop_seconds=_STOP_S,
        hang_ups=_MOST_HANG_UPS if container.caught_by == _HANG_UP else _HANG_UPS,
    )


def _starter(container: Container) -> Starter | None:
    """Return what starts a second one: only for those from which that check can learn something, since it is slow."""
    known = container.caught_by is None and container.server == "hypercorn"  # which fails it, whatever it serves
    if known or container.caught_by not in {None, _STARTS}:
        return None
    return partial(starting, container.target, Path.cwd())


def main() -> int:
    """Print the matrix, of all containers or of those named; return 1 if a cell is not as it should be."""
    wanted = [argument for argument in sys.argv[1:] if argument != _PAGE]
    everything = [*broken.CONTAINERS, *good.CONTAINERS]
    matrix = measure([container for container in everything if not wanted or container.name in wanted])
    found = list(matrix.problems())
    if _PAGE in sys.argv:
        sys.stdout.write("\n".join(matrix.page()) + "\n")
        sys.stderr.write("".join(f"{problem}\n" for problem in found))
    else:
        sys.stdout.write("\n".join([*matrix.lines(), *found]) + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
