from atoll.domain.event_kind import KINDS
from tests.places import ROOT

PAGE = ROOT / "docs" / "program" / "events.md"


def test_every_kind_stands_in_the_table_as_it_is() -> None:
    told = {}
    for line in PAGE.read_text().splitlines():
        if line.startswith("| `"):
            name, version, always, perhaps, text = (
                cell.strip() for cell in line.strip("|").split("|")
            )
            told[name.strip("`")] = (int(version), _words(always), _words(perhaps), text)
    assert told == {
        name: (
            kind.version,
            kind.fields,
            frozenset({"any"}) if kind.optional == {"*"} else kind.optional,
            kind.text,
        )
        for name, kind in KINDS.items()
    }


def _words(cell: str) -> frozenset[str]:
    return frozenset(cell.replace("`", "").split())
