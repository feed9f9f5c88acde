"""The admin API over real sockets: what it tells, what it sets, and whom it lets in."""

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.server import ServerConnection

from emulator import Emulator, Endpoint, Faults, Server, Switches, Variant
from emulator.admin import refusal
from emulator.cli import main
from emulator.tests.client import RawClient, event
from emulator.tests.containers import container
from emulator.tests.faulty import PatientClient, works

UNSIGNED = Switches(signatures="off")


@dataclass
class Stage:
    server: Server
    http: httpx.AsyncClient
    client: PatientClient

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        given = {"headers": headers} | ({} if body is None else {"json": body})
        return await self.http.request(method, f"/_emulator/{path}", **given)

    async def json(self, method: str, path: str, body: Any = None) -> Any:
        answer = await self.ask(method, path, body)
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextlib.asynccontextmanager
async def stage(state: Path) -> AsyncIterator[Stage]:
    async with (
        container() as target,
        Server({"ep": Endpoint(target.url)}, switches=UNSIGNED, state_directory=state, http_port=0) as server,
        httpx.AsyncClient(base_url=server.http_url or "", trust_env=False) as http,
        PatientClient(int(server.url.rsplit(":", 1)[1]), server.certificates.ca) as client,
    ):
        yield Stage(server, http, client)


async def test_endpoints_sessions_and_traces_can_be_read(state_directory: Path) -> None:
    async with stage(state_directory) as on:
        stream = await on.client.open()
        await on.client.send(stream, event(b"hello", "UTF8"))
        await on.client.message(stream)
        (endpoint,) = await on.json("GET", "endpoints")
        assert endpoint["name"] == "ep"
        (variant,) = endpoint["variants"]
        assert (variant["name"], variant["sessions"], variant["process"]) == ("AllTraffic", 1, None)
        (session,) = await on.json("GET", "sessions")
        assert (session["endpoint"], session["state"]) == ("ep", "open")
        assert session["id"] == on.client.headers(stream)["x-amzn-requestid"]
        log = await on.ask("GET", f"sessions/{session['id']}/trace")
        assert log.headers["content-type"] == "application/x-ndjson"
        head, *entries = [json.loads(line) for line in log.text.splitlines()]
        assert head["request_id"] == session["id"]
        part = next(entry for entry in entries if entry["kind"] == "part")
        assert (part["direction"], part["type"], part["size"]) == ("in", "UTF8", 5)
        assert bytes.fromhex(part["first"]) == b"hello"
        assert (await on.ask("GET", "traces")).text == log.text
        assert "PUT    faults" in (await on.ask("GET", "")).text


async def test_faults_are_set_listed_used_up_and_taken_back(state_directory: Path) -> None:
    async with stage(state_directory) as on:
        assert await on.json("GET", "faults") == {"all": {}, "endpoints": {}}
        told = await on.json("PUT", "faults/ep", {"faults": {"throttle": True, "close": "1012:later@3"}, "seed": 7})
        assert told == {"endpoint": "ep", "faults": "throttle=true,close=1012:later@3", "seed": 7}
        assert await on.client.status(await on.client.open()) == 400
        assert await on.json("DELETE", "faults/ep") == {"endpoint": "ep"}
        await works(on.client)
        told = await on.json("PUT", "faults", {"faults": "throttle", "sessions": 2})
        assert told["all"] == {"next": {"faults": "throttle=true", "seed": 0, "sessions": 2}}
        assert [await on.client.status(await on.client.open()) for _ in range(2)] == [400, 400]
        await works(on.client)
        assert await on.json("GET", "faults") == {"all": {}, "endpoints": {}}


async def test_a_session_can_be_cut_now(state_directory: Path) -> None:
    async with stage(state_directory) as on:
        stream = await on.client.open()
        await on.client.status(stream)
        session = on.client.headers(stream)["x-amzn-requestid"]
        assert await on.json("POST", f"sessions/{session}/cut") == {"cut": session}
        message = await on.client.message(stream)
        assert message.string(":exception-type") == "ModelStreamError"
        assert json.loads(message.payload)["ErrorCode"] == "SessionLimit"
        assert await on.client.next(stream) == "END_STREAM"
        again = await on.ask("POST", f"sessions/{session}/cut")
        assert (again.status_code, again.json()["error"].startswith("No session")) == (404, True)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("PUT", "faults", {"faults": "drop_prat=3"}, 400, "Did you mean drop_part?"),
        ("PUT", "faults", {"faults": {"drop_part": 0}}, 400, "expected is a whole number, 1 or more"),
        ("PUT", "faults", {"faults": {"jitter": "1"}}, 400, "expected is seconds"),
        ("PUT", "faults", {"faults": {"bandwidth": 10**400}}, 400, "expected is bytes per second"),
        ("PUT", "faults", {"faults": 3}, 400, "expected is a text"),
        ("PUT", "faults", {"faults": "", "sessions": 0}, 400, "expected is 1 or more"),
        ("PUT", "faults", {"faults": "", "seed": "x"}, 400, "seed is 'x'"),
        ("PUT", "faults", {"fault": "throttle"}, 400, "unknown: fault; expected are faults"),
        ("PUT", "faults", [], 400, "no JSON object"),
        ("PUT", "faults/nope", {"faults": ""}, 404, "there are: ep"),
        ("POST", "faults", {}, 405, "set with PUT"),
        ("GET", "sessions/nope/trace", None, 404, "No session nope"),
        ("GET", "nothing", None, 404, "PUT    faults"),
        ("POST", "endpoints/ep/process", {"fault": "kill"}, 409, "was not started by this emulator"),
        ("POST", "endpoints/ep/process", {"fault": "rm -rf"}, 400, "expected is one of kill, freeze"),
        ("POST", "endpoints/ep/process", {"fault": ["kill"]}, 400, "fault ['kill']: expected is one of kill, freeze"),
        ("POST", "endpoints/ep/process", {"fault": "kill", "variant": [1]}, 404, "has no variant [1]"),
        ("POST", "endpoints/no/process", {"fault": "kill"}, 404, "No endpoint no is served"),
        ("POST", "endpoints/ep/process", {"fault": "kill", "variant": "b"}, 404, "has no variant b"),
        ("GET", "..%2f..%2fetc%2fpasswd", None, 404, "is nothing"),
        ("GET", "sessions/..%2f..%2fetc%2fpasswd/trace", None, 404, "No session"),
    ],
)
async def test_every_mistake_is_an_error_in_json_that_says_what_is_expected(
    method: str, path: str, body: Any, status: int, says: str, state_directory: Path
) -> None:
    async with stage(state_directory) as on:
        answer = await on.ask(method, path, body)
        assert answer.status_code == status
        assert says in answer.json()["error"]


async def test_a_body_that_no_script_of_ours_sends_is_refused(state_directory: Path) -> None:
    async with stage(state_directory) as on:
        form = await on.http.put(
            "/_emulator/faults", content=b'{"faults": "throttle"}', headers={"content-type": "text/plain"}
        )
        assert form.status_code == 415
        huge = await on.http.put("/_emulator/faults", content=b" " * 100_000)
        assert huge.status_code == 413
        for content in (b"{", b"\xff\xfe", b"[" * 60_000):
            broken = await on.http.put(
                "/_emulator/faults", content=content, headers={"content-type": "application/json; charset=utf-8"}
            )
            assert (broken.status_code, "no JSON" in broken.json()["error"]) == (400, True)
        await works(on.client)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "http://localhost:3000"},  # another program of this machine may serve anybody's page
        {"origin": "null"},
        {"host": "evil.example"},  # a name that its owner has made to point here
        {"host": "127.0.0.1.evil.example:80"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_pages_of_another_origin_are_refused_and_nothing_happens(
    headers: dict[str, str], state_directory: Path
) -> None:
    async with stage(state_directory) as on:
        for method, path, body in (("GET", "sessions", None), ("PUT", "faults", {"faults": "throttle"})):
            answer = await on.ask(method, path, body, **headers)
            assert answer.status_code == 403
            assert answer.json()["error"].startswith("Refused: ")
            assert "access-control-allow-origin" not in answer.headers
        preflight = await on.ask("OPTIONS", "faults", **headers)
        assert preflight.status_code == 403
        await works(on.client)


async def test_the_emulator_s_own_page_is_let_in(state_directory: Path) -> None:
    async with stage(state_directory) as on:
        origin = on.server.http_url or ""
        assert (await on.ask("GET", "sessions", origin=origin, **{"sec-fetch-site": "same-origin"})).status_code == 200


@pytest.mark.parametrize(
    ("peer", "host", "allowed"),
    [
        ("127.0.0.1", "127.0.0.1:8443", True),
        ("127.9.9.9", "localhost:8443", True),
        ("::1", "[::1]:8443", True),
        ("::ffff:127.0.0.1", "localhost", True),
        ("192.0.2.7", "127.0.0.1:8443", False),
        ("::ffff:192.0.2.7", "127.0.0.1:8443", False),
        ("fe80::1%eth0", "127.0.0.1:8443", False),
        ("", "127.0.0.1:8443", False),
        ("127.0.0.1", "192.0.2.7:8443", False),
        ("127.0.0.1", "", False),
        ("127.0.0.1", "localhost.evil.example", False),
        ("127.0.0.1", "evil.example:127", False),
    ],
)
def test_only_this_machine_under_its_own_name_is_let_in(peer: str, host: str, allowed: bool) -> None:
    assert (refusal(peer, "https", host, {}) is None) == allowed


async def test_a_caller_from_another_address_is_refused_though_the_emulator_listens_there(
    state_directory: Path,
) -> None:
    address = own_address()
    if address is None:
        pytest.skip("this machine has no address but loopback")
    async with (
        Server(host="0.0.0.0", state_directory=state_directory, http_port=0) as server,  # noqa: S104  # the case itself
        httpx.AsyncClient(trust_env=False) as http,
    ):
        port = (server.http_url or "").rsplit(":", 1)[1]
        answer = await http.get(f"http://{address}:{port}/_emulator/sessions", headers={"host": f"127.0.0.1:{port}"})
        assert (answer.status_code, f"came from {address}" in answer.text) == (403, True)


def own_address() -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return None
        address: str = probe.getsockname()[0]
        return None if address.startswith("127.") else address


async def test_it_is_there_over_http2_too(state_directory: Path) -> None:
    async with stage(state_directory) as on:
        stream = await on.client.open(headers={":method": "GET", ":path": "/_emulator/endpoints"})
        await on.client.send(stream, b"", end=True)
        assert await on.client.status(stream) == 200
        await on.client.next(stream)
        assert json.loads(on.client.body(stream))[0]["name"] == "ep"


@dataclass
class Blocking:
    """A container on a thread of its own, for tests that are not asynchronous."""

    url: str = ""
    _loop: asyncio.AbstractEventLoop | None = None
    _stop: asyncio.Event | None = None
    _ready: threading.Event = field(default_factory=threading.Event)

    async def serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with container() as target:
            self.url = target.url
            self._ready.set()
            await self._stop.wait()

    @contextlib.contextmanager
    def running(self) -> Iterator[str]:
        thread = threading.Thread(target=lambda: asyncio.run(self.serve()))
        thread.start()
        self._ready.wait()
        try:
            yield self.url
        finally:
            assert self._loop is not None
            assert self._stop is not None
            self._loop.call_soon_threadsafe(self._stop.set)
            thread.join()


def test_the_command_line_sets_lists_and_clears(state_directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(["faults", *arguments, "--url", emulator.url, "--state-dir", str(state_directory)])
        return status, *capsys.readouterr()

    with (
        Blocking().running() as url,
        Emulator({"ep": Endpoint(variants=[Variant("a", url), Variant("b", url)])}, state_directory=state_directory)
        as emulator,
    ):  # fmt: skip
        status, out, _ = run("set", "drop_part=3,jitter=0.5", "throttle", "--endpoint", "ep", "--sessions", "4")
        assert (status, json.loads(out)["next"]["faults"]) == (0, "drop_part=3,throttle=true,jitter=0.5")
        status, out, _ = run("list")
        assert (status, '"drop_part=3,throttle=true,jitter=0.5"' in out, '"ep"' in out) == (0, True, True)
        status, out, err = run("clear")
        assert (status, list(json.loads(out)["endpoints"])) == (0, ["ep"])
        assert "These endpoints keep faults of their own: ep. Take them back with --endpoint" in err
        status, out, err = run("clear", "--endpoint", "ep")
        assert (json.loads(out), err) == ({"endpoint": "ep"}, "")
        assert run("clear")[2] == ""
        status, _, err = run("set", "drop_prat=3")
        assert (status, "Did you mean drop_part?" in err) == (2, True)
        status, _, err = run("process", "kill", "ep")
        assert (status, "say which" in err) == (2, True)
        status, _, err = run("process", "kill", "ep", "--variant", "a")
        assert (status, "was not started by this emulator" in err) == (2, True)
        status, _, err = run("cut", "../../x")
        assert (status, "No session ../../x is open" in err) == (2, True)
    status, _, err = run("list")
    assert (status, "no emulator answers at" in err) == (2, True)


@pytest.mark.parametrize("url", ["https://[bad", "ftp://127.0.0.1", "https://ü:8443", ""])
def test_a_url_that_is_none_says_what_is_expected(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faults", "list", "--url", url, "--state-dir", str(tmp_path)]) == 2
    assert f"{url!r} is no URL of an emulator; expected is https://127.0.0.1:8443" in capsys.readouterr().err


def test_a_damaged_authority_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    authority = tmp_path / "ca" / "ca.pem"
    authority.parent.mkdir()
    authority.write_text("damaged")
    assert main(["faults", "list", "--state-dir", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert f"the local CA {authority} cannot be read" in error
    assert "--state-dir" in error


async def test_another_server_is_not_taken_for_an_emulator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n<html>")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(page, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        arguments = ["faults", "list", "--url", url, "--state-dir", str(tmp_path)]
        assert await asyncio.to_thread(main, arguments) == 2
    assert "what answers is no emulator: expected is JSON, it says '<html>'" in capsys.readouterr().err


async def test_python_can_do_the_same(state_directory: Path) -> None:
    async def hold(connection: ServerConnection) -> None:
        await connection.wait_closed()

    async with container(hold) as target:
        with Emulator({"ep": Endpoint(target.url)}, switches=UNSIGNED, state_directory=state_directory) as emulator:
            async with RawClient(int(emulator.url.rsplit(":", 1)[1]), emulator.ca_bundle) as client:
                emulator.set_faults(Faults(throttle=True), endpoint="ep", sessions=1)
                assert await client.status(await client.open()) == 400
                stream = await client.open()
                assert await client.status(stream) == 200
                session = client.headers(stream)["x-amzn-requestid"]
                assert await asyncio.to_thread(emulator.cut, session)
                assert (await client.message(stream)).string(":exception-type") == "ModelStreamError"
                assert not await asyncio.to_thread(emulator.cut, session)
                with pytest.raises(LookupError, match="was not started by this emulator"):
                    emulator.process_fault("ep", "kill")
