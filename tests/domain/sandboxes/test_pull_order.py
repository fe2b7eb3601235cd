"""Pull orders: their states, their ends, and the checkouts they fit."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import Conflict, Invalid
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId
from atoll.domain.sandboxes.pull_order import (
    TAKES_AT_MOST,
    WAITS_FOR,
    Checkout,
    PullDraft,
    PullOrder,
    PullResult,
    cancel,
    check_draft,
    finish,
    order_at,
    put_back,
    take,
)
from atoll.domain.sandboxes.sandbox import SandboxRepo
from atoll.testing.samples import sandbox
from atoll.wire.words.library import OrderState

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
REPO = SandboxRepo("https://h.example/o/r.git", "fix", None, "/workspace")
ORDER = PullOrder(
    "pull_1", PERSONAL_ORG, PrincipalId("a"), SandboxId("sb_1"), "box", PullDraft(), NOW, REPO
)
LATER = NOW + timedelta(hours=1)


def test_order_is_taken_and_ends_once() -> None:
    taken = take(ORDER, NOW)
    ended = finish(taken, PullResult(True, "fix", "a" * 40, 3, "look"))
    assert (ended.state, ended.written, ended.commits) == (OrderState.DONE, "fix", 3)
    assert finish(taken, PullResult(False, said="why")).state is OrderState.FAILED
    for one in (ORDER, ended):
        with pytest.raises(Conflict):
            finish(one, PullResult(True))
    assert put_back(taken) == ORDER
    assert put_back(ended) == ended


def test_only_an_order_that_waits_is_cancelled() -> None:
    assert cancel(ORDER).state is OrderState.CANCELLED
    with pytest.raises(Conflict):
        cancel(take(ORDER, NOW))


def test_order_fails_when_it_waits_or_takes_too_long() -> None:
    assert order_at(ORDER, NOW + WAITS_FOR - timedelta(seconds=1)) == ORDER
    assert order_at(ORDER, NOW + WAITS_FOR).state is OrderState.FAILED
    taken = take(ORDER, LATER)
    assert order_at(taken, LATER + timedelta(minutes=1)) == taken
    assert order_at(taken, LATER + TAKES_AT_MOST).state is OrderState.FAILED
    assert order_at(replace(taken, taken_at=None), LATER).state is OrderState.FAILED
    done = finish(taken, PullResult(True))
    assert order_at(done, NOW + WAITS_FOR * 9) == done


def test_checkout_fits_by_its_key_or_its_address() -> None:
    assert Checkout("k", "https://h.example/o/r").fits(REPO)
    assert not Checkout("k").fits(REPO)
    uploaded = replace(REPO, key="k")
    assert Checkout("k").fits(uploaded)
    assert not Checkout("x", "https://h.example/o/r").fits(uploaded)


@pytest.mark.parametrize(
    "draft",
    [
        PullDraft(repo=1),
        PullDraft(repo=-1),
        PullDraft(into="a..b"),
        PullDraft(branch="-x"),
        PullDraft(pushed=True),
        PullDraft(branch="fix", pushed=True, uncommitted=True),
        PullDraft(branch="fix", expects="a" * 40),
    ],
)
def test_pull_that_cannot_be_made_is_refused(draft: PullDraft) -> None:
    with pytest.raises(Invalid):
        check_draft(replace(sandbox("box"), repos=(REPO,)), draft)


def test_pull_of_a_branch_and_of_a_held_push_are_taken() -> None:
    here = replace(sandbox("box"), repos=(REPO,))
    for draft in (
        PullDraft(),
        PullDraft(branch="a", into="b"),
        PullDraft(branch="a", pushed=True),
        PullDraft(branch="a", pushed=True, expects="a" * 40),
    ):
        check_draft(here, draft)
