"""The process between init and one command: subreaper and parent of all that it starts."""

import errno
import fcntl
import os
import resource
import signal
import struct
import termios
from typing import Protocol

from .kernel import (
    CHDIR,
    ENDED,
    EXITED,
    FAILED,
    LEAD,
    MEMFD,
    OTHER,
    RUN,
    SET_PDEATHSIG,
    SET_SUBREAPER,
    STARTED,
    TTY,
    prctl,
)
from .kin import kill_kin
from .lead import lead, settle

SOFT_FILES = 1024
"""The usual soft limit; programs that need more raise it."""


class World(Protocol):
    """The parts of init that a warden needs."""

    control_fd: int
    nproc: int
    files: int
    leaders: memoryview

    def reply(self, op: int, tag: int, a: int = 0, b: int = 0, payload: bytes = b"") -> None:
        """Send one packet."""
        ...


class Warden:
    """The process between init and one command: subreaper and parent of all it starts."""

    def __init__(self, init: World, tag: int, slot: int) -> None:
        self.init, self.tag, self.slot = init, tag, slot

    def run(self, parent: int, flags: int, body: bytes, fds: list[int]) -> None:
        """Start the command, report how it went, stay until no descendant is left."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, lambda *_: self.orphaned(parent))
        prctl(SET_SUBREAPER, 1)
        prctl(SET_PDEATHSIG, signal.SIGTERM)
        os.setsid()
        self.orphaned(parent)
        if len(fds) < 3 + bool(flags & MEMFD):
            raise OSError(errno.EBADF, "descriptors")
        if flags & MEMFD:
            body = os.pread(fds[3], os.fstat(fds[3]).st_size, 0)
        count, variables = struct.unpack_from("<II", body)
        cwd, *words = body[8:].split(b"\0")
        if count < 1 or len(words) != count + variables + 1:
            raise OSError(errno.EINVAL, "payload")
        news, tell = os.pipe2(os.O_CLOEXEC)
        child = os.fork()
        if child == 0:
            step, number = self.become(cwd, words[:count], words[count:-1], (flags, fds))
            os.write(tell, struct.pack("ii", number, step))
            os._exit(127)
        self.init.leaders[self.slot] = child
        kept = sorted((news, self.init.control_fd))
        os.closerange(3, kept[0])
        os.closerange(kept[0] + 1, kept[1])
        os.closerange(kept[1] + 1, 65536)
        failure = os.read(news, 8)
        os.close(news)
        if failure:
            self.init.leaders[self.slot] = 0
            os.waitpid(child, 0)
            self.init.reply(FAILED, self.tag, *struct.unpack("ii", failure))
            return
        self.init.reply(STARTED, self.tag, child)
        self.watch(child)

    def orphaned(self, parent: int) -> None:
        """End the tree when init is gone: nobody could signal it any more."""
        if os.getppid() != parent:
            kill_kin(os.getpid())
            os._exit(0)

    def watch(self, leader: int) -> None:
        """Reap children until none is left; report the leader's end."""
        while True:
            try:
                seen = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
            except ChildProcessError:
                return
            if seen is None:
                continue
            if seen.si_pid == leader:
                self.init.leaders[self.slot] = ENDED
            pid, status, used = os.wait4(seen.si_pid, 0)
            if pid == leader:
                times = (int(used.ru_utime * 1e6), int(used.ru_stime * 1e6), used.ru_maxrss)
                self.init.reply(EXITED, self.tag, status, payload=struct.pack("<QQQ", *times))

    def become(
        self, cwd: bytes, argv: list[bytes], env: list[bytes], how: tuple[int, list[int]]
    ) -> tuple[int, int]:
        """Run in the command's process; return the step that failed and its errno."""
        step, (flags, fds) = OTHER, how
        try:
            if flags & TTY:
                os.setsid()
                fcntl.ioctl(fds[0], termios.TIOCSCTTY, 0)
            else:
                os.setpgid(0, 0)
            for fd in range(3):
                os.dup2(fds[fd], fd)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if self.init.nproc >= 0:
                resource.setrlimit(resource.RLIMIT_NPROC, (self.init.nproc, self.init.nproc))
            if (most := self.init.files) > 0:
                resource.setrlimit(resource.RLIMIT_NOFILE, (min(SOFT_FILES, most), most))
            os.umask(0o022)
            step = CHDIR
            os.chdir(cwd)
            step = OTHER
            if flags & TTY and flags & LEAD:
                lead()
            step = RUN
            settle(signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            variables = dict(each.split(b"=", 1) for each in env)
            self.search(argv, variables)
        except OSError as error:
            return step, error.errno or errno.EIO
        return step, errno.ENOENT

    @staticmethod
    def search(argv: list[bytes], env: dict[bytes, bytes]) -> None:
        """Call execve along the PATH of the command's own environment."""
        if b"/" in argv[0]:
            os.execve(argv[0], argv, env)  # noqa: S606  # running it is what we are for
        seen = errno.ENOENT
        for folder in env.get(b"PATH", b"/usr/local/bin:/usr/bin:/bin").split(b":"):
            try:
                if folder and argv[0]:
                    os.execve(folder + b"/" + argv[0], argv, env)  # noqa: S606  # the same
            except PermissionError:
                seen = errno.EACCES
            except (FileNotFoundError, NotADirectoryError):
                continue
        raise OSError(seen, "no such program")
