"""Records over many pages, for programs: the audit log, webhooks and what they did not deliver."""

from collections.abc import AsyncIterator

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.audit import Audit, AuditEntry
from atoll.client.outside.hooks import Hooks
from atoll.client.transport import Pairs, get
from atoll.client.webhooks import Delivery, DeliveryState, Webhooks


class AsyncWebhooks(AsyncNoun[Webhooks]):
    """Endpoints that receive events."""

    blocking = Webhooks
    list = Awaited(Webhooks.list)
    create = Awaited(Webhooks.create)
    get = Awaited(Webhooks.get)
    change = Awaited(Webhooks.change)
    remove = Awaited(Webhooks.remove)
    rotate = Awaited(Webhooks.rotate)
    test = Awaited(Webhooks.test)
    drop = Awaited(Webhooks.drop)
    replay = Awaited(Webhooks.replay)

    async def deliveries(
        self, webhook_id: str, *, state: DeliveryState | None = None, limit: int = 100
    ) -> AsyncIterator[Delivery]:
        """Yield what the endpoint did not accept, `limit` a request."""
        fixed: Pairs = (("limit", str(limit)), *(() if state is None else (("state", state),)))
        after: Pairs = ()
        while True:
            query = (*fixed, *after)
            page = await self.perform(lambda hooks: hooks.deliveries(webhook_id, query=query))  # noqa: B023
            for delivery in page.deliveries:
                yield delivery
            if not page.deliveries or not page.value.get("next"):
                return
            after = (("after", str(page.next)),)


class AsyncHooks(AsyncNoun[Hooks]):
    """Addresses to which other systems report."""

    blocking = Hooks
    list = Awaited(Hooks.list)
    create = Awaited(Hooks.create)
    remove = Awaited(Hooks.remove)
    test = Awaited(Hooks.test)


class AsyncAudit(AsyncNoun[Audit]):
    """The audit log of the caller's organization."""

    blocking = Audit
    page = Awaited(Audit.page)

    async def entries(self, *, after: int = 0, limit: int = 100) -> AsyncIterator[AuditEntry]:
        """Yield the entries after a number, oldest first, `limit` a request."""
        while True:
            page = await self.page(query=(("after", str(after)), ("limit", str(limit))))
            for entry in page.entries:
                yield entry
            if not page.entries:
                return
            after = page.next

    async def export(self) -> AsyncIterator[bytes]:
        """Yield the lines of an export. `atoll.client.verify_export` follows them."""
        async with self._connection.open(get("audit", "export")) as answer:
            async for line in answer.lines():
                yield line
