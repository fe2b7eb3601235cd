"""Backends that lie: only their own sandboxes end for it, and none that still answers."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

from atoll.adapters.extensions.in_memory import FailurePoint, InMemory
from atoll.domain.errors import Failed
from atoll.domain.hosts.host import NOT_TRUSTED
from atoll.domain.ids import SandboxId, spell
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.ports.extension import Ended
from atoll.services.sandboxes.backend_watch import AGAIN_SECONDS, MOST_WRONG_ENDS, SURVEY_SECONDS
from atoll.wire.words.sandboxes import State
from tests.adapters.storage.rows.hosts.hosts import host as ssh_host
from tests.services.sandboxes.test_maintenance import surveyed
from tests.services.scene import Scene, opened, scene


async def test_end_that_another_extension_names_ends_nothing(tmp_path: Path) -> None:
    stranger = InMemory(called="ext.stranger")
    async with opened(tmp_path, others=(stranger,)) as s:
        mine = await s.ready()
        await stranger.provision(replace(s.extension.provisioned[0], host=""))
        stranger.die(mine.id, "says a stranger")
        while stranger._deaths:  # noqa: ASYNC110 - it is read, not announced
            await asyncio.sleep(0)
        await surveyed(s)
        assert (await s.sandboxes.get(LOCAL_PERSON, mine.id)).state is State.READY
        s.extension.die(mine.id, "says its own")
        assert "says its own" in str((await s.until(mine, "failed")).reason)


async def test_survey_that_misses_what_answers_ends_nothing() -> None:
    async with scene() as s:
        mine = await s.ready()
        s.runtime.health = {"sandbox_id": mine.id, "generation": mine.generation}
        _forget(s, mine.id)
        await surveyed(s)
        assert (await s.sandboxes.get(LOCAL_PERSON, mine.id)).state is State.READY
        s.runtime.health = {"sandbox_id": mine.id, "generation": mine.generation + 1}
        s.clock.turn(SURVEY_SECONDS + 1)
        await s.until(mine, "failed")


async def test_destroy_that_rests_rests_on_while_its_host_is_not_there(tmp_path: Path) -> None:
    async with opened(tmp_path) as s:
        made = await s.ready()
        s.extension.fail(FailurePoint.TEARDOWN, Failed("another key", code=NOT_TRUSTED))
        await s.sandboxes.destroy(LOCAL_PERSON, made.id)
        rests = await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        async with s.store.begin() as rows:
            await rows.sandboxes.update(replace(rests, host="box"))
    async with opened(tmp_path, before=s) as again:
        for _ in range(2):
            await surveyed(again)
        still = await again.sandboxes.get(LOCAL_PERSON, made.id)
        assert (still.state, still.leftovers) == (State.DESTROYING, rests.leftovers)
        assert again.extension.kept(made.id)
        async with again.store.begin() as rows:
            await rows.hosts.put(ssh_host("box"))
        again.clock.turn(SURVEY_SECONDS + 1)
        await again.until(made, "destroyed")
        assert not again.extension.kept(made.id)


async def test_flood_of_ends_of_what_does_not_run_is_broken_off(tmp_path: Path) -> None:
    stranger = Flooding(called="ext.stranger")
    async with opened(tmp_path, others=(stranger,)) as s:
        mine = await s.ready()
        async with asyncio.timeout(20):
            while stranger.told < 3 * (MOST_WRONG_ENDS + 1):
                if stranger.told == stranger.begun * (MOST_WRONG_ENDS + 1):
                    s.clock.turn(AGAIN_SECONDS)
                # Not so often that a busy machine lets the sandbox's time run out.
                await asyncio.sleep(0.01)
        assert stranger.told <= stranger.begun * (MOST_WRONG_ENDS + 1)
        assert (await s.sandboxes.get(LOCAL_PERSON, mine.id)).state is State.READY


@dataclass(slots=True)
class Flooding(InMemory):
    """A backend that reports the end of what never was, as fast as it is listened to."""

    told: int = 0
    begun: int = 0

    async def ended(self) -> AsyncIterator[Ended]:
        self.begun += 1
        while True:
            self.told += 1
            yield Ended(SandboxId(spell("sb", os.urandom(10))), 1, "so it says")


def _forget(s: Scene, sandbox_id: object) -> None:
    """Let the survey miss a sandbox without an end that is reported."""
    s.extension._places[sandbox_id].live = False  # type: ignore[index]


async def test_destroy_whose_extension_is_gone_says_what_stands(tmp_path: Path) -> None:
    async with opened(tmp_path) as first:
        mine = await first.ready()
    async with opened(tmp_path, before=replace(first, extension=InMemory("", "ext.other"))) as s:
        await s.sandboxes.destroy(LOCAL_PERSON, mine.id)
        gone = await s.until(mine, "destroyed")
        events = await s.events.list(LOCAL_PERSON, stream=f"sandbox:{mine.id}", limit=1000)
        told = str([event.payload for event in events[-3:]])
        assert "ext.in-memory is not installed" in told
        assert mine.id in told and "may still stand" in told
    assert gone.id == mine.id
