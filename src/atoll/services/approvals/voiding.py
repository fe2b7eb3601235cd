"""Voiding of approvals when their secret changes: an approval holds for one version of a secret.

Also the one place that says how an approval becomes an event.
"""

from atoll.domain.approvals.approval import (
    Approval,
    CommandAsk,
    HostAsk,
    SecretAsk,
    ToolAsk,
    overtaken,
)
from atoll.domain.event import EventDraft, Json, sandbox_stream
from atoll.domain.people.principal import Principal
from atoll.domain.secrets.secret import Secret
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.wire.words.approvals import ApprovalState


async def void_approvals(
    rows: Transaction, ground: Ground, secret: Secret, *, actor: Principal
) -> None:
    """Void requests and grants for other versions of `secret`, in the caller's transaction."""
    now = ground.clock.now()
    for approval in await rows.approvals.about(secret.org_id, secret.id):
        ask = approval.ask
        if isinstance(ask, SecretAsk) and ask.version == secret.version:
            continue
        after = overtaken(approval, reason="The secret was changed.", now=now)
        if after is approval:
            continue
        await rows.approvals.put(after)
        await rows.events.append((approval_event(ground, after, actor=actor),))


def approval_event(ground: Ground, approval: Approval, *, actor: Principal) -> EventDraft:
    """Return the event for an approval's present state (not for its request)."""
    extra: dict[str, Json] = {}
    if approval.verdict in (ApprovalState.GRANTED, ApprovalState.DENIED):
        extra["until"] = None if approval.until is None else approval.until.isoformat()
    if approval.verdict is ApprovalState.GRANTED:
        extra["reach"] = approval.reach
    return EventDraft(
        id=ground.ids.event(),
        stream=sandbox_stream(approval.requester.sandbox_id),
        event_type=f"approval.{approval.verdict.value}",
        at=ground.clock.now(),
        org_id=approval.org_id,
        owner=approval.owner,
        actor=actor,
        reason=approval.reason,
        payload={**approval_words(approval), **extra},
    )


def approval_words(approval: Approval) -> dict[str, Json]:
    """Return the fields of every event of an approval: never a value, nor a command's arguments."""
    common: dict[str, Json] = {
        "approval_id": approval.id,
        "sandbox_id": approval.requester.sandbox_id,
    }
    match approval.ask:
        case SecretAsk(secret, secret_id, version, host, port):
            return {
                **common,
                "kind": "secret",
                "secret": secret,
                "secret_id": secret_id,
                "version": version,
                "host": host,
                "port": port,
            }
        case HostAsk(host, port):
            return {**common, "kind": "host", "host": host, "port": port}
        case CommandAsk(argv, _):
            return {**common, "kind": "command", "argv0": argv[0][:256]}
        case ToolAsk(tool, _):  # pragma: no branch - the cases are all
            return {**common, "kind": "tool", "tool": tool}
