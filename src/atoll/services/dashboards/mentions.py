"""Mentions of people on dashboards: noted with what makes them, and listed while they wait.

A comment makes its mentions when it is written, an item when it becomes somebody's todo. Both are
in the transaction of the change itself, so none is lost and none is made twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from atoll.domain.dashboards.comment import DashboardComment
from atoll.domain.dashboards.dashboard import Dashboard, role_of
from atoll.domain.dashboards.item import Fields
from atoll.domain.dashboards.mention import (
    MAX_MENTIONED,
    Assignment,
    DashboardMention,
    MentionId,
    MentionKind,
    assignment_of,
)
from atoll.domain.errors import NotFound
from atoll.domain.event import EventDraft, dashboard_stream
from atoll.domain.ids import DashboardId, PrincipalId
from atoll.domain.people.principal import Principal
from atoll.ports import Transaction
from atoll.services.ground import Ground


@dataclass(frozen=True, slots=True)
class SeenMention:
    """A mention, and the name of its dashboard as it is now."""

    mention: DashboardMention
    dashboard_name: str


class DashboardMentions:
    """Use cases on mentions."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def of(self, caller: Principal) -> list[SeenMention]:
        """Return what mentions the caller, on dashboards that they see."""
        names: dict[DashboardId, str | None] = {}
        async with self._ground.store.read() as rows:
            mentions = await rows.dashboard_mentions.of(caller.org_id, caller.id, MAX_MENTIONED)
            for dashboard_id in {mention.dashboard_id for mention in mentions}:
                names[dashboard_id] = _seen_name(caller, await rows.dashboards.get(dashboard_id))
        seen = [(mention, names[mention.dashboard_id]) for mention in mentions]
        return [SeenMention(mention, name) for mention, name in seen if name is not None]

    async def dismiss(self, caller: Principal, mention_id: str) -> None:
        """Have a mention wait no more. Raises `NotFound`."""
        async with self._ground.store.begin() as rows:
            mentions = rows.dashboard_mentions
            mention = await mentions.get(caller.org_id, caller.id, MentionId(mention_id))
            dashboard = None if mention is None else await rows.dashboards.get(mention.dashboard_id)
            if mention is None or mention.dismissed or dashboard is None:
                raise NotFound(f"Nothing mentions you as {mention_id[:80]!r} any more.")
            if mention.kind is MentionKind.TODO:
                await mentions.put(replace(mention, dismissed=True))
            else:
                await mentions.remove(mention.id)
            await self._report(rows, caller, "dashboard.mention_ended", mention, dashboard)
        self._announce(dashboard)

    async def note(
        self, rows: Transaction, author: Principal, dashboard: Dashboard, comment: DashboardComment
    ) -> None:
        """Note whom a new comment mentions, in the caller's transaction."""
        for person in comment.mentions:
            if person != author.id:
                mention = self._of_comment(comment, person)
                await self._add(rows, author, mention, dashboard)

    async def withdraw(
        self, rows: Transaction, actor: Principal, dashboard: Dashboard, comment: DashboardComment
    ) -> None:
        """Remove what a comment mentions, in the caller's transaction."""
        for mention in await rows.dashboard_mentions.of_comment(dashboard.id, comment.id):
            await self._end(rows, actor, mention, dashboard)

    async def follow(
        self,
        rows: Transaction,
        author: Principal,
        dashboard: Dashboard,
        items: Mapping[str, Fields | None],
    ) -> bool:
        """Note whose todos these items became, and whose they are no more, in the caller's
        transaction. Returns whether anybody is to be told."""
        todos = {
            item_id: fields
            for item_id, fields in items.items()
            if fields is None or fields.get("kind") == "todo"
        }
        if not todos:
            return False
        mentions = await rows.dashboard_mentions.of_todos(dashboard.id, todos)
        known, changed = {mention.item_id: mention for mention in mentions}, False
        for item_id, fields in todos.items():
            before, wanted = known.get(item_id), assignment_of(fields)
            if before is not None and wanted is not None and before.person == wanted.person:
                await self._reword(rows, before, wanted.text)
                continue
            if before is not None:
                await self._end(rows, author, before, dashboard)
            if wanted is not None:
                await self._assign(rows, author, dashboard, item_id=item_id, wanted=wanted)
            changed = True
        return changed

    async def _reword(self, rows: Transaction, mention: DashboardMention, text: str) -> None:
        if text != mention.text and not mention.dismissed:
            await rows.dashboard_mentions.put(replace(mention, text=text))

    async def _assign(
        self,
        rows: Transaction,
        author: Principal,
        dashboard: Dashboard,
        *,
        item_id: str,
        wanted: Assignment,
    ) -> None:
        if await rows.members.get(dashboard.org_id, wanted.person) is None:
            return
        mention = DashboardMention(
            MentionId(self._ground.ids.new("mnt")),
            dashboard.org_id,
            dashboard.id,
            item_id,
            wanted.person,
            MentionKind.TODO,
            author.id,
            author.name,
            wanted.text,
            self._ground.clock.now(),
            # A todo of one's own is known to oneself; who moves it later gave it to nobody.
            dismissed=wanted.person == author.id,
        )
        await self._add(rows, author, mention, dashboard)

    async def _add(
        self, rows: Transaction, author: Principal, mention: DashboardMention, dashboard: Dashboard
    ) -> None:
        await rows.dashboard_mentions.put(mention)
        await rows.dashboard_mentions.cut(mention.org_id, mention.person, MAX_MENTIONED)
        if not mention.dismissed:
            await self._report(rows, author, "dashboard.mentioned", mention, dashboard)

    async def _end(
        self, rows: Transaction, actor: Principal, mention: DashboardMention, dashboard: Dashboard
    ) -> None:
        await rows.dashboard_mentions.remove(mention.id)
        if not mention.dismissed:
            await self._report(rows, actor, "dashboard.mention_ended", mention, dashboard)

    async def _report(
        self,
        rows: Transaction,
        actor: Principal,
        kind: str,
        mention: DashboardMention,
        dashboard: Dashboard,
    ) -> None:
        """Append an event for who is mentioned alone. It says where, and not what was said."""
        draft = EventDraft(
            id=self._ground.ids.event(),
            stream=dashboard_stream(dashboard.id),
            event_type=kind,
            at=self._ground.clock.now(),
            org_id=dashboard.org_id,
            owner=mention.person,
            actor=actor,
            reason=None,
            payload={
                "dashboard_id": dashboard.id,
                "name": dashboard.name,
                "item_id": mention.item_id,
                "mention_id": mention.id,
                "kind": mention.kind.value,
            },
        )
        await rows.events.append((draft,))

    def _of_comment(self, comment: DashboardComment, person: PrincipalId) -> DashboardMention:
        return DashboardMention(
            MentionId(self._ground.ids.new("mnt")),
            comment.org_id,
            comment.dashboard_id,
            comment.item_id,
            person,
            MentionKind.COMMENT,
            comment.author,
            comment.author_name,
            comment.text,
            comment.at,
            comment_id=comment.id,
        )

    def _announce(self, dashboard: Dashboard) -> None:
        self._ground.bus.announce((dashboard_stream(dashboard.id),))


def _seen_name(caller: Principal, dashboard: Dashboard | None) -> str | None:
    if dashboard is None or dashboard.deleted_at is not None:
        return None
    return None if role_of(caller, dashboard) is None else dashboard.name
