"""`POST /invocations` of a good container: what can fail fails before the status goes out, and a late failure shows."""

from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from contract_tests.good import protocol, tone

FRAME_BYTES = 12_000

BREAKS = "Here it breaks."
"""A sentence that the model cannot speak."""


def pcm(request: protocol.Say) -> Iterator[bytes]:
    """Yield the PCM of a request, as far as the model can speak it; raise RuntimeError where it cannot."""
    before, broken, _ = request.text.partition(BREAKS)
    audio = tone.pcm16(tone.waveform(before, request.voice, request.rate, request.speed))
    yield from tone.cut(audio, FRAME_BYTES)
    if broken:
        raise RuntimeError("the model cannot speak this sentence")


async def invoke(request: Request) -> Response:
    """Answer with streamed PCM, or with 400 and a reason."""
    try:
        asked = protocol.parse(await request.body())
    except protocol.MessageError as problem:
        return JSONResponse({"error": str(problem)}, status_code=400)
    if isinstance(asked, protocol.Close):
        return JSONResponse({"error": "nothing to close here"}, status_code=400)
    frames = pcm(asked)
    first = next(frames, b"")  # before the status is out

    def body() -> Iterator[bytes]:
        yield first
        yield from frames  # where it raises the server breaks the connection off: a caller can see that

    return StreamingResponse(body(), media_type="audio/pcm")
