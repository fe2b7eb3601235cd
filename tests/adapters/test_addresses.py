import asyncio
import socket
from typing import Any

import pytest

from atoll.adapters.addresses import Reach, look_up_allowed
from atoll.domain.errors import Forbidden, Unavailable


def _leads_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    async def resolve(*_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, 1, 6, "", (one, 443)) for one in addresses]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)


@pytest.mark.parametrize(
    "address",
    ["10.0.0.1", "169.254.169.254", "127.0.0.1", "fd00:ec2::254", "168.63.129.16", "100.64.0.1",
     "::ffff:127.0.0.1"],
)  # fmt: skip
async def test_name_that_also_leads_elsewhere_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _leads_to(monkeypatch, "1.1.1.1", address)
    with pytest.raises(Forbidden, match="not a public address"):
        await look_up_allowed("push.example", 443, Reach())


@pytest.mark.parametrize("address", ["169.254.169.254", "fe80::1", "100.100.100.200"])
async def test_link_local_and_metadata_are_refused_whatever_is_allowed(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _leads_to(monkeypatch, address)
    reach = Reach(loopback=True, ranges=("100.64.0.0/10", "169.254.0.0/16", "fe80::/10"))
    with pytest.raises(Forbidden):
        await look_up_allowed("inside.example", 443, reach)


async def test_private_range_is_reached_only_once_it_is_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _leads_to(monkeypatch, "10.1.2.3")
    with pytest.raises(Forbidden, match=r"10\.1\.2\.3"):
        await look_up_allowed("hooks.internal", 443, Reach(ranges=("10.2.0.0/16",)))
    assert await look_up_allowed("hooks.internal", 443, Reach(ranges=("10.1.0.0/16",))) == (
        "10.1.2.3",
    )


async def test_public_address_is_refused_where_only_private_ones_may_be_dialled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _leads_to(monkeypatch, "1.1.1.1")
    with pytest.raises(Forbidden, match="use https"):
        await look_up_allowed("hooks.example", 80, Reach(loopback=True, public=False))


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1", "[::1", "a" * 300])
async def test_odd_spellings_lead_nowhere(host: str) -> None:
    with pytest.raises((Forbidden, Unavailable)):
        await look_up_allowed(host, 443, Reach())
