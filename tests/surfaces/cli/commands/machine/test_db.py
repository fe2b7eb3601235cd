import io
import json
import os
import pty
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atoll.domain.errors import Unavailable
from atoll.surfaces.cli.console.bar import Measure, draw_bar
from atoll.surfaces.cli.console.exits import CONFLICT, NOT_FOUND
from atoll.testing import FakeDatabase, FakeHost
from tests.surfaces.cli.conftest import Cli

ROWS = {"events": ["one", "two"], "shares": ["three"]}


@pytest.fixture
def machine(tmp_path: Path) -> FakeHost:
    return FakeHost(tmp_path, rows=FakeDatabase(ROWS))


@pytest.fixture
def db(
    cli: Cli, machine: FakeHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)
    return lambda *words: cli("db", *words, host=lambda: machine)


def test_status_shows_place_schema_and_tables(db: Callable[..., Any], machine: FakeHost) -> None:
    shown = db("status", "--home", "/srv/atoll").out.split("\n")
    assert shown[0] == "database  sqlite at memory"
    assert shown[1] == "schema    0007 (up to date)"
    assert shown[3].split() == ["TABLE", "ROWS", "SIZE"]
    assert shown[4].split() == ["events", "2", "-"]
    assert machine.homes == [Path("/srv/atoll")]
    found = json.loads(db("status", "--json").out)
    assert found["tables"][1] == {"name": "shares", "rows": 1, "bytes": None}
    machine.rows.rows = None
    assert "none yet" in db("status").out


def test_rebuild_derives_what_is_named_and_status_shows_the_lag(
    db: Callable[..., Any], machine: FakeHost
) -> None:
    assert db("rebuild").out == "agents is derived up to position 1\n"
    lag = {"name": "agents", "position": 1, "lag": 0}
    assert json.loads(db("rebuild", "agents", "--json").out) == {"projections": [lag]}
    assert "PROJECTION" in db("status").out
    assert json.loads(db("status", "--json").out)["projections"] == [lag]
    assert db("rebuild", "nothing").code == NOT_FOUND


def test_migrate_says_what_it_did(db: Callable[..., Any], machine: FakeHost) -> None:
    assert db("migrate").out == "schema 0007 is up to date\n"
    machine.rows.rows = None
    assert db("migrate").out == "made schema 0007\n"
    assert json.loads(db("migrate", "--json").out) == {"before": "0007", "after": "0007"}


def test_export_is_its_owners_alone_and_replaces_nothing(
    db: Callable[..., Any], machine: FakeHost, tmp_path: Path
) -> None:
    assert db("export", "-o", "a.gz").out == "exported 3 rows of 2 tables to a.gz\n"
    assert stat.S_IMODE((tmp_path / "a.gz").stat().st_mode) == 0o600
    before = (tmp_path / "a.gz").read_bytes()
    again = db("export", "-o", "a.gz")
    assert again.code == CONFLICT and "a.gz is there already" in again.err
    assert (tmp_path / "a.gz").read_bytes() == before
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    assert db("export", "-o", "link").code == CONFLICT
    assert not (tmp_path / "elsewhere").exists()
    found = json.loads(db("export", "-o", "b.gz", "--json").out)
    assert [one["rows"] for one in found["tables"]] == [2, 1]


def test_import_reads_what_export_wrote(db: Callable[..., Any], machine: FakeHost) -> None:
    db("export")
    machine.rows.rows = None
    assert db("import", "atoll-db.gz").out == (
        "imported 3 rows of 2 tables; counts and checksums are those of the file\n"
    )
    assert machine.rows.rows == ROWS
    full = db("import", "atoll-db.gz")
    assert full.code != 0 and "not empty" in full.err
    assert "cannot be read" in db("import", "absent.gz").err


def test_streams_carry_the_archive_and_words_go_to_stderr(
    db: Callable[..., Any], machine: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = db("export", "-o", "-", "--json")
    assert ran.err == "exported 3 rows of 2 tables to stdout\n"
    machine.rows.rows = None
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ran.raw)))
    assert json.loads(db("import", "-", "--json").out)["tables"][0]["rows"] == 2
    assert machine.rows.rows == ROWS


def test_archive_is_not_written_to_a_terminal(
    db: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        assert "no text" in db("export", "-o", "-").err
    os.close(leader)


def test_failed_export_leaves_no_file(
    db: Callable[..., Any], machine: FakeHost, tmp_path: Path
) -> None:
    machine.rows.failure = Unavailable("The database is away.")
    assert "the database is away" in db("export", "-o", "a.gz").err
    assert list(tmp_path.iterdir()) == []


def test_bar_is_drawn_on_a_terminal_alone(
    db: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "%" not in db("export", "-o", "a.gz").err
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        db("export", "-o", "b.gz")
        assert b"3 of 3 rows" in os.read(leader, 4096)
    os.close(leader)


def test_bar_counts_rows() -> None:
    assert draw_bar(50, 200, Measure(1, "rows")).endswith(" 25%  50 of 200 rows")
