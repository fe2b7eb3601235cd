"""Changing what a sandbox may reach while it lives."""

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.network.network import Network
from atoll.domain.network.switch import (
    MAX_DENIED,
    NetworkChange,
    change_network,
    event_fields,
    rules_of,
)
from atoll.wire.words.networks import NetworkMode

START = Network(egress=("preset:pypi", "a.example"))


def test_allowed_host_joins_the_profiles_rules_as_the_owners() -> None:
    after = change_network(START, NetworkChange(allow=("b.example:8443",)))
    assert after.egress == START.egress
    assert [(rule.host, rule.origin) for rule in rules_of(after)][-1] == ("b.example", "owner")


def test_denied_host_is_barred_until_it_is_allowed_again() -> None:
    denied = change_network(START, NetworkChange(deny=("A.example",)))
    assert denied.denied == ("a.example",)
    again = change_network(denied, NetworkChange(allow=("a.example",)))
    assert (again.denied, again.allowed) == ((), ("a.example",))
    barred = change_network(again, NetworkChange(deny=("a.example",)))
    assert (barred.denied, barred.allowed) == (("a.example",), ())


def test_denying_one_host_of_a_preset_keeps_the_others() -> None:
    github = change_network(START, NetworkChange(allow=("preset:github",)))
    after = change_network(github, NetworkChange(deny=("api.github.com",)))
    assert (after.allowed, after.denied) == (("preset:github",), ("api.github.com",))


def test_forgotten_words_leave_no_trace() -> None:
    after = change_network(START, NetworkChange(allow=("b.example",), deny=("c.example",)))
    assert change_network(after, NetworkChange(forget=("b.example", "c.example"))) == START


def test_mode_ports_and_ranges_are_switched() -> None:
    change = NetworkChange(NetworkMode.HOST_ONLY, host_ports=(5432,), ranges=("10.0.0.0/8",))
    after = change_network(START, change)
    assert (after.mode, after.host_ports, after.ranges) == (
        NetworkMode.HOST_ONLY, (5432,), ("10.0.0.0/8",),
    )  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        NetworkChange(allow=("*.com",)),
        NetworkChange(allow=("preset:nothing",)),
        NetworkChange(deny=("exa mple",)),
        NetworkChange(ranges=("0.0.0.0/0",)),
        NetworkChange(ranges=("169.254.0.0/16",)),
        NetworkChange(allow=tuple(f"h{n}.example" for n in range(201))),
    ],
)
def test_change_that_opens_too_much_is_refused(change: NetworkChange) -> None:
    with pytest.raises(Invalid):
        change_network(START, change)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (NetworkChange(allow=("b.example:8443",), deny=("B.example",)), "deny"),
        (NetworkChange(host_ports=(5432,)), "host_ports"),
        (NetworkChange(NetworkMode.FULL, ranges=("10.0.0.0/8",)), "ranges"),
    ],
)
def test_change_that_acts_on_nothing_is_refused(change: NetworkChange, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        change_network(START, change)
    assert refused.value.field == field


def test_rule_that_is_none_any_more_allows_nothing() -> None:
    old = Network(egress=("10.0.0.1", "host/path", "a.example"), allowed=("*.com",))
    assert [rule.host for rule in rules_of(old)] == ["a.example"]


def test_denials_of_one_sandbox_have_their_bound() -> None:
    full = change_network(
        START, NetworkChange(deny=tuple(f"h{n}.example" for n in range(MAX_DENIED)))
    )
    with pytest.raises(Invalid):
        change_network(full, NetworkChange(deny=("one-more.example",)))


def test_word_that_is_no_host_can_be_forgotten() -> None:
    older = Network(allowed=("10.0.0.1/x", "b.example"), denied=("c.example",))
    after = change_network(older, NetworkChange(forget=("10.0.0.1/x", "C.example", "not a host")))
    assert (after.allowed, after.denied) == (("b.example",), ())


def test_event_tells_all_that_was_switched() -> None:
    network = Network(
        mode=NetworkMode.HOST_ONLY, allowed=("a.example",), denied=("b.example",),
        host_ports=(80,), ranges=("10.0.0.0/8",),
    )  # fmt: skip
    assert event_fields(network) == {
        "mode": "host-only", "allowed": ["a.example"], "denied": ["b.example"],
        "host_ports": [80], "ranges": ["10.0.0.0/8"],
    }  # fmt: skip
