"""The watch over the working trees: what it reports, and when."""

import asyncio
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from atoll.domain.errors import Unavailable
from atoll.runtime.files.script import InsideScripts
from atoll.runtime.files.tree_watch import MAX_REPORT_BYTES, TreeWatch, fit
from atoll.runtime.spawners.local import local
from atoll.runtime.tasks import Tasks
from atoll.wire.contract.trees import TreeReport
from atoll.wire.words.library import ConflictKind

ENV = (("PATH", os.environ["PATH"]), ("HOME", "/nonexistent"))
BRANCH = b"/workspace\0fix\0h\x000\x000\x000\x000\0\0\0\x000\0\0"
OTHER = BRANCH.replace(b"fix", b"other")


class Scripts:
    """Scripts of which each run waits for what it prints."""

    def __init__(self) -> None:
        self.outputs: asyncio.Queue[bytes | Exception] = asyncio.Queue()
        self.runs = 0

    async def __call__(self, script: str) -> bytes:
        self.runs += 1
        output = await self.outputs.get()
        if isinstance(output, Exception):
            raise output
        return output


class Reports:
    def __init__(self) -> None:
        self.branches: asyncio.Queue[list[str]] = asyncio.Queue()

    def __call__(self, kind: str, payload: Mapping[str, object]) -> None:
        assert kind == "git.tree"
        trees = payload["trees"]
        assert isinstance(trees, list | tuple)
        self.branches.put_nowait([tree["branch"] for tree in trees])


async def test_trees_are_reported_when_they_changed() -> None:
    scripts, reports = Scripts(), Reports()
    async with Tasks() as tasks:
        watch = TreeWatch(scripts, tasks, reports)
        for output in (BRANCH, BRANCH, Unavailable("gone"), OTHER):
            scripts.outputs.put_nowait(output)
            watch.look()
            running = watch._running
            assert running is not None
            await running
    assert [reports.branches.get_nowait() for _ in range(2)] == [["fix"], ["other"]]
    assert reports.branches.empty()


async def test_looks_during_a_look_become_one_that_follows() -> None:
    scripts, reports = Scripts(), Reports()
    async with Tasks() as tasks:
        watch = TreeWatch(scripts, tasks, reports)
        watch.look()
        await asyncio.sleep(0)
        for _ in range(3):
            watch.look()
        scripts.outputs.put_nowait(BRANCH)
        scripts.outputs.put_nowait(OTHER)
        assert await reports.branches.get() == ["fix"]
        assert await reports.branches.get() == ["other"]
    assert scripts.runs == 2


async def test_real_repository_is_described(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-qb", "main", str(tmp_path)], check=True)
    reports = Reports()
    async with local(tmp_path) as spawner, Tasks() as tasks:
        scripts = InsideScripts(spawner, ENV, str(tmp_path))
        TreeWatch(scripts.printed, tasks, reports).look()
        assert await reports.branches.get() == ["main"]


def test_report_fits_a_journal_entry() -> None:
    long = TreeReport("/w", conflict=ConflictKind.MERGE, files=("x" * 900,) * 12, more=3)
    (tree,) = fit((long,))
    assert (len(tree.files), tree.more) == (6, 9)
    many = fit(tuple(TreeReport("/" + "y" * 4000) for _ in range(3)))
    assert len(many) == 1 < MAX_REPORT_BYTES
