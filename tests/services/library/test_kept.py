import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from atoll.adapters.kept import KeptFolder
from atoll.domain.errors import Conflict, LimitReached, NotFound, Unavailable
from atoll.domain.ids import PrincipalId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.ports.kept import KeptWorktree
from atoll.services.identifiers import Identifiers
from atoll.services.library.kept import KeptWorktrees
from atoll.services.library.settings import KeptSettings
from atoll.services.library.workspaces import Workspaces
from atoll.wire.words.sandboxes import State
from tests.services.scene import Scene, scene

OTHER = replace(LOCAL_PERSON, id=PrincipalId("somebody-else"))
ARCHIVE = ("GET", "/files/archive")
TOTAL = ("GET", "/files/total")
WEEK = timedelta(days=7)


@asynccontextmanager
async def keeping(folder: Path) -> AsyncIterator[tuple[Scene, KeptWorktrees]]:
    async with scene() as s:
        shelf = KeptFolder(folder)
        # No sandbox here has a repository: nothing is asked of the workspaces.
        kept = KeptWorktrees(
            s.sandboxes,
            cast(Workspaces, None),
            s.calls,
            shelf,
            access=s.access,
            clock=s.clock,
            identifiers=Identifiers(),
            settings=KeptSettings(WEEK.days),
        )
        s.runtime.answers[TOTAL] = (200, {"files": 1, "bytes": 17, "stored": 17})
        yield s, kept


async def read(kept: KeptWorktrees, one: KeptWorktree) -> bytes:
    async with kept.archive(LOCAL_PERSON, one.id) as stream:
        return b"".join([piece async for piece in stream.body])


async def test_keep_worktree_writes_the_files_down_and_leaves_no_state(tmp_path: Path) -> None:
    async with keeping(tmp_path) as (s, kept):
        made = await s.ready()
        s.runtime.answers[ARCHIVE] = (200, {"every": "byte"})
        going = await kept.destroy(LOCAL_PERSON, made.name)
        gone = await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        assert gone.state is State.DESTROYED
        assert not s.extension.kept(made.id) and not s.extension.lives(made.id)
        (one,) = await kept.list(LOCAL_PERSON)
        assert going.kept_at == one.path == str(tmp_path / one.id)
        assert json.loads(await read(kept, one)) == {"every": "byte"}
        assert (one.sandbox_id, one.sandbox_name) == (made.id, made.name)
        # Once more destroys and keeps nothing.
        assert (await kept.destroy(LOCAL_PERSON, made.id)).state is State.DESTROYED
        assert len(await kept.list(LOCAL_PERSON)) == 1


@pytest.mark.parametrize("state", ["ready", "stopped"])
async def test_files_that_cannot_be_read_leave_the_sandbox(tmp_path: Path, state: str) -> None:
    async with keeping(tmp_path) as (s, kept):
        made = await s.ready()
        if state == "stopped":
            await s.sandboxes.stop(LOCAL_PERSON, made.id)
        s.runtime.down = True
        with pytest.raises((Unavailable, Conflict)):
            await kept.destroy(LOCAL_PERSON, made.id)
        s.runtime.down = False
        assert (await s.sandboxes.get(LOCAL_PERSON, made.id)).state == state
        assert await kept.list(LOCAL_PERSON) == ()
        assert list(tmp_path.iterdir()) == []


async def test_tree_larger_than_the_disk_is_refused_before_a_byte_of_it_is_read(
    tmp_path: Path,
) -> None:
    async with keeping(tmp_path) as (s, kept):
        made = await s.ready()
        s.runtime.answers[TOTAL] = (200, {"files": 1, "bytes": 2**50, "stored": 0})
        with pytest.raises(LimitReached, match=r"1024\.0 TiB"):
            await kept.destroy(LOCAL_PERSON, made.id)
        assert not [call for call in s.runtime.calls if (call.method, call.path) == ARCHIVE]
        assert (await s.sandboxes.get(LOCAL_PERSON, made.id)).state is State.READY
        assert list(tmp_path.iterdir()) == []


async def test_kept_worktrees_are_their_owners(tmp_path: Path) -> None:
    async with keeping(tmp_path) as (s, kept):
        made = await s.ready()
        s.runtime.answers[ARCHIVE] = (200, {})
        await kept.destroy(LOCAL_PERSON, made.id)
        (one,) = await kept.list(LOCAL_PERSON)
        assert await kept.list(OTHER) == ()
        for refused in (kept.get, kept.remove):
            with pytest.raises(NotFound):
                await refused(OTHER, one.id)
        with pytest.raises(NotFound):
            async with kept.archive(OTHER, one.id):
                pass
        await kept.remove(LOCAL_PERSON, one.id)
        assert await kept.list(LOCAL_PERSON) == ()


async def test_kept_worktrees_go_when_their_time_is_over(tmp_path: Path) -> None:
    async with keeping(tmp_path) as (s, kept):
        made = await s.ready()
        s.runtime.answers[ARCHIVE] = (200, {})
        await kept.destroy(LOCAL_PERSON, made.id)
        async with asyncio.TaskGroup() as tasks:
            sweeping = tasks.create_task(kept.run())
            await asyncio.sleep(0)
            s.clock.turn(WEEK.total_seconds() - 1)
            assert len(await kept.list(LOCAL_PERSON)) == 1
            async with asyncio.timeout(30):
                while await kept.list(LOCAL_PERSON):
                    s.clock.turn(3600)
                    await asyncio.sleep(0)
            sweeping.cancel()
