from pathlib import Path

from atoll.domain.event_kind import KINDS
from atoll.domain.event_kinds.kind import EventKind
from atoll.domain.event_kinds.workers import WORKERS
from tests.places import ROOT

PROGRAM = ROOT / "docs" / "program"


def test_every_kind_stands_in_the_table_as_it_is() -> None:
    assert _told(PROGRAM / "events.md", "| `") == {name: _row(one) for name, one in KINDS.items()}


def test_kinds_of_workers_are_apart_and_stand_in_a_table_of_their_own() -> None:
    """Every frame names its worker once, outside of the payload."""
    told = _told(PROGRAM / "workers.md", "| `worker.")
    for name, kind in WORKERS:
        version, always, perhaps, text = _row(kind)
        assert told.pop(name) == (version, always - {"worker_id"}, perhaps, text)
        assert name not in KINDS
    assert told == {}


Row = tuple[int, frozenset[str], frozenset[str], str]


def _row(kind: EventKind) -> Row:
    perhaps = frozenset({"any"}) if kind.optional == {"*"} else kind.optional
    return kind.version, kind.fields, perhaps, kind.text


def _told(page: Path, begin: str) -> dict[str, Row]:
    told = {}
    for line in page.read_text().splitlines():
        if line.startswith(begin):
            name, version, always, perhaps, text = (
                cell.strip() for cell in line.strip("|").split("|")
            )
            told[name.strip("`")] = (int(version), _words(always), _words(perhaps), text)
    return told


def _words(cell: str) -> frozenset[str]:
    return frozenset(cell.replace("`", "").split())
