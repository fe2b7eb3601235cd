"""Comments on the items of dashboards: written, resolved and deleted.

The log tells that somebody commented, and not what they wrote.
"""

from collections.abc import Sequence
from dataclasses import replace

from atoll.domain.dashboards.comment import (
    CommentId,
    DashboardComment,
    check_comments,
    check_mentioned,
    check_removes,
    check_resolves,
    check_room,
    read_comment,
    read_item_id,
    read_mentions,
    unknown_comment,
)
from atoll.domain.dashboards.dashboard import Dashboard, role_of
from atoll.domain.dashboards.mention import named_in
from atoll.domain.dashboards.presence import presence_name
from atoll.domain.event import dashboard_stream
from atoll.domain.ids import PrincipalId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.principal import Principal
from atoll.ports import Transaction
from atoll.services.dashboards.dashboards import Dashboards
from atoll.services.dashboards.mentions import DashboardMentions
from atoll.services.ground import Ground
from atoll.services.people.tokens import Owners
from atoll.wire.words.dashboards import MAX_MENTIONS


class DashboardComments:
    """Use cases on comments. Those of a dashboard that the caller may not see are `NotFound`.
    `owners` returns a person as they are now."""

    def __init__(
        self,
        ground: Ground,
        dashboards: Dashboards,
        *,
        mentions: DashboardMentions,
        owners: Owners,
    ) -> None:
        self._ground = ground
        self._dashboards = dashboards
        self._mentions = mentions
        self._owners = owners

    async def list(self, caller: Principal, ref: str, page: PageQuery) -> RowPage[DashboardComment]:
        """Return a page of a dashboard's comments, oldest first."""
        async with self._ground.store.read() as rows:
            dashboard = await self._dashboards.find(rows, caller, ref)
            return await rows.dashboard_comments.page(dashboard.id, page)

    async def add(
        self, caller: Principal, ref: str, item_id: str, text: str, *, mentions: Sequence[str] = ()
    ) -> DashboardComment:
        """Comment on an item. `mentions` are people, beside those whom the text names. Raises
        `Invalid`, `LimitReached`."""
        dashboard, body = (await self._dashboards.get(caller, ref)).dashboard, read_comment(text)
        check_comments(caller)
        named: tuple[PrincipalId, ...] = ()
        if caller.guest_access is None:  # a guest asks nobody here
            named = await self._resolve_mentions(dashboard, body, read_mentions(mentions))
        comment = DashboardComment(
            id=CommentId(self._ground.ids.new("cmt")),
            dashboard_id=dashboard.id,
            org_id=dashboard.org_id,
            item_id=read_item_id(item_id),
            author=caller.id,
            author_name=presence_name(caller) if caller.name else "",
            text=body,
            at=self._ground.clock.now(),
            mentions=named,
        )
        async with self._ground.store.begin() as rows:
            dashboard = await self._dashboards.find(rows, caller, ref)
            check_room(caller, await rows.dashboard_comments.count(dashboard.id))
            await rows.dashboard_comments.put(comment)
            await self._mentions.note(rows, caller, dashboard, comment)
            await self._report(rows, caller, "dashboard.commented", dashboard, comment)
        self._announce(dashboard)
        return comment

    async def resolve(
        self, caller: Principal, ref: str, comment_id: str, *, resolved: bool
    ) -> DashboardComment:
        """Resolve a comment, or open it again. Raises `Forbidden`."""
        async with self._ground.store.begin() as rows:
            dashboard, before = await self._find(rows, caller, ref, comment_id)
            check_resolves(caller, dashboard, before)
            after = replace(before, resolved=resolved)
            if after != before:
                await rows.dashboard_comments.put(after)
        return after

    async def remove(self, caller: Principal, ref: str, comment_id: str) -> None:
        """Delete a comment. Raises `Forbidden`."""
        async with self._ground.store.begin() as rows:
            dashboard, comment = await self._find(rows, caller, ref, comment_id)
            check_removes(caller, dashboard, comment)
            await rows.dashboard_comments.remove(dashboard.id, comment.id)
            await self._mentions.withdraw(rows, caller, dashboard, comment)
            await self._report(rows, caller, "dashboard.uncommented", dashboard, comment)
        self._announce(dashboard)

    async def _find(
        self, rows: Transaction, caller: Principal, ref: str, comment_id: str
    ) -> tuple[Dashboard, DashboardComment]:
        dashboard = await self._dashboards.find(rows, caller, ref)
        comment = await rows.dashboard_comments.get(dashboard.id, CommentId(comment_id))
        if comment is None:
            raise unknown_comment(comment_id)
        return dashboard, comment

    async def _resolve_mentions(
        self, dashboard: Dashboard, text: str, given: tuple[PrincipalId, ...]
    ) -> tuple[PrincipalId, ...]:
        """Return the people who are given, and those whom the text names and who see the
        dashboard. A name of anybody else is only text."""
        check_mentioned(
            dashboard, [await self._owners(dashboard.org_id, person_id) for person_id in given]
        )
        if "@" not in text:
            return given
        async with self._ground.store.read() as rows:
            members = await rows.members.of(dashboard.org_id)
        named = named_in(text, {member.id: member.name for member in members}, given)
        people = [
            await self._owners(dashboard.org_id, person_id) for person_id in named[:MAX_MENTIONS]
        ]
        seeing = [
            person.id for person in people if person is not None and role_of(person, dashboard)
        ]
        return tuple(dict.fromkeys((*given, *seeing)))[:MAX_MENTIONS]

    async def _report(
        self,
        rows: Transaction,
        actor: Principal,
        kind: str,
        dashboard: Dashboard,
        comment: DashboardComment,
    ) -> None:
        payload = {"comment_id": comment.id, "item_id": comment.item_id, "author": comment.author}
        await self._dashboards.report(rows, actor, kind, dashboard, **payload)

    def _announce(self, dashboard: Dashboard) -> None:
        self._ground.bus.announce((dashboard_stream(dashboard.id),))
