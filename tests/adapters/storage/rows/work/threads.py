"""Checks of the rows of review threads."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.ids import PERSONAL_ORG, SandboxId, TerminalId
from atoll.domain.work.anchor import Anchor
from atoll.domain.work.thread import (
    Author,
    Remark,
    RemarkId,
    Resolution,
    ReviewThread,
    ThreadId,
    ThreadSending,
)
from atoll.ports import Store
from atoll.testing.samples import NOW, OWNER
from atoll.wire.words.library import Side

ONE, TWO = SandboxId("sb_1"), SandboxId("sb_2")
ANN = Author(OWNER, "Ann")


def thread(number: int, *, box: SandboxId = ONE, second: int = 0) -> ReviewThread:
    """Return a thread of `OWNER`, opened at a second."""
    remark = Remark(RemarkId(f"rmk_{number}"), ANN, "What about\nthis? \u00e9\U0001f600", NOW)
    return ReviewThread(
        id=ThreadId(f"thr_{box}_{number}"),
        sandbox_id=box,
        org_id=PERSONAL_ORG,
        anchor=Anchor(0, "src/a.py", Side.OLD, 3, ("x = '\t\"\\'", "")),
        opened_at=NOW + timedelta(seconds=second),
        remarks=(remark,),
    )


async def check_threads_of_a_sandbox_are_listed_from_the_oldest(store: Store) -> None:
    """Those of one moment are in the order of their ids."""
    made = [thread(1), thread(2, second=1), thread(3, second=1), thread(4, second=2)]
    async with store.begin() as rows:
        for one in (*reversed(made), thread(1, box=TWO)):
            await rows.review_threads.put(one)
    async with store.read() as rows:
        assert await rows.review_threads.of_sandbox(ONE) == made
        assert await rows.review_threads.count(ONE) == 4
        assert await rows.review_threads.of_sandbox(SandboxId("sb_3")) == []
        assert await rows.review_threads.count(SandboxId("sb_3")) == 0


async def check_thread_is_changed_and_removed_in_its_own_sandbox_alone(store: Store) -> None:
    """A thread of another sandbox is not found by its id."""
    one, other = thread(1), thread(2, box=TWO)
    sending = ThreadSending(ANN, TerminalId("t_1"), "codex", NOW)
    whole = replace(one, resolved=Resolution(ANN, NOW), sent=sending)
    async with store.begin() as rows:
        for row in (one, other, whole):
            await rows.review_threads.put(row)
        await rows.review_threads.remove(ONE, other.id)
    async with store.begin() as rows:
        assert await rows.review_threads.get(ONE, one.id) == whole
        assert await rows.review_threads.get(ONE, other.id) is None
        assert await rows.review_threads.get(TWO, other.id) == other
        await rows.review_threads.remove(ONE, one.id)
        await rows.review_threads.remove(ONE, one.id)
        assert await rows.review_threads.get(ONE, one.id) is None


async def check_threads_go_with_their_sandbox(store: Store) -> None:
    """Those of other sandboxes stay."""
    async with store.begin() as rows:
        for one in (thread(1), thread(2), thread(1, box=TWO)):
            await rows.review_threads.put(one)
        await rows.review_threads.remove_of(ONE)
        await rows.review_threads.remove_of(ONE)
    async with store.read() as rows:
        assert await rows.review_threads.of_sandbox(ONE) == []
        assert await rows.review_threads.of_sandbox(TWO) == [thread(1, box=TWO)]
