"""What may leave by the egress door: names first, addresses after."""

from dataclasses import replace

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.network.egress import (
    Allowed,
    Destination,
    EgressPolicy,
    EgressRule,
    Refused,
    check_private,
    host_matches,
    judge,
    judge_address,
    judge_own,
    read_ranges,
)
from atoll.wire.words.networks import NetworkMode

PROVIDERS = ("api.openai.com", "api.anthropic.com")
RULES = (
    EgressRule("example.com"),
    EgressRule("*.cdn.example"),
    EgressRule("plain.example", (80,), ("GET", "HEAD"), ("/debian",), "preset:debian"),
)


def policy(mode: NetworkMode = NetworkMode.LIMITED, **more: object) -> EgressPolicy:
    return EgressPolicy(mode, RULES, providers=PROVIDERS, **more)  # type: ignore[arg-type]


def code(verdict: Allowed | Refused | None) -> str:
    return verdict.code if isinstance(verdict, Refused) else "allowed"


@pytest.mark.parametrize(
    ("host", "port", "expected"),
    [
        ("example.com", 443, "allowed"),
        ("example.com", 22, "port_not_listed"),
        ("www.example.com", 443, "not_listed"),
        ("example.com.evil.example", 443, "not_listed"),
        ("a.cdn.example", 443, "allowed"),
        ("a.b.cdn.example", 443, "not_listed"),
        ("cdn.example", 443, "not_listed"),
        ("1.1.1.1", 443, "address_literal"),
        ("api.openai.com", 443, "provider_host"),
        ("eu.api.openai.com", 443, "provider_host"),
    ],
)
def test_limited_tunnel_to_host_is_judged_label_for_label(
    host: str, port: int, expected: str
) -> None:
    assert code(judge(policy(), Destination(host, port))) == expected


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/debian/dists/x", "allowed"),
        ("HEAD", "/debian", "allowed"),
        ("POST", "/debian/x", "request_not_listed"),
        ("GET", "/debian-security/x", "request_not_listed"),
        ("GET", "/debian/../admin", "request_not_listed"),
        ("GET", "/debian/%2e%2e/admin", "request_not_listed"),
        ("GET", "/debian/%252e%252e/admin", "request_not_listed"),
        ("GET", "/debian//x", "request_not_listed"),
        ("GET", "/debian/x?y=../", "allowed"),
    ],
)
def test_limited_plain_request_outside_its_prefix_is_refused(
    method: str, path: str, expected: str
) -> None:
    to = Destination("plain.example", 80, method, path)
    assert code(judge(policy(), to)) == expected


def test_none_lets_nothing_out() -> None:
    assert code(judge(policy(NetworkMode.NONE), Destination("example.com", 443))) == "network_none"


def test_full_reaches_public_names_and_addresses_but_no_provider() -> None:
    full = policy(NetworkMode.FULL, denied=("bad.example",))
    assert judge(full, Destination("anything.example", 22)) == Allowed("mode full")
    assert judge(full, Destination("1.1.1.1", 443)) == Allowed("mode full")
    assert code(judge(full, Destination("10.0.0.1", 80))) == "address_not_public"
    assert code(judge(full, Destination("169.254.169.254", 80))) == "address_never"
    assert code(judge(full, Destination("api.anthropic.com", 443))) == "provider_host"
    assert code(judge(full, Destination("bad.example", 443))) == "denied"


def test_full_opens_its_ports_the_profiles_and_those_of_rules() -> None:
    full = policy(NetworkMode.FULL, ports=(8443,))
    assert judge(full, Destination("1.1.1.1", 8443)) == Allowed("mode full")
    named = Refused("port_not_listed", "port 25 is none that mode full opens", remedy=True)
    assert judge(full, Destination("mail.example", 25)) == named
    assert judge(full, Destination("1.1.1.1", 25)) == replace(named, remedy=False)
    ruled = replace(full, rules=(EgressRule("mail.example", (25,)),))
    assert code(judge(ruled, Destination("mail.example", 25))) == "allowed"


def test_own_address_is_reached_by_a_named_port_in_host_only_alone() -> None:
    to = Destination("example.com", 5432)
    for mode in (NetworkMode.LIMITED, NetworkMode.FULL):
        open_ports = policy(mode, host_ports=(5432,))
        assert code(judge_own(open_ports, to, "93.184.215.14")) == "address_own"
    inside = policy(NetworkMode.HOST_ONLY, host_ports=(5432,))
    assert judge_own(inside, to, "10.1.0.9") is None
    assert code(judge_own(inside, replace(to, port=22), "10.1.0.9")) == "address_own"
    assert judge_own(inside, replace(to, port=22), "127.0.0.1") is None  # judged before


def test_denied_host_wins_over_its_rule() -> None:
    denying = policy(denied=("*.cdn.example",))
    assert code(judge(denying, Destination("a.cdn.example", 443))) == "denied"


def test_host_only_reaches_named_ports_and_listed_ranges_only() -> None:
    inside = policy(
        NetworkMode.HOST_ONLY, host_ports=(5432,), ranges=read_ranges(["10.1.0.0/16", "fd00::/8"])
    )
    assert code(judge(inside, Destination("host.atoll.internal", 5432))) == "allowed"
    assert code(judge(inside, Destination("127.0.0.1", 22))) == "host_port"
    assert code(judge(inside, Destination("127.0.0.2", 5432))) == "address_loopback"
    assert code(judge(inside, Destination("10.1.2.3", 9999))) == "allowed"
    assert code(judge(inside, Destination("10.2.2.3", 9999))) == "address_outside"
    assert code(judge(inside, Destination("8.8.8.8", 53))) == "address_outside"
    assert code(judge(inside, Destination("169.254.169.254", 80))) == "address_never"
    assert code(judge(inside, Destination("fd00:ec2::254", 80))) == "address_never"
    # A listed name may stand for an address of a range, never for this machine.
    named = Destination("example.com", 5432)
    assert code(judge_address(inside, named, "10.1.0.9")) == "allowed"
    assert code(judge_address(inside, named, "127.0.0.1")) == "address_loopback"
    assert code(judge_address(inside, named, "::ffff:10.1.0.9")) == "address_outside"


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1", "0.0.0.0", "::", "::1",
        "169.254.169.254", "fe80::1", "fd00::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1",
        "2002:7f00:1::", "224.0.0.1", "255.255.255.255", "168.63.129.16", "100.100.100.200",
    ],
)  # fmt: skip
def test_address_that_is_not_public_is_refused_in_limited_and_full(address: str) -> None:
    to = Destination("example.com", 443)
    assert isinstance(judge_address(policy(), to, address), Refused)
    assert isinstance(judge_address(policy(NetworkMode.FULL), to, address), Refused)


def test_public_address_is_dialled() -> None:
    assert judge_address(policy(), Destination("example.com", 443), "93.184.215.14") is None


@pytest.mark.parametrize("text", ["0.0.0.0/0", "8.8.8.0/24", "10.0.0.0/7", "::/0", "nonsense"])
def test_range_that_is_not_private_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_ranges([text])


def test_wildcard_stands_for_one_label() -> None:
    assert host_matches("*.a.example", "x.a.example")
    assert not host_matches("*.a.example", ".a.example")


def test_this_machine_is_reached_in_host_only_alone_and_by_its_listed_ports() -> None:
    inside = policy(NetworkMode.HOST_ONLY, host_ports=(5432,))
    here = Destination("localhost", 5432)
    assert code(judge_address(inside, here, "127.0.0.1")) == "allowed"
    assert code(judge_address(inside, here, "::1")) == "allowed"
    assert code(judge(inside, Destination("example.com", 443))) == "allowed"
    assert code(judge(policy(), here)) == "host_port"
    assert code(judge(policy(), Destination("host.atoll.internal", 443))) == "host_port"


def test_rule_for_methods_alone_takes_any_path() -> None:
    reading = EgressPolicy(rules=(EgressRule("a.example", (80,), ("GET",)),))
    assert code(judge(reading, Destination("a.example", 80, "GET", "/any/../where"))) == "allowed"
    assert code(judge(reading, Destination("a.example", 80, "PUT", "/"))) == "request_not_listed"


def test_authority_puts_an_ipv6_address_in_brackets() -> None:
    assert Destination("fd00::1", 80).authority == "[fd00::1]:80"
    assert Destination("a.example", 443).authority == "a.example:443"


def test_setting_lists_private_networks_alone() -> None:
    check_private(("10.1.0.0/16", "fd00::/64"), field="ranges")
    for wrong in ("8.8.8.0/24", "10.1.0.1/16", "2000::/3", "office"):
        with pytest.raises(Invalid, match="ranges lists private networks"):
            check_private((wrong,), field="ranges")
