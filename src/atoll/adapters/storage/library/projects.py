"""Tables and rows of people's decisions on project files."""

from sqlalchemy import BigInteger, Column, PrimaryKeyConstraint, Table, Text, select
from sqlalchemy.sql.elements import ColumnElement

from atoll.adapters.storage.columns import metadata, read_page, to_us
from atoll.adapters.storage.records import RecordTable, SqlRecords
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.repository.project import MAX_DECISIONS, DecidedProject
from atoll.ports.store.library.projects import ProjectRows

projects = Table(
    "projects",
    metadata,
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("repository", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("decided_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("org_id", "owner", "repository", "digest"),
)


class SqlProjectRows(SqlRecords[DecidedProject, OrgId, PrincipalId, str, str], ProjectRows):
    """The `ports.store.library.projects.ProjectRows` on one connection."""

    records = RecordTable(
        projects,
        DecidedProject,
        lambda decided: {
            "org_id": decided.org_id,
            "owner": decided.owner,
            "repository": decided.repository,
            "digest": decided.digest,
            "decided_us": to_us(decided.decided_at),
        },
        order=(projects.c.decided_us.desc(), projects.c.digest),
    )

    async def put(self, decided: DecidedProject) -> None:
        """See the port."""
        key = _repository_conditions(decided.org_id, decided.owner, decided.repository)
        decisions = await self.of(decided.org_id, decided.owner, decided.repository)
        others = [project.digest for project in decisions if project.digest != decided.digest]
        gone = [decided.digest, *others[MAX_DECISIONS - 1 :]]
        await self._delete(*key, projects.c.digest.in_(gone))
        await self.add(decided)

    async def of(self, org_id: OrgId, owner: PrincipalId, repository: str) -> list[DecidedProject]:
        """See the port."""
        return await self._all(*_repository_conditions(org_id, owner, repository))

    async def page(
        self, org_id: OrgId, owner: PrincipalId, page: PageQuery
    ) -> RowPage[DecidedProject]:
        """See the port."""
        table = projects.c
        which = table.digest + " " + table.repository
        rows = select(table.body, table.decided_us, which).where(
            table.org_id == org_id, table.owner == owner
        )
        return await read_page(self._connection, rows, page, decode=self.records.decode)

    async def forget(self, org_id: OrgId, owner: PrincipalId, repository: str) -> int:
        """See the port."""
        return await self._delete(*_repository_conditions(org_id, owner, repository))


def _repository_conditions(
    org_id: OrgId, owner: PrincipalId, repository: str
) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for the rows of an owner's repository."""
    table = projects.c
    return (table.org_id == org_id, table.owner == owner, table.repository == repository)
