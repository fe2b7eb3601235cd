"""Checks of the rows of linked desktops."""

from dataclasses import replace

from atoll.domain.ids import PERSONAL_ORG, DesktopId, OrgId, PrincipalId
from atoll.domain.wall.isolation import Isolation
from atoll.domain.workers.desktop import Desktop
from atoll.ports import Store
from atoll.testing.samples import NOW
from atoll.wire.words.walls import IsolationLevel

ADA = PrincipalId("ada")
HERE, THERE = DesktopId("dk_a"), DesktopId("dk_b")


def desktop(desktop_id: DesktopId = HERE, name: str = "laptop") -> Desktop:
    """Return a desktop with something in every field."""
    wall = Isolation(IsolationLevel.CONTAINER, "bubblewrap", ("memory: no limit",), 7, "c")
    return Desktop(desktop_id, PERSONAL_ORG, ADA, name, NOW, NOW, wall)


async def check_desktops_are_listed_by_name_for_their_owner(store: Store) -> None:
    """Every field comes back."""
    mine = [desktop(THERE, "box"), desktop()]
    async with store.begin() as rows:
        for one in (*mine, replace(desktop(DesktopId("dk_c")), owner=PrincipalId("bob"))):
            await rows.desktops.put(replace(one, heard_at=None, isolation=None))
            await rows.desktops.put(one)
    async with store.begin() as rows:
        assert await rows.desktops.of(PERSONAL_ORG, ADA) == mine
        assert await rows.desktops.of(OrgId("else"), ADA) == []
        assert await rows.desktops.get(HERE) == desktop()
        for _ in range(2):
            await rows.desktops.remove(HERE)
    async with store.read() as rows:
        assert await rows.desktops.get(HERE) is None
