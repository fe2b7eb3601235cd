"""Connection of an SSH client: who may log in, and what it may open then."""

import asyncio
import base64
import re
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, Final, Protocol, TypeVar

import asyncssh

from atoll.domain.errors import AtollError
from atoll.domain.unseen import replace_unseen
from atoll.ports.runtime import RuntimeClients
from atoll.surfaces.ssh.control_plane import ControlPlane
from atoll.surfaces.ssh.forwards import open_port, open_socket
from atoll.surfaces.ssh.login import Login
from atoll.surfaces.ssh.sessions import Session
from atoll.surfaces.ssh.tries import Progress, Tries
from atoll.wire.contract.ssh import LoginClaim, LoginGrant, ReportKind

T = TypeVar("T")

MAX_TRIES: Final = 12
"""The keys that a client may present before its connection ends."""

REFUSAL_SECONDS: Final = 0.4
"""The least time that a refusal takes, whatever its cause: an unknown name, somebody else's
sandbox, a wrong key."""

MAX_CHANNELS: Final = 100
MAX_REASON: Final = 200
"""The characters of the reason for an end."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_PROHIBITED: Final = asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED


class ConnectionKeeper(Protocol):
    """The gateway, as its connections know it."""

    control: ControlPlane
    runtimes: RuntimeClients
    tries: Tries

    def admit(self, connection: "Connection") -> None:
        """Count a connection that has logged in."""
        ...

    def forget(self, connection: "Connection") -> None:
        """Count a connection that ended no more."""
        ...

    def report(self, connection: "Connection", kind: ReportKind, **fields: str | int) -> None:
        """Note what happened on a connection."""
        ...


class Connection(asyncssh.SSHServer):
    """A connection. `peer` is the client's address; `target` is the sandbox that was named before
    the connection began, whatever user name comes; None takes the user name."""

    def __init__(self, gateway: ConnectionKeeper, peer: str, target: str | None) -> None:
        self.gateway = gateway
        self.peer = peer
        self.login: Login | None = None
        self.connection: asyncssh.SSHServerConnection | None = None
        self._target = target
        self._tried: set[bytes] = set()
        self._admitted: dict[bytes, LoginGrant] = {}
        self._channels = 0
        self._proving = False
        self._dropped = False

    @property
    def progress(self) -> Progress:
        """Progress of the client on its way in."""
        if self._proving:
            return Progress.PROVING
        made = self.connection
        greeted = made is not None and made.get_extra_info("client_version") is not None
        return Progress.GREETED if greeted else Progress.CONNECTED

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        """Take over the judgement of keys and certificates: the control plane has it."""
        self.connection = conn
        if self._dropped:
            asyncio.get_running_loop().call_soon(conn.abort)
        validate = conn.validate_public_key

        async def judge(username: str, key_data: bytes, msg: bytes, signature: bytes) -> bool:
            admitted = await self._judge(username, key_data)
            if admitted is None:
                return False
            valid = await validate(admitted.sandbox_id, key_data, msg, signature)
            if valid and msg:
                self._begin(key_data, admitted)
            return valid

        conn.validate_public_key = judge  # type: ignore[method-assign]

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        del exc
        self.gateway.forget(self)

    def begin_auth(self, username: str) -> bool:
        """Everybody has to prove who it is."""
        del username
        self._proving = True
        return True

    def public_key_auth_supported(self) -> bool:
        """A key, or a certificate, is the only proof."""
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """Accept a key: it was judged before."""
        del username, key
        return True

    def validate_ca_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """Accept an authority: it was judged before, with the whole certificate."""
        del username, key
        return True

    async def _judge(self, username: str, key: bytes) -> LoginGrant | None:
        """Return who presents a key or certificate, None for who may not come in."""
        if (known := self._admitted.get(key)) is not None:
            return known
        began = asyncio.get_running_loop().time()
        admitted = None
        name = self._target or username
        self._tried.add(key)
        if len(self._tried) > MAX_TRIES:
            self.end("too many keys: name one with -i and -o IdentitiesOnly=yes")
            return None
        if _NAME.fullmatch(name) is not None and not self.gateway.tries.exceeded(self.peer):
            presented = LoginClaim(
                sandbox=name, credential=base64.b64encode(key).decode(), peer=self.peer
            )
            try:
                admitted = await self.gateway.control.judge(presented)
            except AtollError as error:
                self.end(error.message)
                return None
        if admitted is not None:
            self._admitted[key] = admitted
            return admitted
        self.gateway.tries.failed(self.peer)
        await asyncio.sleep(max(0.0, began + REFUSAL_SECONDS - asyncio.get_running_loop().time()))
        return None

    def _begin(self, key: bytes, admitted: LoginGrant) -> None:
        presented = LoginClaim(
            sandbox=admitted.sandbox_id,
            credential=base64.b64encode(key).decode(),
            peer=self.peer,
        )
        gateway = self.gateway
        self.login = Login(gateway.control, gateway.runtimes, presented, admitted)

    def auth_completed(self) -> None:
        """Count the connection among those that are watched."""
        self.gateway.admit(self)

    def drop(self) -> None:
        """End it without a word, now or once it is made."""
        self._dropped = True
        if self.connection is not None:
            self.connection.abort()

    def end(self, reason: str) -> None:
        """End the connection, and say why."""
        if self.connection is not None:
            with suppress(Exception):
                shown = replace_unseen(reason, MAX_REASON)
                self.connection.disconnect(asyncssh.DISC_BY_APPLICATION, shown)

    def session_requested(self) -> Session:
        """Begin a session: a shell, a program, or SFTP."""
        self._count_channel()
        return Session(self._login, self._uncount)

    def connection_requested(
        self, dest_host: str, dest_port: int, orig_host: str, orig_port: int
    ) -> Any:
        """Connect to a port of the sandbox's own loopback, and to nothing else."""
        del orig_host, orig_port
        self._count_channel()
        opening = open_port(self._login, dest_host, dest_port, self._uncount)
        return self._report_opened(opening, f"{dest_host[:100]}:{dest_port}")

    def unix_connection_requested(self, dest_path: str) -> Any:
        """Connect to a socket in the sandbox's workspace or home."""
        self._count_channel()
        opening = open_socket(self._login, dest_path, self._uncount)
        return self._report_opened(opening, dest_path[:200])

    async def _report_opened(self, opening: Awaitable[T], to: str) -> T:
        session = await opening
        self.gateway.report(self, "ssh.forwarded", to=to)
        return session

    @property
    def _login(self) -> Login:
        if self.login is None:
            raise asyncssh.ChannelOpenError(_PROHIBITED, "log in first")
        return self.login

    def _count_channel(self) -> None:
        if self._channels >= MAX_CHANNELS:
            raise asyncssh.ChannelOpenError(
                asyncssh.OPEN_RESOURCE_SHORTAGE, f"{MAX_CHANNELS} channels are open here already"
            )
        self._channels += 1

    def _uncount(self) -> None:
        self._channels -= 1
