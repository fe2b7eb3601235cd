"""`list`: the newest page of a person's sandboxes out of 100,000, beside that out of 100.

The time is that of a request to the API on this machine, with a scripted runtime behind it.
"""

import asyncio
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import httpx
import msgspec
from sqlalchemy import insert

from atoll.adapters.storage.columns import to_us
from atoll.adapters.storage.sandboxes import sandboxes
from atoll.adapters.storage.store import SqlStore
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.testing.samples import sandbox
from bench.figures import Series, table, verdict
from tests.peers.databases.chosen import on_postgres
from tests.peers.databases.postgres import missing, serving
from tests.surfaces.http.world import World, world

FEW, MANY = 100, 100_000
PAGE = 50
ROUNDS = 200
BATCH = 2_000


def listing() -> None:
    """Page 1 of few and of many sandboxes, on both databases."""
    asyncio.run(_measure("SQLite", nullcontext()))
    if reason := missing():
        print(f"  {reason}: not compared")
        return
    with serving() as server:
        asyncio.run(_measure("PostgreSQL", on_postgres(server)))


async def _measure(name: str, database: AbstractContextManager[None]) -> None:
    few, many = (Series(f"{name}: one page of {count}") for count in (FEW, MANY))
    with database:
        async with world() as made:
            await _grow(made, 0, FEW)
            await _sample(made, few)
            await _grow(made, FEW, MANY)
            await _sample(made, many)
    table(f"list, {name}", few, many)
    verdict("times the p95 of few", many.p95 / few.p95, 2)


async def _grow(made: World, since: int, until: int) -> None:
    store = made.ground.store
    assert isinstance(store, SqlStore)
    for start in range(since, until, BATCH):
        rows = [_row(number) for number in range(start, min(start + BATCH, until))]
        async with store.engines.writing() as connection:
            await connection.execute(insert(sandboxes), rows)


def _row(number: int) -> dict[str, object]:
    one = replace(
        sandbox(f"box-{number}", owner=LOCAL_PERSON.id, number=number),
        id=SandboxId(f"sb_{number:016}"),
    )
    return {
        "id": one.id,
        "org_id": one.org_id,
        "owner": one.owner,
        "name": one.name,
        "state": one.state.value,
        "scope": one.scope.value,
        "agent_key": None,
        "created_us": to_us(one.created_at),
        "body": msgspec.json.encode(one).decode(),
    }


async def _sample(made: World, series: Series) -> None:
    headers = {"Authorization": f"Bearer {made.token}"}
    async with httpx.AsyncClient(base_url=made.url, headers=headers, timeout=60) as http:
        for number in range(ROUNDS + 10):
            started = time.perf_counter()
            answer = await http.get(f"/v1/sandboxes?limit={PAGE}")
            if number >= 10:
                series.samples.append((time.perf_counter() - started) * 1000)
            assert len(answer.json()["sandboxes"]) == PAGE
