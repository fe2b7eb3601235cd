"""Check of the rows of the background that each person works on."""

from atoll.domain.ids import PERSONAL_ORG, OrgId
from atoll.ports import Store
from atoll.testing.samples import OTHER, OWNER
from atoll.wire.words.terminals import Shade


async def check_background_is_one_a_person_and_can_be_forgotten(store: Store) -> None:
    async with store.begin() as rows:
        assert await rows.shades.get(PERSONAL_ORG, OWNER) is None
        await rows.shades.put(PERSONAL_ORG, OWNER, Shade.DARK)
        await rows.shades.put(PERSONAL_ORG, OWNER, Shade.LIGHT)
    async with store.begin() as rows:
        assert await rows.shades.get(PERSONAL_ORG, OWNER) is Shade.LIGHT
        assert await rows.shades.get(PERSONAL_ORG, OTHER) is None
        assert await rows.shades.get(OrgId("else"), OWNER) is None
        await rows.shades.put(PERSONAL_ORG, OWNER, None)
        assert await rows.shades.get(PERSONAL_ORG, OWNER) is None
