import asyncio
import io
import json
import logging
import threading
import wave
from collections.abc import AsyncIterator

import httpx
import numpy as np
import pytest

from container.kokoro import formats
from container.kokoro import speech as synthesis
from container.kokoro.app import create_app
from container.kokoro.errors import SetupError
from container.kokoro.pcm import Samples
from container.kokoro.phonemes import Reading
from container.kokoro.resampling import Resampler
from container.kokoro.speech import MAX_FAILURES, Speech
from container.kokoro.tests.client import TIMEOUT_S, ask
from container.kokoro.tests.conftest import Served
from container.kokoro.tests.fakes import FakeEngine, FakeReader, speech
from container.kokoro.tests.servers import SERVERS, serving
from container.kokoro.tests.servers import session as open_session


@pytest.fixture
async def http(served: Served) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{served.port}", timeout=TIMEOUT_S) as client:
        yield client


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
async def test_ping(http: httpx.AsyncClient, method: str) -> None:
    answer = await http.request(method, "/ping")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["x-kokoro-model"] == "fake"


async def test_pcm_is_the_default(http: httpx.AsyncClient) -> None:
    answer = await http.post("/invocations", json={"text": "Hello there. Again."})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "audio/pcm;rate=24000;channels=1"
    assert len(answer.content) == round(0.05 * 24_000) * 2 * len("Hello there.Again.")


async def test_wav(http: httpx.AsyncClient) -> None:
    answer = await http.post("/invocations", json={"text": "Hello there.", "format": "wav", "sample_rate": 8000})
    assert answer.headers["content-type"] == "audio/wav"
    with wave.open(io.BytesIO(answer.content)) as file:
        assert (file.getframerate(), file.getnchannels()) == (8000, 1)
    assert len(answer.content) == 44 + 2 * 4_800


async def test_blank_text_is_an_empty_success(http: httpx.AsyncClient) -> None:
    assert (await http.post("/invocations", json={"text": "..."})).content == b""
    assert len((await http.post("/invocations", json={"text": "...", "format": "wav"})).content) == 44


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"not json", 400, "invalid_json"),
        (b"\xff", 400, "invalid_utf8"),
        (b"[]", 400, "not_an_object"),
        (b"{}", 400, "text_required"),
        (b'{"text": "x", "voice": "nosuch"}', 400, "unknown_voice"),
        (b'{"text": "x", "speed": 9}', 400, "invalid_speed"),
        (b'{"text": "x", "format": "flac"}', 400, "invalid_format"),
        (b'{"text": "x", "format": []}', 400, "invalid_format"),
        (b'{"text": "boom"}', 500, "synthesis_failed"),
        (json.dumps({"text": "x" * 30_000}).encode(), 413, "text_too_long"),
        (b"x" * (2 << 20), 413, "body_too_large"),
    ],
)
async def test_errors_come_before_a_200(http: httpx.AsyncClient, body: bytes, status: int, code: str) -> None:
    for _ in range(3):  # no slot is lost to a bad request
        answer = await http.post("/invocations", content=body)
        assert answer.status_code == status
        assert answer.json()["code"] == code
        assert answer.json()["error"]
    assert (await http.post("/invocations", json={"text": "x"})).status_code == 200


async def test_a_failure_after_the_first_byte_breaks_the_answer_off(http: httpx.AsyncClient) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        await http.post("/invocations", json={"text": "Fine. Now boom."})


async def test_audio_is_streamed_and_a_lost_client_stops_the_work(served: Served, http: httpx.AsyncClient) -> None:
    text = "First. Now hold. " + "More. " * 50
    async with http.stream("POST", "/invocations", json={"text": text}) as answer:
        chunks = answer.aiter_bytes()  # kept: collected as garbage, it would hang up
        assert await anext(chunks)
        assert await asyncio.to_thread(served.engine.holding.wait, TIMEOUT_S)
        assert (await http.get("/ping")).status_code == 200
    async with open_session(served.port) as ws:
        assert (await ask(ws, {"text": ""})).kinds == ["error"]  # by now the loss was seen
    served.engine.release.set()
    assert (await http.post("/invocations", json={"text": "Next."})).status_code == 200
    assert served.engine.spoken[-1] == "Next."
    assert len(served.engine.spoken) < 10


@pytest.mark.parametrize("server", SERVERS)
async def test_not_ready_until_loaded_and_heard_once(server: str) -> None:
    may_load = threading.Event()
    engine = FakeEngine()

    def load() -> Speech:
        assert may_load.wait(20)
        return speech(engine)

    app = create_app(load)
    with serving(app, server) as port:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=TIMEOUT_S) as http:
            early = await http.get("/ping")
            assert early.status_code == 503
            assert early.json() == {"status": "unready", "reason": "the model is loading"}
            refused = await http.post("/invocations", json={"text": "x"})
            assert (refused.status_code, refused.json()["code"]) == (503, "not_ready")
            async with open_session(port) as ws:
                early_answer = await ask(ws, {"text": "x", "request_id": 9})
                assert (early_answer.last["code"], early_answer.last["request_id"]) == ("not_ready", 9)
                may_load.set()
                assert await asyncio.to_thread(app.state.model.done.wait, TIMEOUT_S)
                assert (await http.get("/ping")).status_code == 200
                assert (await ask(ws, {"text": "x"})).kinds == ["synthesis_start", "synthesis_complete"]


async def test_a_silent_warm_up_is_a_failure() -> None:
    class Silent(FakeEngine):
        def synthesise(self, phonemes: str, voice: str, speed: float) -> Samples:
            return super().synthesise(phonemes, voice, speed) * np.float32(0)

    silent = speech(Silent())
    failed = threading.Event()
    app = create_app(lambda: silent, on_failure=failed.set)
    with serving(app, "uvicorn") as port:
        assert await asyncio.to_thread(failed.wait, TIMEOUT_S)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
            answer = await http.get("/ping")
    assert answer.status_code == 503
    assert "silence" in answer.json()["reason"]


async def test_a_failed_load_is_told() -> None:
    def load() -> Speech:
        raise SetupError("no weights here; put them there")

    failed = threading.Event()
    app = create_app(load, on_failure=failed.set)
    with serving(app, "uvicorn") as port:
        assert await asyncio.to_thread(failed.wait, TIMEOUT_S)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
            assert "no weights here" in (await http.get("/ping")).json()["reason"]
    assert app.state.model.failure == "no weights here; put them there"


async def test_a_broken_model_is_unhealthy_until_it_works_again(
    served: Served, http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    del served
    for _ in range(MAX_FAILURES):
        assert (await http.get("/ping")).status_code == 200
        await http.post("/invocations", json={"text": "boom"})
    assert (await http.get("/ping")).status_code == 503
    await http.post("/invocations", json={"text": "fine"})
    assert (await http.get("/ping")).status_code == 200


async def test_a_language_that_cannot_be_read_makes_no_broken_model(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)

    class English(FakeReader):
        def read(self, text: str, language: str) -> Reading:
            if language != "a":
                raise RuntimeError("espeak-ng did not start")
            return super().read(text, language)

    app = create_app(lambda: Speech(FakeEngine(), English()))
    with serving(app, "uvicorn") as port:
        assert await asyncio.to_thread(app.state.model.done.wait, TIMEOUT_S)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=TIMEOUT_S) as http:
            for _ in range(MAX_FAILURES):
                answer = await http.post("/invocations", json={"text": "Hello.", "voice": "bf_emma"})
                assert answer.json()["code"] == "synthesis_failed"
            assert (await http.get("/ping")).status_code == 200
            assert (await http.post("/invocations", json={"text": "Hello."})).status_code == 200


class SlowEncoder:
    """Takes until `release` is set."""

    media_type = "audio/wav"

    def __init__(self) -> None:
        self.begun, self.release = threading.Event(), threading.Event()

    def begin(self, size: int | None = None) -> bytes:
        del size
        return b""

    def feed(self, frame: bytes) -> bytes:
        self.begun.set()
        assert self.release.wait(TIMEOUT_S), "nobody else was served meanwhile"
        return frame

    def end(self) -> bytes:
        return b""


async def test_others_are_served_while_a_whole_answer_is_encoded(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder, real = SlowEncoder(), formats.encoder
    monkeypatch.setattr(formats, "encoder", lambda name, rate: encoder if name == "wav" else real(name, rate))
    body = {"text": "Hello there.", "format": "wav", "stream": False}
    whole = asyncio.ensure_future(http.post("/invocations", json=body))
    assert await asyncio.to_thread(encoder.begun.wait, TIMEOUT_S)
    assert (await http.get("/ping")).status_code == 200
    encoder.release.set()
    assert len((await whole).content) == 12 * 2_400


async def test_others_are_served_while_the_rate_of_a_whole_answer_is_converted(
    served: Served, http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, seen = 0, []

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    class Watched(Resampler):
        def feed(self, samples: Samples) -> Samples:
            seen.append(turns)
            return super().feed(samples)

    monkeypatch.setattr(synthesis, "Resampler", Watched)
    others = asyncio.run_coroutine_threadsafe(count(), served.loop)
    body = {"text": "A sentence " + "of words " * 20, "sample_rate": 8000, "stream": False}
    assert (await http.post("/invocations", json=body)).status_code == 200
    others.cancel()
    assert len(seen) > 20
    assert len(set(seen)) > len(seen) / 2, "the conversion kept the loop for itself"


@pytest.mark.parametrize(("path", "name"), [("/invocations", "text"), ("/v1/audio/speech", "input")])
@pytest.mark.parametrize(
    ("fields", "code"), [({}, "text_required"), ({"text": "x", "input": "x", "voice": "\ud800"}, "unknown_voice")]
)
async def test_half_a_surrogate_pair_is_repeated_not_stumbled_over(
    http: httpx.AsyncClient, path: str, name: str, fields: dict[str, str], code: str
) -> None:
    answer = await http.post(path, content=json.dumps({name: "", "request_id": "\ud800"} | fields).encode())
    assert answer.status_code == 400
    refusal = answer.json()
    if name == "input":  # this shape repeats no id
        assert refusal["error"]["code"] == code
    else:
        assert (refusal["code"], refusal["request_id"]) == (code, "\ud800")
