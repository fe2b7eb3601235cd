"""A watch over the working trees: their branches, counts and conflicts, reported when they change.

Git runs inside (`wire.git.trees`), after acts that may have changed something, once at a time.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec

from atoll.domain.errors import AtollError
from atoll.runtime.tasks import Tasks
from atoll.wire.contract.trees import TreeReport
from atoll.wire.git.trees import TREES, read_trees

log = logging.getLogger("atoll.runtime")

SECONDS: Final = 60.0
"""The time a look may take; larger trees are not reported."""

MAX_REPORT_BYTES: Final = 7_000
"""The bound on a report, below that of a journal entry. What is over it goes: names of files in
conflict first."""

RunScript = Callable[[str], Awaitable[bytes]]
"""Runs a script inside and returns what it prints; raises what a spawner does, and `OSError`."""

Record = Callable[[str, Mapping[str, object]], object]


class TreeWatch:
    """The watch of one sandbox."""

    def __init__(self, run: RunScript, tasks: Tasks, record: Record) -> None:
        self._run = run
        self._tasks = tasks
        self._record = record
        self._reported: tuple[TreeReport, ...] = ()
        self._running: asyncio.Task[None] | None = None
        self._again = False

    def look(self) -> None:
        """Look at the trees; never waits. A look that is asked for during another follows it."""
        if self._running is None or self._running.done():
            self._running = self._tasks.spawn(self._look(), "look at the trees")
        else:
            self._again = True

    async def _look(self) -> None:
        while True:
            self._again = False
            await self._report()
            if not self._again:
                return

    async def _report(self) -> None:
        try:
            async with asyncio.timeout(SECONDS):
                trees = read_trees(await self._run(TREES))
        except TimeoutError:
            log.warning("git did not describe the trees within %g s", SECONDS)
        except AtollError as error:
            log.warning("git could not describe the trees: %s", error.message)
        except OSError as error:
            log.warning("git could not describe the trees: %s", error.strerror)
        else:
            trees = fit(trees)
            if trees != self._reported:
                self._reported = trees
                self._record("git.tree", {"trees": msgspec.to_builtins(trees)})


def fit(trees: tuple[TreeReport, ...]) -> tuple[TreeReport, ...]:
    """Return the trees as a report can hold them: with fewer names of files, or fewer trees."""
    while len(msgspec.json.encode(trees)) > MAX_REPORT_BYTES:
        longest = max(range(len(trees)), key=lambda number: len(trees[number].files))
        tree = trees[longest]
        if not tree.files:
            trees = trees[:-1]
            continue
        names = tree.files[: len(tree.files) // 2]
        shorter = msgspec.structs.replace(
            tree, files=names, more=tree.more + len(tree.files) - len(names)
        )
        trees = (*trees[:longest], shorter, *trees[longest + 1 :])
    return trees
