"""Checks of the rows of approval requests."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.approvals.approval import (
    Approval,
    ApprovalState,
    CommandAsk,
    GrantScope,
    Requester,
    SecretAsk,
)
from atoll.domain.ids import PERSONAL_ORG, ApprovalId, OrgId, PrincipalId, SandboxId
from atoll.domain.profile.profile import Scope
from atoll.ports import ApprovalQuery, Store
from atoll.testing.contracts.event_log import NOW, OTHER, OWNER
from atoll.testing.contracts.rows.sandboxes import sandbox


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
        page = await rows.approvals.page(ApprovalQuery(PERSONAL_ORG, OWNER))
        assert [each.id for each in page] == [done.id, command.id, one.id]
        pending = ApprovalQuery(PERSONAL_ORG, OWNER, (ApprovalState.PENDING,), limit=1)
        assert await rows.approvals.page(pending) == [command]
        mine = await rows.approvals.open(PERSONAL_ORG, sandbox_id=SandboxId("sb_none"), owner=OWNER)
        assert {each.id for each in mine} == {one.id, command.id}
        here = await rows.approvals.open(
            PERSONAL_ORG, sandbox_id=SandboxId("sb_1"), owner=PrincipalId("nobody")
        )
        assert {each.id for each in here} == {one.id, command.id, other.id}
        everybodys = await rows.approvals.page(ApprovalQuery(PERSONAL_ORG, None))
        assert len(everybodys) == 4
        admin = ApprovalQuery(PERSONAL_ORG, PrincipalId("admin"), administers=True)
        # Not the command: its sandbox is not shared, and it is about no secret.
        assert [each.id for each in await rows.approvals.page(admin)] == [
            done.id,
            other.id,
            one.id,
        ]
        await rows.sandboxes.insert(
            replace(sandbox("box"), id=SandboxId("sb_1"), scope=Scope.SHARED)
        )
        assert len(await rows.approvals.page(admin)) == 4
        about = await rows.approvals.about(PERSONAL_ORG, "sec_1")
        assert {each.id for each in about} == {one.id, other.id}
