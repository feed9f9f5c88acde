"""One session, spoken in a profile's protocol: requests with ids go in, whole answers come out."""

import asyncio

from contract_tests.answer import Answer, Reader
from contract_tests.client import Ended, Failed, Part, Session, Silence
from contract_tests.profile import Profile
from contract_tests.waiting import Waiting

__all__ = ["Conversation"]

_EXCERPT = 120
_LONGEST_TAIL_S = 30.0


class Conversation:
    """Speaks with a container through one session. ``patience``: silence, in seconds, that counts as no answer."""

    def __init__(self, session: Session, profile: Profile, patience: float, data_type: str | None) -> None:
        self.session = session
        self.profile = profile
        self.patience = patience
        self.data_type = data_type
        self._reader: Reader | None = None
        self.tail = 0.0
        """Seconds for which an answer may go on behind its first part, where that one counts as all of it."""
        self.answers: list[Answer] = []
        """All answers that were waited for, in order."""
        self.longest_text = 0
        """Characters of the longest text that was asked for."""

    async def send(self, data: bytes, data_type: str | None, what: str = "") -> None:
        """Send one part and write it into the log."""
        excerpt = what or repr(data[:_EXCERPT])[1:]
        self.session.note(f"sends {len(data)} bytes, DataType {data_type or 'unset'}: {excerpt}")
        await self.session.send(data, data_type)

    async def request(self, request_id: str, text: str | None = None, voice: str | None = None) -> Answer:
        """Send a good request; returns the answer that is still empty, for :meth:`hear`."""
        if self.tail and self.answers:
            await self.drain(self.tail, _LONGEST_TAIL_S)
        rule = self.profile.request
        self.longest_text = max(self.longest_text, len(rule.sentences[0] if text is None else text))
        payload = rule.render(request_id, text, voice)
        if rule.is_audio:
            pcm = rule.pcm(text)
            size = rule.sample_rate // 10 * 2
            for begin in range(0, len(pcm), size):
                await self.send(pcm[begin : begin + size], "BINARY", f"audio, of {payload}")
        else:
            await self.send(payload.encode(), self.data_type, payload)
        await self.follow_up(request_id)
        return self.expect(request_id)

    async def follow_up(self, request_id: str) -> None:
        """Send what the protocol wants behind a request."""
        for message in self.profile.request.follow_ups(request_id):
            await self.send(message.encode(), "UTF8" if self.profile.request.is_audio else self.data_type, message)

    def expect(self, request_id: str) -> Answer:
        """Return an empty answer that begins now."""
        answer = Answer(request_id, self.session.now)
        self.answers.append(answer)
        return answer

    async def ask(self, request_id: str, text: str | None = None, voice: str | None = None) -> Answer:
        """Send a good request and read its answer to the end."""
        return await self.hear(await self.request(request_id, text, voice))

    async def ask_again(self, request_id: str) -> Answer:
        """Send a good request after bad messages: late errors that name another request are not its answer."""
        answer = await self.ask(request_id)
        while answer.outcome == "error" and answer.error is not None:
            if self.profile.id_of(answer.error.body, request_id) == request_id:
                break
            answer = await self.hear(self.expect(request_id))
        return answer

    async def hear(self, answer: Answer, patience: float | None = None, parts: int | None = None) -> Answer:
        """Read until the answer is over, the session is over, or nothing of it has come for ``patience`` seconds.

        With ``parts`` reading stops once the answer has so many parts; the next call with the same answer goes on.
        """
        reader = self._reader
        if reader is None or reader.answer is not answer:
            reader = self._reader = Reader(self.profile, answer)
        patience = patience or self.patience
        waiting = Waiting(self.session.now)
        while isinstance(answer.outcome, Silence):
            if parts is not None and len(answer.parts) >= parts:
                break
            ending = reader.ends_on_silence
            bounded = ending is None or bool(answer.audio)
            left = waiting.left(self.session.now, ending or patience, bounded=bounded)
            event = await self.session.receive(left)
            if isinstance(event, Part):
                waiting.took(self.session.now, progress=reader.feed(event))
            elif isinstance(event, Silence):
                answer.outcome = waiting.silence(self.session.now, patience) if ending is None else "complete"
                break
            else:
                answer.outcome = event
        return answer

    async def pause(self, seconds: float) -> Ended | Failed | None:
        """Send nothing for so many seconds, whatever comes meanwhile; return how the session ended in them, if so."""
        until = self.session.now + seconds
        while (left := until - self.session.now) > 0:
            event = await self.session.receive(left)
            if isinstance(event, Ended | Failed):
                return event
        return None

    async def goes_on(self, within: float) -> bool:
        """Tell whether audio, or a message that the profile knows, comes within so many seconds, unasked."""
        reader = Reader(self.profile, Answer("", self.session.now))
        until = self.session.now + within
        while isinstance(event := await self.session.receive(max(0.0, until - self.session.now)), Part):
            if reader.feed(event):
                return True
        return False

    async def drain(self, quiet: float, within: float) -> None:
        """Read and drop what still comes, until it is quiet for ``quiet`` seconds, at most ``within`` seconds."""
        until = self.session.now + within
        while self.session.now < until and isinstance(await self.session.receive(quiet), Part):
            pass

    async def finish(self, within: float) -> Ended | Failed | Silence:
        """Wait until the session is over, at most ``within`` seconds; what still comes is dropped."""
        try:
            async with asyncio.timeout(within):
                while True:
                    event = await self.session.receive(within)
                    if not isinstance(event, Part):
                        return event
        except TimeoutError:
            return Silence(within)
