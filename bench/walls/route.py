"""`route`: a decision over 10 and 1,000 candidates, beside one append to the event log."""

import asyncio
import tempfile
import time
from dataclasses import replace
from itertools import count
from pathlib import Path

from atoll.adapters.storage.engines.sqlite import sqlite_url
from atoll.adapters.storage.store import Settings, open_store
from atoll.domain.hosts.host import HourlyCost
from atoll.domain.routes.candidate import Candidate
from atoll.domain.routes.decision import RouteRequest, decide
from atoll.domain.routes.health import Health
from atoll.domain.routes.policy import Constraints
from atoll.wire.words.routes import Strategy
from atoll.wire.words.walls import IsolationLevel
from bench.database.events import draft
from bench.figures import Series, ratio, table, verdict

TURNS = 200
FEW, HUNDRED, MANY = 10, 100, 1000
_numbers = count()
_REQUEST = RouteRequest(
    Strategy.LOWEST_COST,
    limits=(
        Constraints(max_cost_per_hour=HourlyCost(500_000), region="eu", min_success=0.5),
        Constraints(require_isolation=IsolationLevel.CONTAINER),
    ),
)


def route() -> None:
    """A decision is asked to cost at most one append, and to grow with its candidates only."""
    few, hundred, many, floor = (
        Series("a decision over 10 candidates"),
        Series("a decision over 100"),
        Series("a decision over 1,000"),
        Series("one append to the event log"),
    )
    asyncio.run(_measured({FEW: few, HUNDRED: hundred, MANY: many}, floor))
    table("routes", few, hundred, many, floor)
    verdict("a decision over 10, in appends", few.median / floor.median, 1)
    ratio("one over 1,000 in those over 100: linear is 10", many.median / hundred.median)


async def _measured(decisions: dict[int, Series], floor: Series) -> None:
    for number, series in decisions.items():
        candidates = _candidates(number)
        for _ in range(TURNS):
            # It waits for nothing: processor time, as others may use this machine, too.
            started = time.thread_time()
            assert decide(_REQUEST, candidates).chosen
            series.samples.append((time.thread_time() - started) * 1000)
    with tempfile.TemporaryDirectory(prefix="at") as folder:
        async with open_store(Settings(sqlite_url(Path(folder) / "atoll.db"))) as store:
            for _ in range(TURNS):
                started = time.perf_counter()
                async with store.begin() as rows:
                    await rows.events.append([draft(next(_numbers))])
                floor.samples.append((time.perf_counter() - started) * 1000)


def _candidates(number: int) -> list[Candidate]:
    """Return candidates of which every third fits."""
    one = Candidate(
        "ext.ssh",
        region="eu-west",
        isolation=IsolationLevel.CONTAINER,
        health=Health(40, 0.98, 300, 900),
    )
    return [
        replace(
            one,
            host=f"box-{at}",
            order=at,
            cost_per_hour=HourlyCost(1000 * (at + 1) % 400_000),
            obstacles=() if at % 3 == 0 else ("no room",),
        )
        for at in range(number)
    ]
