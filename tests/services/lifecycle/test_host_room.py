"""Room on hosts, taken in the transaction that admits a sandbox, on both databases."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from atoll.adapters.extensions.in_memory import InMemory
from atoll.domain.errors import Conflict, NoRoute
from atoll.domain.hosts.host import LOCAL_HOST, Capacity, Host
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox
from atoll.domain.wall.resources import Resources
from atoll.ports import Capabilities
from atoll.wire.words.hosts import HostKind, HostState
from atoll.wire.words.sandboxes import State
from atoll.wire.words.walls import IsolationLevel
from tests.adapters.storage.rows.hosts.hosts import host as ssh_host
from tests.peers.databases.chosen import on_postgres
from tests.services.scene import BARE, Scene, scene

PLACED = BARE.replace("bare", "placed") + "placement: {prefer: [box], fallback: [local]}\n"


@pytest.fixture(params=["sqlite", "postgres"])
def _each_database(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.param == "sqlite":
        yield
        return
    with on_postgres(request.getfixturevalue("postgres")):
        yield


async def keep(s: Scene, *hosts: Host) -> None:
    """Store hosts, as an administrator changed or added them."""
    async with s.store.begin() as rows:
        for one in hosts:
            await rows.hosts.put(one)


def bounded(count: int) -> Host:
    return replace(LOCAL_HOST, capacity=Capacity(sandboxes=count))


async def refused(s: Scene, **request: object) -> Conflict:
    with pytest.raises(Conflict) as found:
        await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="bare", **request))  # type: ignore[arg-type]
    assert found.value.code == "no_route"
    return found.value


@pytest.mark.usefixtures("_each_database")
async def test_80_creates_at_once_against_capacity_20_give_20() -> None:
    async with scene(max_sandboxes=1000, run=False) as s:
        await keep(s, bounded(20))

        async def create(number: int) -> Sandbox:
            request = CreateSandbox(profile="bare", name=f"n{number}")
            return await s.sandboxes.create(LOCAL_PERSON, request)

        made = await asyncio.gather(*map(create, range(80)), return_exceptions=True)
        admitted = [one for one in made if isinstance(one, Sandbox)]
        assert len(admitted) == 20
        assert {one.host for one in admitted} == {"local"}
        others = [one for one in made if not isinstance(one, Sandbox)]
        assert {type(one) for one in others} == {NoRoute}
        assert "ext.in-memory on local: it holds 20 sandboxes of 20" in str(others[0])
        async with s.store.read() as rows:
            assert len(await rows.hosts.sandboxes("local")) == 20


async def test_stopped_sandbox_gives_its_room_and_needs_it_again_to_start() -> None:
    async with scene() as s:
        await keep(s, bounded(1))
        one = await s.ready(name="one")
        await refused(s, name="two")
        await s.sandboxes.stop(LOCAL_PERSON, one.id)
        await s.until(one, State.STOPPED)
        two = await s.ready(name="two")
        with pytest.raises(Conflict) as full:
            await s.sandboxes.start(LOCAL_PERSON, one.id)
        assert full.value.code == "no_route" and "no room for one" in full.value.message
        await s.sandboxes.destroy(LOCAL_PERSON, two.id)
        await s.until(two, State.DESTROYED)
        await s.sandboxes.start(LOCAL_PERSON, one.id)
        assert (await s.sandboxes.wait(LOCAL_PERSON, one.id)).host == "local"


async def test_drained_host_takes_nothing_new_and_starts_what_is_there() -> None:
    async with scene() as s:
        one = await s.ready(name="one")
        await s.sandboxes.stop(LOCAL_PERSON, one.id)
        await s.until(one, State.STOPPED)
        await keep(s, replace(LOCAL_HOST, state=HostState.DRAINING))
        assert "ext.in-memory on local: it is drained" in (await refused(s, name="two")).message
        await s.sandboxes.start(LOCAL_PERSON, one.id)
        await s.sandboxes.wait(LOCAL_PERSON, one.id)
        await keep(s, LOCAL_HOST)
        assert (await s.ready(name="two")).host == "local"


async def test_named_host_is_the_only_candidate() -> None:
    async with scene() as s:
        await keep(s, replace(ssh_host("box"), state=HostState.ACTIVE))
        assert (await s.ready(name="one", host="local")).host == "local"
        said = (await refused(s, name="two", host="gone")).message
        assert (
            said == "no backend takes this sandbox (ext.in-memory on gone: there is no host gone)"
        )
        said = (await refused(s, name="two", host="box")).message
        assert "ext.in-memory on box: it is of the kind ssh, and local is needed" in said


async def test_profile_places_by_name_and_the_backend_is_told() -> None:
    async with scene() as s:
        await s.profiles.save(LOCAL_PERSON, "placed", PLACED)
        made = await s.ready(profile="placed")
        assert (made.host, s.extension.provisioned[-1].host) == ("local", "local")


async def test_host_of_its_backends_kind_is_chosen_in_order_and_by_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    far = Capabilities(isolation=IsolationLevel.NONE, host_kind=HostKind.SSH)
    monkeypatch.setattr(InMemory, "capabilities", lambda _: far)
    async with scene(run=False) as s:
        assert "atoll host add" in (await refused(s, name="n")).message
        free = Capacity(sandboxes=1)
        hosts = [
            replace(
                ssh_host(name),
                state=HostState.ACTIVE,
                capacity=free,
                organization=None,
                profile=None,
            )
            for name in ("b", "a")
        ]
        await keep(s, *hosts)
        request = CreateSandbox(profile="bare")
        made = [await s.sandboxes.create(LOCAL_PERSON, request) for _ in range(2)]
        assert [one.host for one in made] == ["a", "b"]
        said = (await refused(s)).message
        assert said.count("it holds 1 sandboxes of 1") == 2


async def test_memory_counts_with_the_default_where_the_profile_has_none() -> None:
    async with scene() as s:
        await keep(s, replace(LOCAL_HOST, capacity=Capacity(memory_mb=6000)))
        await s.ready(name="one")
        assert "4096 MiB of 6000 are taken, and 4096 are needed" in (await refused(s)).message
        await keep(s, replace(LOCAL_HOST, capacity=Capacity(memory_mb=6000), overcommit=2.0))
        two = await s.ready(name="two")
        assert two.profile.resources == Resources()
