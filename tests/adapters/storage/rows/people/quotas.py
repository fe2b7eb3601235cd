"""Checks of the rows of quotas, and of the sessions that they count."""

from datetime import timedelta

from atoll.domain.ids import PERSONAL_ORG, OrgId
from atoll.domain.quota import Quota
from atoll.ports import Store
from atoll.ports.store.people.quotas import COMMAND
from atoll.testing.samples import NOW, OTHER, OWNER, sandbox

SMALL = Quota(sandboxes=2, cpu=1.5)


async def check_quotas_of_members_and_of_the_organization(store: Store) -> None:
    async with store.begin() as rows:
        assert await rows.quotas.get(PERSONAL_ORG, None) is None
        await rows.quotas.put(PERSONAL_ORG, None, Quota(sandboxes=9))
        await rows.quotas.put(PERSONAL_ORG, OWNER, SMALL)
        await rows.quotas.put(PERSONAL_ORG, OWNER, SMALL)
        assert await rows.quotas.get(PERSONAL_ORG, None) == Quota(sandboxes=9)
        assert await rows.quotas.get(PERSONAL_ORG, OTHER) is None
        assert await rows.quotas.members(PERSONAL_ORG) == {OWNER: SMALL}
        assert await rows.quotas.members(OrgId("else")) == {}
        await rows.quotas.put(PERSONAL_ORG, OWNER, Quota())
    async with store.read() as rows:
        assert await rows.quotas.get(PERSONAL_ORG, OWNER) is None
        assert await rows.quotas.get(PERSONAL_ORG, None) == Quota(sandboxes=9)


async def check_sessions_are_counted_until_they_end(store: Store) -> None:
    one, two = sandbox("one", number=1), sandbox("two", number=2)
    async with store.begin() as rows:
        for number in ("t_1", "t_2", "t_1"):
            await rows.sessions.put(one, number, NOW)
        await rows.sessions.put(two, "t_1", NOW)
        assert await rows.sessions.count(PERSONAL_ORG, OWNER) == 3
        assert await rows.sessions.count(PERSONAL_ORG, None) == 3
        assert await rows.sessions.count(PERSONAL_ORG, OTHER) == 0
        assert await rows.sessions.count(OrgId("else"), None) == 0
        await rows.sessions.remove(one.id, "t_2")
        await rows.sessions.remove(one.id, "t_none")
        assert await rows.sessions.count(PERSONAL_ORG, OWNER) == 2
        await rows.sessions.forget("t_", NOW)
        await rows.sessions.forget("tx", NOW + timedelta(days=1))
        await rows.sessions.forget("t%", NOW + timedelta(days=1))
        assert await rows.sessions.count(PERSONAL_ORG, OWNER) == 2
        await rows.sessions.put(one, "opening_1", NOW)
        await rows.sessions.forget("opening_", NOW + timedelta(seconds=1))
        assert await rows.sessions.count(PERSONAL_ORG, OWNER) == 2
        await rows.sessions.put(one, f"{COMMAND}1", NOW)
        assert await rows.sessions.of(one.id) == {"t_1", f"{COMMAND}1"}
        assert await rows.sessions.count(PERSONAL_ORG, OWNER) == 2
        await rows.sessions.clear(one.id)
        assert await rows.sessions.of(one.id) == frozenset()
        assert await rows.sessions.count(PERSONAL_ORG, OWNER) == 1
