"""The system calls that Python 3.11 has no name for, as typed functions.

Nothing here knows what a sandbox is. Every function raises `OSError` with the call's
name, like those of `os`. Flags are from the kernel's public headers.
"""

import contextlib
import ctypes
import fcntl
import mmap
import os
import resource
import sys
from collections.abc import Callable, Iterator

CLONE_NEWNS = 0x00020000
CLONE_NEWNET = 0x40000000
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
MS_PRIVATE = 0x40000
MS_SLAVE = 0x80000

MOUNT_ATTR_RDONLY = 0x1
MOUNT_ATTR_NOSUID = 0x2
MOUNT_ATTR_NODEV = 0x4
MOUNT_ATTR_IDMAP = 0x00100000

MNT_DETACH = 2

PR_GET_DUMPABLE = 3
PR_SET_DUMPABLE = 4
PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_ALL_THREADS = 1

MADV_DONTDUMP = 16

_NS_GET_USERNS = 0xB701
_OPEN_TREE, _MOVE_MOUNT, _OPENAT2, _MOUNT_SETATTR = 428, 429, 437, 442
"""The same on every architecture (asm-generic/unistd.h)."""

_OPEN_TREE_CLONE = 1
_MOVE_MOUNT_F_EMPTY_PATH = 4
_AT_EMPTY_PATH = 0x1000
_AT_RECURSIVE = 0x8000
_AT_FDCWD = -100
_RESOLVE_NO_XDEV, _RESOLVE_NO_MAGICLINKS, _RESOLVE_NO_SYMLINKS = 0x01, 0x02, 0x04
_RESOLVE_BENEATH, _RESOLVE_IN_ROOT = 0x08, 0x10
_BENEATH = _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_XDEV
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
_libc.mlock.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


class _MountAttr(ctypes.Structure):
    """struct mount_attr (mount_setattr(2))."""

    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


class _Filter(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


class _OpenHow(ctypes.Structure):
    """struct open_how (openat2(2))."""

    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def _check_call(call: str, result: int, *names: str) -> int:
    """Return the result of a call. Raises `OSError` when it is negative."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{call}({', '.join(names)}): {os.strerror(code)}")
    return result


def mount(source: str, target: str, kind: str = "", flags: int = 0, *, data: str = "") -> None:
    """Call mount(2)."""
    result = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        data.encode() or None,
    )
    _check_call("mount", result, source, target)


def unmount(target: str) -> None:
    """Call umount2(2) lazily: current users of the mount keep it until they are done."""
    _check_call("umount2", _libc.umount2(os.fsencode(target), MNT_DETACH), target)


def open_tree(folder: int, *, recursive: bool = False) -> int:
    """Return a descriptor of a new mount, attached nowhere, of the folder that `folder` is a
    descriptor of; `recursive` includes the mounts below it (open_tree(2), Linux 5.2)."""
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_EMPTY_PATH
    flags |= _AT_RECURSIVE if recursive else 0
    return call("open_tree", _OPEN_TREE, folder, b"", flags)


def move_mount(tree: int, place: str) -> None:
    """Attach what `open_tree` returned at `place` (move_mount(2))."""
    target = os.fsencode(place)
    call("move_mount", _MOVE_MOUNT, tree, b"", _AT_FDCWD, target, _MOVE_MOUNT_F_EMPTY_PATH)


def set_mount(
    mount: int,
    attributes: int,
    *,
    propagation: int = 0,
    userns: int = 0,
    recursive: bool = False,
) -> None:
    """Set attributes of the mount that `mount` is a descriptor of (mount_setattr(2), Linux 5.12);
    `userns` is the user namespace of `MOUNT_ATTR_IDMAP`."""
    wanted = _MountAttr(attributes, 0, propagation, userns)
    flags = _AT_EMPTY_PATH | (_AT_RECURSIVE if recursive else 0)
    size = ctypes.sizeof(wanted)
    call("mount_setattr", _MOUNT_SETATTR, mount, b"", flags, ctypes.byref(wanted), size)


def open_in_root(root: int, path: str) -> int:
    """Return a descriptor (O_PATH) of `path` as a process whose root is `root` would find it. A
    symbolic link anywhere on the way raises `OSError` (openat2(2), Linux 5.6)."""
    how = _OpenHow(os.O_PATH | os.O_CLOEXEC, 0, _RESOLVE_IN_ROOT | _RESOLVE_NO_SYMLINKS)
    size = ctypes.sizeof(how)
    return call("openat2", _OPENAT2, root, os.fsencode(path), ctypes.byref(how), size)


def open_beneath(folder: int, path: str, flags: int) -> int:
    """Return a descriptor of `path` beneath the folder that `folder` is a descriptor of, on the
    same mount. A link anywhere on the way raises `OSError` (openat2(2), Linux 5.6)."""
    how = _OpenHow(flags, 0, _BENEATH)
    size = ctypes.sizeof(how)
    return call("openat2", _OPENAT2, folder, os.fsencode(path), ctypes.byref(how), size)


def sync_file_system(fd: int) -> None:
    """Have all of a file's file system reach the disk (syncfs(2))."""
    _check_call("syncfs", _libc.syncfs(fd))


def call(name: str, number: int, *arguments: object) -> int:
    """Make the system call of this number; `name` is for the error."""
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    return _check_call(name, result)


def unshare(flags: int) -> None:
    """Call unshare(2)."""
    _check_call("unshare", _libc.unshare(flags))


def setns(fd: int, kind: int) -> None:
    """Call setns(2)."""
    _check_call("setns", _libc.setns(fd, kind))


def errno_in_child(act: Callable[[], None]) -> int:
    """Run `act` in a child, whose namespaces are its own to change. Returns 0, or the number of
    the error it failed with (1 where it has none)."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            act()
            code = 0
        except (OSError, ValueError) as err:
            code = getattr(err, "errno", None) or 1
        finally:
            os._exit(code)
    return abs(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def entered_mounts(namespace: int) -> contextlib.AbstractContextManager[None]:
    """Use the mounts of another mount namespace for a moment. Leaves the working directory at
    `/`; a process without other threads only. Raises `OSError`."""
    return _enter_namespace(namespace, "mnt", CLONE_NEWNS)


def entered_network(namespace: int) -> contextlib.AbstractContextManager[None]:
    """Use another network namespace for a moment; a process without other threads only. Raises
    `OSError`."""
    return _enter_namespace(namespace, "net", CLONE_NEWNET)


@contextlib.contextmanager
def _enter_namespace(namespace: int, name: str, kind: int) -> Iterator[None]:
    """Work in a namespace while the context lasts."""
    own = os.open(f"/proc/self/ns/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        setns(namespace, kind)
        try:
            yield
        finally:
            setns(own, kind)
    finally:
        os.close(own)


def owner_of_namespace(fd: int) -> int:
    """Return a descriptor of the user namespace that owns namespace `fd` (ioctl_ns(2))."""
    return fcntl.ioctl(fd, _NS_GET_USERNS)


def prctl(option: int, value: int) -> None:
    """Call prctl(2) with one argument."""
    result = _libc.prctl(option, ctypes.c_ulong(value), *([ctypes.c_ulong(0)] * 3))
    _check_call("prctl", result, str(option))


def name_process(name: str) -> None:
    """Set the short name of this process that `ps` shows (15 bytes)."""
    _libc.prctl(PR_SET_NAME, name.encode()[:15], 0, 0, 0)


def drop_to(uid: int, groups: tuple[int, ...] = ()) -> None:
    """Become `uid`, with the group of the same number and no other but `groups`, permanently."""
    os.setgroups(groups)
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    _forbid_dumps()


def suspend_root(uid: int) -> None:
    """Act as `uid` from now on. Root stays the saved id until `resume_root` or `drop_to`."""
    os.setgroups([])
    os.setresgid(uid, uid, 0)
    os.setresuid(uid, uid, 0)
    _forbid_dumps()


def resume_root() -> None:
    """Become root again after `suspend_root`."""
    os.setresuid(0, 0, 0)
    os.setresgid(0, 0, 0)
    _forbid_dumps()


def forbid_cores() -> None:
    """Forbid core dumps of this process and its children, and let only root inspect this process.

    RLIMIT_CORE applies to children and to programs they exec, but not where core_pattern is a pipe.
    A process that is not dumpable leaves no core there either, but only until its next exec
    (core(5), prctl(2)).
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    prctl(PR_SET_DUMPABLE, 0)


def _forbid_dumps() -> None:
    # A change of ids sets what `fs.suid_dumpable` says, which is 2, a core for root, on many hosts.
    prctl(PR_SET_DUMPABLE, 0)


def is_dumpable() -> bool:
    """Return whether a user other than root may inspect this process, or a core of it may be
    written."""
    state: int = _libc.prctl(PR_GET_DUMPABLE, *([ctypes.c_ulong(0)] * 4))
    return state == 1


@contextlib.contextmanager
def own_files_in_proc() -> Iterator[None]:
    """Let this process write its own files in /proc, which the kernel denies to an undumpable
    process without root. Keep it short: until the end another process of this uid may inspect this
    one."""
    prctl(PR_SET_DUMPABLE, 1)
    try:
        yield
    finally:
        prctl(PR_SET_DUMPABLE, 0)


def lock_in_memory(value: bytes | str) -> bool:
    """Keep the pages of a value that lives as long as this process out of swap and core dumps.
    Returns whether the kernel did both. Copies made elsewhere are not covered."""
    page = mmap.PAGESIZE
    start = id(value) // page * page
    size = -(-(id(value) + sys.getsizeof(value) - start) // page) * page
    results: tuple[int, int] = (
        _libc.mlock(start, size),
        _libc.madvise(start, size, MADV_DONTDUMP),
    )
    return results == (0, 0)


def close_others(keep: set[int]) -> None:
    """Close every descriptor but `keep`, as close_range(2) would around each of them."""
    low = 0
    for fd in sorted(keep):
        if low < fd:  # an empty range would close everything
            os.closerange(low, fd)
        low = fd + 1
    _libc.close_range(ctypes.c_uint(low), ctypes.c_uint(0xFFFFFFFF), 0)


def set_no_new_privileges() -> None:
    """Make later execs ignore set-uid bits and file capabilities."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def filter_calls(number: int, instructions: bytes) -> None:
    """Apply a seccomp filter to every later system call of this process, permanently. `number` is
    the number of seccomp(2) here. Needs no_new_privs."""
    program = _Filter(len(instructions) // 8, instructions)
    reference = ctypes.byref(program)
    call("seccomp", number, _SECCOMP_SET_MODE_FILTER, _SECCOMP_ALL_THREADS, reference)


def map_for_reading(fd: int, size: int) -> int:
    """Map the first `size` bytes of a file privately and return the address (mmap(2))."""
    place = _libc.mmap(None, size, _PROT_READ, _MAP_PRIVATE, fd, 0)
    _check_call("mmap", -1 if place == _MAP_FAILED else 0, str(fd))
    return int(place)


def advise(place: int, size: int, advice: int) -> None:
    """Call madvise(2)."""
    _check_call("madvise", _libc.madvise(place, size, advice), hex(place))
