"""Which addresses are the machine's own, by the kernel's word."""

import socket

import pytest

from atoll.runtime.doors.listener.own_address import is_own


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_loopback_is_the_machines_own(address: str) -> None:
    if ":" in address and not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    assert is_own(address)


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:220:1::1"])
def test_address_of_somebody_else_is_not(address: str) -> None:
    assert not is_own(address)
