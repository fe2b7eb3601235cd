"""Budgets as they are counted against and checked, in the transactions that spend.

`services.people.budgets` sets and shows them. What counts is what the doors report of models.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from atoll.domain.budgets.budget import (
    Budget,
    binds,
    check_left,
    day_of,
    period_begin,
    reader_of,
    stream_of,
)
from atoll.domain.budgets.spender import Spender, spender_of
from atoll.domain.event import SANDBOX_STREAMS, Event, EventDraft, Json
from atoll.domain.ids import SandboxId
from atoll.domain.meters.doors import money_of
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.lifecycle.leases import count_leased, read_standing

Spent = dict[tuple[Spender, datetime], int]
"""Micros by spender and day."""

Lives = dict[tuple[SandboxId, int, datetime], int]
"""Micros by sandbox, generation and day."""


async def check_budgets(rows: Transaction, sandbox: Sandbox, now: datetime) -> None:
    """Raise `LimitReached` where a budget that binds a sandbox about to be made is spent, and
    refuses at its limit. It names the tightest."""
    spender = spender_of(sandbox)
    budgets = await rows.budgets.of_organization(sandbox.org_id)
    bound = [budget for budget in budgets if binds(budget, spender)]
    check_left([await read_standing(rows, budget, now) for budget in bound])


async def count_spending(ground: Ground, rows: Transaction, events: Iterable[Event]) -> set[str]:
    """Add what requests cost to the spending of their days and to the leases of their doors, and
    append the events of the budgets that this warns of. Returns the streams of those."""
    spent, lives = await _sum_costs(rows, events)
    for (spender, day), micros in spent.items():
        await rows.spending.add(spender, day, micros)
    for (sandbox_id, generation, day), micros in lives.items():
        await count_leased(rows, (sandbox_id, generation), day, micros=micros)
    now = ground.clock.now()
    streams: set[str] = set()
    for org_id in {spender.org_id for spender, _ in spent}:
        for budget in await rows.budgets.of_organization(org_id):
            drafts = await _warn(ground, rows, budget, added=_added(budget, spent, now))
            await rows.events.append(drafts)
            streams |= {draft.stream for draft in drafts}
    return streams


async def _sum_costs(rows: Transaction, events: Iterable[Event]) -> tuple[Spent, Lives]:
    spent: Spent = defaultdict(int)
    lives: Lives = defaultdict(int)
    sandboxes: dict[SandboxId, Sandbox | None] = {}
    for event in events:
        micros = money_of(event)
        if not micros:
            continue
        name = SandboxId(event.stream.removeprefix(SANDBOX_STREAMS))
        if name not in sandboxes:
            sandboxes[name] = await rows.sandboxes.get(name)
        sandbox, generation = sandboxes[name], event.payload.get("generation")
        if sandbox is not None:
            spent[spender_of(sandbox), day_of(event.at)] += micros
            lives[name, generation if isinstance(generation, int) else 1, day_of(event.at)] += (
                micros
            )
    return spent, lives


def _added(budget: Budget, spent: Spent, now: datetime) -> int:
    """Return what was added to the current period of a budget."""
    begin = period_begin(budget.terms.period, now)
    return sum(
        micros
        for (spender, day), micros in spent.items()
        if binds(budget, spender) and (begin is None or day >= begin)
    )


async def _warn(
    ground: Ground, rows: Transaction, budget: Budget, *, added: int
) -> tuple[EventDraft, ...]:
    """Return the events of the limits that were passed by what was added."""
    if not added:
        return ()
    now = ground.clock.now()
    standing = await read_standing(rows, budget, now)
    before = replace(standing, spent_micros=standing.spent_micros - added)
    about: dict[str, Json] = {
        "spent_micros": standing.spent_micros,
        "amount_micros": budget.terms.amount_micros,
        "currency": budget.terms.currency,
    }
    passed = standing.passed_since(before.spent_micros)
    notes: list[tuple[str, dict[str, Json]]] = [
        ("budget.warned", {**about, "percent": percent}) for percent in passed
    ]
    if standing.reached and not before.reached:
        notes.append(("budget.reached", {**about, "at_limit": budget.terms.at_limit.value}))
    return tuple(
        draft_budget_event(ground, SYSTEM, budget, kind=kind, payload=payload)
        for kind, payload in notes
    )


def draft_budget_event(
    ground: Ground, actor: Principal, budget: Budget, *, kind: str, payload: dict[str, Json]
) -> EventDraft:
    """Return an event of a budget, which belongs to the person it binds, else to who set it.
    `payload` is what the event says beside the names of the budget."""
    return EventDraft(
        id=ground.ids.event(),
        stream=stream_of(budget),
        event_type=kind,
        at=ground.clock.now(),
        org_id=budget.org_id,
        owner=reader_of(budget),
        actor=replace(actor, org_id=budget.org_id),
        reason=None,
        payload={
            "org": budget.org_id,
            "budget_id": budget.id,
            "scope": budget.subject.scope.value,
            "subject": budget.subject.name,
            **payload,
        },
    )
