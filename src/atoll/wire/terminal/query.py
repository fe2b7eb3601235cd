"""Questions of programs to their terminal, and the answers.

Defines what counts as a question, the answer of a terminal without viewers, and the form of an
answer by a viewer's emulator. The runtime decides who may answer live. Sources: xterm's ctlseqs,
ECMA-48, the kitty keyboard protocol.
"""

import re
from dataclasses import dataclass

from atoll.wire.terminal.modes import Modes

CSI_QUERY = re.compile(
    rb"[>=]?0*c"  # DA1, DA2, DA3
    rb"|(?:[56]|\?[1-9]\d{0,3})n"  # DSR, CPR and DECXCPR
    rb"|\??\d+\$p"  # DECRQM
    rb"|>0*q"  # XTVERSION
    rb"|\?u"  # kitty keyboard flags
    rb"|\?\d+m"  # XTQMODKEYS
    rb"|(?:1[134568]|19|2[01])t"  # window reports
    rb"|[01]?x"  # DECREQTPARM
)
OSC_QUERY = re.compile(rb"(?:4;\d+|1[0-9]|5;\d+|52;\w*);\?")
DCS_QUERY = re.compile(rb"[$+]q")

_REPLY = re.compile(
    rb"(?:\x1b\[(?:[?>]?[\d;]*[cnR]|\??[\d;]*\$y|\?\d+u|[\d;]+[tx])"
    rb"|\x1b\](?:4;\d+|1[0-9]);rgba?:[0-9a-fA-F/]+(?:\x07|\x1b\\)"
    rb"|\x1bP[\x20-\x7e]{0,1024}\x1b\\"
    rb"|\x1b\[[IO])+"
)


@dataclass(frozen=True, slots=True)
class Query:
    """A question at absolute offsets `start…end`; `text` is the question without its introducer
    (`\\x1b[`, `\\x1b]`, `\\x1bP`, named by `kind`) and without its terminator."""

    start: int
    end: int
    kind: bytes
    text: bytes


def is_reply(typed: bytes) -> bool:
    """Report whether input is an emulator's answer (or focus report), not a person's keystrokes."""
    return typed.startswith(b"\x1b") and _REPLY.fullmatch(typed) is not None


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a terminal, each `rrggbb`: the sixteen of ANSI, in their order, and those of
    its letters, its background and its cursor."""

    dark: bool
    colours: tuple[str, ...]
    foreground: str
    background: str
    cursor: str


def report_scheme(palette: Palette) -> bytes:
    """Return the report of a light or dark background (mode 2031)."""
    return b"\x1b[?997;%dn" % (1 if palette.dark else 2)


def answer(
    query: Query, modes: Modes, size: tuple[int, int], palette: Palette | None = None
) -> bytes:
    """Return the answer of a VT220 of `size`, columns and rows, with these colours.

    Empty when silence is the answer that programs take for "cannot". So it is for colours without
    a palette: a program that learned of wrong ones would paint for them until it ends. The cursor's
    place is not tracked: it is the top left.
    """
    text = query.text
    if query.kind == b"]":
        return b"" if palette is None else _answer_colour(text, palette)
    if query.kind != b"[":
        return b""
    if text == b"?996n":
        return b"" if palette is None else report_scheme(palette)
    if text.endswith(b"$p"):
        return _answer_mode(text, modes)
    if text == b"?u":
        flags = modes.keyboard_alternate if modes.alternate else modes.keyboard_main
        return b"\x1b[?%du" % (flags[-1] if flags else 0)
    fixed = {
        b"c": b"\x1b[?62;22c",
        b">c": b"\x1b[>1;10;0c",
        b"5n": b"\x1b[0n",
        b"6n": b"\x1b[1;1R",
        b"?6n": b"\x1b[?1;1R",
        b"18t": b"\x1b[8;%d;%dt" % (size[1], size[0]),
    }
    return fixed.get(text.replace(b"0c", b"c"), b"")


def _answer_colour(text: bytes, palette: Palette) -> bytes:
    """Answer OSC 4, 10, 11 and 12; the others are silent."""
    name = text.removesuffix(b";?").decode("ascii", "replace")
    number = int(name[2:6]) if name.startswith("4;") else len(palette.colours)
    named = {"10": palette.foreground, "11": palette.background, "12": palette.cursor}
    colour = palette.colours[number] if number < len(palette.colours) else named.get(name)
    if colour is None:
        return b""
    doubled = "/".join(colour[at : at + 2] * 2 for at in (0, 2, 4))
    return f"\x1b]{name};rgb:{doubled}\x1b\\".encode()


def _answer_mode(text: bytes, modes: Modes) -> bytes:
    """Answer DECRPM: 1 set, 2 reset, 0 not recognised."""
    private = text.startswith(b"?")
    number = int(text.removeprefix(b"?").removesuffix(b"$p")[:6])
    known = modes.is_set(number) if private else None
    state = 0 if known is None else (1 if known else 2)
    return b"\x1b[%s%d;%d$y" % (b"?" if private else b"", number, state)
