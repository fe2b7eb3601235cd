"""Checks of the rows of mentions on dashboards."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.dashboards.comment import CommentId
from atoll.domain.dashboards.mention import DashboardMention, MentionId, MentionKind
from atoll.domain.ids import PERSONAL_ORG, DashboardId, OrgId, PrincipalId
from atoll.ports import Store
from atoll.testing.samples import NOW, OWNER
from tests.adapters.storage.rows.dashboards.dashboards import dashboard

BOB, EVE = PrincipalId("bob"), PrincipalId("eve")
ONE, TWO = DashboardId("dsh_1"), DashboardId("dsh_2")


def mention(number: int, *, person: PrincipalId = BOB, board: DashboardId = ONE) -> (
    DashboardMention
):  # fmt: skip
    """Return a mention by a comment of `OWNER`, made at a second."""
    return DashboardMention(
        id=MentionId(f"mnt_{person}_{number}"),
        org_id=PERSONAL_ORG,
        dashboard_id=board,
        item_id=f"itm_{number:016d}",
        person=person,
        kind=MentionKind.COMMENT,
        author=OWNER,
        author_name="Ann",
        text="What about\nthis?",
        at=NOW + timedelta(seconds=number),
        comment_id=CommentId(f"cmt_{number}"),
    )


def _todo(number: int) -> DashboardMention:
    return replace(mention(number), kind=MentionKind.TODO, comment_id=None)


async def check_mentions_are_a_persons_own_and_the_newest_are_kept(store: Store) -> None:
    """Newest first, without dismissed ones, which count all the same."""
    made = [mention(1), mention(2), mention(3), mention(2, person=EVE)]
    async with store.begin() as rows:
        for one in made:
            await rows.dashboard_mentions.put(one)
        await rows.dashboard_mentions.put(replace(made[2], dismissed=True))
    async with store.read() as rows:
        mentions = rows.dashboard_mentions
        assert await mentions.of(PERSONAL_ORG, BOB, 9) == [made[1], made[0]]
        assert await mentions.of(PERSONAL_ORG, BOB, 1) == [made[1]]
        assert await mentions.of(OrgId("other"), BOB, 9) == []
        assert await mentions.get(PERSONAL_ORG, BOB, made[0].id) == made[0]
        assert await mentions.get(PERSONAL_ORG, EVE, made[0].id) is None
        assert await mentions.get(OrgId("other"), BOB, made[0].id) is None
    async with store.begin() as rows:
        await rows.dashboard_mentions.cut(PERSONAL_ORG, BOB, 2)
        assert await rows.dashboard_mentions.of(PERSONAL_ORG, BOB, 9) == [made[1]]
        await rows.dashboard_mentions.cut(PERSONAL_ORG, BOB, 0)
        assert await rows.dashboard_mentions.of(PERSONAL_ORG, BOB, 9) == []
        assert await rows.dashboard_mentions.of(PERSONAL_ORG, EVE, 9) == [made[3]]


async def check_mentions_are_found_by_what_makes_them_and_go_with_it(store: Store) -> None:
    """A comment, a todo and the dashboard."""
    todos = [replace(_todo(1), id=MentionId("mnt_t1")), replace(_todo(2), dismissed=True)]
    made = [mention(1), replace(mention(1, person=EVE)), mention(1, board=TWO, person=OWNER)]
    async with store.begin() as rows:
        await rows.dashboards.put(dashboard("1"))
        for one in (*todos, *made):
            await rows.dashboard_mentions.put(one)
    async with store.begin() as rows:
        mentions = rows.dashboard_mentions
        items = [one.item_id for one in todos]
        found = await mentions.of_todos(ONE, [*items, *(f"itm_{one}" for one in range(1200))])
        assert sorted(found, key=lambda one: one.item_id) == todos
        assert await mentions.of_todos(TWO, items) == await mentions.of_todos(ONE, ()) == []
        assert await mentions.of_comment(ONE, CommentId("cmt_1")) == made[:2]
        await mentions.remove(made[0].id)
        await mentions.remove(made[0].id)
        assert await mentions.of_comment(ONE, CommentId("cmt_1")) == [made[1]]
        await rows.dashboards.erase(ONE)
        assert await mentions.of_todos(ONE, items) == []
        assert await mentions.of_comment(TWO, CommentId("cmt_1")) == [made[2]]
