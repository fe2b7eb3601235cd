import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.crdt.frames import (
    MAX_CLIENTS,
    MAX_PRESENCES,
    AwarenessQuery,
    AwarenessUpdate,
    Frame,
    Presence,
    SyncStep1,
    SyncStep2,
    SyncUpdate,
    read_clocks,
    read_frame,
    spell_clocks,
    spell_frame,
)
from atoll.wire.crdt.lib0 import Malformed, spell_bytes, spell_number

NUMBERS = st.integers(0, 2**53 - 1)
PRESENCES = st.builds(Presence, NUMBERS, NUMBERS, st.text())
FRAMES: st.SearchStrategy[Frame] = st.one_of(
    st.builds(SyncStep1, st.dictionaries(NUMBERS, NUMBERS)),
    st.builds(SyncStep2, st.binary()),
    st.builds(SyncUpdate, st.binary()),
    st.builds(AwarenessUpdate, st.lists(PRESENCES).map(tuple)),
    st.just(AwarenessQuery()),
)


@given(FRAMES)
def test_frame_is_read_as_it_was_spelled(frame: Frame) -> None:
    assert read_frame(spell_frame(frame)) == frame


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_malformed(data: bytes) -> None:
    try:
        read_frame(data)
    except Malformed:
        return


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x02\x00",
        b"\x09",
        b"\x00\x03\x00",
        b"\x00\x00\x01\x00\x00",
        b"\x03\x00",
        b"\x00\x00" + spell_bytes(b"\x02\x01\x05\x01\x06"),
        b"\x00\x00" + spell_bytes(spell_number(MAX_CLIENTS + 1) + b"\0" * (MAX_CLIENTS + 2)),
        b"\x01" + spell_bytes(spell_number(MAX_PRESENCES + 1) + b"\0" * 3 * (MAX_PRESENCES + 1)),
        b"\x01" + spell_bytes(b"\x00\x00"),
    ],
    ids=range(10),
)
def test_frame_that_no_provider_sends_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        read_frame(data)


def test_clocks_are_those_of_a_state_vector() -> None:
    assert read_clocks(b"\x01\x05\x07") == {5: 7}
    assert spell_clocks({5: 7}) == b"\x01\x05\x07"


def test_frames_of_each_kind_are_those_of_the_protocol() -> None:
    spelled = {
        b"\x00\x00\x03\x01\x05\x07": SyncStep1({5: 7}),
        b"\x00\x01\x02ab": SyncStep2(b"ab"),
        b"\x00\x02\x02ab": SyncUpdate(b"ab"),
        b"\x01\x06\x01\x05\x07\x02{}": AwarenessUpdate((Presence(5, 7, "{}"),)),
        b"\x03": AwarenessQuery(),
    }
    for data, frame in spelled.items():
        assert read_frame(data) == frame
        assert spell_frame(frame) == data
