"""The contract of an Extension that keeps snapshots: its promise, tried.

Subclass `KeepsSnapshotsContract` beside `ReachableContract`, with the same fixtures.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from atoll.domain.errors import AtollError, Unavailable
from atoll.domain.ids import SandboxId, SnapshotId, spell
from atoll.domain.snapshots.promise import SnapshotPromise
from atoll.ports.extension import Examines, Extension, Handle, KeepsSnapshots
from atoll.testing.contracts.extensions.reachable import ReachableContract

WRITER = (
    "import sqlite3; base = sqlite3.connect('/workspace/base', isolation_level=None);"
    "base.execute('pragma journal_mode=wal'); base.execute('pragma synchronous=full');"
    "base.execute('create table rows (text)'); print('begun', flush=True)\n"
    "while True: base.execute('insert into rows values (?)', ('x' * 500,))"
)
CHECK = (
    "import sqlite3; base = sqlite3.connect('/workspace/base');"
    "print(base.execute('pragma integrity_check').fetchone()[0],"
    " base.execute('select count(*) > 0 from rows').fetchone()[0])"
)


VARIED = (
    "mkdir deep; echo one > file; chmod 640 file; ln file hard; ln -s ../file deep/link;"
    "truncate -s 4M holes; printf end >> holes; mkfifo pipe; chmod 1777 deep"
)
LISTED = (
    "find . -printf '%p %y %m %n %s %l %b %u %T@\\n' | sort; sha256sum file holes; echo $(id -un)"
)


@dataclass(frozen=True, slots=True)
class OtherHost:
    """Another host: an extension there, and what brings a snapshot's disk to it."""

    extension: Extension
    bring: Callable[[SnapshotId], Awaitable[None]]


class KeepsSnapshotsContract(ReachableContract):
    """Contract of `Capabilities.snapshots` and `KeepsSnapshots`."""

    async def test_files_of_a_running_sandbox_come_back_as_they_were(
        self, extension: Extension
    ) -> None:
        """Begin twice as a snapshot, whatever is written since; find nothing of a dropped one."""
        keeper, promise = await promised(extension)
        assert promise.running
        name = new_name()
        async with self.reached(extension) as (request, it):
            await it.run("echo before > file; mkdir -p ~/.codex; echo state > ~/.codex/mine")
            size = (await keeper.keep_snapshot(handle_of(extension, request.sandbox_id), name)).size
            assert size > 0
            await it.run("echo after > file")
            for _ in range(2):
                copy = replace(self.request(), seed=name)
                async with self.reached(extension, copy) as (_, other):
                    line = "cat file ~/.codex/mine; echo mine > file; cat file"
                    assert await other.run(line) == "before\nstate\nmine\n"
            assert await it.run("cat file") == "after\n"
        assert await keeper.drop_snapshot(name, "")
        assert not await keeper.drop_snapshot(name, "")
        with pytest.raises(AtollError):
            await extension.provision(replace(self.request(), seed=name))

    async def test_database_that_was_written_meanwhile_is_whole(self, extension: Extension) -> None:
        """Find a database intact that its program wrote in a loop."""
        keeper, _ = await promised(extension)
        name = new_name()
        async with self.reached(extension) as (request, it):
            await it.run(
                f'nohup python3 -c "{WRITER}" > said 2>&1 & '
                "until grep -q begun said; do sleep 0.05; done"
            )
            await keeper.keep_snapshot(handle_of(extension, request.sandbox_id), name)
        copy = replace(self.request(), seed=name)
        async with self.reached(extension, copy) as (_, other):
            assert await other.run(f'python3 -c "{CHECK}"') == "ok 1\n"
        await keeper.drop_snapshot(name, "")

    async def test_snapshot_is_kept_once_and_outlives_its_sandbox(
        self, extension: Extension
    ) -> None:
        """Repeat a keeping, and begin as a snapshot whose sandbox is gone."""
        keeper, _ = await promised(extension)
        name = new_name()
        async with self.reached(extension) as (request, it):
            await it.run("echo one > file")
            handle = handle_of(extension, request.sandbox_id)
            first = await keeper.keep_snapshot(handle, name)
            await it.run("echo two > file")
            assert (await keeper.keep_snapshot(handle, name)).size == first.size
        copy = replace(self.request(), seed=name)
        async with self.reached(extension, copy) as (_, other):
            assert await other.run("cat file") == "one\n"
        await keeper.drop_snapshot(name, "")

    async def test_disk_is_kept_within_a_time_only_while_its_sandbox_runs(
        self, extension: Extension
    ) -> None:
        """Find a stopped one refused where nobody is to wait, and kept where that is allowed."""
        keeper, _ = await promised(extension)
        name = new_name()
        async with self.reached(extension) as (request, it):
            await it.run("echo one > file")
            handle = handle_of(extension, request.sandbox_id)
            await extension.teardown(handle, keep_state=True)
            with pytest.raises(Unavailable):
                await keeper.keep_snapshot(handle, name, still_ms=250)
            assert not await keeper.drop_snapshot(name, "")
            assert (await keeper.keep_snapshot(handle, name)).size > 0
        await keeper.drop_snapshot(name, "")

    @asynccontextmanager
    async def other_host(self) -> AsyncIterator[OtherHost]:
        """Yield another host of an extension that promises `cross_host`. Override it there."""
        raise NotImplementedError("it promises cross_host: yield another host")
        yield

    async def test_other_host_begins_as_it_once_it_came_there(self, extension: Extension) -> None:
        """Find the same files there, and nothing before the disk came. Without the promise there is
        no such host."""
        keeper, promise = await promised(extension)
        if not promise.cross_host:
            pytest.skip("does not promise another host")
        name = new_name()
        async with self.other_host() as other:
            async with self.reached(extension) as (request, it):
                before = await it.run(f"{VARIED}; {LISTED}")
                await keeper.keep_snapshot(handle_of(extension, request.sandbox_id), name)
            with pytest.raises(AtollError):
                await other.extension.provision(replace(self.request(), seed=name))
            await other.bring(name)
            # What was made of it here is no matter of the other host.
            await keeper.drop_snapshot(name, "")
            copy = replace(self.request(), seed=name)
            async with self.reached(other.extension, copy) as (_, there):
                assert await there.run(LISTED) == before

    async def test_sandbox_that_is_unknown_has_no_disk_to_keep(self, extension: Extension) -> None:
        """Find a keeping of nothing refused."""
        keeper, _ = await promised(extension)
        with pytest.raises(AtollError):
            await keeper.keep_snapshot(handle_of(extension, self.request().sandbox_id), new_name())


async def promised(extension: Extension) -> tuple[KeepsSnapshots, SnapshotPromise]:
    """Return an extension that keeps snapshots, and its promise; skip the test of one that does
    not on this machine."""
    if isinstance(extension, Examines):
        await extension.examine()
    promise = extension.capabilities().snapshots
    if promise is None or not isinstance(extension, KeepsSnapshots):
        pytest.skip("keeps no snapshots here")
    return extension, promise


def new_name() -> SnapshotId:
    """Return the id of a new snapshot."""
    return SnapshotId(spell("snap", os.urandom(10)))


def handle_of(extension: Extension, sandbox_id: str) -> Handle:
    """Return the handle of a sandbox in its first generation."""
    return Handle(SandboxId(sandbox_id), 1, extension.name)
