"""Checks of the rows of profiles."""

from dataclasses import replace

from atoll.domain.ids import PERSONAL_ORG, OrgId
from atoll.domain.profile.profile import Profile
from atoll.ports import Store
from atoll.testing.samples import OWNER


async def check_profiles_are_kept_by_version(store: Store) -> None:
    first, second = Profile("profile.x", "1.0.0"), Profile("profile.x", "2.0.0")
    async with store.begin() as rows:
        await rows.profiles.save(PERSONAL_ORG, OWNER, first)
        await rows.profiles.save(PERSONAL_ORG, OWNER, second)
        await rows.profiles.save(PERSONAL_ORG, OWNER, replace(first, description="new"))
        found = await rows.profiles.all(PERSONAL_ORG)
        assert {(p.version, p.description) for p in found} == {
            ("1.0.0", "new"),
            ("2.0.0", ""),
        }
        assert await rows.profiles.all(OrgId("else")) == []
        assert await rows.profiles.delete(PERSONAL_ORG, "profile.x", "2.0.0") == 1
        assert await rows.profiles.delete(PERSONAL_ORG, "profile.x", None) == 1
        assert await rows.profiles.delete(PERSONAL_ORG, "profile.x", None) == 0
