"""Screens of terminals: what they show, taken before a sandbox sleeps and given back after."""

from typing import Annotated

import msgspec

from atoll.wire.contract.call import RuntimeCall, json_call

MAX_SCREENS_BYTES = 8 * 1024 * 1024
"""The output that all screens of a sandbox have together."""


_TerminalId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]
_Offset = Annotated[int, msgspec.Meta(ge=0)]
_Text = Annotated[str, msgspec.Meta(max_length=4096)]
_Argv = Annotated[tuple[_Text, ...], msgspec.Meta(min_length=1, max_length=256)]


class KeptScreen(msgspec.Struct, frozen=True):
    """The output of a terminal, from `offset` on; `preamble` brings an emulator to the settings
    there. `cwd` is where its shell was last, as far as that told. `fixed`: its size follows no
    driver. `notice` is a line that is shown below, once it comes back."""

    terminal_id: _TerminalId
    name: _Text
    argv: _Argv
    cwd: _Text
    cols: int
    rows: int
    ring_bytes: int
    offset: _Offset
    preamble: bytes
    data: bytes
    fixed: bool = False
    notice: _Text = ""


class KeptScreens(msgspec.Struct, frozen=True):
    """The screens of the terminals that run, oldest first."""

    screens: tuple[KeptScreen, ...]


def take_screens() -> RuntimeCall[KeptScreens]:
    """Return the screens of the terminals that run."""
    return json_call("GET", "/screens", KeptScreens)
