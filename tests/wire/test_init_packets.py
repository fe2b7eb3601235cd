"""The init protocol's packets, byte by byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire import init

TEXT = st.binary(max_size=40).filter(lambda value: b"\0" not in value)
NAME = TEXT.filter(lambda value: value != b"" and b"=" not in value)


@given(st.lists(TEXT, min_size=1).map(tuple), st.lists(st.tuples(NAME, TEXT)).map(tuple), TEXT)
def test_exec_payload_of_any_texts_splits_back_into_them(
    argv: tuple[bytes, ...], env: tuple[tuple[bytes, bytes], ...], cwd: bytes
) -> None:
    payload = init.encode_exec_payload(argv, env, cwd)
    assert init.COUNTS.unpack_from(payload) == (len(argv), len(env))
    texts = payload[init.COUNTS.size :].split(b"\0")
    assert texts == [cwd, *argv, *(k + b"=" + v for k, v in env), b""]


@pytest.mark.parametrize(
    ("argv", "env", "cwd"),
    [
        ((), (), b"/"),
        ((b"a\0b",), (), b"/"),
        ((b"a",), ((b"", b"x"),), b"/"),
        ((b"a",), ((b"K=", b"x"),), b"/"),
        ((b"a",), ((b"K", b"x\0"),), b"/"),
        ((b"a",), (), b"/\0"),
    ],
)
def test_exec_payload_that_execve_cannot_carry_is_refused(
    argv: tuple[bytes, ...], env: tuple[tuple[bytes, bytes], ...], cwd: bytes
) -> None:
    with pytest.raises(ValueError, match=r"NUL|argv|name"):
        init.encode_exec_payload(argv, env, cwd)


def test_exec_packet_with_a_short_payload_carries_it() -> None:
    packet, memory = init.encode_exec(7, b"payload", tty=True)
    assert packet == init.HEADER.pack(1, 7, 1, 0) + b"payload"
    assert memory is None


def test_exec_packet_with_a_long_payload_leaves_it_to_a_memfd() -> None:
    payload = b"x" * (init.MAX_INLINE_BYTES + 1)
    packet, memory = init.encode_exec(7, payload, tty=False)
    assert packet == init.HEADER.pack(1, 7, 2, 0)
    assert memory == payload


def test_other_requests_have_their_numbers_in_the_header() -> None:
    assert init.encode_pty(1, cols=80, rows=24) == init.HEADER.pack(2, 1, 80, 24)
    assert init.encode_signal(2, 15, tree=True) == init.HEADER.pack(3, 2, 15, 1)
    assert init.encode_signal(2, 2, tree=False) == init.HEADER.pack(3, 2, 2, 0)
    assert init.encode_left(4) == init.HEADER.pack(5, 4, 0, 0)
    assert init.encode_growth() == init.HEADER.pack(6, 0, 0, 0)
    assert init.encode_open(3, b"a/b", flags=1, mode=0o600) == (
        init.HEADER.pack(4, 3, 1, 0o600) + b"a/b\0"
    )


def test_open_of_a_path_with_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        init.encode_open(3, b"a\0b", flags=0, mode=0)


def test_exec_packet_of_a_terminals_leader_says_so() -> None:
    packet, _ = init.encode_exec(7, b"p", tty=True, lead=True)
    assert packet[:16] == init.HEADER.pack(1, 7, init.ExecFlag.TTY | init.ExecFlag.LEAD, 0)


@pytest.mark.parametrize(
    ("packet", "reply"),
    [
        (init.HEADER.pack(64, 0, 4, 1), init.Ready(4, 1)),
        (init.HEADER.pack(65, 9, 33, 0), init.Started(9, 33)),
        (init.HEADER.pack(66, 9, 2, 1), init.Refused(9, 2, init.Step.CHDIR)),
        (
            init.HEADER.pack(67, 9, 256, 0) + init.USAGE.pack(1, 2, 3),
            init.Exited(9, 256, 1, 2, 3),
        ),
        (init.HEADER.pack(68, 9, 0, 0), init.Fds(9)),
        (init.HEADER.pack(69, 9, 110, 0), init.Done(9, 110)),
    ],
)
def test_reply_packet_decodes_to_its_message(packet: bytes, reply: init.Reply) -> None:
    assert init.decode_reply(packet) == reply


@pytest.mark.parametrize(
    "packet",
    [
        b"",
        b"short",
        init.HEADER.pack(1, 0, 0, 0),
        init.HEADER.pack(63, 0, 0, 0),
        init.HEADER.pack(66, 1, 2, 9),
        init.HEADER.pack(67, 1, 0, 0) + b"cut",
    ],
)
def test_reply_packet_of_no_known_kind_is_garbled(packet: bytes) -> None:
    with pytest.raises(init.Garbled):
        init.decode_reply(packet)


@given(st.binary(max_size=80))
def test_reply_packet_of_any_bytes_is_a_message_or_garbled(packet: bytes) -> None:
    try:
        init.decode_reply(packet)
    except init.Garbled:
        return


def test_list_of_what_was_left_running_is_read_whole() -> None:
    records = init.KIN.pack(3, 31) + b"sleep 9\0" + init.KIN.pack(4, 40) + b"\xff\0"
    left = init.decode_reply(init.HEADER.pack(70, 9, 2, 1) + records)
    kin = (init.LeftProcess(3, 31, b"sleep 9"), init.LeftProcess(4, 40, b"\xff"))
    assert left == init.Left(9, kin, more=True)
    assert init.decode_reply(init.HEADER.pack(70, 9, 0, 0)) == init.Left(9, (), more=False)


@pytest.mark.parametrize("records", [b"", init.KIN.pack(3, 31) + b"no end", b"short"])
def test_list_that_holds_less_than_it_says_is_garbled(records: bytes) -> None:
    with pytest.raises(init.Garbled):
        init.decode_reply(init.HEADER.pack(70, 9, 1, 0) + records)


def test_exec_payload_is_counts_directory_words_and_variables() -> None:
    payload = init.encode_exec_payload((b"ls", b"-l"), ((b"K", b"v=w"),), b"/w")
    assert payload == init.COUNTS.pack(2, 1) + b"/w\0ls\0-l\0K=v=w\0"
