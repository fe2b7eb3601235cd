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


def answer(query: Query, modes: Modes) -> bytes:
    """Return the answer of a VT220 with colours.

    Empty when silence is the answer that programs take for "cannot". So it is for OSC 10 and 11:
    no viewer's colours are known, and a program that learned of wrong ones would paint for them
    until it ends. The cursor's place is not tracked: it is the top left.
    """
    if query.kind != b"[":
        return b""
    text = query.text
    if text.endswith(b"$p"):
        return _answer_mode(text, modes)
    fixed = {
        b"c": b"\x1b[?62;22c",
        b">c": b"\x1b[>1;10;0c",
        b"5n": b"\x1b[0n",
        b"6n": b"\x1b[1;1R",
        b"?6n": b"\x1b[?1;1R",
    }
    return fixed.get(text.replace(b"0c", b"c"), b"")


def _answer_mode(text: bytes, modes: Modes) -> bytes:
    """Answer DECRPM: 1 set, 2 reset, 0 not recognised."""
    private = text.startswith(b"?")
    number = int(text.removeprefix(b"?").removesuffix(b"$p")[:6])
    known = modes.is_set(number) if private else None
    state = 0 if known is None else (1 if known else 2)
    return b"\x1b[%s%d;%d$y" % (b"?" if private else b"", number, state)
