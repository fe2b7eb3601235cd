import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire import attach
from atoll.wire.attach import (
    Ack,
    BadFrame,
    DriverChanged,
    Exited,
    Heartbeat,
    InputTaken,
    Refused,
    Resize,
    Resync,
    Sized,
    Start,
    Titled,
    UnknownKind,
)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            Start(5, "", 80, 24, "c1", None, "t", 65536, 131072, 7, True),
            '{"type":"start","offset":5,"preamble":"","cols":80,"rows":24,"client":"c1",'
            '"driver":null,"title":"t","ack_every":65536,"input_window":131072,"live":7,"fixed":true}',
        ),
        (Resync(1, 9, "G2M="), '{"type":"resync","from":1,"to":9,"preamble":"G2M="}'),
        (Sized(80, 24), '{"type":"size","cols":80,"rows":24,"fixed":false}'),
        (DriverChanged(None), '{"type":"driver","client":null}'),
        (Titled("t"), '{"type":"title","title":"t"}'),
        (Exited(7, code=0), '{"type":"exit","offset":7,"code":0}'),
        (Exited(7, signal="KILL"), '{"type":"exit","offset":7,"signal":"KILL"}'),
        (InputTaken(16384), '{"type":"input_taken","bytes":16384}'),
        (Heartbeat(), '{"type":"heartbeat"}'),
        (Refused("bad_frame", "no"), '{"type":"error","code":"bad_frame","message":"no"}'),
    ],
)
def test_server_message_is_spelled_as_the_contract_says_and_read_again(
    message: attach.ServerMessage, text: str
) -> None:
    assert json.loads(attach.encode(message)) == json.loads(text)
    assert attach.decode_server(text) == message


@pytest.mark.parametrize("message", [Ack(0), Ack(2**40), Resize(80, 24)])
def test_client_message_goes_over_and_comes_back(message: attach.ClientMessage) -> None:
    assert attach.decode_client(attach.encode(message)) == message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        '{"type":"start"}',
        '{"type":"ack"}',
        '{"type":"ack","offset":"1"}',
        '{"type":"ack","offset":1.5}',
        '{"type":"ack","offset":1,"x":2}',
        '{"type":"resize","cols":1}',
        "\ud800",
        '{"type":"ack","offset":1}' + " " * 5000,
        "[" * 4000,
        '{"x":' + "[" * 2000 + "]" * 2000 + "}",
    ],
)
def test_client_text_that_is_no_message_is_a_bad_frame(text: str) -> None:
    with pytest.raises(BadFrame):
        attach.decode_client(text)


@given(st.text(max_size=200))
def test_client_text_of_any_kind_is_a_message_or_a_bad_frame(text: str) -> None:
    try:
        attach.decode_client(text)
    except BadFrame as error:
        assert str(error)


@pytest.mark.parametrize("text", ["", '{"type":"ack","offset":1}', "\ud800"])
def test_server_text_that_is_no_message_is_a_bad_frame(text: str) -> None:
    with pytest.raises(BadFrame, match="attach protocol"):
        attach.decode_server(text)


def test_server_text_of_a_later_version_is_of_an_unknown_kind() -> None:
    with pytest.raises(UnknownKind):
        attach.decode_server('{"type":"later","x":1}')


def test_preamble_is_packed_as_base64() -> None:
    assert attach.pack(b"\x1bc") == "G2M="
