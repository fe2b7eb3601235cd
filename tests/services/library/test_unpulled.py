"""Unpulled work, as a sandbox says it whose git or shell may be anybody's."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast
from unittest.mock import patch

import pytest

from atoll.domain.errors import Failed
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandbox.sandbox import PulledTip, Sandbox
from atoll.services.library import unpulled
from atoll.services.library.unpulled import UnpulledPlace, UnpulledWork
from atoll.services.scripts import Script
from tests.peers.boxed_runtime import BoxedRuntime
from tests.services.library.test_workspaces import World, world

__all__ = ["world"]


class Reading:
    """The sandboxes, of which there is one."""

    def __init__(self, sandbox: Sandbox, box: BoxedRuntime) -> None:
        self._pair = (sandbox, box)

    async def get(self, *_: object) -> Sandbox:
        return self._pair[0]

    @asynccontextmanager
    async def reading(self, *_: object) -> AsyncIterator[tuple[Sandbox, BoxedRuntime]]:
        yield self._pair


async def test_newest_commit_is_named(world: World) -> None:
    sandbox, box = await world.laid_out(world.repo())
    box.run("echo 1 > 1; git add 1; git commit -qm one")
    (place,) = await UnpulledWork(cast(Any, Reading(sandbox, box))).of(LOCAL_PERSON, sandbox.id)
    assert (place.commits, place.tip) == (1, box.run("git rev-parse HEAD"))


async def test_commits_of_submodules_that_only_the_sandbox_has_count(world: World) -> None:
    sandbox, box = await world.laid_out(world.repo())
    box.run("git clone -q /.atoll/repos/0.git lib; git -C lib remote remove origin")
    box.run("git add lib; git commit -qm 'lib is here'")

    async def places() -> tuple[UnpulledPlace, ...]:
        pulled = (PulledTip(0, box.run("git rev-parse HEAD")),)
        reading = Reading(replace(sandbox, pulled=pulled), box)
        return await UnpulledWork(cast(Any, reading)).of(LOCAL_PERSON, sandbox.id)

    assert await places() == ()
    box.run("cd lib; git config user.name A; git config user.email a@example.org; echo 1 > 1")
    box.run("cd lib; git add 1; git commit -qm own")
    assert [place.changed for place in await places()] == [("lib",)]
    box.run("git commit -qam 'lib is newer'")
    (place,) = await places()
    assert (place.commits, place.changed) == (0, ("lib",)), "a pull brings none of its commits"
    box.run("mv lib/.git moved")
    assert [place.untracked for place in await places()] == [("moved/",)]


@pytest.mark.parametrize("tip", ["\\033[2Jevil", "a", "A" * 40])
async def test_tip_that_is_no_commit_is_not_passed_on(world: World, tip: str) -> None:
    sandbox, box = await world.laid_out(world.repo())
    lie = Script("lie", f"printf '1\\0{tip}\\0one\\0000\\0000\\0'")
    with patch.object(unpulled, "UNPULLED", lie), pytest.raises(Failed, match="newest commit"):
        await UnpulledWork(cast(Any, Reading(sandbox, box))).of(LOCAL_PERSON, sandbox.id)
