"""One port for everything: what is negotiated, who may ask, where requests go."""

import asyncio
import contextlib
import http.client
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from emulator import Emulator, Endpoint, Switches, credentials
from emulator.server import Server
from emulator.tests.client import RawClient
from emulator.tests.containers import Container, container, echo
from emulator.tests.http_container import Seen, http_container, reply


def ask(emulator: Emulator, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
    address = urlsplit(emulator.url)
    context = ssl.create_default_context(cafile=str(emulator.ca_bundle))
    connection = http.client.HTTPSConnection(address.hostname or "", address.port, context=context, timeout=60)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_a_page_of_another_site_may_not_ask(state_directory: Path) -> None:
    with Emulator(state_directory=state_directory) as emulator:
        for origin in ("https://evil.example", "null"):
            status, body = ask(emulator, "POST", "/", b"{}", Origin=origin)
            assert status == 403
            assert b"only local pages may" in body


async def test_a_reset_over_http_2_ends_the_work_of_a_plain_request(
    state_directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked, left = asyncio.Event(), asyncio.Event()

    async def hang(seen: Seen, _: asyncio.StreamWriter) -> None:
        asked.set()
        await seen.client_gone()
        left.set()

    switches = Switches(signatures="off")
    async with (
        asyncio.timeout(10),
        http_container(hang) as target,
        Server({"ep": Endpoint(target.url)}, switches=switches, state_directory=state_directory) as server,
        RawClient(urlsplit(server.url).port or 0, server.certificates.ca) as client,
    ):
        stream = await client.open("ep", {":path": "/endpoints/ep/invocations", "content-type": "text/plain"})
        await client.send(stream, b"x", end=True)
        await asked.wait()
        client.h2.reset_stream(stream)
        await client.flush()
        await left.wait()
    assert "Traceback" not in caplog.text
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_a_reset_inside_of_a_plain_request_s_body_is_no_failure(
    state_directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        asyncio.timeout(10),
        Server(switches=Switches(signatures="off"), state_directory=state_directory) as server,
        RawClient(urlsplit(server.url).port or 0, server.certificates.ca) as client,
    ):
        stream = await client.open("ep", {":path": "/endpoints/ep/invocations", "content-type": "text/plain"})
        client.h2.reset_stream(stream)
        await client.flush()
        other = await client.open("ep", {":path": "/endpoints/nope/invocations", "content-type": "text/plain"})
        await client.send(other, b"x", end=True)
        assert await client.status(other) == 400
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_rubbish_is_answered_with_400_and_the_emulator_lives_on(state_directory: Path) -> None:
    with Emulator(state_directory=state_directory, http_port=0) as emulator:
        address = urlsplit(emulator.http_url or "")

        async def send() -> bytes:
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            writer.write(b"NOT HTTP\r\n\r\n")
            async with asyncio.timeout(5):
                answer = await reader.read()
            writer.close()
            await writer.wait_closed()
            return answer

        assert asyncio.run(send()).startswith(b"HTTP/1.1 400")
        assert ask(emulator, "GET", "/endpoints/ep/invocations")[0] == 404


async def repeat(seen: Seen, writer: asyncio.StreamWriter) -> None:
    writer.write(reply("200 OK", b"you said " + seen.body))


def raw(emulator: Emulator, request: bytes) -> bytes:
    """Send bytes to the plain port; returns all that comes until the emulator ends the connection."""
    address = urlsplit(emulator.http_url or "")
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=10) as connection:
        connection.sendall(request)
        with connection.makefile("rb") as answer:
            return answer.read()


@pytest.mark.parametrize("line", ["OPTIONS *", "GET *", "CONNECT example.com:443", "POST x"])
def test_a_request_target_that_is_no_path_is_refused(state_directory: Path, line: str) -> None:
    with Emulator(state_directory=state_directory, http_port=0) as emulator:
        answer = raw(emulator, f"{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"the request target is no path" in answer


async def test_an_absolute_request_target_means_its_path(state_directory: Path) -> None:
    switches = Switches(signatures="off")
    async with http_container(repeat) as target:
        with Emulator(
            {"ep": Endpoint(target.url)}, switches=switches, state_directory=state_directory, http_port=0
        ) as it:
            request = b"POST http://any.example/endpoints/ep/invocations HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n"
            answer = await asyncio.to_thread(raw, it, request + b"connection: close\r\n\r\nhi")
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert answer.endswith(b"you said hi")


async def test_a_body_with_two_lengths_is_the_last_of_its_connection(state_directory: Path) -> None:
    switches = Switches(signatures="off")
    async with http_container(repeat) as target:
        with Emulator(
            {"ep": Endpoint(target.url)}, switches=switches, state_directory=state_directory, http_port=0
        ) as it:
            head = b"POST /endpoints/ep/invocations HTTP/1.1\r\nhost: x\r\n"
            both = head + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
            answer = await asyncio.to_thread(raw, it, both + head + b"content-length: 0\r\n\r\n")
            assert answer.count(b"HTTP/1.1 ") == 1  # what follows was not read as a request
            assert b"connection: close" in answer
            assert answer.endswith(b"you said hi")


async def test_invoke_endpoint_is_served_over_http2_too(state_directory: Path) -> None:
    async def hello(_: Seen, writer: asyncio.StreamWriter) -> None:
        writer.write(reply("200 OK", b"hello"))

    async with asyncio.timeout(20), http_container(hello) as target:
        server = Server({"ep": Endpoint(target.url)}, state_directory=state_directory)
        async with server:
            host = urlsplit(server.url).netloc
            signed = AWSRequest("POST", f"{server.url}/endpoints/ep/invocations", {"host": host}, b"body")
            keys = Credentials(credentials.ACCESS_KEY_ID, credentials.SECRET_ACCESS_KEY)
            SigV4Auth(keys, "sagemaker", "us-west-2").add_auth(signed)
            async with RawClient(urlsplit(server.url).port or 0, server.certificates.ca) as client:
                headers = {name.lower(): value for name, value in signed.headers.items() if name != "host"}
                pseudo = {":path": "/endpoints/ep/invocations", ":authority": host, "content-type": "text/plain"}
                stream = await client.open("ep", pseudo | headers)
                await client.send(stream, b"body", end=True)
                assert await client.status(stream) == 200
                assert await client.next(stream) == "END_STREAM"
                assert client.body(stream) == b"hello"
                assert client.headers(stream)["x-amzn-invoked-production-variant"] == "AllTraffic"
        assert target.seen[0].body == b"body"


@contextlib.asynccontextmanager
async def unlabelled(policy: str, state: Path) -> AsyncIterator[tuple[Container, RawClient]]:
    switches = Switches(signatures="off", missing_label=policy)  # type: ignore[arg-type]  # the tests name its values
    async with (
        asyncio.timeout(20),
        container(echo) as target,
        Server({"ep": Endpoint(target.url, bidirectional=False)}, switches=switches, state_directory=state) as server,
        RawClient(urlsplit(server.url).port or 0, server.certificates.ca) as client,
    ):
        yield target, client


@pytest.mark.parametrize(("policy", "status"), [("refuse-424", 424), ("refuse-400", 400), ("allow", 200)])
async def test_without_the_label_no_websocket_is_opened(policy: str, status: int, state_directory: Path) -> None:
    async with unlabelled(policy, state_directory) as (target, client):
        stream = await client.open()
        assert await client.status(stream) == status
        assert len(target.requests) == (status == 200)
        if status != 200:
            await client.next(stream)
            assert b"com.amazonaws.sagemaker.capabilities.bidirectional-streaming" in client.body(stream)


async def test_without_the_label_hang_answers_when_the_client_gives_up(state_directory: Path) -> None:
    async with unlabelled("hang", state_directory) as (target, client):
        stream = await client.open()
        answered = asyncio.ensure_future(client.status(stream))
        assert not (await asyncio.wait({answered}, timeout=0.1))[0]
        await client.send(stream, b"", end=True)
        assert await answered == 400
        assert target.requests == []


def test_http_2_without_tls_is_called_so(state_directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Emulator(state_directory=state_directory, http_port=0) as emulator:
        answer = raw(emulator, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 505 ")
    assert "a client speaks HTTP/2 without TLS: give it the https:// URL" in caplog.text
