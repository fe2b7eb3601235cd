from datetime import UTC, datetime, timedelta

from atoll.domain.lease import Lease, grant

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SPAN = timedelta(seconds=15)


def asked(last: Lease | None, holder: str, seconds: float) -> Lease | None:
    return grant(last, "x", holder=holder, now=NOW + timedelta(seconds=seconds), span=SPAN)


def test_first_lease_is_granted_with_fence_one() -> None:
    assert asked(None, "a", 0) == Lease("x", "a", 1, NOW + SPAN)


def test_lease_of_another_is_refused_until_it_ends() -> None:
    first = asked(None, "a", 0)
    assert asked(first, "b", 14.9) is None
    assert asked(first, "b", 15) == Lease("x", "b", 2, NOW + 2 * SPAN)


def test_holder_prolongs_with_its_fence_but_not_past_the_end() -> None:
    first = asked(None, "a", 0)
    assert asked(first, "a", 10) == Lease("x", "a", 1, NOW + timedelta(seconds=25))
    again = asked(first, "a", 20)
    assert again is not None and again.fence == 2, "somebody may have held it in between"
