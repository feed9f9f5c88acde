import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.wire.frames import PREVIEWED, Frame, FrameMapper, Opcode, PartMapper, preview
from emulator.wire.parts import CompletionState, DataType, PayloadPart

parts = st.builds(
    PayloadPart,
    st.binary(max_size=20),
    st.sampled_from([None, *DataType]),
    st.sampled_from([None, *CompletionState]),
)


@pytest.mark.parametrize(
    ("data_type", "opcode"),
    [(None, Opcode.BINARY), (DataType.BINARY, Opcode.BINARY), (DataType.UTF8, Opcode.TEXT)],
)
def test_the_data_type_chooses_the_opcode_and_none_is_binary(data_type: DataType | None, opcode: Opcode) -> None:
    assert FrameMapper().frame(PayloadPart(b'{"text": "hi"}', data_type)) == Frame(opcode, b'{"text": "hi"}')


def test_a_run_of_partial_parts_is_one_fragmented_message() -> None:
    mapper = FrameMapper()
    run = [
        PayloadPart(b"Hel", DataType.UTF8, CompletionState.PARTIAL),
        PayloadPart(b"lo ", DataType.BINARY, CompletionState.PARTIAL),
        PayloadPart(b"World", DataType.UTF8, CompletionState.COMPLETE),
        PayloadPart(b"next"),
    ]
    assert [mapper.frame(part) for part in run] == [
        Frame(Opcode.TEXT, b"Hel", fin=False),
        Frame(Opcode.CONTINUATION, b"lo ", fin=False),
        Frame(Opcode.CONTINUATION, b"World"),
        Frame(Opcode.BINARY, b"next"),
    ]


def test_continuations_of_the_container_keep_the_type_of_their_message() -> None:
    mapper = PartMapper()
    frames = [Frame(Opcode.TEXT, b"a", fin=False), Frame(Opcode.CONTINUATION, b"b"), Frame(Opcode.BINARY, b"c")]
    assert [mapper.part(frame) for frame in frames] == [
        PayloadPart(b"a", DataType.UTF8, CompletionState.PARTIAL),
        PayloadPart(b"b", DataType.UTF8, CompletionState.COMPLETE),
        PayloadPart(b"c", DataType.BINARY, CompletionState.COMPLETE),
    ]


@given(st.lists(parts, max_size=20))
def test_an_echoing_container_gives_back_one_part_for_each_with_the_same_bytes(sent: list[PayloadPart]) -> None:
    there, back = FrameMapper(), PartMapper()
    frames = [there.frame(part) for part in sent]
    received = [back.part(frame) for frame in frames]
    assert [part.data for part in received] == [part.data for part in sent]
    assert back.open == there.open
    fin = [part.completion_state is CompletionState.COMPLETE for part in received]
    assert fin == [part.completion_state is not CompletionState.PARTIAL for part in sent]


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"", "''"),
        ("hé".encode(), "'hé'"),
        (b"\x00\x01\xff", "00 01 ff"),
        (b"a" * 200, repr("a" * 96) + "…"),
        (b"\xff" * 20, "ff " * 15 + "ff…"),
        (b"x" + ("é" * 60).encode(), repr("x" + "é" * 47) + "…"),
    ],
)
def test_a_preview_is_text_where_it_can_be(data: bytes, shown: str) -> None:
    assert preview(data) == preview(data[:PREVIEWED], len(data)) == shown
