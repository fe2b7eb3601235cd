"""Checks of the rows of wakings."""

from dataclasses import replace

from atoll.domain.ids import PERSONAL_ORG, OrgId, SandboxId
from atoll.domain.tools.change import WatchedChange
from atoll.domain.tools.waking import Wake, Waking
from atoll.ports import Store
from atoll.testing.samples import NOW, sandbox

CHANGE = WatchedChange("gha/run/acme/app/7", "gha.run.completed", "failure", 12)
QUIET = Waking(("gha/run/*",))
WAITS = Waking(
    ("gha/run/*", "hr/*"),
    (CHANGE,),
    unnamed=3,
    untold=4,
    began_at=NOW,
    changed_at=NOW,
    woken_at=(NOW,),
    wake=Wake("wake_1", (CHANGE,), 3),
)


async def check_waking_comes_back_as_it_was(store: Store) -> None:
    """A waking is stored, replaced, listed with those of its organization, and removed."""
    one, other = sandbox("one"), replace(sandbox("two"), org_id=OrgId("else"))
    async with store.begin() as rows:
        await rows.wakings.put(one, QUIET)
        await rows.wakings.put(one, WAITS)
        await rows.wakings.put(other, QUIET)
    async with store.read() as rows:
        assert await rows.wakings.get(one.id) == WAITS
        assert await rows.wakings.get(SandboxId("sb_none")) is None
        assert await rows.wakings.of(PERSONAL_ORG) == {one.id: WAITS}
        assert await rows.wakings.waiting() == [one.id]
    async with store.begin() as rows:
        await rows.wakings.remove(one.id)
        await rows.wakings.remove(one.id)
        assert await rows.wakings.waiting() == []
        assert await rows.wakings.get(one.id) is None
        assert await rows.wakings.of(OrgId("else")) == {other.id: QUIET}


async def check_position_of_wakings_is_kept(store: Store) -> None:
    """The position is none at first, then the last one, and no waking."""
    async with store.begin() as rows:
        assert await rows.wakings.position() is None
        await rows.wakings.set_position(7)
        await rows.wakings.set_position(9)
        assert await rows.wakings.position() == 9
        assert await rows.wakings.of(OrgId("")) == {}
        assert await rows.wakings.waiting() == []
