"""Tables and rows of sandboxes."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnExpressionArgument,
    Index,
    PrimaryKeyConstraint,
    RowMapping,
    Select,
    Table,
    Text,
    and_,
    case,
    delete,
    insert,
    or_,
    select,
    text,
    tuple_,
    union_all,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import from_us, metadata, read_page, to_us
from atoll.adapters.storage.people.organizations import members
from atoll.domain.errors import Conflict
from atoll.domain.hosts.host import LOCAL
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.sandboxes.create import agent_key
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Holding, IdempotencyRecord, SandboxQuery
from atoll.ports.store.sandboxes import IdempotencyRows, SandboxRows
from atoll.wire.words.sandboxes import Scope, State

GONE = ("destroying", "destroyed")
"""The states whose name is free again and that count against no limit."""

CONSUMER = ("harness", "session_id", "run_id", "job_id")
"""The columns of a sandbox's consumer, by the names of its fields."""

_LIVING = text("state <> 'destroyed'")
_SHARED = text("scope = 'shared'")
"""Conditions of partial indexes. Queries spell them with the same constants, as a database cannot
tell that a parameter fits."""

sandboxes = Table(
    "sandboxes",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("agent_key", Text),
    Column("created_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Column("host", Text, nullable=False, server_default=LOCAL),
    Column("archived_us", BigInteger),
    *(Column(name, Text) for name in CONSUMER),
    Index("sandboxes_by_age", "org_id", "owner", "created_us", "id"),
    Index("sandboxes_by_state", "state"),
    Index("sandboxes_by_host", "host", "state"),
    Index(
        "sandboxes_living_by_age",
        *("org_id", "owner", "created_us", "id"),
        sqlite_where=_LIVING,
        postgresql_where=_LIVING,
    ),
    Index(
        "sandboxes_shared_by_age",
        *("org_id", "created_us", "id"),
        sqlite_where=_SHARED,
        postgresql_where=_SHARED,
    ),
    Index(
        "sandboxes_by_harness",
        *("org_id", "owner", "harness", "created_us", "id"),
        sqlite_where=text("harness IS NOT NULL"),
        postgresql_where=text("harness IS NOT NULL"),
    ),
    Index(
        "sandboxes_living_name",
        "org_id",
        "owner",
        "name",
        unique=True,
        sqlite_where=text("state NOT IN ('destroying', 'destroyed')"),
        postgresql_where=text("state NOT IN ('destroying', 'destroyed')"),
    ),
)

_decoder = msgspec.json.Decoder(Sandbox)
_encoder = msgspec.json.Encoder()


class SqlSandboxRows(SandboxRows):
    """The `ports.store.sandboxes.SandboxRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def insert(self, sandbox: Sandbox) -> None:
        """See the port."""
        row = _columns(sandbox) | {
            "id": sandbox.id,
            "org_id": sandbox.org_id,
            "created_us": to_us(sandbox.created_at),
        }
        try:
            await self._connection.execute(insert(sandboxes), row)
        except IntegrityError as err:
            raise Conflict(
                f"You already have a sandbox named {sandbox.name!r}: choose another name, or "
                "destroy that one first.",
                code="name_taken",
                field="name",
            ) from err

    async def update(self, sandbox: Sandbox) -> None:
        """See the port."""
        try:
            await self._connection.execute(
                update(sandboxes).where(sandboxes.c.id == sandbox.id), _columns(sandbox)
            )
        except IntegrityError as err:
            raise Conflict(
                f"{sandbox.owner} has a sandbox named {sandbox.name!r} already.",
                code="name_taken",
                field="name",
            ) from err

    async def get(self, sandbox_id: SandboxId) -> Sandbox | None:
        """See the port."""
        cursor = await self._connection.execute(
            select(sandboxes.c.body).where(sandboxes.c.id == sandbox_id)
        )
        body = cursor.scalar_one_or_none()
        return None if body is None else _decoder.decode(body)

    async def named(self, org_id: OrgId, owner: PrincipalId, name: str) -> Sandbox | None:
        """See the port."""
        table = sandboxes.c
        cursor = await self._connection.execute(
            select(table.body)
            .where(
                table.org_id == org_id,
                table.name == name,
                table.state != State.DESTROYED.value,
                or_(table.owner == owner, table.scope == Scope.SHARED.value),
            )
            .order_by(
                case((table.state == State.DESTROYING.value, 1), else_=0),
                case((table.owner == owner, 0), else_=1),
                table.created_us.desc(),
            )
            .limit(1)
        )
        body = cursor.scalar_one_or_none()
        return None if body is None else _decoder.decode(body)

    async def held(self, org_id: OrgId, owner: PrincipalId) -> list[Holding]:
        """See the port."""
        table = sandboxes.c
        cursor = await self._connection.execute(
            select(table.id, table.name, table.state, table.agent_key).where(
                table.org_id == org_id, table.owner == owner, table.state.not_in(GONE)
            )
        )
        return [
            Holding(SandboxId(id_), name, State(state), key) for id_, name, state, key in cursor
        ]

    async def page(self, query: SandboxQuery) -> list[Sandbox]:
        """See the port."""
        cursor = await self._connection.execute(page_of(query))
        return _sandboxes(cursor.mappings().all())

    async def ownerless(self, org_id: OrgId, page: PageQuery) -> RowPage[Sandbox]:
        """See the port."""
        table = sandboxes.c
        present = select(members.c.owner).where(members.c.org_id == org_id)
        rows = select(table.body, table.created_us, table.id).where(
            table.org_id == org_id, _LIVING, table.owner.not_in(present)
        )
        return await read_page(
            self._connection, rows, page, decode=_decoder.decode, newest_first=False
        )

    async def unfinished(
        self, org_id: OrgId | None = None, owner: PrincipalId | None = None
    ) -> list[Sandbox]:
        """See the port."""
        cursor = await self._connection.execute(living_of(org_id, owner))
        return _sandboxes(cursor.mappings().all())


def living_of(org_id: OrgId | None, owner: PrincipalId | None) -> Select[str]:
    """Return the statement for sandboxes that are not destroyed. Those of an organization or owner
    are read along an index that has no others."""
    table = sandboxes.c
    wanted: list[ColumnExpressionArgument[bool]] = [_LIVING]
    if org_id is not None:
        wanted.append(table.org_id == org_id)
    if owner is not None:
        wanted.append(table.owner == owner)
    return select(table.body).where(*wanted).order_by(table.created_us, table.id)


def page_of(query: SandboxQuery) -> Select[str]:
    """Return the statement for a page. Each of its parts is read along an index and ends at the
    limit, however many rows there are."""
    own = _select_page(query, sandboxes.c.owner == query.owner)
    shared = _select_page(query, _SHARED, sandboxes.c.owner != query.owner)
    both = union_all(select(own.subquery()), select(shared.subquery())).subquery()
    newest = (both.c.created_us.desc(), both.c.id.desc())
    return select(both.c.body).order_by(*newest).limit(query.limit)


def _select_page(
    query: SandboxQuery, *which: ColumnExpressionArgument[bool]
) -> Select[int, str, str]:
    """Return the page of a query, of the rows that fit `which`."""
    table = sandboxes.c
    wanted = [table.org_id == query.org_id, *which]
    if State.DESTROYED not in query.states:
        wanted.append(_LIVING)
    if query.states:
        wanted.append(table.state.in_([state.value for state in query.states]))
    if query.archived is not None:
        archived = table.archived_us
        wanted.append(archived.is_not(None) if query.archived else archived.is_(None))
    for name in CONSUMER:
        if (value := getattr(query.consumers, name)) is not None:
            wanted.append(table[name] == value)
    if query.before is not None:
        at, last = query.before
        wanted.append(tuple_(table.created_us, table.id) < tuple_(to_us(at), last))
    return (
        select(table.created_us, table.id, table.body)
        .where(and_(*wanted))
        .order_by(table.created_us.desc(), table.id.desc())
        .limit(query.limit)
    )


def _columns(sandbox: Sandbox) -> dict[str, str | int | None]:
    belongs = sandbox.scope is Scope.AGENT
    return {
        "owner": sandbox.owner,
        "name": sandbox.name,
        "state": sandbox.state.value,
        "scope": sandbox.scope.value,
        "agent_key": agent_key(sandbox.profile.id, sandbox.consumer) if belongs else None,
        "host": sandbox.host,
        "archived_us": None if sandbox.archived_at is None else to_us(sandbox.archived_at),
        **{name: getattr(sandbox.consumer, name) for name in CONSUMER},
        "body": _encoder.encode(sandbox).decode(),
    }


def _sandboxes(rows: Sequence[RowMapping]) -> list[Sandbox]:
    return [_decoder.decode(row["body"]) for row in rows]


idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("sandbox_id", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("org_id", "owner", "key"),
    Index("idempotency_keys_by_age", "at_us"),
)


class SqlIdempotencyRows(IdempotencyRows):
    """The `ports.store.sandboxes.IdempotencyRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def get(self, org_id: OrgId, owner: PrincipalId, key: str) -> IdempotencyRecord | None:
        """See the port."""
        table = idempotency_keys.c
        cursor = await self._connection.execute(
            select(table.digest, table.sandbox_id, table.at_us).where(
                table.org_id == org_id, table.owner == owner, table.key == key
            )
        )
        row = cursor.one_or_none()
        return (
            None if row is None else IdempotencyRecord(row[0], SandboxId(row[1]), from_us(row[2]))
        )

    async def put(
        self, org_id: OrgId, owner: PrincipalId, *, key: str, record: IdempotencyRecord
    ) -> None:
        """See the port."""
        table = idempotency_keys.c
        await self._connection.execute(
            delete(idempotency_keys).where(
                table.org_id == org_id, table.owner == owner, table.key == key
            )
        )
        await self._connection.execute(
            insert(idempotency_keys),
            {
                "org_id": org_id,
                "owner": owner,
                "key": key,
                "digest": record.digest,
                "sandbox_id": record.sandbox_id,
                "at_us": to_us(record.at),
            },
        )

    async def forget(self, before: datetime) -> None:
        """See the port."""
        await self._connection.execute(
            delete(idempotency_keys).where(idempotency_keys.c.at_us < to_us(before))
        )
