"""Tables and rows of meters."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Index,
    Integer,
    Row,
    Table,
    Text,
    delete,
    func,
    or_,
    select,
    tuple_,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import from_us, metadata, storable, to_us
from atoll.adapters.storage.records import RecordTable, SqlRecords
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.meters.cost import MeterTotal
from atoll.domain.meters.derivation import is_open
from atoll.domain.meters.hosts import HostState, holds_room
from atoll.domain.meters.meter import Charge, Meter, MeterFilter, MeterId, Subject
from atoll.domain.meters.state import MeterState
from atoll.domain.paging import PageQuery, RowPage, cut_page
from atoll.ports.store.overview.meters import MeterHostRows, MeterRows, MeterStateRows
from atoll.wire.words.meters import Basis, MeterKind, Source

meters = Table(
    "meters",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("sandbox_id", Text),
    Column("generation", Integer, nullable=False),
    *(
        Column(name, Text, nullable=False)
        for name in ("agent", "consumer", "extension", "host", "region", "kind", "basis", "source")
    ),
    Column("quantity", BigInteger, nullable=False),
    Column("begin_us", BigInteger, nullable=False),
    Column("end_us", BigInteger, nullable=False),
    Column("price_id", Text),
    Column("cost_micros", BigInteger),
    Column("currency", Text),
    Index("meters_by_organization", "org_id", "begin_us", "id"),
    Index("meters_by_owner", "org_id", "owner", "begin_us", "id"),
    Index("meters_by_sandbox", "sandbox_id", "begin_us", "id"),
    Index("meters_by_age", "end_us", "id"),
)

meter_states = Table(
    "meter_states",
    metadata,
    Column("sandbox_id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("moment_us", BigInteger, nullable=False),
    Column("is_open", Integer, nullable=False),
    Column("is_over", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Index("meter_states_by_host", "host"),
    Index("meter_states_by_age", "is_over", "moment_us"),
)
"""`host` is that on which room is reserved, else empty."""

meter_hosts = Table(
    "meter_hosts",
    metadata,
    Column("name", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("body", Text, nullable=False),
)

_INSERTS = {
    "sqlite": sqlite.insert(meters).on_conflict_do_nothing(index_elements=["id"]),
    "postgresql": postgresql.insert(meters).on_conflict_do_nothing(index_elements=["id"]),
}


class SqlMeterRows(MeterRows):
    """The `ports.store.overview.meters.MeterRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, added: Iterable[Meter]) -> None:
        """See the port."""
        rows = [_row(meter) for meter in added]
        if rows:
            await self._connection.execute(_INSERTS[self._connection.dialect.name], rows)

    async def page(self, wanted: MeterFilter, page: PageQuery) -> RowPage[Meter]:
        """See the port."""
        table = meters.c
        query = select(meters).where(*_conditions(wanted))
        if page.after is not None:
            place = tuple_(to_us(page.after[0]), page.after[1])
            query = query.where(tuple_(table.begin_us, table.id) < place)
        query = query.order_by(table.begin_us.desc(), table.id.desc()).limit(page.limit + 1)
        rows = (await self._connection.execute(query)).all()
        cut = cut_page([_meter(row) for row in rows], page.limit, lambda m: (m.begin, m.id))
        return RowPage(cut.rows, cut.following)

    async def totals(self, wanted: MeterFilter) -> list[MeterTotal]:
        """See the port."""
        table = meters.c
        groups = (table.kind, table.agent, table.currency)
        cursor = await self._connection.execute(
            select(*groups, func.sum(table.quantity), func.sum(table.cost_micros))
            .where(*_conditions(wanted))
            .group_by(*groups)
        )
        # The sums of PostgreSQL are Decimals.
        return [
            MeterTotal(
                MeterKind(kind),
                agent,
                int(quantity),
                None if currency is None else int(micros),
                currency,
            )
            for kind, agent, currency, quantity, micros in cursor
        ]

    async def drop(self, before: datetime, limit: int) -> int:
        """See the port."""
        table = meters.c
        old = (
            select(table.id)
            .where(table.end_us < to_us(before))
            .order_by(table.end_us, table.id)
            .limit(limit)
        )
        done = await self._connection.execute(delete(meters).where(table.id.in_(old)))
        return done.rowcount


class SqlMeterStateRows(SqlRecords[MeterState, SandboxId], MeterStateRows):
    """The `ports.store.overview.meters.MeterStateRows` on one connection."""

    records = RecordTable(
        meter_states,
        MeterState,
        lambda state: {
            "sandbox_id": state.subject.sandbox_id,
            "org_id": state.subject.org_id,
            "owner": state.subject.owner,
            "host": state.subject.host if holds_room(state) else "",
            "moment_us": to_us(state.moment),
            "is_open": int(is_open(state)),
            "is_over": int(state.over),
        },
        order=(meter_states.c.sandbox_id,),
    )

    async def of(self, sandboxes: Iterable[SandboxId]) -> Mapping[SandboxId, MeterState]:
        """See the port."""
        states = await self._all(meter_states.c.sandbox_id.in_([*sandboxes]))
        return {
            state.subject.sandbox_id: state
            for state in states
            if state.subject.sandbox_id is not None
        }

    async def open(self) -> list[MeterState]:
        """See the port."""
        return await self._all(meter_states.c.is_open == 1)

    async def on_host(self, host: str) -> list[MeterState]:
        """See the port."""
        return await self._all(meter_states.c.host == host)

    async def drop(self, before: datetime) -> None:
        """See the port."""
        table = meter_states.c
        await self._delete(table.is_over == 1, table.moment_us < to_us(before))


class SqlMeterHostRows(SqlRecords[HostState, str], MeterHostRows):
    """The `ports.store.overview.meters.MeterHostRows` on one connection."""

    records = RecordTable(
        meter_hosts,
        HostState,
        lambda host: {"name": host.name, "org_id": host.idle.subject.org_id},
        order=(meter_hosts.c.name,),
    )

    async def everything(self) -> list[HostState]:
        """See the port."""
        return await self._all()


def _conditions(wanted: MeterFilter) -> list[ColumnElement[bool]]:
    table = meters.c
    equal: tuple[tuple[ColumnElement[Any], object], ...] = (
        (table.owner, wanted.owner),
        (table.sandbox_id, wanted.sandbox_id),
        (table.kind, wanted.kind),
        (table.agent, wanted.agent),
    )
    conditions = [table.org_id == wanted.org_id]
    conditions += [column == value for column, value in equal if value is not None]
    if wanted.consumer is not None:
        within = f"{wanted.consumer}/"
        begins = func.substr(table.consumer, 1, len(within)) == within
        conditions.append(or_(table.consumer == wanted.consumer, begins))
    if wanted.begin is not None:
        conditions.append(table.begin_us >= to_us(wanted.begin))
    if wanted.end is not None:
        conditions.append(table.begin_us < to_us(wanted.end))
    return conditions


def _row(meter: Meter) -> dict[str, object]:
    subject, charge = meter.subject, meter.charge
    return {
        "id": meter.id,
        "org_id": subject.org_id,
        "owner": subject.owner,
        "sandbox_id": subject.sandbox_id,
        "generation": subject.generation,
        "agent": storable(subject.agent),
        "consumer": storable(subject.consumer),
        "extension": subject.extension,
        "host": subject.host,
        "region": subject.region,
        "kind": meter.kind.value,
        "basis": meter.basis.value,
        "source": meter.source.value,
        "quantity": meter.quantity,
        "begin_us": to_us(meter.begin),
        "end_us": to_us(meter.end),
        "price_id": None if charge is None else storable(charge.price_id),
        "cost_micros": None if charge is None else charge.micros,
        "currency": None if charge is None else charge.currency,
    }


def _meter(row: Row[Any]) -> Meter:
    subject = Subject(
        None if row.sandbox_id is None else SandboxId(row.sandbox_id),
        OrgId(row.org_id),
        PrincipalId(row.owner),
        row.generation,
        *(row.agent, row.consumer, row.extension, row.host, row.region),
    )
    charge = None
    if row.price_id is not None:
        charge = Charge(row.price_id, row.cost_micros, row.currency)
    return Meter(
        MeterId(row.id),
        subject,
        MeterKind(row.kind),
        row.quantity,
        from_us(row.begin_us),
        from_us(row.end_us),
        charge,
        Source(row.source),
        Basis(row.basis),
    )
