"""The gateway's process: started where it is needed, found by its lock, dialled at its socket.

It outlives the control plane that started it, in a session of its own. Whoever holds the lock is
the gateway of its home, so two control planes that start one at once make one.
"""

import asyncio
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from atoll.domain.errors import Unavailable

MODULE: Final = "atoll.wiring.ssh.gateway"
MISSING: Final = "SSH is not installed here: pip install 'atoll[ssh]'"
START_SECONDS: Final = 15.0
WATCH_SECONDS: Final = 1.0
CHUNK_BYTES: Final = 128 * 1024
_RETRY_SECONDS: Final = 0.05


class GatewayProcess:
    """The gateway of one home. `address` is where it is to listen, empty for nowhere. `source` is
    the folder of the package, which the process finds there."""

    def __init__(self, home: Path, address: str, source: Path) -> None:
        self._home = home
        self._run = home / "run"
        self._address = address
        self._source = source
        self._wanted = bool(address)
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def wanted(self) -> str:
        """The address at which it is to listen, empty for none; port 0 takes any."""
        return self._address

    @property
    def address(self) -> str:
        """The address at which it listens now, empty for none."""
        host, _, _ = self._address.rpartition(":")
        try:
            port = int(json.loads((self._run / "ssh.json").read_bytes())["port"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""
        return f"{host}:{port}" if host and port else ""

    @asynccontextmanager
    async def dial(self, sandbox_id: str, peer: str) -> AsyncIterator["_Stream"]:
        """Connect a client to it. Raises `Unavailable`."""
        reader, writer = await self._connect()
        try:
            preface = {"sandbox": sandbox_id, "peer": peer}
            writer.write(msgspec.json.encode(preface) + b"\n")
            yield _Stream(reader, writer)
        finally:
            writer.close()

    async def run(self) -> None:
        """Keep it running, where it listens or was dialled, until cancelled."""
        while True:
            if self._wanted and find_spec("asyncssh") is not None and not self._runs():
                self._start()
                await asyncio.sleep(WATCH_SECONDS)
            await asyncio.sleep(WATCH_SECONDS)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if find_spec("asyncssh") is None:
            raise Unavailable(MISSING)
        self._wanted = True
        loop = asyncio.get_running_loop()
        deadline = loop.time() + START_SECONDS
        while True:
            with suppress(OSError):
                return await asyncio.open_unix_connection(str(self._run / "ssh.sock"))
            if not self._runs():
                self._start()
            if loop.time() > deadline:
                raise Unavailable("the SSH gateway does not start: see ssh.log in Atoll's home")
            await asyncio.sleep(_RETRY_SECONDS)

    def _runs(self) -> bool:
        """Report whether a gateway holds the lock, or one of ours is about to take it."""
        if self._child is not None and self._child.poll() is None:
            return True
        descriptor = os.open(
            self._run / "ssh.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def _start(self) -> None:
        log = os.open(
            self._home / "ssh.log",
            os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW,
            0o600,
        )
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", MODULE, "--home", str(self._home)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._home,
                env={**os.environ, "PYTHONPATH": str(self._source)},
                start_new_session=True,
            )
        finally:
            os.close(log)


class _Stream:
    """A connection to the gateway."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield what the gateway sends, until it ends."""
        with suppress(OSError):
            while data := await self._reader.read(CHUNK_BYTES):
                yield data

    async def send(self, data: bytes) -> None:
        """Send bytes; waits while the gateway reads nothing."""
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise Unavailable("the SSH gateway closed the connection") from error
