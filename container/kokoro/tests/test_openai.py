"""`POST /v1/audio/speech` and its request shape, MP3, whole files, metrics, logs."""

import asyncio
import io
import json
import logging
import socket
import struct
import wave
from collections.abc import AsyncIterator

import httpx
import pytest

from container.kokoro import formats, logs
from container.kokoro.settings import Settings
from container.kokoro.tests.client import TIMEOUT_S, ask
from container.kokoro.tests.conftest import Served, metric, serve
from container.kokoro.tests.servers import session as open_session

HELLO = len("Hello there.") * 2_400
"""Bytes of PCM."""


@pytest.fixture
async def http(served: Served) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{served.port}", timeout=TIMEOUT_S) as client:
        yield client


@pytest.mark.parametrize("path", ["/v1/audio/speech", "/invocations"])
async def test_the_shape_of_openai(http: httpx.AsyncClient, path: str) -> None:
    body = {"model": "kokoro", "input": "Hello there.", "voice": "bf_emma", "response_format": "pcm", "speed": 2}
    answer = await http.post(path, json=body)
    assert answer.status_code == 200
    assert len(answer.content) == HELLO / 2


@pytest.mark.parametrize(
    ("body", "status", "param", "code"),
    [
        ({"input": ""}, 400, "input", "text_required"),
        ({"input": "x", "voice": "shimmer"}, 400, "voice", "unknown_voice"),
        ({"input": "x", "voice": "af_heart", "response_format": "flac"}, 400, "response_format", "invalid_format"),
        ({"input": "x", "speed": 4}, 400, "speed", "invalid_speed"),
        ({"input": "x", "stream_format": "sse"}, 400, "stream_format", "invalid_stream_format"),
        ({"input": "boom"}, 500, None, "synthesis_failed"),
        ({}, 400, "input", "text_required"),
    ],
)
async def test_refusals_have_the_shape_of_openai(
    http: httpx.AsyncClient, body: dict[str, object], status: int, param: str | None, code: str
) -> None:
    answer = await http.post("/v1/audio/speech", json=body)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert (error["param"], error["code"]) == (param, code)
    assert error["message"]
    assert error["type"] == ("server_error" if status == 500 else "invalid_request_error")


@pytest.mark.skipif(not formats.is_available("mp3"), reason="the extra 'mp3' is not installed")
@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 24_000])
async def test_mp3_is_frames_of_the_right_length_and_any_part_can_be_played(http: httpx.AsyncClient, rate: int) -> None:
    text = "Hello there. And a second sentence."
    body = {"text": text, "format": "mp3", "sample_rate": rate}
    async with http.stream("POST", "/invocations", json=body) as answer:
        assert answer.headers["content-type"] == "audio/mpeg"
        assert "content-length" not in answer.headers
        audio = b"".join([part async for part in answer.aiter_bytes()])
    assert audio[0] == 0xFF  # a frame begins with eleven set bits
    assert audio[1] & 0xE0 == 0xE0
    seconds = len(audio) * 8 / 64_000
    assert seconds == pytest.approx(0.05 * (len(text) - 1), abs=0.25)


@pytest.mark.skipif(not formats.is_available("mp3"), reason="the extra 'mp3' is not installed")
async def test_mp3_of_nothing_is_nothing_and_openai_gets_mp3_by_default(http: httpx.AsyncClient) -> None:
    assert (await http.post("/invocations", json={"text": "...", "format": "mp3"})).content == b""
    answer = await http.post("/v1/audio/speech", json={"input": "Hello there.", "voice": "af_heart"})
    assert answer.headers["content-type"] == "audio/mpeg"


async def test_without_the_encoder_mp3_is_refused_by_name(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "is_available", lambda name: name != "mp3")
    answer = await http.post("/invocations", json={"text": "x", "format": "mp3"})
    assert answer.status_code == 400
    assert "it needs the extra 'mp3'" in answer.json()["error"]


async def test_a_whole_file_has_real_sizes_and_says_what_it_took(http: httpx.AsyncClient) -> None:
    answer = await http.post("/invocations", json={"text": "Hello there.", "format": "wav", "stream": False})
    assert answer.headers["content-length"] == str(44 + HELLO)
    with wave.open(io.BytesIO(answer.content)) as file:
        assert file.getnframes() == HELLO // 2
    assert float(answer.headers["x-audio-duration"]) == pytest.approx(0.6)
    assert answer.headers["x-characters-processed"] == "12"
    assert (await http.post("/invocations", json={"text": "boom", "stream": False})).status_code == 500
    assert (await http.post("/invocations", json={"text": "x", "stream": "no"})).json()["code"] == "invalid_stream"


@pytest.mark.parametrize("stream", [True, False])
async def test_who_hangs_up_before_the_first_byte_is_noticed(stream: bool) -> None:
    with serve(Settings()) as served:
        async with open_session(served.port) as ws:
            await ws.send('{"text": "hold"}')
            assert await asyncio.to_thread(served.engine.holding.wait, TIMEOUT_S)
            body = json.dumps({"text": "Never heard.", "stream": stream}).encode()
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(b"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            await served.settled("kokoro_requests_in_flight", 1, transport="http")
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            del reader
            await served.settled("kokoro_requests_in_flight", 0, transport="http")
            served.engine.release.set()
        assert served.metric("kokoro_requests_total", transport="http", outcome="disconnected") == 1
        assert "Never heard." not in served.engine.spoken


async def test_who_hangs_up_in_the_middle_of_the_body_is_counted_and_no_error(
    served: Served, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    _, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(b'POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"text"')
    await writer.drain()
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{served.port}") as other:
        await other.get("/ping")  # by now the request has begun
    writer.close()
    await served.settled("kokoro_requests_total", 1, transport="http", outcome="disconnected")
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{served.port}") as other:
        await other.get("/ping")  # by now it has ended
    lines = [json.loads(logs.JsonFormatter().format(record)) for record in caplog.records]
    assert [line["outcome"] for line in lines if "outcome" in line] == ["disconnected"]
    assert not [record for record in caplog.records if record.exc_info]
    assert "Traceback" not in capfd.readouterr().err


async def test_metrics(served: Served, http: httpx.AsyncClient) -> None:
    async with open_session(served.port) as ws:
        await ask(ws, {"text": "Hello there."})
        await ask(ws, {"text": ""})
        await ask(ws, {"text": "boom"})
        await http.post("/invocations", json={"text": "Hello there."})
        answer = await http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert metric(answer.text, "kokoro_sessions") == 1
    assert metric(answer.text, "kokoro_ready") == 1
    assert metric(answer.text, "kokoro_waiting") == 0
    for outcome, count in (("complete", 1), ("refused", 1), ("failed", 1)):
        assert metric(answer.text, "kokoro_requests_total", transport="websocket", outcome=outcome) == count
    assert metric(answer.text, "kokoro_first_audio_seconds_count", transport="http") == 1
    assert metric(answer.text, "kokoro_audio_seconds_total") == pytest.approx(1.2)
    assert metric(answer.text, "kokoro_real_time_factor_count") == 2
    assert metric(answer.text, "kokoro_queue_seconds_count", transport="websocket") == 2
    assert metric(answer.text, "kokoro_characters_total") == 28
    assert metric(answer.text, "kokoro_limit", what="sessions") == 64
    assert metric(answer.text, "kokoro_model_info", description="fake") == 1


async def test_a_line_for_each_request_and_no_text_of_a_client(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with open_session(served.port) as ws:
        await ask(ws, {"text": "A secret sentence.", "request_id": "r1"})
        await ask(ws, {"text": "A secret boom.", "request_id": "r2"})
        await ask(ws, '{"text": "A secret that is no JSON')
    lines = [json.loads(logs.JsonFormatter().format(record)) for record in caplog.records]
    [line] = [line for line in lines if line.get("request_id") == "r1"]
    assert (line["outcome"], line["transport"], line["characters"]) == ("complete", "websocket", 18)
    assert line["audio_s"] == 0.9
    assert line["first_audio_s"] >= 0
    assert line["real_time_factor"] >= 0
    assert line["sessions"] == 1
    assert line["waiting"] == 0
    assert line["queued_s"] >= 0
    assert [line["outcome"] for line in lines if line.get("request_id") == "r2"] == ["failed"]
    assert "secret sentence" not in json.dumps(lines)
    assert "secret that" not in json.dumps(lines)


def test_both_formats_of_the_log() -> None:
    record = logging.LogRecord("name", logging.INFO, "file", 1, "said %s", ("so",), None)
    record.fields = {"sessions": 2, "voice": "af\nheart"}
    text, line = logs.TextFormatter().format(record), json.loads(logs.JsonFormatter().format(record))
    assert text.endswith('INFO name: said so sessions=2 voice="af\\nheart"')
    assert line.items() >= {"level": "INFO", "message": "said so", "sessions": 2, "voice": "af\nheart"}.items()


def test_what_an_exception_quotes_is_not_told() -> None:
    try:
        {"a": 1}["a secret"]
    except KeyError as error:
        told = logs.where(error)
    assert told.startswith("KeyError at\n")
    assert "test_what_an_exception" in told
    assert "'a secret'" not in told.split("\n")[0]
