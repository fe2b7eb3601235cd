"""Checks of the rows of hosts."""

from dataclasses import replace

from atoll.domain.hosts.host import Capacity, Host, HostId, HourlyCost
from atoll.domain.ids import PERSONAL_ORG
from atoll.ports import Store
from atoll.testing.samples import NOW, sandbox
from atoll.wire.words.hosts import HostKind, HostState
from atoll.wire.words.sandboxes import State


def host(name: str) -> Host:
    """Return a host of SSH with something in every field."""
    return Host(
        id=HostId(f"ho_{name}"),
        name=name,
        kind=HostKind.SSH,
        created_at=NOW,
        address=f"ssh://ada@{name}:2222",
        host_key="ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA",
        region="eu-1",
        labels=(("disk", "nvme"),),
        capacity=Capacity(50, 8.5, 65536),
        overcommit=1.5,
        cost_per_hour=HourlyCost(120_000, "EUR"),
        organization=PERSONAL_ORG,
        profile="profile.shell",
        state=HostState.DRAINING,
    )


async def check_hosts_come_back_by_name_as_they_were_put_last(store: Store) -> None:
    """A name is put once; to remove what is missing is no error."""
    one, two = host("a"), host("b")
    changed = replace(one, capacity=Capacity(), cost_per_hour=None)
    async with store.begin() as rows:
        for each in (two, one, changed):
            await rows.hosts.put(each)
    async with store.read() as rows:
        assert await rows.hosts.everything() == [changed, two]
    async with store.begin() as rows:
        await rows.hosts.remove("a")
        await rows.hosts.remove("a")
        assert await rows.hosts.everything() == [two]


async def check_sandboxes_of_a_host_are_found_by_state(store: Store) -> None:
    """A sandbox moves with a change of its host; destroyed ones are gone."""
    here = replace(sandbox("a"), host="box")
    stopped = replace(sandbox("b"), host="box", state=State.STOPPED)
    gone = replace(sandbox("c"), host="box", state=State.DESTROYED)
    elsewhere = sandbox("d")
    async with store.begin() as rows:
        for each in (stopped, here, gone, elsewhere):
            await rows.sandboxes.insert(each)
        assert await rows.hosts.sandboxes("box") == [here, stopped]
        assert await rows.hosts.sandboxes("box", [State.STOPPED, State.DESTROYED]) == [
            stopped,
            gone,
        ]
        assert await rows.hosts.sandboxes(elsewhere.host) == [elsewhere]
        moved = replace(here, host="other")
        await rows.sandboxes.update(moved)
        assert await rows.hosts.sandboxes("box") == [stopped]
        assert await rows.hosts.sandboxes("other") == [moved]
