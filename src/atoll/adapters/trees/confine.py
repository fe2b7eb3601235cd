"""A child process that can reach one directory and the files it was given.

It has no network, no other path and no privilege, since third parties wrote what it reads. It loads
nothing once it is confined: what it runs must be imported before.
"""

import contextlib
import ctypes
import os
import resource
from collections.abc import Callable
from pathlib import Path

import msgspec

from atoll.domain.errors import AtollError, Failed, Invalid, LimitReached
from atoll.wire.http.unreadable import UNREADABLE

MEMORY_BYTES = 2 * 2**30
CPU_SECONDS = 3600
_NEWNS, _NEWUSER, _NEWNET, _NEWIPC = 0x00020000, 0x10000000, 0x40000000, 0x08000000
_NO_NEW_PRIVS = 38
_MOST_SAID = 64 * 1024
_KINDS: dict[str, type[AtollError]] = {"invalid": Invalid, "limit_reached": LimitReached}

_libc = ctypes.CDLL(None, use_errno=True)


class _Said(msgspec.Struct):
    """The child's last message: an error, or a result."""

    kind: str = ""
    message: str = ""
    answer: bytes = b""


def run_confined(folder: int, uid: int | None, work: Callable[[], bytes]) -> bytes:
    """Run `work` in a child whose root is the directory (a descriptor); return what it returned.

    It runs as `uid` (None: as this process). Raises what `work` raised, as `Invalid`,
    `LimitReached` or `Failed`.
    """
    heard, say = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(heard)
        _child(folder, uid, work, say)
    os.close(say)
    with os.fdopen(heard, "rb") as reader:
        data = reader.read(_MOST_SAID)
    _pid, status = os.waitpid(pid, 0)
    try:
        said = msgspec.msgpack.decode(data, type=_Said)
    except UNREADABLE:
        code = os.waitstatus_to_exitcode(status)
        raise Failed(f"unpacking broke off (status {code}): too little memory or time") from None
    if said.kind:
        raise _KINDS.get(said.kind, Failed)(said.message)
    return said.answer


def _child(folder: int, uid: int | None, work: Callable[[], bytes], say: int) -> None:
    said = _Said()
    try:
        _enter(folder, uid)
        said = _Said(answer=work())
    except AtollError as err:
        said = _Said(err.default_code, err.message)
    except OSError as err:
        said = _Said("failed", f"unpacking failed: {err}")
    except MemoryError:
        said = _Said("limit_reached", "unpacking needs more memory than it may have")
    except Exception as err:  # noqa: BLE001  the root of this process: say why, then end
        said = _Said("failed", f"unpacking broke: {err!r}"[:2000])
    finally:
        with contextlib.suppress(OSError):
            os.write(say, msgspec.msgpack.encode(said)[:_MOST_SAID])
        os._exit(0)


def _enter(folder: int, uid: int | None) -> None:
    os.umask(0o022)
    if uid is None:
        _own_namespaces()
    else:
        _unshare(_NEWNS | _NEWNET | _NEWIPC)
    os.fchdir(folder)
    os.chroot(".")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    _libc.prctl(_NO_NEW_PRIVS, ctypes.c_ulong(1), 0, 0, 0)


def _own_namespaces() -> None:
    """Enter a user namespace (rootless) with the same identity, which may change the root."""
    uid, gid = os.geteuid(), os.getegid()
    _unshare(_NEWUSER | _NEWNS | _NEWNET | _NEWIPC)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1\n")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1\n")


def _unshare(flags: int) -> None:
    if _libc.unshare(flags) != 0:
        code = ctypes.get_errno()
        raise Failed(
            f"images cannot be unpacked safely here: {os.strerror(code)}; this kernel gives an "
            "unprivileged user no namespaces (`atoll doctor`)"
        )
