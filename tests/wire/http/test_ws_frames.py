import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.client import ClientProtocol
from websockets.frames import Frame
from websockets.frames import Opcode as TheirOpcode
from websockets.uri import parse_uri

from atoll.wire.http.ws_frames import (
    CLOSE_PROTOCOL,
    CLOSE_TOO_LARGE,
    BadStream,
    FrameReader,
    Message,
    Opcode,
    close_frame,
    header,
)


def client(opcode: int, data: bytes, *, fin: bool = True) -> bytes:
    """One frame as another implementation's client sends it."""
    return Frame(TheirOpcode(opcode), data, fin=fin).serialize(mask=True)


def read(*pieces: bytes, most: int = 1 << 20) -> list[Message]:
    reader = FrameReader(most)
    return [message for piece in pieces for message in reader.feed(piece)]


@given(
    st.lists(st.tuples(st.sampled_from([1, 2, 9, 10]), st.binary(max_size=125)), max_size=8),
    st.integers(min_value=1, max_value=40),
)
def test_frames_cut_anywhere_are_the_messages_that_were_sent(
    sent: list[tuple[int, bytes]], step: int
) -> None:
    stream = b"".join(client(opcode, data) for opcode, data in sent)
    pieces = [stream[at : at + step] for at in range(0, len(stream), step)]
    assert read(*pieces) == [Message(Opcode(opcode), data) for opcode, data in sent]


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536, 200_000])
def test_frames_of_every_length_form_are_read_and_written(size: int) -> None:
    data = os.urandom(size)
    assert read(client(2, data)) == [Message(Opcode.BINARY, data)]
    theirs = ClientProtocol(parse_uri("ws://x/"))
    theirs.reader.feed_data(header(Opcode.BINARY, size) + data)
    parsing = Frame.parse(theirs.reader.read_exact, mask=False)
    with pytest.raises(StopIteration) as done:
        while True:
            next(parsing)
    assert done.value.value.data == data


def test_pieces_of_a_message_are_joined_around_a_ping() -> None:
    stream = client(1, b"he", fin=False) + client(9, b"p") + client(0, b"llo")
    assert read(stream) == [Message(Opcode.PING, b"p"), Message(Opcode.TEXT, b"hello")]


@pytest.mark.parametrize(
    ("stream", "code"),
    [
        (b"\x82\x02hi", CLOSE_PROTOCOL),  # not masked
        (b"\xc2\x80\0\0\0\0", CLOSE_PROTOCOL),  # a reserved bit
        (b"\x83\x80\0\0\0\0", CLOSE_PROTOCOL),  # no such opcode
        (b"\x09\x80\0\0\0\0", CLOSE_PROTOCOL),  # a control frame in pieces
        (b"\x89\xfe\x00\x7e", CLOSE_PROTOCOL),  # a long control frame
        (client(0, b"x"), CLOSE_PROTOCOL),  # a continuation of nothing
        (client(1, b"a", fin=False) + client(2, b"b"), CLOSE_PROTOCOL),
        (b"\x82\xff\x7f" + b"\xff" * 7, CLOSE_TOO_LARGE),  # said, not sent
        (client(1, b"a" * 600, fin=False) + client(0, b"b" * 600), CLOSE_TOO_LARGE),
        (client(2, b"", fin=False) + client(0, b"", fin=False) * 2000, CLOSE_TOO_LARGE),
    ],
)
def test_bytes_that_are_no_clients_frames_name_their_close_code(stream: bytes, code: int) -> None:
    with pytest.raises(BadStream) as refused:
        read(stream, most=1024)
    assert refused.value.code == code


@given(st.binary(max_size=300))
def test_any_bytes_are_messages_or_refused_and_never_kept_beyond_the_bound(data: bytes) -> None:
    reader = FrameReader(64)
    try:
        messages = list(reader.feed(data))
    except BadStream:
        return
    assert all(len(message.data) <= 125 for message in messages)


def test_close_frame_cuts_a_long_reason_at_a_character() -> None:
    frame = close_frame(1013, "ü" * 100)
    assert frame[:4] == bytes((0x88, len(frame) - 2)) + (1013).to_bytes(2, "big")
    assert len(frame) <= 127
    frame[4:].decode()


@pytest.mark.parametrize("size", [5, 200, 70_000])
def test_frame_whose_head_comes_byte_by_byte_is_one_message(size: int) -> None:
    frame = client(Opcode.BINARY, b"x" * size)
    pieces = [frame[at : at + 1] for at in range(14)]
    assert read(*pieces, frame[14:]) == [Message(Opcode.BINARY, b"x" * size)]
