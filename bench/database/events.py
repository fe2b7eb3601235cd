"""`events`: appends to the log, each a transaction of its own, beside plain inserts.

All are synced to disk. An event of an audited kind writes a second row, and has no limit. The plain
inserts go into an equal table of the same database, by its plain driver and in turn with ours, on
the event loop of the control plane.
"""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import import_module
from itertools import count
from pathlib import Path

import uvloop

from atoll.adapters.storage.engines.sqlite import sqlite_url
from atoll.adapters.storage.store import Settings, SqlStore, open_store
from atoll.domain.event import EventDraft
from atoll.domain.ids import PERSONAL_ORG, EventId, PrincipalId
from atoll.domain.people.principal import LOCAL_PERSON
from bench.figures import Series, table, verdict
from tests.peers.databases.postgres import missing, serving

SECONDS = 0.5
"""Of each turn."""

TURNS = 7
STREAMS = 100
LINKS = 5
"""Connections of the plain inserts, as many as ours may open."""

SYNCED = ("fsync=on", "full_page_writes=on", "synchronous_commit=on", "wal_level=replica")

_COLUMNS = "id, org_id, owner, stream, seq, event_type, event_version, at_us, actor_kind, actor_id"
_MAKE = (
    "CREATE TABLE plain (position {0}, id TEXT UNIQUE, org_id TEXT, owner TEXT, stream TEXT,"
    " seq BIGINT, event_type TEXT, event_version INTEGER, at_us BIGINT, actor_kind TEXT,"
    " actor_id TEXT, reason TEXT, payload TEXT, UNIQUE (stream, seq))",
    "CREATE INDEX plain_by_owner ON plain (org_id, owner, position)",
)
_PAYLOAD = '{"sandbox_id":"sb_1","generation":1,"n":1,"id":"ex_1","exit":0}'

Insert = Callable[[int], Awaitable[object]]
_numbers = count()


@dataclass(frozen=True, slots=True)
class _Sides:
    """A database: our store, and the plain insert of a stream's next row."""

    name: str
    store: SqlStore
    insert: Insert


def _row(stream: int) -> tuple[object, ...]:
    number = next(_numbers)
    told = ("exec.exited", 1, 1_800_000_000_000_000, "adm", "person", None, _PAYLOAD)
    return (f"ev_{number}", "personal", "person", f"plain:{stream}", number, *told)


@asynccontextmanager
async def _on_sqlite() -> AsyncIterator[_Sides]:
    with tempfile.TemporaryDirectory(prefix="at") as folder:
        path = Path(folder) / "a.db"
        async with open_store(Settings(sqlite_url(path), synced=True)) as store:
            link = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            link.execute("PRAGMA synchronous=FULL")
            for statement in _MAKE:
                link.execute(statement.format("INTEGER PRIMARY KEY AUTOINCREMENT"))
            marks = ", ".join("?" * 12)
            words = f"INSERT INTO plain ({_COLUMNS}, reason, payload) VALUES ({marks})"
            turn = asyncio.Lock()

            async def insert(stream: int) -> None:
                async with turn:
                    await asyncio.to_thread(link.execute, words, _row(stream))

            yield _Sides("SQLite", store, insert)
            link.close()


@asynccontextmanager
async def _on_postgres() -> AsyncIterator[_Sides]:
    with serving(*SYNCED) as server:
        url = server.url(server.empty())
        async with open_store(Settings(url, LINKS)) as store:
            links = await import_module("asyncpg").create_pool(url, min_size=LINKS, max_size=LINKS)
            for statement in _MAKE:
                await links.execute(statement.format("BIGSERIAL PRIMARY KEY"))
            marks = ", ".join(f"${n}" for n in range(1, 13))
            words = f"INSERT INTO plain ({_COLUMNS}, reason, payload) VALUES ({marks})"

            async def insert(stream: int) -> None:
                await links.execute(words, *_row(stream))

            yield _Sides("PostgreSQL", store, insert)
            await links.close()


def draft(stream: int) -> EventDraft:
    """Return an event of a kind that is frequent, and not audited."""
    return EventDraft(
        EventId(f"ev_{next(_numbers)}"),
        f"bench:{stream}",
        "exec.exited",
        datetime.now(UTC),
        PERSONAL_ORG,
        PrincipalId("person"),
        LOCAL_PERSON,
        None,
        {"sandbox_id": "sb_1", "generation": 1, "n": 1, "id": "ex_1", "exit": 0},
    )


async def _rate(act: Insert, streams: int) -> float:
    """Acts a second, by as many at once as there are streams."""
    end, done = time.perf_counter() + SECONDS, 0

    async def one(stream: int) -> None:
        nonlocal done
        while time.perf_counter() < end:
            await act(stream)
            done += 1

    started = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for stream in range(streams):
            tasks.create_task(one(stream))
    return done / (time.perf_counter() - started)


def _audited(stream: int) -> EventDraft:
    return replace(draft(stream), event_type="auth.login", payload={"how": "ticket"})


def _appending(store: SqlStore, draft: Callable[[int], EventDraft]) -> Insert:
    async def append(stream: int) -> None:
        async with store.begin() as rows:
            await rows.events.append((draft(stream),))

    return append


async def _compare(sides: _Sides) -> None:
    for streams in (1, STREAMS):
        plain = Series(f"{sides.name}: plain inserts, {streams} at once", "/s")
        ours = Series(f"{sides.name}: events, {streams} streams at once", "/s")
        audited = Series(f"{sides.name}: audited events, the same", "/s")
        acts = (
            (plain, sides.insert),
            (ours, _appending(sides.store, draft)),
            (audited, _appending(sides.store, _audited)),
        )
        for turn in range(TURNS + 1):
            for series, act in acts:
                rate = await _rate(act, streams)
                if turn:  # the first one warms caches on all sides
                    series.samples.append(rate)
        table(f"event append, {sides.name}", plain, ours, audited)
        verdict("part of the plain inserts", ours.median / plain.median, 0.5, at_least=True)


async def _all() -> None:
    async with _on_sqlite() as sides:
        await _compare(sides)
    if reason := missing():
        print(f"  {reason}: not compared")
        return
    async with _on_postgres() as sides:
        await _compare(sides)


def events() -> None:
    """Durable appends beside plain inserts."""
    uvloop.run(_all())
