"""The policy a runtime lives by: whole, never older, and applied by whoever heeds it."""

import pytest

from atoll.domain.errors import Conflict
from atoll.runtime.policy.policy import StandingPolicy
from atoll.wire.contract.policy import Network, Policy


def test_policy_replaced_is_applied_at_once() -> None:
    standing = StandingPolicy()
    applied: list[int] = []
    standing.subscribe(lambda policy: applied.append(policy.revision))
    standing.replace(Policy(revision=3))
    assert applied == [0, 3]


def test_policy_of_the_same_revision_may_be_sent_again() -> None:
    standing = StandingPolicy()
    standing.replace(Policy(revision=3))
    standing.replace(Policy(revision=3, network=Network(mode="none")))
    assert standing.current.network.mode == "none"


def test_policy_older_than_the_standing_one_is_refused() -> None:
    standing = StandingPolicy()
    standing.replace(Policy(revision=3))
    with pytest.raises(Conflict):
        standing.replace(Policy(revision=2))
    assert standing.current.revision == 3
