"""Cloudflare as a Vendor: the Worker of `deploy/cloudflare` rents, and its bridge gives terminals.

The bridge's exec has no input and decodes output, so a process runs in armour on a terminal. A
container's own user is root; what we run there is an ordinary user's.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import aiohttp
import msgspec

from atoll.adapters.extensions.cloudflare.worker import Call, Worker
from atoll.adapters.rented.armoured import ArmouredProcesses, Terminal
from atoll.adapters.rented.calls import USUAL, Patience
from atoll.adapters.rented.program import read_program
from atoll.adapters.rented.shell import ScriptShell
from atoll.adapters.rented.vendor import Order, RentedMachine, RentedShell, Tags
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.ports.extension import VendorKey

PLACE: Final = "/workspace/.atoll"
END_SECONDS = 10.0
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
"""The bridge's names for machines have no 0, 1, 8 or 9."""

LOOK: Final = 'mkdir -p "$1"; test -x "$1/shell"'
"""Word: the folder of our link there. Ends with 0 when it is complete."""

PREPARE: Final = r"""
set -eu
umask 022; user=60001 home=/home/atoll place=$1; shift
mkdir -p "$home"; chown $user:$user "$home"; chmod 700 "$home"
chmod 755 "$place"/*
cat >"$place/shell.new" <<END
#!/bin/sh
cd $home
exec setpriv --reuid=$user --regid=$user --clear-groups -- env -i HOME=$home USER=atoll \
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin $*
END
chmod 755 "$place/shell.new"; mv "$place/shell.new" "$place/shell"
"""
"""Words: the folder of our link there, and what runs it. Makes an ordinary user's home, and a shell
that is armour."""


class MachineState(msgspec.Struct, frozen=True):
    """The Worker's description of a machine."""

    id: str
    tags: dict[str, str]
    ends_at: str


class MachinePage(msgspec.Struct, frozen=True):
    """A page of machines, and the id after which the next one begins."""

    machines: list[MachineState]
    next: str | None


class EndAnswer(msgspec.Struct, frozen=True):
    """The answer to the end of a machine: whether it was there."""

    ended: bool


class CommandExit(msgspec.Struct, frozen=True):
    """The end of a command."""

    exit_code: int


@dataclass(frozen=True, slots=True)
class CloudflareVendor:
    """`rented.vendor.Vendor` of a Worker. `programs` is the archive that holds our link."""

    url: str
    programs: Path
    patience: Patience = field(default=USUAL)

    @property
    def title(self) -> str:
        """The vendor's name."""
        return "Cloudflare"

    async def create(self, key: VendorKey, order: Order) -> RentedMachine:
        """See the port. The Worker closes the network of every machine; its id is the token."""
        name = order.token.translate(_LETTERS)
        body = {"tags": dict(order.tags), "seconds": order.seconds, "template": order.template}
        call = Call("a create of Cloudflare", "PUT", f"/atoll/machines/{name}", body)
        return _machine(await self._worker(key).call(call, MachineState))

    async def find(self, key: VendorKey, tags: Tags) -> AsyncIterator[RentedMachine]:
        """See the port."""
        after: str | None = ""
        while after is not None:
            call = Call("a list of Cloudflare", "GET", f"/atoll/machines?after={after}")
            page = await self._worker(key).call(call, MachinePage)
            for state in page.machines:
                if dict(tags).items() <= state.tags.items():
                    yield _machine(state)
            if page.next is not None and page.next <= after:
                raise Failed("a list of Cloudflare has no end")
            after = page.next

    async def renew(self, key: VendorKey, machine: str, seconds: int) -> None:
        """See the port."""
        path = f"/atoll/machines/{machine}/renew"
        call = Call("a renewal at Cloudflare", "POST", path, {"seconds": seconds})
        await self._worker(key).call(call, MachineState)

    async def end(self, key: VendorKey, machine: str) -> bool:
        """See the port."""
        path = f"/atoll/machines/{machine}"
        call = Call("the end of a machine at Cloudflare", "DELETE", path)
        return (await self._worker(key).call(call, EndAnswer)).ended

    async def shell(self, key: VendorKey, machine: str) -> RentedShell:
        """See the port. The link goes there first, as each of its processes is in armour."""
        box = _Container(self._worker(key), machine)
        program = await read_program(self.programs)
        place = f"{PLACE}/{program.digest}"
        if await box.run("sh", "-c", LOOK, "sh", place):
            await box.write(f"{place}/link", program.content)
            if await box.run("sh", "-c", PREPARE, "sh", place, *program.argv(f"{place}/link")):
                raise Failed(f"{box.label} has no place for an ordinary user")
        return ScriptShell(ArmouredProcesses(box.label, lambda: box.terminal(f"{place}/shell")))

    async def close(self) -> None:
        """See the port; each call closes its own connection."""

    def _worker(self, key: VendorKey) -> Worker:
        return Worker(self.url.rstrip("/"), key, self.patience)


@dataclass(frozen=True, slots=True)
class _Container:
    """The bridge to one machine: commands without input, files, terminals."""

    worker: Worker
    machine: str

    @property
    def label(self) -> str:
        return f"machine {self.machine} at Cloudflare"

    async def run(self, *argv: str) -> int:
        """Run a command as root; returns its exit code."""
        call = Call(f"a command on {self.label}", "POST", self._path("exec"), {"argv": argv})
        text = await self.worker.text(call)
        for event in text.decode(errors="replace").split("\n\n"):
            name, _, data = event.strip().partition("\n")
            if name == "event: exit":
                try:
                    return msgspec.json.decode(
                        data.removeprefix("data: "), type=CommandExit
                    ).exit_code
                except msgspec.DecodeError as error:
                    raise Unavailable(f"{self.label} cut a command's end") from error
        raise Unavailable(f"{self.label} ended a command without its code")

    async def write(self, place: str, content: bytes) -> None:
        """Write a file as root."""
        path = self._path(f"file{place}")
        await self.worker.text(Call(f"a file for {self.label}", "PUT", path, content))

    @asynccontextmanager
    async def terminal(self, shell: str) -> AsyncIterator[Terminal]:
        """Yield a terminal in which `shell` runs; its session ends with it."""
        session = secrets.token_hex(8)
        path = self._path(f"pty?cols=80&rows=24&shell={shell}&session={session}")
        try:
            async with self.worker.socket(f"a terminal of {self.label}", path) as socket:
                yield _Terminal(socket, self.label)
        finally:
            # What is left in a terminal goes on without us: its end is asked for.
            call = Call("the end of a terminal", "DELETE", self._path(f"session/{session}"))
            with suppress(AtollError, TimeoutError):
                async with asyncio.timeout(END_SECONDS):
                    await self.worker.text(call)

    def _path(self, rest: str) -> str:
        return f"/v1/sandbox/{self.machine}/{rest}"


@dataclass(frozen=True, slots=True)
class _Terminal:
    socket: aiohttp.ClientWebSocketResponse
    label: str

    async def send(self, data: bytes) -> None:
        try:
            await self.socket.send_bytes(data)
        except (ConnectionError, aiohttp.ClientError) as error:
            raise Unavailable(f"{self.label} cut a terminal") from error

    async def printed(self) -> AsyncIterator[bytes]:
        async for message in self.socket:
            if message.type is aiohttp.WSMsgType.BINARY:
                yield message.data
            elif message.type is aiohttp.WSMsgType.ERROR:
                return


def _machine(state: MachineState) -> RentedMachine:
    return RentedMachine(state.id, tuple(sorted(state.tags.items())), state.ends_at)
