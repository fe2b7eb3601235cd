"""Each port has a contract suite, which an author imports as the docs say."""

import ast
from pathlib import Path

import pytest

import atoll.testing
from tests.places import ROOT

SOURCE = ROOT / "src" / "atoll"
NO_PORTS = {"runtime_boot"}
"""Modules of `ports` that hold data alone."""


def names_in(folder: Path) -> set[str]:
    found = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    return {name for name in found if not name.startswith("_")} - NO_PORTS


def test_each_port_has_a_suite() -> None:
    assert names_in(SOURCE / "ports") <= names_in(SOURCE / "testing" / "contracts")


@pytest.mark.parametrize("path", sorted((SOURCE / "testing" / "contracts").glob("[!_]*.py")))
def test_suite_is_imported_from_the_package(path: Path) -> None:
    classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    suites = [one.name for one in classes if one.name.endswith("Contract")]
    assert suites
    for name in suites:
        assert getattr(atoll.testing, name).__name__ == name
        assert name in atoll.testing.__all__


@pytest.mark.parametrize("name", ["Nothing"])
def test_package_has_no_other_names(name: str) -> None:
    with pytest.raises(AttributeError):
        getattr(atoll.testing, name)
