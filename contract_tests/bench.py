"""The test bench of one run: a way to a container, and what a check needs to drive it."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from contract_tests.client import Client, Ended, Failed
from contract_tests.conversation import Conversation
from contract_tests.profile import Profile
from contract_tests.reach import Capability, HttpReply, Ping, Reach
from contract_tests.stack import Stack, stack_of
from contract_tests.verdict import Finding, failed, not_applicable, passed, warned
from contract_tests.wirelog import wire_log
from emulator import SessionTrace, facts

__all__ = ["START_S", "Baseline", "Bench", "Ping", "second_start_s"]

START_S = 150.0
"""For the start of another container, where nobody asked for a time: it shares the machine with the first one."""

_TRACE_TIMEOUT_S = 3.0
_LEAST_PATIENCE_S = 5.0
_MORE_PINGS = 2
_STALLED_S = 0.3
_STOP_S = facts.seconds("life.stop")


def second_start_s(asked: float | None, usual: float) -> float:
    """Return how long another container may take to start: what was asked for, else ``usual``, at least ``START_S``."""
    return asked or max(START_S, usual)


@dataclass(frozen=True, slots=True)
class Baseline:
    """How the container answers one good request when nothing is wrong; seconds.

    ``data_type`` is the one that it answers: ``UTF8`` as a rule, None if it only knows binary frames.
    """

    data_type: str | None
    seconds: float
    """At its quickest, once its model is warm."""
    slowest: float
    """At its slowest: a model that is compiled by the first text may be so again by the next one."""
    longest_gap: float
    tail: float = 0.0
    """Seconds for which the answer went on behind its first part, where the profile takes that one for all of it."""


@dataclass
class Bench:
    """What a check works with. ``idle_seconds`` is the pause that a session has to survive."""

    reach: Reach
    profile: Profile
    idle_seconds: float
    baseline: Baseline | None = None
    start_seconds: float = START_S
    """How long another container like this one may take until its /ping is 200."""
    stop_seconds: float = _STOP_S
    """How long a container may take to end after SIGTERM."""
    late_seconds: float = 12.0
    """How long a container that says that its model is not there yet is asked again, although its /ping is 200."""
    late: str = ""
    """What it said meanwhile, where a good request was only answered after a while."""
    hang_ups: int = 12
    """How many callers hang up in mid-sentence, at most."""
    measured: bool = False
    """Whether a good request has been tried; if ``baseline`` is still None then, it was not answered."""
    _client: Client | None = None
    _last: Conversation | None = field(default=None, init=False)
    sessions: list[Conversation] = field(default_factory=list, init=False, repr=False)
    """The sessions of the check that runs."""
    _quickest_open: float = field(default=float("inf"), init=False)
    _headers: Mapping[str, str] = field(default_factory=dict, init=False, repr=False)

    def can(self, capability: Capability) -> bool:
        """Tell whether this target offers more than a client of SageMaker has."""
        return capability in self.reach.capabilities

    @property
    def url(self) -> str:
        """The container's own base address; only where it can be dialled or pinged."""
        return self.reach.url

    @property
    def patience(self) -> float:
        """Silence, in seconds, after which a container counts as silent: from its own pace where that is known."""
        if self.baseline is None:
            return self.profile.reply_timeout
        return min(self.profile.reply_timeout, max(_LEAST_PATIENCE_S, 4 * self.baseline.longest_gap + 3))

    def patience_for(self, text: str) -> float:
        """Silence, in seconds, that a container may need for ``text`` if it sends nothing before all is spoken."""
        if self.baseline is None:
            return self.profile.reply_timeout
        share = len(text) / len(self.profile.request.sentences[0])
        return max(self.patience, _LEAST_PATIENCE_S + 3 * share * self.baseline.seconds)

    @property
    def bounded(self) -> float:
        """Seconds within which a whole answer of ordinary length has to be over."""
        return 5 + 4 * (self.baseline.slowest if self.baseline else self.profile.reply_timeout)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[None]:
        """Hold an SDK client open: it belongs to one event loop, a bench lives longer."""
        async with self.reach.client() as client:
            self._client = client
            try:
                yield
            finally:
                self._client = None

    @asynccontextmanager
    async def connect(self, query: str | None = None) -> AsyncIterator[Conversation]:
        """Open a session through the emulator; it is closed afterwards, whatever its end was.

        ``query`` is added to the profile's own query string.
        """
        if self._client is None:
            raise RuntimeError("Bench.connect() needs Bench.client() around it")
        asked = "&".join(part for part in (self.profile.query, query) if part)
        session = await self._client.open(self.reach.endpoint, self.profile.path, asked or None)
        if session.opened is not None:
            self._quickest_open = min(self._quickest_open, session.opened)
        kind = self.baseline.data_type if self.baseline else "UTF8"
        conversation = self._last = Conversation(session, self.profile, self.patience, kind)
        conversation.tail = self.baseline.tail if self.baseline else 0.0
        self.sessions.append(conversation)
        try:
            yield conversation
        finally:
            await session.close()

    def trace(self, conversation: Conversation) -> SessionTrace | None:
        """Return what was written down on the way to the container; None where nothing was."""
        return self.reach.trace(conversation.session)

    def accepted(self, conversation: Conversation) -> float | None:
        """Return after how many seconds the container accepted the WebSocket, None if it did not.

        Where the frames cannot be seen, it is what opening took longer than the quickest opening so far.
        """
        if not self.can(Capability.FRAMES):
            opened = conversation.session.opened
            return None if opened is None else opened - self._quickest_open
        trace = self.trace(conversation)
        times = (
            [entry.at for entry in trace.entries if (entry.hop, entry.kind) == ("container", "http")] if trace else []
        )
        return times[1] - times[0] if len(times) > 1 else None

    def log(self, conversation: Conversation | None = None) -> tuple[str, ...]:
        """Return the wire log of a session, by default of the last one."""
        chosen = conversation or self._last
        return () if chosen is None else tuple(wire_log(chosen.session, self.trace(chosen)))

    async def closing(self, conversation: Conversation) -> Finding:
        """End the session, if it has not ended yet, and judge the container's part in it.

        A container that leaves the client's Close frame unanswered gets a warning: CT11 is the check for that. One that
        dropped the connection in the middle of a session has failed.
        """
        await conversation.session.close()
        if not self.can(Capability.FRAMES):
            return _seen_by_client(conversation.session.over)
        trace = self.trace(conversation)
        if trace is None:
            return not_applicable("there is no trace of this session")
        deadline = time.monotonic() + _TRACE_TIMEOUT_S
        while trace.container_close is None and not trace.container_eof_without_close:
            if time.monotonic() > deadline:
                return warned(
                    sent="a Close frame, after the client had ended its input",
                    expected="the container answers it with a Close frame",
                    observed=f"neither a Close frame nor the end of the connection within {_TRACE_TIMEOUT_S:g} s",
                )
            await asyncio.sleep(0.01)  # the trace is written by the emulator's thread; there is no event to wait for
        if trace.container_close is not None:
            code, reason = trace.container_close
            return passed(f"Close {code}{f' ({reason})' if reason else ''}")
        return _dropped(conversation.session.over)

    async def ping(self, method: str = "GET", timeout: float = 2.0) -> Ping:  # noqa: ASYNC109 - handed on
        """Ask ``/ping`` once. ``timeout`` in seconds.

        Where its end is noticed late, this process got no turn itself: then it asks once more.
        """
        reply = await self.reach.ping(method, timeout)
        for _ in range(_MORE_PINGS):
            if not reply.silent or reply.seconds < timeout + _STALLED_S:
                break
            reply = await self.reach.ping(method, timeout)
        return reply

    async def stack(self) -> Stack | None:
        """Return what serves the container, as far as its answer to ``/ping`` tells."""
        if not self._headers:
            self._headers = (await self.ping()).headers
        return stack_of(self._headers)

    async def post(self, body: str, content_type: str) -> HttpReply:
        """Send one ``POST /invocations``; it has the time of a whole answer."""
        return await self.reach.post(body, content_type, self.patience + self.bounded)


def _seen_by_client(outcome: Ended | Failed | None) -> Finding:
    """Judge an end of which only the client's side can be seen."""
    if isinstance(outcome, Failed) and outcome.without_close_frame:
        return _dropped(outcome)
    if isinstance(outcome, Failed) and outcome.code is None:
        return warned(
            sent="the end of the client's input",
            expected="the end of the output",
            observed=f"the session ended with {outcome}",
        )
    if outcome is None:
        return warned(
            sent="the end of the client's input",
            expected="the end of the output",
            observed=f"the output had not ended {_TRACE_TIMEOUT_S:g} s later",
        )
    return passed(f"as the client sees it: {outcome}")


def _dropped(outcome: Ended | Failed | None) -> Finding:
    if isinstance(outcome, Failed):
        return failed(
            sent="",
            expected="a Close frame with a code and a reason, so that the caller learns why the session is over",
            observed="the container's TCP connection ended without a Close frame (WebSocket clients call that 1006)",
        )
    return warned(
        sent="a Close frame, after the client had ended its input",
        expected="the container answers it with a Close frame",
        observed="the container's TCP connection ended without a Close frame",
    )
