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
from atoll.adapters.rented.calls import USUAL, Patience, call_with_retries, translate_errors
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
            sandbox = await modal.Sandbox.create.aio(
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
            return RentedMachine(sandbox.object_id, order.tags)

        return await self._call("a create of Modal", key, act, missing=Failed)

    async def find(self, key: VendorKey, tags: Tags) -> AsyncIterator[RentedMachine]:
        """See the port."""

        listing = _Listing(partial(self._list, key, tags))
        while page := await self._call("a list of Modal", key, listing.next_page, only_reads=True):
            tagged = (self._with_tags(key, machine) for machine in page)
            for machine in await asyncio.gather(*tagged):
                if machine is not None:
                    yield machine

    async def renew(self, key: VendorKey, machine: str, seconds: int) -> None:
        """See the port: the machine was not idle until now, whatever `seconds` says."""

        async def act() -> None:
            sandbox = await self._running_sandbox(key, machine)
            ran = await sandbox.exec.aio("true", text=False, timeout=EXEC_SECONDS)
            await ran.wait.aio()

        await self._call("a renewal at Modal", key, act)

    async def end(self, key: VendorKey, machine: str) -> bool:
        """See the port."""

        async def act() -> bool:
            sandbox = await self._running_sandbox(key, machine)
            await sandbox.terminate.aio(wait=True)
            return True

        try:
            return await self._call("the end of a machine at Modal", key, act)
        except Gone:
            return False

    async def shell(self, key: VendorKey, machine: str) -> RentedShell:
        """See the port."""

        async def act() -> RentedShell:
            sandbox = await self._running_sandbox(key, machine)
            return ScriptShell(ModalProcesses(sandbox, key, self.patience))

        return await self._call("a connection to a machine at Modal", key, act)

    async def close(self) -> None:
        """See the port."""
        while self._accounts:
            _, account = self._accounts.popitem()
            await account.client.close.aio()

    async def _account(self, key: VendorKey) -> _Account:
        account = self._accounts.get(key)
        if account is not None:
            return account
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
        account = self._accounts.setdefault(key, _Account(client, app))
        if account.client is not client:
            await client.close.aio()
        return account

    async def _list(self, key: VendorKey, tags: Tags) -> AsyncIterator[modal.Sandbox]:
        account = await self._account(key)
        sandboxes = modal.Sandbox.list.aio(
            app_id=account.app.app_id, tags=dict(tags), client=account.client
        )
        async for machine in sandboxes:
            yield machine

    async def _running_sandbox(self, key: VendorKey, machine: str) -> modal.Sandbox:
        """Return a running machine. Raises `Gone`."""
        account = await self._account(key)
        sandbox = await modal.Sandbox.from_id.aio(machine, client=account.client)
        if sandbox.returncode is not None:
            raise Gone(f"machine {machine} at Modal has ended")
        return sandbox

    async def _with_tags(self, key: VendorKey, machine: modal.Sandbox) -> RentedMachine | None:
        """Return a listed machine with its tags, which a list leaves out; None once it ended."""
        try:
            tags = await self._call(
                "the tags of a machine at Modal", key, machine.get_tags.aio, only_reads=True
            )
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
        only_reads: bool = False,
    ) -> _T:
        translate = partial(translate_error, what=what, key=key, missing=missing)
        return await call_with_retries(
            what,
            lambda: translate_errors(act(), translate),
            patience=self.patience,
            only_reads=only_reads,
        )


class _Listing:
    """A list of machines, read in pages. After a failure it begins anew: the library's iterator
    would look as if it had ended."""

    def __init__(self, begin: Callable[[], AsyncIterator[modal.Sandbox]]) -> None:
        self._begin = begin
        self._sandboxes: AsyncIterator[modal.Sandbox] | None = None
        self._seen: set[str] = set()

    async def next_page(self) -> list[modal.Sandbox]:
        """Return the next page of machines; an empty one at the end."""
        page: dict[str, modal.Sandbox] = {}
        sandboxes = self._sandboxes = self._sandboxes or self._begin()
        try:
            async for machine in sandboxes:
                if machine.object_id not in self._seen:
                    page[machine.object_id] = machine
                if len(page) == AT_ONCE:
                    break
        except BaseException:
            self._sandboxes = None
            raise
        self._seen |= page.keys()
        return list(page.values())


def _name(tags: Tags) -> str:
    """Return the machine's name, the same for each create of a sandbox."""
    values = dict(tags)
    return f"{values[SANDBOX]}.{values[OURS]}"[:NAME_LENGTH]


def _image(template: str, client: modal.Client) -> modal.Image:
    if template.startswith("im-"):
        return modal.Image.from_id(template, client=client)
    return modal.Image.from_registry(template)
