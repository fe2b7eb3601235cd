"""Contents of organizations: kept, fetched, verified, forgotten, and collected.

A collection is safe beside contents that are made by other replicas, and after a crash anywhere:

- A blob is named once. A name whose row is gone never comes back, so a deletion that arrives late
  deletes nothing that is needed.
- A blob's row, and its references, come with the content in one transaction; before that, a draft
  protects everything below its id. Writing transactions follow each other, so a blob is either
  referred to before it is doomed, or not found any more.
- A doomed row stays until the bytes are gone: a collection that is killed is finished by the next.
- A blob without a row, below an id that is no draft, is left of one: its content can never come,
  as the draft was there before the blob, and a draft that is gone is not committed.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeVar

import structlog

from atoll.domain.contents.content import (
    DRAFT_LIFE,
    GRACE,
    Collection,
    Content,
    ContentId,
    Verification,
    missing_content,
)
from atoll.domain.errors import AtollError, Failed
from atoll.domain.ids import OrgId
from atoll.ports import Transaction, Vault
from atoll.ports.contents.blobs import Blob, Blobs
from atoll.ports.contents.images import DiskImages
from atoll.ports.contents.sealing import BlobSealer
from atoll.services.contents.organization_keys import OrganizationKeys
from atoll.services.contents.reading import (
    ContentReader,
    Spans,
    fetch_slow,
    parts_damaged,
)
from atoll.services.contents.upload import Then, Tools, Upload
from atoll.services.ground import Ground
from atoll.wire.contents.manifest import Manifest

AT_ONCE: Final = 2
"""The contents that are made or read at once; each takes up to 100 MiB of memory."""
COLLECT_EVERY: Final = timedelta(minutes=30)

FETCH_SECONDS: Final = 60.0
FETCH_RATE: Final = 2 * 2**20
"""A fetch may take so many seconds, and one more for as many bytes."""

_BATCH: Final = 500

T = TypeVar("T")

_log = structlog.get_logger(__name__)


async def forget_content(rows: Transaction, org_id: OrgId, content_id: ContentId) -> None:
    """Remove a content within a transaction; see `Contents.forget`."""
    if await rows.contents.get(org_id, content_id) is not None:
        await rows.contents.remove(content_id)
        await rows.content_blobs.release(content_id)


async def _do_nothing(_rows: Transaction, _content: Content) -> None:
    """Do nothing."""


class Contents:
    """Contents. A content of another organization is missing."""

    def __init__(
        self,
        ground: Ground,
        vault: Vault,
        *,
        blobs: Blobs,
        sealer: BlobSealer,
        images: DiskImages,
    ) -> None:
        self._ground = ground
        self._store = ground.store
        self._keys = OrganizationKeys(ground.store, vault, ground.ids)
        self._blobs = blobs
        self._images = images
        self._tools = Tools(ground, blobs, sealer)
        self._room = asyncio.Semaphore(AT_ONCE)

    async def keep(
        self,
        org_id: OrgId,
        source: Path | int,
        base: ContentId | None = None,
        *,
        then: Then = _do_nothing,
    ) -> Content:
        """Keep an image that does not change meanwhile, by its path or descriptor. What it shares
        with `base`, or with others of the organization, is not stored again. A base that is
        missing, or damaged, only costs room. `then` is called in the transaction in which the
        content comes to be; what it raises is raised. Raises `NotFound`, `Invalid`, `Failed`,
        `LimitReached` and `Unavailable`; then nothing was kept."""
        folder, keys = await self._keys.of(org_id)
        content_id = ContentId(self._ground.ids.new("ct"))
        async with self._room:
            await self._begin(org_id, content_id, base)
            upload = Upload(self._tools, content_id, org_id, folder, keys)
            try:
                manifest, usable = await self._load_base(org_id, content_id, base)
                async with _leave_in_thread(self._images.open(source)) as image:
                    await _ungrouped(upload.take(image, manifest, usable))
                return await upload.commit(then)
            except Exception:
                await self._abandon(content_id)
                raise

    async def find(self, org_id: OrgId, content_id: ContentId) -> Content:
        """Return a content. Raises `NotFound`."""
        async with self._store.read() as rows:
            content = await rows.contents.get(org_id, content_id)
        if content is None:
            raise missing_content(content_id)
        return content

    async def stored(self, org_id: OrgId) -> int:
        """Return the bytes that an organization's contents take together."""
        async with self._store.read() as rows:
            return await rows.content_blobs.stored(org_id)

    async def fetch(self, org_id: OrgId, content_id: ContentId, into: Path) -> Content:
        """Write a content as a sparse file that was not there: whole, or not at all. Raises
        `NotFound`, `Conflict`, `LimitReached`, `Unavailable`, also where it takes longer than its
        size allows, and `Failed` (code `content_damaged`) where it is not as it was kept."""
        reader = await self._reader(org_id, content_id)
        async with self._room:
            most = FETCH_SECONDS + reader.content.data / FETCH_RATE
            try:
                async with asyncio.timeout(most):
                    await self._fetch(reader, into)
            except TimeoutError as error:
                raise fetch_slow(reader.content, most) from error
        return reader.content

    async def _fetch(self, reader: ContentReader, into: Path) -> None:
        damaged: list[str] = []

        async def note(name: str) -> None:
            damaged.append(name)

        manifest = await reader.manifest()
        async with _leave_in_thread(self._images.draft(into)) as draft:

            def write(spans: Spans) -> None:
                for offset, data in spans:
                    draft.write(offset, data)

            await _ungrouped(reader.read(manifest, write, note))
            if damaged:
                await self._distrust(damaged)
                raise parts_damaged(reader.content, damaged)
            await asyncio.to_thread(draft.commit, reader.content.size)

    async def verify(self, org_id: OrgId, content_id: ContentId) -> Verification:
        """Read all of a content, and return which of its blobs are damaged; those are not used
        again for others. Raises `NotFound`, `Unavailable`."""
        reader = await self._reader(org_id, content_id)
        damaged: list[str] = []

        async def note(name: str) -> None:
            damaged.append(name)

        async with self._room:
            try:
                manifest = await reader.manifest()
            except Failed as error:
                if error.code != "content_damaged":
                    raise
                return Verification(content_id, 1, (f"{content_id}/manifest",))
            await _ungrouped(reader.read(manifest, lambda _: None, note))
        await self._distrust(damaged)
        return Verification(content_id, len(manifest.bundles) + 1, tuple(sorted(damaged)))

    async def forget(self, org_id: OrgId, content_id: ContentId) -> None:
        """Remove a content; a later collection deletes what no other needs. Idempotent."""
        async with self._store.begin() as rows:
            await forget_content(rows, org_id, content_id)

    async def collect(self) -> Collection:
        """End abandoned drafts, and delete the blobs that no content has needed for a while. May
        run in several replicas at once. Raises `Unavailable`, `Failed`."""
        now = self._ground.clock.now()
        async with self._store.begin() as rows:
            drafts = await rows.contents.ended_drafts(now)
            for draft in drafts:
                await rows.contents.remove(draft)
                await rows.content_blobs.release(draft)
            await rows.content_blobs.condemn(now)
        count = 0
        while doomed := await self._doom():
            for name in doomed:
                await self._blobs.delete(name)
            async with self._store.begin() as rows:
                await rows.content_blobs.drop(doomed)
            count += len(doomed)
        return Collection(len(drafts), count + await self._sweep())

    async def run(self) -> None:
        """Collect again and again until cancelled; what fails is logged and tried again."""
        while True:
            await self._ground.clock.sleep_until(self._ground.clock.now() + COLLECT_EVERY)
            try:
                collected = await self.collect()
            except AtollError as error:
                _log.warning("contents_not_collected", reason=error.message)
                continue
            if collected != Collection():
                _log.info("contents_collected", drafts=collected.drafts, blobs=collected.blobs)

    async def _begin(self, org_id: OrgId, content_id: ContentId, base: ContentId | None) -> None:
        """Add the draft of a content; it refers to all that its base has, so that stays."""
        until = self._ground.clock.now() + DRAFT_LIFE
        async with self._store.begin() as rows:
            await rows.contents.begin(content_id, org_id, until)
            if base is not None and await rows.contents.get(org_id, base) is not None:
                names = await rows.content_blobs.names(base)
                await rows.content_blobs.refer(content_id, names)

    async def _load_base(
        self, org_id: OrgId, content_id: ContentId, base: ContentId | None
    ) -> tuple[Manifest | None, frozenset[str]]:
        """Return the base's manifest, and those of its blobs that may be used again."""
        if base is None:
            return None, frozenset()
        async with self._store.read() as rows:
            content = await rows.contents.get(org_id, base)
            names = await rows.content_blobs.names(content_id)
        if content is None:
            return None, frozenset()
        folder, keys = await self._keys.of(org_id)
        try:
            manifest = await ContentReader(self._tools, content, folder, keys).manifest()
        except Failed as error:
            _log.warning("base_not_read", content=base, reason=error.message)
            return None, frozenset()
        return manifest, frozenset(name for name, usable in names.items() if usable)

    async def _abandon(self, content_id: ContentId) -> None:
        """Remove the draft of a content that failed. Where that fails, as where the task is
        cancelled, the draft ends by itself."""
        try:
            async with self._store.begin() as rows:
                if content_id in await rows.contents.drafts():
                    await rows.contents.remove(content_id)
                    await rows.content_blobs.release(content_id)
        except AtollError as error:
            _log.warning("draft_not_removed", content=content_id, reason=error.message)

    async def _reader(self, org_id: OrgId, content_id: ContentId) -> ContentReader:
        content = await self.find(org_id, content_id)
        folder, keys = await self._keys.of(org_id)
        return ContentReader(self._tools, content, folder, keys)

    async def _distrust(self, names: list[str]) -> None:
        if names:
            async with self._store.begin() as rows:
                await rows.content_blobs.distrust(names)

    async def _doom(self) -> list[str]:
        async with self._store.begin() as rows:
            return await rows.content_blobs.doom(self._ground.clock.now() - GRACE, _BATCH)

    async def _sweep(self) -> int:
        """Delete the blobs that drafts left which are gone; returns how many."""
        async with self._store.read() as rows:
            folders = [key.folder for key in await rows.content_keys.everything()]
        count = 0
        for folder in folders:
            async for names in _in_batches(self._blobs.list(folder)):
                count += await self._delete_left(names)
        return count

    async def _delete_left(self, names: list[str]) -> int:
        """Delete those of these blobs, which were listed before, that belong to nothing."""
        async with self._store.read() as rows:
            # Drafts first, as each statement sees what was committed before it: one that becomes a
            # content between the two has rows by then.
            drafts = set(await rows.contents.drafts())
            known = await rows.content_blobs.known(names)
        left = [name for name in names if name not in known and _content_of(name) not in drafts]
        for name in left:
            await self._blobs.delete(name)
        return len(left)


async def _in_batches(blobs: AsyncIterator[Blob]) -> AsyncIterator[list[str]]:
    """Yield the names of blobs, some at once."""
    names: list[str] = []
    async for blob in blobs:
        names.append(blob.name)
        if len(names) == _BATCH:
            yield names
            names = []
    if names:
        yield names


def _content_of(name: str) -> ContentId:
    """Return the id of the content, or the draft, for which a blob was made."""
    return ContentId(name.split("/")[1] if "/" in name else "")


@asynccontextmanager
async def _leave_in_thread(context: AbstractContextManager[T]) -> AsyncIterator[T]:
    """Enter a context, and leave it in a thread: there it waits for others that a cancelled task
    has left behind."""
    stack = ExitStack()
    try:
        yield stack.enter_context(context)
    finally:
        await asyncio.to_thread(stack.close)


async def _ungrouped(act: Awaitable[None]) -> None:
    """Await an act whose tasks may fail together; raise the first error."""
    try:
        await act
    except BaseExceptionGroup as errors:
        error: BaseException = errors
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from errors
