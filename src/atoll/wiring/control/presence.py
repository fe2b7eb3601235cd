"""Lock, listening socket and published address of the one control plane of a home.

The socket is bound before anything slow is loaded, so that clients of a restarted control
plane wait in its queue instead of being refused.
"""

import fcntl
import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.errors import Conflict, Unavailable
from atoll.zygote.host.home import traversal_mode

BACKLOG = 1024

_REACHABLE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - compared, not bound


@dataclass(frozen=True, slots=True)
class Presence:
    """A bound, listening socket and the URL it answers at."""

    listener: socket.socket
    url: str


@contextmanager
def present(
    home: Path, *, host: str, port: int, prepare: Callable[[], object]
) -> Iterator[Presence]:
    """Hold the home's lock and a listening socket, and say so in `run/control.json`.

    Port 0 takes the port of last time when it is free: pages that are open come back by
    themselves. `prepare` runs under the lock, before anybody can find us. Raises `Conflict`
    when a control plane already runs on this home, `Unavailable` when the port cannot be had.
    """
    run = home / "run"
    run.mkdir(mode=traversal_mode(), parents=True, exist_ok=True)
    note = run / "control.json"
    with (
        _lock(run / "control.lock"),
        _listen(host, port or _last_port(note), fall_back=port == 0) as listener,
    ):
        prepare()
        presence = Presence(listener, _url(host, listener.getsockname()[1]))
        _write(note, presence.url)
        try:
            yield presence
        finally:
            _withdraw(note)


def _url(host: str, port: int) -> str:
    name = f"[{host}]" if ":" in host else host
    # An address that means "any" is none to connect to.
    return f"http://{_REACHABLE.get(name, name)}:{port}"


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


@contextmanager
def _listen(host: str, port: int, *, fall_back: bool) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            if not (fall_back and port):
                raise Unavailable(
                    f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port"
                ) from error
            listener.bind((host, 0))
        listener.listen(BACKLOG)
        listener.setblocking(False)
        yield listener


def _last_port(note: Path) -> int:
    try:
        port = json.loads(note.read_text())["port"]
    except (OSError, ValueError, KeyError, TypeError):
        return 0
    return port if isinstance(port, int) and 0 < port < 65536 else 0


def _write(note: Path, url: str) -> None:
    draft = note.with_suffix(f".{os.getpid()}")
    port = int(url.rpartition(":")[2])
    draft.write_text(json.dumps({"url": url, "pid": os.getpid(), "port": port}))
    draft.chmod(0o644)
    draft.replace(note)


def _withdraw(note: Path) -> None:
    # The port stays for the next start; without `pid` and `url` nobody looks for us here.
    port = _last_port(note)
    draft = note.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps({"port": port}))
    draft.replace(note)
