"""What a check that passed says about the service. One that failed says nothing: it may be the container's doing."""

from collections.abc import Mapping

from contract_tests.verdict import Status, Verdict
from live_tests.parity.ledger import Ledger

__all__ = ["enter"]

_SHOWN_BY: Mapping[str, tuple[str, ...]] = {
    "CT3": ("frag.run", "frag.reassembly"),
    "CT7": ("close.persistent",),
    "CT8": ("frame.opaque",),
    "CT13": ("wire.one-to-one",),
    "CT19": ("ctr.path-default",),
}


def enter(ledger: Ledger, verdicts: Mapping[str, Verdict]) -> None:
    """Enter what the verdicts of a run show, by id of the check."""
    for check_id, fact_ids in _SHOWN_BY.items():
        verdict = verdicts.get(check_id)
        if verdict is not None and verdict.status is Status.PASS:
            for fact_id in fact_ids:
                ledger.confirm(fact_id, f"{check_id}: {verdict.behaviour.observed}")
