"""Routes: decisions, the rules they follow, and how backends fared."""

from collections.abc import Collection, Mapping
from typing import Protocol

from atoll.domain.ids import OrgId, RouteId
from atoll.domain.routes.health import Outcome
from atoll.domain.routes.policy import RouteRules
from atoll.domain.routes.record import RouteRecord

Place = tuple[str, str]
"""An extension, and a host or a vendor's region."""


class RouteRows(Protocol):
    """Decisions by id, rules by organization (None: the installation's), and the newest outcomes
    of attempts by place."""

    async def put(self, record: RouteRecord) -> None:
        """Add or replace a decision."""
        ...

    async def get(self, route_id: RouteId) -> RouteRecord | None:
        """Return a decision."""
        ...

    async def put_rules(self, org_id: OrgId | None, rules: RouteRules) -> None:
        """Add or replace the rules of an organization, or of the installation."""
        ...

    async def rules(self, org_id: OrgId | None) -> RouteRules:
        """Return the rules of an organization, or of the installation; empty ones without any."""
        ...

    async def note(self, place: Place, outcome: Outcome) -> None:
        """Add an outcome; only the newest are kept."""
        ...

    async def forget(self, host: str) -> None:
        """Remove the outcomes at a host, of every extension."""
        ...

    async def outcomes(self, extensions: Collection[str]) -> Mapping[Place, tuple[Outcome, ...]]:
        """Return the outcomes at every place of these extensions, oldest first."""
        ...
