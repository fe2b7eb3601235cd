"""Frames of a link: each comes back as it was, however it is cut, and garbage is named."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.link import frames
from atoll.wire.link.frames import (
    MAX_FILE_BYTES,
    MAX_FRAME_BYTES,
    Adopted,
    Frame,
    FrameParser,
    Garbled,
    Kind,
    Passed,
    PassedDescriptor,
    decode_adopted,
    decode_answer,
    decode_number,
    decode_packet,
    decode_read,
    decode_size,
    decode_stat,
    encode_adopted,
    encode_answer,
    encode_credit,
    encode_frame,
    encode_packet,
    encode_read,
    encode_size,
    encode_stat,
)


def only(data: bytes) -> Frame:
    (frame,) = FrameParser().feed(data)
    return frame


@given(
    st.lists(
        st.tuples(st.sampled_from(Kind), st.integers(0, 2**32 - 1), st.binary(max_size=30)),
        max_size=6,
    ),
    st.integers(1, 9),
)
def test_frames_come_back_however_they_are_cut(
    sent: list[tuple[Kind, int, bytes]], size: int
) -> None:
    data = b"".join(encode_frame(*one) for one in sent)
    parser = FrameParser()
    got = [frame for at in range(0, len(data), size) for frame in parser.feed(data[at : at + size])]
    assert got == [Frame(*one) for one in sent]


def test_frame_beyond_the_bound_is_garbled_before_it_came() -> None:
    head = encode_frame(Kind.DATA, 1, b"x" * (MAX_FRAME_BYTES + 1))[:8]
    with pytest.raises(Garbled, match="longer"):
        FrameParser().feed(head)


def test_packet_carries_its_descriptors() -> None:
    passed = (PassedDescriptor(Passed.NULL), PassedDescriptor(Passed.OUTPUT, 2**31))
    frame = only(encode_packet(b"packet", passed))
    assert (frame.kind, frame.channel) == (Kind.PACKET, 0)
    assert decode_packet(frame.payload) == (b"packet", passed)
    assert decode_packet(b"\0") == (b"", ())


@pytest.mark.parametrize("payload", [b"", b"\x02\0\0\0\0\0", b"\x01\xff\0\0\0\0", b"\xff"])
def test_packet_that_is_cut_short_or_unknown_is_garbled(payload: bytes) -> None:
    with pytest.raises(Garbled):
        decode_packet(payload)


def test_numbers_sizes_and_requests_come_back() -> None:
    assert decode_number(only(encode_credit(7, 2**31)).payload) == 2**31
    assert decode_size(only(encode_size(7, 91, 33)).payload) == (91, 33)
    assert decode_read(only(encode_read(7, 2**40, MAX_FILE_BYTES)).payload) == (
        2**40,
        MAX_FILE_BYTES,
    )
    assert decode_answer(only(encode_answer(7, 2)).payload) == (2, b"")
    number, result = decode_answer(only(encode_stat(7, 0o100644, 2**41)).payload)
    assert (number, decode_stat(result)) == (0, (0o100644, 2**41))
    adopted = Adopted(2**32 - 1, -1, 80, 24)
    frame = only(encode_adopted(2**31 + 1, adopted))
    assert (frame.channel, decode_adopted(frame.payload)) == (2**31 + 1, adopted)


def test_read_of_more_than_an_answer_holds_is_garbled() -> None:
    with pytest.raises(Garbled, match="longer"):
        decode_read(only(encode_read(7, 0, MAX_FILE_BYTES + 1)).payload)


@pytest.mark.parametrize(
    "decode", [decode_number, decode_size, decode_read, decode_answer, decode_stat, decode_adopted]
)
def test_payload_of_another_length_is_garbled(decode: Callable[[bytes], object]) -> None:
    with pytest.raises(Garbled):
        decode(b"x")


@given(st.binary(max_size=200))
def test_any_bytes_are_frames_or_garbled(data: bytes) -> None:
    try:
        for frame in FrameParser().feed(data):
            decode_packet(frame.payload)
    except Garbled:
        return


def test_kinds_have_numbers_of_their_own() -> None:
    assert len({int(kind) for kind in Kind}) == len(Kind) == 18
    assert frames.FAR_CHANNELS > 2**16


def test_frame_that_is_not_whole_waits_for_its_rest() -> None:
    parser, data = FrameParser(), encode_frame(Kind.DATA, 7, b"whole")
    assert parser.feed(data[:-1]) == []
    assert parser.feed(data[-1:]) == [Frame(Kind.DATA, 7, b"whole")]
