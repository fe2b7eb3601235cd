"""Checks of the rows of approval requests."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.approvals.approval import Approval, ApprovalId, CommandAsk, Requester, SecretAsk
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId, SandboxId
from atoll.domain.paging import PageQuery
from atoll.ports import ApprovalQuery, Store, Transaction
from atoll.testing.samples import NOW, OTHER, OWNER, sandbox
from atoll.wire.words.approvals import ApprovalState, GrantScope
from atoll.wire.words.sandboxes import Scope


def approval(number: int, *, owner: PrincipalId = OWNER) -> Approval:
    """Return a pending approval for a secret."""
    return Approval(
        id=ApprovalId(f"ap_{number}"),
        org_id=PERSONAL_ORG,
        owner=owner,
        requester=Requester(SandboxId("sb_1"), "box", 1, "ask_1"),
        ask=SecretAsk("one", "sec_1", 1, "h", 443),
        asked_at=NOW + timedelta(seconds=number),
        until=NOW + timedelta(days=1),
    )


async def _page(rows: Transaction, query: ApprovalQuery, *, limit: int = 100) -> list[Approval]:
    return list((await rows.approvals.page(query, PageQuery(limit))).rows)


async def check_approvals_are_found_by_who_decides_and_by_what_they_are_about(store: Store) -> None:
    one, command = approval(1), replace(approval(2), ask=CommandAsk(("a", "b"), "/"))
    other = replace(approval(3, owner=OTHER), verdict=ApprovalState.GRANTED, reach=GrantScope.ONCE)
    done = replace(approval(4), verdict=ApprovalState.EXPIRED, until=None)
    async with store.begin() as rows:
        for each in (one, command, other, done, replace(one, times=7)):
            await rows.approvals.put(each)
        assert await rows.approvals.get(PERSONAL_ORG, one.id) == replace(one, times=7)
        assert await rows.approvals.get(PERSONAL_ORG, command.id) == command
        assert await rows.approvals.get(OrgId("else"), one.id) is None
        mine = ApprovalQuery(PERSONAL_ORG, OWNER)
        assert [each.id for each in await _page(rows, mine)] == [done.id, command.id, one.id]
        pending = ApprovalQuery(PERSONAL_ORG, OWNER, (ApprovalState.PENDING,))
        assert await _page(rows, pending, limit=1) == [command]
        open_ones = await rows.approvals.open(
            PERSONAL_ORG, sandbox_id=SandboxId("sb_none"), owner=OWNER
        )
        assert {each.id for each in open_ones} == {one.id, command.id}
        here = await rows.approvals.open(
            PERSONAL_ORG, sandbox_id=SandboxId("sb_1"), owner=PrincipalId("nobody")
        )
        assert {each.id for each in here} == {one.id, command.id, other.id}
        everybodys = await _page(rows, ApprovalQuery(PERSONAL_ORG, None))
        assert len(everybodys) == 4
        admin = ApprovalQuery(PERSONAL_ORG, PrincipalId("admin"), administers=True)
        # Not the command: its sandbox is not shared, and it is about no secret.
        assert [each.id for each in await _page(rows, admin)] == [
            done.id,
            other.id,
            one.id,
        ]
        await rows.sandboxes.insert(
            replace(sandbox("box"), id=SandboxId("sb_1"), scope=Scope.SHARED)
        )
        assert len(await _page(rows, admin)) == 4
        waiting = await rows.approvals.waiting()
        assert {each.id for each in waiting} == {one.id, command.id}
        about = await rows.approvals.about(PERSONAL_ORG, "sec_1")
        assert {each.id for each in about} == {one.id, other.id}


async def check_pages_of_approvals_have_each_once(store: Store) -> None:
    """Newest first, by id where two are of one moment; the end of a page may be gone by then."""
    listed = [replace(approval(at), asked_at=NOW) for at in range(3)]
    listed += [approval(3), approval(4)]
    query, seen = ApprovalQuery(PERSONAL_ORG, OWNER), list[str]()
    async with store.begin() as rows:
        for each in listed:
            await rows.approvals.put(each)
        page = await rows.approvals.page(query, PageQuery(2))
        seen += [each.id for each in page.rows]
        await rows.approvals.put(replace(listed[3], asked_at=NOW + timedelta(days=1)))
        while page.following is not None:
            page = await rows.approvals.page(query, PageQuery(2, page.following))
            seen += [each.id for each in page.rows]
        assert seen == ["ap_4", "ap_3", "ap_2", "ap_1", "ap_0"]
