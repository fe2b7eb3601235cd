"""Tables and rows of usage."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple, fields
from datetime import datetime, timedelta

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    case,
    delete,
    func,
    insert,
    literal,
    select,
    true,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import from_us, metadata, to_us
from atoll.adapters.storage.people.quotas import IS_SESSION, sessions
from atoll.adapters.storage.projections import states
from atoll.adapters.storage.sandboxes import CONSUMER, sandboxes
from atoll.domain.event import SANDBOX_STREAMS
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.overview.usage import (
    INSTALLATION,
    ConsumerUsage,
    DoorCounts,
    Gauges,
    UsageBucket,
    UsageRange,
)
from atoll.domain.sandboxes.consumer import ConsumerFilter
from atoll.domain.sandboxes.reported import AGENTS, read_agents
from atoll.domain.sandboxes.sandbox import RUNNING
from atoll.ports.store.overview.usage import UsageRows

_GAUGES = tuple(gauge.name for gauge in fields(Gauges))
_COUNTS = tuple(counter.name for counter in fields(DoorCounts))

buckets = Table(
    "usage_buckets",
    metadata,
    Column("org_id", Text, nullable=False),
    Column("width", Integer, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    *(Column(name, BigInteger, nullable=False) for name in (*_GAUGES, *_COUNTS[:-2])),
    *(Column(name, BigInteger, nullable=False, server_default="0") for name in _COUNTS[-2:]),
    PrimaryKeyConstraint("org_id", "width", "at_us"),
    Index("usage_buckets_by_age", "width", "at_us"),
)
"""`width` is in seconds. The rows without an organization say that somebody watched."""

sandbox_usage = Table(
    "sandbox_usage",
    metadata,
    Column("sandbox_id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    *(Column(name, BigInteger, nullable=False) for name in _COUNTS[:-2]),
    *(Column(name, BigInteger, nullable=False, server_default="0") for name in _COUNTS[-2:]),
)


class SqlUsageRows(UsageRows):
    """The `ports.store.overview.usage.UsageRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, bucket: UsageBucket, width: timedelta) -> None:
        """See the port."""
        key = {
            "org_id": bucket.org_id,
            "width": int(width.total_seconds()),
            "at_us": to_us(bucket.at),
        }
        gauges = dict(zip(_GAUGES, astuple(bucket.standing), strict=True))
        counts = dict(zip(_COUNTS, astuple(bucket.counts), strict=True))
        own = [buckets.c[name] == value for name, value in key.items()]
        higher = {name: _higher(buckets.c[name], value) for name, value in gauges.items()}
        more = {name: buckets.c[name] + value for name, value in counts.items()}
        changed = await self._connection.execute(
            update(buckets).where(*own).values({**higher, **more})
        )
        if changed.rowcount == 0:
            await self._connection.execute(insert(buckets), {**key, **gauges, **counts})

    async def count(self, org_id: OrgId, sandbox_id: SandboxId, counts: DoorCounts) -> None:
        """See the port."""
        given = dict(zip(_COUNTS, astuple(counts), strict=True))
        more = {name: sandbox_usage.c[name] + value for name, value in given.items()}
        changed = await self._connection.execute(
            update(sandbox_usage).where(sandbox_usage.c.sandbox_id == sandbox_id).values(more)
        )
        if changed.rowcount == 0:
            row = {"sandbox_id": sandbox_id, "org_id": org_id, **given}
            await self._connection.execute(insert(sandbox_usage), row)

    async def counts(self, sandbox_id: SandboxId) -> DoorCounts:
        """See the port."""
        table = sandbox_usage.c
        cursor = await self._connection.execute(
            select(*(table[name] for name in _COUNTS)).where(table.sandbox_id == sandbox_id)
        )
        row = cursor.one_or_none()
        return DoorCounts() if row is None else DoorCounts(*row)

    async def consumers(
        self, org_id: OrgId, owner: PrincipalId, wanted: ConsumerFilter, *, limit: int
    ) -> list[ConsumerUsage]:
        """See the port."""
        table, counts = sandboxes.c, sandbox_usage.c
        names = [table[name] for name in CONSUMER]
        running = case((table.state.in_([state.value for state in RUNNING]), 1), else_=0)
        sums = [func.coalesce(func.sum(counts[name]), 0) for name in _COUNTS]
        given = {name: getattr(wanted, name) for name in CONSUMER}
        cursor = await self._connection.execute(
            select(*names, func.count(), func.sum(running), *sums)
            .select_from(sandboxes.outerjoin(sandbox_usage, counts.sandbox_id == table.id))
            .where(
                table.org_id == org_id,
                table.owner == owner,
                table.harness.is_not(None),
                *(table[name] == value for name, value in given.items() if value is not None),
            )
            .group_by(*names)
            .order_by(func.max(table.created_us).desc(), *names)
            .limit(limit)
        )
        return [
            ConsumerUsage(*row[:4], sandboxes=row[4], running=int(row[5]),
                          counts=DoorCounts(*map(int, row[6:])))
            for row in cursor
        ]  # fmt: skip

    async def buckets(self, org_id: OrgId, span: UsageRange) -> list[UsageBucket]:
        """See the port."""
        table = buckets.c
        cursor = await self._connection.execute(
            select(buckets)
            .where(
                table.org_id.in_((org_id, INSTALLATION)),
                table.width == int(span.stored.total_seconds()),
                table.at_us >= to_us(span.begin),
                table.at_us < to_us(span.end),
            )
            .order_by(table.at_us, table.org_id)
        )
        return [
            UsageBucket(
                OrgId(row.org_id),
                from_us(row.at_us),
                Gauges(*(row._mapping[name] for name in _GAUGES)),
                DoorCounts(*(row._mapping[name] for name in _COUNTS)),
            )
            for row in cursor
        ]

    async def standings(self) -> Mapping[OrgId, Gauges]:
        """See the port."""
        return await self._standings(true(), true())

    async def standing(self, org_id: OrgId) -> Gauges:
        """See the port."""
        gauges = await self._standings(sandboxes.c.org_id == org_id, sessions.c.org_id == org_id)
        return gauges.get(org_id, Gauges())

    async def _standings(
        self, of_boxes: ColumnElement[bool], of_sessions: ColumnElement[bool]
    ) -> Mapping[OrgId, Gauges]:
        """Return what there is now in the sandboxes and the sessions that the conditions take."""
        running = sandboxes.c.state.in_([state.value for state in RUNNING]) & of_boxes
        org = sandboxes.c.org_id
        boxes = await self._connection.execute(
            select(org, func.count()).where(running).group_by(org)
        )
        open_ones = await self._connection.execute(
            select(sessions.c.org_id, func.count())
            .where(of_sessions, IS_SESSION)
            .group_by(sessions.c.org_id)
        )
        bodies = await self._connection.execute(
            select(org, states.c.body)
            .join(sandboxes, states.c.stream == literal(SANDBOX_STREAMS).concat(sandboxes.c.id))
            .where(states.c.name == AGENTS.name, states.c.body.is_not(None), running)
        )
        agents: Counter[str] = Counter()
        working: Counter[str] = Counter()
        for org_id, body in bodies:
            statuses = [agent.status.status for agent in read_agents(body)]
            agents[org_id] += sum(status != "stopped" for status in statuses)
            working[org_id] += statuses.count("working")
        running_now, sessions_now = dict(map(tuple, boxes)), dict(map(tuple, open_ones))
        names = {*running_now, *sessions_now, *agents}
        return {
            OrgId(name): Gauges(
                running_now.get(name, 0), agents[name], working[name], sessions_now.get(name, 0)
            )
            for name in sorted(names)
        }

    async def drop(self, width: timedelta, before: datetime) -> None:
        """See the port."""
        table = buckets.c
        await self._connection.execute(
            delete(buckets).where(
                table.width == int(width.total_seconds()), table.at_us < to_us(before)
            )
        )


def _higher(column: Column[int], value: int) -> ColumnElement[int]:
    return case((column < value, value), else_=column)
