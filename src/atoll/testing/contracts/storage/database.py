"""The contract of a Database. Subclass `DatabaseContract` and give it two fixtures: `filled`, a
database with some rows and an up-to-date schema, and `empty`, another one without tables."""

import gzip
import io

import pytest

from atoll.domain.errors import Conflict, Invalid, NotFound
from atoll.ports.database import Database


def archive_of(database: Database) -> bytes:
    """Return the archive of a database."""
    written = io.BytesIO()
    database.export(written)
    return written.getvalue()


class DatabaseContract:
    """An archive holds everything, and one that was changed is not read."""

    def test_status_of_an_empty_database_changes_nothing(self, empty: Database) -> None:
        for _ in range(2):
            status = empty.status()
            assert status.revision is None and status.newest
            assert status.tables == ()

    def test_migration_makes_the_schema_and_then_changes_nothing(self, empty: Database) -> None:
        made = empty.migrate()
        assert made.before is None and made.after == empty.status().newest
        again = empty.migrate()
        assert again.before == again.after == made.after == empty.status().revision

    def test_projections_are_derived_up_to_the_end_of_the_log(self, filled: Database) -> None:
        progress: list[tuple[int, int]] = []
        projection, *others = filled.rebuild(
            headway=lambda done, most: progress.append((done, most))
        )
        assert (projection.name, projection.lag) == ("agents", 0)
        assert [other.lag for other in others] == [0] * len(others)
        assert progress[-1] == (projection.position, projection.position)
        assert filled.rebuild(["agents"]) == (projection,)
        assert projection in filled.status().projections

    def test_projection_there_is_not_changes_nothing(self, filled: Database) -> None:
        before = filled.export(io.BytesIO())
        with pytest.raises(NotFound):
            filled.rebuild(["agents", "made up"])
        assert filled.export(io.BytesIO()) == before

    def test_database_without_a_schema_has_nothing_to_derive(self, empty: Database) -> None:
        with pytest.raises(Conflict, match="migrate"):
            empty.rebuild()

    def test_archive_brings_everything_into_an_empty_database(
        self, filled: Database, empty: Database
    ) -> None:
        progress: list[tuple[int, int]] = []
        written = io.BytesIO()
        copied = filled.export(written, lambda done, expected: progress.append((done, expected)))
        rows = {table.name: table.rows for table in filled.status().tables}
        assert {copy.name: copy.rows for copy in copied} == rows
        assert progress[-1] == (sum(rows.values()), sum(rows.values()))
        progress.clear()
        source = io.BytesIO(written.getvalue())
        loaded = empty.load(source, lambda done, expected: progress.append((done, expected)))
        assert loaded == copied
        assert progress[-1] == (sum(rows.values()), sum(rows.values()))
        assert {table.name: table.rows for table in empty.status().tables} == rows
        assert empty.export(io.BytesIO()) == copied

    def test_archive_is_read_into_a_schema_without_rows(
        self, filled: Database, empty: Database
    ) -> None:
        empty.migrate()
        copied = filled.export(io.BytesIO())
        assert empty.load(io.BytesIO(archive_of(filled))) == copied

    def test_database_with_rows_takes_no_archive(self, filled: Database) -> None:
        before = filled.export(io.BytesIO())
        with pytest.raises(Conflict, match="empty"):
            filled.load(io.BytesIO(archive_of(filled)))
        assert filled.export(io.BytesIO()) == before

    def test_database_without_a_schema_gives_no_archive(self, empty: Database) -> None:
        with pytest.raises(Conflict, match="migrate"):
            empty.export(io.BytesIO())

    @pytest.mark.parametrize("damage", ("cut", "changed", "dropped", "nothing", "other"))
    def test_damaged_archive_is_refused_and_changes_nothing(
        self, filled: Database, empty: Database, damage: str
    ) -> None:
        with pytest.raises(Invalid):
            empty.load(io.BytesIO(damage_archive(archive_of(filled), damage)))
        assert empty.status().tables == ()

    def test_archive_of_another_revision_is_refused(
        self, filled: Database, empty: Database
    ) -> None:
        newest = filled.status().newest.encode()
        text = gzip.decompress(archive_of(filled)).replace(newest, b"0" * len(newest), 1)
        with pytest.raises(Invalid, match="schema 0000"):
            empty.load(io.BytesIO(gzip.compress(text)))


def damage_archive(archive: bytes, how: str) -> bytes:
    """Return an archive that was cut, or in which a row was changed or dropped, or none."""
    lines = gzip.decompress(archive).splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if line.startswith(b"["))
    match how:
        case "cut":
            return archive[: len(archive) // 2]
        case "changed":
            lines[place] = lines[place].replace(b'"', b'"x', 1)
        case "dropped":
            del lines[place]
        case "nothing":
            return b""
        case _:
            return gzip.compress(b"something else\n")
    return gzip.compress(b"".join(lines))
