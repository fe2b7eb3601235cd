"""The gateway: its listeners, the connections that are open, and who may stay."""

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import asyncssh
import msgspec
import structlog

from atoll.domain.errors import AtollError
from atoll.ports.runtime import RuntimeClients
from atoll.surfaces.ssh.connection import Connection
from atoll.surfaces.ssh.control_plane import ControlPlane
from atoll.surfaces.ssh.reports import Reporter
from atoll.surfaces.ssh.tries import (
    MAX_SILENT,
    MAX_SILENT_PER_ADDRESS,
    Progress,
    Tries,
    Waiting,
)
from atoll.wire.contract.ssh import Identity, Report, ReportKind
from atoll.wire.http.unreadable import UNREADABLE

LOGIN_SECONDS: Final = 45.0
"""The time that a client has to log in: its person may have to touch a key."""

STAND_SECONDS: Final = 2.0
"""The interval at which it is asked who may stay."""

SILENT_SECONDS: Final = 2.0
"""The time for which a client is waited for to speak first, as nearly all do."""

MAX_VERSION_BYTES: Final = 255
MAX_CONNECTIONS: Final = 2000
WINDOW_BYTES: Final = 2 * 1024 * 1024
KEEPALIVE_SECONDS: Final = 30.0
MAX_PREFACE_BYTES: Final = 1024
PREFACE_SECONDS: Final = 10.0

# AES-GCM before all others: it is several times as fast, where a client leaves the choice.
CIPHERS: Final = (
    "aes128-gcm@openssh.com",
    "aes256-gcm@openssh.com",
    "chacha20-poly1305@openssh.com",
    "aes128-ctr",
    "aes256-ctr",
)
_UCRED: Final = struct.Struct("3i")
_log = structlog.get_logger(__name__)


class Preface(msgspec.Struct, frozen=True):
    """The first line of a connection that the control plane passes on: the sandbox that its caller
    may use, by its id, and the caller's address."""

    sandbox: str
    peer: str


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """A connection that has not logged in, and what ends it."""

    client: socket.socket
    connection: Connection
    end: Callable[[], object]

    @property
    def peer(self) -> str:
        """The client's address."""
        return self.connection.peer

    @property
    def progress(self) -> Progress:
        """Progress on its way in; what it sent counts before anybody reads it."""
        progress = self.connection.progress
        if progress is Progress.CONNECTED and _greets(self.client):
            return Progress.GREETED
        return progress

    def drop(self) -> None:
        """End it."""
        self.end()


class Gateway:
    """A gateway. `report` and `admit` are for its connections."""

    def __init__(
        self,
        control: ControlPlane,
        runtimes: RuntimeClients,
        reporter: Reporter,
        identity: Identity,
    ) -> None:
        self.control = control
        self.runtimes = runtimes
        self.tries = Tries()
        self._reporter = reporter
        self._silent = Waiting(MAX_SILENT, MAX_SILENT_PER_ADDRESS)
        self._waiting = Waiting()
        self._open: dict[Connection, float] = {}
        self._options = _options(identity)

    async def run(self, public: socket.socket | None, inner: socket.socket) -> None:
        """Serve both listeners until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._reporter.run())
                group.create_task(self._watch())
                group.create_task(self._accept(group, inner, outside=False))
                if public is not None:
                    group.create_task(self._accept(group, public, outside=True))
        finally:
            for connection in list(self._open):
                connection.end("Atoll ends")

    def admit(self, connection: Connection) -> None:
        """Count a connection that has logged in."""
        self._open[connection] = asyncio.get_running_loop().time()
        self.report(connection, "ssh.opened")

    def forget(self, connection: Connection) -> None:
        """Count a connection that ended no more."""
        began = self._open.pop(connection, None)
        if began is not None:
            seconds = int(asyncio.get_running_loop().time() - began)
            self.report(connection, "ssh.closed", seconds=seconds)

    def report(self, connection: Connection, kind: ReportKind, **fields: str | int) -> None:
        """Note what happened on a connection."""
        login = connection.login
        if login is None:
            return
        who = login.admitted
        payload = {"from": connection.peer, "fingerprint": who.fingerprint, **fields}
        self._reporter.add(
            Report(
                at=0.0,
                kind=kind,
                sandbox_id=who.sandbox_id,
                principal=who.principal,
                fields=payload,
            )
        )

    async def _accept(
        self, group: asyncio.TaskGroup, listener: socket.socket, *, outside: bool
    ) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, address = await loop.sock_accept(listener)
            except OSError as error:
                _log.warning("ssh_accept_failed", reason=str(error))
                await asyncio.sleep(0.1)
                continue
            client.setblocking(False)
            group.create_task(
                self._serve_public(client, address) if outside else self._serve_inner(client)
            )

    async def _serve_public(self, client: socket.socket, address: tuple[str, int]) -> None:
        with contextlib.suppress(OSError):
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await self._serve(client, str(address[0]), None)

    async def _serve_inner(self, client: socket.socket) -> None:
        """Serve a connection that the control plane passes on: it has checked the caller's login,
        who logs in by a key all the same."""
        try:
            _, uid, _ = _UCRED.unpack(
                client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
            )
            if uid not in (os.geteuid(), 0):
                client.close()
                return
            async with asyncio.timeout(PREFACE_SECONDS):
                preface = await _read_preface(client)
        except (OSError, TimeoutError, *UNREADABLE) as error:
            _log.info("ssh_preface_unread", reason=str(error))
            client.close()
            return
        await self._serve(client, preface.peer, preface.sandbox)

    async def _serve(self, client: socket.socket, peer: str, target: str | None) -> None:
        """Serve one client until it has logged in, failed to, or was dropped for others."""
        login = asyncio.current_task()
        with client:
            if len(self._open) >= MAX_CONNECTIONS or login is None:
                return
            connection = Connection(self, peer, target)
            with self._silent.hold(_Candidate(client, connection, login.cancel)):
                await _await_words(client)
            # From here on by the connection itself: to cancel a task that gives the socket away
            # would close its descriptor twice, the second time perhaps another client's.
            try:
                with self._waiting.hold(_Candidate(client, connection, connection.drop)):
                    await asyncssh.run_server(
                        client, options=self._options, server_factory=lambda: connection
                    )
            except (OSError, asyncssh.Error, TimeoutError) as error:
                _log.debug("ssh_login_failed", peer=peer, reason=str(error))
            finally:
                # uvloop's transport closes the descriptor, also that of a client which ended before
                # the socket was attached: closed here too, it could be another client's by then.
                client.detach()

    async def _watch(self) -> None:
        """End the connections of those who may not stay, and renew what the others may do."""
        while True:
            await asyncio.sleep(STAND_SECONDS)
            open_now = [each for each in self._open if each.login is not None]
            presented = tuple(each.login.presented for each in open_now if each.login)
            if not presented:
                continue
            try:
                answers = await self.control.standing(presented)
            except AtollError as error:
                # Nobody can say: what is open goes on.
                _log.debug("ssh_standing_unknown", reason=error.message)
                continue
            for connection, admitted in zip(open_now, answers, strict=True):
                if admitted is None:
                    connection.end("your access has ended")
                elif connection.login is not None:
                    connection.login.admitted = admitted


def _greets(client: socket.socket) -> bool:
    """Report whether a version waits to be read (RFC 4253 §4.2)."""
    try:
        said = client.recv(MAX_VERSION_BYTES, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except OSError:
        return False
    return said.startswith(b"SSH-") and b"\n" in said


async def _await_words(client: socket.socket) -> None:
    """Wait until a client has sent something, and not long: it may wait for our version."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(client.fileno(), readable.set)
    try:
        async with asyncio.timeout(SILENT_SECONDS):
            await readable.wait()
    except TimeoutError:
        return
    finally:
        loop.remove_reader(client.fileno())


async def _read_preface(client: socket.socket) -> Preface:
    loop = asyncio.get_running_loop()
    read = bytearray()
    while not read.endswith(b"\n"):
        # By one byte: what follows the line is the client's.
        piece = await loop.sock_recv(client, 1)
        if not piece or len(read) > MAX_PREFACE_BYTES:
            raise OSError("the connection ended in its first line")
        read += piece
    return msgspec.json.decode(read, type=Preface)


def _options(identity: Identity) -> asyncssh.SSHServerConnectionOptions:
    key = asyncssh.import_private_key(identity.host_key)
    certificates = (
        [asyncssh.import_certificate(identity.host_certificate)]
        if identity.host_certificate
        else []
    )
    return asyncssh.SSHServerConnectionOptions(
        server_host_keys=[key],
        server_host_certs=certificates,
        server_version="Atoll",
        gss_host=None,
        password_auth=False,
        kbdint_auth=False,
        host_based_auth=False,
        x509_trusted_certs=None,
        x11_forwarding=False,
        agent_forwarding=False,
        line_editor=False,
        encoding=None,
        window=WINDOW_BYTES,
        login_timeout=LOGIN_SECONDS,
        keepalive_interval=KEEPALIVE_SECONDS,
        keepalive_count_max=4,
        encryption_algs=list(CIPHERS),
        compression_algs=["none"],
        server_factory=asyncssh.SSHServer,
    )
