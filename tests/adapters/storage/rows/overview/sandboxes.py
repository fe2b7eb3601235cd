"""Checks of the rows of every sandbox of an organization."""

from dataclasses import replace

from atoll.domain.ids import PERSONAL_ORG, OrgId, SandboxId
from atoll.domain.overview.usage import DoorCounts
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Store
from atoll.ports.store.overview.sandboxes import OverviewQuery
from atoll.testing.samples import OTHER, OWNER, sandbox
from atoll.wire.words.overview import SortKey
from atoll.wire.words.sandboxes import State

QUERY = OverviewQuery(PERSONAL_ORG)


async def _boxes(store: Store) -> list[Sandbox]:
    """Add sandboxes of two owners, and one of another organization."""
    made = [
        sandbox("Beta", number=1),
        replace(sandbox("alpha", owner=OTHER, number=2), state=State.STOPPED),
        replace(sandbox("a_c", number=3), state=State.FAILED),
        replace(sandbox("gone", number=4), state=State.DESTROYED),
    ]
    foreign = replace(sandbox("abroad", number=5), org_id=OrgId("else"))
    async with store.begin() as rows:
        for one in (*made, foreign):
            await rows.sandboxes.insert(one)
        await rows.usage.count(PERSONAL_ORG, made[1].id, DoorCounts(tokens_in=5, bytes_out=1))
        await rows.usage.count(PERSONAL_ORG, made[1].id, DoorCounts(tokens_out=6, requests=1))
        await rows.usage.count(PERSONAL_ORG, made[2].id, DoorCounts(bytes_in=7))
    return made


async def _names(store: Store, query: OverviewQuery) -> list[str]:
    async with store.read() as rows:
        return [one.sandbox.name for one in await rows.every_sandbox.page(query)]


async def check_every_owners_sandboxes_are_sorted_and_cut(store: Store) -> None:
    made = await _boxes(store)
    assert await _names(store, QUERY) == ["a_c", "alpha", "Beta"]
    assert await _names(store, replace(QUERY, offset=1, limit=1)) == ["alpha"]
    orders = {
        SortKey.NAME: ["a_c", "alpha", "Beta"],
        SortKey.OWNER: ["alpha", "Beta", "a_c"],
        SortKey.STATE: ["a_c", "Beta", "alpha"],
        SortKey.CREATED: ["Beta", "alpha", "a_c"],
    }
    for key, names in orders.items():
        found = await _names(store, replace(QUERY, sort=key, descending=False))
        if key is SortKey.OWNER:  # of one owner by id, which the names are part of
            assert found[0] == "alpha" and sorted(found[1:]) == ["Beta", "a_c"]
        else:
            assert found == names
    assert (await _names(store, replace(QUERY, sort=SortKey.TOKENS)))[0] == "alpha"
    assert (await _names(store, replace(QUERY, sort=SortKey.TRAFFIC)))[:2] == ["a_c", "alpha"]
    async with store.read() as rows:
        row = await rows.every_sandbox.get(PERSONAL_ORG, made[1].id)
        assert row is not None
        assert row.counts == DoorCounts(requests=1, tokens_in=5, tokens_out=6, bytes_out=1)
        assert await rows.every_sandbox.get(OrgId("else"), made[1].id) is None
        assert await rows.every_sandbox.get(PERSONAL_ORG, SandboxId("sb_\0")) is None


async def check_filters_find_what_they_say_and_nothing_of_others(store: Store) -> None:
    await _boxes(store)
    assert await _names(store, replace(QUERY, owner=OTHER)) == ["alpha"]
    assert await _names(store, replace(QUERY, text="BET")) == ["Beta"]
    # What SQL has wildcards for is looked for as it is.
    assert await _names(store, replace(QUERY, text="a_")) == ["a_c"]
    assert await _names(store, replace(QUERY, text="%")) == []
    gone = replace(QUERY, states=(State.DESTROYED, State.FAILED))
    assert await _names(store, gone) == ["gone", "a_c"]
    assert await _names(store, replace(QUERY, org_id=OrgId("none"))) == []
    async with store.read() as rows:
        assert await rows.every_sandbox.tally(gone) == {
            State.READY: 1,
            State.STOPPED: 1,
            State.FAILED: 1,
            State.DESTROYED: 1,
        }
        assert await rows.every_sandbox.tally(replace(QUERY, owner=OWNER, text="beta")) == {
            State.READY: 1
        }
