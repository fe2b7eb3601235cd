"""The connection to NATS, made anew whenever it is lost.

The client's own reconnecting is off: it would send old messages after a pause of any length. Each
connection here is a client of its own, and what was under way on the old one has failed.
"""

import asyncio
import random
import ssl
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog
from nats import errors
from nats.aio.client import Client

from atoll.adapters.bus.settings import BusSettings
from atoll.domain.errors import Failed, Unavailable

CONNECT_SECONDS = 5
PING_SECONDS = 5
MAX_OUTSTANDING_PINGS = 2
"""A peer that is silent for so many pings is gone, also when its host vanished."""

FIRST_PAUSE_SECONDS = 0.1
MAX_PAUSE_SECONDS = 5.0
CLOSE_SECONDS = 2
PENDING_BYTES = 8 * 1024 * 1024
_JWT = "BEGIN NATS USER JWT"

_log = structlog.get_logger(__name__)

Session = Callable[["Connection"], Awaitable[None]]
"""Work on one connection; cancelled when the connection is lost."""


class _Client(Client):
    """The client, which sends no credentials before TLS where TLS is required.

    The library upgrades when the server offers TLS, whatever the scheme says. Somebody on the way
    could leave the offer out and read the password.
    """

    requires_tls = False

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        if initial_connection and self.requires_tls and not info.get("tls_required"):
            raise errors.Error("the server offers no TLS, which bus_url or bus_tls_ca requires")
        await super()._process_info(info, initial_connection)


class Connection:
    """An open connection. `lost` is set at its end, and `at_end` is called with it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.lost = asyncio.Event()
        self.at_end: list[Callable[[], None]] = []

    async def close(self) -> None:
        """Close it. Bounded: after a failed handshake a transport never says that it is closed."""
        self.end()
        await _close(self.client)

    def end(self) -> None:
        """Note that the connection is lost. Idempotent."""
        if not self.lost.is_set():
            self.lost.set()
            for call in self.at_end:
                call()


class NatsLink:
    """The connection of this process to NATS."""

    def __init__(self, settings: BusSettings) -> None:
        self._settings = settings
        self._connection: Connection | None = None
        self._said = "NATS was not reached yet"

    @property
    def trouble(self) -> str | None:
        """Return why there is no connection, None while there is one. Holds no address."""
        return None if self._connection else self._said

    @property
    def connection(self) -> Connection:
        """Return the open connection. Raises `Unavailable`."""
        if self._connection is None:
            raise Unavailable(f"the bus is not connected: {self._said}")
        return self._connection

    async def run(self, session: Session) -> None:
        """Connect, run `session` until the connection is lost, and begin again; never returns."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                connection = await self.open()
            except (Unavailable, Failed) as error:
                self._note(error.message)
            else:
                began = time.monotonic()
                await self._hold(connection, session)
                if time.monotonic() - began > MAX_PAUSE_SECONDS:
                    pause = FIRST_PAUSE_SECONDS
            # Replicas that lost one server do not return to it in step.
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
            pause = min(pause * 2, MAX_PAUSE_SECONDS)

    async def open(self) -> Connection:
        """Return a new connection. Raises `Unavailable`, or `Failed` for a file that is wrong."""
        client = _Client()
        client.requires_tls = self._settings.requires_tls
        connection, causes = Connection(client), list[str]()

        async def record_error(error: Exception) -> None:
            causes.append(_error_text(error))
            if connection is self._connection:
                _log.warning("bus_error", reason=causes[-1])

        async def end_connection() -> None:
            connection.end()

        try:
            async with asyncio.timeout(CONNECT_SECONDS * 2):
                await client.connect(
                    **await asyncio.to_thread(self._options),
                    error_cb=record_error,
                    closed_cb=end_connection,
                )
        except (errors.Error, OSError, TimeoutError) as error:
            await connection.close()
            said = causes[-1] if causes else _error_text(error)
            raise Unavailable(f"NATS does not take the connection ({said})") from error
        if client.is_closed:
            connection.end()
        return connection

    async def _hold(self, connection: Connection, session: Session) -> None:
        self._connection = connection
        _log.info("bus_connected", servers=self._settings.shown)
        try:
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(_run_session(session, connection))
                await connection.lost.wait()
                running.cancel()
        finally:
            self._connection = None
            self._said = ""
            self._note("the connection was lost")
            await connection.close()

    def _note(self, words: str) -> None:
        if words != self._said:
            self._said = words
            _log.warning("bus_not_connected", servers=self._settings.shown, reason=words)

    def _options(self) -> dict[str, Any]:
        own = self._settings
        options: dict[str, Any] = {
            "servers": list(own.servers),
            "name": "atoll",
            "allow_reconnect": False,
            "max_reconnect_attempts": 1,
            "reconnect_time_wait": 0,
            "connect_timeout": CONNECT_SECONDS,
            "ping_interval": PING_SECONDS,
            "max_outstanding_pings": MAX_OUTSTANDING_PINGS,
            "pending_size": PENDING_BYTES,
            "no_echo": True,
        }
        try:
            if own.requires_tls:
                options["tls"] = _tls(own)
            if own.bus_credentials is not None:
                options |= _credentials(Path(own.bus_credentials))
        except (OSError, ValueError) as error:
            # ssl.SSLError is an OSError. No path: monitoring may read this without a credential.
            said = getattr(error, "strerror", None) or type(error).__name__
            raise Failed(f"a file of bus_tls_… or bus_credentials is no use: {said}") from error
        return options


async def _close(client: Client) -> None:
    """Close a client, in a bounded time."""
    with suppress(errors.Error, OSError, TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await client.close()


def _tls(own: BusSettings) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=own.bus_tls_ca)
    if own.bus_tls_cert is not None:
        context.load_cert_chain(own.bus_tls_cert, own.bus_tls_key)
    return context


def _credentials(path: Path) -> dict[str, Any]:
    """Return the option for a `.creds` file, or for a file with nothing but a seed."""
    text = path.read_text("utf-8")
    return {"user_credentials" if _JWT in text else "nkeys_seed": str(path)}


async def _run_session(session: Session, connection: Connection) -> None:
    """Run a session. One that breaks ends its connection, and the next one begins afresh."""
    try:
        await session(connection)
    except (errors.Error, OSError) as error:
        _log.info("bus_session_ended", reason=_error_text(error))
    except Exception:  # noqa: BLE001 - the task's root
        _log.exception("bus_session_broke")
    finally:
        connection.end()


def _error_text(error: Exception) -> str:
    """Return the error's text, shortened. It holds no address and no password."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    text = str(error).removeprefix("nats: ").strip("'\" ")
    return (text or type(error).__name__)[:200]
