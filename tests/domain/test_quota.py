from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.quota import (
    Quantity,
    Quota,
    QuotaUsage,
    check_sandbox,
    check_session,
    read_default_limits,
    read_quota,
    spelled_quota,
    usage_of,
    with_default_limits,
)
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.wall.resources import Resources
from atoll.testing.samples import sandbox
from atoll.wire.words.sandboxes import State

GRANTED = Resources(cpu=2.0, memory_mb=1024, workspace_mb=4096)


def made(state: State = State.READY, resources: Resources = GRANTED) -> Sandbox:
    one = sandbox("one")
    return replace(one, state=state, profile=replace(one.profile, resources=resources))


@pytest.mark.parametrize(
    ("state", "usage"),
    [
        (State.REQUESTED, QuotaUsage(1, 0, 2.0, 1024, 4096)),
        (State.ACTIVE, QuotaUsage(1, 0, 2.0, 1024, 4096)),
        (State.STOPPED, QuotaUsage(1, 0, 0.0, 0, 4096)),
        (State.FAILED, QuotaUsage(1, 0, 0.0, 0, 4096)),
        (State.DESTROYING, QuotaUsage()),
        (State.DESTROYED, QuotaUsage()),
    ],
)
def test_what_runs_counts_whole_and_what_is_kept_its_storage(
    state: State, usage: QuotaUsage
) -> None:
    assert usage_of([made(state)]) == usage


DEFAULTS = Resources(cpu=1.0, memory_mb=4096, workspace_mb=10240)


def test_default_fills_what_a_quota_counts_and_the_profile_lacks() -> None:
    bare = made(resources=Resources(memory_mb=512))
    assert with_default_limits(bare, Quota(sandboxes=3), DEFAULTS) is bare
    filled = with_default_limits(bare, Quota(cpu=9.0, memory_mb=9, storage_mb=9), DEFAULTS)
    assert filled.profile.resources == Resources(cpu=1.0, memory_mb=512, workspace_mb=10240)
    assert replace(filled, profile=bare.profile) == bare


def test_sandbox_that_began_without_a_limit_counts_with_the_default() -> None:
    bare = [made(resources=Resources(memory_mb=512)), made(State.STOPPED, Resources())]
    assert usage_of(bare, DEFAULTS) == QuotaUsage(2, 0, 1.0, 512, 20480)


def test_default_limits_are_read_as_a_quotas() -> None:
    read = read_default_limits({"cpu": 0.5, "memory": "1Gi"})
    assert read == Resources(cpu=0.5, memory_mb=1024)
    assert read_default_limits({}) == Resources()
    for wrong in ({"sandboxes": 1}, {"concurrentSessions": 1}, {"cpu": "0"}, {"memory": "0Mi"}):
        with pytest.raises(Invalid, match="above 0"):
            read_default_limits(wrong)


def test_profile_without_limits_counts_as_a_sandbox() -> None:
    assert usage_of([made(resources=Resources())] * 2, sessions=3) == QuotaUsage(2, 3)
    stopped = made(State.STOPPED, Resources())
    assert usage_of([stopped]) == QuotaUsage(1)


@pytest.mark.parametrize(
    ("quota", "field"),
    [
        (Quota(sandboxes=1), "sandboxes"),
        (Quota(cpu=3.9), "cpu"),
        (Quota(memory_mb=2047), "memory"),
        (Quota(storage_mb=8191), "storage"),
    ],
)
def test_sandbox_beyond_a_quota_is_refused(quota: Quota, field: str) -> None:
    held = usage_of([made()])
    with pytest.raises(LimitReached, match="Acme would hold") as refused:
        check_sandbox(quota, held, made(), whose="Acme")
    assert (refused.value.code, refused.value.field) == ("quota_exceeded", field)


def test_sandbox_that_just_fits_is_admitted() -> None:
    exact = Quota(sandboxes=2, cpu=4.0, memory_mb=2048, storage_mb=8192, sessions=0)
    check_sandbox(exact, replace(usage_of([made()]), sessions=0), made(), whose="Acme")


@pytest.mark.parametrize("quota", [Quota(cpu=9), Quota(memory_mb=9000), Quota(storage_mb=9000)])
def test_quota_needs_a_limit_to_count(quota: Quota) -> None:
    with pytest.raises(LimitReached, match="sets no") as refused:
        check_sandbox(quota, QuotaUsage(), made(resources=Resources()), whose="You")
    assert refused.value.code == "quota_needs_limit"


def test_sessions_are_counted_apart() -> None:
    check_session(Quota(sessions=2, sandboxes=0), QuotaUsage(sandboxes=5, sessions=1), whose="You")
    with pytest.raises(LimitReached, match="You would hold 3 concurrent sessions of 2"):
        check_session(Quota(sessions=2), QuotaUsage(sessions=2), whose="You")


def test_quota_is_read_as_it_is_written() -> None:
    written: dict[str, Quantity] = {
        "sandboxes": 10,
        "concurrentSessions": 3,
        "cpu": "4",
        "memory": "8Gi",
        "storage": "50Gi",
    }
    quota = read_quota(written)
    assert quota == Quota(10, 3, 4.0, 8192, 51200)
    assert spelled_quota(quota) == written
    assert read_quota({"cpu": 0.5, "storage": None, "sandboxes": None}) == Quota(cpu=0.5)
    assert Quota().empty
    assert spelled_quota(Quota())["memory"] is None


def test_usage_is_spelled_like_a_quota() -> None:
    shown = spelled_quota(QuotaUsage(1, 0, 2.0, 1536, 0))
    assert (shown["cpu"], shown["memory"], shown["storage"]) == ("2", "1536Mi", "0Mi")


@pytest.mark.parametrize(
    "wrong",
    [
        {"sandboxes": -1},
        {"sandboxes": True},
        {"sandboxes": 1.5},
        {"sandboxes": 10**9},
        {"concurrentSessions": "3"},
        {"cpu": "four"},
        {"cpu": "-1"},
        {"cpu": True},
        {"cpu": "1e9"},
        {"memory": "8GB"},
        {"memory": 8},
        {"storage": "9999999999Ti"},
        {"disk": "1Gi"},
    ],
)
def test_wrong_quota_names_its_field(wrong: dict[str, Quantity]) -> None:
    with pytest.raises(Invalid) as refused:
        read_quota(wrong)
    assert refused.value.field == next(iter(wrong))


@given(st.integers(0, 10**9 - 1))
def test_every_size_comes_back_as_it_was(mebibytes: int) -> None:
    shown = spelled_quota(Quota(memory_mb=mebibytes))["memory"]
    assert read_quota({"memory": shown}).memory_mb == mebibytes
