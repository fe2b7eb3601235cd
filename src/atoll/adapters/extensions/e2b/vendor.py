"""E2B's API as a Vendor, by its library. Imported only where the extra `e2b` is installed."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from e2b import AsyncSandbox, SandboxQuery, SandboxState

from atoll.adapters.extensions.e2b.errors import translate_error
from atoll.adapters.extensions.e2b.processes import E2bProcesses
from atoll.adapters.extensions.e2b.settings import E2bSettings
from atoll.adapters.rented.calls import USUAL, Patience, call_with_retries, translate_errors
from atoll.adapters.rented.shell import ScriptShell
from atoll.adapters.rented.vendor import LIFE_SECONDS, Gone, Order, RentedMachine, RentedShell, Tags
from atoll.domain.errors import Failed
from atoll.ports.extension import VendorKey

PAGE = 100
SHARE = 0.9
"""The part of a call's time that the library has, before we give the call up."""

REACH_SECONDS = 20.0
"""The time for a machine that runs to be reached: the library keeps connections, and one on which
nothing comes any more is given up by this alone."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class E2bVendor:
    """`rented.vendor.Vendor` of E2B."""

    settings: E2bSettings
    patience: Patience = field(default=USUAL)

    @property
    def title(self) -> str:
        """The vendor's name."""
        return "E2B"

    async def create(self, key: VendorKey, order: Order) -> RentedMachine:
        """See the port. A machine without a network; E2B gives one for a token."""

        async def act() -> RentedMachine:
            sandbox = await AsyncSandbox.create(
                order.template,
                timeout=order.seconds,
                metadata=dict(order.tags),
                allow_internet_access=False,
                idempotency_key=order.token,
                **self._options(key),
            )
            return RentedMachine(sandbox.sandbox_id, order.tags)

        return await self._call("a create of E2B", key, act)

    async def find(self, key: VendorKey, tags: Tags) -> AsyncIterator[RentedMachine]:
        """See the port."""
        query = SandboxQuery(metadata=dict(tags), state=[SandboxState.RUNNING])
        pages = AsyncSandbox.list(query, limit=PAGE, **self._options(key))
        while pages.has_next:
            for sandbox in await self._call(
                "a list of E2B", key, pages.next_items, only_reads=True
            ):
                metadata = tuple((name, str(value)) for name, value in sandbox.metadata.items())
                yield RentedMachine(sandbox.sandbox_id, metadata, sandbox.end_at.isoformat())

    async def renew(self, key: VendorKey, machine: str, seconds: int) -> None:
        """See the port."""

        async def act() -> None:
            await AsyncSandbox.set_timeout(machine, seconds, **self._options(key))

        await self._call("a renewal at E2B", key, act)

    async def end(self, key: VendorKey, machine: str) -> bool:
        """See the port."""

        async def act() -> bool:
            return bool(await AsyncSandbox.kill(machine, **self._options(key)))

        try:
            return await self._call("the end of a machine at E2B", key, act)
        except Gone:
            return False

    async def shell(self, key: VendorKey, machine: str) -> RentedShell:
        """See the port."""

        quick = replace(self.patience, call=min(self.patience.call, REACH_SECONDS))

        async def act() -> RentedShell:
            # A deadline must be named: a connection without one asks for the library's own.
            options = replace(self, patience=quick)._options(key)
            connection = await AsyncSandbox.connect(machine, LIFE_SECONDS, **options)
            return ScriptShell(E2bProcesses(connection, key, quick))

        return await self._call("a connection to a machine at E2B", key, act)

    async def close(self) -> None:
        """See the port; the library keeps its connections for the whole process."""

    def _options(self, key: VendorKey) -> dict[str, Any]:
        addresses = {
            "domain": self.settings.domain,
            "api_url": self.settings.api_url,
            "sandbox_url": self.settings.sandbox_url,
        }
        return {
            **{name: value for name, value in addresses.items() if value},
            "api_key": key.value,
            # Never what the environment says: it would print to a person's terminal.
            "debug": False,
            # Its library waits as long as a `Retry-After` within this says.
            "request_timeout": self.patience.call * SHARE,
        }

    async def _call(
        self,
        what: str,
        key: VendorKey,
        act: Callable[[], Awaitable[_T]],
        *,
        only_reads: bool = False,
    ) -> _T:
        if not key.value:
            raise Failed("the key of ext.e2b is empty")
        translate = partial(translate_error, what=what, key=key)
        return await call_with_retries(
            what,
            lambda: translate_errors(act(), translate),
            patience=self.patience,
            only_reads=only_reads,
        )
