"""Checks of the rows of dashboards, their documents and history."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.dashboards.dashboard import Dashboard, DashboardPerson
from atoll.domain.dashboards.history import HistoryEntry, StoredUpdate
from atoll.domain.ids import PERSONAL_ORG, DashboardId, OrgId, PrincipalId
from atoll.domain.paging import PageQuery
from atoll.domain.people.organization import Member
from atoll.ports import Store
from atoll.ports.store.dashboards.dashboards import DocumentSnapshot, KeptHistory
from atoll.testing.samples import NOW, OWNER, sandbox
from atoll.wire.words.dashboards import DashboardRole, DashboardScope
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole
from atoll.wire.words.sandboxes import State
from tests.adapters.storage.rows.dashboards.comments import comment

BOB = PrincipalId("bob")
ONE, TWO = DashboardId("dsh_1"), DashboardId("dsh_2")


def dashboard(ref: str, *, number: int = 0, **more: object) -> Dashboard:
    """Return a private dashboard of `OWNER`."""
    at = NOW + timedelta(seconds=number)
    made = Dashboard(
        id=DashboardId(f"dsh_{ref}"),
        org_id=PERSONAL_ORG,
        owner=OWNER,
        name=ref,
        scope=DashboardScope.PRIVATE,
        created_at=at,
        updated_at=at,
    )
    return replace(made, **more)  # type: ignore[arg-type]


async def check_dashboard_links_no_destroyed_sandbox(store: Store) -> None:
    """Destroyed sandboxes are left out wherever a dashboard is read, however old it is."""
    kept, gone = sandbox("kept"), replace(sandbox("gone"), state=State.DESTROYED)
    ids = (gone.id, kept.id)
    async with store.begin() as rows:
        await rows.sandboxes.insert(kept)
        await rows.sandboxes.insert(gone)
        await rows.dashboards.put(dashboard("1", linked=ids))
        await rows.dashboards.put(dashboard("2", linked=ids, owner=BOB))
    async with store.read() as rows:
        one = await rows.dashboards.get(ONE)
        assert one is not None
        page = await rows.dashboards.visible(PERSONAL_ORG, OWNER, (), PageQuery(10))
        owned = await rows.dashboards.owned(PERSONAL_ORG, OWNER)
        showing = await rows.dashboards.showing(kept.id)
    for found in (one, *page.rows, *owned, *showing):
        assert found.linked == (kept.id,)
    assert [len(page.rows), len(owned), len(showing)] == [1, 1, 2]


async def check_dashboards_are_seen_by_those_they_name(store: Store) -> None:
    """The owner, the people and groups that it names, and all members of its organization."""
    editor = DashboardPerson("bob", DashboardRole.EDITOR, NOW)
    group = DashboardPerson("group:team", DashboardRole.VIEWER, NOW)
    shared = dashboard("4", number=3, scope=DashboardScope.SHARED)
    made = [
        dashboard("1"),
        dashboard("2", number=1, people=(editor,)),
        dashboard("3", number=2, people=(group,)),
        shared,
        dashboard("5", number=4, org_id=OrgId("other"), scope=DashboardScope.SHARED),
        dashboard("6", number=5, deleted_at=NOW),
    ]
    async with store.begin() as rows:
        for one in made:
            await rows.dashboards.put(one)
        await rows.dashboards.put(replace(made[0], name="new name"))

    async def seen(person: PrincipalId, *subjects: str, limit: int = 10) -> list[str]:
        async with store.read() as rows:
            page = PageQuery(limit)
            found = await rows.dashboards.visible(PERSONAL_ORG, person, subjects, page)
            names = [one.name for one in found.rows]
            while found.following is not None:
                page = PageQuery(limit, found.following)
                found = await rows.dashboards.visible(PERSONAL_ORG, person, subjects, page)
                names += [one.name for one in found.rows]
        return names

    assert await seen(OWNER) == ["4", "3", "2", "new name"]
    assert await seen(OWNER, limit=1) == ["4", "3", "2", "new name"]
    assert await seen(BOB, "bob") == ["4", "2"]
    assert await seen(BOB, "bob", "group:team") == ["4", "3", "2"]
    async with store.begin() as rows:
        await rows.dashboards.put(replace(made[1], people=()))
        assert await rows.dashboards.count(PERSONAL_ORG, OWNER) == 5
    assert await seen(BOB, "bob") == ["4"]


async def check_dashboards_without_an_owner_are_those_of_no_member(store: Store) -> None:
    """In organizations that have members; a single person's home has none."""
    team = OrgId("team")
    ann = Member(team, OWNER, ActorKind.PERSON, "Ann", "", OrgRole.OWNER, (), NOW)
    made = [
        dashboard("1"),
        dashboard("2", number=1, org_id=team),
        dashboard("3", number=3, org_id=team, owner=BOB, left_at=NOW),
        dashboard("4", number=2, org_id=team, owner=BOB),
        dashboard("5", number=4, org_id=team, owner=BOB, deleted_at=NOW),
    ]
    async with store.begin() as rows:
        await rows.members.put(ann)
        for one in made:
            await rows.dashboards.put(one)
    async with store.read() as rows:
        page = await rows.dashboards.ownerless(team, PageQuery(1))
        assert page.following is not None
        rest = await rows.dashboards.ownerless(None, PageQuery(9, page.following))
        assert [*page.rows, *rest.rows] == [made[3], made[2]]
        assert (await rows.dashboards.ownerless(PERSONAL_ORG, PageQuery(9))).rows == []
        assert await rows.dashboards.owned(team, BOB) == [made[2], made[3]]
        assert await rows.dashboards.owned(team, OWNER) == [made[1]]


async def check_change_of_a_document_is_noted_beside_the_dashboard(store: Store) -> None:
    """When it changed, and how many items it has, whatever is put later."""
    later = NOW + timedelta(minutes=3)
    async with store.begin() as rows:
        await rows.dashboards.put(dashboard("1"))
        await rows.dashboards.note_change(ONE, later, 7)
        await rows.dashboards.put(replace(dashboard("1"), name="b"))
    async with store.read() as rows:
        found = await rows.dashboards.get(ONE)
        assert found == replace(dashboard("1"), name="b", updated_at=later, items=7)
        assert await rows.dashboards.get(DashboardId("dsh_2")) is None


async def check_deleted_dashboard_is_erased_with_all_of_it(store: Store) -> None:
    """The document, the people and the history of it, and nothing of others."""
    async with store.begin() as rows:
        for name in ("1", "2"):
            person = DashboardPerson("bob", DashboardRole.EDITOR, NOW)
            await rows.dashboards.put(dashboard(name, people=(person,), deleted_at=NOW))
            board = DashboardId(f"dsh_{name}")
            await rows.documents.append(board, NOW, OWNER, (b"a",))
            await rows.document_authors.claim(board, OWNER, (1,))
            await rows.dashboard_history.add((_kept(1, board=board),))
            await rows.dashboard_comments.put(comment(1, board=board))
        assert await rows.dashboards.deleted(NOW, 9) == []
        assert await rows.dashboards.deleted(NOW + timedelta(seconds=1), 1) == [ONE]
        await rows.dashboards.erase(ONE)
        await rows.dashboards.erase(ONE)
    async with store.read() as rows:
        assert await rows.dashboards.get(ONE) is None
        assert await rows.documents.head(ONE) == 0
        assert await rows.document_authors.of(ONE) == {}
        assert await rows.dashboard_history.page(ONE, None, 9) == []
        assert await rows.dashboard_comments.count(ONE) == 0
        assert await rows.documents.head(DashboardId("dsh_2")) == 1
        assert await rows.dashboard_comments.count(DashboardId("dsh_2")) == 1


async def check_updates_are_numbered_and_replaced_by_a_snapshot(store: Store) -> None:
    """The numbers go on after it, and a compaction that comes too late changes nothing."""
    async with store.begin() as rows:
        await rows.dashboards.put(dashboard("1"))
        assert await rows.documents.head(ONE) == 0
        assert [await rows.documents.append(ONE, NOW, OWNER, (b"a", b"b"))] == [1]
        for number in (2, 3):
            assert await rows.documents.append(ONE, NOW, BOB, (b"c",)) == number
    async with store.read() as rows:
        first = StoredUpdate(1, NOW, OWNER, (b"a", b"b"))
        assert await rows.documents.updates(ONE, 0, 1) == [first]
        assert [one.seq for one in await rows.documents.updates(ONE, 1, 9)] == [2, 3]
        late = NOW + timedelta(seconds=1)
        assert await rows.documents.grown(3, NOW, 9) == [ONE]
        assert await rows.documents.grown(4, NOW, 9) == []
        assert await rows.documents.grown(4, late, 9) == [ONE]
    snapshot = DocumentSnapshot(2, b"whole", b"types")
    async with store.begin() as rows:
        assert await rows.documents.snapshot(ONE) is None
        assert await rows.documents.compact(ONE, snapshot, before=0)
        assert not await rows.documents.compact(ONE, DocumentSnapshot(3, b"", b""), before=0)
        assert await rows.documents.snapshot(ONE) == snapshot
        assert [one.seq for one in await rows.documents.updates(ONE, 0, 9)] == [3]
        last = DocumentSnapshot(3, b"all", b"")
        assert await rows.documents.compact(ONE, last, before=2)
        assert await rows.documents.head(ONE) == 3
        assert await rows.documents.append(ONE, NOW, OWNER, (b"d",)) == 4


async def check_clients_of_a_document_have_one_person_each(store: Store) -> None:
    """The first who claims one; a claim is whole or nothing."""
    async with store.begin() as rows:
        await rows.dashboards.put(dashboard("1"))
        assert await rows.document_authors.claim(ONE, OWNER, (1, 2**52))
        assert await rows.document_authors.claim(ONE, OWNER, (1, 2))
        assert not await rows.document_authors.claim(ONE, BOB, (2, 3))
        assert await rows.document_authors.claim(ONE, BOB, (4,))
        assert await rows.document_authors.of(ONE) == {1: OWNER, 2: OWNER, 2**52: OWNER, 4: BOB}


async def check_history_leads_to_each_of_its_entries(store: Store) -> None:
    """From the last whole document before it; the oldest entries go first."""
    async with store.begin() as rows:
        await rows.dashboards.put(dashboard("1"))
        assert await rows.dashboard_history.since_whole(ONE) is None
        await rows.dashboard_history.add(
            [_kept(number, whole=number % 3 == 1) for number in range(1, 9)]
        )
    async with store.begin() as rows:
        history = rows.dashboard_history
        assert await history.since_whole(ONE) == 1
        assert [one.seq for one in await history.page(ONE, None, 3)] == [8, 7, 6]
        assert [one.seq for one in await history.page(ONE, 3, 9)] == [2, 1]
        assert await history.way_to(ONE, 6) == [_kept(4, whole=True), _kept(5), _kept(6)]
        assert await history.way_to(ONE, 99) == []
        await history.cut(ONE, 100, 10_000)
        assert len(await history.page(ONE, None, 99)) == 8
        await history.cut(ONE, 6, 10_000)
        assert [one.seq for one in await history.page(ONE, None, 99)] == [8, 7, 6, 5, 4]
        await history.cut(ONE, 1, 10_000)
        assert [one.seq for one in await history.page(ONE, None, 99)] == [8, 7]


def _kept(seq: int, *, whole: bool = False, board: DashboardId = ONE) -> KeptHistory:
    entry = HistoryEntry(
        board, seq, NOW + timedelta(minutes=seq), BOB, added={"note": 1}, changed={}, removed={}
    )
    return KeptHistory(entry, b"updates", b"whole" if whole else None)
