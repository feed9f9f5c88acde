"""What CT9 says of frames of different sizes, without a container."""

import pytest

from contract_tests.answer import Answer
from contract_tests.checks.frame_size import _judge_frames
from contract_tests.profile import AudioFormat
from contract_tests.verdict import Status

AUDIO = AudioFormat(24_000, None)
KIB = 1024


def frames(*sizes: int) -> list[bytes]:
    return [bytes([number % 251 + 1]) * size for number, size in enumerate(sizes)]


@pytest.mark.parametrize(
    ("audio", "status", "said"),
    [
        (frames(*[12_000] * 100), Status.PASS, "12,000 bytes (0.2 s"),
        (frames(256 * KIB, 256 * KIB), Status.PASS, "262,144"),
        (frames(4_800, 300 * KIB, 300 * KIB), Status.WARN, "3 frames, the largest one with 307,200 bytes (6.4 s"),
        (frames(4_800, 1100 * KIB), Status.FAIL, "1,126,400"),
        (frames(300 * KIB), Status.FAIL, "a single frame"),  # as long as the text: it is over 1 MiB soon
        (frames(64 * KIB, 64 * KIB + 2), Status.PASS, "65,538"),
        ([], Status.NOT_APPLICABLE, "no audio came"),
    ],
)
def test_the_largest_frame_decides(audio: list[bytes], status: Status, said: str) -> None:
    finding = _judge_frames(AUDIO, "a text", Answer("r", 0.0, audio=audio))
    assert finding.status is status
    assert said in finding.observed


def test_a_last_frame_that_repeats_the_clip_is_told() -> None:
    pieces = frames(*[12_000] * 10)
    finding = _judge_frames(AUDIO, "a text", Answer("r", 0.0, audio=[*pieces, b"".join(pieces)]))
    assert finding.status is Status.FAIL
    assert "repeats" in finding.observed
