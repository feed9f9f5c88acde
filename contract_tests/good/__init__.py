"""Containers that no check may fail: they keep the suite honest in the other direction."""

from pathlib import Path

from contract_tests.containers import Container

EXTENDED = str(Path(__file__).with_name("extended.toml"))
"""Profile of the containers that offer more: requests can be stopped, and `POST /invocations` can break."""

CONTAINERS = (
    Container(
        name="starlette",
        app="contract_tests.good.starlette_speech:app",
        server="uvicorn",
        caught_by=None,
        profile="kokoro",
        stands_for="The usual stack: Starlette served by uvicorn",
    ),
    Container(
        name="starlette-hypercorn",
        app="contract_tests.good.starlette_speech:app",
        server="hypercorn",
        caught_by=None,
        profile="kokoro",
        stands_for="The same app served by hypercorn, whose messages carry both keys, `text` and `bytes`",
    ),
    Container(
        name="raw-asgi",
        app="contract_tests.good.raw_asgi:app",
        server="uvicorn",
        caught_by=None,
        profile="kokoro",
        stands_for="No framework: plain ASGI",
    ),
    Container(
        name="aiohttp",
        app="contract_tests.good.aiohttp_speech",
        server="aiohttp",
        caught_by=None,
        profile="kokoro",
        stands_for="aiohttp: a task that reads and a task that speaks",
    ),
    Container(
        name="websockets",
        app="contract_tests.good.websockets_speech",
        server="websockets",
        caught_by=None,
        profile="kokoro",
        stands_for="The server of the websockets library, which knows GET only",
    ),
    Container(
        name="fastapi",
        app="contract_tests.good.fastapi_speech:app",
        server="uvicorn",
        caught_by=None,
        profile="kokoro",
        stands_for="FastAPI, with requests as pydantic models",
    ),
    Container(
        name="node-ws",
        app="good/node/speech.cjs",
        server="ws",
        caught_by=None,
        profile="kokoro",
        stands_for="Node and its package `ws`, the model in a thread of its own",
    ),
    Container(
        name="libwebsockets",
        app="good/lws/speech.c",
        server="libwebsockets",
        caught_by=None,
        profile="kokoro",
        stands_for="C: one thread, and a queue of frames for each session",
    ),
    Container(
        name="brace",
        app="contract_tests.good.brace:app",
        server="uvicorn",
        caught_by=None,
        profile="kokoro",
        stands_for="PCM frames whose first byte is `{` are audio, not JSON",
    ),
    Container(
        name="paced",
        app="contract_tests.good.paced:app",
        server="uvicorn",
        caught_by=None,
        profile="kokoro",
        stands_for="A model that needs its time, sentence by sentence, in a thread",
    ),
    Container(
        name="cancelling",
        app="contract_tests.good.cancelling:app",
        server="uvicorn",
        caught_by=None,
        profile=EXTENDED,
        stands_for="Requests can be stopped: one task reads, another one speaks",
    ),
    Container(
        name="echo",
        app="contract_tests.good.echo:app",
        server="uvicorn",
        caught_by=None,
        profile="sagemaker",
        stands_for="Any container that answers: no speech, one reply of the same type per message",
    ),
    Container(
        name="echo-hypercorn",
        app="contract_tests.good.echo:app",
        server="hypercorn",
        caught_by=None,
        profile="echo",
        stands_for="The same served by hypercorn, judged by the id in its answers",
    ),
    Container(
        name="realtime",
        app="contract_tests.good.realtime:app",
        server="uvicorn",
        caught_by=None,
        profile="openai-realtime",
        stands_for="JSON events in the style of a realtime API",
    ),
    Container(
        name="deepgram-tts",
        app="contract_tests.good.deepgram_tts:app",
        server="uvicorn",
        caught_by=None,
        profile="deepgram-tts",
        stands_for="Text to speech whose requests are two messages",
    ),
    Container(
        name="deepgram-stt",
        app="contract_tests.good.deepgram_stt:app",
        server="uvicorn",
        caught_by=None,
        profile="deepgram-stt",
        stands_for="Speech to text: audio in BINARY frames, JSON out",
    ),
)
