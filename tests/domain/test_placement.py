from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.hosts.host import LOCAL_HOST, Capacity, Host, HostId
from atoll.domain.ids import OrgId
from atoll.domain.placement import (
    HostLoad,
    PlaceRequest,
    Rejected,
    candidates,
    has_limits,
    load_of,
    no_host_of,
    room_of,
    shortage,
)
from atoll.domain.profile.profile import Placement
from atoll.domain.wall.resources import Resources
from atoll.testing.samples import sandbox
from atoll.wire.words.hosts import HostKind, HostState
from atoll.wire.words.sandboxes import State

ORG, OTHER = OrgId("org_1"), OrgId("org_2")
DEFAULTS = Resources(cpu=1.0, memory_mb=4096)
ASKED = PlaceRequest(HostKind.SSH, ORG, "profile.shell")


def host(name: str, **fields: object) -> Host:
    made = Host(HostId(f"ho_{name}"), name, HostKind.SSH, LOCAL_HOST.created_at)
    return replace(made, **fields)  # type: ignore[arg-type]


def named(found: tuple[Host, ...]) -> list[str]:
    return [one.name for one in found]


def reasons(rejected: tuple[Rejected, ...]) -> dict[str, str]:
    return {one.name: one.reason for one in rejected}


def test_hosts_of_the_kind_come_by_name_where_nothing_is_named() -> None:
    found = candidates(ASKED, [host("b"), LOCAL_HOST, host("a")])
    assert named(found.hosts) == ["a", "b"]
    assert not found.rejected


def test_named_hosts_come_as_named_and_no_other() -> None:
    placement = Placement(prefer=("c", "a"), fallback=("b", "a", "gone"))
    found = candidates(
        replace(ASKED, placement=placement), [host("a"), host("b"), host("c"), host("d")]
    )
    assert named(found.hosts) == ["c", "a", "b"]
    assert reasons(found.rejected) == {"gone": "there is no host gone"}


def test_choice_of_the_caller_is_the_only_candidate() -> None:
    asked = replace(ASKED, host="local", placement=Placement(prefer=("a",)))
    found = candidates(asked, [host("a"), LOCAL_HOST])
    assert not found.hosts
    assert reasons(found.rejected) == {"local": "it is of the kind local, and ssh is needed"}


def test_drained_host_takes_nothing() -> None:
    found = candidates(ASKED, [host("a", state=HostState.DRAINING), host("b")])
    assert named(found.hosts) == ["b"]
    assert reasons(found.rejected) == {"a": "it is drained"}


def test_dedicated_host_takes_its_own_alone_and_they_go_nowhere_else() -> None:
    hosts = [host("a", organization=ORG), host("b", profile="profile.gpu"), host("c")]
    found = candidates(ASKED, hosts)
    assert named(found.hosts) == ["a"]
    assert reasons(found.rejected) == {
        "b": "it is dedicated to profile.gpu",
        "c": "hosts are dedicated to this: a",
    }
    foreign = candidates(replace(ASKED, organization=OTHER), hosts)
    assert named(foreign.hosts) == ["c"]
    assert reasons(foreign.rejected)["a"] == "it is dedicated to another organization"
    local = candidates(replace(ASKED, kind=HostKind.LOCAL), [*hosts, LOCAL_HOST])
    assert not local.hosts


_HOSTS = st.builds(
    host,
    st.sampled_from("abcdef"),
    kind=st.sampled_from(HostKind),
    state=st.sampled_from(HostState),
    organization=st.sampled_from([None, ORG, OTHER]),
    profile=st.sampled_from([None, "profile.shell", "profile.gpu"]),
)
_NAMES = st.lists(st.sampled_from("abcdefg"), max_size=3).map(tuple)


@given(
    st.lists(_HOSTS, max_size=6, unique_by=lambda one: one.name),
    st.builds(Placement, _NAMES, _NAMES),
    st.sampled_from([None, *"abg"]),
    st.randoms(),
)
def test_every_candidate_is_allowed_and_the_order_of_hosts_does_not_matter(
    hosts: list[Host], placement: Placement, choice: str | None, random: object
) -> None:
    asked = replace(ASKED, placement=placement, host=choice)
    found = candidates(asked, hosts)
    random.shuffle(hosts)  # type: ignore[attr-defined]
    assert candidates(asked, hosts) == found
    fit = [
        one
        for one in hosts
        if one.dedicated
        and one.organization in (None, ORG)
        and one.profile in (None, "profile.shell")
    ]
    for one in found.hosts:
        assert one.kind is HostKind.SSH and one.state is HostState.ACTIVE
        assert one in fit if fit or one.dedicated else True
        assert choice in (None, one.name)
    places = (*placement.prefer, *placement.fallback)
    if places and choice is None:
        assert {*named(found.hosts), *reasons(found.rejected)} == set(places)
    assert not set(named(found.hosts)) & set(reasons(found.rejected))


def test_what_runs_takes_room_with_its_limits_or_the_defaults() -> None:
    bare = sandbox("one")
    limits = replace(bare.profile, resources=Resources(cpu=2.0, memory_mb=512))
    held = [
        bare,
        replace(bare, state=State.PROVISIONING, profile=limits),
        *(replace(bare, state=state) for state in State if state.value in _AWAY),
    ]
    assert load_of(held, DEFAULTS) == HostLoad(2, 3.0, 4608)
    assert room_of(Resources(), Resources()) == HostLoad(1)


_AWAY = {"stopped", "expired", "failed", "destroying", "destroyed"}


def test_shortage_names_the_limit() -> None:
    need = HostLoad(1, 1.0, 1024)
    assert not has_limits(host("a"))
    assert shortage(host("a"), HostLoad(9999, 9999.0, 10**9), need) is None
    count = host("a", capacity=Capacity(sandboxes=2))
    assert has_limits(count)
    assert shortage(count, HostLoad(1), need) is None
    assert shortage(count, HostLoad(2), need) == "it holds 2 sandboxes of 2"
    cores = host("a", capacity=Capacity(cpu=2.0), overcommit=1.5)
    assert shortage(cores, HostLoad(2, 2.0), need) is None
    assert "2.5 cores of 3 are taken" in (shortage(cores, HostLoad(2, 2.5), need) or "")
    memory = host("a", capacity=Capacity(memory_mb=2048))
    assert shortage(memory, HostLoad(1, 0.0, 1024), need) is None
    assert "1025 MiB of 2048" in (shortage(memory, HostLoad(1, 0.0, 1025), need) or "")


@given(
    st.integers(0, 20),
    st.floats(1.0, 4.0),
    st.lists(st.tuples(st.sampled_from([0.25, 0.5, 1.0]), st.integers(1, 4096)), max_size=60),
)
def test_what_is_admitted_never_exceeds_the_capacity(
    count: int, overcommit: float, needs: list[tuple[float, int]]
) -> None:
    box = host("a", capacity=Capacity(count, 4.0, 8192), overcommit=overcommit)
    load = HostLoad()
    for cpu, memory in needs:
        need = HostLoad(1, cpu, memory)
        if shortage(box, load, need) is None:
            load = load.plus(need)
    assert load.sandboxes <= count
    assert load.cpu <= 4.0 * overcommit + 1e-6
    assert load.memory_mb <= 8192 * overcommit


def test_kind_without_a_host_says_how_one_is_added() -> None:
    assert "atoll host add" in no_host_of(HostKind.SSH)
