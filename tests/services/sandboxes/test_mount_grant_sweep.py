"""Grants of mounts end with their sandboxes, and those that were left behind end, too."""

from datetime import timedelta

from atoll.domain.files.host_mount import HostMount
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.services.sandboxes.mount_grant_sweep import UNNAMED_LIFE, MountGrantSweep
from atoll.testing import FakeMountGrants
from tests.services.scene import Scene, scene

ONE, TWO, OLD, YOUNG = ("1" * 32, "2" * 32, "3" * 32, "4" * 32)


def mount(grant: str) -> tuple[HostMount, ...]:
    return (HostMount("/srv/data", "/mnt/data", False, grant, False),)


async def mounted(s: Scene, name: str, grant: str) -> str:
    return (await s.ready(name=name, mounts=mount(grant))).id


async def test_grant_goes_with_its_last_sandbox_and_those_left_behind_after_a_day() -> None:
    async with scene() as s:
        grants = FakeMountGrants()
        sweep = MountGrantSweep(s.ground, grants)
        now = s.clock.now()
        for name in (ONE, TWO, YOUNG):
            grants.write(name, now)
        grants.write(OLD, now - UNNAMED_LIFE)
        first, second = await mounted(s, "a", ONE), await mounted(s, "b", ONE)
        other = await mounted(s, "c", TWO)
        await sweep.sweep(grants)
        assert {*grants.written} == {ONE, TWO, YOUNG}
        await s.sandboxes.destroy(LOCAL_PERSON, first)
        await s.sandboxes.wait(LOCAL_PERSON, first, settled=True)
        await s.sandboxes.stop(LOCAL_PERSON, other)
        await s.sandboxes.wait(LOCAL_PERSON, other, settled=True)
        await sweep.sweep(grants)
        assert {*grants.written} == {ONE, TWO, YOUNG}
        await s.sandboxes.destroy(LOCAL_PERSON, second)
        await s.sandboxes.wait(LOCAL_PERSON, second, settled=True)
        await sweep.sweep(grants)
        assert {*grants.written} == {TWO, YOUNG}
        # A control plane that saw none of this: what stands is cleaned up by its age.
        grants.written[ONE] = now - UNNAMED_LIFE - timedelta(seconds=1)
        await MountGrantSweep(s.ground, grants).sweep(grants)
        assert {*grants.written} == {TWO, YOUNG}
