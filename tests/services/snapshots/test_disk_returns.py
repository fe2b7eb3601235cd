"""Disks that come back for sandboxes that are to begin as them: when, once, whole or not at all."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.domain.errors import AtollError, Conflict, Failed, LimitReached, NotFound, Unavailable
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.services.contents import contents
from atoll.services.contents.disk_orders import DiskOrders
from atoll.services.contents.disk_returns import DiskReturns
from atoll.wire.words.sandboxes import SnapshotState
from tests.services.contents.keeping import changed
from tests.services.snapshots.exporting import DATA, Exporting, exporting


async def bring(s: Exporting) -> list[str]:
    """Bring the disk of a sandbox; return the lines that were reported."""
    said: list[str] = []
    await s.returns.bring_for(s.copy(), said.append)
    return said


def watch_reads(s: Exporting) -> list[str]:
    """Note the names of the blobs that are read from now on."""
    reads: list[str] = []

    async def note(verb: str, name: str) -> None:
        if verb == "get":
            reads.append(name)

    s.place.blobs.before = note
    return reads


async def test_sandbox_gets_a_disk_that_this_machine_never_had(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        await s.exports.export(LOCAL_PERSON, "one")
        s.lose()
        assert await bring(s) == ["Fetching snapshot one from the contents."]
        assert s.brought() == DATA
        s.check_nothing_left()


async def test_disk_that_is_here_is_not_fetched(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        await s.exports.export(LOCAL_PERSON, "one")
        reads = watch_reads(s)
        assert await bring(s) == []
        await s.exports.bring_back(LOCAL_PERSON, "one")
        assert reads == []


async def test_many_sandboxes_at_once_have_it_fetched_once(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        await s.exports.export(LOCAL_PERSON, "one")
        s.lose()
        reads = watch_reads(s)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(20):
                tasks.create_task(bring(s))
        assert s.brought() == DATA
        assert len(reads) == len(set(reads)) > 0
        s.check_nothing_left()


@pytest.mark.parametrize("which", range(3))
async def test_one_changed_bit_is_refused_and_nothing_is_half_made(
    which: int, tmp_path: Path
) -> None:
    """In a bundle, or in the list of parts; and what is mended comes."""
    async with exporting(tmp_path) as s:
        await s.exports.export(LOCAL_PERSON, "one")
        s.lose()
        files = s.place.blobs.files()
        path = files[which % len(files)]
        whole = path.read_bytes()
        path.write_bytes(changed(whole, len(whole) // 2))
        with pytest.raises(Failed) as caught:
            await bring(s)
        assert caught.value.code == "content_damaged"
        assert "another snapshot" in caught.value.message
        assert list(s.disks.kept.iterdir()) == []
        s.check_nothing_left()
        path.write_bytes(whole)
        await bring(s)
        assert s.brought() == DATA


async def test_snapshot_that_is_nowhere_is_refused_with_what_to_do(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        s.lose()
        with pytest.raises(Conflict) as caught:
            await bring(s)
        assert caught.value.code == "snapshot_elsewhere"
        assert f"`atoll snapshot export {s.snapshot.id}`" in caught.value.message
        assert "content_store" not in caught.value.message
        s.check_nothing_left()


async def test_server_with_contents_of_its_own_says_that_they_are_the_reason(
    tmp_path: Path,
) -> None:
    async with exporting(tmp_path, shared=False) as s:
        (s.disks.kept / s.snapshot.id).rename(tmp_path / "elsewhere")
        with pytest.raises(Conflict, match="`content_store` names a place that all reach"):
            await bring(s)
        (tmp_path / "elsewhere").rename(s.disks.kept / s.snapshot.id)
        await s.exports.export(LOCAL_PERSON, "one")
        s.lose()
        # What another server keeps in its own home is not here.
        for path in s.place.blobs.files():
            path.unlink()
        with pytest.raises(Failed, match="`content_store` names a place that all reach"):
            await bring(s)
        s.check_nothing_left()


async def test_disk_without_room_for_it_gets_nothing(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        await s.exports.export(LOCAL_PERSON, "one")
        s.lose()
        reads = watch_reads(s)
        s.disks.free = 2 * len(DATA) - 1
        with pytest.raises(LimitReached):
            await bring(s)
        assert reads == []
        s.disks.free += 1
        await bring(s)
        assert s.brought() == DATA


@pytest.mark.parametrize("data", [DATA, b""])
async def test_machine_without_disks_refuses_before_a_byte_is_fetched(
    data: bytes, tmp_path: Path
) -> None:
    """An import, and a sandbox that is to begin; also of what needs no room."""
    async with exporting(tmp_path) as s:
        (s.disks.kept / s.snapshot.id).write_bytes(data)
        await s.exports.export(LOCAL_PERSON, "one")
        s.lose()
        s.disks.images = False
        reads, said = watch_reads(s), list[str]()
        with pytest.raises(Conflict, match="plain folders"):
            await s.exports.bring_back(LOCAL_PERSON, "one")
        with pytest.raises(Conflict, match="plain folders"):
            await s.returns.bring_for(s.copy(), said.append)
        assert (reads, said) == ([], [])
        assert list(s.disks.kept.iterdir()) == []
        s.check_nothing_left()


async def test_fetch_that_is_cut_leaves_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        await s.exports.export(LOCAL_PERSON, "one")
        s.lose()
        begun = asyncio.Event()

        async def hang(verb: str, _name: str) -> None:
            begun.set()
            await asyncio.Event().wait()

        s.place.blobs.before = hang
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(bring(s))
            await begun.wait()
            first.cancel()
        assert first.cancelled()
        s.check_nothing_left()
        assert list(s.disks.kept.iterdir()) == []
        s.place.blobs.before = s.place.blobs.after
        await bring(s)
        assert s.brought() == DATA


async def test_fetch_that_takes_too_long_ends_leaves_nothing_and_the_next_one_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with exporting(tmp_path) as s:
        await s.exports.export(LOCAL_PERSON, "one")
        s.lose()
        ended: list[str] = []

        async def hang(_verb: str, name: str) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(name)

        s.place.blobs.before = hang
        with monkeypatch.context() as patch:
            patch.setattr(contents, "FETCH_SECONDS", 0.01)
            patch.setattr(contents, "FETCH_RATE", len(DATA) * 100)
            with pytest.raises(Unavailable, match=r"not fetched within 0 s.*3\.0 MiB.*try again"):
                await bring(s)
        assert len(ended) == 1
        s.check_nothing_left()
        assert list(s.disks.kept.iterdir()) == []
        # Also one whose parts had begun to come.
        reads = 0

        async def hang_later(verb: str, name: str) -> None:
            nonlocal reads
            reads += 1
            if reads > 2:
                await hang(verb, name)

        s.place.blobs.before = hang_later
        with monkeypatch.context() as patch:
            patch.setattr(contents, "FETCH_SECONDS", 0.3)
            with pytest.raises(Unavailable):
                await bring(s)
        assert reads > 2
        s.check_nothing_left()
        s.place.blobs.before = s.place.blobs.after
        await bring(s)
        assert s.brought() == DATA


async def test_time_of_a_fetch_grows_with_its_size_and_not_with_who_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two are fetched at once; the third begins later, and its time with it."""
    async with exporting(tmp_path) as s:
        done = await s.exports.export(LOCAL_PERSON, "one")
        assert done.export is not None
        free, begun = asyncio.Event(), asyncio.Event()

        async def hang(_verb: str, _name: str) -> None:
            begun.set()
            await free.wait()

        s.place.blobs.before = hang
        org, content = done.org_id, done.export.content
        async with asyncio.TaskGroup() as tasks:
            for number in range(contents.AT_ONCE):
                tasks.create_task(s.place.contents.fetch(org, content, tmp_path / f"to{number}"))
            await begun.wait()
            monkeypatch.setattr(contents, "FETCH_SECONDS", 0.2)
            last = tasks.create_task(s.place.contents.fetch(org, content, tmp_path / "last"))
            await asyncio.wait({last}, timeout=0.1)
            free.set()
        assert (tmp_path / "last").read_bytes() == DATA


async def test_store_that_is_away_is_told_and_tried_again(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        await s.exports.export(LOCAL_PERSON, "one")
        s.lose()

        async def refuse(_verb: str, _name: str) -> None:
            raise Unavailable("the bucket does not answer")

        s.place.blobs.before = refuse
        with pytest.raises(Unavailable):
            await bring(s)
        s.check_nothing_left()
        s.place.blobs.before = s.place.blobs.after
        await bring(s)
        assert s.brought() == DATA


async def test_what_is_not_this_machines_to_bring_is_left_to_its_backend(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        s.lose()
        other = replace(s.copy().profile, extension="ext.other")
        for copy in (
            replace(s.copy(), seed=None),
            replace(s.copy(), profile=other),
        ):
            await s.returns.bring_for(copy, pytest.fail)
        for row in (replace(s.snapshot, state=SnapshotState.REMOVING), None):
            async with s.place.store.begin() as rows:
                if row is None:
                    await rows.snapshots.remove(s.snapshot.id)
                else:
                    await rows.snapshots.put(row)
            await s.returns.bring_for(s.copy(), pytest.fail)
        await DiskReturns(s.ground, None, DiskOrders(s.ground)).bring_for(s.copy(), pytest.fail)


async def test_snapshot_that_is_removed_meanwhile_does_not_come(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        await s.exports.export(LOCAL_PERSON, "one")
        s.lose()

        async def remove(_verb: str, _name: str) -> None:
            async with s.place.store.begin() as rows:
                await rows.snapshots.remove(s.snapshot.id)

        s.place.blobs.before = remove
        with pytest.raises(NotFound):
            await bring(s)
        assert list(s.disks.kept.iterdir()) == []
        s.check_nothing_left()


async def test_content_of_another_organization_does_not_come(tmp_path: Path) -> None:
    """Also where a row names it: its keys are another's."""
    async with exporting(tmp_path) as s:
        foreign = await s.place.keep(DATA)
        done = await s.exports.export(LOCAL_PERSON, "one")
        s.lose()
        assert done.export is not None and foreign.org_id != done.org_id
        async with s.place.store.begin() as rows:
            await rows.snapshots.put(replace(done, export=replace(done.export, content=foreign.id)))
        with pytest.raises(AtollError) as caught:
            await bring(s)
        assert isinstance(caught.value, NotFound)
        assert list(s.disks.kept.iterdir()) == []
