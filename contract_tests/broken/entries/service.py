"""Broken in how the container is started, watched, called and stopped."""

from contract_tests.broken.entries.entry import broken
from contract_tests.good import EXTENDED

__all__ = ["CONTAINERS"]

CONTAINERS = (
    broken(
        "model_missing",
        "CT0",
        "/ping is 200 although the model was never loaded. https://github.com/awslabs/multi-model-server/issues/1027",
        cause="The container says itself what is missing",
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
)
