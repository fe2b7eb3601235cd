"""The verb `sudo`: a runtime asks for one exact command in its own sandbox, seemingly as root.

Whose sandbox it is says the socket it comes by; which commands may be run says the order the
sandbox was made by, whatever a runtime believes. What is run is entered by a static program
(native/init/enter.c) and gets no power that the sandbox's user has not: see there.
"""

import contextlib
import os
import resource
import signal
import socket
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from atoll.domain.approvals.command_rule import sudo_allows
from atoll.domain.errors import AtollError, Failed, Forbidden, Invalid, LimitReached
from atoll.wire.zygote import sudo as wire
from atoll.wire.zygote.messages import Malformed, Start
from atoll.zygote.daemon import kernel
from atoll.zygote.daemon.children import Child, Loop, detach
from atoll.zygote.records.entry import Live, Phase
from atoll.zygote.start.host_resources import Nursery
from atoll.zygote.wall import cgroups
from atoll.zygote.wall.cgroups import caps
from atoll.zygote.wall.wall import OOM_SCORE, bound_files

MAX_RUNS = 4
"""Of one sandbox at a time."""

MAX_ASKS = 6000
"""Of one sandbox in a minute, more than a runtime of ours makes: none keeps the zygote busy."""

SECONDS = 3600.0
NOT_ENTERED = 125
"""How the entering program exits when the command did not begin (native/init/enter.c)."""

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
KEPT = frozenset(f"{name}_PROXY" for name in ("HTTP", "HTTPS", "ALL", "NO")) | frozenset(
    ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
)
"""Variables of the sandbox that the command gets, too: the way to the egress door."""

_SAY, _ENTERING_FDS = 3, (3, 4, 5, 6)


@dataclass(frozen=True, slots=True)
class Sudo:
    """Runs them. Nothing a runtime says raises here."""

    loop: Loop
    nursery: Nursery

    def heard(self, box: Live, packet: bytes) -> None:
        """One message of the runtime of `box`."""
        if box.deaf or not self._bearable(box):
            return
        try:
            asked = wire.decode_asked(packet)
        except Malformed:
            self._hang_up(box)
            return
        match asked:
            case wire.Run():
                self._run(box, asked)
            case wire.Pass():
                _pass_on(box.runs.get(asked.number), asked.signal)

    def _bearable(self, box: Live) -> bool:
        minute = int(time.monotonic() // 60)
        count = box.asks[1] + 1 if box.asks[0] == minute else 1
        box.asks = (minute, count)
        if count > MAX_ASKS:
            self._hang_up(box)
        return not box.deaf

    def _hang_up(self, box: Live) -> None:
        """No runtime of ours speaks like that: it is not listened to any more."""
        box.deaf = True
        if box.child is not None:
            self.loop.forget(box.child.talk.fileno())

    def _run(self, box: Live, asked: wire.Run) -> None:
        try:
            start = self._checked(box, asked)
            self._enter(box, start, asked)
        except (AtollError, OSError) as err:
            why = err.message if isinstance(err, AtollError) else f"it cannot be begun: {err}"
            _tell(box, wire.Over(asked.number, NOT_ENTERED, why))

    def _checked(self, box: Live, asked: wire.Run) -> Start:
        """The order of its sandbox, which allows it. Raises an error that says why not."""
        start = box.start
        if start is None or not sudo_allows(start.sudo, asked.argv):
            raise Forbidden("not word for word on the list this sandbox was made with")
        if box.record.wall != "bubblewrap":
            raise Forbidden("this wall cannot give that: a container's users are its engine's")
        if not self.nursery.root:
            raise Forbidden(
                "this wall cannot give that: Atoll runs without root, and so has no second user "
                "namespace to give"
            )
        if self.nursery.programs.init_kind != "c":
            raise Forbidden("this wall cannot give that: it needs Atoll's compiled init")
        if box.phase is not Phase.ALIVE or not box.inside:
            raise Failed("the sandbox is ending")
        if len(box.runs) >= MAX_RUNS:
            raise LimitReached(f"{MAX_RUNS} commands run already: wait for one to end")
        if asked.number in box.runs:
            raise Invalid("this number is taken")
        return start

    def _enter(self, box: Live, start: Start, asked: wire.Run) -> None:
        said: list[bytes] = []
        child = self.loop.fork(
            partial(self._become, box, start, asked),
            lambda packet, _fds: said.append(packet),
            lambda status: self._ended(box, asked.number, status, said=said),
        )
        box.runs[asked.number] = child
        self.loop.later(SECONDS, lambda: _pass_on(_same(box, asked.number, child), 0))

    def _ended(self, box: Live, number: int, status: int, *, said: list[bytes]) -> None:
        os.close(box.runs.pop(number).pidfd)
        code = os.waitstatus_to_exitcode(status)
        why = said[0].decode(errors="replace") if said else ""
        if code < 0 and not why:
            why = "it was ended with the sandbox, or for want of memory"
        _tell(box, wire.Over(number, code if code >= 0 else 128 - code, why))

    def _become(self, box: Live, start: Start, asked: wire.Run, talk: socket.socket) -> None:
        """In the child: only a static program goes on from here."""
        try:
            self._exec(box, start, asked, talk)
        except OSError as err:
            talk.send(f"it cannot be begun: {err}".encode())
            os._exit(NOT_ENTERED)

    def _exec(self, box: Live, start: Start, asked: wire.Run, talk: socket.socket) -> None:
        programs, init = self.nursery.programs, box.inside[0]
        detach({talk.fileno(), init})
        strict = programs.sudo_debug_seccomp if start.debug else programs.sudo_seccomp
        sources = (
            talk.fileno(),
            os.open(strict, os.O_RDONLY),
            init,
            os.open(programs.quiet_chown, os.O_RDONLY),
        )
        null = os.open(os.devnull, os.O_RDWR)
        cgroups.join(self.nursery.groups.paths(box.record.group_name))
        _limit(start, nproc=not self.nursery.groups.has("pids"))
        high = [os.dup2(fd, 64 + at, inheritable=False) for at, fd in enumerate(sources)]
        for target, fd in zip(_ENTERING_FDS, high, strict=True):
            os.dup2(fd, target)
        for target in range(_SAY):
            os.dup2(null, target)
        kernel.close_others({0, 1, 2, *_ENTERING_FDS})
        words = ("enter", str(box.record.sandbox_uid), str(asked.pid), asked.cwd, "--")
        argv = [str(programs.init_file), *words, *asked.argv]
        os.execve(argv[0], argv, environment(start))  # noqa: S606  an argv list of ours


def environment(start: Start) -> dict[str, str]:
    """All that a command of `sudo` finds set."""
    return {
        "PATH": PATH,
        "HOME": "/root",
        "USER": "root",
        "LOGNAME": "root",
        "SHELL": "/bin/sh",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "DEBIAN_FRONTEND": "noninteractive",
        "APT_CONFIG": "/opt/atoll/agents/.safety/apt.conf",
        **{name: value for name, value in start.env if name in KEPT},
    }


def _limit(start: Start, *, nproc: bool) -> None:
    """As commands in the sandbox are: the first to go when memory ends, no core files."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(OOM_SCORE)
    bound_files(caps(start.limits).files)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pids = caps(start.limits).pids
    if nproc and pids is not None:
        resource.setrlimit(resource.RLIMIT_NPROC, (pids, pids))


def _same(box: Live, number: int, child: Child) -> Child | None:
    found = box.runs.get(number)
    return found if found is child else None


def _pass_on(child: Child | None, number: int) -> None:
    """Signals go to the entering program, which knows the command's group; 0 is for SIGKILL."""
    if child is not None and number in (0, *wire.SIGNALS):
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(child.pidfd, number or signal.SIGUSR1)


def _tell(box: Live, over: wire.Over) -> None:
    """A runtime that does not read, or is gone, is not told."""
    if box.child is not None:
        with contextlib.suppress(OSError):
            box.child.talk.send(wire.encode(over))
