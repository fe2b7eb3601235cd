"""Messages between a runtime and the zygote for commands of `sudo` in a living sandbox.

One message is one SEQPACKET datagram of JSON on the socket the runtime was started with. The socket
identifies its sandbox: nothing in a message does. This module only translates. The zygote trusts
nothing in a message; see `zygote.jobs.sudo`.
"""

from typing import Annotated

import msgspec

from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.zygote.messages import MAX_MESSAGE_BYTES, Malformed
from atoll.wire.zygote.names import AbsolutePath, Text

SIGNALS = (1, 2, 3, 15)
"""The signals that may be passed on: HUP, INT, QUIT and TERM. 0 stands for KILL."""

_Number = Annotated[int, msgspec.Meta(ge=1, le=2**53)]


class RunCommand(
    msgspec.Struct, frozen=True, tag_field="sudo", tag="run", forbid_unknown_fields=True
):
    """A request to run `argv` in `cwd`, on input and output of the process that is `pid` inside."""

    number: _Number
    argv: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1, max_length=256)]
    cwd: AbsolutePath
    pid: Annotated[int, msgspec.Meta(ge=2, le=2**22)]


class PassSignal(
    msgspec.Struct, frozen=True, tag_field="sudo", tag="pass", forbid_unknown_fields=True
):
    """A request to pass a signal on to run `number`; 0 ends it at once."""

    number: _Number
    signal: Annotated[int, msgspec.Meta(ge=0, le=15)]


class CommandEnded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The end of run `number`: with `code` as a shell reports it, or, with `why`, without a
    start."""

    number: int
    code: int
    why: str = ""


_ASKED: msgspec.json.Decoder[RunCommand | PassSignal] = msgspec.json.Decoder(
    RunCommand | PassSignal
)
_OVER = msgspec.json.Decoder(CommandEnded)


def encode(message: RunCommand | PassSignal | CommandEnded) -> bytes:
    """Encode a message as one datagram. Raises `Malformed` when it is too long or is no text."""
    try:
        packet = msgspec.json.encode(message)
    except UnicodeEncodeError as err:
        raise Malformed("a command for sudo is not UTF-8") from err
    if len(packet) > MAX_MESSAGE_BYTES:
        raise Malformed(f"a command for sudo takes at most {MAX_MESSAGE_BYTES} bytes")
    return packet


def decode_command(packet: bytes) -> RunCommand | PassSignal:
    """Return the runtime's message. Raises `Malformed`."""
    try:
        return _ASKED.decode(packet)
    except UNREADABLE as err:
        raise Malformed(f"a runtime's message cannot be read: {err}") from err


def decode_end(packet: bytes) -> CommandEnded:
    """Return the zygote's message. Raises `Malformed`."""
    try:
        return _OVER.decode(packet)
    except UNREADABLE as err:
        raise Malformed(f"the zygote's message cannot be read: {err}") from err
