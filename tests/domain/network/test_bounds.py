"""Bounds of networks: what is beyond one, and what one leaves."""

import pytest

from atoll.domain.errors import Forbidden, Invalid
from atoll.domain.network.address import PrivateReach
from atoll.domain.network.bounds import (
    PROFILE_ALONE,
    UNBOUNDED,
    Bound,
    Excess,
    NetworkBounds,
    beyond,
    check_gateway,
    check_open,
    check_registry,
    check_within,
    reach_of,
    read_bounds,
    registry_beyond,
    registry_place,
    restrict_network,
    restrict_to_all,
    spelled_bounds,
    withheld,
)
from atoll.domain.network.network import Network
from atoll.wire.words.networks import NetworkMode

USUAL = NetworkBounds()
OPEN = Network(
    mode=NetworkMode.HOST_ONLY,
    host_ports=(5432, 4222),
    ranges=("10.1.0.0/16", "192.168.0.0/24"),
    ports=(443, 8443),
    egress=("preset:pypi", "api.example.com"),
    allowed=("*.example.com:8443",),
)


def own(bounds: NetworkBounds) -> Bound:
    return Bound(bounds, "this installation", "raise it")


def test_usual_bounds_leave_public_names_alone() -> None:
    assert [one.field for one in beyond(OPEN, USUAL)] == [
        *("mode", "host_ports", "host_ports", "ranges", "ranges", "ports"),
    ]
    left = restrict_network(OPEN, USUAL)
    assert (left.mode, left.host_ports, left.ranges) == (NetworkMode.HOST_ONLY, (), ())
    assert (left.egress, left.allowed) == (OPEN.egress, OPEN.allowed)
    assert left.ports == (443,)  # `full` opens it anyway


def test_nothing_is_beyond_what_is_unbounded() -> None:
    assert beyond(OPEN, UNBOUNDED) == ()
    assert restrict_network(OPEN, UNBOUNDED) == OPEN


def test_full_is_limited_where_it_may_not_be() -> None:
    full = Network(mode=NetworkMode.FULL)
    assert beyond(full, USUAL) == (Excess("mode", "full"),)
    assert restrict_network(full, USUAL).mode is NetworkMode.LIMITED
    assert beyond(full, NetworkBounds(full=True)) == ()


@pytest.mark.parametrize(
    ("permitted", "rule", "good"),
    [
        (("*",), "anything.example:25", True),
        ((), "api.example.com", False),
        (("api.example.com",), "api.example.com", True),
        (("api.example.com",), "api.example.com:8443", False),
        (("*.example.com",), "api.example.com", True),
        (("*.example.com",), "*.example.com", True),
        (("*.example.com",), "a.b.example.com", False),
        (("api.example.com",), "*.example.com", False),
        (("preset:pypi",), "preset:pypi", True),
        (("preset:pypi",), "pypi.org", True),
        (("pypi.org",), "preset:pypi", False),
        (("GET http://mirror.example/debian",), "http://mirror.example/debian", False),
        (("http://mirror.example/",), "GET http://mirror.example/debian", True),
        (("a.example",), "no rule at all", False),
    ],
)
def test_rule_is_permitted_where_one_covers_it(
    permitted: tuple[str, ...], rule: str, good: bool
) -> None:
    network = Network(allowed=(rule,))
    excess = () if good else (Excess("allowed", rule),)
    assert beyond(network, NetworkBounds(egress=permitted)) == excess


def test_ranges_and_ports_lie_inside_those_of_the_bound() -> None:
    bounds = NetworkBounds(host_ports=((5000, 5999),), ranges=("10.0.0.0/8",))
    assert beyond(OPEN, bounds)[:2] == (
        Excess("host_ports", "4222"),
        Excess("ranges", "192.168.0.0/24"),
    )


def test_range_that_is_none_is_never_in_force() -> None:
    network = Network(mode=NetworkMode.HOST_ONLY, ranges=("10.1.2.3/16", "10.1.0.0/16"))
    assert restrict_network(network, UNBOUNDED).ranges == ("10.1.0.0/16",)
    assert beyond(network, UNBOUNDED) == (Excess("ranges", "10.1.2.3/16"),)


OWN_PLACES = NetworkBounds(host_ports=((5000, 5000),), ranges=("10.1.0.0/16",))


@pytest.mark.parametrize(
    ("registry", "usual", "opened"),
    [
        ("docker.io", True, True),
        ("registry.example:5000", True, True),
        ("8.8.8.8:5000", True, True),
        ("localhost:5000", False, True),
        ("127.0.0.1:5000", False, True),
        ("[::1]:5000", False, True),
        ("localhost:5001", False, False),
        ("localhost", False, False),
        ("Intern", False, False),
        ("10.1.2.3:5000", False, True),
        ("10.2.0.1", False, False),
        ("127.1:5000", False, False),
    ],
)
def test_registry_is_beyond_where_the_server_would_reach_its_own_places(
    registry: str, usual: bool, opened: bool
) -> None:
    excess = Excess("image", registry)
    assert registry_beyond(registry, USUAL) == (None if usual else excess)
    assert registry_beyond(registry, OWN_PLACES) == (None if opened else excess)


def test_image_is_fetched_only_where_every_bound_opens_its_place() -> None:
    check_registry("localhost:5000", [])
    check_registry("localhost:5000", [own(UNBOUNDED), own(OWN_PLACES)])
    with pytest.raises(Forbidden, match=r"image localhost:5000.*this installation") as at:
        check_registry("localhost:5000", [own(OWN_PLACES), own(USUAL)])
    assert (at.value.code, at.value.field) == ("network_bound", "image")


def test_registry_is_judged_by_each_address_that_its_name_leads_to() -> None:
    check_registry("registry.example:5000", [own(USUAL)], ["8.8.8.8", "2001:4860:4860::8888"])
    check_registry("registry.example:5000", [own(OWN_PLACES)], ["10.1.2.3", "127.0.0.1", "::1"])
    with pytest.raises(Forbidden, match=r"registry\.example .which leads to \[::1\]:443."):
        check_registry("registry.example", [own(OWN_PLACES)], ["8.8.8.8", "::1"])
    assert registry_place("[::1]:5000") == ("[::1]", 5000)


def test_wall_with_an_open_network_needs_every_bound_to_allow_it() -> None:
    check_open([])
    check_open([own(UNBOUNDED)])
    with pytest.raises(Forbidden, match="this installation") as at:
        check_open([own(UNBOUNDED), own(USUAL)])
    assert (at.value.code, at.value.field) == ("network_bound", "route.accept_open_network")


def test_refusal_names_the_field_and_who_raises_the_bound() -> None:
    with pytest.raises(
        Forbidden, match=r"network.host_ports 5432.*this installation.*raise it"
    ) as at:
        check_within(Network(host_ports=(5432,)), [own(USUAL)])
    assert (at.value.code, at.value.field) == ("network_bound", "network.host_ports")


def test_what_was_there_before_is_no_widening() -> None:
    before = Network(mode=NetworkMode.HOST_ONLY, host_ports=(5432,))
    less = Network(mode=NetworkMode.NONE, host_ports=(5432,))
    check_within(less, [own(USUAL)], before=before)
    more = Network(mode=NetworkMode.HOST_ONLY, host_ports=(5432, 4222))
    with pytest.raises(Forbidden, match="4222"):
        check_within(more, [own(USUAL)], before=before)


def test_each_of_several_bounds_takes_away() -> None:
    bounds = [own(NetworkBounds(full=True)), own(NetworkBounds(egress=()))]
    network = Network(mode=NetworkMode.FULL, allowed=("a.example",))
    assert restrict_to_all(network, bounds) == Network(mode=NetworkMode.LIMITED)
    assert [one for one, _ in withheld(network, bounds)] == [
        Excess("mode", "full"),
        Excess("allowed", "a.example"),
    ]


def test_profile_alone_opens_nothing_of_its_own() -> None:
    assert beyond(Network(allowed=("a.example",)), PROFILE_ALONE) == (
        Excess("allowed", "a.example"),
    )


def test_bounds_are_read_as_they_are_written() -> None:
    written = {"full": True, "host_ports": [5432, "8000-8100"], "ranges": ["10.1.0.0/16"]}
    found = read_bounds(written, field="network_bounds")
    assert found.host_ports == ((5432, 5432), (8000, 8100))
    assert found.egress == ("*",)
    assert read_bounds(spelled_bounds(found), field="x") == found


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"fully": True}, "fully"),
        ({"full": "yes"}, "full"),
        ({"host_ports": [0]}, "host_ports"),
        ({"host_ports": [True]}, "host_ports"),
        ({"host_ports": ["9-8"]}, "host_ports"),
        ({"host_ports": "5432"}, "host_ports"),
        ({"ports": ["1-70000"]}, "ports"),
        ({"ports": ["-"]}, "ports"),
        ({"ranges": ["8.8.8.0/24"]}, "ranges"),
        ({"ranges": ["127.0.0.0/8"]}, "ranges"),
        ({"egress": ["*.com"]}, "egress"),
        ({"egress": ["10.0.0.1"]}, "egress"),
    ],
)
def test_wrong_bound_is_refused_with_its_field(wrong: dict[str, object], field: str) -> None:
    with pytest.raises(Invalid) as at:
        read_bounds(wrong, field="network_bounds")
    assert at.value.field == f"network_bounds.{field}"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:5432", "http://[::1]:5432/v1", "https://10.1.2.3", "https://metadata"]
)
def test_gateway_stands_where_every_bound_opens(url: str) -> None:
    gateways = NetworkBounds(host_ports=((443, 5432),), ranges=("10.1.0.0/16",))
    check_gateway(url, [own(UNBOUNDED), own(gateways)])
    check_gateway("https://gateway.example.com", [own(USUAL)])
    with pytest.raises(Forbidden, match="beyond what this installation") as raised:
        check_gateway(url, [own(gateways), own(USUAL)])
    assert (raised.value.code, raised.value.field) == ("network_bound", "base_url")


def test_gateway_leads_where_every_bound_opens() -> None:
    wide = NetworkBounds(host_ports=((8080, 8090),), ranges=("10.0.0.0/8", "192.168.0.0/16"))
    narrow = NetworkBounds(host_ports=((8080, 8080),), ranges=("10.1.0.0/16",))
    assert reach_of("https://a.example", [own(UNBOUNDED)]) is None
    assert reach_of("https://a.example", [own(USUAL)]) == PrivateReach()
    assert reach_of("http://localhost:8080", [own(wide), own(narrow)]) == PrivateReach(
        True, ("10.1.0.0/16",)
    )
    assert reach_of("http://localhost", [own(wide)]) == PrivateReach(
        False, ("10.0.0.0/8", "192.168.0.0/16")
    )
