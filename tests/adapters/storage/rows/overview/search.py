"""Checks of what a search finds in the store."""

from dataclasses import replace

from atoll.domain.dashboards.dashboard import DashboardPerson
from atoll.domain.event import sandbox_stream
from atoll.domain.ids import EVERY_MEMBER, PERSONAL_ORG, EventId, OrgId, SandboxId
from atoll.domain.sandboxes.sandbox import SandboxRepo
from atoll.domain.sandboxes.task import Task
from atoll.ports import Store
from atoll.ports.store.overview.search import TextQuery
from atoll.testing.samples import NOW, OTHER, OWNER, draft, sandbox
from atoll.wire.words.dashboards import DashboardRole, DashboardScope
from atoll.wire.words.sandboxes import Scope, State
from tests.adapters.storage.rows.dashboards.dashboards import dashboard


def _query(*words: str, team: bool = False, depth: int = 100) -> TextQuery:
    return TextQuery(PERSONAL_ORG, OWNER, words, limit=10, depth=depth, team=team)


async def check_search_finds_names_tasks_and_branches_of_ones_own(store: Store) -> None:
    repo = SandboxRepo("https://example.org/o/r", "fix/Login", None, "/workspace")
    one = replace(
        sandbox("webshop", number=1),
        task=Task('Say "hello" to Zoë'),
        repos=(repo,),
        env=(("HIDDEN", "treasure"),),
    )
    two = replace(sandbox("Other", number=2), task=None)
    gone = replace(sandbox("webshop-old", number=3), state=State.DESTROYED)
    foreign = sandbox("webshop", owner=OTHER, number=4)
    shared = replace(sandbox("webshop-shared", owner=OTHER, number=5), scope=Scope.SHARED)
    abroad = replace(sandbox("webshop-abroad", number=6), org_id=OrgId("else"))
    async with store.begin() as rows:
        for box in (one, two, gone, foreign, shared, abroad):
            await rows.sandboxes.insert(box)
    async with store.read() as rows:
        assert await rows.search.sandboxes(_query("WebShop")) == [shared, one]
        assert await rows.search.sandboxes(_query("webshop", depth=2)) == [shared]
        for words in (('"hello"', "webshop"), ("Zoë",), ("fix/login",), ("LOGIN", "hello")):
            assert await rows.search.sandboxes(_query(*words)) == [one], words
        for word in ("treasure", "%", "web_hop", "nothing", "\0"):
            assert await rows.search.sandboxes(_query(word)) == [], word


async def check_search_finds_dashboards_that_the_caller_sees(store: Store) -> None:
    """By their names, and by nothing else that is in a row."""
    group = DashboardPerson("group:web", DashboardRole.VIEWER, NOW)
    gone, away, all_of_us = NOW, OrgId("else"), DashboardScope.SHARED
    made = [
        dashboard("1", name="Web shop", sandbox_id=SandboxId("sb_treasure")),
        dashboard("2", number=1, name="Web shop", owner=OTHER),
        dashboard("3", number=2, name="web: Zoë's", owner=OTHER, people=(group,)),
        dashboard("4", number=3, name='The "Web"', owner=OTHER, scope=all_of_us),
        dashboard("5", number=4, name="web", deleted_at=gone),
        dashboard("6", number=5, name="web", org_id=away, scope=all_of_us),
    ]
    async with store.begin() as rows:
        for one in made:
            await rows.dashboards.put(one)

    async def found(query: TextQuery) -> list[str]:
        async with store.read() as rows:
            return [one.id for one in await rows.search.dashboards(query)]

    grouped = replace(_query("WEB"), subjects=(OWNER, "group:web"))
    assert await found(grouped) == ["dsh_4", "dsh_3", "dsh_1"]
    assert await found(_query("web")) == ["dsh_4", "dsh_1"]
    assert await found(_query("web", depth=1)) == ["dsh_4"]
    assert await found(replace(grouped, words=("Zoë's",))) == ["dsh_3"]
    assert await found(_query("shop", "web")) == ["dsh_1"]
    for word in ("treasure", "%", '\\"', "w_b", "\0"):
        assert await found(_query(word)) == [], word


async def check_search_finds_reasons_that_the_reader_of_the_log_sees(store: Store) -> None:
    shared = replace(sandbox("shared", owner=OTHER, number=1), scope=Scope.SHARED)
    drafts = [
        replace(draft(1), reason="The disk is full."),
        replace(draft(2, owner=OTHER), reason="The disk is full."),
        replace(draft(3, owner=EVERY_MEMBER), reason="A disk for all."),
        replace(draft(4, stream=sandbox_stream(shared.id), owner=OTHER), reason="Shared disk."),
        replace(draft(5), id=EventId("ev_abroad"), org_id=OrgId("else"), reason="disk"),
        replace(draft(6), reason=None),
    ]
    async with store.begin() as rows:
        await rows.sandboxes.insert(replace(shared, id=SandboxId(shared.id)))
        await rows.events.append(drafts)
    async with store.read() as rows:
        own = await rows.search.events(_query("DISK"))
        assert [one.reason for one in own] == ["The disk is full."]
        team = await rows.search.events(_query("disk", team=True))
        assert [one.reason for one in team] == ["Shared disk.", "A disk for all.", drafts[0].reason]
        assert await rows.search.events(_query("auth.login", "full")) == own
        assert await rows.search.events(_query("login", depth=1)) == []
