"""Checks of the rows of pull orders."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId, SandboxId
from atoll.domain.sandboxes.pull_order import PullDraft, PullOrder
from atoll.domain.sandboxes.sandbox import SandboxRepo
from atoll.ports import Store
from atoll.testing.samples import NOW, OTHER, OWNER
from atoll.wire.words.library import KEPT_ORDERS, OrderState

REPO = SandboxRepo("https://h.example/o/r", "fix", None, "/workspace", sparse=("a",))


def order(number: int, *, owner: PrincipalId = OWNER) -> PullOrder:
    """Return an order that waits."""
    return PullOrder(
        f"pull_{number:04d}",
        PERSONAL_ORG,
        owner,
        SandboxId("sb_1"),
        "box",
        PullDraft(branch="fix", uncommitted=True),
        NOW + timedelta(seconds=number),
        REPO,
    )


async def check_orders_are_kept_by_person_in_their_order(store: Store) -> None:
    one, two, other = order(1), order(2), order(3, owner=OTHER)
    async with store.begin() as rows:
        for each in (two, one, other):
            await rows.pulls.put(each)
        assert await rows.pulls.of(PERSONAL_ORG, OWNER) == [one, two]
        assert await rows.pulls.of(OrgId("else"), OWNER) == []
        done = replace(one, state=OrderState.DONE, taken_at=NOW, commit="a" * 40, commits=2)
        await rows.pulls.put(done)
    async with store.read() as rows:
        assert await rows.pulls.of(PERSONAL_ORG, OWNER) == [done, two]
        assert await rows.pulls.get(one.id) == done
        assert await rows.pulls.get("pull_none") is None
        assert await rows.pulls.get(other.id) == other


async def check_oldest_orders_of_a_person_are_dropped(store: Store) -> None:
    async with store.begin() as rows:
        for number in range(KEPT_ORDERS + 2):
            await rows.pulls.put(order(number))
        kept = await rows.pulls.of(PERSONAL_ORG, OWNER)
        assert (len(kept), kept[0]) == (KEPT_ORDERS, order(2))
        await rows.pulls.put(kept[0])
        assert await rows.pulls.of(PERSONAL_ORG, OWNER) == kept
