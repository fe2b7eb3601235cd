"""Whatever is changed where contents lie is found before a byte of it is handed out."""

import random
from pathlib import Path

import pytest

from atoll.domain.contents.content import ContentId
from atoll.domain.errors import Failed, NotFound
from tests.services.contents.keeping import ORG, OTHER, Keeping, changed, image, keeping


async def check_refused(place: Keeping, content_id: ContentId, name: str) -> None:
    """Check that a content is refused because of one blob, and that nothing was written."""
    with pytest.raises(Failed) as caught:
        await place.fetch(content_id)
    assert caught.value.code == "content_damaged"
    assert content_id in caught.value.message and str(place.folder) not in caught.value.message
    assert list(place.folder.glob("fetched-*")) == []
    verification = await place.contents.verify(ORG, content_id)
    assert [damaged.rpartition("/")[2] for damaged in verification.damaged] == [name]


@pytest.mark.parametrize("change", ["bit", "short", "long", "gone", "empty"])
async def test_each_changed_blob_is_refused(change: str, tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        data, draw = image(3, rest=10), random.Random(3)
        content = await place.keep(data)
        files = place.blobs.files()
        assert len(files) == 5
        for path in files:
            whole = path.read_bytes()
            match change:
                case "bit":
                    path.write_bytes(changed(whole, draw.randrange(len(whole))))
                case "short":
                    path.write_bytes(whole[:-1])
                case "long":
                    path.write_bytes(whole + b"\0")
                case "empty":
                    path.write_bytes(b"")
                case _:
                    path.unlink()
            await check_refused(place, content.id, path.name)
            path.write_bytes(whole)
        assert await place.fetch(content.id) == data


async def test_blobs_that_are_exchanged_are_refused(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        content = await place.keep(image(2))
        one, two, _ = place.blobs.files()
        first, second = one.read_bytes(), two.read_bytes()
        one.write_bytes(second)
        two.write_bytes(first)
        with pytest.raises(Failed, match="2 of its parts"):
            await place.fetch(content.id)


async def test_list_of_parts_of_another_content_is_refused(tmp_path: Path) -> None:
    """An older state is not handed out as a newer one, nor a foreign one as mine."""
    async with keeping(tmp_path) as place:
        old, new = await place.keep(image(1, 1)), await place.keep(image(1, 2))
        foreign = await place.keep(image(1, 3), org_id=OTHER)
        lists = {path.parent.name: path for path in place.blobs.files() if path.name == "manifest"}
        for other in (old.id, foreign.id):
            lists[new.id].write_bytes(lists[other].read_bytes())
            await check_refused(place, new.id, "manifest")


async def test_damaged_blob_is_stored_again_and_never_shared(tmp_path: Path) -> None:
    """Its digest is cleared: a manifest has none either, and neither is found by it."""
    async with keeping(tmp_path) as place:
        data = image(3)
        content = await place.keep(data)
        victim = place.blobs.files()[0]
        victim.write_bytes(changed(victim.read_bytes(), 100))
        damaged = (await place.contents.verify(ORG, content.id)).damaged
        async with place.store.read() as rows:
            assert await rows.content_blobs.find(ORG, {""}) == {}
            usable = await rows.content_blobs.names(content.id)
        assert [name for name, is_usable in usable.items() if not is_usable] == sorted(
            [*damaged, next(name for name in usable if name.endswith("/manifest"))]
        )
        for base in (content.id, None):
            again = await place.keep(data, base)
            assert not await place.names(again.id) & set(damaged)
            assert await place.fetch(again.id) == data
        with pytest.raises(Failed):
            await place.fetch(content.id)


async def test_base_whose_list_of_parts_is_damaged_only_costs_room(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        base = await place.keep(image(2))
        parts = next(path for path in place.blobs.files() if path.name == "manifest")
        parts.unlink()
        again = await place.keep(changed(image(2), 5), base.id)
        assert await place.fetch(again.id) == changed(image(2), 5)


async def test_content_of_another_organization_is_like_a_missing_one(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        content = await place.keep(image(1))
        await place.keep(image(1), org_id=OTHER)
        for act in (place.contents.verify, place.contents.find, lambda o, i: place.fetch(i, o)):
            texts = []
            for content_id in (content.id, ContentId("ct_none")):
                with pytest.raises(NotFound) as caught:
                    await act(OTHER, content_id)
                texts.append(caught.value.message.replace(content_id, "ID"))
            assert texts[0] == texts[1]
        await place.contents.forget(OTHER, content.id)
        assert await place.fetch(content.id) == image(1)


async def test_organizations_share_no_blob_no_digest_and_no_folder(tmp_path: Path) -> None:
    """Of the same bytes both store everything, so neither learns what the other has."""
    async with keeping(tmp_path) as place:
        mine = await place.keep(image(4))
        theirs = await place.keep(image(4), org_id=OTHER)
        assert theirs.stored >= len(image(4)) and mine.stored >= len(image(4))
        assert not await place.names(mine.id) & await place.names(theirs.id)
        async with place.store.read() as rows:
            keys = await rows.content_keys.everything()
        assert len({key.folder for key in keys}) == 2
        bodies = [path.read_bytes() for path in place.blobs.files()]
        assert len(set(bodies)) == len(bodies)


async def test_nothing_readable_lies_in_the_store(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        await place.keep(b"canary " * 100_000)
        assert all(b"canary" not in path.read_bytes() for path in place.blobs.files())
