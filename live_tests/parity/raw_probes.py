"""What a stream without the SDK shows of the facts."""

import json
from collections.abc import Callable

from contract_tests.answer import Answer, Reader
from contract_tests.client import Account, Part, Silence
from contract_tests.profile import Profile
from emulator import facts
from emulator.wire.eventstream import Message
from live_tests.parity.ledger import Ledger
from live_tests.parity.raw import SETTINGS, Head, RawError, RawStream, opened, speaks_http1

__all__ = ["look"]

_QUIET_S = 5.0
_OLD_S = 900.0
_WINDOW = "INITIAL_WINDOW_SIZE"


async def look(url: str, account: Callable[[], Account], endpoint: str, profile: Profile, ledger: Ledger) -> None:
    """Ask all questions. ``account`` gives the credentials as they are now.

    Raises:
        RawError: the service cannot be reached like this.
    """
    await _good(url, account(), endpoint, profile, ledger)
    await _exception(url, account(), endpoint, ledger)
    await _unchained(url, account(), endpoint, profile, ledger)
    await _end_frame(url, account(), endpoint, profile, ledger)
    await _refused(url, account(), endpoint, ledger)
    line = await speaks_http1(url, endpoint)
    # without a signature a service that speaks HTTP/1.1 would refuse too, with 403
    if " 200 " in f"{line} " or " 403" not in line:
        ledger.judge("wire.protocol", f"a request over HTTP/1.1: {line}", holds=" 200 " not in f"{line} ")


async def _ask(stream: RawStream, profile: Profile, request_id: str, **more: str) -> list[Message] | None:
    """Ask one good request and read its answer; None where that does not come to its end."""
    await stream.send(profile.request.render(request_id).encode(), "UTF8", **more)
    for message in profile.request.follow_ups(request_id):
        await stream.send(message.encode(), "UTF8")
    answer = Answer(request_id, 0.0)
    reader = Reader(profile, answer)
    found: list[Message] = []
    while isinstance(answer.outcome, Silence):
        event = await stream.next(profile.reply_timeout)
        if not isinstance(event, Message) or event.string(":exception-type") is not None:
            return None
        found.append(event)
        reader.feed(Part(0.0, event.payload, event.string("DataType"), event.string("CompletionState")))
    return found if answer.complete else None


async def _good(url: str, account: Account, endpoint: str, profile: Profile, ledger: Ledger) -> None:
    """A good request, with a version of the API in its head and padding on its event, as other SDKs have them."""
    head = Head(more={"x-amz-api-version": "2025-10-01"})
    async with opened(url, account, endpoint, head) as stream:
        headers = await stream.head()
        if headers.get(":status") != "200":
            raise RawError(f"a good request without the SDK got {dict(headers) or 'no answer'}")
        ledger.confirm("req.net-extra", "x-amz-api-version in the request: 200")
        kind = headers.get("content-type", "none")
        ledger.judge("resp.content-type", f"content-type {kind}", holds=kind == "application/vnd.amazon.eventstream")
        name = facts.text("resp.request-id")
        ledger.judge("resp.request-id", f"response headers {', '.join(sorted(headers))}", holds=name in headers)
        found = {SETTINGS.get(code, str(code)): value for code, value in stream.settings.items()}
        # every value is news: none of them is documented
        window = found.get(_WINDOW, 65_535)
        ledger.judge("unk.h2", f"HTTP/2 settings {found}", holds=window == facts.integer("unk.h2"))
        answer = await _ask(stream, profile, "raw", P="abcdef")
        if answer is None:
            return
        ledger.confirm("event.padding", "a part with the header P was answered as one without it")
        ledger.confirm("sign.event-string", "an event that was signed by these rules was answered")
        names = {header for event in answer for header in event.headers}
        ledger.judge("event.header-names", f"headers of events: {', '.join(sorted(names))}", holds="DataType" in names)
        await stream.end(frame=False)


async def _exception(url: str, account: Account, endpoint: str, ledger: Ledger) -> None:
    """A part with a forbidden DataType: an exception, and what comes behind it."""
    async with opened(url, account, endpoint) as stream:
        await stream.head()
        await stream.send(b"x", "TEXT")
        event = await stream.next(_QUIET_S)
        if not isinstance(event, Message) or event.string(":exception-type") is None:
            return
        try:
            members = json.loads(event.payload)
        except ValueError:
            members = None
        seen = f":message-type {event.string(':message-type')!r}, {event.string(':exception-type')!r}, {members!r}"
        holds = event.string(":message-type") == "exception" and isinstance(members, dict)
        ledger.judge("stream.encoding", seen, holds=holds)
        end = await stream.next(_QUIET_S)
        ledger.judge("stream.then-end", f"behind the exception: {end}", holds=end == "END_STREAM")


async def _unchained(url: str, account: Account, endpoint: str, profile: Profile, ledger: Ledger) -> None:
    async with opened(url, account, endpoint) as stream:
        await stream.head()
        await stream.send_unchained(profile.request.render("unchained").encode(), "UTF8")
        event = await stream.next(_QUIET_S)
        refused = not isinstance(event, Message) or event.string(":exception-type") is not None
    if refused and event != "silence":
        ledger.confirm("sign.event-chain", f"an event that was signed without the one before: {_shown(event)}")


async def _end_frame(url: str, account: Account, endpoint: str, profile: Profile, ledger: Ledger) -> None:
    """END_STREAM was tried with the good request; here the empty signed event stands alone."""
    async with opened(url, account, endpoint) as stream:
        await stream.head()
        if await _ask(stream, profile, "framed") is None:
            return
        await stream.end(frame=True)
        end = await stream.next(_QUIET_S)
        while isinstance(end, Message):
            end = await stream.next(_QUIET_S)
        ledger.judge("sign.end-frame", f"the empty signed event alone: {end}", holds=end == "END_STREAM")


async def _refused(url: str, account: Account, endpoint: str, ledger: Ledger) -> None:
    async with opened(url, account, endpoint, Head(content_type="text/plain")) as stream:
        status = (await stream.head()).get(":status", "no answer")
        ledger.judge("req.content-type", f"content-type text/plain: HTTP {status}", holds=status == "400")
    async with opened(url, account, endpoint, Head(early=_OLD_S)) as stream:
        status = (await stream.head()).get(":status", "no answer")
        seen = f"a request that was signed {_OLD_S:.0f} s ago: HTTP {status}"
        ledger.judge("sign.clock-skew", seen, holds=status == "403")


def _shown(event: Message | str) -> str:
    if isinstance(event, str):
        return event
    return f"{event.string(':exception-type')} {event.payload[:100]!r}"
