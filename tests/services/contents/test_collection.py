"""Collections beside contents that are made, and after crashes."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from atoll.adapters.storage.contents import SqlContentBlobRows, SqlContentRows
from atoll.domain.contents.content import DRAFT_LIFE, GRACE, Collection, ContentId
from atoll.domain.errors import AtollError, NotFound, Unavailable
from tests.services.contents.keeping import ORG, Keeping, changed, image, keeping

GRACE_SECONDS = GRACE.total_seconds()
DRAFT_SECONDS = DRAFT_LIFE.total_seconds()


async def collect_all(place: Keeping) -> None:
    """Collect until nothing that is unneeded can be left."""
    for _ in range(3):
        await place.contents.collect()
        place.clock.turn(GRACE_SECONDS + DRAFT_SECONDS + 1)
    await place.contents.collect()


async def test_content_that_was_forgotten_is_deleted_after_a_while(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        data = image(2)
        content = await place.keep(data)
        newer = await place.keep(changed(data, 5), content.id)
        await place.contents.forget(ORG, content.id)
        await place.contents.forget(ORG, content.id)
        with pytest.raises(NotFound):
            await place.fetch(content.id)
        before = len(place.blobs.files())
        assert await place.contents.collect() == Collection()
        place.clock.turn(GRACE_SECONDS - 1)
        assert await place.contents.collect() == Collection()
        place.clock.turn(2)
        # The list of parts, alone: the newer one needs both bundles.
        assert await place.contents.collect() == Collection(0, 1)
        assert len(place.blobs.files()) == before - 1
        assert await place.fetch(newer.id) == changed(data, 5)
        await place.contents.forget(ORG, newer.id)
        await collect_all(place)
        assert place.blobs.files() == [] and await place.contents.stored(ORG) == 0


@pytest.mark.parametrize("step", range(6))
async def test_collection_at_each_step_of_a_keep_takes_nothing_it_refers_to(
    step: int, tmp_path: Path
) -> None:
    """What the keep found was forgotten an hour ago, and is collected at that moment."""
    async with keeping(tmp_path) as place:
        data = image(18)
        old = await place.keep(data)
        await place.contents.forget(ORG, old.id)
        await place.contents.collect()
        place.clock.turn(GRACE_SECONDS + 1)
        count = 0

        async def collect(verb: str, _name: str) -> None:
            nonlocal count
            if verb == "put":
                if count == step:
                    await place.contents.collect()
                count += 1

        place.blobs.before = collect
        new = changed(data, *(number * 4 * 2**20 for number in range(5)))
        content = await place.keep(new)
        assert count > step
        await place.contents.collect()
        assert await place.fetch(content.id) == new


async def test_content_that_is_committed_in_the_midst_of_a_sweep_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the two questions of a sweep: whose rows there are, and which drafts."""
    async with keeping(tmp_path) as place:
        data = image(1)
        stored, commits = asyncio.Event(), asyncio.Event()

        async def hold(verb: str, name: str) -> None:
            if verb == "put" and name.endswith("/manifest"):
                stored.set()
                await commits.wait()

        place.blobs.after = hold
        async with asyncio.TaskGroup() as tasks:
            kept = tasks.create_task(place.keep(data))
            await stored.wait()
            for rows, question in ((SqlContentBlobRows, "known"), (SqlContentRows, "drafts")):
                plain = getattr(rows, question)

                async def answered(
                    *about: Any, plain: Callable[..., Awaitable[Any]] = plain
                ) -> Any:
                    answer = await plain(*about)
                    commits.set()
                    await kept
                    return answer

                monkeypatch.setattr(rows, question, answered)
            await place.contents.collect()
        monkeypatch.undo()
        assert await place.fetch(kept.result().id) == data


@dataclass
class Churn:
    """Contents that come and go at random. `left` are those that are there, by their bytes."""

    place: Keeping
    draw: random.Random
    left: dict[ContentId, bytes] = field(default_factory=dict)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, source: Path) -> None:
        """Keep some images, and forget some."""
        for _ in range(6):
            await self.keep(source)
            if len(self.left) > 3:
                gone = self.draw.choice(list(self.left))
                del self.left[gone]
                await self.place.contents.forget(ORG, gone)

    async def keep(self, source: Path) -> None:
        """Keep an image that is nearly another one."""
        data = changed(image(2, self.draw.randrange(2)), self.draw.randrange(2 * 2**20))
        source.write_bytes(data)
        base = self.draw.choice([None, *self.left])
        with suppress(Unavailable):  # the hours that pass may end its draft
            content = await self.place.contents.keep(ORG, source, base)
            self.left[content.id] = data

    async def collect(self) -> None:
        """Collect until the others are done."""
        while not self.done.is_set():
            await self.place.contents.collect()

    async def pass_time(self, verb: str, _name: str) -> None:
        """Turn the clock when a blob is stored."""
        if verb == "put":
            self.place.clock.turn(self.draw.choice((0, 60, 900)))


async def test_collections_beside_keeps_take_nothing_that_is_needed(tmp_path: Path) -> None:
    """Contents come and go while two replicas collect; all that is left is whole."""
    async with keeping(tmp_path) as place:
        churn = Churn(place, random.Random(11))
        place.blobs.before = churn.pass_time
        async with asyncio.TaskGroup() as tasks:
            for _ in range(2):
                tasks.create_task(churn.collect())
            await asyncio.gather(*(churn.run(tmp_path / f"source-{number}") for number in "123"))
            churn.done.set()
        assert churn.left
        await collect_all(place)
        for content_id, data in churn.left.items():
            assert await place.fetch(content_id) == data
            await place.contents.forget(ORG, content_id)
        await collect_all(place)
        assert place.blobs.files() == []


@pytest.mark.parametrize("name", ["0", "2", "manifest"])
async def test_crash_between_a_blob_and_its_row_leaves_what_is_collected(
    name: str, tmp_path: Path
) -> None:
    async with keeping(tmp_path) as place:
        stays = await place.keep(image(1, 9))
        files = place.blobs.files()
        stored = asyncio.Event()

        async def hang(_verb: str, blob: str) -> None:
            if blob.endswith(f"/{name}"):
                stored.set()
                await asyncio.Event().wait()

        place.blobs.after = hang
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(place.keep(image(3) + image(1, 9)))
            await stored.wait()
            task.cancel()
        async with place.store.read() as rows:
            assert await rows.contents.of(ORG) == [stays]
            assert len(await rows.contents.drafts()) == 1
        assert len(place.blobs.files()) > len(files)
        assert await place.contents.collect() == Collection()
        place.clock.turn(DRAFT_SECONDS + 1)
        collection = await place.contents.collect()
        assert collection.drafts == 1 and collection.blobs >= 1
        assert place.blobs.files() == files
        assert await place.fetch(stays.id) == image(1, 9)


async def test_keep_whose_draft_ended_is_refused_and_nothing_is_half_kept(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:

        async def sleep(_verb: str, name: str) -> None:
            if name.endswith("/manifest"):
                place.clock.turn(DRAFT_SECONDS + 1)
                await place.contents.collect()

        place.blobs.before = sleep
        with pytest.raises(Unavailable):
            await place.keep(image(2))
        place.blobs.before = place.blobs.after
        async with place.store.read() as rows:
            assert await rows.contents.of(ORG) == []
            assert await rows.contents.drafts() == []
        await place.contents.collect()
        assert place.blobs.files() == []


async def test_collection_that_was_killed_is_finished_by_the_next(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        content = await place.keep(image(3))
        await place.contents.forget(ORG, content.id)
        await place.contents.collect()
        place.clock.turn(GRACE_SECONDS + 1)

        async def die(verb: str, _name: str) -> None:
            if verb == "delete" and len(place.blobs.files()) == 2:
                raise Unavailable("killed")

        place.blobs.before = die
        with pytest.raises(Unavailable):
            await place.contents.collect()
        place.blobs.before = place.blobs.after
        # What is doomed is stored anew, under other names.
        again = await place.keep(image(3))
        await place.contents.collect()
        assert await place.fetch(again.id) == image(3)
        assert len(place.blobs.files()) == 4


async def test_blobs_of_other_writers_stay(tmp_path: Path) -> None:
    """In a bucket that others use, only the folders of this installation are looked at."""
    async with keeping(tmp_path) as place:
        await place.keep(b"x")
        await place.blobs.put("others/ct_1/0", b"theirs")
        await collect_all(place)
        assert await place.blobs.get("others/ct_1/0") == b"theirs"


async def test_collections_go_on_after_one_that_failed(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        content = await place.keep(b"x")
        await place.contents.forget(ORG, content.id)
        failures: list[AtollError] = [Unavailable("away")]

        async def fail(_verb: str, _name: str) -> None:
            if failures:
                raise failures.pop()
            deleted.set()

        deleted = asyncio.Event()
        place.blobs.before = fail
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(place.contents.run())
            async with asyncio.timeout(60):
                while not deleted.is_set():
                    await asyncio.sleep(0)
                    place.clock.turn(600)
            task.cancel()
