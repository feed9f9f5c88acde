"""CT3: a request that comes in fragments is understood like the same request in one piece, wherever it is cut."""

import json

from contract_tests.answer import Answer
from contract_tests.bench import Bench
from contract_tests.blame import pause_ends_session
from contract_tests.check import Check, Outcome
from contract_tests.client import Ended, Failed
from contract_tests.conversation import Conversation
from contract_tests.profile import Profile
from contract_tests.snippets import libwebsockets
from contract_tests.verdict import Finding, Fix, failed, not_applicable, passed

__all__ = ["FragmentedUtf8"]

# two, three and four bytes a character; the second text is for containers that do not take the first
_TEXTS = ("Café “déjà vu”, 你好 😀", "Café crème, déjà vu.")
_ACCENT = "é".encode()
_TOLERANCE = 0.05
_PAUSE_S = 0.5
_LATER_S = 0.5  # the timer ran before the first fragment was sent
_REPLACEMENT = "\ufffd"
_DECODE_LATE = Fix(
    "Collect bytes and decode once, when the message is whole (FIN=1); better still, let a WebSocket library join "
    "the fragments. Where bytes must be decoded on the way, use an incremental decoder. The same goes for log lines.",
    before="""\
text += frame.data.decode("utf-8", "replace")   # a cut inside a character gives U+FFFD twice
if frame.fin:
    handle(text)""",
    after="""\
payload += frame.data
if frame.fin:
    handle(payload.decode("utf-8"))
    payload = b\"\"""",
    elsewhere=(libwebsockets.WHOLE_MESSAGE,),
)
_PER_FRAGMENT = (
    "Each fragment is decoded by itself, with replacement characters, and the strings are joined afterwards."
)
_FIN_IGNORED = "Each frame is taken for a whole message: FIN is not looked at, and continuation frames are not joined."


class FragmentedUtf8(Check):
    """One request cut inside a two-byte character, then one cut into single bytes; both are compared with the whole."""

    id = "CT3"
    name = "fragmented-utf8"
    stake = (
        "A client that sends PARTIAL parts reaches the container as one fragmented message, and a cut may fall inside "
        "a character. Where that goes wrong, accents and CJK come out as garbage or the connection dies, but only for "
        "some texts, and never in a test with plain English."
    )
    facts = ("frag.run", "frag.reassembly", "frame.opaque")

    def applies(self, profile: Profile) -> str | None:
        """Only requests that are text."""
        return f"the requests of profile {profile.name!r} are audio" if profile.request.is_audio else None

    async def run(self, bench: Bench) -> Outcome:
        """Ask for a text in one piece, then for the same text in fragments, each time on a new session."""
        for text in _TEXTS:
            async with bench.connect() as conversation:
                whole = await conversation.ask("whole", text)
                closing = await bench.closing(conversation)
            if whole.complete:
                break
        else:
            reason = not_applicable(f"a text with accents is not answered in one piece either: {whole.describe()}")
            return reason, closing, bench.log(conversation)
        payload = bench.profile.request.render("pieces", text).encode()
        cut = payload.index(_ACCENT) + 1
        ways = [
            ("cut inside é, between c3 and a9", [payload[:cut], payload[cut:]]),
            (f"cut into {len(payload)} fragments of one byte each", [bytes([byte]) for byte in payload]),
        ]
        for how, pieces in ways:
            async with bench.connect() as conversation:
                answer = await _ask_in_pieces(conversation, pieces, how)
                closing = await bench.closing(conversation)
            finding = _judge(text, how, whole, answer)
            if finding is None and not _alike(whole, answer) and not await _varies(bench, text, pieces, whole, answer):
                finding = _other_length(text, how, whole, answer)
            if finding is not None and isinstance(answer.outcome, Ended):
                pause = answer.outcome.at - answer.sent_at
                if pause > _PAUSE_S and await pause_ends_session(bench, pause + _LATER_S):
                    idle = f"a session in which no whole message comes for {pause:.1f} s is ended: see CT7"
                    return not_applicable(idle), closing, bench.log(conversation)
            if finding is not None:
                return finding, closing, bench.log(conversation)
        return passed("fragments of a message, cut inside characters, are read like the whole"), closing, bench.log()


async def _ask_in_pieces(conversation: Conversation, pieces: list[bytes], how: str) -> Answer:
    session = conversation.session
    session.note(f"sends {sum(map(len, pieces))} bytes {how}: PARTIAL parts, the last one COMPLETE")
    answer = conversation.expect("pieces")
    for piece in pieces[:-1]:
        await session.send(piece, conversation.data_type, "PARTIAL")
    await session.send(pieces[-1], conversation.data_type, "COMPLETE")
    await conversation.follow_up("pieces")
    return await conversation.hear(answer)


def _judge(text: str, how: str, whole: Answer, answer: Answer) -> Finding | None:
    if not answer.complete:
        return _unanswered(text, how, whole, answer)
    before, after = _words(whole), _words(answer)
    if (_REPLACEMENT in after and _REPLACEMENT not in before) or (text in before and text not in after):
        observed = f"the answer repeats the text, but not as it was sent: {after[:200]}"
        causes = (_PER_FRAGMENT, _FIN_IGNORED) if _REPLACEMENT in after else (_FIN_IGNORED, _PER_FRAGMENT)
        return _failed(text, how, observed, causes)
    return None


def _other_length(text: str, how: str, whole: Answer, answer: Answer) -> Finding:
    observed = f"{_bytes(answer):,} bytes of audio; in one piece it was {_bytes(whole):,}"
    return _failed(text, how, observed, (_PER_FRAGMENT,))


def _unanswered(text: str, how: str, whole: Answer, answer: Answer) -> Finding:
    outcome = answer.outcome
    causes: tuple[str, ...]
    if isinstance(outcome, Failed) and outcome.without_close_frame:
        causes = (
            (
                "A fragment is decoded by itself, strictly, and the UnicodeDecodeError leaves the handler. It need not "
                "be the handler's own code: a log statement that prints each frame does it too."
            ),
            _FIN_IGNORED,
        )
    elif isinstance(outcome, Failed) and outcome.code == "1007":
        causes = ("Each fragment has to be valid UTF-8 for this server; RFC 6455, 8.1, asks that of the whole only.",)
    elif answer.outcome == "error":
        causes = (_FIN_IGNORED, _PER_FRAGMENT)
    elif isinstance(outcome, Ended | Failed):
        causes = ("Continuation frames are refused, or taken for an unknown kind of message.", _FIN_IGNORED)
    else:
        causes = ("The handler takes whole messages only and drops fragments without a word.", _FIN_IGNORED)
    return _failed(text, how, f"{answer.describe()}; in one piece it got {whole.describe()}", causes)


def _failed(text: str, how: str, observed: str, causes: tuple[str, ...]) -> Finding:
    return failed(
        sent=f"a good request for the text {text!r} in one message, {how}",
        expected="the same answer as to the request in one piece",
        observed=observed,
        causes=causes,
        fix=_DECODE_LATE,
    )


def _words(answer: Answer) -> str:
    """Return all control messages as one text."""
    bodies = (control.body for control in answer.controls)
    return "\n".join(json.dumps(body, ensure_ascii=False) if isinstance(body, dict) else str(body) for body in bodies)


def _bytes(answer: Answer) -> int:
    return sum(map(len, answer.audio))


def _alike(one: Answer, other: Answer) -> bool:
    return abs(_bytes(one) - _bytes(other)) <= _TOLERANCE * _bytes(one)


async def _varies(bench: Bench, text: str, pieces: list[bytes], whole: Answer, answer: Answer) -> bool:
    """Tell whether the container speaks the same request in different lengths anyway, as models that sample do."""
    async with bench.connect() as conversation:
        whole_again = await conversation.ask("again", text)
    async with bench.connect() as conversation:
        pieces_again = await _ask_in_pieces(conversation, pieces, "once more")
    return not (_alike(whole, whole_again) and _alike(answer, pieces_again))
