"""Rows of people's decisions on project files."""

from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.repository.project import DecidedProject


class ProjectRows(Protocol):
    """Decisions on project files, one for each person, repository and digest."""

    async def put(self, decided: DecidedProject) -> None:
        """Add or replace a decision. Only the newest `MAX_DECISIONS` of a person and repository are
        kept."""
        ...

    async def of(self, org_id: OrgId, owner: PrincipalId, repository: str) -> list[DecidedProject]:
        """Return a person's decisions on one repository, newest first."""
        ...

    async def page(
        self, org_id: OrgId, owner: PrincipalId, page: PageQuery
    ) -> RowPage[DecidedProject]:
        """Return one page of a person's decisions, newest first."""
        ...

    async def forget(self, org_id: OrgId, owner: PrincipalId, repository: str) -> int:
        """Remove a person's decisions on one repository. Returns how many were removed."""
        ...
