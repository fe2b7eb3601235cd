"""Contents come back as they were, and what is there already is not stored again."""

import os
import random
from pathlib import Path

import pytest

from atoll.domain.contents.content import ContentId
from atoll.domain.errors import Conflict, Invalid, LimitReached, NotFound
from atoll.services.contents.organization_keys import rewrap_content_keys
from atoll.services.contents.scan import PIECE_BYTES, WINDOW_BYTES
from atoll.wire.contents import manifest
from tests.services.contents.keeping import ORG, OTHER, changed, image, keeping

SHAPES = {
    "empty": b"",
    "one byte": b"x",
    "zeros": bytes(3 * WINDOW_BYTES),
    "one piece": image(0, rest=PIECE_BYTES),
    "a piece and a byte": image(0, rest=PIECE_BYTES + 1),
    "windows and a rest": image(2, rest=12_345),
    "zeros between": image(1) + bytes(5 * WINDOW_BYTES + 7) + image(1, 2) + bytes(999_999),
    "the same again": image(1) * 4,
    "one letter": b"a" * (2 * WINDOW_BYTES + 3),
    "more than a batch": image(18, rest=1),
}


@pytest.mark.parametrize("data", SHAPES.values(), ids=SHAPES)
async def test_image_comes_back_as_it_was(data: bytes, tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        first = await place.keep(data)
        again = await place.keep(data, first.id)
        for content in (first, again):
            assert await place.fetch(content.id) == data
            assert (await place.contents.verify(ORG, content.id)).is_whole
        assert first.size == len(data) and first.data <= len(data)
        assert await place.contents.find(ORG, first.id) == first


async def test_holes_stay_holes_and_the_descriptor_stays_open(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        path = tmp_path / "sparse"
        path.touch()
        os.truncate(path, 2**36)
        with path.open("r+b") as file:
            for offset in (0, 2**30 + 5, 2**36 - 3):
                file.seek(offset)
                file.write(b"abc")
        descriptor = os.open(path, os.O_RDONLY)
        content = await place.contents.keep(ORG, descriptor)
        assert os.fstat(descriptor).st_size == content.size == 2**36
        os.close(descriptor)
        into = tmp_path / "into"
        await place.contents.fetch(ORG, content.id, into)
        assert into.stat().st_size == 2**36 and into.stat().st_blocks * 512 < 2**20
        assert content.chunks == 3 and content.stored < 2**20
        with into.open("rb") as file:
            for offset in (0, 2**30 + 5, 2**36 - 3):
                file.seek(offset)
                assert file.read(3) == b"abc"


async def test_second_keep_stores_what_changed_alone(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        data = image(16)
        first = await place.keep(data)
        stored = await place.contents.stored(ORG)
        assert first.stored == stored >= len(data)
        other = changed(data, 5 * WINDOW_BYTES, 9 * WINDOW_BYTES + 70_000)
        second = await place.keep(other, first.id)
        # Two pieces of 64 KiB, and the list of parts.
        assert second.stored < 2 * PIECE_BYTES + 32 * 1024
        assert await place.contents.stored(ORG) == stored + second.stored
        assert await place.fetch(second.id) == other
        assert await place.fetch(first.id) == data


async def test_image_without_a_base_shares_whole_windows(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        data = image(8)
        await place.keep(data)
        second = await place.keep(changed(data, 3 * WINDOW_BYTES))
        assert second.stored < WINDOW_BYTES + 32 * 1024
        assert await place.fetch(second.id) == changed(data, 3 * WINDOW_BYTES)


async def test_generations_stay_readable_and_small(tmp_path: Path) -> None:
    """Each of many changes is kept on the one before; what a content keeps alive is bounded."""
    async with keeping(tmp_path) as place:
        draw = random.Random(7)
        data = image(6)
        content = await place.keep(data)
        for _ in range(15):
            offsets = [draw.randrange(len(data)) for _ in range(draw.randrange(1, 12))]
            data = changed(data, *offsets)
            before, content = content, await place.keep(data, content.id)
            await place.contents.forget(ORG, before.id)
            assert await place.fetch(content.id) == data
        await place.contents.collect()
        place.clock.turn(2 * 3600)
        await place.contents.collect()
        assert await place.fetch(content.id) == data
        kept_alive = sum(path.stat().st_size for path in place.blobs.files())
        assert kept_alive <= 2 * len(data) + WINDOW_BYTES
        assert await place.contents.stored(ORG) == kept_alive


async def test_base_that_is_missing_or_foreign_only_costs_room(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        data = image(2)
        foreign = await place.keep(data, org_id=OTHER)
        for base in (ContentId("ct_none"), foreign.id):
            content = await place.keep(data, base)
            assert await place.fetch(content.id) == data
            assert not await place.names(content.id) & await place.names(foreign.id)


async def test_what_is_no_image_leaves_nothing(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        for source, error in ((tmp_path, Invalid), (tmp_path / "absent", NotFound)):
            with pytest.raises(error):
                await place.contents.keep(ORG, source)
        async with place.store.read() as rows:
            assert await rows.contents.drafts() == []
            assert await rows.contents.of(ORG) == []


async def test_image_of_too_many_pieces_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "MAX_PIECES", 3)
    async with keeping(tmp_path) as place:
        with pytest.raises(LimitReached):
            await place.keep(image(1))
        async with place.store.read() as rows:
            assert await rows.contents.drafts() == []
        assert await place.contents.collect() is not None
        assert place.blobs.files() == []


async def test_file_that_is_there_stays(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        content = await place.keep(b"data")
        into = tmp_path / "there"
        into.write_bytes(b"mine")
        with pytest.raises(Conflict):
            await place.contents.fetch(ORG, content.id, into)
        assert into.read_bytes() == b"mine"


async def test_contents_open_under_a_newer_master_key(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        content = await place.keep(image(1))
        place.vault.add()
        async with place.store.begin() as rows:
            await rewrap_content_keys(rows, place.vault)
        place.vault.retire()
        assert await place.fetch(content.id) == image(1)
        assert (await place.keep(image(1))).stored < PIECE_BYTES


async def test_disk_that_is_full_leaves_neither_file_nor_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with keeping(tmp_path) as place:

        async def fill(verb: str, name: str) -> None:
            raise LimitReached("full")

        place.blobs.before = fill
        with pytest.raises(LimitReached):
            await place.keep(image(3))
        async with place.store.read() as rows:
            assert await rows.contents.drafts() == []
        assert place.blobs.files() == []
