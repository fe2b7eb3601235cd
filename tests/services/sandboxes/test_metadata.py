"""Metadata documents follow the sandboxes they are about, whatever the disk does."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from atoll.adapters.storage.store import Settings, open_store
from atoll.domain.errors import Failed, Unavailable
from atoll.domain.ids import SandboxId
from atoll.ports import Store
from atoll.services.sandboxes.metadata import Metadata
from atoll.testing import FakeMetadataFiles
from atoll.testing.samples import sandbox
from atoll.wire.words.sandboxes import State
from tests.peers.databases.chosen import database_url

BOX = sandbox("box")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(Settings(database_url(tmp_path))) as opened:
        yield opened


@asynccontextmanager
async def running(store: Store, files: FakeMetadataFiles) -> AsyncIterator[Metadata]:
    metadata = Metadata(store, files)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(metadata.run())
        await asyncio.sleep(0)  # it runs: what is noted before is found in the store
        yield metadata
        task.cancel()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - a document is a value, which wakes nobody
            await asyncio.sleep(0)


def state(files: FakeMetadataFiles) -> str | None:
    document = files.documents.get(BOX.id)
    return None if document is None else str(json.loads(document)["state"])


async def test_start_writes_what_lives_and_forgets_what_does_not(store: Store) -> None:
    async with store.begin() as rows:
        await rows.sandboxes.insert(BOX)
    files = FakeMetadataFiles({SandboxId("sb_gone"): b"{}", BOX.id: b"stale"})
    async with running(store, files):
        await until(lambda: files.documents.keys() == {BOX.id})
        await until(lambda: files.documents[BOX.id] != b"stale")
    assert state(files) == "ready"


async def test_later_state_is_the_one_written_whatever_the_order(store: Store) -> None:
    files = FakeMetadataFiles()
    later = replace(BOX, state=State.STOPPED, updated_at=BOX.updated_at + timedelta(seconds=1))
    async with running(store, files) as metadata:
        metadata.note(later)
        metadata.note(BOX)
        await until(lambda: bool(files.documents))
    assert state(files) == "stopped"


async def test_destroyed_sandbox_has_no_document(store: Store) -> None:
    files = FakeMetadataFiles()
    async with running(store, files) as metadata:
        metadata.note(BOX)
        await until(lambda: bool(files.documents))
        metadata.note(replace(BOX, state=State.DESTROYED))
        await until(lambda: not files.documents)


async def test_full_disk_ends_nothing_and_the_next_change_is_written(store: Store) -> None:
    files = FakeMetadataFiles(failure=Failed("The disk is full."))
    async with running(store, files) as metadata:
        metadata.note(BOX)
        await until(lambda: files.refused >= 2)  # its list at the start, then the document
        assert not files.documents
        files.failure = None
        metadata.note(replace(BOX, state=State.STOPPED))
        await until(lambda: state(files) == "stopped")


async def test_second_run_knows_only_what_is_stored(store: Store) -> None:
    """What was noted while another control plane wrote the documents is old by then."""
    gone = replace(BOX, id=SandboxId("sb_gone"), state=State.DESTROYING)
    files = FakeMetadataFiles({})
    async with store.begin() as rows:
        await rows.sandboxes.insert(BOX)
    async with running(store, files) as metadata:
        await until(lambda: state(files) == "ready")
    metadata.note(gone)
    files.documents[gone.id] = b"{}"
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(metadata.run())
        await until(lambda: files.documents.keys() == {BOX.id})
        metadata.note(replace(BOX, state=State.ACTIVE, updated_at=BOX.updated_at))
        await until(lambda: state(files) == "active")
        assert files.documents.keys() == {BOX.id}
        task.cancel()


async def test_store_that_is_away_at_first_is_compared_later(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atoll.services.sandboxes.metadata.AGAIN_SECONDS", 0)
    files, tried = FakeMetadataFiles({SandboxId("sb_gone"): b"{}"}), 0
    plain = Metadata._compare

    async def compare(self: Metadata, files: FakeMetadataFiles) -> None:
        nonlocal tried
        tried += 1
        if tried == 1:
            raise Unavailable("away")
        await plain(self, files)

    monkeypatch.setattr(Metadata, "_compare", compare)
    async with running(store, files):
        await until(lambda: not files.documents)
    assert tried == 2
