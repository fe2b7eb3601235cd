import pytest

from atoll.domain.address import first_forbidden, is_loopback, is_public

PRIVATE = [
    "127.0.0.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254",
    "100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
    "::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1",
    "::ffff:8.8.8.8", "2002:7f00:1::1", "2001:0:5ef5:79fd::1", "64:ff9b::7f00:1",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_address_not_public_refused(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "140.82.121.3", "2606:50c0:8000::154"])
def test_address_public_allowed(address: str) -> None:
    assert is_public(address) and not is_loopback(address)


@pytest.mark.parametrize("address", ["①②⑦.0.0.1", "localhost", "0x7f.1", ""])
def test_address_that_is_none_raises(address: str) -> None:
    with pytest.raises(ValueError):
        is_public(address)


def test_address_loopback_known() -> None:
    assert is_loopback("127.9.9.9") and is_loopback("::1")


@pytest.mark.parametrize(
    ("addresses", "forbidden"),
    [
        (["8.8.8.8"], None),
        (["8.8.8.8", "10.0.0.1"], "10.0.0.1"),
        (["127.0.0.1"], "127.0.0.1"),
        ([], None),
    ],
)
def test_first_forbidden_one_private_address_is_enough(
    addresses: list[str], forbidden: str | None
) -> None:
    assert first_forbidden(addresses) == forbidden


def test_first_forbidden_loopback_passes_only_when_asked() -> None:
    assert first_forbidden(["127.0.0.1", "::1"], loopback=True) is None


@pytest.mark.parametrize(
    ("address", "passes"),
    [
        ("10.1.2.3", True),
        ("10.2.0.1", False),
        ("169.254.169.254", False),
        ("127.0.0.1", False),
        ("fd00:ec2::254", False),
        ("fd00:ec2::1", True),
    ],
)
def test_first_forbidden_listed_ranges_pass_but_never_metadata(address: str, passes: bool) -> None:
    ranges = ["10.1.0.0/16", "169.254.0.0/16", "127.0.0.0/8", "fd00:ec2::/32"]
    assert (first_forbidden([address], ranges=ranges) is None) is passes
