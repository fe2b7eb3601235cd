"""Machines left behind: only those of sandboxes that are gone, whatever a vendor does."""

from dataclasses import replace

import pytest

from atoll.domain.errors import Failed, Unavailable
from atoll.domain.ids import SandboxId
from atoll.ports.extension import RentedPlace
from atoll.services.hosts.strays import Strays
from atoll.testing.samples import sandbox
from atoll.wire.words.hosts import MAX_STRAYS
from atoll.wire.words.sandboxes import State
from tests.services.scene import Scene, scene


class Renting:
    """An extension that only rents: the places it has, and those it cannot end."""

    def __init__(self, name: str, *places: RentedPlace) -> None:
        self.name = name
        self.places = list(places)
        self.stuck: set[str] = set()
        self.is_down = False

    async def rented(self) -> list[RentedPlace]:
        if self.is_down:
            raise Unavailable("the vendor does not answer")
        return list(self.places)

    async def end_rented(self, place: RentedPlace) -> bool:
        if place.id in self.stuck:
            raise Failed(f"machine {place.id} does not end")
        self.places.remove(place)
        return True


def place(name: str, of: str) -> RentedPlace:
    return RentedPlace(name, SandboxId(of), "sec_a")


async def kept(s: Scene, state: State) -> str:
    made = replace(sandbox(state.value), state=state)
    async with s.ground.store.begin() as rows:
        await rows.sandboxes.insert(made)
    return made.id


def strays(s: Scene, *renting: Renting) -> Strays:
    known = dict.fromkeys(("alias",), renting[0]) | {one.name: one for one in renting}
    return Strays(s.ground, known)  # type: ignore[arg-type]  # only what rents is looked at


async def test_machine_of_a_sandbox_that_is_not_destroyed_is_no_stray() -> None:
    async with scene(run=False) as s:
        ids = {state: await kept(s, state) for state in State}
        vendor = Renting("ext.v", *(place(state, of) for state, of in ids.items()))
        found = await strays(s, vendor).listed()
    assert [one.id for _, one in found.strays] == [State.DESTROYED]


async def test_vendor_that_is_down_and_machines_that_do_not_end_are_told() -> None:
    async with scene(run=False) as s:
        down = Renting("ext.down")
        down.is_down = True
        vendor = Renting("ext.v", *(place(f"m{n}", "sb_gone") for n in range(5)))
        vendor.stuck = {"m1", "m3"}
        done = await strays(s, down, vendor).end()
    assert done.ended == 3
    assert set(done.problems) == {
        "ext.down: the vendor does not answer",
        "machine m1 does not end",
        "machine m3 does not end",
    }
    assert [one.id for one in vendor.places] == ["m1", "m3"]


@pytest.mark.timeout(60)
async def test_thousands_of_strays_are_counted_and_ended() -> None:
    async with scene(run=False) as s:
        vendor = Renting("ext.v", *(place(f"m{n}", f"sb_{n}") for n in range(2_500)))
        found = await strays(s, vendor).listed()
        assert (found.count, len(found.strays)) == (2_500, MAX_STRAYS)
        done = await strays(s, vendor).end()
    assert (done.ended, vendor.places) == (2_500, [])
