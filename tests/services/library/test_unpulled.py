"""Unpulled work, as a sandbox says it whose git or shell may be anybody's."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Never, TypeVar, cast
from unittest.mock import patch

import pytest

from atoll.domain.errors import Conflict, Failed, Forbidden, NotFound
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import PulledTip, Sandbox
from atoll.services.library import unpulled
from atoll.services.library.unpulled import UnpulledPlace, UnpulledWork, files_beside
from atoll.services.scripts import Script
from atoll.wire.contract.call import RuntimeCall
from atoll.wire.words.sandboxes import State
from tests.peers.boxed_runtime import BoxedRuntime
from tests.services.library.test_workspaces import World, world

__all__ = ["world"]

T = TypeVar("T")


class Reading:
    """The sandboxes, of which there is one."""

    def __init__(self, sandbox: Sandbox, box: BoxedRuntime) -> None:
        self._pair = (sandbox, box)

    async def get(self, *_: object) -> Sandbox:
        return self._pair[0]

    @asynccontextmanager
    async def reading(self, *_: object) -> AsyncIterator[tuple[Sandbox, BoxedRuntime]]:
        yield self._pair


def work_of(reading: object) -> UnpulledWork:
    """Return the use cases over one sandbox."""
    return UnpulledWork(cast(Any, reading), cast(Any, reading))


async def test_newest_commit_is_named(world: World) -> None:
    sandbox, box = await world.laid_out(world.repo())
    box.run("echo 1 > 1; git add 1; git commit -qm one")
    work = work_of(Reading(sandbox, box))
    (place,) = await work.of(LOCAL_PERSON, sandbox.id)
    assert (place.commits, place.tip) == (1, box.run("git rev-parse HEAD"))
    tip = box.run("git tag upstream; git update-ref refs/keep/x HEAD; git rev-parse HEAD")
    box.run("git reset -q --hard HEAD~")
    (place,) = await work.of(LOCAL_PERSON, sandbox.id)
    assert (place.commits, place.tip) == (1, tip)
    box.run("git update-ref refs/remotes/origin/up upstream")
    assert await work.of(LOCAL_PERSON, sandbox.id) == (), "a fetch brought it with its branch"
    box.run("git checkout -q --detach upstream")
    (place,) = await work.of(LOCAL_PERSON, sandbox.id)
    assert (place.commits, place.tip) == (1, tip)


async def test_work_that_would_be_lost_is_counted_in_words_of_ours(world: World) -> None:
    sandbox, box = await world.laid_out(world.repo())
    sandbox = replace(sandbox, state=State.READY, ready_at=sandbox.created_at)
    work = work_of(Reading(sandbox, box))
    await work.check_lost(LOCAL_PERSON, sandbox.id)
    box.run("echo 1 > 1; git add 1; git commit -qm 'obey me'; echo 2 > 2; echo 3 > 3")
    tip = box.run("git rev-parse HEAD")[:12]
    with pytest.raises(Conflict) as refused:
        await work.check_lost(LOCAL_PERSON, sandbox.id)
    assert refused.value.code == "unpulled_work"
    assert f"/workspace: 1 commit up to {tip}, 2 files: pull it" in refused.value.message
    assert "obey me" not in refused.value.message
    with pytest.raises(Conflict) as unknown, patch.object(unpulled, "run_inside", _broken):
        await work.check_lost(LOCAL_PERSON, sandbox.id)
    assert unknown.value.code == "unpulled_unknown"
    assert "obey me" not in unknown.value.message
    for empty in (replace(sandbox, state=State.DESTROYED), replace(sandbox, ready_at=None)):
        work = work_of(Reading(empty, box))
        await work.check_lost(LOCAL_PERSON, sandbox.id)


async def _broken(*_: object) -> Never:
    raise Failed("obey me")


async def test_commits_of_submodules_that_only_the_sandbox_has_count(world: World) -> None:
    sandbox, box = await world.laid_out(world.repo())
    box.run("git clone -q /.atoll/repos/0.git lib; git -C lib remote remove origin")
    box.run("git add lib; git commit -qm 'lib is here'")

    async def places() -> tuple[UnpulledPlace, ...]:
        pulled = (PulledTip(0, box.run("git rev-parse HEAD")),)
        reading = Reading(replace(sandbox, pulled=pulled), box)
        return await work_of(reading).of(LOCAL_PERSON, sandbox.id)

    box.run("printf '#!/bin/sh\ntouch /workspace/.git/ran\n' > .git/run; chmod +x .git/run")
    box.run("git -C lib config core.fsmonitor /workspace/.git/run")
    assert await places() == ()
    assert not (box.workspace / ".git/ran").exists()
    box.run("git -C lib config --unset core.fsmonitor")
    box.run("cd lib; git config user.name A; git config user.email a@example.org; echo 1 > 1")
    box.run("cd lib; git add 1; git commit -qm own")
    assert [place.changed for place in await places()] == [("lib",)]
    box.run("git commit -qam 'lib is newer'")
    (place,) = await places()
    assert (place.commits, place.changed) == (0, ("lib",)), "a pull brings none of its commits"
    box.run("mv lib/.git moved")
    assert [place.untracked for place in await places()] == [("moved/",)]


async def test_commits_of_submodules_in_submodules_count(world: World) -> None:
    sandbox, box = await world.laid_out(world.repo())
    for folder in (".", "lib"):
        name = "lib" if folder == "." else "in"
        box.run(f"cd {folder}; git clone -q /.atoll/repos/0.git {name}")
        box.run(f"cd {folder}; git -C {name} config user.name A; git -C {name} config user.email a")
    box.run("cd lib; git add in; git commit -qm in; cd ..; git add lib; git commit -qm lib")
    lib, tip = box.run("git -C lib rev-parse HEAD; git rev-parse HEAD").split()
    box.run(f"git -C lib update-ref refs/remotes/origin/main {lib}")
    reading = Reading(replace(sandbox, pulled=(PulledTip(0, tip),)), box)

    async def places() -> tuple[UnpulledPlace, ...]:
        return await work_of(reading).of(LOCAL_PERSON, sandbox.id)

    assert await places() == ()
    box.run("cd lib/in; git switch -qc side; git commit -q --allow-empty -m own; git switch -q -")
    assert [place.changed for place in await places()] == [("lib/in",)]


@pytest.mark.parametrize("tip", ["\\033[2Jevil", "a", "A" * 40])
async def test_tip_that_is_no_commit_is_not_passed_on(world: World, tip: str) -> None:
    sandbox, box = await world.laid_out(world.repo())
    lie = Script("lie", f"printf '1\\0{tip}\\0one\\0000\\0000\\0'")
    with patch.object(unpulled, "UNPULLED", lie), pytest.raises(Failed, match="newest commit"):
        await work_of(Reading(sandbox, box)).of(LOCAL_PERSON, sandbox.id)


async def test_files_are_listed_in_an_image_without_any_program(tmp_path: Path) -> None:
    class Bare(BoxedRuntime):
        def argv(self, *command: str, clean: bool = False) -> list[str]:
            raise AssertionError(f"nothing runs in this image: {command}")

    box = Bare(tmp_path / "workspace")
    (box.workspace / "a/b").mkdir(parents=True)
    (box.workspace / "empty").mkdir()
    (box.workspace / "kept").mkdir()
    (box.workspace / "kept/x").touch()
    odd = box.workspace / os.fsdecode(b"a/\xff")
    odd.mkdir()
    (odd / "y").touch()
    (box.workspace / "a/link").symlink_to("/nowhere")
    found = await files_beside(box, ("/workspace/kept",))
    assert (found.untracked, found.more) == (("a/link", "a/\ufffd/y"), 0)
    for number in range(150):
        (box.workspace / f"a/b/{number}").touch()
    found = await files_beside(box, ("/workspace/kept", "/workspace/gone"))
    assert (len(found.untracked), found.more) == (100, 51)
    assert not await files_beside(Bare(tmp_path), ("/workspace/workspace",))


async def test_folder_that_cannot_be_listed_is_named_and_the_workspace_is_no_empty_one(
    tmp_path: Path,
) -> None:
    class Closed(BoxedRuntime):
        async def call(self, call: RuntimeCall[T]) -> T:
            query = dict(call.query)
            if call.path == "/files" and query.get("path_b64") == "Y2xvc2Vk":
                raise Forbidden("cannot list 'closed': its mode does not allow it")
            if call.path == "/files" and not self.workspace.exists():
                raise NotFound("there is no such file")
            return await super().call(call)

    (tmp_path / "workspace/closed/work").mkdir(parents=True)
    found = await files_beside(Closed(tmp_path / "workspace"), ())
    assert found.untracked == ("closed/",)
    with pytest.raises(NotFound):
        await files_beside(Closed(tmp_path / "none"), ())


async def test_files_deep_below_many_folders_count(tmp_path: Path) -> None:
    box = BoxedRuntime(tmp_path / "workspace")
    for number in range(unpulled.MAX_FOLDERS):
        (box.workspace / f"{number}/deep").mkdir(parents=True)
    (box.workspace / "0/deep/work").touch()
    found = await files_beside(box, ())
    assert (found.untracked, found.more, bool(found)) == ((), 1, True)
