"""A noun as `docs/change/add-a-noun.md` says: its files of the package, and its lines in others."""

from typing import Final

FILES: Final = {
    "domain/people/lamp.py": '''"""A lamp that a person owns."""

from dataclasses import dataclass
from typing import NewType

from atoll.domain.ids import OrgId, PrincipalId

LampId = NewType("LampId", str)


@dataclass(frozen=True, slots=True)
class Lamp:
    """A lamp by its name."""

    id: LampId
    org_id: OrgId
    owner: PrincipalId
    name: str
''',
    "wire/api/people/lamps.py": '''"""Lamps that people own."""

from atoll.wire.api.fields import Word
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.people import MAX_LAMPS


class LampBody(Request):
    """A lamp by its name."""

    name: Word


class LampView(Answer):
    """A lamp."""

    lamp_id: str
    name: str


class LampList(Answer):
    """The caller's lamps."""

    lamps: list[LampView]


class Lamps(Area):
    """Lamps that people own."""

    tag = "lamps"
    needs = "me.manage"

    @operation("POST /v1/lamps", name="add_lamp", status=201)
    def add(self, body: LampBody) -> LampView:
        """Add a lamp."""

    @operation("GET /v1/lamps", name="list_lamps", max_items=MAX_LAMPS)
    def list(self) -> LampList:
        """Return the caller's lamps."""
''',
    "adapters/storage/people/lamps.py": '''"""The table of lamps."""

from sqlalchemy import Column, Table, Text

from atoll.adapters.storage.columns import metadata
from atoll.adapters.storage.records import RecordTable, SqlOwnedRecords
from atoll.domain.people.lamp import Lamp, LampId

lamps = Table(
    "lamps",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("body", Text, nullable=False),
)


class SqlLampRows(SqlOwnedRecords[Lamp, LampId]):
    """Lamps on one connection."""

    records = RecordTable(
        lamps, Lamp, lambda lamp: {"id": lamp.id, "org_id": lamp.org_id, "owner": lamp.owner}
    )
''',
    "adapters/storage/migrations/versions/r9999_lamps.py": '''"""The table of lamps."""

import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "{before}"


def upgrade() -> None:
    """Add the table."""
    names = ("org_id", "owner", "body")
    columns = (sa.Column(name, sa.Text, nullable=False) for name in names)
    op.create_table("lamps", sa.Column("id", sa.Text, primary_key=True), *columns)
''',
    "services/people/lamps.py": '''"""Lamps: people add and list them."""

from atoll.domain.errors import LimitReached
from atoll.domain.people.lamp import Lamp, LampId
from atoll.domain.people.principal import Principal
from atoll.services.ground import Ground
from atoll.wire.words.people import MAX_LAMPS


class Lamps:
    """The lamps of the caller."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def add(self, caller: Principal, name: str) -> Lamp:
        """Add a lamp. Raises `LimitReached`."""
        lamp = Lamp(LampId(self._ground.ids.new("lamp")), caller.org_id, caller.id, name)
        async with self._ground.store.begin() as rows:
            if len(await rows.lamps.of(caller.org_id, caller.id)) >= MAX_LAMPS:
                raise LimitReached(f"You have {MAX_LAMPS} lamps already.")
            await rows.lamps.put(lamp)
        return lamp

    async def list(self, caller: Principal) -> list[Lamp]:
        """Return the caller's lamps."""
        async with self._ground.store.read() as rows:
            return await rows.lamps.of(caller.org_id, caller.id)
''',
    "surfaces/http/people/lamps.py": '''"""Routes of lamps."""

from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.people import lamps as api
from atoll.wire.api.people.lamps import Lamps

operations = Operations()


@operations.serves(Lamps.add)
async def add_lamp(context: RequestContext, body: api.LampBody) -> api.LampView:
    lamp = await context.atoll.lamps.add(context.caller, body.name)
    return answer_of(api.LampView, lamp, lamp_id=lamp.id)


@operations.serves(Lamps.list)
async def list_lamps(context: RequestContext) -> api.LampList:
    lamps = await context.atoll.lamps.list(context.caller)
    return api.LampList(lamps=[answer_of(api.LampView, one, lamp_id=one.id) for one in lamps])
''',
    "surfaces/cli/commands/people/lamp.py": '''"""`atoll lamp`: the lamps of a person."""

import click

from atoll.client.made.people.lamps import Lamps
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.output import say
from atoll.surfaces.cli.dispatch.verbs import Verbs


@click.group("lamp", cls=Verbs)
def command() -> None:
    """Add and list your lamps."""


@needs("me.manage")
@command.command("add")
@click.argument("name")
@pass_invocation
def add(invocation: Invocation, name: str) -> None:
    """Add a lamp."""
    say(Lamps(invocation.api().transport).add({"name": name}).lamp_id)


@needs("me.manage")
@command.command("list")
@pass_invocation
def list_(invocation: Invocation) -> None:
    """List your lamps."""
    for lamp in Lamps(invocation.api().transport).list().lamps:
        say(lamp.name)
''',
}
"""The text of each file, by its path below the package. The view, which no test adds, is the
eighth."""

LINES: Final = (
    (
        "ports/store/store.py",
        "from typing import Protocol\n",
        "from atoll.domain.people.lamp import Lamp, LampId",
    ),
    (
        "ports/store/store.py",
        '    """Share links and guests."""\n',
        "    lamps: OwnedRecords[Lamp, LampId]",
    ),
    (
        "adapters/storage/transaction.py",
        "from sqlalchemy.ext.asyncio import AsyncConnection\n",
        "from atoll.adapters.storage.people.lamps import SqlLampRows",
    ),
    (
        "adapters/storage/transaction.py",
        "        shares=SqlShareRows(connection),\n",
        "        lamps=SqlLampRows(connection),",
    ),
    (
        "services/application.py",
        "from atoll.services.people.shares import Shares\n",
        "from atoll.services.people.lamps import Lamps",
    ),
    ("services/application.py", "    shares: Shares\n", "    lamps: Lamps"),
    (
        "wiring/control/graph.py",
        "from atoll.services.people.shares import Shares\n",
        "from atoll.services.people.lamps import Lamps",
    ),
    (
        "wiring/control/graph.py",
        "        hooks=Hooks(ground, ports.vault, access.owners, access.logins),\n",
        "        lamps=Lamps(ground),",
    ),
    ("wire/words/people.py", "MAX_SUBSCRIPTIONS = 20\n", "MAX_LAMPS = 20"),
)
"""Each line in another file, behind a text of it: four lines, the import of each, and a bound."""

MADE: Final = {
    "client/made/people/lamps.py",
    "client/aio/made/people/lamps.py",
    "client/aio/made/client.py",
}
"""The files that `scripts/client` writes of the noun."""

USE: Final = """
import asyncio
import sys

sys.path.append("{root}")

from atoll.adapters.storage.migrations.schema import HEAD
from tests.surfaces.http.world import client_of, world


async def main():
    async with world() as atoll, client_of(atoll.url, atoll.token) as client:
        made = (await client.post("/v1/lamps", json={"name": "hall"})).json()
        listed = (await client.get("/v1/lamps")).json()
    print(HEAD, made["lamp_id"][:5], [one["name"] for one in listed["lamps"]])


asyncio.run(main())
"""
"""A program that adds a lamp over HTTP and lists it."""
