from pathlib import Path

from contract_tests.pages import checks_page


def test_the_page_of_checks_is_what_the_catalogue_gives() -> None:
    page = Path(__file__).parents[2] / "docs" / "checks.md"
    assert page.read_text("utf-8") == checks_page(), "stale: uv run python -m contract_tests.pages > docs/checks.md"
