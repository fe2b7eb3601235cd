"""The process of the SSH gateway: its lock, its sockets, and its end.

The control plane of its home starts it, and it outlives that. It holds no key of a sandbox and no
secret of a person: only its own host key, in memory.
"""

import argparse
import asyncio
import fcntl
import json
import os
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import structlog
import uvloop

from atoll.adapters.auth.token_file import load_or_make_token
from atoll.adapters.gateway.settings import SshSettings
from atoll.adapters.runtimes.http_clients import HttpRuntimeClients
from atoll.domain.errors import AtollError
from atoll.surfaces.ssh.control_plane import ControlPlane
from atoll.surfaces.ssh.gateway import Gateway
from atoll.surfaces.ssh.reports import Reporter
from atoll.wire.contract.ssh import TOKEN_FILE
from atoll.wiring.control.logs import configure
from atoll.wiring.control.presence import places
from atoll.zygote.disk.safe_open import read_plain
from atoll.zygote.host import kernel
from atoll.zygote.host.title import set_title

BACKLOG: Final = 512
_log = structlog.get_logger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM; the exit code. 0 at once where a gateway runs already."""
    parser = argparse.ArgumentParser(prog="atoll-ssh", description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="Atoll's state folder")
    home: Path = parser.parse_args(arguments).home
    kernel.forbid_cores()
    configure("info", "text")
    with _lock(home / "run" / "ssh.lock") as held:
        if not held:
            return 0
        set_title("ssh", str(home))
        _note(home / "run" / "ssh.json", None)
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_serve(home))
        except AtollError as error:
            print(f"atoll: {error.message}", file=sys.stderr)
            return 1
    return 0


async def _serve(home: Path) -> None:
    control = ControlPlane(lambda: _control_url(home), load_or_make_token(home / TOKEN_FILE))
    runtimes = HttpRuntimeClients()
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ending.set)
    try:
        identity = await control.identity()
        reporter = Reporter(control, home / "run" / "ssh.reports")
        gateway = Gateway(control, runtimes, reporter, identity)
        with _inner(home / "run" / "ssh.sock") as inner, _public(identity.address) as public:
            _note(home / "run" / "ssh.json", public)
            async with asyncio.TaskGroup() as group:
                serving = group.create_task(gateway.run(public, inner))
                await ending.wait()
                serving.cancel()
    finally:
        await runtimes.close()
        await control.close()


def _control_url(home: Path) -> str | None:
    """Return where a control plane of the home answers; None while there is none."""
    for place in places(home):
        with suppress(OSError, ValueError, KeyError, TypeError):
            return str(json.loads(read_plain(place.with_suffix(".json")))["url"])
    return None


@contextmanager
def _lock(path: Path) -> Iterator[bool]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)


@contextmanager
def _inner(path: Path) -> Iterator[socket.socket]:
    """Yield the socket at which the control plane dials."""
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        old = os.umask(0o077)
        try:
            listener.bind(str(path))
        finally:
            os.umask(old)
        listener.listen(BACKLOG)
        listener.setblocking(False)
        yield listener


@contextmanager
def _public(address: str) -> Iterator[socket.socket | None]:
    """Yield the socket of the address; None where there is none, or it cannot be had."""
    place = SshSettings(address).place()
    if place is None:
        yield None
        return
    family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(place)
            listener.listen(BACKLOG)
        except OSError as error:
            # What comes through the server still works.
            _log.error("ssh_address_unusable", address=address, reason=str(error))
            yield None
            return
        listener.setblocking(False)
        yield listener


def _note(path: Path, public: socket.socket | None) -> None:
    """Say where it listens, for who looks for it."""
    port = 0 if public is None else public.getsockname()[1]
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps({"pid": os.getpid(), "port": port}))
    draft.chmod(0o644)
    draft.replace(path)


if __name__ == "__main__":
    sys.exit(main())
