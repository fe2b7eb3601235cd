"""Records over many pages, for programs: the audit log, webhooks and what they did not deliver."""

from collections.abc import AsyncIterator

from atoll.client.aio.made.audit import PlainAsyncAudit
from atoll.client.aio.made.webhooks import PlainAsyncWebhooks
from atoll.client.aio.nouns import Awaited
from atoll.client.made.audit import AuditEntry
from atoll.client.made.webhooks import Delivery, DeliveryState, Webhooks
from atoll.client.transport import get


class WebhookRecords(PlainAsyncWebhooks):
    """Endpoints that receive events."""

    page = Awaited(Webhooks.deliveries)

    async def deliveries(
        self, webhook_id: str, *, state: DeliveryState | None = None, limit: int = 100
    ) -> AsyncIterator[Delivery]:
        """Yield what the endpoint did not accept, `limit` a request."""
        after: int | None = None
        while True:
            page = await self.page(webhook_id, state=state, after=after, limit=limit)
            for delivery in page.deliveries:
                yield delivery
            if not page.deliveries or not page.value.get("next"):
                return
            after = page.next


class AuditRecords(PlainAsyncAudit):
    """The audit log of the caller's organization."""

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
