from ipaddress import ip_network

import pytest

from atoll.domain.network.address import first_forbidden, is_loopback, is_public

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


# Every row of the IANA special-purpose registries of IPv4 and IPv6 (updated 2025-10-09): the block,
# and the row's name.
REGISTRIES = {
    "0.0.0.0/8": "This network", "0.0.0.0/32": "This host on this network",
    "10.0.0.0/8": "Private-Use", "100.64.0.0/10": "Shared Address Space",
    "127.0.0.0/8": "Loopback", "169.254.0.0/16": "Link Local", "172.16.0.0/12": "Private-Use",
    "192.0.0.0/24": "IETF Protocol Assignments", "192.0.0.0/29": "IPv4 Service Continuity Prefix",
    "192.0.0.8/32": "IPv4 dummy address", "192.0.0.9/32": "Port Control Protocol Anycast",
    "192.0.0.10/32": "Traversal Using Relays around NAT Anycast",
    "192.0.0.170/32": "NAT64/DNS64 Discovery", "192.0.0.171/32": "NAT64/DNS64 Discovery",
    "192.0.2.0/24": "Documentation (TEST-NET-1)", "192.31.196.0/24": "AS112-v4",
    "192.52.193.0/24": "AMT", "192.88.99.0/24": "Deprecated (6to4 Relay Anycast)",
    "192.88.99.2/32": "6a44-relay anycast address", "192.168.0.0/16": "Private-Use",
    "192.175.48.0/24": "Direct Delegation AS112 Service", "198.18.0.0/15": "Benchmarking",
    "198.51.100.0/24": "Documentation (TEST-NET-2)",
    "203.0.113.0/24": "Documentation (TEST-NET-3)", "240.0.0.0/4": "Reserved",
    "255.255.255.255/32": "Limited Broadcast",
    "::1/128": "Loopback Address", "::/128": "Unspecified Address",
    "::ffff:0:0/96": "IPv4-mapped Address", "64:ff9b::/96": "IPv4-IPv6 Translat.",
    "64:ff9b:1::/48": "IPv4-IPv6 Translat.", "100::/64": "Discard-Only Address Block",
    "100:0:0:1::/64": "Dummy IPv6 Prefix", "2001::/23": "IETF Protocol Assignments",
    "2001::/32": "TEREDO", "2001:1::1/128": "Port Control Protocol Anycast",
    "2001:1::2/128": "Traversal Using Relays around NAT Anycast",
    "2001:1::3/128": "DNS-SD Service Registration Protocol Anycast",
    "2001:2::/48": "Benchmarking", "2001:3::/32": "AMT", "2001:4:112::/48": "AS112-v6",
    "2001:10::/28": "Deprecated (previously ORCHID)", "2001:20::/28": "ORCHIDv2",
    "2001:30::/28": "Drone Remote ID Protocol Entity Tags", "2001:db8::/32": "Documentation",
    "2002::/16": "6to4", "2620:4f:8000::/48": "Direct Delegation AS112 Service",
    "3fff::/20": "Documentation", "5f00::/16": "Segment Routing (SRv6) SIDs",
    "fc00::/7": "Unique-Local", "fe80::/10": "Link-Local Unicast",
    # In no registry of these, and no unicast of the internet either.
    "fec0::/10": "site-local (RFC 3879)", "224.0.0.0/4": "multicast", "ff00::/8": "multicast",
    "4000::/3": "never given out",
}  # fmt: skip


@pytest.mark.parametrize("block", REGISTRIES, ids=lambda block: f"{block} {REGISTRIES[block]}")
def test_address_of_a_special_purpose_registry_is_not_public(block: str) -> None:
    network = ip_network(block)
    for address in (network[0], network[-1], network[network.num_addresses // 2]):
        assert not is_public(str(address))
