"""Grants of a home, and those in memory, pass the contract."""

import os
from collections.abc import AsyncIterator, Iterator

import pytest

from atoll.adapters.zygote.mount_grants import HomeGrants
from atoll.domain.errors import Unavailable
from atoll.ports.outside.mount_grants import MountGrants
from atoll.testing import FakeMountGrants, MountGrantsContract
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig(os.geteuid()) as running:
        running.home.grants.mkdir(mode=0o755)
        yield running


class TestHomeGrants(MountGrantsContract):
    """The adapter, with a real zygote."""

    @pytest.fixture
    async def grants(self, rig: ZygoteRig) -> AsyncIterator[HomeGrants]:
        made = HomeGrants(rig.home.root)
        yield made
        await made.close()
        for one in rig.home.grants.iterdir():
            one.unlink()

    def write(self, grants: MountGrants, name: str) -> None:
        assert isinstance(grants, HomeGrants)
        (grants.home / "grants" / name).write_text("{}")

    async def test_file_of_another_name_is_none(self, grants: HomeGrants) -> None:
        for name in ("README", "0" * 31, "F" * 32):
            self.write(grants, name)
        assert list(await grants.find()) == []


class TestFakeMountGrants(MountGrantsContract):
    """The fake."""

    @pytest.fixture
    def grants(self) -> FakeMountGrants:
        return FakeMountGrants()

    def write(self, grants: MountGrants, name: str) -> None:
        assert isinstance(grants, FakeMountGrants)
        grants.write(name)


async def test_grants_stay_while_no_zygote_answers(rig: ZygoteRig) -> None:
    elsewhere = HomeGrants(rig.home.root / "nowhere")
    assert list(await elsewhere.find()) == []
    with pytest.raises(Unavailable):
        await elsewhere.remove(["0" * 32])
