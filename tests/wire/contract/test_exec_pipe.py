"""The frames of `WS /execs/pipe`."""

import signal

import msgspec
import pytest

from atoll.wire.contract import exec_pipe
from atoll.wire.contract.exec_pipe import PipeBody, Stream
from atoll.wire.contract.terminals import End


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (PipeBody(argv=["ls"]), '{"argv":["ls"]}'),
        (PipeBody(tool=["sftp"], secrets="allow"), '{"tool":["sftp"],"secrets":"allow"}'),
        (exec_pipe.InputEnd(), '{"type":"eof"}'),
        (exec_pipe.InputSignal("TERM"), '{"type":"signal","signal":"TERM"}'),
        (exec_pipe.ProgramStart("x_1", 9), '{"type":"started","exec_id":"x_1","window":9}'),
        (
            exec_pipe.PipeFailure(exec_pipe.ErrorDetail(422, "invalid", "no")),
            '{"type":"error","error":{"status":422,"code":"invalid","message":"no"}}',
        ),
        (exec_pipe.OutputEnd("stdout"), '{"type":"eof","stream":"stdout"}'),
        (exec_pipe.InputTaken(5), '{"type":"taken","bytes":5}'),
        (exec_pipe.ProgramExit(End(code=0)), '{"type":"exit","exit":{"code":0}}'),
        (exec_pipe.ProgramExit(End(signal="HUP")), '{"type":"exit","exit":{"signal":"HUP"}}'),
    ],
)
def test_message_is_one_text_frame(message: object, text: str) -> None:
    assert exec_pipe.encode(message) == text  # type: ignore[arg-type]
    match message:
        case PipeBody():
            assert exec_pipe.decode_body(text) == message
        case exec_pipe.InputEnd() | exec_pipe.InputSignal():
            assert exec_pipe.decode_client(text) == message
        case _:
            assert exec_pipe.decode_server(text) == message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"type":"exit"}',
        '{"type":"eof","type":"signal"}',
        '{"type":"signal"}',
        "\0",
    ],
)
def test_text_that_is_no_message_of_a_client_is_unreadable(text: str) -> None:
    with pytest.raises(msgspec.MsgspecError):
        exec_pipe.decode_client(text)


def test_bytes_begin_with_their_stream() -> None:
    assert exec_pipe.encode_bytes(Stream.STDIN, b"\0\xff") == b"\0\0\xff"
    assert exec_pipe.encode_bytes(Stream.STDERR, memoryview(b"e")) == b"\2e"


def test_signals_are_those_of_this_kernel() -> None:
    assert all(hasattr(signal, f"SIG{name}") for name in exec_pipe.SIGNALS)
