"""Modal's API as a Vendor, by its library. Imported only where the extra `modal` is installed.

Modal moves no deadline. What it has instead: a machine without a running process ends after its
idle time, and each process ends after its own. A renewal is a process that does nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import modal

from atoll.adapters.extensions.modal.errors import translate_error
from atoll.adapters.extensions.modal.processes import EXEC_SECONDS, ModalProcesses
from atoll.adapters.extensions.modal.settings import ModalSettings
from atoll.adapters.rented.calls import USUAL, Patience, patiently, translate_errors
from atoll.adapters.rented.shell import ScriptShell
from atoll.adapters.rented.vendor import (
    LIFE_SECONDS,
    OURS,
    SANDBOX,
    Gone,
    Order,
    RentedMachine,
    RentedShell,
    Tags,
)
from atoll.domain.errors import AtollError, Failed
from atoll.ports.extension import VendorKey

IDLE_SECONDS = LIFE_SECONDS - EXEC_SECONDS
LONGEST_SECONDS = 24 * 3600
"""Modal's own bound: it ends every machine by then."""

AT_ONCE = 32
NAME_LENGTH = 63
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Account:
    """A key's connection, and the app to which its machines belong."""

    client: modal.Client
    app: modal.App


@dataclass(frozen=True, slots=True)
class ModalVendor:
    """`rented.vendor.Vendor` of Modal."""

    settings: ModalSettings
    patience: Patience = field(default=USUAL)
    _accounts: dict[VendorKey, _Account] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The vendor's name."""
        return "Modal"

    async def create(self, key: VendorKey, order: Order) -> RentedMachine:
        """See the port. A machine without a network; Modal has one of a name at a time."""

        async def act() -> RentedMachine:
            account = await self._account(key)
            made = await modal.Sandbox.create.aio(
                "sleep",
                "infinity",
                app=account.app,
                client=account.client,
                name=_name(order.tags),
                tags=dict(order.tags),
                image=_image(order.template, account.client),
                region=self.settings.region,
                timeout=LONGEST_SECONDS,
                idle_timeout=IDLE_SECONDS,
                block_network=True,
            )
            return RentedMachine(made.object_id, order.tags)

        return await self._call("a create of Modal", key, act, missing=Failed)

    async def find(self, key: VendorKey, tags: Tags) -> AsyncIterator[RentedMachine]:
        """See the port."""

        listing = _Listing(partial(self._listed, key, tags))
        while some := await self._call("a list of Modal", key, listing.more):
            shown = (self._shown(key, machine) for machine in some)
            for machine in await asyncio.gather(*shown):
                if machine is not None:
                    yield machine

    async def renew(self, key: VendorKey, machine: str, seconds: int) -> None:
        """See the port: the machine was not idle until now, whatever `seconds` says."""

        async def act() -> None:
            found = await self._found(key, machine)
            ran = await found.exec.aio("true", text=False, timeout=EXEC_SECONDS)
            await ran.wait.aio()

        await self._call("a renewal at Modal", key, act)

    async def end(self, key: VendorKey, machine: str) -> bool:
        """See the port."""

        async def act() -> bool:
            found = await self._found(key, machine)
            await found.terminate.aio(wait=True)
            return True

        try:
            return await self._call("the end of a machine at Modal", key, act)
        except Gone:
            return False

    async def shell(self, key: VendorKey, machine: str) -> RentedShell:
        """See the port."""

        async def act() -> RentedShell:
            found = await self._found(key, machine)
            return ScriptShell(ModalProcesses(found, key, self.patience))

        return await self._call("a connection to a machine at Modal", key, act)

    async def close(self) -> None:
        """See the port."""
        while self._accounts:
            _, account = self._accounts.popitem()
            await account.client.close.aio()

    async def _account(self, key: VendorKey) -> _Account:
        known = self._accounts.get(key)
        if known is not None:
            return known
        token, _, secret = key.value.partition(":")
        if not token or not secret:
            raise Failed("the key of ext.modal is not spelled TOKEN_ID:TOKEN_SECRET")
        if self.settings.server_url is not None:
            modal.config.config.override_locally("server_url", self.settings.server_url)
        client = await modal.Client.from_credentials.aio(token, secret)
        try:
            app = await modal.App.lookup.aio(
                self.settings.app, client=client, create_if_missing=True
            )
        except BaseException:
            await client.close.aio()
            raise
        made = self._accounts.setdefault(key, _Account(client, app))
        if made.client is not client:
            await client.close.aio()
        return made

    async def _listed(self, key: VendorKey, tags: Tags) -> AsyncIterator[modal.Sandbox]:
        account = await self._account(key)
        found = modal.Sandbox.list.aio(
            app_id=account.app.app_id, tags=dict(tags), client=account.client
        )
        async for machine in found:
            yield machine

    async def _found(self, key: VendorKey, machine: str) -> modal.Sandbox:
        """Return a machine that runs. Raises `Gone`."""
        account = await self._account(key)
        found = await modal.Sandbox.from_id.aio(machine, client=account.client)
        if found.returncode is not None:
            raise Gone(f"machine {machine} at Modal has ended")
        return found

    async def _shown(self, key: VendorKey, machine: modal.Sandbox) -> RentedMachine | None:
        """Return a machine with its tags, which a list leaves out; None for one that ended."""
        try:
            tags = await self._call("the tags of a machine at Modal", key, machine.get_tags.aio)
        except Gone:
            return None
        return RentedMachine(machine.object_id, tuple(tags.items()))

    async def _call(
        self,
        what: str,
        key: VendorKey,
        act: Callable[[], Awaitable[_T]],
        *,
        missing: type[AtollError] = Gone,
    ) -> _T:
        ours = partial(translate_error, what=what, key=key, missing=missing)
        return await patiently(what, lambda: translate_errors(act(), ours), patience=self.patience)


class _Listing:
    """A list of machines, some at a time. One that failed begins anew: the library's cannot go on,
    and would look as if it had ended."""

    def __init__(self, begin: Callable[[], AsyncIterator[modal.Sandbox]]) -> None:
        self._begin = begin
        self._found: AsyncIterator[modal.Sandbox] | None = None
        self._seen: set[str] = set()

    async def more(self) -> list[modal.Sandbox]:
        """Return the next machines; none at the end."""
        some: dict[str, modal.Sandbox] = {}
        found = self._found = self._found or self._begin()
        try:
            async for machine in found:
                if machine.object_id not in self._seen:
                    some[machine.object_id] = machine
                if len(some) == AT_ONCE:
                    break
        except BaseException:
            self._found = None
            raise
        self._seen |= some.keys()
        return list(some.values())


def _name(tags: Tags) -> str:
    """Return the machine's name, the same for each create of a sandbox."""
    known = dict(tags)
    return f"{known[SANDBOX]}.{known[OURS]}"[:NAME_LENGTH]


def _image(template: str, client: modal.Client) -> modal.Image:
    if template.startswith("im-"):
        return modal.Image.from_id(template, client=client)
    return modal.Image.from_registry(template)
