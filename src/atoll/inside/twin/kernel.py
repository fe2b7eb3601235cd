"""Numbers of the protocol and of the kernel, and the few calls that Python lacks."""

import ctypes
import os
import struct

HEADER = struct.Struct("<IIii")
VERSION, MAX_PACKET, MAX_FDS, MAX_SLOTS = 1, 65536, 32, 4096
EXEC, PTY, SIGNAL, OPEN, LEFT = 1, 2, 3, 4, 5
READY, STARTED, FAILED, EXITED, FDS, DONE, KIN = 64, 65, 66, 67, 68, 69, 70
CHDIR, RUN, OTHER, DOOR = 1, 2, 3, 4
TTY, MEMFD, LEAD = 1, 2, 4
TIOCSPTLCK, TIOCGPTPEER, IUTF8 = 0x40045431, 0x5441, 0x4000
SET_PDEATHSIG, SET_DUMPABLE, SET_SUBREAPER = 1, 4, 36
OPENAT2, BENEATH_NO_MAGICLINKS = 437, 0x08 | 0x02
RENAME_NOREPLACE = 1
ENDED = -2
"""The value in place of a leader's pid, once that was reaped; 0 before it runs, -1 without a
warden."""

libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int) -> int:
    """Return a libc result; raise its errno as OSError where it failed."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def open_beneath(root: int, path: bytes, flags: int, mode: int = 0) -> int:
    """Open a path with openat2, which neither leaves the root nor follows /proc's links."""
    mode = mode & 0o777 if flags & os.O_CREAT else 0
    how = struct.pack("<QQQ", flags & 0xFFFFFFFF, mode, BENEATH_NO_MAGICLINKS)
    return checked(libc.syscall(OPENAT2, root, path, how, len(how)))


def prctl(option: int, value: int) -> None:
    """Call prctl with one argument; its settings exist on every supported kernel."""
    libc.prctl(option, value, 0, 0, 0)
