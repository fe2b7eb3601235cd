"""Approval requests that runtimes report, stored as approvals for a person to decide.

Programs inside cause these entries, so nothing in them is trusted: a secret must be in the
sandbox's scope, in its current version, and a host must be in canonical spelling.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal

import msgspec
import structlog

from atoll.domain.agents.registry import AGENTS
from atoll.domain.approvals.approval import (
    ASK_LIFE,
    COMMAND_LIFE,
    Approval,
    ApprovalId,
    Ask,
    CommandAsk,
    Requester,
    SecretAsk,
    check_command,
    check_host,
    has_room,
    overtaken,
    same_question,
    silences,
)
from atoll.domain.errors import Invalid
from atoll.domain.event import EventDraft
from atoll.domain.ids import PrincipalId, SecretId
from atoll.domain.network.host import canonical_host
from atoll.domain.people.principal import SYSTEM
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.secrets.secret import in_scope
from atoll.ports import Transaction
from atoll.services.approvals.running_commands import HANDLERS, runs_beside
from atoll.services.approvals.settlement import allows_host, bring_up_to_date, sweep
from atoll.services.approvals.voiding import approval_event, approval_words
from atoll.services.ground import Ground
from atoll.services.journals.agent_actors import requesting_agent
from atoll.services.journals.entries import EntryHandler, JournalOutcome, ReportedEntry
from atoll.services.policies.policies import scope_subject
from atoll.wire.contract.call import RuntimeCall
from atoll.wire.contract.journal import decide_ask
from atoll.wire.words.approvals import ApprovalState
from atoll.wire.words.secrets import Purpose

_log = structlog.get_logger(__name__)


_Id = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]


class _SecretSubject(msgspec.Struct):
    secret: str
    secret_id: str
    version: int
    host: str
    port: int


class _CommandSubject(msgspec.Struct):
    argv: list[str]
    cwd: str


class _ApprovalRequest(msgspec.Struct):
    ask_id: _Id
    kind: Literal["secret", "command"]
    subject: dict[str, object]


class _DoorRefusal(msgspec.Struct):
    door: str
    host: str
    port: int
    code: str


_ALLOWABLE = frozenset({"not_listed", "port_not_listed"})
"""Refusals that a rule for the host would end. What the owner denied is not asked again."""


class _ApprovalUse(msgspec.Struct):
    approval_id: str


class _Withdrawal(msgspec.Struct):
    ask_id: _Id


class ApprovalRequests:
    """The handlers of journal entries `approval.asked`, `approval.used` and
    `approval.withdrawn`."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    @property
    def handlers(self) -> Mapping[str, EntryHandler]:
        """Return the handlers by kind of entry."""
        return {
            "approval.asked": self.asked,
            "approval.used": self.used,
            "approval.withdrawn": self.withdrawn,
        }

    @property
    def further(self) -> Mapping[str, EntryHandler]:
        """Return what is done beside logging an entry, by kind of entry."""
        return {"door.refused": self.refused, **HANDLERS}

    async def refused(
        self, rows: Transaction, sandbox: Sandbox, entry: ReportedEntry
    ) -> JournalOutcome:
        """Store an approval for a host that the sandbox was refused for want of a rule."""
        try:
            refusal = msgspec.convert(entry.payload, _DoorRefusal)
            if refusal.door != "egress" or refusal.code not in _ALLOWABLE:
                return JournalOutcome()
            ask = check_host(refusal.host, refusal.port)
        except (msgspec.ValidationError, Invalid, ValueError):
            return JournalOutcome()
        present = await rows.sandboxes.get(sandbox.id) or sandbox
        if allows_host(present, ask) or ask.host in _own_hosts(present):
            return JournalOutcome()
        approval = self._approval(sandbox, f"refused_{entry.n}", owner=sandbox.owner, ask=ask)
        return await self._ask(rows, entry, approval, sandbox=sandbox)

    async def asked(
        self, rows: Transaction, sandbox: Sandbox, entry: ReportedEntry
    ) -> JournalOutcome:
        """Store a new approval, unless the same is open or was denied a moment ago."""
        try:
            request = msgspec.convert(entry.payload, _ApprovalRequest)
            owner, ask = await self._read(rows, sandbox, request)
        except (msgspec.ValidationError, Invalid, ValueError) as err:
            _log.warning("ask_refused", sandbox=sandbox.id, reason=str(err)[:200])
            return JournalOutcome()
        approval = self._approval(sandbox, request.ask_id, owner=owner, ask=ask)
        return await self._ask(rows, entry, approval, sandbox=sandbox)

    async def _ask(
        self, rows: Transaction, entry: ReportedEntry, approval: Approval, *, sandbox: Sandbox
    ) -> JournalOutcome:
        owner = approval.owner
        others = await rows.approvals.open(sandbox.org_id, sandbox_id=sandbox.id, owner=owner)
        expired, others = await sweep(rows, self._ground, others)
        refused = await self._suppress_request(rows, approval, others)
        if refused is not None:
            return JournalOutcome(expired, refused.call)
        present = await rows.sandboxes.get(sandbox.id) or sandbox
        beside = await runs_beside(rows, present)
        approval = replace(approval, requester=replace(approval.requester, beside_command=beside))
        if await bring_up_to_date(rows, approval, self._ground.clock.now()) is not approval:
            # A journal's last entries are read after its sandbox ended.
            return JournalOutcome(expired)
        await rows.approvals.put(approval)
        asked = replace(
            approval_event(
                self._ground, approval, actor=requesting_agent(present, beside_command=beside)
            ),
            event_type="approval.asked",
            payload={**approval_words(approval), "generation": sandbox.generation, "n": entry.n},
        )
        return JournalOutcome((*expired, asked))

    async def used(
        self, rows: Transaction, sandbox: Sandbox, entry: ReportedEntry
    ) -> JournalOutcome:
        """Mark an approval that was granted for one request as used."""
        try:
            use = msgspec.convert(entry.payload, _ApprovalUse)
        except msgspec.ValidationError:
            return JournalOutcome()
        approval = await rows.approvals.get(sandbox.org_id, ApprovalId(use.approval_id))
        mine = approval is not None and approval.requester.sandbox_id == sandbox.id
        if approval is None or not mine or approval.verdict is not ApprovalState.GRANTED:
            return JournalOutcome()
        after = replace(approval, verdict=ApprovalState.USED)
        await rows.approvals.put(after)
        return JournalOutcome((approval_event(self._ground, after, actor=SYSTEM),))

    async def withdrawn(
        self, rows: Transaction, sandbox: Sandbox, entry: ReportedEntry
    ) -> JournalOutcome:
        """Close the pending request of a program that gave up waiting."""
        try:
            withdrawal = msgspec.convert(entry.payload, _Withdrawal)
        except msgspec.ValidationError:
            return JournalOutcome()
        approvals = await rows.approvals.open(
            sandbox.org_id, sandbox_id=sandbox.id, owner=sandbox.owner
        )
        drafts: list[EventDraft] = []
        for approval in approvals:
            requester = approval.requester
            mine = (requester.sandbox_id, requester.ask_id) == (sandbox.id, withdrawal.ask_id)
            if not mine or approval.verdict is not ApprovalState.PENDING:
                continue
            now = self._ground.clock.now()
            after = overtaken(approval, reason="Its program waits no more.", now=now)
            await rows.approvals.put(after)
            drafts.append(approval_event(self._ground, after, actor=SYSTEM))
        return JournalOutcome(tuple(drafts))

    async def _read(
        self, rows: Transaction, sandbox: Sandbox, request: _ApprovalRequest
    ) -> tuple[PrincipalId, SecretAsk | CommandAsk]:
        """Return the person who decides, and the subject. Raises `Invalid`, `ValueError`,
        `ValidationError`."""
        if request.kind == "command":
            command = msgspec.convert(request.subject, _CommandSubject)
            return sandbox.owner, check_command(command.argv, command.cwd)
        subject = msgspec.convert(request.subject, _SecretSubject)
        secret = await rows.secrets.get(sandbox.org_id, SecretId(subject.secret_id))
        if secret is None or not in_scope(secret, scope_subject(sandbox)):
            raise Invalid("it asks for a secret that is not this sandbox's")
        if (secret.name, secret.version) != (subject.secret, subject.version):
            raise Invalid("it asks for another version of the secret")
        if secret.use.purpose is not Purpose.CUSTOM:
            raise Invalid("only custom secrets go to hosts that were approved")
        if canonical_host(subject.host) != subject.host or not 1 <= subject.port <= 65535:
            raise Invalid("the host is not in its canonical spelling")
        return secret.owner, SecretAsk(
            secret.name, secret.id, secret.version, subject.host, subject.port
        )

    def _approval(
        self,
        sandbox: Sandbox,
        ask_id: str,
        *,
        owner: PrincipalId,
        ask: Ask,
    ) -> Approval:
        now = self._ground.clock.now()
        life = COMMAND_LIFE if isinstance(ask, CommandAsk) else ASK_LIFE
        return Approval(
            id=ApprovalId(self._ground.ids.new("ap")),
            org_id=sandbox.org_id,
            owner=owner,
            requester=Requester(sandbox.id, sandbox.name, sandbox.generation, ask_id),
            ask=ask,
            asked_at=now,
            until=now + life,
        )

    async def _suppress_request(
        self, rows: Transaction, approval: Approval, others: list[Approval]
    ) -> JournalOutcome | None:
        """Return the outcome of a request that no person is to see; None when one is to see it."""
        now = self._ground.clock.now()
        command = isinstance(approval.ask, CommandAsk)
        for other in others:
            if not same_question(other, approval) or not silences(other, now):
                continue
            if command and other.verdict is ApprovalState.PENDING:
                continue  # another process waits for an answer of its own
            if other.verdict is ApprovalState.PENDING:
                await rows.approvals.put(replace(other, times=other.times + 1))
            return JournalOutcome(call=_no(approval) if command else None)
        if has_room(approval, others, now):
            return None
        _log.warning("asks_flood", sandbox=approval.requester.sandbox_id)
        return JournalOutcome(call=_no(approval) if command else None)


def _own_hosts(sandbox: Sandbox) -> frozenset[str]:
    """Return the hosts that programs of the sandbox's agents call for themselves."""
    here = {sandbox.agent or "", *(agent.agent for agent in sandbox.agents)}
    return frozenset(host for agent in AGENTS if agent.name in here for host in agent.own_hosts)


def _no(approval: Approval) -> RuntimeCall[None]:
    return decide_ask(approval.requester.ask_id, "deny")
