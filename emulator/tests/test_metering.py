"""The metering socket: its records without I/O, and a second WebSocket beside a session."""

import asyncio
import json
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from emulator import Endpoint, Server, Switches
from emulator.tests.client import END_OF_INPUT, RawClient, event
from emulator.wire.frames import Frame, Opcode
from emulator.wire.metering import BadRecordError, Meter, MeterOffer

UNSIGNED = Switches(signatures="off")
SUPPORTED = "X-Amzn-SageMaker-Metadata-Stream-Supported"
REQUIRED = "X-Amzn-SageMaker-Metadata-Stream-Required"
PATH = "X-Amzn-SageMaker-Metadata-Invocation-Path"
DEFAULT = "/invocations-bidirectional-stream-metadata"


def record(dimension: Any = "characters", units: Any = 3, **members: Any) -> Frame:
    body = {"Metering": {"Dimension": dimension, "ConsumedUnits": units, **members}}
    return Frame(Opcode.TEXT, json.dumps(body).encode())


def test_a_record_is_read_and_a_repeated_token_counts_once() -> None:
    meter = Meter()
    first = meter.take(record(ClientToken="t"), 0)
    assert (first.dimension, first.units, first.token, first.repeated) == ("characters", 3, "t", False)
    assert meter.take(record(ClientToken="t"), 1).repeated
    assert not meter.take(record(ClientToken="u"), 2).repeated
    assert not Meter().take(record(ClientToken="t"), 3).repeated  # per connection


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (Frame(Opcode.BINARY, record().data), "no TEXT frame"),
        (replace(record(), fin=False), "no TEXT frame"),
        (Frame(Opcode.TEXT, b"{"), "no JSON"),
        (Frame(Opcode.TEXT, b"\xff"), "no JSON"),
        (Frame(Opcode.TEXT, b"[]"), "not of the form"),
        (Frame(Opcode.TEXT, b'{"Metering": {"Dimension": "d"}}'), "not of the form"),
        (record("d" * 129), "1 to 128 characters"),
        (record(""), "1 to 128 characters"),
        (record(units=0), "a number over 0"),
        (record(units=-1), "a number over 0"),
        (record(units=True), "a number over 0"),
        (record(units="3"), "a number over 0"),
        (record(units=float("inf")), "a number over 0"),
        (record(units=float("nan")), "a number over 0"),
        (record(units=2**53 + 1), "at most 2"),
        (record(units=10**400), "at most 2"),
        (record(ClientToken="t" * 65), "1 to 64 characters"),
        (record("d" * 100, ClientToken="t" * 60, Other="x" * 400), "at most 512 are allowed"),
    ],
)
def test_what_is_no_record_is_dropped_with_its_reason(frame: Frame, why: str) -> None:
    meter = Meter()
    with pytest.raises(BadRecordError, match=why):
        meter.take(frame, 0)
    assert meter.take(record(), 1).units == 3  # the connection stays


def test_a_dimension_that_cannot_be_printed_is_told_in_a_way_that_can() -> None:
    assert str(Meter().take(record("\ud83d"), 0)) == "\\ud83d: 3"


def test_more_than_one_message_a_second_is_dropped() -> None:
    meter = Meter()
    meter.take(record(), 0.3)  # late
    meter.take(record(), 1.0)  # on time
    with pytest.raises(BadRecordError, match="more than one message in 1 s"):
        meter.take(record(), 1.1)
    meter.take(record(), 2.2)


@given(st.binary(max_size=600))
def test_no_message_can_do_more_than_be_refused(data: bytes) -> None:
    try:
        Meter().take(Frame(Opcode.TEXT, data), 0)
    except BadRecordError as error:
        assert str(error)  # noqa: PT017  # whatever it is, it says something


def test_an_offer_is_read_from_the_headers_of_the_101() -> None:
    def offer(**headers: str) -> MeterOffer | None:
        return MeterOffer.of(
            [(f"x-amzn-sagemaker-metadata-{name.replace('_', '-')}", v) for name, v in headers.items()]
        )

    assert offer() is None
    assert offer(stream_supported="false") is None
    assert offer(stream_supported="true") == MeterOffer(DEFAULT, required=False)
    assert offer(stream_supported="True", stream_required="TRUE", invocation_path="/m") == MeterOffer(
        "/m", required=True
    )
    elsewhere = offer(stream_supported="true", invocation_path="http://example.com/")
    assert elsewhere is not None
    assert "is no path" in (elsewhere.problem or "")


class Stage:
    """A container that echoes on its data socket, and whose metering socket a test scripts."""

    def __init__(self, state: Path, headers: dict[str, str], script: Any, switches: Switches = UNSIGNED) -> None:
        self._state, self._headers, self._script, self._switches = state, headers, script, switches
        self.requests: list[Request] = []
        self.meter_closed: asyncio.Queue[int | None] = asyncio.Queue()

    def _respond(self, _: ServerConnection, request: Request, response: Response) -> Response | None:
        self.requests.append(request)
        if "metadata" not in request.path and request.path != "/m":
            response.headers.update(self._headers)
        return response

    async def _serve(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        if connection.request.path == "/invocations-bidirectional-stream":
            async for message in connection:
                await connection.send(message)
            return
        await self._script(connection)
        await connection.wait_closed()
        self.meter_closed.put_nowait(connection.close_code)

    def _refuse(self, connection: ServerConnection, request: Request) -> Response | None:
        if self._script is None and "metadata" in request.path:
            return connection.respond(HTTPStatus.NOT_FOUND, "no metering here")
        return None

    async def __aenter__(self) -> Self:
        self._server = await serve(
            self._serve, "127.0.0.1", 0, process_request=self._refuse, process_response=self._respond, compression=None
        )
        port = next(iter(self._server.sockets)).getsockname()[1]
        endpoint = Endpoint(f"ws://127.0.0.1:{port}")
        self.emulator = await Server(
            {"ep": endpoint}, switches=self._switches, state_directory=self._state
        ).__aenter__()
        self.client = await RawClient(
            int(self.emulator.url.rsplit(":", 1)[1]), self.emulator.certificates.ca
        ).__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.__aexit__(None, None, None)
        await self.emulator.__aexit__(None, None, None)
        self._server.close()
        await self._server.wait_closed()

    def log(self) -> str:
        return "\n".join(self.emulator.data_plane.traces[-1].lines())

    async def end(self, stream: int) -> None:
        await self.client.send(stream, event(b"still here", "UTF8"))
        assert (await self.client.message(stream)).payload == b"still here"
        await self.client.send(stream, END_OF_INPUT, end=True)
        assert await self.client.next(stream) == "END_STREAM"


async def test_a_record_larger_than_any_float_leaves_the_session_alone(state_directory: Path) -> None:
    taken = asyncio.Event()

    async def script(connection: ServerConnection) -> None:
        await connection.send(record(units=10**400).data.decode())
        await connection.send(record().data.decode())
        await (await connection.ping())
        taken.set()

    async with Stage(state_directory, {SUPPORTED: "true"}, script) as on:
        stream = await on.client.open()
        assert await on.client.status(stream) == 200
        await asyncio.wait_for(taken.wait(), 5)
        await on.end(stream)
        assert "meter     dropped, ConsumedUnits is 1000" in on.log()
        assert on.emulator.data_plane.traces[-1].metered == {"characters": 3}


async def test_records_are_counted_and_the_socket_closes_with_the_session(state_directory: Path) -> None:
    sent = asyncio.Event()

    async def script(connection: ServerConnection) -> None:
        await connection.send(record(ClientToken="t").data.decode())
        await connection.send('{"Metering": 1}')
        sent.set()

    async with Stage(state_directory, {SUPPORTED: "true"}, script) as on:
        stream = await on.client.open()
        assert await on.client.status(stream) == 200
        await sent.wait()
        await on.end(stream)
        assert await on.meter_closed.get() == 1000
        data, meter = on.requests
        assert meter.path == DEFAULT
        name = "X-Amzn-SageMaker-Request-Id"
        assert meter.headers[name] == data.headers[name] == on.client.headers(stream)["x-amzn-requestid"]
        assert on.emulator.data_plane.traces[-1].metered == {"characters": 3}
        assert "meter     characters: 3, token 't'" in on.log()
        assert "meter     dropped, not of the form" in on.log()


@pytest.mark.parametrize(
    ("headers", "switches"), [({}, UNSIGNED), ({SUPPORTED: "true"}, replace(UNSIGNED, metering="off"))]
)
async def test_without_an_offer_or_switched_off_there_is_no_second_socket(
    headers: dict[str, str], switches: Switches, state_directory: Path
) -> None:
    async with Stage(state_directory, headers, None, switches) as on:
        stream = await on.client.open()
        assert await on.client.status(stream) == 200
        await on.end(stream)
        assert len(on.requests) == 1


async def test_a_required_socket_that_is_refused_is_424_and_another_is_only_noted(state_directory: Path) -> None:
    async with Stage(state_directory, {SUPPORTED: "true", REQUIRED: "true"}, None) as on:
        stream = await on.client.open()
        assert await on.client.status(stream) == 424
        await on.client.next(stream)
        assert b"no metering socket: the container answered the upgrade with HTTP 404" in on.client.body(stream)
    async with Stage(state_directory, {SUPPORTED: "true"}, None) as on:
        stream = await on.client.open()
        assert await on.client.status(stream) == 200
        await on.end(stream)
        assert "no metering socket" in on.log()


async def test_a_path_of_another_host_is_not_dialled(state_directory: Path) -> None:
    headers = {SUPPORTED: "true", REQUIRED: "true", PATH: "ws://example.com/x"}
    async with Stage(state_directory, headers, None) as on:
        stream = await on.client.open()
        assert await on.client.status(stream) == 424
        await on.client.next(stream)
        assert b"is no path" in on.client.body(stream)
        assert len(on.requests) == 1


@pytest.mark.parametrize(
    ("drop", "ends"), [("model-error", ["ModelStreamError", "END_STREAM"]), ("clean", ["END_STREAM"])]
)
async def test_a_required_socket_that_is_lost_ends_the_session(
    drop: Any, ends: list[str], state_directory: Path
) -> None:
    headers = {SUPPORTED: "true", REQUIRED: "true", PATH: "/m"}

    async def script(connection: ServerConnection) -> None:
        await connection.close(1011, "billing is down")

    async with Stage(state_directory, headers, script, replace(UNSIGNED, meter_drop=drop)) as on:
        stream = await on.client.open()
        assert await on.client.status(stream) == 200
        for end in ends:
            message = await on.client.next(stream)
            if isinstance(message, str):
                assert message == end
            else:
                assert message.string(":exception-type") == end
                assert "1011 'billing is down'" in message.payload.decode()


async def test_a_socket_that_is_not_required_may_be_lost(state_directory: Path) -> None:
    lost = asyncio.Event()

    async def script(connection: ServerConnection) -> None:
        connection.transport.abort()
        lost.set()

    async with Stage(state_directory, {SUPPORTED: "true"}, script) as on:
        stream = await on.client.open()
        assert await on.client.status(stream) == 200
        await lost.wait()
        await on.end(stream)
        assert "dropped the metering socket" in on.log()
