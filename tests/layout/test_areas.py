"""Areas: a feature has the folder of one name in every layer, or a module where one is enough. The
names are those of services."""

from pathlib import Path

from tests.layout.modules import SOURCE
from tests.places import ROOT

AREAS = frozenset(
    {
        *(one.parent.name for one in (SOURCE / "services").glob("*/__init__.py")),
        *("forges", "hooks", "secrets"),
    }
)
"""The folders of services, and its modules that are a whole area."""

LAYERS = (
    "domain",
    "wire/api",
    "ports",
    "ports/store",
    "adapters",
    "adapters/storage",
    "runtime",
    "surfaces/http",
    "surfaces/cli/commands",
    "client",
    "client/made",
    "client/aio/made",
    "testing",
    "testing/contracts",
)
"""Folders of `atoll` whose own folders are areas."""

HTTP = "surfaces/http"
"""The layer in which a module beside the folders is an area, too."""

FOLLOWERS = {
    HTTP: {
        "body": "reading and writing of bodies",
        "server": "what stands before every route",
        "serving": "declared operations, served",
        "site": "the page and the description of the API",
        "static": "the built page",
    },
    "surfaces/cli/commands": {"machine": "the installation on this machine, without a server"},
}
"""Layers in which each folder is an area, and those in them that are not, each with its reason."""

OTHERWISE = {
    "runtime/journal": "the one journal of a runtime; services collect those of all",
}
"""Folders that are named like an area in another number, each with its reason."""


def _folders(layer: str) -> list[str]:
    return sorted(one.name for one in (SOURCE / layer).iterdir() if _holds_code(one))


def _modules(layer: str) -> list[str]:
    return sorted(one.stem for one in (SOURCE / layer).glob("[a-z]*.py"))


def _holds_code(folder: Path) -> bool:
    return folder.is_dir() and any(folder.glob("*.py"))


def _other_number(name: str) -> str | None:
    """Return the area that a name is another number of."""
    forms = {area: {area, area.removesuffix("s"), area.removesuffix("es")} for area in AREAS}
    return next((area for area, names in forms.items() if name != area and name in names), None)


def test_area_has_the_same_number_in_every_layer() -> None:
    wrong = {
        f"{layer}/{name}": area
        for layer in LAYERS
        for name in (*_folders(layer), *(_modules(layer) if layer == HTTP else ()))
        if (area := _other_number(name)) and f"{layer}/{name}" not in OTHERWISE
    }
    assert not wrong, f"name the folder or module as services do: {wrong}"
    assert [one for one in OTHERWISE if not (SOURCE / one).is_dir()] == []


def test_surfaces_follow_services() -> None:
    strange = [
        f"{layer}/{name}"
        for layer, others in FOLLOWERS.items()
        for name in _folders(layer)
        if name not in AREAS and name not in others
    ]
    assert not strange, f"no area of services has this name: {strange}"


def test_tests_are_in_the_folders_of_what_they_test() -> None:
    wrong = [
        str(folder.relative_to(ROOT))
        for layer in LAYERS
        for folder in (ROOT / "tests" / layer).glob("*/__init__.py")
        if _other_number(folder.parent.name) and f"{layer}/{folder.parent.name}" not in OTHERWISE
    ]
    assert not wrong, f"name the folder as services do: {wrong}"
