"""Pushes the policy does not let out, held by real git in the workspace."""

import errno
from pathlib import Path

import pytest

from atoll.runtime.files import push_holder, script
from atoll.runtime.files.pipe import HalfPipe
from atoll.runtime.files.push_holder import PushHolder
from atoll.runtime.files.script import InsideScripts
from atoll.runtime.spawners.local import local
from atoll.wire.git.receive_pack import NOTHING_HELD, HeldRefs, Update
from tests.runtime.files.test_checkpoints import ENV, git, repository

ZERO = "0" * 40


def working(tmp_path: Path) -> Path:
    """A repository with a commit, whose pushes to `o/app` are held."""
    work = repository(tmp_path / "w" / "app")
    held = work / ".git" / "atoll" / "pushed.git"
    git(work, "init", "-q", "--bare", str(held))
    (held.parent / "to").mkdir()
    (held.parent / "to" / "app.git").symlink_to("../pushed.git")
    hook = held / "hooks" / "post-receive"
    hook.write_text("#!/bin/sh\necho 'Held for Ada.'\nprintf 'x\\033[31m\\n'\n")
    hook.chmod(0o755)
    committed(work, "one")
    return work


def committed(work: Path, text: str, *words: str) -> str:
    (work / "a").write_text(text)
    git(work, "add", "a")
    git(work, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", text, *words)
    return git(work, "rev-parse", "HEAD")


async def held(work: Path, *updates: Update, path: str = "/o/app") -> HeldRefs:
    async with local(work.parent) as spawner:
        holder = PushHolder(InsideScripts(spawner, ENV, str(work.parent)))
        return await holder.hold(path, updates)


async def test_branches_are_held_and_the_words_of_the_hook_are_plain(tmp_path: Path) -> None:
    work = working(tmp_path)
    hook = work / ".git" / "hooks" / "pre-push"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    new = git(work, "rev-parse", "HEAD")
    found = await held(work, Update(ZERO, new, "refs/heads/fix/x"))
    assert found.refs == {"refs/heads/fix/x"} and not found.reasons
    assert found.lines == ("Held for Ada.", "x?[31m")
    assert git(work, "ls-remote", ".git/atoll/pushed.git") == f"{new}\trefs/heads/fix/x"
    again = await held(work, Update(ZERO, new, "refs/heads/fix/x"))
    assert again.refs == found.refs and "already" in again.lines[0]


async def test_other_commits_of_a_held_branch_are_refused_with_the_way(tmp_path: Path) -> None:
    work = working(tmp_path)
    ref = "refs/heads/fix"
    await held(work, Update(ZERO, git(work, "rev-parse", "HEAD"), ref))
    other = committed(work, "other", "--amend")
    found = await held(work, Update(ZERO, other, ref))
    assert not found.refs and "--force atoll" in found.reasons[ref]


async def test_push_of_no_repository_of_the_remote_is_not_held(tmp_path: Path) -> None:
    work = working(tmp_path)
    new = git(work, "rev-parse", "HEAD")
    assert not (await held(work, Update(ZERO, new, "refs/heads/x"), path="/o/else")).refs
    assert not (await held(work, Update(ZERO, "a" * 40, "refs/heads/x"))).refs


async def test_push_that_takes_too_long_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = working(tmp_path)
    monkeypatch.setattr(push_holder, "SECONDS", 0.0)
    assert await held(work, Update(ZERO, "a" * 40, "refs/heads/x")) == NOTHING_HELD


async def test_every_branch_of_a_large_push_is_reported(tmp_path: Path) -> None:
    work = working(tmp_path)
    hook = work / ".git" / "atoll" / "pushed.git" / "hooks" / "post-receive"
    hook.write_text(f"#!/bin/sh\necho {'held ' * 60}\n")
    new = git(work, "rev-parse", "HEAD")
    refs = {f"refs/heads/{'long-' * 20}{number}" for number in range(24)}
    found = await held(work, *(Update(ZERO, new, ref) for ref in sorted(refs)))
    assert found.refs == refs


async def test_push_without_a_free_descriptor_is_refused_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[HalfPipe] = []

    class Scarce(HalfPipe):
        def __init__(self, *, reads: bool) -> None:
            if made:
                raise OSError(errno.EMFILE, "Too many open files")
            super().__init__(reads=reads)
            made.append(self)

    work = working(tmp_path)
    new = git(work, "rev-parse", "HEAD")
    monkeypatch.setattr(script, "HalfPipe", Scarce)
    assert await held(work, Update(ZERO, new, "refs/heads/x")) == NOTHING_HELD
    assert made[0].theirs == -1, "the pipe that was made is closed"
