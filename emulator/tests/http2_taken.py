"""What looks wrong in HTTP/2 and is not: RFC 9113, frame by frame."""

from hyperframe.frame import DataFrame

from emulator.tests.client import event
from emulator.tests.frames_client import REQUEST, FramesClient, frame
from emulator.tests.http2_cases import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    HEADERS,
    PADDED,
    PING,
    PRIORITISED,
    PRIORITY,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    Case,
    increment,
    setting,
)

NO_ERROR: dict[str, Case] = {}
"""What a server must take."""


def is_taken(case: Case) -> Case:
    NO_ERROR[case.__name__] = case
    return case


@is_taken
async def unknown_frames_flags_and_settings(client: FramesClient) -> None:
    await client.send(frame(200, 255, 0, bytes(100)), frame(PING, ACK | 0xFE, 0, bytes(8)))
    await client.send(frame(SETTINGS, 0, 0, setting(0x55, 7)))


@is_taken
async def the_reserved_bit_of_the_stream_number(client: FramesClient) -> None:
    await client.send(frame(WINDOW_UPDATE, 0, 2**31, increment(1)))


@is_taken
async def an_acknowledgement_of_a_ping_that_nobody_sent(client: FramesClient) -> None:
    await client.send(frame(PING, ACK, 0, b"whatever"))


@is_taken
async def priority_of_idle_and_closed_streams(client: FramesClient) -> None:
    await client.send(frame(PRIORITY, 0, 9, bytes(5)))
    await client.send(client.request(), frame(RST_STREAM, 0, 1, bytes(4)), frame(PRIORITY, 0, 1, bytes(5)))


@is_taken
async def window_for_a_closed_stream(client: FramesClient) -> None:
    await client.send(client.request(), frame(RST_STREAM, 0, 1, bytes(4)), frame(WINDOW_UPDATE, 0, 1, increment(5)))


@is_taken
async def a_header_block_in_many_frames(client: FramesClient) -> None:
    block = client.block(REQUEST)
    await client.send(frame(HEADERS, 0, 1, block[:3]))
    for at in range(3, len(block) - 4, 4):
        await client.send(frame(CONTINUATION, 0, 1, block[at : at + 4]))
    rest = 3 + (len(block) - 4 - 3 + 3) // 4 * 4
    await client.send(frame(CONTINUATION, END_HEADERS, 1, block[rest:]))
    assert await client.status() == 200


@is_taken
async def padding_everywhere(client: FramesClient) -> None:
    block = client.block(REQUEST)
    await client.send(frame(HEADERS, END_HEADERS | PADDED, 1, b"\x05" + block + bytes(5)))
    assert await client.status() == 200
    await client.send(frame(DATA, PADDED, 1, b"\xff" + event(b"hello") + bytes(255)))
    assert b"hello" in await client.data(1, 30)


@is_taken
async def headers_with_a_priority(client: FramesClient) -> None:
    block = client.block(REQUEST)
    await client.send(frame(HEADERS, END_HEADERS | PRIORITISED, 1, bytes(4) + b"\x0f" + block))
    assert await client.status() == 200


@is_taken
async def a_window_of_one_byte_and_more_later(client: FramesClient) -> None:
    await client.send(frame(SETTINGS, 0, 0, setting(4, 1)), client.request())
    assert await client.status() == 200
    await client.send(frame(DATA, 0, 1, event(b"hello")))
    first = await client.until(DataFrame, 1)
    assert len(first.data) == 1
    await client.send(frame(WINDOW_UPDATE, 0, 1, increment(1000)))
    assert b"hello" in await client.data(1, 30)


@is_taken
async def a_window_that_becomes_negative(client: FramesClient) -> None:
    await client.send(frame(SETTINGS, 0, 0, setting(4, 40)), client.request())
    assert await client.status() == 200
    await client.send(frame(DATA, 0, 1, event(b"hello")))
    assert len(await client.data(1, 40)) == 40
    await client.send(frame(SETTINGS, 0, 0, setting(4, 10)), frame(WINDOW_UPDATE, 0, 1, increment(31)))
    assert len((await client.until(DataFrame, 1)).data) == 1
