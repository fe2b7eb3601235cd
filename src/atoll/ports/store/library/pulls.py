"""Rows of pull orders."""

from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.sandboxes.pull_order import PullOrder


class PullRows(Protocol):
    """Pull orders, by id."""

    async def put(self, order: PullOrder) -> None:
        """Add an order, or replace the one with its id. Only the newest `KEPT_ORDERS` of a person
        are kept."""
        ...

    async def get(self, order_id: str) -> PullOrder | None:
        """Return an order by id."""
        ...

    async def of(self, org_id: OrgId, owner: PrincipalId) -> list[PullOrder]:
        """Return a person's orders, oldest first."""
        ...
