"""OpenShell's calls when they go wrong, the policy that a create names, and its deadline."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from google.protobuf.struct_pb2 import Struct
from openshell import SandboxClient
from openshell._proto import openshell_pb2 as pb

from atoll.adapters.extensions.openshell.policy import policy_of
from atoll.adapters.extensions.openshell.settings import OpenShellSettings
from atoll.adapters.extensions.openshell.vendor import OpenShellVendor
from atoll.adapters.rented.calls import USUAL, Patience
from atoll.adapters.rented.machines import Rentals, RentedWithKey
from atoll.adapters.rented.records import Records
from atoll.adapters.rented.vendor import Gone, Order
from atoll.domain.errors import Failed, Invalid, Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import Profile
from atoll.domain.wall.resources import Resources
from atoll.ports.extension import VendorKey
from atoll.wire.words.sandboxes import Access
from tests.adapters.extensions.vendor_calls import STRAYS
from tests.peers.api import until
from tests.peers.clouds.faults import Fault
from tests.peers.clouds.machine import missing
from tests.peers.clouds.openshell import KEY, OpenShellPeer, openshell_peer

pytestmark = pytest.mark.skipif(bool(missing()), reason=str(missing()))

BOX = SandboxId("sb_aaaaaaaaaaaaaaaa")
PROFILE = Profile("p", "1", resources=Resources(cpu=1.5, memory_mb=512))
QUICK = Patience(call=3.0, total=6.0, first=0.05, longest=0.2)
MINE = VendorKey("sec_mine", KEY)


class Gateway:
    """A peer, and the rentals at it."""

    def __init__(self, peer: OpenShellPeer, folder: Path, patience: Patience = QUICK) -> None:
        self.peer = peer
        self.keys = [MINE]
        self.vendor = OpenShellVendor(OpenShellSettings(gateway=peer.url), patience)
        records = Records(folder / "rented")
        self.rentals = Rentals(
            "ext.openshell", self.vendor, "atoll-test", records, self.find, "one"
        )

    async def find(self, _extension: str, _sandbox: SandboxId | None) -> Sequence[VendorKey]:
        return tuple(self.keys)

    async def rent(self) -> RentedWithKey:
        return await self.rentals.rent(BOX, "image", PROFILE)


@pytest.fixture
def peer() -> Iterator[OpenShellPeer]:
    with openshell_peer() as running:
        yield running


@pytest.fixture
def at(peer: OpenShellPeer, tmp_path: Path) -> Gateway:
    return Gateway(peer, tmp_path)


async def test_sandbox_is_made_closed_with_tags_a_policy_and_limits(at: Gateway) -> None:
    rented = await at.rent()
    assert ((await at.rent()).machine, at.peer.rented) == (rented.machine, 1)
    (made,) = at.peer.live
    assert dict(made.request.labels) == {
        "atoll": "atoll-test",
        "atoll-sandbox": BOX,
        "atoll-installation": "one",
    }
    spec = made.request.spec
    assert spec.policy == policy_of(PROFILE, "")
    assert not spec.policy.network_policies
    assert not spec.providers
    assert "/workspace" in spec.policy.filesystem.read_write
    assert "/usr" in spec.policy.filesystem.read_only
    wanted = Struct()
    wanted.update({"limits": {"cpu": "1500m", "memory": "512Mi"}})
    assert spec.template.resources == wanted
    assert spec.restart_policy == pb.SANDBOX_RESTART_POLICY_NEVER
    assert await at.rentals.end(BOX) == (True, "")
    assert await at.rentals.end(BOX) == (False, "")


@pytest.mark.parametrize("access", [Access.READ_ONLY, Access.NONE])
def test_workspace_that_a_policy_cannot_give_is_refused(access: Access) -> None:
    workspace = replace(PROFILE.workspace, access=access)
    with pytest.raises(Invalid, match="workspace"):
        policy_of(replace(PROFILE, workspace=workspace), "")


async def test_gateway_that_opens_the_network_is_refused_and_nothing_is_left(at: Gateway) -> None:
    at.peer.adds_rules = True
    with pytest.raises(Failed, match="opens the network"):
        await at.rent()
    assert at.peer.made == {}


async def test_create_whose_answer_is_lost_is_looked_up_first(at: Gateway) -> None:
    at.peer.faults.plan("create", Fault.LOST)
    rented = await at.rent()
    assert [one.id for one in at.peer.ours(BOX)] == [rented.machine]
    assert (at.peer.rented, at.peer.faults.count("create")) == (1, 1)


@pytest.mark.parametrize("fault", [Fault.BUSY, Fault.BROKEN, Fault.HANGS])
async def test_create_that_is_refused_for_a_while_gives_one(at: Gateway, fault: Fault) -> None:
    at.peer.faults.plan("create", fault, fault)
    rented = await at.rent()
    assert [one.id for one in at.peer.ours(BOX)] == [rented.machine]
    assert at.peer.rented == 1


async def test_storm_without_an_end_is_told_and_rents_nothing(at: Gateway) -> None:
    at.peer.faults.plan("create", *[Fault.BUSY] * 1000)
    with pytest.raises(Unavailable, match="OpenShell"):
        await at.rent()
    assert at.peer.rented == 0


async def test_same_order_sent_twice_gives_one_sandbox(at: Gateway) -> None:
    order = Order("image", (("atoll", "t"), ("atoll-sandbox", BOX)), 1800, "a" * 32, PROFILE)
    first, second = await asyncio.gather(*(at.vendor.create(MINE, order) for _ in range(2)))
    assert (first.id, at.peer.rented) == (second.id, 1)


async def test_refused_key_is_told_without_the_key(at: Gateway) -> None:
    at.keys = [VendorKey("sec_mine", "osh_wrong-canary-of-a-key")]
    with pytest.raises(Failed) as caught:
        await at.rent()
    assert "osh_wrong" not in caught.value.message
    at.keys = [VendorKey("sec_mine", " ")]
    with pytest.raises(Failed, match="empty"):
        await at.rent()
    assert at.peer.rented == 0


async def test_refused_image_is_told_with_the_gateways_words(at: Gateway) -> None:
    at.peer.faults.plan("create", Fault.REFUSED)
    with pytest.raises(Failed, match="no such image"):
        await at.rent()


async def test_listing_that_names_others_sandboxes_ends_none_of_them(at: Gateway) -> None:
    at.peer.stray(5, {"atoll": "another-home", "atoll-sandbox": BOX})
    at.peer.lists_all = True
    rented = await at.rent()
    assert await at.rentals.end(BOX) == (True, "")
    assert len(at.peer.made) == 5
    assert rented.machine not in at.peer.made


@pytest.mark.timeout(120)
async def test_thousands_of_strays_are_listed(peer: OpenShellPeer, tmp_path: Path) -> None:
    # Nothing fails here, and a page of a list takes seconds on a machine that is busy.
    at = Gateway(peer, tmp_path, USUAL)
    tags = {"atoll": "atoll-test", "atoll-sandbox": "sb_gone", "atoll-installation": "one"}
    at.peer.stray(STRAYS, tags)
    at.peer.stray(10, {"atoll": "another-home"})
    found = await at.rentals.everything()
    assert len(found) == STRAYS
    await at.rent()
    for stray in found[:20]:
        assert await at.rentals.end_place(stray)
        assert not await at.rentals.end_place(stray)
    assert (len(await at.rentals.everything()), at.peer.rented) == (STRAYS - 20 + 1, 1)


async def test_deadline_ends_the_sandbox_unless_it_is_renewed(at: Gateway) -> None:
    tags = (("atoll", "atoll-test"), ("atoll-sandbox", str(BOX)))
    short = await at.vendor.create(MINE, Order("image", tags, 3, "b" * 32, PROFILE))
    for _ in range(5):
        await at.vendor.renew(MINE, short.id, 3)
        await asyncio.sleep(1)  # together longer than the deadline
    assert [one.id for one in at.peer.live] == [short.id]
    await asyncio.to_thread(until, lambda: len(at.peer.live), lambda count: count == 0)
    with pytest.raises(Gone):
        await at.vendor.renew(MINE, short.id, 3)
    # Its record stays at the gateway: it is listed as ended, never taken, and removed.
    assert [one.ended async for one in at.vendor.find(MINE, tags)] == [True]
    rented = await at.rent()
    assert list(at.peer.made) == [rented.machine]


async def test_deadline_that_is_too_far_or_no_number_ends_the_sandbox(at: Gateway) -> None:
    order = Order("image", (("atoll", "t"),), 30, "c" * 32, PROFILE)
    for number, wrong in enumerate(("99999999999", "never")):
        made = await at.vendor.create(MINE, replace(order, token=f"{number}" * 32))
        shell = await at.vendor.shell(MINE, made.id)
        await shell.run('echo "$1" >/.atoll/deadline', wrong, seconds=5)
        await asyncio.to_thread(until, lambda: len(at.peer.live), lambda count: count == 0)


async def test_script_is_eight_bit_clean_both_ways(at: Gateway) -> None:
    rented = await at.rent()
    shell = await at.vendor.shell(rented.key, rented.machine)
    every = bytes(range(256)) * 4096
    ran = await shell.run("cat; echo said >&2; exit 7", given=every, seconds=20)
    assert (ran.code, ran.output == every, ran.complaint) == (7, True, "said")
    with pytest.raises(Failed, match="no room"):
        async with shell.pipe("cat >/dev/null; echo no room >&2; exit 3") as into:
            into.write(every)
            await into.drain()


async def test_policy_is_applied_to_what_runs_there(at: Gateway) -> None:
    rented = await at.rent()
    shell = await at.vendor.shell(rented.key, rented.machine)
    for refused in ("echo x >/usr/x", "cat /old 2>&1; ls /", "unshare -U true"):
        assert (await shell.run(refused, seconds=10)).code
    assert not (await shell.run("echo x >/workspace/x", seconds=10)).code


def test_unmodified_library_takes_the_peer(peer: OpenShellPeer) -> None:
    with SandboxClient(peer.url.removeprefix("http://"), bearer_token=KEY) as client:
        made = client.create(workspace="default", name="one")
        assert client.wait_ready("one", workspace="default").id == made.id
        assert [one.name for one in client.list_all(workspace="default")] == ["one"]
        assert client.delete("one", workspace="default").outcome.name == "COMPLETED"


def test_address_in_the_clear_is_refused() -> None:
    with pytest.raises(Invalid, match="https"):
        OpenShellSettings(gateway="http://gateway.example.com")
