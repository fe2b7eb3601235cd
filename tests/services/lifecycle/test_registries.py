"""Where the registry of an image leads, judged before this server's daemon fetches from it."""

from dataclasses import replace

import pytest

from atoll.adapters.extensions.in_memory import InMemory
from atoll.domain.errors import Forbidden, Unavailable
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Capabilities
from atoll.services.policies.network_boundary import NetworkBoundary, Registries
from atoll.services.policies.settings import PolicySettings
from atoll.wire.words.walls import IsolationLevel
from tests.services.scene import Scene, scene

FETCHES = InMemory(able=Capabilities(IsolationLevel.CONTAINER, fetches_images=True))
Bounds = dict[str, bool | list[int | str]]
IMAGE = "registry.example:5000/team/x:1"


async def of_member(s: Scene, image: str) -> Sandbox:
    """A sandbox of somebody who does not run the installation."""
    sandbox = await s.ready()
    profile = replace(sandbox.profile, image=image)
    who = {"org_id": OrgId("org_acme"), "owner": PrincipalId("usr_mel")}
    return replace(sandbox, profile=profile, **who)  # type: ignore[arg-type]


async def check(
    s: Scene,
    *addresses: str,
    image: str = IMAGE,
    bounds: Bounds | None = None,
    extension: InMemory = FETCHES,
) -> list[tuple[str, int]]:
    """Check a member's image whose registry leads there; return the names that were looked up."""
    looked: list[tuple[str, int]] = []

    async def look_up(host: str, port: int) -> tuple[str, ...]:
        looked.append((host, port))
        if not addresses:
            raise Unavailable("it does not resolve")
        return addresses

    boundary = NetworkBoundary(PolicySettings(network_bounds=bounds))
    await Registries(s.store, boundary, look_up).check(await of_member(s, image), extension)
    return looked


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "127.8.8.8", "::1", "10.1.2.3", "fd00::1", "169.254.169.254", "::ffff:127.0.0.1"],
)
async def test_registry_that_leads_inside_is_refused(address: str) -> None:
    async with scene() as s:
        with pytest.raises(Forbidden, match=r"registry\.example:5000 .which leads to") as at:
            await check(s, "8.8.8.8", address)
        assert (at.value.code, at.value.field) == ("network_bound", "image")


async def test_registry_that_leads_outside_or_nowhere_is_left_to_the_daemon() -> None:
    async with scene() as s:
        assert await check(s, "8.8.8.8", "2001:4860:4860::8888") == [("registry.example", 5000)]
        assert await check(s) == [("registry.example", 5000)]


async def test_private_registry_is_open_where_the_installation_opens_its_network() -> None:
    async with scene() as s:
        opened: Bounds = {"ranges": ["10.1.0.0/16"], "host_ports": [5000]}
        assert await check(s, "10.1.2.3", "127.0.0.1", bounds=opened)
        with pytest.raises(Forbidden):
            await check(s, "10.2.0.1", bounds=opened)


@pytest.mark.parametrize("image", ["debian:12", "docker.io/team/x", "archive:x.tar", "host"])
async def test_other_images_are_looked_up_nowhere(image: str) -> None:
    async with scene() as s:
        assert await check(s, "127.0.0.1", image=image) == []


async def test_backend_that_fetches_nothing_looks_up_nothing() -> None:
    async with scene() as s:
        assert await check(s, "127.0.0.1", extension=InMemory()) == []
