import os
import subprocess
from pathlib import Path

import pytest

from atoll.ports.spawner import Spawner
from atoll.runtime.files import checkpoints as subject
from atoll.runtime.files.checkpoints import Checkpoints
from atoll.runtime.spawners.local import local
from atoll.runtime.tasks import Tasks

ENV = (("PATH", os.environ["PATH"]), ("HOME", "/nonexistent"))


def git(work: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=work, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def repository(work: Path) -> Path:
    work.mkdir(parents=True)
    git(work, "init", "-q")
    (work / "a").write_text("a\n")
    return work


async def taken(spawner: Spawner, work: Path) -> None:
    """Take a checkpoint as a turn of an agent does, and wait for it."""
    async with Tasks() as tasks:
        points = Checkpoints(spawner, tasks, env=ENV, workspace=str(work))
        points.begin("t_1", "codex")
        points.begin("t_2", "codex")
        running = points._running
        assert running is not None
        await running


async def test_turn_begins_with_a_checkpoint_of_every_repository(tmp_path: Path) -> None:
    first = repository(tmp_path / "w" / "one")
    second = repository(tmp_path / "w" / "deep" / "two")
    async with local(tmp_path / "w") as spawner:
        await taken(spawner, tmp_path / "w")
    for work in (first, second):
        refs = git(work, "for-each-ref", "--format=%(refname) %(subject)")
        assert refs == "refs/atoll/checkpoints/t_1/1 Before a turn of codex"
        assert git(work, "ls-tree", "--name-only", "refs/atoll/checkpoints/t_1/1") == "a"
        assert git(work, "status", "--porcelain") == "?? a"


async def test_changes_since_the_branch_began_are_counted(tmp_path: Path) -> None:
    shared, work = repository(tmp_path / "shared"), tmp_path / "w"
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    git(shared, "checkout", "-qb", "main")
    git(shared, "add", "a")
    git(shared, *identity, "commit", "-qm", "a")
    git(tmp_path, "clone", "-qs", str(shared), str(work))
    git(work, "checkout", "-qb", "fix")
    git(work, "config", "atoll.from", "main")
    (work / "a").write_text("b\n")
    # One commit is made before the first turn, and the shared branch moves on meanwhile.
    git(work, *identity, "commit", "-qam", "b")
    (shared / "other").write_text("1\n" * 9)
    git(shared, "add", "other")
    git(shared, *identity, "commit", "-qm", "other")
    counts: list[tuple[int, int, int]] = []
    async with local(work) as spawner:
        await taken(spawner, work)
        (work / "a").write_text("b\nc\n")
        async with Tasks() as tasks:
            points = Checkpoints(spawner, tasks, env=ENV, workspace=str(work))
            await points._count("t_1", lambda *each: counts.append(each))
    assert counts == [(1, 2, 1)]


async def test_changes_since_the_first_turn_are_counted(tmp_path: Path) -> None:
    work = repository(tmp_path / "w")
    git(work, "config", "user.name", "a")
    git(work, "config", "user.email", "a@b")
    counts: list[tuple[int, int, int]] = []
    async with local(work) as spawner:
        await taken(spawner, work)
        git(work, "add", "a")
        git(work, "commit", "-qm", "a")
        (work / "a").write_text("b\nc\n")
        (work / "new").write_text("d\n")
        async with Tasks() as tasks:
            points = Checkpoints(spawner, tasks, env=ENV, workspace=str(work))
            await points._count("t_1", lambda *each: counts.append(each))
    assert counts == [(1, 3, 1)]


async def test_checkpoint_that_fails_or_takes_too_long_ends_quietly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "w").mkdir()
    async with local(tmp_path / "w") as spawner:
        await taken(spawner, tmp_path / "gone")
        monkeypatch.setattr(subject, "CHECKPOINT", "sleep 1000")
        monkeypatch.setattr(subject, "SECONDS", 0.1)
        await taken(spawner, tmp_path / "w")
