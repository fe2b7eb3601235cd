"""`atoll db`: the database of a home: its size, its schema, and its rows as one file.

Works on the home's database directly, as the person who owns it: no server is needed.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from atoll.client.fields import Json
from atoll.domain.errors import Conflict, Failed, Invalid
from atoll.domain.size import spelled_size
from atoll.surfaces.cli.console.bar import Bar, Measure
from atoll.surfaces.cli.console.invocation import LOCAL, Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import home_option, json_option
from atoll.surfaces.cli.console.output import note, say, show_json, show_table
from atoll.surfaces.cli.dispatch.several import Several
from atoll.surfaces.cli.dispatch.verbs import Verbs

if TYPE_CHECKING:
    from atoll.ports.database import Database, DatabaseStatus, ProjectionLag, TableCopy

ROWS = Measure(1, "rows")
EVENTS = Measure(1, "events")

STREAM = "-"
"""The name of a file that is the command's own input or output."""


@click.group("db", cls=Verbs)
def command() -> None:
    """Look at the database, bring it up to date, and move it."""


@needs(LOCAL)
@command.command("status")
@home_option()
@json_option()
@pass_invocation
def status(invocation: Invocation, *, home: str | None, as_json: bool) -> None:
    """Show where the database is, its schema, and the rows and size of each table.

    May be run while Atoll runs.
    """
    report = _database(invocation, home).status()
    if as_json:
        show_json(_status_value(report))
        return
    say(f"database  {report.backend} at {report.place}")
    say(f"schema    {_schema(report)}")
    say(f"size      {spelled_size(report.bytes)}")
    rows = [(table.name, str(table.rows), _size(table.bytes)) for table in report.tables]
    if rows:
        show_table(("TABLE", "ROWS", "SIZE"), rows)
    lags = [(lag.name, str(lag.position), str(lag.lag)) for lag in report.projections]
    if lags:
        show_table(("PROJECTION", "POSITION", "LAG"), lags)


@needs(LOCAL)
@command.command("migrate")
@home_option()
@json_option()
@pass_invocation
def migrate(invocation: Invocation, *, home: str | None, as_json: bool) -> None:
    """Bring the schema up to date, as the next `atoll up` would."""
    done = _database(invocation, home).migrate()
    if as_json:
        show_json({"before": done.before, "after": done.after})
    elif done.before is None:
        say(f"made schema {done.after}")
    elif done.before == done.after:
        say(f"schema {done.after} is up to date")
    else:
        say(f"migrated schema {done.before} to {done.after}")


@needs(LOCAL)
@command.command("rebuild")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@home_option()
@json_option()
@pass_invocation
def rebuild(
    invocation: Invocation, names: tuple[str, ...], *, home: str | None, as_json: bool
) -> None:
    """Derive projections anew from the log: those that are named, or all."""
    database = _database(invocation, home)
    several = Several(invocation, len(names))
    with Bar("rebuild", EVENTS) as bar:
        if names:
            batches = several.each(names, lambda name: database.rebuild((name,), bar.headway))
            done = [lag for batch in batches for lag in batch]
        else:
            done = list(database.rebuild((), bar.headway))
    if as_json:
        show_json({"projections": _lags_value(done)})
    for projection in () if as_json else done:
        say(f"{projection.name} is derived up to position {projection.position}")
    several.end()


@needs(LOCAL)
@command.command("export")
@click.option(
    "--output", "-o", default="atoll-db.gz", metavar="FILE", help="The new file; - is stdout."
)
@home_option()
@json_option()
@pass_invocation
def export(invocation: Invocation, *, output: str, home: str | None, as_json: bool) -> None:
    """Write all rows to one new file, which only its owner may read.

    Secrets in it are encrypted: keep `master.key` of the home, too, but elsewhere.
    """
    with _open_output(output) as to, Bar("export", ROWS) as bar:
        copied = _database(invocation, home).export(to, bar.headway)
    if as_json and output != STREAM:
        show_json(_copies_value(copied))
        return
    tell = note if output == STREAM else say
    tell(f"exported {_row_totals(copied)} to {'stdout' if output == STREAM else output}")


@needs(LOCAL)
@command.command("import")
@click.argument("file", metavar="FILE")
@home_option()
@json_option()
@pass_invocation
def import_(invocation: Invocation, file: str, *, home: str | None, as_json: bool) -> None:
    """Read what `atoll db export` wrote into an empty database; - is stdin.

    Everything or nothing: rows are counted and compared with the file before they are kept.
    """
    with _open_input(file) as source, Bar("import", ROWS) as bar:
        copied = _database(invocation, home).load(source, bar.headway)
    if as_json:
        show_json(_copies_value(copied))
    else:
        say(f"imported {_row_totals(copied)}; counts and checksums are those of the file")


def _database(invocation: Invocation, home: str | None) -> "Database":
    place = (Path(home) if home else invocation.home).absolute()
    return invocation.host().database(place)


@contextmanager
def _open_output(output: str) -> Iterator[BinaryIO]:
    """Open a new file of its owner's alone, or stdout. A file that was not finished goes again."""
    if output == STREAM:
        if sys.stdout.isatty():
            raise Invalid("An archive is no text: name a file with -o, or redirect stdout.")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(output, flags, 0o600)
    except FileExistsError as err:
        raise Conflict(f"{output} is there already: name a new file with -o.") from err
    except OSError as err:
        raise Failed(f"{output} cannot be written: {err.strerror}") from err
    with os.fdopen(descriptor, "wb") as to:
        try:
            yield to
            to.flush()
            os.fsync(descriptor)
        except BaseException as err:
            with suppress(OSError):
                Path(output).unlink()
            if isinstance(err, OSError):
                raise Failed(f"{output} cannot be written: {err.strerror}") from err
            raise


@contextmanager
def _open_input(file: str) -> Iterator[BinaryIO]:
    if file == STREAM:
        yield sys.stdin.buffer
        return
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as err:
        raise Failed(f"{file} cannot be read: {err.strerror}") from err
    with os.fdopen(descriptor, "rb") as source:
        yield source


def _schema(report: "DatabaseStatus") -> str:
    if report.revision is None:
        return f"none yet (this program makes {report.newest})"
    if report.revision == report.newest:
        return f"{report.revision} (up to date)"
    return f"{report.revision} (this program knows {report.newest}: `atoll db migrate`)"


def _size(size: int | None) -> str:
    return "-" if size is None else spelled_size(size)


def _row_totals(copied: "Sequence[TableCopy]") -> str:
    return f"{sum(table.rows for table in copied)} rows of {len(copied)} tables"


def _status_value(report: "DatabaseStatus") -> dict[str, Json]:
    tables: list[Json] = [
        {"name": table.name, "rows": table.rows, "bytes": table.bytes} for table in report.tables
    ]
    return {
        "backend": report.backend,
        "place": report.place,
        "revision": report.revision,
        "newest": report.newest,
        "bytes": report.bytes,
        "tables": tables,
        "projections": _lags_value(report.projections),
    }


def _lags_value(lags: "Sequence[ProjectionLag]") -> list[Json]:
    return [{"name": lag.name, "position": lag.position, "lag": lag.lag} for lag in lags]


def _copies_value(copied: "Sequence[TableCopy]") -> dict[str, Json]:
    tables: list[Json] = [
        {"name": table.name, "rows": table.rows, "digest": table.digest} for table in copied
    ]
    return {"tables": tables}
