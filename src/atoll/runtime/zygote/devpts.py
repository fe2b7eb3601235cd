"""A bound on a sandbox's pseudo-terminals, set from outside before anything runs in it.

PTYs are one pool of the whole kernel: without the bound one sandbox takes them all.
bubblewrap cannot set it, so its devpts is remounted with `max=` from a short-lived child
that enters the sandbox's mount namespace.
"""

import os

from atoll.runtime.zygote import kernel

DEFAULT_PTYS = 64
_FLAGS = kernel.MS_REMOUNT | kernel.MS_NOSUID | kernel.MS_NOEXEC


def limit_ptys(init_pid: int, count: int) -> None:
    """Allow `count` PTYs in the sandbox of `init_pid`. Raises `OSError`."""
    mounts = os.open(f"/proc/{init_pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    network = os.open(f"/proc/{init_pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        child = os.fork()
        if child == 0:
            _enter_and_remount(mounts, network, count)
        _pid, status = os.waitpid(child, 0)
    finally:
        os.close(mounts)
        os.close(network)
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        raise OSError(abs(code), f"the sandbox's devpts took no limit: {os.strerror(abs(code))}")


def _enter_and_remount(mounts: int, network: int, count: int) -> None:
    code = 0
    try:
        if os.geteuid() != 0:
            # bwrap nests two user namespaces; the outer one owns the mounts' neighbours.
            kernel.setns(kernel.owner_of_namespace(network), kernel.CLONE_NEWUSER)
        kernel.setns(mounts, kernel.CLONE_NEWNS)
        options = f"newinstance,ptmxmode=0666,mode=620,max={count}"
        kernel.mount("devpts", "/dev/pts", "devpts", _FLAGS, data=options)
    except OSError as err:
        code = err.errno or 1
    finally:
        os._exit(code)
