"""What any session shows of the facts, whatever it was opened for: told of each one when it is over."""

import re

from contract_tests.answer import json_object
from contract_tests.client import Ended, Failed, Session
from contract_tests.profile import Profile
from emulator import facts
from live_tests.parity.ledger import Ledger

__all__ = ["Watcher"]

_UPGRADE_FAILED = "failed to establish websocket connection"
_LARGE = 1 << 20
_SLACK_S = 5.0


class Watcher:
    """Enters into a ledger what each session shows.

    ``port`` is the service's, None where it says nothing about AWS; ``variants`` are the names of the endpoint's.
    """

    def __init__(
        self, ledger: Ledger, profile: Profile, port: int | None, variants: frozenset[str] = frozenset()
    ) -> None:
        self.ledger = ledger
        self.variants = variants
        self._speaks = profile.audio is not None
        self._port = port

    def __call__(self, session: Session) -> None:
        """Look at one session that is over."""
        if session.opened is not None:
            self._opened(session)
        if session.heard:
            self._parts(session)
        if isinstance(session.over, Failed):
            self._failed(session.over)
            largest = max((len(part.data) for part in session.sent), default=0)
            if largest >= _LARGE and session.over.kind != "ModelStreamError":
                self.ledger.refute("unk.part-max", f"after a part of {largest:,} bytes: {session.over}")
        elif session.input_ended is not None and session.heard:
            self._left(session)

    def _opened(self, session: Session) -> None:
        confirm = self.ledger.confirm
        confirm("wire.path", "the SDK's path is answered with 200")
        confirm("wire.tls-alpn", "the SDK's HTTP/2 connection was accepted")
        confirm("req.sigv4", "the SDK's signed request is answered with 200")
        if self._port is not None:
            self.ledger.judge(
                "wire.port", f"200 from port {self._port}", holds=self._port == facts.integer("wire.port")
            )
        confirm("resp.before-first-event", f"200 after {session.opened:.2f} s, before the client had sent an event")
        if session.request_id:
            confirm("resp.request-id", "the SDK finds a request id in the response")
        else:
            self.ledger.refute("resp.request-id", "the SDK finds no request id in the response")
        if self.variants:
            known = session.variant in self.variants
            self.ledger.judge("resp.variant", f"the response names the variant {session.variant!r}", holds=known)

    def _parts(self, session: Session) -> None:
        judge = self.ledger.judge
        self.ledger.confirm("resp.no-initial-event", "the first event that came was a payload part")
        self.ledger.confirm("sign.event-wrap", "events as the SDK wraps and signs them were answered")
        types = {part.data_type for part in session.heard}
        states = {part.completion_state for part in session.heard}
        shown = f"DataType {_listed(types)}, CompletionState {_listed(states)}, on {len(session.heard)} parts"
        confirm = self.ledger.confirm
        confirm("event.response-union", "every event that came was one that the SDK's model knows")
        confirm("sign.response-plain", "events of the response were read without a signature")
        if types - {None}:
            confirm("event.header-names", f"the SDK finds DataType by its name: {_listed(types)}")
        if session.now - (session.opened or 0.0) > facts.seconds("ping.interval") + _SLACK_S:
            confirm("ping.not-visible", f"{session.now:.0f} s of a session, and nothing came but payload parts")
        judge("event.data-type", shown, holds=types <= {"UTF8", "BINARY", None})
        judge("event.completion-state", shown, holds=states <= {"PARTIAL", "COMPLETE", None})
        judge("unk.response-headers", shown, holds=None not in types | states)
        if self._speaks:
            self._speech(session)

    def _speech(self, session: Session) -> None:
        control = [part for part in session.heard if json_object(part.data) is not None]
        audio = [part for part in session.heard if json_object(part.data) is None and part.data]
        if control:
            self.ledger.confirm("event.bytes", f"{len(control)} parts are JSON as they came")
            types = {part.data_type for part in control}
            seen = f"{len(control)} control messages came with DataType {_listed(types)}"
            self.ledger.judge("frame.out-text", seen, holds=types == {"UTF8"})
        if audio:
            types = {part.data_type for part in audio}
            seen = f"audio came with DataType {_listed(types)}"
            self.ledger.judge("frame.out-binary", seen, holds=types == {"BINARY"})
            states = {part.completion_state for part in audio}
            # a container that sends fragments would show PARTIAL, and says nothing here
            if "PARTIAL" not in states:
                seen = f"audio came with CompletionState {_listed(states)}"
                self.ledger.judge("frame.out-complete", seen, holds=states == {"COMPLETE"})
            sizes = sorted({len(part.data) for part in audio})
            odd = [size for size in sizes if size % 2]
            seen = f"{len(audio)} parts of audio, {sizes[0]} to {sizes[-1]} bytes, {len(sizes)} different sizes"
            # the container sends whole samples: an odd size means that somebody cut or joined its frames
            self.ledger.judge("frame.one-to-one", seen + (f", odd ones: {odd[:5]}" if odd else ""), holds=not odd)

    def _failed(self, failure: Failed) -> None:
        if failure.kind in ("ModelStreamError", "InternalStreamFailure"):
            self.ledger.confirm("stream.raises", f"receive() raised {failure.kind}")
            self.ledger.confirm("stream.encoding", f"the SDK read {failure.kind} from the event")
        if failure.kind == "ModelStreamError":
            self.ledger.judge(
                "stream.model-error",
                f"ErrorCode {failure.code!r}, Message {failure.message!r}",
                holds=bool(failure.code) and bool(failure.message),
            )
        elif failure.kind == "InternalStreamFailure":
            self.ledger.judge("stream.internal", f"Message {failure.message!r}", holds=bool(failure.message))
        elif failure.kind == "ModelError":
            holds = _UPGRADE_FAILED in failure.message.lower()
            self.ledger.judge("err.424-upgrade", f"ModelError: {failure.message}", holds=holds)
            self.ledger.judge(
                "err.424", f"ModelError with {failure.code!r}: {failure.message}", holds=bool(failure.message)
            )
            self.ledger.confirm("err.discriminator", "the SDK knows the error for a ModelError")
            detail = {name: value for name, value in failure.detail.items() if name != "original_status_code"}
            self.ledger.judge("unk.424-detail", f"the 424 carries {detail or 'no details'}", holds=bool(detail))
        elif failure.kind == "InputValidationError":
            self.ledger.confirm("err.discriminator", "the SDK knows the error for an InputValidationError")
            self.ledger.judge("err.400-input", f"ErrorCode {failure.code!r}: {failure.message}", holds=True)
        elif failure.kind == "InternalServerError":
            self.ledger.confirm("err.500", f"ErrorCode {failure.code!r}: {failure.message}")
        elif re.search(r"status: 400.*ThrottlingException", failure.message):
            self.ledger.confirm("err.throttle", failure.message)

    def _left(self, session: Session) -> None:
        ended = session.input_ended or 0.0
        if isinstance(session.over, Ended):
            waited = max(0.0, session.over.at - ended)
            self.ledger.confirm("close.client-input", f"the output ended {waited:.2f} s after the client's input")
        elif session.over is None:
            self.ledger.refute("close.client-input", "the output did not end within 3 s after the client's input")


def _listed(values: set[str | None]) -> str:
    return "/".join(sorted(str(value or "unset") for value in values))
