import asyncio
from pathlib import Path

from structlog.testing import capture_logs

from atoll.adapters.extensions.in_memory import InMemory
from atoll.adapters.repos.copies import Copies
from atoll.domain.errors import Unavailable

BARE = Path("/repos/r.git")


class Mirroring(InMemory):
    """An extension whose copies take as long as a test wants."""

    def __init__(self, called: str = "ext.mirroring") -> None:
        super().__init__(called=called)
        self.begun: list[str] = []
        self.at_work = asyncio.Event()
        self.release = asyncio.Event()
        self.failure: Unavailable | None = None

    async def refresh(self, source: str) -> None:
        self.begun.append(source)
        self.at_work.set()
        await self.release.wait()
        if self.failure is not None:
            raise self.failure


def copies_of(*extensions: InMemory, wait_seconds: float = 5.0) -> Copies:
    return Copies({str(number): one for number, one in enumerate(extensions)}, wait_seconds)


async def test_refresh_ends_when_every_copy_has_it() -> None:
    mirroring = Mirroring()
    copies = copies_of(InMemory(), mirroring)
    mirroring.release.set()
    await copies.refresh(BARE)
    assert mirroring.begun == [str(BARE)]
    await copies_of(InMemory()).refresh(BARE)


async def test_changes_meanwhile_are_brought_by_one_more_refresh() -> None:
    mirroring = Mirroring()
    copies = copies_of(mirroring)
    async with asyncio.TaskGroup() as group:
        group.create_task(copies.refresh(BARE))
        await mirroring.at_work.wait()
        later = [group.create_task(copies.refresh(BARE)) for _ in range(5)]
        await asyncio.sleep(0)
        assert len(mirroring.begun) == 1 and not any(task.done() for task in later)
        mirroring.release.set()
    assert len(mirroring.begun) == 2


async def test_machine_that_hangs_holds_nobody_up_and_is_still_tried() -> None:
    slow, quick = Mirroring("ext.slow"), Mirroring()
    quick.release.set()
    copies = copies_of(slow, quick, wait_seconds=0.05)
    await copies.refresh(BARE)
    assert slow.begun == quick.begun == [str(BARE)]
    slow.release.set()
    await copies.refresh(BARE)
    assert len(slow.begun) == 2
    slow.release.clear()
    await copies.refresh(BARE)
    await copies.close()
    assert not copies._tasks


async def test_machine_that_is_away_is_logged_and_tried_at_the_next_change() -> None:
    mirroring = Mirroring()
    mirroring.release.set()
    mirroring.failure = Unavailable("the machine is away")
    copies = copies_of(mirroring)
    with capture_logs() as logs:
        await copies.refresh(BARE)
    assert [(one["event"], one["why"]) for one in logs] == [
        ("copy_not_refreshed", "the machine is away")
    ]
    mirroring.failure = None
    await copies.refresh(BARE)
    assert len(mirroring.begun) == 2
