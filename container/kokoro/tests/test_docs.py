from pathlib import Path

from container.kokoro import settings

PAGE = Path(__file__).parents[3] / "docs" / "kokoro.md"


def test_the_page_lists_every_setting_as_it_is() -> None:
    rows = []
    for field in settings.fields():
        rule = field.metadata
        default = f"{field.default:g}" if isinstance(field.default, float) else field.default
        choices = f" ({', '.join(rule['choices'])})" if "choices" in rule else ""
        rows.append(f"| `{rule['variable']}` | `{default}` | {rule['help']}{choices} |")
    table = "\n".join(rows)
    assert table in PAGE.read_text(encoding="utf-8"), f"docs/kokoro.md should have these rows:\n{table}"
