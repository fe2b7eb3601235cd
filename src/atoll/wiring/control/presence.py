"""Lock, listening sockets and published address of each control plane of a home: of the one that
there usually is, and of further replicas by their names.

The sockets are bound before anything slow is loaded, so that clients of a restarted control
plane wait in their queue instead of being refused.
"""

import errno
import fcntl
import json
import os
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.errors import Conflict, Invalid, Unavailable
from atoll.zygote.disk.safe_open import read_plain
from atoll.zygote.host.home import Home, traversal_mode
from atoll.zygote.host.title import has_title

BACKLOG = 1024
CONTROL_MODULE = "atoll.wiring.control.serve"

_REPLICA_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")
_LOCAL_HOST = "127.0.0.1"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_REACHABLE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - compared, not bound


@dataclass(frozen=True, slots=True)
class Bind:
    """An address to listen on; port 0 takes the last one, else any. `secure`: it speaks TLS."""

    host: str
    port: int = 0
    secure: bool = False

    @property
    def needs_local_listener(self) -> bool:
        """True when this machine's own clients need a listener beside it, on loopback and plain:
        they find no loopback here, or a certificate that does not name it."""
        wildcard = _url_host(self.host) in _REACHABLE
        return self.secure or not (wildcard or self.host in _LOOPBACK)


@dataclass(frozen=True, slots=True)
class Presence:
    """Bound, listening sockets. `listener` serves this machine at `url`; `outer`, where it is set,
    serves the address that was asked for, whose port is `port`."""

    listener: socket.socket
    url: str
    port: int
    outer: socket.socket | None = None


def place(home: Path, replica: str | None) -> Path:
    """Return the path, without a suffix, of the lock and note of a control plane. Raises `Invalid`
    for a name that a replica cannot have."""
    if replica is None:
        return home / "run" / "control"
    if _REPLICA_NAME.fullmatch(replica) is None:
        raise Invalid(
            f"{replica[:40]!r} is no name of a replica: take up to 32 of a-z, 0-9 and -",
            field="replica",
        )
    return home / "run" / f"replica-{replica}"


def places(home: Path) -> list[Path]:
    """Return the places of all control planes that this home has had."""
    return [place(home, None), *sorted(p.with_suffix("") for p in home.glob("run/replica-*.lock"))]


def control_pid(home: Home, one: Path) -> int | None:
    """Return a control plane's pid, when the note it left names a process that is one."""
    try:
        pid = json.loads(read_plain(one.with_suffix(".json")))["pid"]
        command = Path(f"/proc/{int(pid)}/cmdline").read_bytes()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    words = command.split(b"\0")
    begins = CONTROL_MODULE.encode() in words and os.fsencode(home.root) in words
    return int(pid) if begins or has_title(command, "control", home.root) else None


def control_pids(home: Home) -> list[int]:
    """Return the pids of the control planes that run."""
    found = (control_pid(home, one) for one in places(home.root))
    return [pid for pid in found if pid is not None]


def gateway_pid(home: Home) -> int | None:
    """Return the pid of the home's SSH gateway, when the note it left names a process that is
    one."""
    try:
        pid = int(json.loads(read_plain(home.root / "run" / "ssh.json"))["pid"])
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return pid if has_title(command, "ssh", home.root) else None


@contextmanager
def hold_presence(
    home: Path, bind: Bind, *, prepare: Callable[[], object], replica: str | None = None
) -> Iterator[Presence]:
    """Hold a control plane's lock and its listening sockets, and say so in `run/control.json`, or
    in `run/replica-NAME.json`.

    Port 0 takes the port of last time when it is free: pages that are open come back by
    themselves. `prepare` runs under the lock, before anybody can find us. Raises `Conflict`
    when a control plane already runs on this home, or one of this name, `Unavailable` when the
    port cannot be had.
    """
    run = home / "run"
    run.mkdir(mode=traversal_mode(), parents=True, exist_ok=True)
    own = place(home, replica)
    note = own.with_suffix(".json")
    with _lock(own.with_suffix(".lock")), ExitStack() as stack:
        last = _last_port(note, "port")
        asked = stack.enter_context(_listen(bind.host, bind.port or last, fall_back=bind.port == 0))
        port = asked.getsockname()[1]
        prepare()
        presence = Presence(asked, _url(bind.host, port), port)
        if bind.needs_local_listener:
            local = stack.enter_context(_listen_here(bind, port, _last_port(note, "local_port")))
            url = _url(_LOCAL_HOST, local.getsockname()[1])
            presence = Presence(local, url, port, outer=asked)
        _write(note, presence)
        try:
            yield presence
        finally:
            _withdraw(note)


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Hold the home's lock without serving. Raises `Conflict` while a control plane runs."""
    with ExitStack() as stack:
        for one in places(home):
            stack.enter_context(_lock(one.with_suffix(".lock")))
        yield


def is_alone(home: Path, replica: str | None) -> bool:
    """Return whether no control plane but this one runs on the home."""
    try:
        with ExitStack() as stack:
            for one in places(home):
                if one != place(home, replica):
                    stack.enter_context(_lock(one.with_suffix(".lock")))
    except Conflict:
        return False
    return True


@contextmanager
def _listen_here(bind: Bind, port: int, last: int) -> Iterator[socket.socket]:
    """Listen on loopback beside `bind`: at the same port where it is free there."""
    free = bind.host not in _LOOPBACK and _url_host(bind.host) not in _REACHABLE
    with _listen(_LOCAL_HOST, port if free else last, fall_back=True) as listener:
        yield listener


def _url(host: str, port: int) -> str:
    name = _url_host(host)
    # An address that means "any" is none to connect to.
    return f"http://{_REACHABLE.get(name, name)}:{port}"


def _url_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Conflict(
                f"Atoll already runs on {path.parent.parent}: use it, or end it with `atoll down`"
            ) from error
        yield
    finally:
        os.close(descriptor)


def _no_address(host: str, port: int, error: OSError) -> str:
    """Return what is wrong with an address, and the option that names another one."""
    if error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        return f"{host} is no address of this machine: name one that is with --host, or take --lan"
    said = f"cannot listen on {host}:{port}: {error.strerror}"
    if error.errno == errno.EACCES:
        return f"{said}; choose a port from 1024 on with --port, and let a proxy take this one"
    return f"{said}; choose another with --port"


@contextmanager
def _listen(host: str, port: int, *, fall_back: bool) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            try:
                listener.bind((host, port))
            except OSError:
                if not (fall_back and port):
                    raise
                listener.bind((host, 0))
        except OSError as error:
            raise Unavailable(_no_address(host, port, error)) from error
        listener.listen(BACKLOG)
        listener.setblocking(False)
        yield listener


def _last_port(note: Path, name: str) -> int:
    try:
        port = json.loads(note.read_text())[name]
    except (OSError, ValueError, KeyError, TypeError):
        return 0
    return port if isinstance(port, int) and 0 < port < 65536 else 0


def _write(note: Path, presence: Presence) -> None:
    told: dict[str, str | int] = {"url": presence.url, "pid": os.getpid(), **_ports(presence)}
    _replace(note, told, mode=0o644)


def _ports(presence: Presence) -> dict[str, int]:
    return {"port": presence.port, "local_port": presence.listener.getsockname()[1]}


def _withdraw(note: Path) -> None:
    # The ports stay for the next start; without `pid` and `url` nobody looks for us here.
    _replace(note, {name: _last_port(note, name) for name in ("port", "local_port")})


def _replace(note: Path, told: Mapping[str, str | int], mode: int | None = None) -> None:
    draft = note.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(told))
    if mode is not None:
        draft.chmod(mode)
    draft.replace(note)
