"""The end of requests that need no decision any more, as their subject is gone or settled."""

from datetime import datetime

from atoll.domain.approvals.approval import (
    Approval,
    CommandAsk,
    HostAsk,
    SecretAsk,
    ToolAsk,
    is_in_force,
    late,
    overtaken,
)
from atoll.domain.event import EventDraft
from atoll.domain.ids import SecretId
from atoll.domain.network.egress import host_matches
from atoll.domain.network.switch import rules_of
from atoll.domain.people.principal import SYSTEM
from atoll.domain.sandboxes.sandbox import GONE, RUNNING, Sandbox
from atoll.ports import Transaction
from atoll.services.approvals.voiding import approval_event
from atoll.services.ground import Ground
from atoll.wire.words.agents import ToolRule
from atoll.wire.words.approvals import ApprovalState, GrantScope
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.sandboxes import State


async def sweep(
    rows: Transaction, ground: Ground, approvals: list[Approval]
) -> tuple[tuple[EventDraft, ...], list[Approval]]:
    """Close approvals that ran out, or whose subject is gone or settled by now. Returns the events,
    which the caller appends, and all approvals as they now are."""
    drafts: list[EventDraft] = []
    left: list[Approval] = []
    for approval in approvals:
        now_is = await bring_up_to_date(rows, approval, ground.clock.now())
        if now_is is not approval:
            await rows.approvals.put(now_is)
            drafts.append(approval_event(ground, now_is, actor=SYSTEM))
        left.append(now_is)
    return tuple(drafts), left


async def close_overtaken(ground: Ground, approvals: list[Approval]) -> list[Approval]:
    """Return approvals as they now are. Those that ran out, or whose subject is gone or settled,
    are closed in a transaction of its own."""
    async with ground.store.read() as rows:
        now = ground.clock.now()
        over = [
            approval
            for approval in approvals
            if await bring_up_to_date(rows, approval, now) is not approval
        ]
    if not over:
        return approvals
    async with ground.store.begin() as rows:
        # As they are now: another may have decided or closed them meanwhile.
        again = [await rows.approvals.get(approval.org_id, approval.id) for approval in over]
        drafts, closed = await sweep(
            rows, ground, [approval for approval in again if approval is not None]
        )
        if drafts:
            await rows.events.append(drafts)
    ground.bus.announce(tuple(draft.stream for draft in drafts))
    after = {approval.id: approval for approval in closed}
    removed = {approval.id for approval in over} - after.keys()
    return [
        after.get(approval.id, approval) for approval in approvals if approval.id not in removed
    ]


async def settle_requests(
    ground: Ground, rows: Transaction, before: Sandbox, after: Sandbox
) -> None:
    """Close requests that a change of their sandbox overtook, in the transaction of the change."""
    starts = after.state in RUNNING | {State.PROVISIONING}
    same = (before.generation, before.profile) == (after.generation, after.profile)
    if (starts or before.state is after.state) and same:
        return
    approvals = await rows.approvals.open(after.org_id, sandbox_id=after.id, owner=after.owner)
    own = [approval for approval in approvals if approval.requester.sandbox_id == after.id]
    drafts, _ = await sweep(rows, ground, own)
    if drafts:
        await rows.events.append(drafts)


async def bring_up_to_date(rows: Transaction, approval: Approval, now: datetime) -> Approval:
    """Return an approval unchanged, or overtaken by time, by the end of its sandbox, or by what was
    decided elsewhere."""
    if late(approval, now):
        return overtaken(approval, reason="Nobody decided in time.", now=now)
    everywhere = approval.reach is GrantScope.ORGANIZATION
    if approval.verdict not in {ApprovalState.PENDING, ApprovalState.GRANTED} or everywhere:
        return approval
    sandbox = await rows.sandboxes.get(approval.requester.sandbox_id)
    if sandbox is None or sandbox.state in GONE:
        return overtaken(approval, reason="Its sandbox is gone.", now=now)
    if approval.verdict is not ApprovalState.PENDING:
        return approval
    reason = await _find_reason(rows, sandbox, approval, now)
    return approval if reason is None else overtaken(approval, reason=reason, now=now)


def allows_host(sandbox: Sandbox, ask: HostAsk) -> bool:
    """Report whether the sandbox's rules allow a host by now."""
    rules = rules_of(sandbox.profile.network)
    return any(host_matches(rule.host, ask.host) and ask.port in rule.ports for rule in rules)


async def _find_reason(
    rows: Transaction, sandbox: Sandbox, approval: Approval, now: datetime
) -> str | None:
    """Return why a pending request needs no decision any more, None where it needs one."""
    match approval.ask:
        case HostAsk() as ask:
            return _find_host_reason(sandbox, ask)
        case CommandAsk():
            same = approval.requester.generation == sandbox.generation
            waits = same and sandbox.state in RUNNING
            return None if waits else "The command that asked has ended."
        case SecretAsk(_, secret_id, version, host, port):
            secret = await rows.secrets.get(approval.org_id, SecretId(secret_id))
            if secret is None or secret.version != version:
                return "The secret was changed."
            places = secret.use.places
            known = any(place.host == host and place.port == port for place in places)
            known = known or await _is_granted(rows, approval, now)
            return "The secret may go there by now." if known else None
        case ToolAsk(tool):  # pragma: no branch - the cases are all
            rule = sandbox.profile.mcp.rules.get(tool)
            return None if rule in {None, ToolRule.ASK} else "A rule settles it by now."


async def _is_granted(rows: Transaction, approval: Approval, now: datetime) -> bool:
    """Report whether the same was granted for every sandbox with the secret."""
    ask = approval.ask
    if not isinstance(ask, SecretAsk):
        return False
    about = await rows.approvals.about(approval.org_id, ask.secret_id)
    everywhere = (approval for approval in about if approval.reach is GrantScope.ORGANIZATION)
    return any(approval.ask == ask and is_in_force(approval, now) for approval in everywhere)


def _find_host_reason(sandbox: Sandbox, ask: HostAsk) -> str | None:
    """Return why a host needs no decision. Denied hosts take precedence; only the modes `limited`
    and `host-only` have a list."""
    network = sandbox.profile.network
    if any(host_matches(pattern, ask.host) for pattern in network.denied):
        return "A rule denies it by now."
    if network.mode in {NetworkMode.FULL, NetworkMode.NONE}:
        return f"The network of its sandbox is {network.mode} by now."
    return "A rule allows it by now." if allows_host(sandbox, ask) else None
