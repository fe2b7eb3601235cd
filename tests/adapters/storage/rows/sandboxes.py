"""Checks of the rows of sandboxes."""

from dataclasses import replace
from datetime import timedelta

import pytest

from atoll.domain.errors import Conflict
from atoll.domain.ids import PERSONAL_ORG, OrgId, SandboxId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.organization import Member
from atoll.domain.sandboxes.consumer import ConsumerFilter
from atoll.domain.sandboxes.sandbox import Consumer
from atoll.ports import IdempotencyRecord, SandboxQuery, Store
from atoll.testing.samples import NOW, OTHER, OWNER, sandbox
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole
from atoll.wire.words.sandboxes import Scope, State


async def check_sandbox_comes_back_as_it_was(store: Store) -> None:
    one = sandbox("one")
    async with store.begin() as rows:
        await rows.sandboxes.insert(one)
    async with store.read() as rows:
        assert await rows.sandboxes.get(one.id) == one
        assert await rows.sandboxes.named(PERSONAL_ORG, OWNER, "one") == one
        assert await rows.sandboxes.get(SandboxId("sb_none")) is None
        assert await rows.sandboxes.named(PERSONAL_ORG, OTHER, "one") is None
        assert await rows.sandboxes.named(OrgId("else"), OWNER, "one") is None


async def check_name_is_unique_among_the_owners_living(store: Store) -> None:
    one = sandbox("one")
    rival = replace(one, id=SandboxId("sb_rival"))
    async with store.begin() as rows:
        await rows.sandboxes.insert(one)
        await rows.sandboxes.insert(sandbox("one", owner=OTHER))
    with pytest.raises(Conflict):
        async with store.begin() as rows:
            await rows.sandboxes.insert(rival)
    async with store.begin() as rows:
        await rows.sandboxes.update(replace(one, state=State.DESTROYING))
        await rows.sandboxes.insert(rival)
    async with store.read() as rows:
        assert await rows.sandboxes.named(PERSONAL_ORG, OWNER, "one") == rival
        held = await rows.sandboxes.held(PERSONAL_ORG, OWNER)
        assert [holding.id for holding in held] == [rival.id]


async def check_pages_go_newest_first_and_hide_what_is_not_the_owners(store: Store) -> None:
    mine = [sandbox(f"n{number}", number=number) for number in range(5)]
    shared = replace(sandbox("s", owner=OTHER, number=9), scope=Scope.SHARED)
    gone = replace(sandbox("gone", number=10), state=State.DESTROYED)
    async with store.begin() as rows:
        for one in (*mine, shared, gone, sandbox("theirs", owner=OTHER)):
            await rows.sandboxes.insert(one)
    async with store.read() as rows:
        first = await rows.sandboxes.page(SandboxQuery(PERSONAL_ORG, OWNER, limit=3))
        assert [one.name for one in first] == ["s", "n4", "n3"]
        before = (first[-1].created_at, first[-1].id)
        rest = await rows.sandboxes.page(SandboxQuery(PERSONAL_ORG, OWNER, before=before, limit=9))
        assert [one.name for one in rest] == ["n2", "n1", "n0"]
        only = SandboxQuery(PERSONAL_ORG, OWNER, (State.DESTROYED,))
        assert await rows.sandboxes.page(only) == [gone]
        assert len(await rows.sandboxes.unfinished()) == 7


async def check_archived_are_a_page_of_their_own(store: Store) -> None:
    away, here = sandbox("away"), sandbox("here", number=1)
    async with store.begin() as rows:
        for one in (away, here):
            await rows.sandboxes.insert(one)
        await rows.sandboxes.update(replace(away, archived_at=NOW))
    async with store.read() as rows:
        names = [
            [one.name for one in await rows.sandboxes.page(query)]
            for query in (
                SandboxQuery(PERSONAL_ORG, OWNER),
                SandboxQuery(PERSONAL_ORG, OWNER, archived=False),
                SandboxQuery(PERSONAL_ORG, OWNER, archived=True),
            )
        ]
    assert names == [["here", "away"], ["here"], ["away"]]


async def check_consumers_have_pages_of_their_own(store: Store) -> None:
    run = Consumer(ActorKind.AUTOMATION, "nightly", run_id="r-1")
    made = {
        "first": run,
        "second": run,
        "other-run": replace(run, run_id="r-2"),
        "other-harness": replace(run, harness="daily"),
        "session": replace(run, run_id=None, session_id="r-1"),
        "alone": Consumer(),
    }
    async with store.begin() as rows:
        for number, (name, consumer) in enumerate(made.items()):
            await rows.sandboxes.insert(replace(sandbox(name, number=number), consumer=consumer))
        await rows.sandboxes.insert(replace(sandbox("first", owner=OTHER), consumer=run))

    async def names(consumers: ConsumerFilter) -> list[str]:
        query = SandboxQuery(PERSONAL_ORG, OWNER, consumers=consumers)
        async with store.read() as rows:
            return [each.name for each in await rows.sandboxes.page(query)]

    assert await names(ConsumerFilter("nightly", run_id="r-1")) == ["second", "first"]
    assert await names(ConsumerFilter("nightly", session_id="r-1")) == ["session"]
    assert await names(ConsumerFilter(run_id="r-1")) == ["other-harness", "second", "first"]
    assert await names(ConsumerFilter("nightly")) == ["session", "other-run", "second", "first"]
    for nothing in ("' OR 1=1 --", "night%", "NIGHTLY"):
        assert await names(ConsumerFilter(nothing)) == []
    assert await names(ConsumerFilter(job_id="r-1")) == []


async def check_unfinished_are_everybodys_or_an_organizations_or_an_owners(store: Store) -> None:
    mine = [sandbox("b", number=2), sandbox("a", number=1)]
    theirs = sandbox("c", owner=OTHER)
    gone = replace(sandbox("gone"), state=State.DESTROYED)
    elsewhere = replace(sandbox("e", number=3), id=SandboxId("sb_e"), org_id=OrgId("else"))
    async with store.begin() as rows:
        for one in (*mine, theirs, gone, elsewhere):
            await rows.sandboxes.insert(one)
    async with store.read() as rows:
        assert await rows.sandboxes.unfinished() == [theirs, *reversed(mine), elsewhere]
        assert await rows.sandboxes.unfinished(PERSONAL_ORG) == [theirs, *reversed(mine)]
        assert await rows.sandboxes.unfinished(PERSONAL_ORG, OWNER) == list(reversed(mine))
        assert await rows.sandboxes.unfinished(OrgId("else"), OTHER) == []


async def check_sandbox_is_given_to_another_owner_unless_the_name_is_taken(store: Store) -> None:
    one = sandbox("one")
    async with store.begin() as rows:
        await rows.sandboxes.insert(one)
        await rows.sandboxes.update(replace(one, owner=OTHER))
    async with store.read() as rows:
        assert await rows.sandboxes.named(PERSONAL_ORG, OTHER, "one") == replace(one, owner=OTHER)
        assert await rows.sandboxes.named(PERSONAL_ORG, OWNER, "one") is None
    rival = replace(sandbox("one"), id=SandboxId("sb_rival"))
    async with store.begin() as rows:
        await rows.sandboxes.insert(rival)
    with pytest.raises(Conflict) as caught:
        async with store.begin() as rows:
            await rows.sandboxes.update(replace(rival, owner=OTHER))
    assert caught.value.code == "name_taken"


async def check_ownerless_are_those_of_who_is_no_member(store: Store) -> None:
    member = Member(PERSONAL_ORG, OWNER, ActorKind.PERSON, "Ann", "", OrgRole.OWNER, (), since=NOW)
    left = [sandbox("a", owner=OTHER), sandbox("b", owner=OTHER, number=1)]
    gone = replace(sandbox("gone", owner=OTHER), state=State.DESTROYED)
    elsewhere = replace(sandbox("e", owner=OTHER), org_id=OrgId("else"))
    async with store.begin() as rows:
        await rows.members.put(member)
        for one in (*left, gone, elsewhere, sandbox("mine")):
            await rows.sandboxes.insert(one)
    async with store.read() as rows:
        first = await rows.sandboxes.ownerless(PERSONAL_ORG, PageQuery(1))
        assert first.rows == left[:1]
        last = await rows.sandboxes.ownerless(PERSONAL_ORG, PageQuery(1, first.following))
        assert last == RowPage(left[1:])


async def check_idempotency_keys_belong_to_their_owner_and_are_forgotten(store: Store) -> None:
    record = IdempotencyRecord("digest", SandboxId("sb_a"), NOW)
    async with store.begin() as rows:
        await rows.idempotency.put(PERSONAL_ORG, OWNER, key="k", record=record)
        await rows.idempotency.put(PERSONAL_ORG, OWNER, key="k", record=record)
        assert await rows.idempotency.get(PERSONAL_ORG, OWNER, "k") == record
        assert await rows.idempotency.get(PERSONAL_ORG, OTHER, "k") is None
        await rows.idempotency.forget(NOW + timedelta(seconds=1))
        assert await rows.idempotency.get(PERSONAL_ORG, OWNER, "k") is None
