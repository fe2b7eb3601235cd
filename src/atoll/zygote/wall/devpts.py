"""A limit on a sandbox's pseudo-terminals, set from outside before anything runs in it.

All PTYs come from one pool of the kernel, so without the limit one sandbox could take them all.
bubblewrap cannot set it, so its devpts is remounted with `max=` from inside the sandbox's mount
namespace. As root this process enters it for a moment. Otherwise a short-lived child does, because
it must first enter a user namespace, which it cannot leave.
"""

import os

from atoll.zygote.host import kernel

DEFAULT_PTYS = 64
_FLAGS = kernel.MS_REMOUNT | kernel.MS_NOSUID | kernel.MS_NOEXEC


def limit_ptys(init_pid: int, count: int) -> None:
    """Allow `count` PTYs in the sandbox of `init_pid`. Leaves the working directory at `/`.
    Raises `OSError`."""
    mounts = os.open(f"/proc/{init_pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if os.geteuid() == 0:
            with kernel.entered_mounts(mounts):
                _remount(count)
        else:
            _remount_in_child(mounts, init_pid, count)
    finally:
        os.close(mounts)


def _remount_in_child(mounts: int, init_pid: int, count: int) -> None:
    def remount() -> None:
        network = os.open(f"/proc/{init_pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        # bwrap nests two user namespaces; the outer one, which owns the network
        # namespace, owns the mounts too.
        kernel.setns(kernel.owner_of_namespace(network), kernel.CLONE_NEWUSER)
        kernel.setns(mounts, kernel.CLONE_NEWNS)
        _remount(count)

    code = kernel.errno_in_child(remount)
    if code != 0:
        raise OSError(code, f"the sandbox's devpts took no limit: {os.strerror(code)}")


def _remount(count: int) -> None:
    options = f"newinstance,ptmxmode=0666,mode=620,max={count}"
    kernel.mount("devpts", "/dev/pts", "devpts", _FLAGS, data=options)
