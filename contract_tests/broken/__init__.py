"""Containers with exactly one fault each: a check that does not catch its own one is not finished."""

from pathlib import PurePath

from contract_tests.containers import Container, Server
from contract_tests.good import EXTENDED


def broken(
    module: str,
    caught_by: str,
    stands_for: str,
    server: Server = "uvicorn",
    profile: str = "kokoro",
    *,
    cause: str,
    blocks: bool = False,
) -> Container:
    """Return the entry of one module of this package, or of one file of it that is not Python.

    The name tells the server only where it is hypercorn.
    """
    asgi = server in {"uvicorn", "hypercorn"}
    file = PurePath(module)
    return Container(
        name="-".join(file.with_suffix("").parts).replace("_", "-") + (f"-{server}" if server == "hypercorn" else ""),
        app=f"broken/{module}" if file.suffix else f"contract_tests.broken.{module}" + (":app" if asgi else ""),
        server=server,
        caught_by=caught_by,
        profile=profile,
        stands_for=stands_for,
        cause=cause,
        blocks=blocks,
    )


CONTAINERS = (
    broken(
        "model_missing",
        "CT0",
        "/ping is 200 although the model was never loaded. https://github.com/awslabs/multi-model-server/issues/1027",
        cause="The container says itself what is missing",
    ),
    broken(
        "receive_text",
        "CT1",
        "Loops on receive_text(); a BINARY frame raises KeyError. https://github.com/vllm-project/vllm/pull/49899",
        cause="KeyError('text') leaves the handler",
    ),
    broken(
        "receive_text",
        "CT1",
        "The same under hypercorn: receive_text() returns None and nothing is raised. "
        "https://github.com/vllm-project/vllm/pull/49899",
        server="hypercorn",
        cause="Under hypercorn a BINARY frame has the key",
    ),
    broken(
        "text_only_branch",
        "CT1",
        "No branch for BINARY: dropped in silence. https://github.com/kirodotdev/KiroCrew/issues/6222",
        cause="A branch handles only the text type",
    ),
    broken(
        "aiohttp_text_only",
        "CT1",
        "An aiohttp loop with a branch for TEXT only. https://github.com/kirodotdev/KiroCrew/issues/6222",
        server="aiohttp",
        cause="A branch handles only the text type",
    ),
    broken(
        "control_as_binary",
        "CT1",
        "Control events sent as BINARY frames. https://github.com/BerriAI/litellm/pull/28848",
        cause="The message is sent with `send_bytes",
    ),
    broken(
        "fastapi_receive_json",
        "CT1",
        "Loops on receive_json(), which wants a TEXT frame. https://github.com/rmusser01/tldw_server/pull/2143",
        cause="KeyError('text') leaves the handler",
    ),
    broken(
        "node/binary_is_audio.cjs",
        "CT1",
        "Takes BINARY frames for audio. https://github.com/kirodotdev/KiroCrew/issues/6222",
        server="ws",
        cause="A branch handles only the text type",
    ),
    broken(
        "node/buffer_events.cjs",
        "CT1",
        "Passes events on as Buffers, so that they go out as BINARY. https://github.com/websockets/ws/issues/1942",
        server="ws",
        cause="A Buffer is given to `ws.send()`",
    ),
    broken(
        "unguarded_json",
        "CT2",
        "json.loads outside the try. https://github.com/jenkinsci/resources-ai-chatbot-plugin/issues/257",
        cause="Parsing or dispatch stands outside the loop's `try`",
    ),
    broken(
        "websockets_unguarded",
        "CT2",
        "json.loads outside the try: Close 1011 here. https://github.com/soniqo/speech-swift/pull/315",
        server="websockets",
        cause="An exception leaves the handler",
    ),
    broken(
        "closes_on_bad",
        "CT2",
        "Closes the session on a bad message. https://github.com/coder/websocket/issues/399",
        cause="The handler closes the session on purpose when it does not understand a message",
    ),
    broken(
        "fastapi_validation",
        "CT2",
        "A ValidationError of pydantic leaves the loop. https://github.com/fastapi/fastapi/issues/3593",
        cause="Parsing or dispatch stands outside the loop's `try`",
    ),
    broken(
        "node/unguarded_parse.cjs",
        "CT2",
        "JSON.parse throws, and the whole process ends. https://github.com/gristlabs/grist-core/pull/826",
        server="ws",
        cause="the whole process ends",
    ),
    broken(
        "fragment_decode",
        "CT3",
        "Decodes each fragment by itself. https://github.com/ballerina-platform/ballerina-lang/issues/12695",
        cause="Each fragment is decoded by itself",
    ),
    broken(
        "fragment_log",
        "CT3",
        "A debug line that decodes each frame. https://github.com/python-websockets/websockets/pull/1711",
        cause="A fragment is decoded by itself",
    ),
    broken(
        "lws/fragments.c",
        "CT3",
        "Takes each piece for a whole message. https://github.com/warmcat/libwebsockets/issues/2601",
        server="libwebsockets",
        cause="Each frame is taken for a whole message",
    ),
    broken(
        "first_chunk_wait",
        "CT4",
        "Waits for a first chunk that never comes. https://github.com/jing332/tts-server-android/issues/106",
        cause="The handler has announced audio and waits for a first chunk",
    ),
    broken(
        "empty_concat",
        "CT4",
        "Takes the first of no chunks. https://github.com/QwenAudio/CosyVoice/pull/62",
        cause="The phonemiser returns nothing",
    ),
    broken(
        "ping_locked",
        "CT5",
        "Health check waits for the model's lock. https://github.com/octos-org/octos/issues/159",
        cause="The event loop is free",
    ),
    broken(
        "blocked_loop",
        "CT5",
        "The model runs on the event loop. https://github.com/OpenVoiceOS/ovos-tts-server/pull/147",
        cause="The model, or the encoding of its audio, runs on the event loop",
    ),
    broken(
        "blocked_pong",
        "CT6",
        "Answers no Ping while it works. https://github.com/aio-libs/aiohttp/pull/10544",
        cause="Nobody reads while the container works",
    ),
    broken(
        "aiohttp_deaf",
        "CT6",
        "Receives and works in one coroutine. https://github.com/NousResearch/hermes-agent/pull/57373",
        server="aiohttp",
        cause="Nobody reads while the container works",
    ),
    broken(
        "one_sentence",
        "CT7",
        "One request per connection. https://github.com/vllm-project/vllm-omni/pull/5517",
        cause="after one request instead of waiting",
    ),
    broken(
        "idle_timeout",
        "CT7",
        "Takes a pause for the end of the session. https://github.com/livekit/agents/pull/2630",
        cause="An idle timer in the container",
    ),
    broken(
        "odd_frames",
        "CT8",
        "Cuts PCM in the middle of a sample. https://github.com/NousResearch/hermes-agent/pull/70851",
        cause="PCM is cut at byte positions",
    ),
    broken(
        "wav_header",
        "CT8",
        "A WAV header before each chunk. https://github.com/inworld-ai/inworld-api-examples/issues/21",
        cause="Each chunk goes through an encoder that makes a file of it",
    ),
    broken(
        "wrong_duration",
        "CT8",
        "Declares a rate that is not the real one. https://github.com/AreevAI/flowcat/issues/10",
        cause="The duration is computed for another sample rate than the audio has",
    ),
    broken(
        "wrapping",
        "CT8",
        "Casts to 16 bit without clipping. https://github.com/festvox/flite/issues/124",
        cause="Samples beyond -1..1 were scaled and cast",
    ),
    broken(
        "byte_shift",
        "CT8",
        "PCM moved by one byte. https://github.com/OHF-Voice/piper1-gpl/issues/253",
        cause="One byte was lost or added",
    ),
    broken(
        "big_endian",
        "CT8",
        "Samples in network byte order. https://github.com/elevenlabs/elevenlabs-python/issues/735",
        cause="The samples are written in the other byte order",
    ),
    broken(
        "realtime_shift",
        "CT8",
        "Audio in base64 moved by one byte. https://github.com/openai/openai-cookbook/pull/2977",
        profile="openai-realtime",
        cause="One byte was lost or added",
    ),
    broken(
        "float_samples",
        "CT8",
        "Floats of 32 bit in the place of PCM16. https://github.com/andimarafioti/faster-qwen3-tts/pull/72",
        cause="The model's float samples are sent as they are",
    ),
    broken(
        "text_duration",
        "CT8",
        "The declared duration is a string. https://github.com/vllm-project/vllm/issues/49068",
        cause="The duration is formatted for people",
    ),
    broken(
        "node/buffer_pool.cjs",
        "CT8",
        "Sends the pool that a Buffer lies in. https://github.com/livekit/agents-js/issues/2068",
        server="ws",
        cause="`.buffer` of a small Node Buffer",
    ),
    broken(
        "one_frame",
        "CT9",
        "The whole clip in one frame. https://github.com/elevenlabs/elevenlabs-python/pull/482",
        cause="The clip of a whole request goes out as one frame",
    ),
    broken(
        "oversize_raises",
        "CT9",
        "Raises on a large message. https://github.com/websockets/ws/issues/1543",
        cause="The message was read to its end",
    ),
    broken(
        "collects",
        "CT10",
        "Collects all audio before the first frame. https://github.com/OpenCSGs/csglite/pull/168",
        cause="All audio is collected",
    ),
    broken(
        "clicks",
        "CT10",
        "The signal jumps where two frames meet. https://github.com/vllm-project/vllm-omni/pull/4706",
        cause="Each chunk is decoded or encoded on its own",
    ),
    broken(
        "return_without_close",
        "CT11",
        "Returns on `close` without a Close frame. https://github.com/aws-samples/sample-kokoro-tts-for-ai-agents",
        cause="The handler returns without closing and leaves the rest to its server",
    ),
    broken(
        "never_closes",
        "CT11",
        "Ignores `close`. https://github.com/aws-samples/sample-kokoro-tts-for-ai-agents (on uvicorn 0.30)",
        cause="The close message is read and ignored",
    ),
    broken(
        "node/close_without_code.cjs",
        "CT11",
        "Closes without a code, which callers see as 1005. https://github.com/lukeed/sockette/issues/3",
        server="ws",
        cause="closes without a code",
    ),
    broken(
        "orphaned_work",
        "CT12",
        "The model speaks on for a caller who has left. https://github.com/remsky/Kokoro-FastAPI/issues/25",
        cause="Synthesis runs in a thread or task that nobody tells to stop",
    ),
    broken(
        "leftovers",
        "CT12",
        "The rest of a lost answer goes to the next caller. https://github.com/huggingface/speech-to-speech/pull/226",
        cause="outlives its session",
    ),
    broken(
        "shared_queue",
        "CT13",
        "One audio queue for all sessions. https://github.com/KoljaB/RealtimeTTS/issues/230",
        cause="One queue, buffer or file of the module",
    ),
    broken(
        "shared_voice",
        "CT13",
        "The second caller sets the first one's voice. https://github.com/k2-fsa/sherpa-onnx/issues/3258",
        cause="The voice is kept in the one model object",
    ),
    broken(
        "task_per_message",
        "CT14",
        "A task per message, all on one socket. https://github.com/twilio-labs/call-gpt/issues/2",
        cause="Each message is served by a task or thread of its own",
    ),
    broken(
        "stale_after_cancel",
        "CT14",
        "Acknowledges a cancel message and speaks on. https://github.com/pipecat-ai/pipecat/pull/4099",
        profile=EXTENDED,
        cause="nothing is stopped at all",
    ),
    broken(
        "empty_200",
        "CT17",
        "POST /invocations answers 200 before the generator has run. "
        "https://github.com/ServeurpersoCom/qwentts.cpp/issues/28",
        cause="The streaming response starts before the generator has run",
    ),
    broken(
        "silent_gap",
        "CT17",
        "A failure half-way looks like the end. https://github.com/juspay/neurolink/pull/1336",
        profile=EXTENDED,
        cause="The failure is caught inside the generator",
    ),
    broken(
        "early_ping",
        "CT18",
        "/ping is 200 while the model still loads. https://github.com/ROCm/rocm-cli/pull/150",
        cause="/ping answers as soon as the server is up",
    ),
    broken(
        "endless_worker",
        "CT18",
        "The handler of an open session never ends, and so the server does not. "
        "https://github.com/sgl-project/sglang/pull/19008",
        cause="The server waits for the handler of the open session",
    ),
    broken(
        "aiohttp_stop",
        "CT18",
        "aiohttp waits a minute for open sessions, and nobody closes them. "
        "https://github.com/esphome/device-builder/pull/601",
        server="aiohttp",
        cause="The server waits for the handler of the open session",
    ),
    broken(
        "hypercorn_stop",
        "CT18",
        "hypercorn on Python 3.12 waits for open connections without a limit. "
        "https://github.com/pgjones/hypercorn/issues/308",
        server="hypercorn",
        cause="hypercorn on Python 3.12 or newer waits",
    ),
    broken(
        "node/stop_waits.cjs",
        "CT18",
        "server.close() waits for open sessions, and nobody closes them. "
        "https://github.com/eneskirca/nodeterm/pull/162",
        server="ws",
        cause="Node's `server.close()` waits for every open connection",
    ),
    broken(
        "query_refused",
        "CT19",
        "The route is compared with path and query. https://github.com/BlackBeltTechnology/pi-agent-dashboard/pull/297",
        cause="The route is compared with path and query together",
    ),
    broken(
        "deflate_refused",
        "CT19",
        "An offer of compression is an error. https://github.com/Kludex/uvicorn/issues/1298",
        cause="The offer of an extension is treated as an error",
    ),
    broken(
        "origin_demanded",
        "CT19",
        "Demands an Origin header. https://github.com/kiwiirc/webircgateway/pull/44",
        blocks=True,
        cause="An Origin header is demanded",
    ),
    broken(
        "silent_voice",
        "CT15",
        "An unknown voice is success without sound. "
        "https://github.com/Azure-Samples/cognitive-services-speech-sdk/issues/2268",
        cause="The value is not checked",
    ),
    broken(
        "nan_speed",
        "CT15",
        "NaN slips through the range test. https://github.com/harry0703/MoneyPrinterTurbo/pull/1333",
        cause="The range test lets NaN through",
    ),
    broken(
        "truncated_text",
        "CT16",
        "A long text is cut without a word. https://github.com/Lyrcaxis/KokoroSharp/issues/9",
        cause="clamped to what the model takes",
    ),
    broken(
        "long_text_hangs",
        "CT16",
        "A long text is waited for in vain. https://github.com/hexgrad/kokoro/issues/325",
        cause="The model raises in a worker thread",
    ),
    broken(
        "split_control",
        "CT23",
        "One control event in two messages. https://github.com/warmcat/libwebsockets/issues/2235",
        cause="A stream writer with a fixed buffer",
    ),
    broken(
        "glued_control",
        "CT23",
        "Control event and PCM in one frame, against the client of "
        "https://github.com/aws-samples/sample-kokoro-tts-for-ai-agents",
        cause="Event and first chunk are ready at once and are written as one buffer",
    ),
    broken(
        "wrong_start_id",
        "CT23",
        "The start carries the id of another request. https://github.com/pipecat-ai/pipecat/pull/4497",
        cause="of the previous request or a default",
    ),
    broken(
        "no_start",
        "CT23",
        "Audio without a start. https://github.com/openai/openai-agents-js/issues/235",
        cause="The audio goes out as it comes from the model",
    ),
    broken(
        "double_complete",
        "CT23",
        "The end is sent twice. https://github.com/Tencent/WeKnora/pull/2353",
        cause="Two places send it",
    ),
    broken(
        "ping_busy",
        "CT24",
        "Health check fails while a session is open. https://github.com/ggml-org/llama.cpp/pull/5594",
        cause="/ping reports load instead of health",
    ),
    broken(
        "ping_slow",
        "CT24",
        "Health check queues behind the session. https://github.com/huggingface/huggingface-inference-toolkit/issues/12",
        cause="The handler of /ping waits for the model",
    ),
    broken(
        "skipped_sentence",
        "CT25",
        "A sentence is lost in the middle of a text. https://github.com/remsky/Kokoro-FastAPI/issues/343",
        cause="A piece of the text is lost where it is cut for the model",
    ),
    broken(
        "swallowed_word",
        "CT25",
        "The first word of each sentence is swallowed. https://github.com/k2-fsa/sherpa-onnx/issues/1777",
        cause="The first sound of each piece is cut",
    ),
    broken(
        "careless_cache",
        "CT25",
        "A cache key that two texts share. https://github.com/mapbox/mapbox-navigation-ios/issues/1391",
        cause="A cache takes two texts for the same",
    ),
)
