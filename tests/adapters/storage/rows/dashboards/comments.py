"""Checks of the rows of comments on dashboards."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.dashboards.comment import CommentId, DashboardComment
from atoll.domain.ids import PERSONAL_ORG, DashboardId, PrincipalId
from atoll.domain.paging import PageQuery
from atoll.ports import Store
from atoll.testing.samples import NOW, OWNER

ONE, TWO = DashboardId("dsh_1"), DashboardId("dsh_2")


def comment(number: int, *, board: DashboardId = ONE, second: int = 0) -> DashboardComment:
    """Return a comment of `OWNER`, written at a second."""
    return DashboardComment(
        id=CommentId(f"cmt_{board}_{number}"),
        dashboard_id=board,
        org_id=PERSONAL_ORG,
        item_id="itm_0123456789abcdef",
        author=OWNER,
        author_name="Ann",
        text="What about\nthis?",
        at=NOW + timedelta(seconds=second),
        mentions=(PrincipalId("bob"),),
    )


async def check_comments_are_paged_from_the_oldest(store: Store) -> None:
    """Pages have those of one dashboard; those of one moment are in the order of their ids."""
    made = [comment(1), comment(2, second=1), comment(3, second=1), comment(4, second=2)]
    async with store.begin() as rows:
        for one in (*reversed(made), comment(1, board=TWO)):
            await rows.dashboard_comments.put(one)
    async with store.read() as rows:
        page = PageQuery(2)
        found: list[DashboardComment] = []
        while True:
            cut = await rows.dashboard_comments.page(ONE, page)
            found += cut.rows
            if cut.following is None:
                break
            page = PageQuery(2, cut.following)
        assert found == made
        assert await rows.dashboard_comments.count(ONE) == 4
        assert await rows.dashboard_comments.count(DashboardId("dsh_3")) == 0


async def check_comment_is_changed_and_removed_on_its_own_dashboard_alone(store: Store) -> None:
    """A comment of another dashboard is not found by its id."""
    one, other = comment(1), comment(2, board=TWO)
    async with store.begin() as rows:
        await rows.dashboard_comments.put(one)
        await rows.dashboard_comments.put(other)
        await rows.dashboard_comments.put(replace(one, resolved=True))
        await rows.dashboard_comments.remove(ONE, other.id)
    async with store.begin() as rows:
        assert await rows.dashboard_comments.get(ONE, one.id) == replace(one, resolved=True)
        assert await rows.dashboard_comments.get(ONE, other.id) is None
        assert await rows.dashboard_comments.get(TWO, other.id) == other
        await rows.dashboard_comments.remove(ONE, one.id)
        await rows.dashboard_comments.remove(ONE, one.id)
        assert await rows.dashboard_comments.get(ONE, one.id) is None
