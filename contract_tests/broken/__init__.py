"""Containers with exactly one fault each: a check that does not catch its own one is not finished."""

from contract_tests.containers import Container, Server
from contract_tests.good import EXTENDED


def broken(
    module: str,
    caught_by: str,
    stands_for: str,
    server: Server = "uvicorn",
    profile: str = "kokoro",
    *,
    blocks: bool = False,
) -> Container:
    """Return the entry of one module of this package; its name tells the server only where it is not uvicorn."""
    return Container(
        name=module.replace("_", "-") + ("" if server == "uvicorn" else f"-{server}"),
        app=f"contract_tests.broken.{module}:app",
        server=server,
        caught_by=caught_by,
        profile=profile,
        stands_for=stands_for,
        blocks=blocks,
    )


CONTAINERS = (
    broken(
        "model_missing",
        "CT0",
        "/ping is 200 although the model was never loaded. https://github.com/awslabs/multi-model-server/issues/1027",
    ),
    broken(
        "receive_text",
        "CT1",
        "Loops on receive_text(); a BINARY frame raises KeyError. https://github.com/vllm-project/vllm/pull/49899",
    ),
    broken(
        "receive_text",
        "CT1",
        "The same under hypercorn: receive_text() returns None and nothing is raised. "
        "https://github.com/vllm-project/vllm/pull/49899",
        server="hypercorn",
    ),
    broken(
        "text_only_branch",
        "CT1",
        "No branch for BINARY: dropped in silence. https://github.com/kirodotdev/KiroCrew/issues/6222",
    ),
    broken(
        "control_as_binary",
        "CT1",
        "Control events sent as BINARY frames. https://github.com/BerriAI/litellm/pull/28848",
    ),
    broken(
        "unguarded_json",
        "CT2",
        "json.loads outside the try. https://github.com/jenkinsci/resources-ai-chatbot-plugin/issues/257",
    ),
    broken(
        "closes_on_bad",
        "CT2",
        "Closes the session on a bad message. https://github.com/coder/websocket/issues/399",
    ),
    broken(
        "fragment_decode",
        "CT3",
        "Decodes each fragment by itself. https://github.com/ballerina-platform/ballerina-lang/issues/12695",
    ),
    broken(
        "fragment_log",
        "CT3",
        "A debug line that decodes each frame. https://github.com/python-websockets/websockets/pull/1711",
    ),
    broken(
        "first_chunk_wait",
        "CT4",
        "Waits for a first chunk that never comes. https://github.com/jing332/tts-server-android/issues/106",
    ),
    broken(
        "empty_concat",
        "CT4",
        "Takes the first of no chunks. https://github.com/QwenAudio/CosyVoice/pull/62",
    ),
    broken(
        "ping_locked",
        "CT5",
        "Health check waits for the model's lock. https://github.com/octos-org/octos/issues/159",
    ),
    broken(
        "blocked_loop",
        "CT5",
        "The model runs on the event loop. https://github.com/OpenVoiceOS/ovos-tts-server/pull/147",
    ),
    broken(
        "blocked_pong",
        "CT6",
        "Answers no Ping while it works. https://github.com/aio-libs/aiohttp/pull/10544",
    ),
    broken(
        "one_sentence",
        "CT7",
        "One request per connection. https://github.com/vllm-project/vllm-omni/pull/5517",
    ),
    broken(
        "idle_timeout",
        "CT7",
        "Takes a pause for the end of the session. https://github.com/livekit/agents/pull/2630",
    ),
    broken(
        "odd_frames",
        "CT8",
        "Cuts PCM in the middle of a sample. https://github.com/NousResearch/hermes-agent/pull/70851",
    ),
    broken(
        "wav_header",
        "CT8",
        "A WAV header before each chunk. https://github.com/inworld-ai/inworld-api-examples/issues/21",
    ),
    broken(
        "wrong_duration",
        "CT8",
        "Declares a rate that is not the real one. https://github.com/AreevAI/flowcat/issues/10",
    ),
    broken(
        "wrapping",
        "CT8",
        "Casts to 16 bit without clipping. https://github.com/festvox/flite/issues/124",
    ),
    broken(
        "byte_shift",
        "CT8",
        "PCM moved by one byte. https://github.com/OHF-Voice/piper1-gpl/issues/253",
    ),
    broken(
        "float_samples",
        "CT8",
        "Floats of 32 bit in the place of PCM16. https://github.com/andimarafioti/faster-qwen3-tts/pull/72",
    ),
    broken(
        "text_duration",
        "CT8",
        "The declared duration is a string. https://github.com/vllm-project/vllm/issues/49068",
    ),
    broken(
        "one_frame",
        "CT9",
        "The whole clip in one frame. https://github.com/elevenlabs/elevenlabs-python/pull/482",
    ),
    broken(
        "oversize_raises",
        "CT9",
        "Raises on a large message. https://github.com/websockets/ws/issues/1543",
    ),
    broken(
        "collects",
        "CT10",
        "Collects all audio before the first frame. https://github.com/OpenCSGs/csglite/pull/168",
    ),
    broken(
        "clicks",
        "CT10",
        "The signal jumps where two frames meet. https://github.com/vllm-project/vllm-omni/pull/4706",
    ),
    broken(
        "return_without_close",
        "CT11",
        "Returns on `close` without a Close frame. https://github.com/aws-samples/sample-kokoro-tts-for-ai-agents",
    ),
    broken(
        "never_closes",
        "CT11",
        "Ignores `close`. https://github.com/aws-samples/sample-kokoro-tts-for-ai-agents (on uvicorn 0.30)",
    ),
    broken(
        "orphaned_work",
        "CT12",
        "The model speaks on for a caller who has left. https://github.com/remsky/Kokoro-FastAPI/issues/25",
    ),
    broken(
        "leftovers",
        "CT12",
        "The rest of a lost answer goes to the next caller. https://github.com/huggingface/speech-to-speech/pull/226",
    ),
    broken(
        "shared_queue",
        "CT13",
        "One audio queue for all sessions. https://github.com/KoljaB/RealtimeTTS/issues/230",
    ),
    broken(
        "shared_voice",
        "CT13",
        "The second caller sets the first one's voice. https://github.com/k2-fsa/sherpa-onnx/issues/3258",
    ),
    broken(
        "task_per_message",
        "CT14",
        "A task per message, all on one socket. https://github.com/twilio-labs/call-gpt/issues/2",
    ),
    broken(
        "stale_after_cancel",
        "CT14",
        "Acknowledges a cancel message and speaks on. https://github.com/pipecat-ai/pipecat/pull/4099",
        profile=EXTENDED,
    ),
    broken(
        "empty_200",
        "CT17",
        "POST /invocations answers 200 before the generator has run. "
        "https://github.com/ServeurpersoCom/qwentts.cpp/issues/28",
    ),
    broken(
        "silent_gap",
        "CT17",
        "A failure half-way looks like the end. https://github.com/juspay/neurolink/pull/1336",
        profile=EXTENDED,
    ),
    broken(
        "query_refused",
        "CT19",
        "The route is compared with path and query. https://github.com/BlackBeltTechnology/pi-agent-dashboard/pull/297",
    ),
    broken(
        "deflate_refused",
        "CT19",
        "An offer of compression is an error. https://github.com/Kludex/uvicorn/issues/1298",
    ),
    broken(
        "origin_demanded",
        "CT19",
        "Demands an Origin header. https://github.com/kiwiirc/webircgateway/pull/44",
        blocks=True,
    ),
    broken(
        "silent_voice",
        "CT15",
        "An unknown voice is success without sound. "
        "https://github.com/Azure-Samples/cognitive-services-speech-sdk/issues/2268",
    ),
    broken(
        "nan_speed",
        "CT15",
        "NaN slips through the range test. https://github.com/harry0703/MoneyPrinterTurbo/pull/1333",
    ),
    broken(
        "truncated_text",
        "CT16",
        "A long text is cut without a word. https://github.com/Lyrcaxis/KokoroSharp/issues/9",
    ),
    broken(
        "long_text_hangs",
        "CT16",
        "A long text is waited for in vain. https://github.com/hexgrad/kokoro/issues/325",
    ),
    broken(
        "split_control",
        "CT23",
        "One control event in two messages. https://github.com/warmcat/libwebsockets/issues/2235",
    ),
    broken(
        "glued_control",
        "CT23",
        "Control event and PCM in one frame, against the client of "
        "https://github.com/aws-samples/sample-kokoro-tts-for-ai-agents",
    ),
    broken(
        "wrong_start_id",
        "CT23",
        "The start carries the id of another request. https://github.com/pipecat-ai/pipecat/pull/4497",
    ),
    broken(
        "no_start",
        "CT23",
        "Audio without a start. https://github.com/openai/openai-agents-js/issues/235",
    ),
    broken(
        "double_complete",
        "CT23",
        "The end is sent twice. https://github.com/Tencent/WeKnora/pull/2353",
    ),
    broken(
        "ping_busy",
        "CT24",
        "Health check fails while a session is open. https://github.com/ggml-org/llama.cpp/pull/5594",
    ),
    broken(
        "ping_slow",
        "CT24",
        "Health check queues behind the session. https://github.com/huggingface/huggingface-inference-toolkit/issues/12",
    ),
)
