"""What things cost: a dated table, to be overridden, and never exact."""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from deploy.errors import DeployError

__all__ = ["GIGABYTE", "HOURS_A_MONTH", "Prices", "dollars"]

GIGABYTE = 1_000_000_000
HOURS_A_MONTH = 730
_TABLE = Path(__file__).with_name("prices.toml")


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars, by kind."""

    dated: str
    endpoint_hour: dict[str, float]
    gigabyte_month: dict[str, float]
    agentcore: dict[str, float]
    month: dict[str, float]

    @classmethod
    def load(cls) -> Self:
        """Read the table, and the values in ``$DEPLOY_PRICES`` over it.

        Raises:
            DeployError: that file cannot be read.
        """
        table = tomllib.loads(_TABLE.read_text("utf-8"))
        other = os.environ.get("DEPLOY_PRICES")
        if other:
            try:
                _overlay(table, tomllib.loads(Path(other).read_text("utf-8")))
            except (OSError, ValueError) as error:
                raise DeployError(
                    f"DEPLOY_PRICES={other} cannot be read: {error}. It has the form of {_TABLE}."
                ) from error
        return cls(**table)

    def hour(self, instance_type: str, instances: int = 1) -> float | None:
        """Price of an endpoint for one hour; None where the table does not know the instance type."""
        price = self.endpoint_hour.get(instance_type)
        return None if price is None else price * instances

    def stored(self, kind: str, size: int) -> float:
        """Price of ``size`` bytes for one month; ``kind`` is ecr, s3 or logs."""
        return self.gigabyte_month[kind] * size / GIGABYTE


def _overlay(table: dict[str, Any], values: dict[str, Any]) -> None:
    for name, value in values.items():
        if name not in table or isinstance(value, dict) != isinstance(table[name], dict):
            raise ValueError(f"{name!r} is not one of {', '.join(table)}")
        if isinstance(value, dict):
            table[name].update(value)
        else:
            table[name] = value


def dollars(amount: float | None) -> str:
    """Return a price as it is shown."""
    if amount is None:
        return "an unknown price"
    if 0 < amount < 0.01:
        return "less than $0.01"
    return f"about ${amount:,.2f}"
