"""Consent: a person approves single calls of tools, from outside the sandbox.

A call that needs it becomes an approval of exactly its arguments. It waits a while for the
decision, and is then answered with the approval's id, since agents give up on slow tools. The same
call after the grant runs once: the grant is used up in the transaction that finds it.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeAlias

from atoll.domain.approvals.approval import (
    ASK_LIFE,
    Approval,
    ApprovalId,
    Requester,
    ToolAsk,
    has_room,
    is_in_force,
    same_question,
)
from atoll.domain.errors import Forbidden, LimitReached
from atoll.domain.event import sandbox_stream
from atoll.domain.people.principal import SYSTEM
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Transaction
from atoll.services.approvals.running_commands import runs_beside
from atoll.services.approvals.settlement import sweep
from atoll.services.approvals.voiding import approval_event, approval_words
from atoll.services.ground import Ground
from atoll.services.journals.agent_actors import requesting_agent
from atoll.services.tools.tool_call import ToolCall
from atoll.wire.words.approvals import ApprovalState

PATIENCE = timedelta(seconds=20)
"""The wait for a decision before a call is answered."""

MAX_ARGUMENTS = 10_000
"""The longest arguments that a person can be shown, in characters of JSON."""


@dataclass(frozen=True, slots=True)
class Granted:
    """A grant that this call has used up."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A request that nobody has decided yet."""

    approval_id: ApprovalId


Consented: TypeAlias = Granted | Pending


class Consent:
    """Use case of calls that a person decides. `PATIENCE` may be another for tests."""

    def __init__(self, ground: Ground, *, patience: timedelta = PATIENCE) -> None:
        self._ground = ground
        self._patience = patience

    async def ask(self, sandbox: Sandbox, call: ToolCall) -> Consented:
        """Return whether this very call may run now. Raises `Forbidden` while a denial counts,
        `LimitReached` when too many requests of the sandbox wait."""
        ask = ToolAsk(call.tool.name, call.canonical)
        if len(ask.arguments) > MAX_ARGUMENTS:
            raise LimitReached("the arguments are too long for a person to approve them")
        deadline = self._ground.clock.now() + self._patience
        with self._ground.bus.listen(sandbox_stream(sandbox.id)) as listener:
            decision = await self._look(sandbox, ask)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience.total_seconds()):
                    while isinstance(decision, Pending) and self._ground.clock.now() < deadline:
                        await listener.wait()
                        decision = await self._look(sandbox, ask)
        return decision

    async def _look(self, sandbox: Sandbox, ask: ToolAsk) -> Consented:
        """Use a grant up, or leave a request for one."""
        now = self._ground.clock.now()
        wanted = self._request(sandbox, ask)
        async with self._ground.store.begin() as rows:
            others = await rows.approvals.open(
                sandbox.org_id, sandbox_id=sandbox.id, owner=sandbox.owner
            )
            expired, others = await sweep(rows, self._ground, others)
            await rows.events.append(expired)
            same = [approval for approval in others if _is_same(approval, wanted)]
            for approval in same:
                if is_in_force(approval, now):
                    await self._use(rows, approval)
                    return Granted()
            for approval in same:
                if approval.verdict is ApprovalState.PENDING:
                    return Pending(approval.id)
                if (
                    approval.verdict is ApprovalState.DENIED
                    and approval.until
                    and now < approval.until
                ):
                    raise Forbidden(
                        f"your person denied this call of {ask.tool}; it is not asked again before "
                        f"{approval.until.isoformat(timespec='seconds')}",
                        code="tool_denied",
                    )
            if not has_room(wanted, others, now):
                raise LimitReached("too many requests of this sandbox wait for its person")
            await self._leave(rows, sandbox, wanted)
        self._ground.bus.announce((sandbox_stream(sandbox.id),))
        return Pending(wanted.id)

    def _request(self, sandbox: Sandbox, ask: ToolAsk) -> Approval:
        now, identifier = self._ground.clock.now(), ApprovalId(self._ground.ids.new("ap"))
        return Approval(
            id=identifier,
            org_id=sandbox.org_id,
            owner=sandbox.owner,
            requester=Requester(sandbox.id, sandbox.name, sandbox.generation, identifier),
            ask=ask,
            asked_at=now,
            until=now + ASK_LIFE,
        )

    async def _leave(self, rows: Transaction, sandbox: Sandbox, wanted: Approval) -> None:
        beside = await runs_beside(rows, sandbox)
        wanted = replace(wanted, requester=replace(wanted.requester, beside_command=beside))
        await rows.approvals.put(wanted)
        actor = requesting_agent(sandbox, beside_command=beside)
        event = approval_event(self._ground, wanted, actor=actor)
        payload = {**approval_words(wanted), "generation": sandbox.generation, "n": 0}
        await rows.events.append((replace(event, event_type="approval.asked", payload=payload),))

    async def _use(self, rows: Transaction, approval: Approval) -> None:
        used = replace(approval, verdict=ApprovalState.USED)
        await rows.approvals.put(used)
        await rows.events.append((approval_event(self._ground, used, actor=SYSTEM),))


def _is_same(approval: Approval, wanted: Approval) -> bool:
    """Report whether an approval is of this call: a sandbox that was recreated asks anew."""
    generations = {approval.requester.generation, wanted.requester.generation}
    return same_question(approval, wanted) and len(generations) == 1
