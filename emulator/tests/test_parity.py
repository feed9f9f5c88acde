"""Reports of live runs, entered into the facts table."""

import datetime
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from emulator import facts
from emulator.cli import main
from emulator.parity import SCHEMA, import_report

TABLE = Path(facts.__file__).with_name("facts.toml")
DATE = "2025-06-20"


def report(**changes: Any) -> dict[str, Any]:
    outcomes = {fact_id: {"outcome": "not seen", "seen": "", "times": 0} for fact_id in facts.table()}
    outcomes["wire.port"] = {"outcome": "confirmed", "seen": "200 from port 8443", "times": 3}
    outcomes["frame.out-text"] = {"outcome": "confirmed", "seen": "UTF8", "times": 3}
    outcomes["unk.empty-part"] = {"outcome": "refuted", "seen": "nothing came", "times": 1}
    body = {"schema": SCHEMA, "against": "aws", "date": DATE, "region": "eu-west-1", "facts": outcomes}
    return body | changes


@pytest.fixture
def table(tmp_path: Path) -> Path:
    copy = tmp_path / "facts.toml"
    copy.write_text(TABLE.read_text("utf-8"), "utf-8")
    return copy


def write(folder: Path, body: object) -> Path:
    path = folder / "report.json"
    path.write_text(json.dumps(body), "utf-8")
    return path


def test_confirmed_facts_get_the_date_and_nothing_else_changes(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tomllib.loads(table.read_text("utf-8"))
    assert import_report(write(tmp_path, report()), table) == 1  # one is refuted
    after = tomllib.loads(table.read_text("utf-8"))
    assert after["wire.port"].pop("confirmed") == DATE
    assert after["frame.out-text"].pop("confirmed") == DATE
    assert after == before
    comments = [line for line in table.read_text("utf-8").splitlines() if line.startswith("#")]
    assert comments == [line for line in TABLE.read_text("utf-8").splitlines() if line.startswith("#")]
    shown = capsys.readouterr().out
    assert f"2 facts confirmed on {DATE} in eu-west-1: wire.port, frame.out-text" in shown
    assert "refuted, for you to look at: unk.empty-part" in shown
    assert "seen: nothing came" in shown


def test_a_later_date_stays_and_a_refuted_fact_loses_its_own(table: Path, tmp_path: Path) -> None:
    later = report(date="2025-06-21")
    later["facts"]["unk.empty-part"]["outcome"] = "confirmed"
    assert import_report(write(tmp_path, later), table) == 0
    assert import_report(write(tmp_path, report()), table) == 1
    entries = tomllib.loads(table.read_text("utf-8"))
    assert entries["wire.port"]["confirmed"] == "2025-06-21"
    assert "confirmed" not in entries["unk.empty-part"]
    assert import_report(write(tmp_path, report(date="2025-06-22")), table) == 1
    assert tomllib.loads(table.read_text("utf-8"))["wire.port"]["confirmed"] == "2025-06-22"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ([], "no report of a live run: its schema is None"),
        (report(schema="sagemaker-bidi-contract/1"), "its schema is 'sagemaker-bidi-contract/1'"),
        (report(against="emulator"), "only a run against AWS itself confirms anything"),
        (report(date="yesterday"), "date is 'yesterday', expected is YYYY-MM-DD"),
        (
            report(date=str(datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=9))),
            "lies in the future",
        ),
        (report(region=None), "region is None"),
        (report(facts={}), "it holds no facts"),
        (report(facts={"wire.prot": {"outcome": "confirmed"}}), "Did you mean wire.port"),
        (report(facts={"wire.port": {"outcome": "yes"}}), "wire.port is 'yes', expected is one of confirmed"),
        (report(facts={"wire.port": "confirmed"}), "wire.port is 'confirmed', expected is an object"),
    ],
)
def test_a_file_that_confirms_nothing_is_refused(
    body: object, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = TABLE.read_bytes()
    assert main(["facts", "--import", str(write(tmp_path, body))]) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert "report.json" in shown.err
    assert shown.out == ""
    assert TABLE.read_bytes() == before


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["facts", "--import", str(tmp_path / "no.json")]) == 2
    assert "cannot be read as JSON" in capsys.readouterr().err
