"""What a client can do wrong in HTTP/2: RFC 9113, frame by frame."""

from collections.abc import Awaitable, Callable

from hyperframe.frame import DataFrame

from emulator.tests.frames_client import REQUEST, FramesClient, frame

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITISED = 1, 1, 4, 8, 32

Case = Callable[[FramesClient], Awaitable[None]]
CONNECTION: dict[str, tuple[Case, str]] = {}
"""Errors that end the connection: what to send, and the code of the GOAWAY."""
STREAM: dict[str, tuple[Case, str]] = {}
"""Errors that end a stream and leave the others alone."""


def ends_connection(code: str) -> Callable[[Case], Case]:
    def note(case: Case) -> Case:
        CONNECTION[case.__name__] = case, code
        return case

    return note


def ends_stream(code: str) -> Callable[[Case], Case]:
    def note(case: Case) -> Case:
        STREAM[case.__name__] = case, code
        return case

    return note


def increment(value: int) -> bytes:
    return value.to_bytes(4)


def setting(identifier: int, value: int) -> bytes:
    return identifier.to_bytes(2) + value.to_bytes(4)


# 4.2, 4.3: frame size, compression


@ends_connection("FRAME_SIZE_ERROR")
async def headers_larger_than_the_largest_frame(client: FramesClient) -> None:
    await client.send(frame(HEADERS, END_HEADERS, 1, bytes(16_385)))


@ends_connection("FRAME_SIZE_ERROR")
async def data_larger_than_the_largest_frame(client: FramesClient) -> None:
    await client.send(client.request(), frame(DATA, 0, 1, bytes(16_385)))


@ends_connection("FRAME_SIZE_ERROR")
async def the_head_alone_of_a_frame_that_is_too_large(client: FramesClient) -> None:
    await client.send(client.request(), frame(DATA, 0, 1, b"", length=2**24 - 1))


@ends_connection("COMPRESSION_ERROR")
async def a_header_block_that_is_no_hpack(client: FramesClient) -> None:
    await client.send(frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff\xff\xff"))


@ends_connection("COMPRESSION_ERROR")
async def trailers_that_are_no_hpack(client: FramesClient) -> None:
    await client.send(client.request(), frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x80"))


@ends_connection("PROTOCOL_ERROR")
async def another_frame_inside_a_header_block(client: FramesClient) -> None:
    block = client.block(REQUEST)
    await client.send(frame(HEADERS, 0, 1, block[:5]), frame(PRIORITY, 0, 1, bytes(5)))


@ends_connection("PROTOCOL_ERROR")
async def a_header_block_of_another_stream_inside_a_header_block(client: FramesClient) -> None:
    block = client.block(REQUEST)
    await client.send(frame(HEADERS, 0, 1, block[:5]), frame(HEADERS, END_HEADERS, 3, block))


@ends_connection("PROTOCOL_ERROR")
async def an_unknown_frame_inside_a_header_block(client: FramesClient) -> None:
    await client.send(frame(HEADERS, 0, 1, client.block(REQUEST)[:5]), frame(200, 0, 0, bytes(8)))


# 5.1: states of a stream


@ends_connection("PROTOCOL_ERROR")
async def data_on_an_idle_stream(client: FramesClient) -> None:
    await client.send(frame(DATA, 0, 1, b"x"))


@ends_connection("PROTOCOL_ERROR")
async def a_reset_of_an_idle_stream(client: FramesClient) -> None:
    await client.send(frame(RST_STREAM, 0, 1, bytes(4)))


@ends_connection("PROTOCOL_ERROR")
async def window_for_an_idle_stream(client: FramesClient) -> None:
    await client.send(frame(WINDOW_UPDATE, 0, 1, increment(100)))


@ends_connection("PROTOCOL_ERROR")
async def a_continuation_of_nothing(client: FramesClient) -> None:
    await client.send(frame(CONTINUATION, END_HEADERS, 1, client.block(REQUEST)))


@ends_connection("PROTOCOL_ERROR")
async def a_continuation_behind_a_whole_header_block(client: FramesClient) -> None:
    await client.send(client.request(), frame(CONTINUATION, END_HEADERS, 1, client.block(REQUEST)))


@ends_connection("PROTOCOL_ERROR")
async def a_stream_with_an_even_number(client: FramesClient) -> None:
    await client.send(client.request(2))


@ends_connection("PROTOCOL_ERROR")
async def a_stream_with_a_lower_number_than_the_last(client: FramesClient) -> None:
    await client.send(client.request(5), client.request(3))


@ends_connection("STREAM_CLOSED")
async def headers_on_a_stream_that_both_sides_ended(client: FramesClient) -> None:
    await client.send(client.request(end=True))
    assert await client.status() == 200
    while not (await client.until(DataFrame, 1)).flags:  # the answer's END_STREAM
        pass
    await client.send(client.request())


# 6: fields of frames


@ends_connection("PROTOCOL_ERROR")
async def data_on_stream_0(client: FramesClient) -> None:
    await client.send(frame(DATA, 0, 0, b"x"))


@ends_connection("PROTOCOL_ERROR")
async def data_with_more_padding_than_payload(client: FramesClient) -> None:
    await client.send(client.request(), frame(DATA, PADDED, 1, b"\x06\x00\x00\x00\x00\x00"))


@ends_connection("PROTOCOL_ERROR")
async def headers_on_stream_0(client: FramesClient) -> None:
    await client.send(client.request(0))


@ends_connection("PROTOCOL_ERROR")
async def headers_with_more_padding_than_payload(client: FramesClient) -> None:
    await client.send(frame(HEADERS, PADDED | END_HEADERS, 1, b"\x06\x00\x00"))


@ends_connection("PROTOCOL_ERROR")
async def priority_on_stream_0(client: FramesClient) -> None:
    await client.send(frame(PRIORITY, 0, 0, bytes(5)))


@ends_connection("FRAME_SIZE_ERROR")
async def priority_of_a_wrong_size(client: FramesClient) -> None:  # 6.3: of the stream; 5.4: may be of the connection
    await client.send(client.request(), frame(PRIORITY, 0, 1, bytes(4)))


@ends_connection("PROTOCOL_ERROR")
async def a_reset_of_stream_0(client: FramesClient) -> None:
    await client.send(frame(RST_STREAM, 0, 0, bytes(4)))


@ends_connection("FRAME_SIZE_ERROR")
async def a_reset_of_a_wrong_size(client: FramesClient) -> None:
    await client.send(client.request(), frame(RST_STREAM, 0, 1, bytes(3)))


@ends_connection("FRAME_SIZE_ERROR")
async def settings_of_a_wrong_size(client: FramesClient) -> None:
    await client.send(frame(SETTINGS, 0, 0, bytes(5)))


@ends_connection("FRAME_SIZE_ERROR")
async def an_acknowledgement_of_settings_with_a_payload(client: FramesClient) -> None:
    await client.send(frame(SETTINGS, ACK, 0, bytes(6)))


@ends_connection("PROTOCOL_ERROR")
async def settings_on_a_stream(client: FramesClient) -> None:
    await client.send(frame(SETTINGS, 0, 1, setting(4, 100)))


@ends_connection("PROTOCOL_ERROR")
async def a_setting_of_push_that_is_no_truth_value(client: FramesClient) -> None:
    await client.send(frame(SETTINGS, 0, 0, setting(2, 2)))


@ends_connection("FLOW_CONTROL_ERROR")
async def a_setting_of_the_window_over_its_maximum(client: FramesClient) -> None:
    await client.send(frame(SETTINGS, 0, 0, setting(4, 2**31)))


@ends_connection("PROTOCOL_ERROR")
async def a_setting_of_the_frame_size_under_its_minimum(client: FramesClient) -> None:
    await client.send(frame(SETTINGS, 0, 0, setting(5, 16_383)))


@ends_connection("PROTOCOL_ERROR")
async def a_setting_of_the_frame_size_over_its_maximum(client: FramesClient) -> None:
    await client.send(frame(SETTINGS, 0, 0, setting(5, 2**24)))


@ends_connection("PROTOCOL_ERROR")
async def a_push_promise_of_a_client(client: FramesClient) -> None:
    await client.send(client.request(), frame(PUSH_PROMISE, END_HEADERS, 1, (2).to_bytes(4) + client.block(REQUEST)))


@ends_connection("PROTOCOL_ERROR")
async def a_ping_on_a_stream(client: FramesClient) -> None:
    await client.send(frame(PING, 0, 1, bytes(8)))


@ends_connection("FRAME_SIZE_ERROR")
async def a_ping_of_a_wrong_size(client: FramesClient) -> None:
    await client.send(frame(PING, 0, 0, bytes(6)))


@ends_connection("PROTOCOL_ERROR")
async def a_goaway_on_a_stream(client: FramesClient) -> None:
    await client.send(frame(GOAWAY, 0, 1, bytes(8)))


@ends_connection("PROTOCOL_ERROR")
async def no_window_for_the_connection(client: FramesClient) -> None:
    await client.send(frame(WINDOW_UPDATE, 0, 0, increment(0)))


@ends_connection("PROTOCOL_ERROR")
async def no_window_for_a_stream(client: FramesClient) -> None:  # 6.9: of the stream; 5.4: may be of the connection
    await client.send(client.request(), frame(WINDOW_UPDATE, 0, 1, increment(0)))


@ends_connection("FRAME_SIZE_ERROR")
async def window_of_a_wrong_size(client: FramesClient) -> None:
    await client.send(frame(WINDOW_UPDATE, 0, 0, bytes(3)))


@ends_connection("FLOW_CONTROL_ERROR")
async def too_much_window_for_the_connection(client: FramesClient) -> None:
    await client.send(frame(WINDOW_UPDATE, 0, 0, increment(2**31 - 1)))


@ends_connection("FLOW_CONTROL_ERROR")
async def a_setting_that_makes_a_stream_s_window_too_large(client: FramesClient) -> None:
    await client.send(client.request(), frame(WINDOW_UPDATE, 0, 1, increment(2**30)))
    await client.send(frame(SETTINGS, 0, 0, setting(4, 2**31 - 1)))


@ends_connection("FLOW_CONTROL_ERROR")
async def more_data_than_the_stream_s_window(client: FramesClient) -> None:  # 6.9.1: of either
    await client.send(client.request())
    chunk = frame(DATA, 0, 1, bytes(16_384))
    for _ in range(5):  # without heed of the window, which is 65,535
        await client.send(chunk)


# 8.1, 8.2, 8.3: malformed requests


def malformed(name: str, *added: tuple[str, str], without: str = "", first: bool = False) -> None:
    """Note a request head that differs from a good one in headers at its end, or at its beginning."""

    async def case(client: FramesClient) -> None:
        kept = [header for header in REQUEST if header[0] != without]
        await client.send(client.request(headers=[*added, *kept] if first else [*kept, *added]))

    STREAM[name] = case, "PROTOCOL_ERROR"


malformed("a_header_name_in_upper_case", ("X-Test", "ok"))
malformed("an_unknown_pseudo_header", (":test", "ok"), first=True)
malformed("a_pseudo_header_of_responses", (":status", "200"), first=True)
malformed("a_pseudo_header_behind_others", (":authority", "localhost"), without=":authority")
malformed("a_pseudo_header_twice", (":method", "POST"), first=True)
malformed("no_method", without=":method")
malformed("no_scheme", without=":scheme")
malformed("no_path", without=":path")
malformed("an_empty_path", (":path", ""), without=":path", first=True)
malformed("a_header_of_the_connection", ("connection", "keep-alive"))
malformed("a_transfer_encoding", ("transfer-encoding", "chunked"))
malformed("te_other_than_trailers", ("te", "gzip"))
malformed("a_header_name_with_a_space", ("x test", "ok"))
malformed("a_header_value_with_a_line_feed", ("x-test", "a\nb"))
malformed("a_header_value_with_a_nul", ("x-test", "a\0b"))
malformed("a_header_value_that_begins_with_a_space", ("x-test", " a"))


@ends_stream("PROTOCOL_ERROR")
async def a_second_header_block_without_end_of_stream(client: FramesClient) -> None:
    await client.send(client.request(), client.request(headers=[("x-test", "ok")]))


@ends_stream("PROTOCOL_ERROR")
async def a_pseudo_header_in_trailers(client: FramesClient) -> None:
    await client.send(client.request(), client.request(end=True, headers=[(":method", "POST")]))


@ends_stream("PROTOCOL_ERROR")
async def less_data_than_the_content_length(client: FramesClient) -> None:
    await client.send(client.request(headers=[*REQUEST, ("content-length", "10")]), frame(DATA, END_STREAM, 1, b"x"))


@ends_stream("PROTOCOL_ERROR")
async def more_data_than_the_content_length(client: FramesClient) -> None:
    await client.send(client.request(headers=[*REQUEST, ("content-length", "1")]), frame(DATA, 0, 1, bytes(10)))


@ends_stream("STREAM_CLOSED")
async def data_on_a_stream_that_the_client_ended(client: FramesClient) -> None:
    await client.send(client.request(end=True), frame(DATA, 0, 1, b"x"))


@ends_stream("STREAM_CLOSED")
async def headers_on_a_stream_that_the_client_ended(client: FramesClient) -> None:
    await client.send(client.request(end=True), client.request(end=True, headers=[("x-test", "ok")]))


@ends_stream("STREAM_CLOSED")
async def data_on_a_stream_that_the_client_reset(client: FramesClient) -> None:
    await client.send(client.request(), frame(RST_STREAM, 0, 1, bytes(4)), frame(DATA, 0, 1, b"x"))


@ends_stream("FLOW_CONTROL_ERROR")
async def too_much_window_for_a_stream(client: FramesClient) -> None:
    await client.send(client.request(), frame(WINDOW_UPDATE, 0, 1, increment(2**31 - 1)))
