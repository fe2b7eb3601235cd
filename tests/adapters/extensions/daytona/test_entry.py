"""One adapter, two registrations: each says by itself what is missing, and has its own settings."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from atoll.adapters.extensions.daytona.entry import make, make_self
from atoll.adapters.linked.extension import LinkedExtension
from atoll.adapters.rented.backend import RentedBackend
from atoll.domain.errors import Failed, Invalid
from atoll.domain.hosts.host import HourlyCost
from atoll.domain.ids import SandboxId
from atoll.domain.routes.candidate import ImageKind
from atoll.ports.extension import ExtensionSetup, VendorKey
from atoll.wire.words.walls import IsolationLevel
from tests.peers.clouds.daytona import KEY, DaytonaPeer, daytona_peer
from tests.peers.clouds.machine import missing

BOX = SandboxId("sb_aaaaaaaaaaaaaaaa")
ADDRESS = "https://daytona.example.com/api"


@pytest.fixture
def peer() -> Iterator[DaytonaPeer]:
    with daytona_peer() as running:
        yield running


async def keys(extension: str, _sandbox: SandboxId | None) -> tuple[VendorKey, ...]:
    return (VendorKey("sec_own", KEY),) if extension == "ext.daytona-self" else ()


def setup(home: Path, **tables: dict[str, object]) -> ExtensionSetup:
    return ExtensionSetup(home, "atoll-test", options=dict(tables), keys=keys)


@asynccontextmanager
async def backend(made: LinkedExtension) -> AsyncIterator[RentedBackend]:
    assert isinstance(made.backend, RentedBackend)
    yield made.backend
    await made.backend.close()


def test_both_are_registered() -> None:
    found = {entry.name: entry.value for entry in entry_points(group="atoll.extensions")}
    assert found["daytona"].endswith("daytona.entry:make")
    assert found["daytona-self"].endswith("daytona.entry:make_self")


def test_own_daytona_without_an_address_says_which_setting_it_needs(tmp_path: Path) -> None:
    made = make_self(setup(tmp_path, daytona={"api_url": ADDRESS}))
    with pytest.raises(Failed, match="`api_url` of the table `daytona_self`"):
        made.capabilities()
    named = make_self(setup(tmp_path, daytona_self={"api_url": ADDRESS, "cost_per_hour": 0.5}))
    given = named.capabilities()
    assert (given.isolation, given.regions) == (IsolationLevel.CONTAINER, ("daytona-self",))
    assert given.cost_per_hour == HourlyCost(500_000)
    assert given.needs_key


def test_without_its_library_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atoll.adapters.extensions.daytona.entry._vendor", lambda *_: None)
    for made in (make(setup(tmp_path)), make_self(setup(tmp_path, daytona_self=address()))):
        with pytest.raises(Failed, match=r"pip install 'atoll\[daytona\]'"):
            made.capabilities()


def address() -> dict[str, object]:
    return {"api_url": ADDRESS}


def test_images_are_those_with_a_snapshot(tmp_path: Path) -> None:
    assert make(setup(tmp_path)).capabilities().images == {ImageKind.HOST}
    templates: dict[str, object] = {"python:3.12": "my-python"}
    given = make(setup(tmp_path, daytona={"templates": templates, "target": "eu"})).capabilities()
    assert given.images == set(ImageKind)
    assert given.regions == ("eu",)


@pytest.mark.parametrize(
    "table", [{"api_url": "http://daytona.example.com"}, {"key": "x"}, {"cost_per_hour": -1}]
)
def test_wrong_setting_is_refused(tmp_path: Path, table: dict[str, object]) -> None:
    for make_one, name in ((make, "daytona"), (make_self, "daytona_self")):
        with pytest.raises(Invalid):
            make_one(setup(tmp_path, **{name: table}))


@pytest.mark.skipif(bool(missing()), reason=str(missing()))
async def test_own_daytona_is_rented_at_with_its_own_key(tmp_path: Path, peer: DaytonaPeer) -> None:
    place: dict[str, object] = {"api_url": peer.url}
    tables = {"daytona": place, "daytona_self": place}
    async with backend(make_self(setup(tmp_path, **tables))) as own:
        assert own.rentals is not None
        rented = await own.rentals.rent(BOX, "")
        assert [one.id for one in peer.live] == [rented.machine]
        assert (tmp_path / "rented" / "daytona_self" / f"{BOX}.json").exists()
        assert await own.rentals.end(BOX) == (True, "")
    async with backend(make(setup(tmp_path, **tables))) as other:
        assert other.rentals is not None
        with pytest.raises(Failed, match=r"ext\.daytona has no key"):
            await other.rentals.rent(BOX, "")
