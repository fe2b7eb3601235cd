"""Rows of contents: what is kept, the blobs it consists of, and each organization's key.

A blob is referred to by the contents that need it, those that are being made among them. One that
nothing refers to is condemned, then doomed, and its row goes once its bytes are gone.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from atoll.domain.contents.content import Content, ContentId
from atoll.domain.ids import OrgId
from atoll.ports.store.records import Records
from atoll.ports.vault import Sealed


@dataclass(frozen=True, slots=True)
class ContentKey:
    """An organization's secret for its contents, sealed. `folder` holds its blobs; it is random, so
    that two installations with one bucket do not meet."""

    org_id: OrgId
    folder: str
    sealed: Sealed


@dataclass(frozen=True, slots=True)
class ContentBlob:
    """A stored blob of `size` bytes. `digest` is that of the bundle in it, empty where it is not to
    be used again: a manifest, and what was found damaged."""

    name: str
    digest: str
    size: int


class ContentKeyRows(Records[ContentKey, OrgId], Protocol):
    """Keys of contents, by organization."""

    async def everything(self) -> list[ContentKey]:
        """Return all keys."""
        ...


class ContentRows(Protocol):
    """Contents, whole ones and drafts. A draft has an id and an end, and is no content yet."""

    async def begin(self, content_id: ContentId, org_id: OrgId, until: datetime) -> None:
        """Add a draft."""
        ...

    async def renew(self, content_id: ContentId, until: datetime) -> bool:
        """Move the end of a draft; returns whether there is one."""
        ...

    async def commit(self, content: Content) -> bool:
        """Make a draft into this content; returns whether there was one."""
        ...

    async def get(self, org_id: OrgId, content_id: ContentId) -> Content | None:
        """Return a content of this organization; a draft is none."""
        ...

    async def of(self, org_id: OrgId) -> list[Content]:
        """Return the contents of an organization, oldest first."""
        ...

    async def remove(self, content_id: ContentId) -> None:
        """Remove a content or a draft. Its references are `ContentBlobRows.release`'s."""
        ...

    async def ended_drafts(self, now: datetime) -> list[ContentId]:
        """Return the drafts whose end has passed."""
        ...

    async def drafts(self) -> list[ContentId]:
        """Return all drafts."""
        ...


class ContentBlobRows(Protocol):
    """Blobs of contents, and which contents refer to them."""

    async def add(self, org_id: OrgId, blobs: Sequence[ContentBlob]) -> None:
        """Add blobs, whose names are new. They need references in the same transaction."""
        ...

    async def find(self, org_id: OrgId, digests: Collection[str]) -> dict[str, str]:
        """Return names of blobs of this organization by those of these digests that it has. A blob
        that is doomed, or was found damaged, is none."""
        ...

    async def names(self, content_id: ContentId) -> dict[str, bool]:
        """Return the names of the blobs that a content refers to, and whether each may be used
        again: it was not found damaged."""
        ...

    async def refer(self, content_id: ContentId, names: Collection[str]) -> None:
        """Add references to blobs, which are neither doomed nor condemned from now on. One that is
        there already is no error."""
        ...

    async def release(self, content_id: ContentId, names: Collection[str] | None = None) -> None:
        """Remove references of a content, all of them without names."""
        ...

    async def distrust(self, names: Collection[str]) -> None:
        """Note that blobs are damaged, so that no other content will use them."""
        ...

    async def condemn(self, now: datetime) -> None:
        """Condemn the blobs that nothing refers to."""
        ...

    async def doom(self, before: datetime, limit: int) -> list[str]:
        """Doom blobs that were condemned before, and that nothing refers to; returns the names of
        doomed blobs, at most so many. Nothing can refer to them any more."""
        ...

    async def drop(self, names: Collection[str]) -> None:
        """Remove the rows of doomed blobs, whose bytes are gone."""
        ...

    async def known(self, names: Collection[str]) -> set[str]:
        """Return those of these names that have a row."""
        ...

    async def stored(self, org_id: OrgId) -> int:
        """Return the bytes that the blobs of an organization take."""
        ...
