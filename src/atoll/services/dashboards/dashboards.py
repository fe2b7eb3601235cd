"""Dashboards: who makes, finds, names, shares and deletes them.

What is on one is edited through `services.dashboards.rooms`.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from atoll.domain.dashboards.dashboard import (
    GROUP,
    MAX_DASHBOARDS,
    RESTORABLE,
    Dashboard,
    DashboardPerson,
    check_manages,
    check_seen,
    read_name,
    read_subject,
    role_of,
    subjects_of,
    unknown,
    with_person,
    without_person,
)
from atoll.domain.dashboards.history import HistoryEntry
from atoll.domain.dashboards.item import Fields
from atoll.domain.dashboards.template import TEMPLATES, copy_items, items_of
from atoll.domain.errors import LimitReached, NotFound
from atoll.domain.event import EventDraft, Json, dashboard_stream
from atoll.domain.ids import EVERY_MEMBER, DashboardId, OrgId, PrincipalId, SandboxId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.organization import PERSONAL
from atoll.domain.people.principal import Principal
from atoll.ports import Transaction
from atoll.services.dashboards.documents import DocumentStore
from atoll.services.dashboards.rooms import Rooms
from atoll.services.ground import Ground
from atoll.services.people.rosters import check_team, one_member
from atoll.services.people.shares import revoke_links
from atoll.wire.words.dashboards import BLANK, DashboardRole, DashboardScope

_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(frozen=True, slots=True)
class SeenDashboard:
    """A dashboard, and the role of who asked for it. `present` are the people who are on it now, by
    their ids, with their names."""

    dashboard: Dashboard
    role: DashboardRole
    present: Mapping[PrincipalId, str] = field(default_factory=dict)


class Dashboards:
    """Use cases on dashboards. A foreign one is `NotFound`, like one that is missing."""

    def __init__(self, ground: Ground, documents: DocumentStore, rooms: Rooms) -> None:
        self._rooms = rooms
        self._ground = ground
        self._documents = documents

    async def list(self, caller: Principal, page: PageQuery) -> RowPage[SeenDashboard]:
        """Return a page of the dashboards that the caller may see, newest first."""
        async with self._ground.store.read() as rows:
            visible = await rows.dashboards.visible(
                caller.org_id, caller.id, subjects_of(caller), page
            )
        seen = [
            SeenDashboard(dashboard, role, self._rooms.present(dashboard.id))
            for dashboard in visible.rows
            if (role := role_of(caller, dashboard)) is not None
        ]
        return RowPage(seen, visible.following)

    async def get(self, caller: Principal, ref: str) -> SeenDashboard:
        """Return one dashboard."""
        async with self._ground.store.read() as rows:
            view = _view_for_caller(caller, await self.find(rows, caller, ref))
        return replace(view, present=self._rooms.present(view.dashboard.id))

    async def create(
        self,
        caller: Principal,
        name: str,
        *,
        scope: DashboardScope = DashboardScope.PRIVATE,
        template: str = BLANK,
    ) -> SeenDashboard:
        """Make a dashboard with the items of a template. Raises `Invalid`, `LimitReached`."""
        now = self._ground.clock.now()
        ids = [_item_id() for _ in TEMPLATES.get(template, ())]
        items = items_of(template, ids, caller.id, now)
        return await self._make(caller, name, scope, items)

    async def copy(self, caller: Principal, ref: str, name: str) -> SeenDashboard:
        """Make a dashboard of the caller's with the same items. The terminals of the original are
        not on it."""
        seen = await self.get(caller, ref)
        loaded = await self._documents.load(seen.dashboard.id)
        items = await self._documents.items(loaded.document)
        now = self._ground.clock.now()
        return await self._make(
            caller, name, DashboardScope.PRIVATE, copy_items(items, caller.id, now)
        )

    async def change(
        self,
        caller: Principal,
        ref: str,
        *,
        name: str | None = None,
        scope: DashboardScope | None = None,
    ) -> SeenDashboard:
        """Rename a dashboard, or say who sees it."""

        def apply_changes(before: Dashboard) -> Dashboard:
            return replace(
                before,
                name=before.name if name is None else read_name(name),
                scope=before.scope if scope is None else scope,
            )

        return _view_for_caller(
            caller, await self._change(caller, ref, apply_changes, "dashboard.changed")
        )

    async def delete(self, caller: Principal, ref: str) -> None:
        """Delete a dashboard and its links. It can be restored for seven days, without them."""
        now = self._ground.clock.now()
        async with self._ground.store.begin() as rows:
            before = await self.find(rows, caller, ref)
            check_manages(caller, before)
            gone = replace(before, deleted_at=now)
            await rows.dashboards.put(gone)
            await self.report(rows, caller, "dashboard.deleted", gone)
            await revoke_links(rows, self._ground, gone.id, actor=caller)
        self.announce(gone)

    async def restore(self, caller: Principal, ref: str) -> SeenDashboard:
        """Undo a deletion. Raises `NotFound` for one that is gone, and for who did not own it."""
        async with self._ground.store.begin() as rows:
            dashboard = await rows.dashboards.get(DashboardId(ref))
            if dashboard is None or role_of(caller, dashboard) is None:
                raise unknown(ref)
            check_manages(caller, dashboard)
            if dashboard.deleted_at is None:
                return _view_for_caller(caller, dashboard)
            if dashboard.deleted_at + RESTORABLE <= self._ground.clock.now():
                raise unknown(ref)
            restored = replace(dashboard, deleted_at=None)
            await rows.dashboards.put(restored)
            await self.report(rows, caller, "dashboard.restored", restored)
        self.announce(restored)
        return _view_for_caller(caller, restored)

    async def people(self, caller: Principal, ref: str) -> Sequence[DashboardPerson]:
        """Return the people and groups with a role on a dashboard, its owner first."""
        seen = await self.get(caller, ref)
        dashboard = seen.dashboard
        owner = DashboardPerson(dashboard.owner, DashboardRole.OWNER, dashboard.created_at)
        return (owner, *dashboard.people)

    async def share(
        self, caller: Principal, ref: str, subject: str, role: DashboardRole
    ) -> Sequence[DashboardPerson]:
        """Give a person (id, name or email) or a group a role. Raises `Invalid`, `LimitReached`,
        `NotFound` for no member and for a group that nobody is in, and `Conflict` where several are
        meant and in a home without members."""
        async with self._ground.store.read() as rows:
            subject = await _known_subject(rows, caller.org_id, subject)
        person = DashboardPerson(subject, role, self._ground.clock.now())
        await self._change(
            caller,
            ref,
            lambda before: with_person(before, person),
            "dashboard.shared",
            subject=subject,
            role=role.value,
        )
        return await self.people(caller, ref)

    async def unshare(self, caller: Principal, ref: str, subject: str) -> None:
        """Take a person's or a group's role away; idempotent."""
        async with self._ground.store.read() as rows:
            members = await rows.members.of(caller.org_id)
        try:
            named = str(one_member(members, subject).id)
        except NotFound:
            named = read_subject(subject)  # who is no member any more may still have a role
        await self._change(
            caller,
            ref,
            lambda before: without_person(before, named),
            "dashboard.unshared",
            subject=named,
        )

    async def show(
        self,
        caller: Principal,
        ref: str,
        change: Callable[[Dashboard], Dashboard],
        *,
        kind: str,
        sandbox_id: SandboxId,
    ) -> SeenDashboard:
        """Change which sandboxes a dashboard shows; `change` decides whether the caller may."""
        async with self._ground.store.begin() as rows:
            before = await self.find(rows, caller, ref)
            after = change(before)
            if after != before:
                await rows.dashboards.put(after)
                await self.report(rows, caller, kind, after, sandbox_id=sandbox_id)
        if after != before:
            self.announce(after)
        return _view_for_caller(caller, after)

    async def history(
        self, caller: Principal, ref: str, *, before: int | None, limit: int
    ) -> Sequence[HistoryEntry]:
        """Return what was done on a dashboard, newest first."""
        seen = await self.get(caller, ref)
        await self._documents.compact(seen.dashboard.id)
        async with self._ground.store.read() as rows:
            return await rows.dashboard_history.page(seen.dashboard.id, before, limit)

    async def items_at(self, caller: Principal, ref: str, seq: int) -> Mapping[str, Fields]:
        """Return the items as they were after an entry of the history. Raises `NotFound`."""
        seen = await self.get(caller, ref)
        document = await self._documents.at(seen.dashboard.id, seq)
        return await self._documents.items(document)

    async def find(self, rows: Transaction, caller: Principal, ref: str) -> Dashboard:
        """Return a dashboard within a transaction. Raises `NotFound`."""
        return check_seen(caller, await rows.dashboards.get(DashboardId(ref)), ref)

    async def _make(
        self, caller: Principal, name: str, scope: DashboardScope, items: Mapping[str, Fields]
    ) -> SeenDashboard:
        now = self._ground.clock.now()
        dashboard = Dashboard(
            id=DashboardId(self._ground.ids.new("dsh")),
            org_id=caller.org_id,
            owner=caller.id,
            name=read_name(name),
            scope=scope,
            created_at=now,
            updated_at=now,
            items=len(items),
        )
        async with self._ground.store.begin() as rows:
            if await rows.dashboards.count(caller.org_id, caller.id) >= MAX_DASHBOARDS:
                raise LimitReached(
                    f"You have {MAX_DASHBOARDS} dashboards already: delete one first. A deleted "
                    "one counts for seven days."
                )
            await rows.dashboards.put(dashboard)
            if items:
                await self._documents.seed(rows, dashboard, items)
            await self.report(rows, caller, "dashboard.created", dashboard)
        self.announce(dashboard)
        return _view_for_caller(caller, dashboard)

    async def _change(
        self,
        caller: Principal,
        ref: str,
        change: Callable[[Dashboard], Dashboard],
        kind: str,
        **payload: Json,
    ) -> Dashboard:
        """Change a dashboard that the caller manages, and report it where anything changed."""
        async with self._ground.store.begin() as rows:
            before = await self.find(rows, caller, ref)
            check_manages(caller, before)
            after = change(before)
            if after != before:
                await rows.dashboards.put(after)
                await self.report(rows, caller, kind, after, **payload)
        if after != before:
            self.announce(after)
        return after

    async def report(
        self, rows: Transaction, actor: Principal, kind: str, dashboard: Dashboard, **payload: Json
    ) -> None:
        """Append an event of a dashboard, for those who may read of it."""
        # Of a shared one all members may read; of a private one its owner.
        shared = dashboard.scope is DashboardScope.SHARED
        draft = EventDraft(
            id=self._ground.ids.event(),
            stream=dashboard_stream(dashboard.id),
            event_type=kind,
            at=self._ground.clock.now(),
            org_id=dashboard.org_id,
            owner=EVERY_MEMBER if shared else dashboard.owner,
            actor=actor,
            reason=None,
            payload={"dashboard_id": dashboard.id, "name": dashboard.name, **payload},
        )
        await rows.events.append((draft,))

    def announce(self, dashboard: Dashboard) -> None:
        """Wake those who watch a dashboard's events, and have its open connections checked."""
        self._ground.bus.announce((dashboard_stream(dashboard.id),))
        self._rooms.reconsider(dashboard)


def _view_for_caller(caller: Principal, dashboard: Dashboard) -> SeenDashboard:
    """Return a dashboard with the caller's role. Raises `NotFound` when they have none."""
    role = role_of(caller, dashboard)
    if role is None:
        raise unknown(dashboard.id)
    return SeenDashboard(dashboard, role)


def _item_id() -> str:
    return "itm_" + "".join(secrets.choice(_ALPHABET) for _ in range(16))


async def _known_subject(rows: Transaction, org_id: OrgId, subject: str) -> str:
    """Return whom a text names: a member of an organization, or a group that a member or an
    invitation has. Where a login provider says the groups, any may be somebody's next."""
    members = await rows.members.of(org_id)
    if not members:
        check_team(PERSONAL)  # a home of one person has nobody to share with
    if not subject.startswith(GROUP):
        return one_member(members, subject).id
    read_subject(subject)
    invited = await rows.invitations.of(org_id)
    group = subject.removeprefix(GROUP)
    known = {group for member in members for group in member.groups}
    known |= {group for invitation in invited for group in invitation.groups}
    if group not in known and not any(member.groups_claimed for member in members):
        raise NotFound(
            f"Nobody is in a group {group}: give it to a member first, with `atoll org role`."
        )
    return subject
