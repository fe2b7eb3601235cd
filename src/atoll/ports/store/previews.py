"""Previews, and the visits of browsers to them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from atoll.domain.ids import SandboxId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.previews.preview import Preview, PreviewId
from atoll.domain.previews.visit import Visit


class PreviewRows(Protocol):
    """Previews, those that are gone included."""

    async def put(self, preview: Preview) -> None:
        """Add or replace a preview. Raises `Conflict` (code `preview_name_taken`) when another one
        that is not gone has its pull request's name."""
        ...

    async def get(self, preview_id: PreviewId) -> Preview | None:
        """Return a preview."""
        ...

    async def of(self, sandbox_id: SandboxId) -> Sequence[Preview]:
        """Return all previews of a sandbox, oldest first."""
        ...

    async def page(self, sandbox_id: SandboxId, page: PageQuery) -> RowPage[Preview]:
        """Return a page of the previews of a sandbox, newest first."""
        ...

    async def named(self, label: str) -> Sequence[Preview]:
        """Return the previews that have or had this name of a pull request, in any
        organization."""
        ...

    async def building(self) -> Sequence[Preview]:
        """Return the previews that build, of all organizations."""
        ...

    async def orphaned(self) -> Sequence[Preview]:
        """Return the previews that are not gone although their sandbox is destroyed."""
        ...


class PreviewVisitRows(Protocol):
    """Tickets and visits. Only fingerprints of their secrets are stored."""

    async def add(self, visit: Visit, *, most: int) -> None:
        """Add one; beyond `most` of a sandbox the oldest are removed."""
        ...

    async def marked(self, mark: str) -> Visit | None:
        """Return the ticket or visit whose secret has this fingerprint."""
        ...

    async def of(self, sandbox_id: SandboxId) -> Sequence[Visit]:
        """Return the tickets and visits of a sandbox, oldest first."""
        ...

    async def remove(self, mark: str) -> bool:
        """Remove one; return whether it was there."""
        ...

    async def remove_of(self, preview_id: PreviewId) -> None:
        """Remove those to one preview."""
        ...

    async def forget(self, before: datetime) -> None:
        """Remove those that ended at `before` or earlier."""
        ...
