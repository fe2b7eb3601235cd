"""Rows of approvals, and the query for them."""

from dataclasses import dataclass
from typing import Protocol

from atoll.domain.approvals.approval import Approval, ApprovalId
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.paging import PageQuery, RowPage
from atoll.wire.words.approvals import ApprovalState


@dataclass(frozen=True, slots=True)
class ApprovalQuery:
    """A query for approvals that one person decides, newest first; no `verdicts` means all. With
    `owner` None those of the whole organization. Whoever `administers` decides also what concerns
    any secret of the organization, and any sandbox that is shared in it."""

    org_id: OrgId
    owner: PrincipalId | None
    verdicts: tuple[ApprovalState, ...] = ()
    administers: bool = False


class ApprovalRows(Protocol):
    """Approval requests and their decisions."""

    async def put(self, approval: Approval) -> None:
        """Add or replace an approval."""
        ...

    async def get(self, org_id: OrgId, approval_id: ApprovalId) -> Approval | None:
        """Return an approval by id."""
        ...

    async def page(self, query: ApprovalQuery, page: PageQuery) -> RowPage[Approval]:
        """Return one page of approvals, newest first."""
        ...

    async def open(
        self, org_id: OrgId, *, sandbox_id: SandboxId, owner: PrincipalId
    ) -> list[Approval]:
        """Return the pending, granted and denied approvals that this sandbox requested or this
        owner decides."""
        ...

    async def waiting(self) -> list[Approval]:
        """Return everybody's pending requests."""
        ...

    async def about(self, org_id: OrgId, secret_id: str) -> list[Approval]:
        """Return the pending, granted and denied approvals for one secret, of every sandbox."""
        ...
