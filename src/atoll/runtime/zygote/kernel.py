"""The system calls that Python 3.11 has no name for, as typed functions.

Nothing here knows what a sandbox is. Every function raises `OSError` with the call's
name, like those of `os`. Flags are from the kernel's public headers.
"""

import ctypes
import fcntl
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_NOATIME = 0x400
MS_BIND = 0x1000
MS_REC = 0x4000
MS_SLAVE = 0x80000

MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

_NS_GET_USERNS = 0xB701
_PROT_READ = 1
_MAP_PRIVATE = 2
_MAP_FAILED = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int),
    *(ctypes.c_int, ctypes.c_int, ctypes.c_long),
)
_libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def _checked(call: str, result: int, *names: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{call}({', '.join(names)}): {os.strerror(code)}")
    return result


def mount(source: str, target: str, kind: str = "", flags: int = 0, *, data: str = "") -> None:
    """mount(2)."""
    result = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        data.encode() or None,
    )
    _checked("mount", result, source, target)


def unmount(target: str) -> None:
    """umount2(2), lazily: whoever still uses it keeps it until they are done."""
    _checked("umount2", _libc.umount2(os.fsencode(target), MNT_DETACH), target)


def unshare(flags: int) -> None:
    """unshare(2)."""
    _checked("unshare", _libc.unshare(flags))


def setns(fd: int, kind: int) -> None:
    """setns(2)."""
    _checked("setns", _libc.setns(fd, kind))


def owner_of_namespace(fd: int) -> int:
    """A descriptor of the user namespace that owns namespace `fd` (ioctl_ns(2))."""
    return fcntl.ioctl(fd, _NS_GET_USERNS)


def prctl(option: int, value: int) -> None:
    """prctl(2) with one argument."""
    result = _libc.prctl(option, ctypes.c_ulong(value), *([ctypes.c_ulong(0)] * 3))
    _checked("prctl", result, str(option))


def name_process(name: str) -> None:
    """What `ps` shows as the command's short name (15 bytes)."""
    _libc.prctl(PR_SET_NAME, name.encode()[:15], 0, 0, 0)


def drop_to(uid: int, groups: tuple[int, ...] = ()) -> None:
    """Become `uid`, with the group of the same number and no other but `groups`, for good."""
    os.setgroups(groups)
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def lay_down(uid: int) -> None:
    """Act as `uid` from now on: root is only remembered, until `take_up` or `drop_to`."""
    os.setgroups([])
    os.setresgid(uid, uid, 0)
    os.setresuid(uid, uid, 0)


def take_up() -> None:
    """Be root again after `lay_down`."""
    os.setresuid(0, 0, 0)
    os.setresgid(0, 0, 0)


def close_others(keep: set[int]) -> None:
    """Close every descriptor but `keep`, as close_range(2) would around each of them."""
    low = 0
    for fd in sorted(keep):
        if low < fd:  # an empty range would close everything
            os.closerange(low, fd)
        low = fd + 1
    _libc.close_range(ctypes.c_uint(low), ctypes.c_uint(0xFFFFFFFF), 0)


def set_no_new_privileges() -> None:
    """No later exec gains anything by setuid bits or file capabilities."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def map_for_reading(fd: int, size: int) -> int:
    """Where the first `size` bytes of a file are mapped from now on (mmap(2)), privately."""
    place = _libc.mmap(None, size, _PROT_READ, _MAP_PRIVATE, fd, 0)
    _checked("mmap", -1 if place == _MAP_FAILED else 0, str(fd))
    return int(place)


def advise(place: int, size: int, advice: int) -> None:
    """madvise(2)."""
    _checked("madvise", _libc.madvise(place, size, advice), hex(place))
