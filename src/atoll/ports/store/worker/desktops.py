"""Rows of the desktops that people linked."""

from typing import Protocol

from atoll.domain.ids import DesktopId, OrgId, PrincipalId
from atoll.domain.worker.desktop import Desktop


class DesktopRows(Protocol):
    """Desktops, by id; a person has one of each name."""

    async def put(self, desktop: Desktop) -> None:
        """Add a desktop, or replace it."""
        ...

    async def get(self, desktop_id: DesktopId) -> Desktop | None:
        """Return one desktop, whoever owns it."""
        ...

    async def of(self, org_id: OrgId, owner: PrincipalId) -> list[Desktop]:
        """Return a person's desktops, by name."""
        ...

    async def remove(self, desktop_id: DesktopId) -> None:
        """Remove a desktop; nothing where it is gone."""
        ...
