"""The verb `sudo`: a runtime requests one exact command in its own sandbox, apparently as root.

The socket of the request identifies the sandbox. The request that started the sandbox lists the
allowed commands, whatever its runtime claims. A static program (native/init/enter.c) enters the
sandbox and runs the command; it gets no power that the sandbox's user lacks.
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
from atoll.domain.wall.proxy_settings import JAVA_OPTIONS, NODE
from atoll.wire.zygote import sudo as wire
from atoll.wire.zygote.messages import Malformed, Start
from atoll.zygote.host import kernel
from atoll.zygote.host.children import Child, Loop, detach
from atoll.zygote.host_resources import HostResources
from atoll.zygote.records.entry import Phase, SandboxEntry
from atoll.zygote.wall import cgroups
from atoll.zygote.wall.cgroups import caps
from atoll.zygote.wall.wall import OOM_SCORE, bound_files

MAX_RUNS = 4
"""Commands of one sandbox at a time."""

MAX_ASKS = 6000
"""Requests of one sandbox in a minute, more than an honest runtime makes."""

SECONDS = 3600.0
NOT_ENTERED = 125
"""Exit code of the entering program when the command did not begin (native/init/enter.c)."""

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
KEPT = frozenset(f"{name}_PROXY" for name in ("HTTP", "HTTPS", "ALL", "NO")) | frozenset(
    ("http_proxy", "https_proxy", "all_proxy", "no_proxy", JAVA_OPTIONS, *dict(NODE))
)
"""Variables of the sandbox that the command gets, too: the way to the egress door."""

_SAY, _ENTERING_FDS = 3, (3, 4, 5, 6)


@dataclass(frozen=True, slots=True)
class SudoCommands:
    """Commands of `sudo`. No message of a runtime raises an error here."""

    loop: Loop
    host: HostResources

    def handle_packet(self, entry: SandboxEntry, packet: bytes) -> None:
        """Handle one message of the runtime of `entry`."""
        if entry.sudo_ignored or not self._is_within_rate(entry):
            return
        try:
            asked = wire.decode_command(packet)
        except Malformed:
            self._ignore(entry)
            return
        match asked:
            case wire.RunCommand():
                self._run(entry, asked)
            case wire.PassSignal():
                _pass_signal(entry.sudo_runs.get(asked.number), asked.signal)

    def _is_within_rate(self, entry: SandboxEntry) -> bool:
        minute = int(time.monotonic() // 60)
        count = entry.sudo_requests[1] + 1 if entry.sudo_requests[0] == minute else 1
        entry.sudo_requests = (minute, count)
        if count > MAX_ASKS:
            self._ignore(entry)
        return not entry.sudo_ignored

    def _ignore(self, entry: SandboxEntry) -> None:
        """Ignore a runtime from now on, because ours never send such messages."""
        entry.sudo_ignored = True
        if entry.child is not None:
            self.loop.unwatch(entry.child.channel.fileno())

    def _run(self, entry: SandboxEntry, asked: wire.RunCommand) -> None:
        try:
            start = self._check_command(entry, asked)
            self._enter(entry, start, asked)
        except (AtollError, OSError) as err:
            why = err.message if isinstance(err, AtollError) else f"it cannot be begun: {err}"
            _report_end(entry, wire.CommandEnded(asked.number, NOT_ENTERED, why))

    def _check_command(self, entry: SandboxEntry, asked: wire.RunCommand) -> Start:
        """Return the request that started the sandbox, if it allows the command. Raises an error
        with the reason otherwise."""
        start = entry.start
        if start is None or not sudo_allows(start.sudo, asked.argv):
            raise Forbidden("not word for word on the list this sandbox was made with")
        if entry.record.wall != "bubblewrap":
            raise Forbidden("this wall cannot give that: a container's users are its engine's")
        if not self.host.root:
            raise Forbidden(
                "this wall cannot give that: Atoll runs without root, and so has no second user "
                "namespace to give"
            )
        if entry.phase is not Phase.RUNNING or not entry.inside_pidfds:
            raise Failed("the sandbox is ending")
        if len(entry.sudo_runs) >= MAX_RUNS:
            raise LimitReached(f"{MAX_RUNS} commands run already: wait for one to end")
        if asked.number in entry.sudo_runs:
            raise Invalid("this number is taken")
        return start

    def _enter(self, entry: SandboxEntry, start: Start, asked: wire.RunCommand) -> None:
        said: list[bytes] = []
        child = self.loop.fork(
            partial(self._become, entry, start, asked),
            lambda packet, _fds: said.append(packet),
            lambda status: self._finish_run(entry, asked.number, status, said=said),
        )
        entry.sudo_runs[asked.number] = child
        self.loop.call_later(SECONDS, lambda: _pass_signal(_run_of(entry, asked.number, child), 0))

    def _finish_run(
        self, entry: SandboxEntry, number: int, status: int, *, said: list[bytes]
    ) -> None:
        """Report how a command ended."""
        os.close(entry.sudo_runs.pop(number).pidfd)
        code = os.waitstatus_to_exitcode(status)
        why = said[0].decode(errors="replace") if said else ""
        if code < 0 and not why:
            why = "it was ended with the sandbox, or for want of memory"
        _report_end(entry, wire.CommandEnded(number, code if code >= 0 else 128 - code, why))

    def _become(
        self, entry: SandboxEntry, start: Start, asked: wire.RunCommand, channel: socket.socket
    ) -> None:
        """Become the static program, in the child."""
        try:
            self._exec(entry, start, asked, channel)
        except OSError as err:
            channel.send(f"it cannot be begun: {err}".encode())
            os._exit(NOT_ENTERED)

    def _exec(
        self, entry: SandboxEntry, start: Start, asked: wire.RunCommand, channel: socket.socket
    ) -> None:
        programs, init = self.host.programs, entry.inside_pidfds[0]
        detach({channel.fileno(), init})
        strict = programs.sudo_debug_seccomp if start.debug else programs.sudo_seccomp
        sources = (
            channel.fileno(),
            os.open(strict, os.O_RDONLY),
            init,
            os.open(programs.owner_filter, os.O_RDONLY),
        )
        null = os.open(os.devnull, os.O_RDWR)
        cgroups.join(self.host.groups.paths(entry.record.group_name))
        _limit(start, nproc=not self.host.groups.has("pids"))
        high = [os.dup2(fd, 64 + at, inheritable=False) for at, fd in enumerate(sources)]
        for target, fd in zip(_ENTERING_FDS, high, strict=True):
            os.dup2(fd, target)
        for target in range(_SAY):
            os.dup2(null, target)
        kernel.close_others({0, 1, 2, *_ENTERING_FDS})
        words = ("enter", str(entry.record.sandbox_uid), str(asked.pid), asked.cwd, "--")
        argv = [str(programs.init_file), *words, *asked.argv]
        os.execve(argv[0], argv, environment(start))  # noqa: S606  an argv list of ours


def environment(start: Start) -> dict[str, str]:
    """Return the whole environment of a `sudo` command."""
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
    """Apply the limits of commands in the sandbox: the kernel kills them first when memory runs
    out, and they write no core files."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(OOM_SCORE)
    bound_files(caps(start.limits).files)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pids = caps(start.limits).pids
    if nproc and pids is not None:
        resource.setrlimit(resource.RLIMIT_NPROC, (pids, pids))


def _run_of(entry: SandboxEntry, number: int, child: Child) -> Child | None:
    found = entry.sudo_runs.get(number)
    return found if found is child else None


def _pass_signal(child: Child | None, number: int) -> None:
    """Signal the entering program, which knows the command's process group; 0 stands for
    SIGKILL."""
    if child is not None and number in (0, *wire.SIGNALS):
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(child.pidfd, number or signal.SIGUSR1)


def _report_end(entry: SandboxEntry, over: wire.CommandEnded) -> None:
    """Report the end of a command to the runtime, unless it is gone or does not read."""
    if entry.child is not None:
        with contextlib.suppress(OSError):
            entry.child.channel.send(wire.encode(over))
