"""Approvals: a person's decisions on requests from inside a sandbox.

Only the person who owns the secret (or, for a command, the sandbox) decides, and only
interactively: in a browser, or at a terminal by reading back words that were given for exactly
this question. Decision and check are one transaction, so what changed meanwhile is never
approved.
"""

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from atoll.domain.approvals.approval import (
    Approval,
    ApprovalGrant,
    ApprovalId,
    CommandAsk,
    HostAsk,
    SecretAsk,
    ToolAsk,
    deny_approval,
    digest,
    grant_approval,
    overtaken,
    revoke_approval,
    rule_of,
)
from atoll.domain.errors import AtollError, Conflict, Forbidden, LimitReached, NotFound
from atoll.domain.ids import SecretId
from atoll.domain.network.switch import NetworkChange
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.domain.sandboxes.sandbox import may_see
from atoll.domain.secrets.secret import Secret
from atoll.ports import ApprovalQuery, Transaction
from atoll.services.approvals.settlement import bring_up_to_date, close_overtaken, sweep
from atoll.services.approvals.voiding import approval_event
from atoll.services.ground import Ground
from atoll.services.policies.policy_push import PolicyPush
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.wire.contract.journal import decide_ask
from atoll.wire.words.approvals import ApprovalState, GrantScope
from atoll.wire.words.events import ActorKind

FIRST_PAGE = PageQuery(1000)
CONFIRMATION_LIFE = timedelta(minutes=2)
MAX_CONFIRMATIONS = 64
MAX_TRIES = 3
_SYLLABLES = [c + v for c in "bdfghklmnprstvz" for v in "aeiou"]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The words that a person repeats to approve one request as it was shown; valid once."""

    words: str
    shown: str
    expires_at: datetime


@dataclass(slots=True)
class _IssuedConfirmation:
    """A confirmation that was issued, and its recipient."""

    confirmation: Confirmation
    caller: Principal
    tries: int = 0


class Approvals:
    """Use cases on approvals. A request that the caller does not decide is `NotFound`."""

    def __init__(
        self,
        ground: Ground,
        sandboxes: Sandboxes,
        *,
        access: RuntimeAccess,
        policy_push: PolicyPush,
    ) -> None:
        self._ground = ground
        self._sandboxes = sandboxes
        self._access = access
        self._policy_push = policy_push
        self._issued: OrderedDict[ApprovalId, _IssuedConfirmation] = OrderedDict()

    async def list(
        self,
        caller: Principal,
        page: PageQuery = FIRST_PAGE,
        *,
        verdicts: tuple[ApprovalState, ...] = (),
    ) -> RowPage[Approval]:
        """Return a page of the approvals that the caller decides, newest first. It is shorter than
        its limit by those whose time ended just now."""
        query = ApprovalQuery(
            caller.org_id, caller.id, verdicts, administers=caller.may(Capability.ORG_MANAGE)
        )
        async with self._ground.store.read() as rows:
            read = await rows.approvals.page(query, page)
        approvals = await close_overtaken(self._ground, list(read.rows))
        wanted = verdicts or tuple(ApprovalState)
        return replace(
            read, rows=[approval for approval in approvals if approval.verdict in wanted]
        )

    async def get(self, caller: Principal, approval_id: str) -> Approval:
        """Return an approval that the caller decides, as it is by now. Raises `NotFound`."""
        async with self._ground.store.read() as rows:
            return await self._find(rows, caller, approval_id)

    async def confirmation(self, caller: Principal, approval_id: str) -> Confirmation:
        """Return words for a person at a terminal to repeat. They are valid once, for two minutes;
        a further call replaces them. Raises `Conflict` when the request is no longer pending."""
        _check_person(caller)
        approval = await self.get(caller, approval_id)
        now = self._ground.clock.now()
        if approval.verdict is not ApprovalState.PENDING:
            raise Conflict(f"{approval.id} is not open any more.", code="already_decided")
        words = "-".join("".join(secrets.choice(_SYLLABLES) for _ in range(2)) for _ in range(2))
        made = Confirmation(words, digest(approval), now + CONFIRMATION_LIFE)
        self._issued[approval.id] = _IssuedConfirmation(made, caller)
        self._issued.move_to_end(approval.id)
        while len(self._issued) > MAX_CONFIRMATIONS:
            self._issued.popitem(last=False)
        return made

    async def approve(
        self, caller: Principal, approval_id: str, yes: ApprovalGrant, *, words: str | None = None
    ) -> Approval:
        """Approve exactly what was shown. Raises `Forbidden` unless the caller is a person at a
        browser or a terminal, `Conflict` (decided, changed, or not as shown)."""
        _check_person(caller)
        async with self._ground.store.begin() as rows:
            approval = await self._find(rows, caller, approval_id)
            self._check_presence(caller, approval, yes, words)
            now = self._ground.clock.now()
            after = grant_approval(approval, yes, by=caller.id, now=now)
            secret = await self._secret(rows, approval)
            if _stale(approval, secret):
                after = overtaken(approval, reason="The secret was changed.", now=now)
            await self._keep(rows, after, actor=caller)
            settled = await self._settle_others(rows, after)
        self._ground.bus.announce(settled)
        if after.verdict is not ApprovalState.GRANTED:
            raise Conflict(
                f"The secret that {approval.id} asks for was changed meanwhile: it has to ask "
                "again.",
                code="secret_changed",
            )
        return await self._carry_out(after, caller)

    async def _settle_others(self, rows: Transaction, approval: Approval) -> Sequence[str]:
        """Close the requests of other sandboxes that a grant for all of them answers. Returns their
        streams, to announce after the transaction."""
        ask = approval.ask
        for_all = approval.reach is GrantScope.ORGANIZATION
        if approval.verdict is not ApprovalState.GRANTED or not for_all:
            return ()
        if not isinstance(ask, SecretAsk):
            return ()
        about = await rows.approvals.about(approval.org_id, ask.secret_id)
        drafts, _ = await sweep(rows, self._ground, about)
        if drafts:
            await rows.events.append(drafts)
        return [draft.stream for draft in drafts]

    async def deny(self, caller: Principal, approval_id: str) -> Approval:
        """Deny a request; the same one is suppressed for a while. Raises `Conflict`."""
        _check_person(caller)
        async with self._ground.store.begin() as rows:
            approval = await self._find(rows, caller, approval_id)
            after = deny_approval(approval, by=caller.id, now=self._ground.clock.now())
            await self._keep(rows, after, actor=caller)
        return await self._carry_out(after, caller)

    async def revoke(self, caller: Principal, approval_id: str) -> Approval:
        """Revoke an approval at once; streams that depend on it end. Raises `Conflict`."""
        _check_person(caller)
        async with self._ground.store.begin() as rows:
            approval = await self._find(rows, caller, approval_id)
            now = self._ground.clock.now()
            after = revoke_approval(approval, reason=f"{caller.id} took it back.", now=now)
            await self._keep(rows, after, actor=caller)
        return await self._carry_out(after, caller)

    def _check_presence(
        self, caller: Principal, approval: Approval, yes: ApprovalGrant, words: str | None
    ) -> None:
        """Check that a person is present, at a browser or by this request's confirmation words."""
        if caller.interactive:
            return
        issued = self._issued.get(approval.id)
        now = self._ground.clock.now()
        fresh = issued is not None and now < issued.confirmation.expires_at
        if (
            words is None
            or issued is None
            or not fresh
            or not _is_same_caller(issued.caller, caller)
        ):
            raise Forbidden(
                "Only a person at a browser or a terminal approves: open the page, or run "
                f"`atoll approve {approval.id}` and read the words back.",
                code="not_interactive",
            )
        issued.tries += 1
        right = hmac.compare_digest(
            words.strip().lower().encode(), issued.confirmation.words.encode()
        )
        if right or issued.tries >= MAX_TRIES:
            del self._issued[approval.id]
        if not right:
            raise LimitReached(
                f"Those are not the words for {approval.id}.", code="wrong_words", field="words"
            )
        if yes.shown != issued.confirmation.shown:
            raise Conflict(
                f"What you were shown is not what {approval.id} asks: look at it again.",
                code="not_as_shown",
            )

    async def _carry_out(self, approval: Approval, caller: Principal) -> Approval:
        """Send the decision to the runtimes. An approval is void when the command that requested it
        is gone."""
        self._ground.bus.announce((f"sandbox:{approval.requester.sandbox_id}",))
        match approval.ask:
            case SecretAsk():
                # A yes may count in sandboxes of everybody who has the secret.
                await self._policy_push.push_changes(approval.org_id, None)
                return approval
            case HostAsk():
                return await self._switch(approval, approval.ask, caller)
            case CommandAsk():
                return await self._answer(approval, caller)
            case ToolAsk():  # pragma: no branch - the cases are all
                # Its call waits for this, or is repeated.
                return approval

    async def _switch(self, approval: Approval, ask: HostAsk, caller: Principal) -> Approval:
        """Add or remove the rule of a host in its sandbox's network. An approval is void when the
        sandbox is gone."""
        rule = (rule_of(ask),)
        match approval.verdict:
            case ApprovalState.GRANTED:
                change = NetworkChange(allow=rule)
            case ApprovalState.REVOKED:
                change = NetworkChange(forget=rule)
            case _:
                return approval
        try:
            await self._sandboxes.switch_network(caller, approval.requester.sandbox_id, change)
        except AtollError:
            if approval.verdict is ApprovalState.GRANTED:
                now = self._ground.clock.now()
                reason = "Its sandbox could not be changed."
                await self._settle(
                    replace(approval, verdict=ApprovalState.EXPIRED, reason=reason, until=now)
                )
            raise
        return approval

    async def _answer(self, approval: Approval, caller: Principal) -> Approval:
        """Answer a command's request in its runtime; the approval is used up by that."""
        decision: Literal["allow", "deny"] = (
            "allow" if approval.verdict is ApprovalState.GRANTED else "deny"
        )
        try:
            sandbox = await self._sandboxes.get(caller, approval.requester.sandbox_id)
            client = self._access.runtime_of(sandbox)
            await client.call(decide_ask(approval.requester.ask_id, decision))
        except AtollError as err:
            if decision == "deny":
                return approval
            now, reason = self._ground.clock.now(), "Its asker was gone."
            await self._settle(
                replace(approval, verdict=ApprovalState.EXPIRED, reason=reason, until=now)
            )
            raise Conflict(
                f"Nobody waits for {approval.id} any more ({err.message}): nothing was run.",
                code="nobody_waits",
            ) from err
        if decision == "allow":
            return await self._settle(replace(approval, verdict=ApprovalState.USED))
        return approval

    async def _settle(self, approval: Approval) -> Approval:
        async with self._ground.store.begin() as rows:
            await self._keep(rows, approval, actor=SYSTEM)
        return approval

    async def _keep(self, rows: Transaction, approval: Approval, *, actor: Principal) -> None:
        await rows.approvals.put(approval)
        await rows.events.append((approval_event(self._ground, approval, actor=actor),))

    async def _find(self, rows: Transaction, caller: Principal, approval_id: str) -> Approval:
        approval = await rows.approvals.get(caller.org_id, ApprovalId(approval_id))
        if approval is None or not await _decides(rows, caller, approval):
            raise NotFound(
                f"There is no approval {approval_id[:80]!r}: list them to see which there are."
            )
        return await bring_up_to_date(rows, approval, self._ground.clock.now())

    async def _secret(self, rows: Transaction, approval: Approval) -> Secret | None:
        if not isinstance(approval.ask, SecretAsk):
            return None
        return await rows.secrets.get(approval.org_id, SecretId(approval.ask.secret_id))


def _stale(approval: Approval, secret: Secret | None) -> bool:
    ask = approval.ask
    return isinstance(ask, SecretAsk) and (secret is None or secret.version != ask.version)


async def _decides(rows: Transaction, caller: Principal, approval: Approval) -> bool:
    """Report whether the caller decides a request of its organization: the owner of the secret or
    the sandbox does, and an administrator where it is about a secret or a shared sandbox."""
    if approval.owner == caller.id:
        return True
    if not caller.may(Capability.ORG_MANAGE):
        return False
    if isinstance(approval.ask, SecretAsk):
        return True
    sandbox = await rows.sandboxes.get(approval.requester.sandbox_id)
    return sandbox is not None and may_see(caller, sandbox)


def _is_same_caller(principal: Principal, other: Principal) -> bool:
    """Report whether two calls come from one person, whatever their origin."""
    return replace(principal, origin=None) == replace(other, origin=None)


def _check_person(caller: Principal) -> None:
    by_token = caller.token is not None
    if caller.kind is not ActorKind.PERSON or caller.guest_access is not None or by_token:
        raise Forbidden("only a person decides approvals", code="not_interactive")
