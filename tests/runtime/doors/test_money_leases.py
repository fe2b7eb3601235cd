"""Leases of money at the door: many doors on one budget, and doors without a control plane."""

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from atoll.domain.budgets.budget import BudgetStanding
from atoll.domain.budgets.lease import leasable, open_lease, renew
from atoll.domain.ids import SandboxId
from atoll.testing.samples import sandbox
from atoll.wire.contract.policy import MoneyLease
from tests.domain.budgets.test_budget import budget
from tests.runtime.doors.test_broker_policy import World, serve

NOW = datetime(2026, 12, 31, 12, tzinfo=UTC)
DOORS, AT_ONCE = 20, 3
COST = 112_500
"""The cost of the scripted answer: 10,000 tokens of gpt-5 read and as many written."""
USAGE = {"input_tokens": 10_000, "output_tokens": 10_000}


def lease(micros: int, number: int = 1) -> MoneyLease:
    text = f"the budget bud_1 is spent, of lease {number}"
    return MoneyLease(lease_id=f"bud_1:{number}", micros=micros, refusal=text)


async def ask(world: World, provider: str = "openai") -> tuple[int, str]:
    return await world.ask(f"{world.door.url}/broker/{provider}/v1/responses", "POST")


async def test_door_spends_its_lease_and_names_the_budget_in_every_life(tmp_path: Path) -> None:
    spent = tmp_path / "spent.json"
    for statuses in ([200, 200, 429], [429]):
        async with serve(spent) as world:
            world.usage = USAGE
            world.set(leases=(lease(2 * COST),))
            answers = [await ask(world) for _ in statuses]
            assert [status for status, _ in answers] == statuses
            refusal = json.loads(answers[-1][1])
            assert (refusal["error"], refusal["message"]) == ("limit_reached", lease(1).refusal)
    async with serve(spent) as world:
        world.usage = USAGE
        world.set(leases=(lease(3 * COST),))
        assert [(await ask(world))[0] for _ in range(2)] == [200, 429]
        world.set(leases=(lease(9 * COST), lease(0, 2)))
        assert (await ask(world))[1].count("of lease 2") == 1
        world.set(leases=())
        assert (await ask(world))[0] == 200


async def test_websocket_under_a_lease_is_refused_since_nobody_can_count_it() -> None:
    opening = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    opening["Sec-WebSocket-Key"] = "dGhlIHNhbXBsZSBub25jZQ=="
    async with serve() as world:
        world.set(leases=(lease(10 * COST),))
        url = f"{world.door.url}/broker/openai/v1/realtime?model=gpt-realtime"
        status, text = await world.ask(url, headers=opening)
    assert (status, json.loads(text)["error"]) == (403, "not_metered")


class ControlPlane:
    """What grants leases of one budget to doors, and is told what they answered."""

    def __init__(self, worlds: list[World]) -> None:
        self.worlds = worlds
        self.budget = budget(amount=10_000_000)
        self.answered = [0] * len(worlds)
        boxes = (replace(sandbox("one"), id=SandboxId(f"sb_{n}")) for n in range(len(worlds)))
        self.leases = [open_lease(self.budget, box, NOW) for box in boxes]

    def renew(self) -> None:
        """Hear of all that was spent, and send every door its lease."""
        standing = BudgetStanding(self.budget, sum(self.answered) * COST, None)
        for number, world in enumerate(self.worlds):
            own = replace(self.leases[number], spent=self.answered[number] * COST)
            self.leases[number] = own
            self.leases[number] = renew(own, self.budget, leasable(standing, self.leases, None))
            world.set(leases=(lease(self.leases[number].granted, number),))

    async def loop(self, number: int) -> None:
        for _ in range(4):
            if (await ask(self.worlds[number]))[0] == 200:
                self.answered[number] += 1


async def test_twenty_doors_pass_one_budget_by_at_most_one_answer_each() -> None:
    """Each loops over dear calls, three at once. The control plane hears of them now and then, and
    is gone for good after the fifth time: doors spend what they were leased, and no more."""
    async with AsyncExitStack() as stack:
        worlds = [await stack.enter_async_context(serve()) for _ in range(DOORS)]
        for world in worlds:
            world.usage = USAGE
        control = ControlPlane(worlds)
        for turn in range(8):
            if turn < 5:
                control.renew()
            async with asyncio.TaskGroup() as tasks:
                for number in [*range(DOORS)] * 3:
                    tasks.create_task(control.loop(number))
        total, amount = sum(control.answered) * COST, control.budget.terms.amount_micros
        assert amount * 0.9 <= total <= amount + DOORS * AT_ONCE * COST
        for number, own in enumerate(control.leases):
            assert control.answered[number] * COST - own.granted <= AT_ONCE * COST
            assert (await ask(worlds[number]))[0] == 429
