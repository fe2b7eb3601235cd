"""The background that each person works on."""

from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId
from atoll.wire.words.terminals import Shade


class ShadeRows(Protocol):
    """Backgrounds, one a person and organization."""

    async def get(self, org_id: OrgId, owner: PrincipalId) -> Shade | None:
        """Return a person's background; None while their page has told none."""
        ...

    async def put(self, org_id: OrgId, owner: PrincipalId, shade: Shade | None) -> None:
        """Set a person's background, or forget it."""
        ...
