"""`git push` inside a sandbox whose policy lets nothing out, over a real git in a real box."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import pytest

from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.kept import KeptFolder
from atoll.adapters.storage.store import Settings as StoreSettings
from atoll.adapters.storage.store import open_store
from atoll.domain.event import Event
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import EventQuery
from atoll.ports.kept import KeptWorktree, bundle_name
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.journals.push_notes import PushNotes
from atoll.services.library import pushes as pushes_module
from atoll.services.library.pushes import HeldPushes, held_ref
from atoll.services.library.settings import KeptSettings
from atoll.services.scripts import Script
from tests.peers.boxed_runtime import BoxedRuntime
from tests.peers.databases.chosen import database_url
from tests.peers.git_tree import Tree
from tests.services.library.test_workspaces import Turning, World, world

__all__ = ["world"]

WORK = "echo 1 > 1; git add -A; git commit -qm one"


@dataclass
class Holding:
    world: World
    shelf: KeptFolder
    pushes: HeldPushes
    ground: Ground

    async def held(self) -> list[KeptWorktree]:
        return sorted(
            await self.shelf.list(), key=lambda one: one.pushed.branch if one.pushed else ""
        )

    async def taken(self, kept: KeptWorktree) -> Tree:
        """The person's checkout, with the held branch below `got/`."""
        bundle = self.world.tmp / "got.bundle"
        pieces = [piece async for piece in self.shelf.read(kept.id, bundle_name(0))]
        bundle.write_bytes(b"".join(pieces))
        self.world.tree.git("fetch", "-q", str(bundle), "+refs/heads/*:refs/heads/got/*")
        return self.world.tree

    async def events(self) -> list[Event]:
        async with self.ground.store.read() as rows:
            return await rows.events.page(
                EventQuery(LOCAL_PERSON.org_id, LOCAL_PERSON.id, None, 0, 100)
            )


@pytest.fixture
async def holding(world: World, tmp_path: Path) -> AsyncIterator[Holding]:
    (tmp_path / "kept").mkdir()
    shelf = KeptFolder(tmp_path / "kept")
    async with open_store(StoreSettings(database_url(tmp_path))) as store:
        ground = Ground(store, InProcessBus(), world.clock, Identifiers())
        pushes = HeldPushes(
            ground,
            cast(Any, None),
            world.workspaces,
            access=cast(Any, None),
            shelf=shelf,
            notes=PushNotes(),
            settings=KeptSettings(30),
        )
        yield Holding(world, shelf, pushes, ground)


def push(box: BoxedRuntime, *words: str) -> tuple[int, str]:
    """Run `git push` inside. Returns its exit code and what it says."""
    line = ["/bin/sh", "-c", 'git push "$@" 2>&1', "sh", *words]
    done = subprocess.run(box.argv(*line), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


async def laid_out(holding: Holding, **more: Any) -> tuple[Sandbox, BoxedRuntime]:
    sandbox, box = await holding.world.laid_out(holding.world.repo(**more))
    box.run(WORK)
    return sandbox, box


async def test_push_lands_in_quarantine_and_says_how_it_comes_home(holding: Holding) -> None:
    sandbox, box = await laid_out(holding)
    code, said = push(box, "-u", "origin", "fix")
    assert code == 0 and "remote:   atoll pull r-fix --pushed fix" in said, said
    assert box.run("git status -sb").startswith("## fix...origin/fix")
    (kept,) = await holding.pushes.collect(sandbox, box)
    assert kept.pushed is not None and (kept.bundles, kept.tree) == ((0,), False)
    assert (kept.pushed.branch, kept.pushed.commits, kept.pushed.subject) == ("fix", 1, "one")
    tree = await holding.taken(kept)
    assert tree.git("rev-parse", "got/fix") == box.run("git rev-parse fix") == kept.pushed.commit
    (event,) = await holding.events()
    assert event.event_type == "git.pushed" and event.payload["branch"] == "fix"
    assert "subject" not in event.payload
    assert held_ref(sandbox.name, "fix") == "refs/atoll/pushed/r-fix/fix"
    # Nothing reached the shared repository, which other sandboxes read.
    stored = await holding.world.stored()
    assert await holding.world.shelf.have(stored, (kept.pushed.commit,)) == ()


async def test_push_is_taken_once_and_a_newer_one_takes_its_place(holding: Holding) -> None:
    sandbox, box = await laid_out(holding)
    push(box, "origin", "fix")
    (first,) = await holding.pushes.collect(sandbox, box)
    assert await holding.pushes.collect(sandbox, box) == ()
    box.run("git commit -q --amend -m other")
    code, said = push(box, "origin", "fix")
    assert code != 0 and "non-fast-forward" in said
    assert push(box, "--force-with-lease", "origin", "fix")[0] == 0
    (second,) = await holding.pushes.collect(sandbox, box)
    assert second.pushed is not None and second.pushed.subject == "other"
    assert [one.id for one in await holding.held()] == [second.id] != [first.id]
    # What its owner dropped does not come back by itself.
    await holding.shelf.remove(second.id)
    assert await holding.pushes.collect(sandbox, box) == ()


async def test_every_spelling_and_every_remote_is_held(holding: Holding) -> None:
    sandbox, box = await laid_out(holding)
    assert push(box, f"{holding.world.server.url}/o/r.git", "fix:a")[0] == 0
    assert push(box, "atoll", "fix:b")[0] == 0
    assert push(box, "--all", "origin")[0] == 0
    await holding.pushes.collect(sandbox, box)
    assert [one.pushed.branch for one in await holding.held() if one.pushed] == ["a", "b", "fix"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("origin", "v1"), "Only branches are held"),
        (("origin", "fix:refs/atoll/taken/x"), "deny updating a hidden ref"),
        (("origin", ":fix"), "Only the owner drops a held branch"),
        (("origin", "fix:refs/heads/a\u202eb"), "plain name"),
        (("origin", "fix:refs/heads/$(touch${IFS}ran)"), "plain name"),
        (("origin", f"fix:refs/heads/{'l' * 220}"), "longer than 200"),
        (("https://evil.invalid/o/r", "fix"), "evil.invalid"),
    ],
)
async def test_push_that_is_not_held_says_why(
    holding: Holding, words: tuple[str, ...], why: str
) -> None:
    sandbox, box = await laid_out(holding)
    push(box, "origin", "fix")
    box.run("git commit -q --allow-empty -m two")
    code, said = push(box, *words)
    assert code != 0 and why in said, said
    await holding.pushes.collect(sandbox, box)
    assert [one.pushed.branch for one in await holding.held() if one.pushed] == ["fix"]
    assert not (box.workspace / "ran").exists()


async def test_push_of_several_refs_says_what_happened_to_each(holding: Holding) -> None:
    sandbox, box = await laid_out(holding)
    box.run("git tag new; git branch two")
    code, said = push(box, "origin", "fix", "two", "new")
    assert code != 0
    for name in ("fix", "two"):
        assert f"Held for the owner of r-fix: branch {name}. It was not sent anywhere." in said
    assert "Only branches are held for the owner, and refs/tags/new is none" in said
    await holding.pushes.collect(sandbox, box)
    assert [one.pushed.branch for one in await holding.held() if one.pushed] == ["fix", "two"]
    box.run("git commit -q --amend -m other")
    code, said = push(box, "-f", "origin", "fix")
    assert code == 0 and "branch fix, in place of what it was." in said
    code, said = push(box, "--delete", "origin", "fix")
    assert code != 0 and "Only the owner drops a held branch: atoll pull NAME" in said


async def test_tree_of_an_earlier_program_holds_pushes_after_its_next_start(
    holding: Holding,
) -> None:
    sandbox, box = await laid_out(holding)
    # As it was laid out before there were held pushes.
    box.run("rm -rf .git/atoll; sed -i '/atoll.to/,$d' .git/config")
    assert push(box, "origin", "fix")[0] != 0
    before = box.run("git rev-parse HEAD; git status --porcelain")
    await holding.world.workspaces.prepare(sandbox, box, lambda _: None)
    assert push(box, "origin", "fix")[0] == 0
    assert len(await holding.pushes.collect(sandbox, box)) == 1
    # Once is enough: later starts change nothing.
    config = box.run("cat .git/config")
    await holding.world.workspaces.prepare(sandbox, box, lambda _: None)
    assert box.run("cat .git/config") == config
    assert box.run("git rev-parse HEAD; git status --porcelain") == before


@pytest.mark.parametrize(
    "break_it",
    [
        "ln -s /etc .git/atoll",
        "rm .git/config; mkdir .git/config",
        "chmod -w .git",
        "mv .git else; ln -s else .git",
        "mv .git else; echo gitdir: else > .git",
    ],
)
async def test_tree_that_cannot_hold_pushes_starts_all_the_same(
    holding: Holding, break_it: str
) -> None:
    sandbox, box = await laid_out(holding)
    box.run(f"rm -rf .git/atoll; {break_it}")
    await holding.world.workspaces.prepare(sandbox, box, lambda _: None)
    assert not Path("/etc/pushed.git").exists()
    box.run("chmod -f +w .git || true")


async def test_branches_are_bounded(holding: Holding) -> None:
    sandbox, box = await laid_out(holding)
    names = [f"fix:b{number}" for number in range(40)]
    code, said = push(box, "origin", *names)
    assert code != 0 and "32 branches are held already" in said
    await holding.pushes.collect(sandbox, box)
    assert len(await holding.held()) == 32


async def test_hostile_quarantine_brings_nothing_and_runs_nothing_outside(
    holding: Holding,
) -> None:
    sandbox, box = await laid_out(holding)
    push(box, "origin", "fix")
    box.run(r"""
cd .git/atoll/pushed.git
git config core.sshCommand 'touch /workspace/ran'
git config core.fsmonitor 'touch /workspace/ran'
git config receive.fsckObjects false
git config user.name x; git config user.email x@example.invalid
git rev-parse refs/heads/fix > refs/heads/x.lock
blob=$(echo x | git hash-object -w --stdin)
tree=$(printf '100644 blob %s\t.git\n' "$blob" | git mktree)
git update-ref refs/heads/planted $(git commit-tree "$tree" -m planted)
tree=$(git rev-parse "fix^{tree}")
git update-ref refs/heads/shown $(git commit-tree "$tree" -m "$(printf 'a\033[2Jb')")
""")
    await holding.pushes.collect(sandbox, box)
    held = {one.pushed.branch: one.pushed.subject for one in await holding.held() if one.pushed}
    assert held == {"fix": "one", "shown": "a?[2Jb"}


async def test_git_inside_that_counts_without_end_breaks_nothing(holding: Holding) -> None:
    sandbox, box = await laid_out(holding)
    push(box, "origin", "fix")
    # Python reads no number of more than 4,300 digits.
    line = f"printf '%s\\0fix\\0%s\\0one\\0' {'a' * 40} {'1' * 5000}"
    with patch.object(pushes_module, "WAITING", Script("lie", line)):
        assert await holding.pushes.collect(sandbox, box) == ()
    assert await holding.held() == []


async def test_bundle_of_a_push_is_whole_wherever_its_objects_lay(holding: Holding) -> None:
    sandbox, box = await laid_out(holding)
    push(box, "origin", "fix")
    box.run(
        "cd .git/atoll/pushed.git; find objects -type f ! -path '*info*' -delete;"
        "echo /workspace/.git/objects > objects/info/alternates"
    )
    (kept,) = await holding.pushes.collect(sandbox, box)
    # Wherever git inside found the objects, the bundle brings them whole.
    assert (await holding.taken(kept)).git("show", "got/fix:1") == "1"


async def test_pushes_through_links_or_without_git_are_none(holding: Holding) -> None:
    sandbox, box = await laid_out(holding)
    box.run("rm -rf .git/atoll; ln -s /etc .git/atoll")
    assert await holding.pushes.collect(sandbox, box) == ()
    box.run("rm -rf .git")
    assert await holding.pushes.collect(sandbox, box) == ()


async def test_push_of_what_the_server_has_is_not_kept(holding: Holding) -> None:
    sandbox, box = await holding.world.laid_out(holding.world.repo())
    assert push(box, "origin", "fix")[0] == 0
    assert await holding.pushes.collect(sandbox, box) == ()
    assert await holding.held() == []


async def test_notes_name_a_sandbox_once(holding: Holding) -> None:
    notes = PushNotes()
    sandbox = holding.world.sandbox()
    notes.add(sandbox.id)
    notes.add(sandbox.id)
    assert await notes.next() == sandbox.id
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(notes.next())
        await asyncio.sleep(0)
        assert not waiting.done()
        notes.add(sandbox.id)
    assert waiting.result() == sandbox.id


class RestingClock(Turning):
    """A clock whose sleeps end when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.rests: list[timedelta] = []
        self.asleep, self.over = asyncio.Event(), asyncio.Event()

    async def sleep_until(self, deadline: datetime) -> None:
        self.rests.append(deadline - self.at)
        self.asleep.set()
        await self.over.wait()
        self.over.clear()


async def test_flood_of_reports_is_looked_at_ten_times_a_minute(holding: Holding) -> None:
    clock, notes = RestingClock(), PushNotes()
    ground = Ground(holding.ground.store, holding.ground.bus, clock, Identifiers())
    pushes = HeldPushes(
        ground,
        cast(Any, None),
        holding.world.workspaces,
        access=cast(Any, None),
        shelf=holding.shelf,
        notes=notes,
        settings=KeptSettings(30),
    )
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(pushes.run())
        for _ in range(50):
            notes.add(holding.world.sandbox().id)
            await asyncio.sleep(0)
        await clock.asleep.wait()
        assert clock.rests == [timedelta(seconds=6)]
        clock.asleep.clear()
        clock.over.set()
        await clock.asleep.wait()
        assert len(clock.rests) == 2
        running.cancel()
