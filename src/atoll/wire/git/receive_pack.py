"""The commands of a git push, before its pack: pkt-lines in, ref updates out.

Pure (gitprotocol-pack, "Reference Update Request"). Only a plain list of updates passes. Signed
pushes, shallow lines and ambiguous lines are refused as a whole.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_COMMAND_BYTES = 256 * 1024
ZERO = "0" * 40

_COMMAND = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40}) ([!-~]{1,255})")


class BadPush(ValueError):
    """A push that is not a list of updates; the text names the part."""


@dataclass(frozen=True, slots=True)
class Update:
    """A ref to be moved from `old` to `new`; all zeros stand for none."""

    old: str
    new: str
    ref: str


@dataclass(frozen=True, slots=True)
class Commands:
    """The complete list of ref updates of a push, and the client's capabilities."""

    updates: tuple[Update, ...]
    capabilities: frozenset[str]


@dataclass(frozen=True, slots=True)
class HeldRefs:
    """Refs of a refused push that are held for somebody to look at, why others of it are not, and
    lines for whoever pushed."""

    refs: frozenset[str] = frozenset()
    reasons: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ()


NOTHING_HELD = HeldRefs()


class CommandReader:
    """A reader of the body of `git-receive-pack`; `commands` is set once the list is complete."""

    __slots__ = ("_buffer", "_lines", "commands")

    def __init__(self) -> None:
        self._buffer = b""
        self._lines: list[bytes] = []
        self.commands: Commands | None = None

    def feed(self, piece: bytes) -> None:
        """Read the next bytes; those behind the list are ignored. Raises `BadPush`."""
        if self.commands is not None:
            return
        self._buffer += piece
        if len(self._buffer) > MAX_COMMAND_BYTES:
            raise BadPush("the list of refs is too long")
        self._lines, at = [], 0
        while len(self._buffer) - at >= 4:
            size = _size(self._buffer[at : at + 4])
            if size == 0:
                self.commands = _commands(self._lines)
                return
            if len(self._buffer) - at < size:
                return
            self._lines.append(self._buffer[at + 4 : at + size])
            at += size


def refusal(commands: Commands, reasons: Mapping[str, str], held: HeldRefs = NOTHING_HELD) -> bytes:
    """Return the body by which git reports, ref by ref, why a push was refused. A ref that is held
    counts as pushed, as it does where git holds it by itself."""
    report = [_packet(b"unpack ok\n")]
    for update in commands.updates:
        reason = held.reasons.get(update.ref) or reasons.get(
            update.ref, "refused together with others of this push"
        )
        told = f"ok {update.ref}\n" if update.ref in held.refs else f"ng {update.ref} {reason}\n"
        report.append(_packet(told.encode()))
    whole = b"".join(report) + b"0000"
    if not commands.capabilities & {"side-band-64k", "side-band"}:
        return whole
    pieces = [whole[at : at + 900] for at in range(0, len(whole), 900)]
    said = b"".join(_packet(b"\x02" + line.encode()[:900] + b"\n") for line in held.lines)
    return said + b"".join(_packet(b"\x01" + piece) for piece in pieces) + b"0000"


def _packet(data: bytes) -> bytes:
    return b"%04x" % (len(data) + 4) + data


def _size(text: bytes) -> int:
    if not re.fullmatch(rb"[0-9a-fA-F]{4}", text):
        raise BadPush("a line's length is no number")
    size = int(text, 16)
    if size in (1, 2, 3, 4):
        raise BadPush("a line of that length has no place here")
    return size


def _commands(lines: list[bytes]) -> Commands:
    updates: list[Update] = []
    capabilities: frozenset[str] = frozenset()
    for number, line in enumerate(lines):
        command, zero, rest = line.partition(b"\0")
        if zero and number:
            raise BadPush("only the first line has capabilities")
        if zero:
            words = rest.decode("ascii", "replace").split()
            capabilities = frozenset(words)
        found = _COMMAND.fullmatch(command.removesuffix(b"\n"))
        if found is None:
            raise BadPush("a line is no update of a ref")
        updates.append(Update(found[1].decode(), found[2].decode(), found[3].decode()))
    return Commands(tuple(updates), capabilities)
