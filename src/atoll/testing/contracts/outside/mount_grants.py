"""The contract of MountGrants.

Subclass `MountGrantsContract` in a test module, give it the fixture `grants` (there are none yet),
and implement `write`, which does what a person's command line does.
"""

from abc import ABC, abstractmethod
from datetime import UTC, datetime, timedelta

from atoll.ports.outside.mount_grants import MountGrants

MANY = [f"{number:032x}" for number in range(600)]


class MountGrantsContract(ABC):
    """Contract of grants: they are found with their age, and removed by name."""

    @abstractmethod
    def write(self, grants: MountGrants, name: str) -> None:
        """Write a grant now."""

    async def test_there_are_none_at_first(self, grants: MountGrants) -> None:
        assert list(await grants.find()) == []

    async def test_grant_is_found_with_the_time_of_its_writing(self, grants: MountGrants) -> None:
        self.write(grants, MANY[0])
        (grant,) = await grants.find()
        assert grant.name == MANY[0]
        assert abs(datetime.now(UTC) - grant.written_at) < timedelta(minutes=5)

    async def test_those_that_are_named_are_removed_and_no_other(self, grants: MountGrants) -> None:
        for name in MANY[:3]:
            self.write(grants, name)
        await grants.remove([MANY[0], MANY[2], MANY[5]])
        await grants.remove([MANY[0]])
        assert [grant.name for grant in await grants.find()] == [MANY[1]]

    async def test_many_are_removed_at_once(self, grants: MountGrants) -> None:
        for name in MANY:
            self.write(grants, name)
        await grants.remove(MANY)
        assert list(await grants.find()) == []
