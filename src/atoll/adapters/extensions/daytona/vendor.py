"""Daytona's API as a Vendor, by its libraries. Imported only where the extra `daytona` is."""

import json
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from daytona import AsyncDaytona, AsyncSandbox, DaytonaConfig
from daytona_api_client_async import (
    ApiClient,
    Configuration,
    CreateSandbox,
    ListSandboxesResponse,
    SandboxApi,
    SandboxState,
)

from atoll.adapters.extensions.daytona.errors import status_of, translate_error
from atoll.adapters.extensions.daytona.settings import DaytonaSettings
from atoll.adapters.extensions.daytona.terminals import DaytonaTerminals
from atoll.adapters.rented.armoured import ArmouredProcesses
from atoll.adapters.rented.calls import (
    NOT_FOUND,
    USUAL,
    Patience,
    call_with_retries,
    translate_errors,
)
from atoll.adapters.rented.program import read_program
from atoll.adapters.rented.shell import ScriptShell
from atoll.adapters.rented.vendor import Gone, Order, RentedMachine, RentedShell, Tags
from atoll.domain.broker.provider import safe_base_url
from atoll.domain.errors import Failed
from atoll.ports.extension import VendorKey

API_URL = "https://app.daytona.io/api"
CONFLICT = 409
PAGE = 100
SHARE = 0.9
"""The part of a call's time that the library has, before we give the call up."""

OVER = (SandboxState.DESTROYED, SandboxState.DESTROYING)
BROKEN = (
    SandboxState.ERROR,
    SandboxState.BUILD_FAILED,
    SandboxState.STOPPED,
    SandboxState.ARCHIVED,
)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Clients:
    """The clients of one key: of the API, and of machines."""

    api: SandboxApi
    machines: AsyncDaytona


@dataclass(slots=True)
class DaytonaVendor:
    """`rented.vendor.Vendor` of a Daytona. `programs` is the archive for other machines."""

    settings: DaytonaSettings
    programs: Path
    name: str = "ext.daytona"
    title: str = "Daytona"
    patience: Patience = USUAL
    _clients: dict[str, _Clients] = field(default_factory=dict)

    async def create(self, key: VendorKey, order: Order) -> RentedMachine:
        """See the port. A machine without a network. Its name comes from the token, and a Daytona
        has a name only once."""
        name = f"atoll-{order.token}"
        minutes = order.seconds // 60
        body = CreateSandbox(
            name=name,
            snapshot=order.template or None,
            labels=dict(order.tags),
            network_block_all=True,
            public=False,
            target=self.settings.target,
            ttl_minutes=minutes,
            auto_stop_interval=minutes,
            auto_delete_interval=0,
        )

        async def act(clients: _Clients) -> RentedMachine:
            try:
                machine = await clients.api.create_sandbox(body, _request_timeout=self._seconds)
            except Exception as error:
                if status_of(error) == NOT_FOUND:
                    raise Failed(str(translate_error(error, "a create of Daytona", key))) from error
                if status_of(error) != CONFLICT:
                    raise
                machine = await clients.api.get_sandbox(name, _request_timeout=self._seconds)
            return RentedMachine(machine.id, order.tags)

        return await self._call("a create of Daytona", key, act)

    async def find(self, key: VendorKey, tags: Tags) -> AsyncIterator[RentedMachine]:
        """See the port."""
        cursor: str | None = None
        while True:
            page = await self._page(key, tags, cursor)
            for machine in page.items:
                if machine.state not in OVER:
                    labels = tuple(machine.labels.items())
                    yield RentedMachine(machine.id, labels, machine.auto_destroy_at or "")
            cursor = page.next_cursor
            if not cursor:
                return

    async def renew(self, key: VendorKey, machine: str, seconds: int) -> None:
        """See the port. An older Daytona has no TTL: there it is idleness that ends a machine."""

        async def act(clients: _Clients) -> None:
            try:
                await clients.api.set_ttl(machine, seconds // 60, _request_timeout=self._seconds)
            except Exception as error:
                if status_of(error) != NOT_FOUND:
                    raise
            await clients.api.update_last_activity(machine, _request_timeout=self._seconds)

        await self._call("a renewal at Daytona", key, act)

    async def end(self, key: VendorKey, machine: str) -> bool:
        """See the port."""
        try:
            await self._call(
                "the end of a machine at Daytona",
                key,
                lambda clients: clients.api.delete_sandbox(machine, _request_timeout=self._seconds),
            )
        except Gone:
            return False
        return True

    async def shell(self, key: VendorKey, machine: str) -> RentedShell:
        """See the port. A machine that failed or stopped is ended: it never runs again."""

        async def act(clients: _Clients) -> AsyncSandbox:
            connection = await clients.machines.get(machine, request_timeout=self._seconds)
            if connection.state in BROKEN:
                await self.end(key, machine)
                end = f"is {connection.state.value}: {_reason_of(connection)}"
                raise Gone(f"machine {machine} at Daytona {end}")
            if not safe_base_url(connection.toolbox_proxy_url):
                raise Failed("Daytona names an address that would send the key in the clear")
            await connection.wait_for_sandbox_start(timeout=self._seconds)
            return connection

        connection = await self._call("a connection to a machine at Daytona", key, act)
        program = await read_program(self.programs)
        terminals = DaytonaTerminals(connection, key, self.patience, program)
        return ScriptShell(ArmouredProcesses(terminals.label, terminals.open))

    async def close(self) -> None:
        """See the port."""
        while self._clients:
            _, clients = self._clients.popitem()
            closing: list[Any] = [clients.machines, clients.api.api_client]
            for each in closing:
                await each.close()

    @property
    def _seconds(self) -> float:
        return self.patience.call * SHARE

    async def _page(self, key: VendorKey, tags: Tags, cursor: str | None) -> ListSandboxesResponse:
        labels = json.dumps(dict(tags))
        return await self._call(
            "a list of Daytona",
            key,
            lambda clients: clients.api.list_sandboxes(
                cursor=cursor, limit=PAGE, labels=labels, _request_timeout=self._seconds
            ),
            only_reads=True,
        )

    def _clients_of(self, key: VendorKey) -> _Clients:
        """Return the clients of a key. Every address is named: the environment names none."""
        clients = self._clients.get(key.value)
        if clients is None:
            url = self.settings.api_url or API_URL
            api = SandboxApi(ApiClient(Configuration(host=url, access_token=key.value)))
            config = DaytonaConfig(
                api_key=key.value,
                api_url=url,
                target=self.settings.target or "",
                use_deprecated_polling=True,
            )
            with warnings.catch_warnings():
                # Polling opens no connection of its own that would stay.
                warnings.simplefilter("ignore", DeprecationWarning)
                clients = self._clients[key.value] = _Clients(api, AsyncDaytona(config))
        return clients

    async def _call(
        self,
        what: str,
        key: VendorKey,
        act: Callable[[_Clients], Awaitable[_T]],
        *,
        only_reads: bool = False,
    ) -> _T:
        if not key.value:
            raise Failed(f"the key of {self.name} is empty")

        async def call_vendor() -> _T:
            return await act(self._clients_of(key))

        translate = partial(translate_error, what=what, key=key)
        return await call_with_retries(
            what,
            lambda: translate_errors(call_vendor(), translate),
            patience=self.patience,
            only_reads=only_reads,
        )


def _reason_of(machine: AsyncSandbox) -> str:
    return str(machine.error_reason or "it gives no reason")
