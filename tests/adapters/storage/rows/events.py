"""Checks of the events that members of a team read, and of events that are given."""

from dataclasses import replace

from atoll.domain.event import Gap
from atoll.domain.ids import EVERY_MEMBER, PERSONAL_ORG, OrgId
from atoll.ports import EventQuery, Store
from atoll.testing.samples import OTHER, OWNER, draft, sandbox
from atoll.wire.words.sandboxes import Scope
from tests.adapters.storage.event_log import aged, append, gap, kept, remove


async def check_team_reads_its_organizations_and_shared_sandboxes_events_in_order(
    store: Store,
) -> None:
    shared = replace(sandbox("s", owner=OTHER), scope=Scope.SHARED)
    private = sandbox("p", owner=OTHER)
    async with store.begin() as rows:
        await rows.sandboxes.insert(shared)
        await rows.sandboxes.insert(private)
    theirs = f"sandbox:{shared.id}"
    drafts = [
        draft(1, stream=theirs, owner=OTHER),
        draft(1, stream="org:personal", owner=EVERY_MEMBER),
        draft(1, stream=f"sandbox:{private.id}", owner=OTHER),
        draft(1),
        draft(2, stream=theirs, owner=OTHER),
    ]
    await append(store, drafts)
    query = EventQuery(PERSONAL_ORG, OWNER, team=True)
    async with store.read() as rows:
        page = await rows.events.page(query)
        assert [one.stream for one in page] == [theirs, "org:personal", "auth", theirs]
        assert [one.position for one in page] == sorted(one.position for one in page)
        assert await rows.events.page(replace(query, limit=2)) == page[:2]
        assert await rows.events.page(replace(query, limit=2, latest=True)) == page[2:]
        alone = await rows.events.page(replace(query, team=False))
        assert [one.stream for one in alone] == ["auth"]
        only = await rows.events.page(replace(query, stream=theirs))
        assert [one.seq for one in only] == [1, 2]
        elsewhere = replace(query, org_id=OrgId("else"))
        assert await rows.events.page(elsewhere) == []
    assert await remove(store, theirs, below=2) == 1
    async with store.read() as rows:
        assert await rows.events.gap(query) == Gap(0, page[0].position)
        assert await rows.events.gap(replace(query, team=False)) is None


async def check_events_of_a_stream_are_given_with_what_was_removed(store: Store) -> None:
    await append(store, aged("s", 9, 8, 0))
    await append(store, [draft(4, stream="s", owner=OTHER), draft(1)])
    assert await remove(store, "s", days=5) == 2
    for _ in range(2):
        async with store.begin() as rows:
            await rows.events.give("s", OWNER, OTHER)
    assert await kept(store, "s") == []
    async with store.read() as rows:
        page = await rows.events.page(EventQuery(PERSONAL_ORG, OTHER, "s"))
        assert [one.seq for one in page] == [3, 4]
        assert len(await rows.events.page(EventQuery(PERSONAL_ORG, OWNER))) == 1
    assert await gap(store, 0, owner=OTHER) == Gap(0, 2)
    assert await gap(store, 0) is None
