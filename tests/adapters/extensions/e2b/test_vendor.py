"""E2B's calls when they go wrong, against a peer on E2B's own wheel."""

from collections.abc import Iterator

import pytest

from atoll.adapters.extensions.e2b.settings import E2bSettings
from atoll.adapters.extensions.e2b.vendor import E2bVendor
from atoll.adapters.rented.calls import Patience
from atoll.adapters.rented.machines import Rentals
from atoll.adapters.rented.vendor import Vendor
from atoll.domain.errors import Failed, Invalid
from atoll.ports.extension import VendorKey
from tests.adapters.extensions.vendor_calls import BOX, Keys, VendorCalls
from tests.peers.clouds.e2b import KEY, E2bPeer, e2b_peer
from tests.peers.clouds.faults import Fault
from tests.peers.clouds.machine import missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=str(missing()))


@pytest.fixture
def peer() -> Iterator[E2bPeer]:
    with e2b_peer() as running:
        yield running


class TestE2bVendor(VendorCalls):
    key = KEY
    wrong_key = "e2b_wrong-canary-of-a-key"
    renewal = "timeout"
    step = 900
    keeps_doubles = True

    @pytest.fixture
    def vendor(self, peer: E2bPeer, patience: Patience) -> Vendor:
        return E2bVendor(E2bSettings(api_url=peer.url, sandbox_url=peer.url), patience)

    @pytest.mark.parametrize("fault", [Fault.LOST, Fault.HALF])
    async def test_lost_answer_is_not_asked_for_again(
        self, rentals: Rentals, peer: E2bPeer, fault: Fault
    ) -> None:
        peer.faults.plan("create", fault)
        await rentals.rent(BOX, "base")
        assert peer.faults.count("create") == 1

    async def test_environment_of_the_process_pays_for_nothing(
        self, rentals: Rentals, keys: Keys, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("E2B_API_KEY", KEY)
        keys.known = [VendorKey("sec_mine", "")]
        with pytest.raises(Failed, match="empty"):
            await rentals.rent(BOX, "base")


def test_address_in_the_clear_is_refused() -> None:
    with pytest.raises(Invalid, match="https"):
        E2bSettings(api_url="http://api.example.com")
