"""What runtime and zygote say about sudo: read strictly, whatever the runtime has become."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.zygote.messages import MAX_MESSAGE_BYTES, Malformed
from atoll.wire.zygote.sudo import (
    CommandEnded,
    PassSignal,
    RunCommand,
    decode_command,
    decode_end,
    encode,
)

RUN = RunCommand(1, ("apt-get", "update"), "/workspace", 7)


@pytest.mark.parametrize("message", [RUN, PassSignal(1, 15), PassSignal(1, 0)])
def test_request_goes_over_and_comes_back(message: RunCommand | PassSignal) -> None:
    assert decode_command(encode(message)) == message


def test_end_of_a_run_goes_over_and_comes_back() -> None:
    for over in (CommandEnded(1, 0), CommandEnded(2, 126, "it is not on the list")):
        assert decode_end(encode(over)) == over


@pytest.mark.parametrize(
    "packet",
    [
        b"", b"[]", b"{}", b'{"sudo":"run"}', b'{"sudo":"start","number":1}', b"\xff",
        encode(RUN).replace(b'"pid":7', b'"pid":1'),
        encode(RUN).replace(b'"pid":7', b'"pid":-1'),
        encode(RUN).replace(b"/workspace", b"workspace"),
        encode(RUN).replace(b"update", b"up\xffdate"),
        encode(RUN).replace(b'"apt-get","update"', b""),
        encode(RUN).replace(b'"number":1', b'"number":0'),
        encode(RUN).replace(b'"number":1', b'"number":1,"sandbox":"sb_b"'),
        b'{"sudo":"pass","number":1,"signal":16}',
        b'{"x":' + b"[" * 5000 + b"]" * 5000 + b',"sudo":"run"}',
    ],
)  # fmt: skip
def test_request_that_is_odd_is_malformed(packet: bytes) -> None:
    with pytest.raises(Malformed):
        decode_command(packet)


@pytest.mark.parametrize("packet", [b"", b"[]", b'{"number":1}', b"\xff", b"[" * 5000])
def test_answer_that_is_odd_is_malformed(packet: bytes) -> None:
    with pytest.raises(Malformed):
        decode_end(packet)


def test_command_that_is_no_text_or_too_long_is_not_sent() -> None:
    with pytest.raises(Malformed, match="UTF-8"):
        encode(RunCommand(1, ("\ud800",), "/", 7))
    with pytest.raises(Malformed, match="at most"):
        encode(RunCommand(1, ("x" * MAX_MESSAGE_BYTES,), "/", 7))


@given(st.binary(max_size=60))
def test_any_packet_is_a_request_or_malformed(packet: bytes) -> None:
    try:
        decode_command(packet)
    except Malformed as error:
        assert str(error)
