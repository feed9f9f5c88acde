"""What an image holds, and that silence is no good news."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from deploy import advisories, push
from deploy.errors import DeployError
from deploy.pins import Pin

HELD = [Pin("torch", "2.15.0"), Pin("h11", "0.16.0")]
CANARY = {"vulns": [{"id": "PYSEC-2025-41"}]}


def answering(*results: Any) -> advisories.Ask:
    return lambda _: {"results": list(results)}


def test_no_advisory_is_told_of_where_there_is_none() -> None:
    assert advisories.known(HELD, answering(CANARY, {}, None)) == {}


def test_advisories_are_told_by_package() -> None:
    answer = answering(CANARY, {"vulns": [{"id": "B"}, {"id": "A"}]}, {})
    assert advisories.known(HELD, answer) == {"torch 2.15.0": ["A", "B"]}


def test_every_package_is_asked_about_by_name_and_version() -> None:
    asked: list[Any] = []

    def ask(query: dict[str, Any]) -> Any:
        asked.extend(query["queries"])
        return {"results": [CANARY, {}, {}]}

    advisories.known(HELD, ask)
    assert asked[1:] == [
        {"package": {"name": "torch", "ecosystem": "PyPI"}, "version": "2.15.0"},
        {"package": {"name": "h11", "ecosystem": "PyPI"}, "version": "0.16.0"},
    ]


def test_an_answer_of_several_pages_is_read_to_its_end() -> None:
    """A page may hold nothing and still have a next one: that package is not clean."""
    pages: list[list[Any]] = [
        [CANARY, {"next_page_token": "p2"}, {"vulns": [{"id": "A"}], "next_page_token": "q2"}],
        [{"vulns": [{"id": "B"}]}, {"vulns": [{"id": "C"}]}],
    ]
    asked: list[Any] = []

    def ask(query: dict[str, Any]) -> Any:
        asked.append([each.get("page_token") for each in query["queries"]])
        return {"results": pages.pop(0)}

    assert advisories.known(HELD, ask) == {"torch 2.15.0": ["B"], "h11 0.16.0": ["A", "C"]}
    assert asked == [[None, None, None], ["p2", "q2"]]


def test_the_canary_is_told_of_where_it_is_in_the_image() -> None:
    assert advisories.known([Pin("torch", "2.5.0")], answering(CANARY, CANARY)) == {"torch 2.5.0": ["PYSEC-2025-41"]}


def refused(_: Any) -> Any:
    raise OSError("no route to host")


@pytest.mark.parametrize(
    "ask",
    [
        refused,
        answering({}, {}, {}),  # a mirror without data
        answering(CANARY, {}),  # fewer answers than questions
        answering(CANARY, "h11", {}),
        answering(CANARY, {"vulns": [{}]}, {}),
        lambda query: {"results": [CANARY | {"next_page_token": "more"} for _ in query["queries"]]},  # for ever
        lambda _: {},
        lambda _: "<html>",
        lambda _: None,
    ],
)
def test_what_could_not_be_checked_is_a_failure(ask: advisories.Ask) -> None:
    with pytest.raises(DeployError, match="could NOT be checked"):
        advisories.known(HELD, ask)


class Osv(BaseHTTPRequestHandler):
    """Stands in for the service, with what it knows by package."""

    known: ClassVar[dict[str, list[str]]] = {}
    asked: ClassVar[list[str]] = []
    status: ClassVar[int] = 200

    def do_POST(self) -> None:
        queries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        self.asked.extend(query["package"]["name"] for query in queries)
        body = json.dumps(
            {"results": [{"vulns": [{"id": one} for one in self.known.get(_key(query), [])]} for query in queries]}
        ).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
        """Say nothing."""


def _key(query: Any) -> str:
    return f"{query['package']['name']} {query['version']}"


@pytest.fixture
def osv(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Osv]]:
    """The service on this machine."""
    monkeypatch.setattr(Osv, "known", {"torch 2.5.0": ["PYSEC-2025-41"]})
    monkeypatch.setattr(Osv, "asked", [])
    monkeypatch.setattr(Osv, "status", 200)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Osv) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("DEPLOY_OSV", f"http://127.0.0.1:{server.server_port}/v1/querybatch")
        try:
            yield Osv
        finally:
            server.shutdown()
            thread.join()


def doctor(image: str, engine: str = "") -> tuple[int, str]:
    """What ``doctor --advisories`` says of an image, and its exit status."""
    script = str(Path(sys.executable).with_name(f"{image}-infra"))
    options = ["--engine", engine] if engine else []
    done = subprocess.run(
        [script, "doctor", "--advisories", *options], capture_output=True, text=True, check=False, timeout=120
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(("image", "engine"), [("speech", "torch"), ("speech", "onnx"), ("agent", "")])
def test_every_package_of_each_image_is_checked(image: Literal["speech", "agent"], engine: str, osv: type[Osv]) -> None:
    held = push.held(image, engine, optional=True)
    assert {pin.name for pin in held} > {pin.name for pin in push.held(image, engine)}  # MP3 and the like
    status, said = doctor(image, engine)
    assert status == 0, said
    assert f"{len(held)} packages checked, 0 with known vulnerabilities" in said
    assert {pin.name for pin in held} <= set(osv.asked)
    assert ("torch" in {pin.name for pin in held}) is (engine == "torch")
    assert "starlette" in osv.asked


def test_a_known_vulnerability_fails_and_so_does_a_service_that_does_not_answer(
    osv: type[Osv], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = next(pin for pin in push.held("speech", "torch") if pin.name == "torch")
    osv.known[f"torch {torch.version}"] = ["PYSEC-2027-1"]
    status, said = doctor("speech", "torch")
    assert (status, f"torch {torch.version}: PYSEC-2027-1" in said) == (1, True)
    assert "1 with known vulnerabilities" in said
    monkeypatch.setattr(osv, "known", {})  # a mirror that answers, and knows nothing
    status, said = doctor("agent")
    assert (status, "could NOT be checked" in said) == (1, True)
    monkeypatch.setattr(osv, "status", 503)
    status, said = doctor("agent")
    assert (status, "could NOT be checked" in said, "503" in said) == (1, True, True)
    monkeypatch.setenv("DEPLOY_OSV", "http://127.0.0.1:9/")  # nobody is there
    status, said = doctor("agent")
    assert (status, "could NOT be checked" in said) == (1, True)


def test_the_agents_image_is_listed_for_its_own_architecture() -> None:
    held = {pin.name for pin in push.held("agent")}
    assert "strands-agents" in held
    assert not {"torch", "aws-cdk-lib", "pytest", "colorama"} & held
