"""Budgets, as administrators set those of an organization, and persons their own.

They are counted against and checked where money is spent: `services.lifecycle.budgets`.
"""

from atoll.domain.budgets.budget import (
    Budget,
    BudgetId,
    BudgetStanding,
    BudgetSubject,
    BudgetTerms,
    may_change,
    stream_of,
)
from atoll.domain.errors import Forbidden, LimitReached, NotFound
from atoll.domain.event import Json
from atoll.domain.ids import SandboxId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.lifecycle.budgets import draft_budget_event
from atoll.services.lifecycle.leases import read_standing
from atoll.services.people.rosters import one_member
from atoll.services.people.tokens import is_bound
from atoll.services.policies.policy_push import PolicyPush
from atoll.wire.words.meters import MAX_BUDGETS, BudgetScope


class Budgets:
    """Use cases on budgets. One that the caller may not see is `NotFound`, like one that is
    missing. Who is bound to a sandbox sees and sets none."""

    def __init__(self, ground: Ground, policy_push: PolicyPush) -> None:
        self._ground = ground
        self._policy_push = policy_push

    async def list(self, caller: Principal) -> list[BudgetStanding]:
        """Return the budgets that the caller sees: administrators those of the organization,
        others those of themselves and of their sandboxes."""
        _check(caller)
        now = self._ground.clock.now()
        async with self._ground.store.read() as rows:
            return [
                await read_standing(rows, budget, now)
                for budget in await rows.budgets.of_organization(caller.org_id)
                if await _is_seen(rows, caller, budget.subject)
            ]

    async def set(
        self, caller: Principal, scope: BudgetScope, ref: str | None, *, terms: BudgetTerms
    ) -> BudgetStanding:
        """Set the budget of a subject and period, which is made where there is none. `ref` is a
        person by id, name or email, a sandbox by id or name, and for None the caller or its
        organization. Raises `Invalid`, `NotFound`, `Conflict` where several people are meant,
        `Forbidden`, `LimitReached`."""
        _check(caller)
        ground = self._ground
        async with ground.store.begin() as rows:
            subject = BudgetSubject(scope, await _resolve(rows, caller, scope, ref))
            budgets = await rows.budgets.of_organization(caller.org_id)
            key = subject, terms.period
            former = next((budget for budget in budgets if budget.key == key), None)
            if not may_change(caller, subject, former):
                raise Forbidden("an administrator sets this budget: ask one")
            if former is None and len(budgets) >= MAX_BUDGETS:
                raise LimitReached(f"there are {MAX_BUDGETS} budgets already: remove one first")
            budget = Budget(
                BudgetId(ground.ids.new("bud")) if former is None else former.id,
                caller.org_id,
                subject,
                terms,
                caller.id,
                ground.clock.now(),
                caller.may(Capability.ORG_MANAGE),
            )
            await rows.budgets.put(budget)
            spelled: dict[str, Json] = {
                "amount_micros": terms.amount_micros,
                "currency": terms.currency,
                "period": terms.period.value,
                "warn_at": [*terms.warn_at],
                "at_limit": terms.at_limit.value,
            }
            await self._note(rows, caller, budget, "budget.set", terms=spelled)
            standing = await read_standing(rows, budget, budget.set_at)
        ground.bus.announce((stream_of(budget),))
        await self._policy_push.push_changes(budget.org_id, None)
        return standing

    async def remove(self, caller: Principal, budget_id: str) -> None:
        """Remove a budget; what was spent stays counted. Raises `NotFound`, `Forbidden`."""
        _check(caller)
        async with self._ground.store.begin() as rows:
            budget = await rows.budgets.get(BudgetId(budget_id))
            seen = budget is not None and budget.org_id == caller.org_id
            if budget is None or not seen or not await _is_seen(rows, caller, budget.subject):
                raise NotFound(
                    f"there is no budget {budget_id[:80]!r}: list them to see which there are"
                )
            if not may_change(caller, budget.subject, budget):
                raise Forbidden("an administrator set this budget: ask one")
            await rows.budgets.remove(budget.id)
            await rows.budget_leases.drop(budget.id)
            await self._note(rows, caller, budget, "budget.removed")
        self._ground.bus.announce((stream_of(budget),))
        await self._policy_push.push_changes(budget.org_id, None)

    async def _note(
        self, rows: Transaction, caller: Principal, budget: Budget, kind: str, **more: Json
    ) -> None:
        draft = draft_budget_event(self._ground, caller, budget, kind=kind, payload=more)
        await rows.events.append((draft,))


def _check(caller: Principal) -> None:
    if is_bound(caller):
        raise Forbidden("you may not see or set budgets")


async def _is_seen(rows: Transaction, caller: Principal, subject: BudgetSubject) -> bool:
    """Return whether a caller may see the budget of a subject in its organization."""
    if caller.may(Capability.ORG_MANAGE):
        return True
    if subject.scope is BudgetScope.SANDBOX:
        sandbox = await rows.sandboxes.get(SandboxId(subject.name))
        return sandbox is not None and sandbox.owner == caller.id
    return subject == BudgetSubject(BudgetScope.PERSON, caller.id)


async def _resolve(
    rows: Transaction, caller: Principal, scope: BudgetScope, ref: str | None
) -> str:
    """Return the name of a subject. Raises `NotFound` for one that the caller may not name."""
    match scope:
        case BudgetScope.ORGANIZATION:
            if ref not in (None, caller.org_id):
                raise NotFound("a budget is of your own organization", field="subject")
            return caller.org_id
        case BudgetScope.PERSON:
            if ref in (None, caller.id):
                return caller.id
            if not caller.may(Capability.ORG_MANAGE):
                raise Forbidden("an administrator sets the budgets of others")
            return one_member(await rows.members.of(caller.org_id), ref or "").id
        case BudgetScope.SANDBOX:
            return await _find_sandbox(rows, caller, ref or "")
        case BudgetScope.AGENT | BudgetScope.CONSUMER:
            return ref or ""


async def _find_sandbox(rows: Transaction, caller: Principal, ref: str) -> SandboxId:
    sandbox = await rows.sandboxes.get(SandboxId(ref))
    sandbox = sandbox or await rows.sandboxes.named(caller.org_id, caller.id, ref)
    if sandbox is None or sandbox.org_id != caller.org_id or not _may_name(caller, sandbox):
        raise NotFound(f"there is no sandbox {ref[:80]!r} of yours", field="subject")
    return sandbox.id


def _may_name(caller: Principal, sandbox: Sandbox) -> bool:
    return sandbox.owner == caller.id or caller.may(Capability.ORG_MANAGE)
