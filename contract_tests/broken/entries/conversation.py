"""Broken in how messages are read and answered."""

from contract_tests.broken.entries.entry import broken
from contract_tests.good import EXTENDED

__all__ = ["CONTAINERS"]

CONTAINERS = (
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
        "undecoded",
        "CT2",
        "bytes.decode outside the try. https://github.com/Kludex/starlette/pull/3552",
        cause="The bytes of a BINARY frame are decoded outside the `try`",
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
        "current_socket",
        "CT13",
        "What is ready goes to whoever spoke last. https://github.com/scripting/betterWebSocketsDemo/issues/2",
        cause="Both sessions use one queue",
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
)
