"""Messages between the runtime and the init inside, as bytes.

One message is one packet of a SOCK_SEQPACKET socketpair: a little-endian header `{u32 op, u32 tag,
i32 a, i32 b}`, then a payload; descriptors travel beside it by SCM_RIGHTS. This file only turns
messages into packets and back: it sends nothing. The other side is written in C (`native/init`).
"""

import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag

VERSION = 1
"""The version that init reports in READY; both sides ship in one wheel, so a difference is a stale
binary."""

HEADER = struct.Struct("<IIii")
COUNTS = struct.Struct("<II")
USAGE = struct.Struct("<QQQ")
KIN = struct.Struct("<Ii")

MAX_PACKET_BYTES = 64 * 1024
"""The size of init's receive buffer. A longer packet would be cut, so init refuses it
(EMSGSIZE)."""

MAX_INLINE_BYTES = 32 * 1024
"""The longest EXEC payload in a packet. A longer one is sent in a memfd, the last of the packet's
descriptors."""

MAX_FDS = 32
"""The most descriptors in one packet: a READY with sixteen doors of two families each."""


class Op(IntEnum):
    """The runtime's requests (below 64) and init's answers."""

    EXEC = 1
    PTY = 2
    SIGNAL = 3
    OPEN = 4
    LEFT = 5
    GROWTH = 6
    READY = 64
    STARTED = 65
    FAILED = 66
    EXITED = 67
    FDS = 68
    DONE = 69
    KIN = 70


class ExecFlag(IntFlag):
    """The bits of an EXEC's `a`."""

    TTY = 1
    PAYLOAD_IN_MEMFD = 2
    LEAD = 4


class Step(IntEnum):
    """The step at which init failed; `DOOR` only in a FAILED with tag 0, sent in READY's place."""

    CHDIR = 1
    EXEC = 2
    OTHER = 3
    DOOR = 4


class Garbled(ValueError):
    """A packet outside this protocol: the peer is broken or of another version."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The first packet: init runs and owns its doors.

    Its descriptors are the listeners, per door IPv4 then IPv6; a machine without IPv6 sends only
    the IPv4 one (ask getsockname).
    """

    listeners: int
    version: int


@dataclass(frozen=True, slots=True)
class Started:
    """The start of EXEC `tag`; `pid` is its pid inside."""

    tag: int
    pid: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The failure of request `tag` with `errno`; tag 0 means init itself could not begin."""

    tag: int
    errno: int
    step: Step


@dataclass(frozen=True, slots=True)
class Exited:
    """The end of the process of EXEC `tag`. `status` is raw, as wait4 gives it. May come twice: the
    first one counts."""

    tag: int
    status: int
    user_us: int
    system_us: int
    max_rss_kib: int


@dataclass(frozen=True, slots=True)
class Fds:
    """The answer to PTY (master, slave) and OPEN (one file): the descriptors came beside it."""

    tag: int


@dataclass(frozen=True, slots=True)
class Done:
    """The end of a SIGNAL to `tag`; `errno` ETIMEDOUT: a tree did not end."""

    tag: int
    errno: int


@dataclass(frozen=True, slots=True)
class LeftProcess:
    """A process that its ended program left running.

    Its `tag` is that of the EXEC that started it; it has its pid inside, and the start of its
    command line (bytes that an agent chose).
    """

    tag: int
    pid: int
    command: bytes


@dataclass(frozen=True, slots=True)
class Left:
    """The answer to LEFT. `more` when some did not fit."""

    tag: int
    processes: tuple[LeftProcess, ...]
    more: bool


Reply = Ready | Started | Refused | Exited | Fds | Done | Left


def encode_exec_payload(
    argv: tuple[bytes, ...], env: tuple[tuple[bytes, bytes], ...], cwd: bytes
) -> bytes:
    """Encode counts, then NUL-terminated cwd, arguments and `K=V` pairs.

    Raises ValueError for what execve cannot carry: a NUL byte, no argument at all, a variable name
    that is empty or holds `=`.
    """
    if not argv:
        raise ValueError("argv is empty: name at least the program")
    if any(not key or b"=" in key for key, _ in env):
        raise ValueError("an environment variable's name is empty or holds '='")
    texts = (cwd, *argv, *(key + b"=" + value for key, value in env))
    if any(b"\0" in text for text in texts):
        raise ValueError("an argument, variable or directory holds a NUL byte")
    return COUNTS.pack(len(argv), len(env)) + b"".join(text + b"\0" for text in texts)


def encode_exec(
    tag: int, payload: bytes, *, tty: bool, lead: bool = False
) -> tuple[bytes, bytes | None]:
    """Return an EXEC packet and, when the payload is too long for a packet, its memfd's content.

    Descriptors to send beside it: stdin, stdout, stderr, then the memfd if there is one.
    """
    flags = ExecFlag.TTY if tty else ExecFlag(0)
    if lead:
        flags |= ExecFlag.LEAD
    if len(payload) > MAX_INLINE_BYTES:
        return HEADER.pack(Op.EXEC, tag, flags | ExecFlag.PAYLOAD_IN_MEMFD, 0), payload
    return HEADER.pack(Op.EXEC, tag, flags, 0) + payload, None


def encode_pty(tag: int, *, cols: int, rows: int) -> bytes:
    """Return a PTY request; answered by FDS with master and slave."""
    return HEADER.pack(Op.PTY, tag, cols, rows)


def encode_signal(tag: int, number: int, *, tree: bool) -> bytes:
    """Return a SIGNAL to the EXEC of that tag; answered by DONE with the same tag.

    Without `tree` it goes to the process group, on a terminal to the one in the foreground. With
    `tree` it goes to every descendant, however it detached itself.
    """
    return HEADER.pack(Op.SIGNAL, tag, number, int(tree))


def encode_left(tag: int) -> bytes:
    """Return a request for the processes whose program has ended; answered by KIN."""
    return HEADER.pack(Op.LEFT, tag, 0, 0)


def encode_growth() -> bytes:
    """Return a GROWTH: beside it goes one descriptor, of the page by which somebody outside tells
    that the kernel's memory grew. Nothing answers it."""
    return HEADER.pack(Op.GROWTH, 0, 0, 0)


def encode_open(tag: int, path: bytes, *, flags: int, mode: int) -> bytes:
    """Return an OPEN beneath init's root; answered by FDS with one file. Raises ValueError for
    NUL."""
    if b"\0" in path:
        raise ValueError("a path holds a NUL byte")
    return HEADER.pack(Op.OPEN, tag, flags, mode) + path + b"\0"


def decode_reply(packet: bytes) -> Reply:
    """Return init's message. Raises `Garbled` when it is too short or of an unknown kind."""
    if len(packet) < HEADER.size:
        raise Garbled(f"a packet of {len(packet)} bytes from init has no whole header")
    number, tag, a, b = HEADER.unpack_from(packet)
    try:
        op = Op(number)
        if op is Op.KIN:
            return Left(tag, _kin(packet[HEADER.size :], a), more=bool(b))
        return _reply(op, tag, a, b, packet)
    except (ValueError, struct.error) as error:
        raise Garbled(f"init sent a packet this version does not know (op {number})") from error


def _reply(op: Op, tag: int, a: int, b: int, packet: bytes) -> Reply:
    match op:
        case Op.READY:
            return Ready(listeners=a, version=b)
        case Op.STARTED:
            return Started(tag, pid=a)
        case Op.FAILED:
            return Refused(tag, errno=a, step=Step(b))
        case Op.EXITED:
            return Exited(tag, a, *USAGE.unpack_from(packet, HEADER.size))
        case Op.FDS:
            return Fds(tag)
        case Op.DONE:
            return Done(tag, errno=a)
        case (
            Op.EXEC | Op.PTY | Op.SIGNAL | Op.OPEN | Op.LEFT | Op.GROWTH | Op.KIN
        ):  # pragma: no branch
            # mypy proves that this is exhaustive; the caller has read a list of processes already.
            raise ValueError("a request where an answer belongs")


def _kin(payload: bytes, count: int) -> tuple[LeftProcess, ...]:
    found = []
    at = 0
    for _ in range(count):
        tag, pid = KIN.unpack_from(payload, at)
        end = payload.index(b"\0", at + KIN.size)
        found.append(LeftProcess(tag, pid, payload[at + KIN.size : end]))
        at = end + 1
    return tuple(found)
