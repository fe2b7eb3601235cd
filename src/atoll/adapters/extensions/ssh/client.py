"""OpenSSH's client, driven without a terminal, a config file or an agent of anybody's.

One shared connection a machine serves short commands and calls to its Engine. The stream of a link
gets a connection of its own, so that neither a flood nor the end of the shared one reaches it.
"""

import asyncio
import hashlib
import os
import pwd
import select
import shlex
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from atoll.adapters.linked.shell import ScriptResult
from atoll.domain.errors import Failed, Unavailable
from atoll.domain.hosts.reading import read_address

CONNECT_SECONDS = 10
ALIVE_SECONDS = 15
PERSIST_SECONDS = 60
END_SECONDS = 2.0
"""The time for the client of a stream to end once nobody reads it here."""

NO_CONNECTION = 255
"""The client's own exit code, ssh(1)."""

MAX_COMPLAINT = 500
CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class SshHost:
    """A machine. `address` is `ssh://user@host[:port]`, `host_key` the public key it must show
    (`ssh-ed25519 AAAA…`), `identity` the private key that opens it, a file."""

    address: str
    host_key: str
    identity: str


@dataclass(slots=True)
class SshClient:
    """The way to one machine. `folder` holds sockets and the pinned key, and is ours alone."""

    name: str
    host: SshHost
    folder: Path
    _stem: Path = field(init=False)

    def __post_init__(self) -> None:
        # Short, for a socket's path, and never that of another machine of the same name.
        identity = f"{self.name} {self.host.address} {self.host.host_key}"
        self._stem = self.folder / hashlib.sha256(identity.encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        """See `linked.shell.Shell`."""
        return f"host {self.name}"

    async def run(
        self, script: str, *words: str, given: bytes = b"", seconds: float, shared: int = 0
    ) -> ScriptResult:
        """Run a script of sh with these arguments, `given` as its input, over the shared connection
        of this number. Raises `Unavailable` when the machine cannot be reached or does not answer
        in time, `Failed` for a changed key."""
        process = await self._start(script, words, shared=shared, has_input=bool(given))
        try:
            async with asyncio.timeout(seconds):
                output, complaint = await _communicate(process, given)
        except TimeoutError as error:
            raise Unavailable(f"host {self.name} did not answer within {seconds:g} s") from error
        finally:
            await _end(process)
        reason = one_line(complaint)[:MAX_COMPLAINT]
        if process.returncode == NO_CONNECTION:
            raise self._connection_error(reason)
        return ScriptResult(process.returncode or 0, output, reason)

    @asynccontextmanager
    async def pipe(self, script: str, *words: str) -> AsyncIterator[asyncio.StreamWriter]:
        """Yield the input of a script. Its end is awaited, and its failure raised as `Failed`."""
        process = await self._start(script, words, shared=None, has_input=True)
        if process.stdin is None or process.stderr is None:
            raise Failed("the SSH client was started without pipes")
        try:
            yield process.stdin
            process.stdin.close()
            complaint = await process.stderr.read()
            code = await process.wait()
        finally:
            await _end(process)
        reason = one_line(complaint)[:MAX_COMPLAINT]
        if code == NO_CONNECTION:
            raise self._connection_error(reason)
        if code:
            raise Failed(f"host {self.name}: {reason or f'a command ended with {code}'}")

    async def stream(
        self, script: str, *words: str, near: socket.socket, shared: int | None = None
    ) -> str:
        """Join `near` with a script's input and output, until either ends; returns the last words
        of the client. It has a connection of its own and outlives this process, unless it is short
        and goes over the shared one of this number. A client that hears nothing of the machine ends
        soon after `near` is closed. Raises `Failed` for a changed key."""
        self._prepare()
        process = await asyncio.create_subprocess_exec(
            *self._argv(script, words, shared=shared),
            stdin=near.fileno(),
            stdout=near.fileno(),
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        complaint = await _wait_ended(process, near)
        reason = one_line(complaint)[:MAX_COMPLAINT]
        if process.returncode == NO_CONNECTION and _is_about_keys(reason):
            raise self._connection_error(reason)
        return reason

    async def close(self) -> None:
        """End the shared connections once the commands on it end: others of this home use it, too.
        Idempotent."""
        for control in self.folder.glob(f"{self._stem.name}.mux*"):
            await self._stop(control)

    async def _stop(self, control: Path) -> None:
        process = await asyncio.create_subprocess_exec(
            *(*openssh_argv("ssh"), "-F", "none", "-O", "stop"),
            *("-o", f"ControlPath={control}", "--", "host"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        await process.wait()

    @property
    def _known_hosts(self) -> Path:
        return self._stem.with_suffix(".known")

    async def _start(
        self, script: str, words: tuple[str, ...], *, shared: int | None, has_input: bool
    ) -> asyncio.subprocess.Process:
        self._prepare()
        return await asyncio.create_subprocess_exec(
            *self._argv(script, words, shared=shared),
            stdin=asyncio.subprocess.PIPE if has_input else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL if shared is None else asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )

    def _prepare(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Another client of the same machine may be reading it: it is written once, and whole.
        if not self._known_hosts.exists():
            new = self._known_hosts.with_suffix(f".{os.getpid()}-{id(self):x}")
            new.write_text(f"{self._alias} {self.host.host_key}\n")
            new.replace(self._known_hosts)

    @property
    def _alias(self) -> str:
        return f"atoll-{self.name}"

    def _argv(self, script: str, words: tuple[str, ...], *, shared: int | None) -> list[str]:
        place = read_address(self.host.address)
        options = {
            "BatchMode": "yes",
            "CheckHostIP": "no",
            "ClearAllForwardings": "yes",
            "ConnectTimeout": str(CONNECT_SECONDS),
            "ForwardAgent": "no",
            "GlobalKnownHostsFile": "/dev/null",
            "HostKeyAlias": self._alias,
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "IdentityFile": f'"{self.host.identity}"',
            "PasswordAuthentication": "no",
            "PermitLocalCommand": "no",
            "ServerAliveCountMax": "2",
            "ServerAliveInterval": str(ALIVE_SECONDS),
            "StrictHostKeyChecking": "yes",
            "UpdateHostKeys": "no",
            "UserKnownHostsFile": f'"{self._known_hosts}"',
            **({"ControlPath": "none"} if shared is None else self._sharing(shared)),
        }
        command = " ".join(map(shlex.quote, ("sh", "-c", script, "sh", *words)))
        return [
            *openssh_argv("ssh"),
            *("-F", "none", "-T", "-e", "none", "-l", place.user, "-p", str(place.port)),
            *(word for name, value in options.items() for word in ("-o", f"{name}={value}")),
            *("--", place.machine, f"exec {command}"),
        ]

    def _sharing(self, shared: int) -> dict[str, str]:
        control = self._stem.with_suffix(f".mux{shared or ''}")
        return {
            "ControlMaster": "auto",
            "ControlPath": f'"{control}"',
            "ControlPersist": str(PERSIST_SECONDS),
        }

    def _connection_error(self, reason: str) -> Failed | Unavailable:
        if _is_about_keys(reason):
            return Failed(
                f"host {self.name} shows another key than the one pinned for it: nothing was sent. "
                f"Find out why; if it was changed on purpose: atoll host trust {self.name}",
                code="host_not_trusted",
            )
        return Unavailable(
            f"host {self.name} cannot be reached: {reason or 'the connection ended'}"
        )


def one_line(complaint: bytes) -> str:
    """Return a program's complaint with its lines joined: it becomes part of a sentence."""
    lines = complaint.decode(errors="replace").splitlines()
    return "; ".join(filter(None, map(str.strip, lines)))


def _is_about_keys(reason: str) -> bool:
    return "host key" in reason.lower()


def openssh_argv(name: str) -> tuple[str, ...]:
    """Return the words that start a program of OpenSSH's. They refuse a uid without a name, as the
    control plane has under root: then one runs in a user namespace, where that uid is root's.
    Raises `Failed` when it is not installed."""
    program = shutil.which(name)
    if program is None:
        raise Failed(f"ext.ssh needs {name}: install the package openssh-client")
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        return ("unshare", "--user", "--map-root-user", "--", program)
    return (program,)


async def _communicate(process: asyncio.subprocess.Process, given: bytes) -> tuple[bytes, bytes]:
    try:
        return await process.communicate(given or None)
    except RuntimeError:
        # uvloop's word for an input that closed, since the client ended before it was written.
        complaint = await process.stderr.read() if process.stderr is not None else b""
        await process.wait()
        return b"", complaint


async def _wait_ended(process: asyncio.subprocess.Process, near: socket.socket) -> bytes:
    """Return a client's complaint at its end, and end it where it outlives the other side of `near`
    for long."""
    loop = asyncio.get_running_loop()
    # Both owned here: awaited or cancelled below.
    ending = loop.create_task(process.communicate())
    closing = loop.create_task(_wait_closed(near))
    try:
        await asyncio.wait((ending, closing), return_when=asyncio.FIRST_COMPLETED)
        done, _ = await asyncio.wait((ending,), timeout=END_SECONDS)
        return ending.result()[1] if done else b""
    finally:
        closing.cancel()
        if not ending.done():
            ending.cancel()
            await _end(process)
        await asyncio.gather(ending, closing, return_exceptions=True)


async def _wait_closed(near: socket.socket) -> None:
    """Wait until the other side of a socket is closed, without a look at what comes."""
    loop, closed = asyncio.get_running_loop(), asyncio.Event()
    with select.epoll() as events:
        events.register(near.fileno(), 0)  # a hang-up is reported always, epoll_ctl(2)
        loop.add_reader(events.fileno(), closed.set)
        try:
            await closed.wait()
        finally:
            loop.remove_reader(events.fileno())


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a client that still runs. Its pipes are closed here: the shared connection holds their
    other ends for as long as its command runs on the machine, and `wait` waits for them."""
    if process.returncode is None:
        process.kill()
        process._transport.close()  # type: ignore[attr-defined]
        await process.wait()
