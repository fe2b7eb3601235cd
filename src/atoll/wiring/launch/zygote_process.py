"""Starting, finding and ending a home's zygote from outside.

It outlives its starter: a session and, where possible, a scope and cgroups of its
own, so that neither a hang-up nor a kill of the control plane's group takes it.
"""

import os
import select
import shutil
import signal
import socket
import sys
import time
from pathlib import Path
from typing import NoReturn

import atoll
from atoll.domain.errors import Failed, Unavailable
from atoll.wire.zygote import messages as wire
from atoll.wiring.launch import mount_view
from atoll.wiring.launch.start_link import StartLink
from atoll.zygote.host import kernel
from atoll.zygote.host.home import Home
from atoll.zygote.jobs.programs import build_id
from atoll.zygote.wall import cgroups, hierarchies

START_SECONDS = 30.0
STOP_SECONDS = 60.0
_LOG_TAIL_BYTES = 2000
_NUMBER = 1
_RETRY_SECONDS = 0.02
_KEPT_VARIABLES = ("LANG", "LC_ALL", "TZ", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")


def ask(home: Home, request: wire.Request, seconds: float = 10.0) -> wire.Answer | None:
    """Ask the zygote one question; None when no zygote listens. Raises `Unavailable` when it
    hangs."""
    deadline = time.monotonic() + seconds
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
        link.settimeout(seconds)
        try:
            _connect(link, home, deadline)
            link.send(wire.encode_request(_NUMBER, request))
            return _answer(link, deadline)
        except TimeoutError as err:
            raise Unavailable(f"the zygote of {home.root} does not answer") from err
        except OSError:
            return None


def _connect(link: socket.socket, home: Home, deadline: float) -> None:
    """Connect, once the zygote has taken those who came before."""
    while True:
        try:
            link.connect(str(home.socket))
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError from None
            time.sleep(_RETRY_SECONDS)
        else:
            return


def _answer(link: socket.socket, deadline: float) -> wire.Answer | None:
    """Return the answer to the request; the end of a sandbox may be reported before it."""
    while packet := link.recv(wire.MAX_MESSAGE_BYTES):
        answered = wire.decode_answer(packet)
        if answered.number == _NUMBER:
            return answered.answer
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        link.settimeout(left)
    return None


def zygote_pid(home: Home) -> int | None:
    """Return the zygote's pid; None when there is none."""
    answer = ask(home, wire.Report())
    return answer.pid if isinstance(answer, wire.Reported) else None


def other_build(report: wire.Reported) -> str:
    """Return what it means that a zygote runs another build of Atoll than the one here; empty where
    it is the same."""
    if report.build == build_id():
        return ""
    return (
        f"the zygote (pid {report.pid}) was started by another build of Atoll: sandboxes get the "
        "runtime and the init of that one"
    )


RENEW = "`atoll down`, which ends every sandbox, then `atoll up` and `atoll start`."


def ensure(home: Home) -> None:
    """Start the zygote permanently unless it runs. Returns once it listens. Raises `Failed` with
    its message."""
    link = start(home)
    if link is not None:
        link.keep()


def start(home: Home) -> StartLink | None:
    """Start the zygote unless it runs (then None). Returns once it listens. The zygote ends with
    the link unless `keep` was sent on it. Raises `Failed` with its message."""
    answer = ask(home, wire.Report())
    if isinstance(answer, wire.Reported):
        if build := other_build(answer):
            print(f"atoll: {build}. To renew it: {RENEW}", file=sys.stderr)
        return None
    read, write = os.pipe()
    link, theirs = StartLink.pair()
    with theirs:
        child = os.fork()
        if child == 0:
            _launch(home, write, theirs.fileno())
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read, "rb") as ready:
        seen, _writable, _errors = select.select([ready], [], [], START_SECONDS)
        if seen and ready.read() == b"ready":
            return link
    with link:
        raise Failed(f"the zygote did not start: {_log_tail(home) or 'see ' + str(home.log)}")


def _launch(home: Home, ready: int, starter: int) -> NoReturn:
    """Detach in a child: start a session, leave the parent, exec."""
    try:
        os.setsid()
        log = os.open(home.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        kernel.close_others({0, 1, 2, ready, starter})
        os.chdir("/")
        if os.fork() != 0:
            os._exit(0)
        machine = None
        if os.geteuid() == 0:
            machine = os.open("/proc/self/ns/mnt", os.O_RDONLY)
            os.set_inheritable(machine, True)
            mount_view.enter(home.root)
        argv = _scoped_argv(home, (ready, starter), machine)
        if argv[0] == sys.executable:
            cgroups.join_own_group(home.tag)
        for each in (ready, starter):
            os.set_inheritable(each, True)
        os.execve(argv[0], argv, environment())  # noqa: S606  an argv list of ours
    except OSError as err:
        os.write(2, f"{err}\n".encode())
    finally:
        os._exit(1)


def _scoped_argv(home: Home, talk: tuple[int, int], machine: int | None) -> list[str]:
    """Return the zygote's argv, in a scope of its own where systemd manages this machine. `talk`
    are the descriptors for its READY and of its starter's link."""
    ready, starter = map(str, talk)
    program = python("atoll.wiring.zygote", "--home", str(home.root), "--ready-fd", ready)
    program += ["--starter-fd", starter]
    if machine is not None:
        program += ["--machine-fd", str(machine)]
    systemd_run = shutil.which("systemd-run", path="/usr/bin:/bin")
    if systemd_run is None or not Path("/run/systemd/system").is_dir():
        return program
    scope = [systemd_run, "--scope", "--quiet", "--collect", f"--unit={home.tag}"]
    whose = [] if os.geteuid() == 0 else ["--user"]
    return [*scope, *whose, "--property=Delegate=yes", "--", *program]


def python(module: str, *arguments: str) -> list[str]:
    """Return the argv that runs a module of ours, never with the current directory on its path."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """Return a small environment: what a shell happened to hold does not live on in the zygote."""
    variables = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {
        **variables,
        "PATH": path,
        "HOME": "/",
        "PYTHONPATH": str(Path(atoll.__file__).parents[1]),
    }


def end(home: Home) -> None:
    """Send SIGTERM and wait; its sandboxes end with it. Raises `Failed` when it does not end."""
    pid = zygote_pid(home)
    if pid is None:
        return
    stood = hierarchies.hierarchies(Path(f"/proc/{pid}"))
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGTERM)
        if not await_end(pidfd, STOP_SECONDS):
            raise Failed(f"the zygote (pid {pid}) did not end within {STOP_SECONDS:.0f} s")
    finally:
        os.close(pidfd)
    cgroups.leave(home.tag, stood)


def await_end(pidfd: int, seconds: float) -> bool:
    """Report whether a process ended within `seconds`."""
    return bool(select.select([pidfd], [], [], seconds)[0])


def _log_tail(home: Home) -> str:
    try:
        return home.log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace").strip()
    except OSError:
        return ""
