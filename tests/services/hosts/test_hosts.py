"""The use cases of hosts: keys are pinned, names are kept, and what is in use stays."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

import pytest

from atoll.domain.errors import AtollError, Conflict, Failed, Invalid, NotFound, Unavailable
from atoll.domain.hosts.host import LOCAL, Capacity, HostCheck, HourlyCost
from atoll.domain.hosts.reading import fingerprint
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.wall.resources import Resources
from atoll.ports.host import Finding
from atoll.services.hosts.hosts import STREAM, Hosts, HostTraits, NewHost
from atoll.services.lifecycle.host_room import HostRoom
from atoll.services.sandboxes.settings import AdmissionSettings
from atoll.testing import FakeSshMachines
from atoll.testing.samples import sandbox
from atoll.wire.words.hosts import HostKind, HostState
from atoll.wire.words.sandboxes import State
from atoll.wiring.control.outside.hosts import evacuations_of
from tests.adapters.storage.rows.hosts.hosts import host as ssh_host
from tests.services.scene import Scene, scene

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAS36OZisKD2OHSgwnvTaGeeTaqB04Tu8MCN8vpYPRQN"
OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPAfv5jJ1KpyAofMqQxO7w5zX2s4CmiTRvCOkPHcRAyf"
RSA = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQ=="
BOX = NewHost("ssh://ada@box.example:2222")


@dataclass
class Desk:
    """Hosts over a scene, and the machines they look at."""

    scene: Scene
    machines: FakeSshMachines
    hosts: Hosts
    found: list[Finding] = field(default_factory=list)

    async def events(self) -> list[str]:
        found = await self.scene.events.list(LOCAL_PERSON, stream=STREAM)
        return [one.event_type for one in found]


@asynccontextmanager
async def desk() -> AsyncIterator[Desk]:
    async with scene(run=False) as s:
        machines = FakeSshMachines({"box.example": (RSA, KEY)}, {"box.example"})
        found: list[Finding] = []

        async def findings() -> tuple[Sequence[Finding], datetime]:
            return found, s.clock.now()

        room = HostRoom(Resources(cpu=1.0))
        leaving = evacuations_of(s.ground, {}, room, s.sandboxes, settings=AdmissionSettings(50))
        hosts = Hosts(
            s.ground,
            room,
            machines,
            findings=findings,
            evacuations=leaving,
            find_profile=s.profiles.get,
        )
        yield Desk(s, machines, hosts, found)


async def refused(kind: type[AtollError], desk: Desk, new: NewHost) -> AtollError:
    before = await desk.hosts.list()
    with pytest.raises(kind) as found:
        await desk.hosts.add(LOCAL_PERSON, new)
    assert await desk.hosts.list() == before
    return found.value


async def test_host_is_added_with_the_key_it_shows_and_named_after_its_machine() -> None:
    async with desk() as d:
        report, line = await d.hosts.add(LOCAL_PERSON, BOX)
        assert (report.host.name, report.host.host_key) == ("box", KEY)
        assert line.startswith("restrict ssh-ed25519 ")
        assert [one.host.name for one in await d.hosts.list()] == ["box", LOCAL]
        assert await d.hosts.get(report.host.id) == await d.hosts.get("box")
        assert await d.events() == ["host.added"]
        (event,) = await d.scene.events.list(LOCAL_PERSON, stream=STREAM)
        assert event.payload["fingerprint"] == fingerprint(KEY)


async def test_name_again_with_another_key_is_refused_and_the_pinned_one_stays() -> None:
    async with desk() as d:
        await d.hosts.add(LOCAL_PERSON, BOX)
        d.machines.keys["box.example"] = (OTHER,)
        error = await refused(Conflict, d, BOX)
        assert error.code == "host_key_changed"
        assert fingerprint(KEY) in error.message and fingerprint(OTHER) in error.message
        d.machines.keys["box.example"] = (KEY,)
        assert (await refused(Conflict, d, BOX)).code == "name_taken"
        assert (await d.hosts.get("box")).host.host_key == KEY
        assert await d.events() == ["host.added"]


async def test_fingerprint_must_be_that_of_a_key_it_shows() -> None:
    async with desk() as d:
        wrong = replace(BOX, fingerprint=fingerprint(OTHER))
        assert (await refused(Conflict, d, wrong)).code == "host_key_changed"
        report, _ = await d.hosts.add(LOCAL_PERSON, replace(BOX, fingerprint=fingerprint(RSA)))
        assert report.host.host_key == RSA


async def test_key_that_is_given_is_pinned_and_nobody_is_asked() -> None:
    async with desk() as d:
        d.machines.keys.clear()
        await refused(Unavailable, d, BOX)
        given = replace(BOX, host_key=f"box.example {KEY} root@box", name="mine")
        assert (await d.hosts.add(LOCAL_PERSON, given))[0].host.host_key == KEY
        unlike = replace(given, name="two", fingerprint=fingerprint(OTHER))
        await refused(Invalid, d, unlike)


async def test_wrong_addresses_and_names_add_nothing() -> None:
    async with desk() as d:
        for new in (
            NewHost("box.example"),
            replace(BOX, name="Box"),
            replace(BOX, name=LOCAL),
            replace(BOX, traits=HostTraits(region="a b")),
            replace(BOX, traits=HostTraits(organization="acme")),
            replace(BOX, traits=HostTraits(profile="nope")),
        ):
            await refused(Invalid, d, new)


async def test_traits_are_changed_one_by_one_and_taken_away_by_empty_texts() -> None:
    async with desk() as d:
        traits = HostTraits(
            region="eu-1",
            labels=(("disk", "nvme"),),
            capacity=Capacity(5, 4.0, 8192),
            overcommit=1.5,
            cost_per_hour=HourlyCost(120_000),
            organization="personal",
            profile="bare",
        )
        made = (await d.hosts.add(LOCAL_PERSON, replace(BOX, traits=traits)))[0].host
        assert (made.region, made.profile, made.organization) == (
            "eu-1",
            "profile.bare",
            "personal",
        )
        bare = HostTraits(region="", organization="", profile="", capacity=Capacity())
        changed = (await d.hosts.change(LOCAL_PERSON, "box", bare)).host
        assert not changed.dedicated and not changed.region
        assert (changed.labels, changed.overcommit) == ((("disk", "nvme"),), 1.5)
        assert (await d.hosts.change(LOCAL_PERSON, "box", HostTraits())).host == changed
        assert await d.events() == ["host.added", "host.changed"]


async def test_drain_and_undrain_are_told_once() -> None:
    async with desk() as d:
        for _ in range(2):
            report = await d.hosts.drain(LOCAL_PERSON, LOCAL)
            assert report.host.state is HostState.DRAINING
        assert (await d.hosts.undrain(LOCAL_PERSON, LOCAL)).host.state is HostState.ACTIVE
        assert await d.events() == ["host.drained", "host.undrained"]


async def test_host_with_sandboxes_stays_and_an_empty_one_goes() -> None:
    async with desk() as d:
        await d.hosts.add(LOCAL_PERSON, BOX)
        there = replace(sandbox("one"), host="box")
        async with d.scene.store.begin() as rows:
            await rows.sandboxes.insert(there)
        report = await d.hosts.get("box")
        assert (report.load.sandboxes, report.load.cpu, report.kept) == (1, 1.0, 0)
        with pytest.raises(Conflict) as used:
            await d.hosts.remove(LOCAL_PERSON, "box")
        assert used.value.code == "host_in_use"
        rests = replace(there, state=State.DESTROYING, leftovers=("files on host box",))
        async with d.scene.store.begin() as rows:
            await rows.sandboxes.update(rests)
        await d.hosts.remove(LOCAL_PERSON, "box")
        with pytest.raises(NotFound):
            await d.hosts.get("box")
        with pytest.raises(Conflict):
            await d.hosts.remove(LOCAL_PERSON, LOCAL)
        assert await d.events() == ["host.added", "host.removed"]


async def test_check_looks_at_the_machine_and_stores_nothing() -> None:
    async with desk() as d:
        await d.hosts.add(LOCAL_PERSON, BOX)
        assert (await d.hosts.check("box")).wall
        d.machines.keys["box.example"] = (OTHER,)
        changed = await d.hosts.check("box")
        assert (changed.key_unchanged, changed.wall) == (False, False)
        assert await d.hosts.check(LOCAL) == HostCheck(True, None, True)
        d.found += [Finding("a", "warn", "no cgroup", ""), Finding("b", "ok", "fine", "")]
        assert await d.hosts.check(LOCAL) == HostCheck(True, None, True, (), ("no cgroup",))
        d.found.append(Finding("c", "fail", "no wall", ""))
        assert (await d.hosts.check(LOCAL)).problems == ("no wall",)
        async with d.scene.store.begin() as rows:
            await rows.hosts.put(replace(ssh_host("desk"), kind=HostKind.DESKTOP))
        with pytest.raises(Failed):
            await d.hosts.check("desk")
