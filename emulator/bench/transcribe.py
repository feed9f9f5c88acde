"""Amazon Transcribe streaming as a recogniser: PCM to text, over its WebSocket. Needs AWS credentials, and costs money.

The protocol: https://docs.aws.amazon.com/transcribe/latest/dg/streaming-websocket.html. Not run against AWS yet.
"""

import asyncio
import contextlib
import json
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlencode

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.typing import Origin

from emulator.wire.eventstream import Decoder, Message, encode, encode_headers, string_header
from emulator.wire.exceptions import EventStreamError

__all__ = ["ENDPOINT", "LEAST_BILLED_S", "PRICES", "Transcribe", "TranscribeError"]

ENDPOINT = "AWS_ENDPOINT_URL_TRANSCRIBE_STREAMING"
"""Environment variable with another endpoint than AWS's: ``wss://HOST[:PORT]`` or ``ws://HOST[:PORT]``."""
LEAST_BILLED_S = 15
"""What a request is billed for at least, in seconds of audio (:data:`PRICES`)."""
PRICES = "https://aws.amazon.com/transcribe/pricing/"

_REGION = re.compile(r"[a-z]{2,}(-[a-z]+)+-\d+")
_ADDRESS = re.compile(r"ws(s?)://([^/?#\s]+)/?")
_EXPIRES_S = 300  # the most that is allowed; it has to hold only until the connection is open
_CHUNK_S = 0.1  # 50 to 200 ms are recommended: https://docs.aws.amazon.com/transcribe/latest/dg/streaming.html
_HEADERS = {":content-type": "application/octet-stream", ":event-type": "AudioEvent", ":message-type": "event"}
_AUDIO = encode_headers({name: string_header(value) for name, value in _HEADERS.items()})
_SIGN_IN = "Run 'aws sso login', or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
_AGAIN = "Run it again; if it stays like that, look at the network in between and at https://health.aws.amazon.com."
_PERMISSION = "Expected are a right clock, and credentials that may do transcribe:StartStreamTranscriptionWebSocket."
_ADVICE = {"UnrecognizedClientException": _PERMISSION, "LimitExceededException": "Let other streams end, run it again."}


class TranscribeError(Exception):
    """Raised when it cannot be used, or a text was not heard to its end."""


@dataclass(frozen=True)
class Transcribe:
    """Amazon Transcribe at an endpoint, as :data:`ENDPOINT` describes it; ``credentials`` are botocore's.

    ``rate`` is in samples per second, 8000 to 48000. ``limit_s`` bounds, in seconds, the opening, the closing, and how
    much longer than the audio the rest may take.
    """

    region: str
    endpoint: str
    credentials: Any
    rate: int
    limit_s: float = 30.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @classmethod
    def found(cls, region: str | None, rate: int) -> Self:
        """Find credentials as boto3 does, and the region where none is given; nothing is sent to Amazon Transcribe.

        Raises:
            TranscribeError: there are none, boto3 is not installed, or the region or the endpoint cannot be one.
        """
        with _signing_in():
            from botocore.session import Session  # noqa: PLC0415  # slow

            session = Session()
            region = region or os.environ.get("AWS_REGION") or session.get_config_variable("region")
            credentials = session.get_credentials()
            if credentials is None:
                raise TranscribeError(f"no AWS credentials, and Amazon Transcribe needs real ones. {_SIGN_IN}")
            credentials.get_frozen_credentials()  # what has to be fetched is fetched here, before anything starts
        if _REGION.fullmatch(region or "") is None:
            raise TranscribeError(f"the AWS region is {region}; expected one like us-east-1: give --region.")
        suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
        endpoint = os.environ.get(ENDPOINT) or f"wss://transcribestreaming.{region}.{suffix}:8443"
        if _ADDRESS.fullmatch(endpoint) is None:
            raise TranscribeError(f"{ENDPOINT}={endpoint}: expected wss://HOST[:PORT], ws://HOST[:PORT], or unset.")
        return cls(region, endpoint.rstrip("/"), credentials, rate)

    def __str__(self) -> str:
        return f"Amazon Transcribe streaming at {self.endpoint}"

    def url(self) -> str:
        """Return an address that is signed for this moment; for five minutes it is as good as a password."""
        with _signing_in():
            from botocore.auth import SigV4QueryAuth  # noqa: PLC0415  # slow
            from botocore.awsrequest import AWSRequest  # noqa: PLC0415  # slow

            query = urlencode({"language-code": "en-US", "media-encoding": "pcm", "sample-rate": self.rate})
            # as http(s), for which botocore knows the port that the header Host leaves out
            url = f"http{self.endpoint.removeprefix('ws')}/stream-transcription-websocket?{query}"
            request, frozen = AWSRequest("GET", url), self.credentials.get_frozen_credentials()
            SigV4QueryAuth(frozen, "transcribe", self.region, _EXPIRES_S).add_auth(request)
            return f"ws{request.url.removeprefix('http')}"

    async def heard(self, pcm: bytes) -> str:
        """Return the text in 16-bit little-endian mono samples, "" where nothing is said. Takes as long as the audio.

        Raises:
            TranscribeError: it was refused, failed, ended too early or took too long.
        """
        origin = Origin(f"http{self.endpoint.removeprefix('ws')}")  # has to be there, says the documentation
        limit = self.limit_s
        url = await asyncio.to_thread(self.url)  # credentials that expired are fetched
        try:
            async with connect(
                url, origin=origin, compression=None, open_timeout=limit, close_timeout=limit, ping_interval=None
            ) as socket:
                return await self._talk(socket, pcm)
        except InvalidStatus as error:
            said = bytes(error.response.body or b"")[:300].decode(errors="replace")
            raise TranscribeError(f"{self} refused: HTTP {error.response.status_code} {said} {_PERMISSION}") from None
        except TimeoutError:
            raise TranscribeError(f"{self} did not open a WebSocket in {limit:g} s. {_AGAIN}") from None
        except (OSError, InvalidHandshake, InvalidURI) as error:
            raise TranscribeError(f"{self} opens no WebSocket: {error}. Is the region right? {_AGAIN}") from None

    async def _talk(self, socket: ClientConnection, pcm: bytes) -> str:
        heard = _Heard(str(self))
        audio_s = len(pcm) / 2 / self.rate
        try:
            async with asyncio.timeout(audio_s + self.limit_s):
                await asyncio.gather(self._send(socket, pcm, heard), self._receive(socket, heard))
        except TimeoutError:
            what = f"did not end in {self.limit_s:g} s after {audio_s:.1f} s of audio; expected a final result"
            raise TranscribeError(f"{self} {what}. {_AGAIN}") from None
        return " ".join(heard.final)

    async def _send(self, socket: ClientConnection, pcm: bytes, heard: "_Heard") -> None:
        """Send as fast as it is spoken: "as close to real-time as possible" is what the documentation recommends."""
        size = 2 * round(_CHUNK_S * self.rate)
        began = self.clock()
        with contextlib.suppress(ConnectionClosed):  # the receiver says why
            for number, at in enumerate(range(0, len(pcm), size)):
                if (early := began + number * _CHUNK_S - self.clock()) > 0:
                    await self.sleep(early)
                await socket.send(encode(_AUDIO, pcm[at : at + size]))
            heard.all_sent = True
            await socket.send(encode(_AUDIO))

    async def _receive(self, socket: ClientConnection, heard: "_Heard") -> None:
        decoder = Decoder()
        try:
            async for data in socket:
                for message in decoder.feed(data.encode() if isinstance(data, str) else data):
                    heard.take(message)
            decoder.finish()
        except EventStreamError as error:
            raise TranscribeError(f"{self} sent what is no event stream: {error}. {_AGAIN}") from None
        except ConnectionClosed:
            heard.unfinished = True
        if heard.unfinished or not heard.all_sent:
            how = f"{'after' if heard.all_sent else 'before'} the end of the audio"
            how += f", with Close {socket.close_code} {socket.close_reason}".rstrip()  # 1006 is none
            raise TranscribeError(f"{self} ended too early, {how}; expected a final result, then Close 1000. {_AGAIN}")


@dataclass
class _Heard:
    who: str
    final: list[str] = field(default_factory=list)
    unfinished: bool = False  # the last result is a partial one
    all_sent: bool = False

    def take(self, message: Message) -> None:
        kind = message.string(":message-type")
        if kind != "event":
            name = message.string(":exception-type") or message.string(":error-code") or f"a message of type {kind}"
            said = message.payload[:300].decode(errors="replace") or message.string(":error-message") or "no reason"
            raise TranscribeError(f"{self.who} answered {name}: {said} {_ADVICE.get(name, _AGAIN)}")
        try:
            for result in json.loads(message.payload)["Transcript"]["Results"]:
                self.unfinished = result["IsPartial"]
                self.final += [each["Transcript"] for each in result["Alternatives"][:1] if not self.unfinished]
        except (ValueError, LookupError, TypeError):
            got = f"{message.string(':event-type')} {message.payload[:200].decode(errors='replace')}"
            what = f"{got}; expected Transcript.Results[] of IsPartial and Alternatives[].Transcript"
            raise TranscribeError(f"{self.who} answered otherwise than documented: {what}. {_AGAIN}") from None


@contextlib.contextmanager
def _signing_in() -> Iterator[None]:
    try:
        from botocore import exceptions as failures  # noqa: PLC0415  # slow
    except ImportError:
        raise TranscribeError("boto3, which finds AWS credentials, is not installed; run 'uv sync'.") from None
    try:
        yield
    except (failures.BotoCoreError, failures.ClientError) as error:
        raise TranscribeError(f"no AWS credentials: {str(error).rstrip('.')}. {_SIGN_IN}") from None
