"""All checks, in the order in which they run."""

from contract_tests.check import Check
from contract_tests.checks.bad_message_isolation import BadMessageIsolation
from contract_tests.checks.control_frames import ControlFrames
from contract_tests.checks.disconnect import DisconnectStopsWork
from contract_tests.checks.explicit_close import ExplicitClose
from contract_tests.checks.first_audio import FirstAudioEarly
from contract_tests.checks.fragmented_utf8 import FragmentedUtf8
from contract_tests.checks.frame_size import FrameSize
from contract_tests.checks.good_request import GoodRequest
from contract_tests.checks.handshake import HandshakeVariants
from contract_tests.checks.http_error import HttpErrorBefore200
from contract_tests.checks.long_text import LongText
from contract_tests.checks.loop_stays_free import LoopStaysFree
from contract_tests.checks.many_sentences import ManySentences
from contract_tests.checks.nothing_to_speak import NothingToSpeak
from contract_tests.checks.order import OrderAndCancel
from contract_tests.checks.parameters import Parameters
from contract_tests.checks.pcm_integrity import PcmIntegrity
from contract_tests.checks.ping import PingHealth
from contract_tests.checks.pong import PongWhileBusy
from contract_tests.checks.readiness import ReadinessAndStop
from contract_tests.checks.speech import SpeechSaysText
from contract_tests.checks.text_and_binary import TextAndBinary
from contract_tests.checks.two_sessions import TwoSessions

__all__ = ["CHECKS"]

CHECKS: tuple[Check, ...] = (
    GoodRequest(),
    TextAndBinary(),
    BadMessageIsolation(),
    FragmentedUtf8(),
    NothingToSpeak(),
    LoopStaysFree(),
    PongWhileBusy(),
    ManySentences(),
    PcmIntegrity(),
    FrameSize(),
    FirstAudioEarly(),
    ExplicitClose(),
    DisconnectStopsWork(),
    TwoSessions(),
    OrderAndCancel(),
    Parameters(),
    LongText(),
    HttpErrorBefore200(),
    ReadinessAndStop(),
    HandshakeVariants(),
    ControlFrames(),
    PingHealth(),
    SpeechSaysText(),
)
