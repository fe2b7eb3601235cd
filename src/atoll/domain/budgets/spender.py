"""Spenders of money: a sandbox, its owner, its agent and what it was made for. Pure."""

from dataclasses import dataclass
from datetime import datetime

from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.sandboxes.sandbox import Consumer, Sandbox


@dataclass(frozen=True, slots=True)
class Spender:
    """The names that money is counted by. `agent` and `consumer` are empty where there is none; a
    consumer is `harness`, or `harness/id`."""

    org_id: OrgId
    owner: PrincipalId
    agent: str
    consumer: str
    sandbox_id: SandboxId


@dataclass(frozen=True, slots=True)
class SpendingFilter:
    """The spending of these since a day began; None matches any. `consumer` is a harness, or all of
    `harness/id`."""

    org_id: OrgId
    owner: PrincipalId | None = None
    agent: str | None = None
    consumer: str | None = None
    sandbox_id: SandboxId | None = None
    since: datetime | None = None


def spender_of(sandbox: Sandbox) -> Spender:
    """Return the spender of a sandbox's money."""
    return Spender(
        sandbox.org_id,
        sandbox.owner,
        sandbox.agent or "",
        consumer_name(sandbox.consumer),
        sandbox.id,
    )


def consumer_name(consumer: Consumer) -> str:
    """Return a consumer as `harness`, or `harness/id`; empty for none."""
    ids = (consumer.session_id, consumer.run_id, consumer.job_id)
    named = next((name for name in ids if name), None)
    if not consumer.harness:
        return ""
    return consumer.harness if named is None else f"{consumer.harness}/{named}"
