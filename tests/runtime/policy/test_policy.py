"""The policy a runtime lives by: whole, never older, and heard by whoever heeds it."""

import pytest

from atoll.domain.errors import Conflict
from atoll.runtime.policy.policy import StandingPolicy
from atoll.wire.contract.policy import Network, Policy


def test_policy_replaced_is_heard_at_once() -> None:
    standing = StandingPolicy()
    heard: list[int] = []
    standing.heed(lambda policy: heard.append(policy.revision))
    standing.replace(Policy(revision=3))
    assert heard == [0, 3]


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
