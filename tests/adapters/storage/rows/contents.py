"""Checks of the rows of contents, their blobs and their keys."""

from datetime import UTC, datetime, timedelta

from atoll.domain.contents.content import Content, ContentId
from atoll.domain.ids import OrgId
from atoll.ports import Store
from atoll.ports.store.contents import ContentBlob, ContentKey
from atoll.ports.vault import Sealed

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
ORG, OTHER = OrgId("org_a"), OrgId("org_b")
ONE, TWO = ContentId("ct_1"), ContentId("ct_2")


def content(content_id: ContentId, org_id: OrgId = ORG, *, minutes: int = 0) -> Content:
    at = NOW + timedelta(minutes=minutes)
    return Content(content_id, org_id, 10, 9, 8, 7, at)


def blob(name: str, digest: str = "") -> ContentBlob:
    return ContentBlob(name, digest or f"d-{name}", 100)


async def check_content_is_there_from_its_commit_until_it_is_removed(store: Store) -> None:
    """A draft is no content; of another organization it is absent; newer ones come later."""
    async with store.begin() as rows:
        await rows.contents.begin(ONE, ORG, NOW + HOUR)
        await rows.contents.begin(TWO, ORG, NOW + HOUR)
        assert await rows.contents.get(ORG, ONE) is None
        assert set(await rows.contents.drafts()) == {ONE, TWO}
    async with store.begin() as rows:
        assert await rows.contents.commit(content(TWO, minutes=5))
        assert await rows.contents.commit(content(ONE))
        assert not await rows.contents.commit(content(ONE))
        assert not await rows.contents.commit(content(ContentId("ct_none")))
    async with store.read() as rows:
        assert await rows.contents.get(ORG, ONE) == content(ONE)
        assert await rows.contents.get(OTHER, ONE) is None
        assert await rows.contents.of(ORG) == [content(ONE), content(TWO, minutes=5)]
        assert await rows.contents.of(OTHER) == []
        assert await rows.contents.drafts() == []
    async with store.begin() as rows:
        await rows.contents.remove(ONE)
        await rows.contents.remove(ONE)
        assert await rows.contents.of(ORG) == [content(TWO, minutes=5)]


async def check_draft_ends_unless_it_is_renewed(store: Store) -> None:
    """A content does not end, and cannot be renewed."""
    async with store.begin() as rows:
        await rows.contents.begin(ONE, ORG, NOW + HOUR)
        await rows.contents.begin(TWO, ORG, NOW + HOUR)
        await rows.contents.commit(content(TWO))
        assert await rows.contents.ended_drafts(NOW + HOUR) == []
        assert await rows.contents.ended_drafts(NOW + 2 * HOUR) == [ONE]
        assert await rows.contents.renew(ONE, NOW + 3 * HOUR)
        assert not await rows.contents.renew(TWO, NOW + 3 * HOUR)
        assert not await rows.contents.renew(ContentId("ct_none"), NOW)
        assert await rows.contents.ended_drafts(NOW + 2 * HOUR) == []


async def check_blobs_are_found_by_digest_in_their_organization(store: Store) -> None:
    """By many digests at once; a damaged one is not found, nor any by no digest."""
    many = [blob(f"a/{number}") for number in range(1200)]
    async with store.begin() as rows:
        await rows.content_blobs.add(ORG, many)
        await rows.content_blobs.add(OTHER, [blob("b/0", "d-a/0"), blob("b/1", "d-b/1")])
        await rows.content_blobs.refer(ONE, [one.name for one in many])
        found = await rows.content_blobs.find(ORG, [one.digest for one in many] + ["d-b/1", ""])
        assert found == {one.digest: one.name for one in many}
        assert await rows.content_blobs.find(ORG, []) == {}
        assert await rows.content_blobs.names(ONE) == {one.name: True for one in many}
        assert await rows.content_blobs.stored(ORG) == 120_000
        assert await rows.content_blobs.stored(OrgId("org_none")) == 0
        await rows.content_blobs.distrust(["a/0"])
        assert await rows.content_blobs.find(ORG, ["d-a/0", "d-a/1", ""]) == {"d-a/1": "a/1"}
        assert (await rows.content_blobs.names(ONE))["a/0"] is False
        assert await rows.content_blobs.known(["a/0", "b/0", "c/0"]) == {"a/0", "b/0"}


async def check_blob_without_references_is_condemned_doomed_and_dropped(store: Store) -> None:
    """One that somebody refers to meanwhile is neither; a doomed one is not found again."""
    async with store.begin() as rows:
        rest = rows.content_blobs
        await rest.add(ORG, [blob("a/1"), blob("a/2"), blob("a/3")])
        await rest.refer(ONE, ["a/1", "a/2", "a/3"])
        await rest.refer(TWO, ["a/3"])
        await rest.condemn(NOW)
        assert await rest.doom(NOW + HOUR, 10) == []
        await rest.release(ONE)
        await rest.condemn(NOW)
        await rest.condemn(NOW + HOUR)
        assert await rest.doom(NOW, 10) == []
        await rest.refer(TWO, ["a/2", "a/2"])
        await rest.drop(["a/1"])
        assert await rest.known(["a/1"]) == {"a/1"}
        assert await rest.doom(NOW + HOUR, 10) == ["a/1"]
        assert await rest.doom(NOW + HOUR, 10) == ["a/1"]
        assert await rest.find(ORG, ["d-a/1", "d-a/2"]) == {"d-a/2": "a/2"}
        await rest.release(TWO, ["a/2"])
        assert await rest.names(TWO) == {"a/3": True}
        await rest.condemn(NOW)
        assert await rest.doom(NOW + HOUR, 1) == ["a/1"]
        await rest.drop(["a/1", "a/3"])
        assert await rest.known(["a/1", "a/2", "a/3"]) == {"a/2", "a/3"}


async def check_content_keys_are_kept(store: Store) -> None:
    """One for each organization."""
    key = ContentKey(ORG, "c_1", Sealed("k1", b"\0key", b"\xff"))
    async with store.begin() as rows:
        assert await rows.content_keys.get(ORG) is None
        await rows.content_keys.put(key)
        await rows.content_keys.put(key)
        assert await rows.content_keys.get(ORG) == key
        assert await rows.content_keys.get(OTHER) is None
        assert await rows.content_keys.everything() == [key]
