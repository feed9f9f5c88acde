import datetime
import re
from pathlib import Path

import pytest

from emulator import facts
from emulator.fidelity import fidelity_page


def test_every_fact_is_whole() -> None:
    for fact in facts.table().values():
        assert re.fullmatch(r"[a-z]+\.[a-z0-9-]+", fact.id), fact
        assert fact.statement.endswith((".", ".)", "'")), fact
        assert fact.url
        if fact.confirmed is not None:
            datetime.date.fromisoformat(fact.confirmed)


def test_an_unknown_id_names_near_ones() -> None:
    with pytest.raises(facts.UnknownFactError, match=r"no entry 'ping.intervall'. Did you mean ping.interval"):
        facts.get("ping.intervall")


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="not a whole number"):
        facts.integer("ping.interval")
    with pytest.raises(TypeError, match="not a duration"):
        facts.seconds("ping.misses")
    with pytest.raises(TypeError, match="not a string"):
        facts.text("ping.misses")


def test_a_fact_prints_with_its_source_and_how_sure_we_are() -> None:
    assert str(facts.get("ping.interval")).startswith(
        "SageMaker sends a WebSocket Ping every 60 s. [ping.interval, documented: https://docs.aws.amazon.com/"
    )


def test_the_fidelity_page_is_what_the_table_gives() -> None:
    page = Path(__file__).parents[2] / "docs" / "fidelity.md"
    assert page.read_text("utf-8") == fidelity_page(), "stale: uv run emulator facts --markdown > docs/fidelity.md"
