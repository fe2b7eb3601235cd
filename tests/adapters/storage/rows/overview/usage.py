"""Checks of the rows of usage."""

from dataclasses import replace
from datetime import timedelta

import msgspec

from atoll.domain.event import sandbox_stream
from atoll.domain.ids import PERSONAL_ORG, OrgId, SandboxId
from atoll.domain.overview.usage import (
    COARSE,
    FINE,
    INSTALLATION,
    ConsumerUsage,
    DoorCounts,
    Gauges,
    UsageBucket,
    UsageRange,
    bucket_of,
)
from atoll.domain.projection import ModelState
from atoll.domain.sandboxes.consumer import EVERY_CONSUMER, ConsumerFilter
from atoll.domain.sandboxes.reported import AGENTS, ReportedAgent
from atoll.domain.sandboxes.sandbox import Consumer
from atoll.ports import Store
from atoll.ports.store.people.quotas import COMMAND
from atoll.testing.samples import NOW, OTHER, OWNER, sandbox
from atoll.wire.contract.agents import StatusRecord
from atoll.wire.words.sandboxes import State

ELSE = OrgId("else")
AT = bucket_of(NOW, FINE)
ONE = DoorCounts(requests=1, bytes_in=5, tokens_out=2**40, calls=1, tokens_cached=3)


async def check_buckets_sum_counts_and_hold_the_highest_standing(store: Store) -> None:
    first = UsageBucket(PERSONAL_ORG, AT, Gauges(3, 2, 1, 0), ONE)
    async with store.begin() as rows:
        await rows.usage.add(first, FINE)
        await rows.usage.add(replace(first, standing=Gauges(1, 4, 0, 0)), FINE)
        await rows.usage.add(replace(first, at=AT + FINE), FINE)
        await rows.usage.add(replace(first, at=bucket_of(NOW, COARSE)), COARSE)
        await rows.usage.add(replace(first, org_id=ELSE), FINE)
        await rows.usage.add(UsageBucket(INSTALLATION, AT, Gauges(), DoorCounts()), FINE)
    both = UsageBucket(PERSONAL_ORG, AT, Gauges(3, 4, 1, 0), ONE.plus(ONE))
    watched = UsageBucket(INSTALLATION, AT, Gauges(), DoorCounts())
    async with store.read() as rows:
        found = await rows.usage.buckets(PERSONAL_ORG, UsageRange(AT, AT + FINE, FINE))
        assert found == [watched, both]
        hour = bucket_of(NOW, COARSE)
        span = UsageRange(hour, hour + COARSE, COARSE)
        assert [one.at for one in await rows.usage.buckets(PERSONAL_ORG, span)] == [hour]


async def check_counts_of_a_sandbox_are_their_sum(store: Store) -> None:
    box = SandboxId("sb_counted")
    more = DoorCounts(1, 2, 3, 4, 5, 6, 7, 8)
    async with store.begin() as rows:
        assert await rows.usage.counts(box) == DoorCounts()
        for _ in range(2):
            await rows.usage.count(PERSONAL_ORG, box, more)
    async with store.read() as rows:
        assert await rows.usage.counts(box) == more.plus(more)
        assert await rows.usage.counts(SandboxId("sb_else")) == DoorCounts()


async def check_old_buckets_of_one_width_are_dropped(store: Store) -> None:
    old = UsageBucket(PERSONAL_ORG, bucket_of(NOW, COARSE), Gauges(), ONE)
    async with store.begin() as rows:
        for width in (FINE, COARSE):
            await rows.usage.add(old, width)
        await rows.usage.drop(FINE, old.at + FINE)
        assert await rows.usage.buckets(PERSONAL_ORG, UsageRange(old.at, NOW, FINE)) == []
        assert await rows.usage.buckets(PERSONAL_ORG, UsageRange(old.at, NOW, COARSE)) == [old]


async def check_standing_counts_what_runs_by_organization(store: Store) -> None:
    one, two = sandbox("one", number=1), sandbox("two", number=2)
    agents = [
        ReportedAgent(f"t_{status}", "codex", "tui", StatusRecord(status=status, since=""))
        for status in ("working", "idle", "stopped")
    ]
    state = ModelState(msgspec.json.encode(agents).decode(), 1)
    async with store.begin() as rows:
        await rows.sandboxes.insert(one)
        await rows.sandboxes.insert(replace(two, state=State.STOPPED))
        await rows.sandboxes.insert(replace(two, id=SandboxId("sb_else"), org_id=ELSE))
        for box in (one, two):
            await rows.projections.put(AGENTS.name, sandbox_stream(box.id), state)
        await rows.sessions.put(one, "t_1", NOW)
        await rows.sessions.put(one, f"{COMMAND}1", NOW)
    async with store.read() as rows:
        assert await rows.usage.standings() == {
            PERSONAL_ORG: Gauges(sandboxes=1, agents=2, working=1, sessions=1),
            ELSE: Gauges(sandboxes=1),
        }
        assert await rows.usage.standing(ELSE) == Gauges(sandboxes=1)
        mine = await rows.usage.standing(PERSONAL_ORG)
        assert mine == Gauges(sandboxes=1, agents=2, working=1, sessions=1)
        assert await rows.usage.standing(OrgId("org_none")) == Gauges()


async def check_buckets_of_a_day_ago_are_not_in_the_range(store: Store) -> None:
    old = UsageBucket(PERSONAL_ORG, AT - timedelta(days=1), Gauges(1, 0, 0, 0), ONE)
    async with store.begin() as rows:
        await rows.usage.add(old, FINE)
        assert await rows.usage.buckets(PERSONAL_ORG, UsageRange(AT, AT + FINE, FINE)) == []


async def check_usage_of_consumers_is_that_of_their_sandboxes(store: Store) -> None:
    run, session = Consumer(harness="nightly", run_id="r-1"), Consumer(harness="glas", job_id="j")
    boxes = [
        replace(sandbox("gone", number=1), consumer=run, state=State.DESTROYED),
        replace(sandbox("here", number=2), consumer=run, state=State.READY),
        replace(sandbox("new", number=3), consumer=session, state=State.STOPPED),
        replace(sandbox("alone", number=4), state=State.READY),
        replace(sandbox("theirs", owner=OTHER, number=5), consumer=run, state=State.READY),
    ]
    async with store.begin() as rows:
        for box in boxes:
            await rows.sandboxes.insert(box)
            if box is not boxes[2]:
                await rows.usage.count(PERSONAL_ORG, box.id, ONE)
    newest = ConsumerUsage("glas", None, None, "j", 1, 0, DoorCounts())
    older = ConsumerUsage("nightly", None, "r-1", None, 2, 1, ONE.plus(ONE))

    async def read(wanted: ConsumerFilter, limit: int = 9) -> list[ConsumerUsage]:
        async with store.read() as rows:
            return await rows.usage.consumers(PERSONAL_ORG, OWNER, wanted, limit=limit)

    assert await read(EVERY_CONSUMER) == [newest, older]
    assert await read(EVERY_CONSUMER, limit=1) == [newest]
    assert await read(ConsumerFilter(run_id="r-1")) == [older]
    assert await read(ConsumerFilter("glas", run_id="r-1")) == []
