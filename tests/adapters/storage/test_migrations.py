"""Rows and tables of the revisions from before the first release, as today's database has them."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from atoll.adapters.storage.engines.sqlite import sqlite_url
from atoll.adapters.storage.migrations import schema
from atoll.adapters.storage.store import Settings, open_store
from atoll.domain.sandboxes.reported import read_agents
from tests.adapters.storage.test_store_sqlite import structure

BEFORE_0021 = """
CREATE TABLE agent_statuses (sandbox_id TEXT, change INTEGER, body TEXT);
CREATE TABLE leases (name TEXT);
DROP TABLE projections;
DROP TABLE projection_states;
"""
LATER = {
    "0028": """
        DROP INDEX sandboxes_by_host;
        ALTER TABLE sandboxes DROP COLUMN host;
    """,
    "0032": """
        ALTER TABLE usage_buckets DROP COLUMN calls;
        ALTER TABLE usage_buckets DROP COLUMN tokens_cached;
        ALTER TABLE sandbox_usage DROP COLUMN calls;
        ALTER TABLE sandbox_usage DROP COLUMN tokens_cached;
        DROP INDEX worker_events_by_age;
        DROP TABLE worker_artifacts;
    """,
    "0039": "",
}
"""What turns a database of 0040 into one of an older revision."""
SUBSCRIPTIONS = "INSERT INTO webhooks SELECT value, 'o', 'p', '{}' FROM json_each(?)"


def old(path: Path, revision: str, script: str) -> sqlite3.Connection:
    """A database as the program of a revision left it."""
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        schema._migrate(connection, "0040")
    engine.dispose()
    link = sqlite3.connect(path, isolation_level=None)
    link.executescript(script)
    link.execute("UPDATE alembic_version SET version_num = ?", (revision,))
    return link


async def opened(path: Path) -> dict[str, list[object]]:
    async with open_store(Settings(sqlite_url(path))):
        pass
    return structure(path)


async def test_statuses_of_agents_become_the_first_snapshot(tmp_path: Path) -> None:
    body = '{"id":"%s","agent":"codex","mode":"tui","status":{"status":"done","since":"é"}}'
    with closing(old(tmp_path / "a.db", "0020", BEFORE_0021)) as link:
        for sandbox, change in (("sb_1", 2), ("sb_2", 1), ("sb_1", 1)):
            row = (sandbox, change, body % f"t_{change}")
            link.execute("INSERT INTO agent_statuses VALUES (?, ?, ?)", row)
        assert await opened(tmp_path / "a.db") == await opened(tmp_path / "new.db")
        assert link.execute("SELECT * FROM projections").fetchall() == [("agents", 0)]
        rows = link.execute(
            "SELECT stream, position, body, kept_position, kept_body FROM projection_states"
            " ORDER BY stream"
        ).fetchall()
    assert [row[0] for row in rows] == ["sandbox:sb_1", "sandbox:sb_2"]
    assert [one.id for one in read_agents(rows[0][2])] == ["t_1", "t_2"]
    assert all(row[1:3] == row[3:] and row[1] == 0 for row in rows)


@pytest.mark.parametrize("revision", LATER)
async def test_columns_and_indexes_that_came_later_are_added(revision: str, tmp_path: Path) -> None:
    with closing(old(tmp_path / "a.db", revision, LATER[revision])) as link:
        link.execute("INSERT INTO quotas VALUES ('o', 'p', '{}')")
        link.execute("INSERT INTO projections VALUES ('usage', 7)")
        assert await opened(tmp_path / "a.db") == await opened(tmp_path / "new.db")
        assert link.execute("SELECT * FROM quotas").fetchall() == [("o", "p", "{}")]
        assert ("usage", 7) in link.execute("SELECT * FROM projections").fetchall()


@pytest.mark.parametrize(("revision", "left"), [("0039", ["subx", "wh_1"]), ("0040", None)])
async def test_subscriptions_of_the_events_extension_go_and_webhooks_stay(
    revision: str, left: list[str] | None, tmp_path: Path
) -> None:
    names = ["sub_1", "subx", "wh_1"]
    with closing(old(tmp_path / "a.db", revision, "")) as link:
        link.execute(SUBSCRIPTIONS, (json.dumps(names),))
        await opened(tmp_path / "a.db")
        found = [name for (name,) in link.execute("SELECT id FROM webhooks ORDER BY id")]
    assert found == (left or names)


async def test_tables_of_another_program_are_not_taken_for_ours(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as link:
        link.execute("CREATE TABLE tokens (theirs TEXT)")
        with pytest.raises(Exception, match=re.escape("table tokens already exists")):
            await opened(tmp_path / "a.db")
        assert link.execute("SELECT name FROM sqlite_master").fetchall() == [("tokens",)]


async def test_snapshots_of_an_earlier_revision_have_the_size_that_they_say(tmp_path: Path) -> None:
    path = tmp_path / "atoll.db"
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        schema._migrate(connection, "0048")
    engine.dispose()
    columns = "id, org_id, owner, sandbox_id, name, scope, kind, state, created_us, body"
    rows = [("one", '{"size": 5000000000}'), ("two", '{"size": 7}'), ("three", "{}")]
    with closing(sqlite3.connect(path, isolation_level=None)) as link:
        for name, body in rows:
            link.execute(
                f"INSERT INTO snapshots ({columns}) "
                "VALUES (?, 'o', 'p', 's', 'n', 'session', 'own', 'ready', 1, ?)",
                (name, body),
            )
    await opened(path)
    with closing(sqlite3.connect(path)) as link:
        sizes = dict(link.execute("SELECT id, size FROM snapshots"))
    assert sizes == {"one": 5_000_000_000, "two": 7, "three": 0}
