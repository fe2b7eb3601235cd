"""The modules of Atoll, each parsed once for all that is held about their shape."""

import ast
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest

from tests.places import ROOT

SOURCE = ROOT / "src" / "atoll"
MODULES = sorted(SOURCE.rglob("*.py"), key=lambda path: (path.parent, path.name))
PACKAGES = {folder: tuple(held) for folder, held in groupby(MODULES, lambda path: path.parent)}
"""Folders of modules, and what each holds itself."""


def name_of(path: Path) -> str:
    """The path of a module or folder below `atoll`."""
    return str(path.relative_to(SOURCE))


@cache
def tree_of(path: Path) -> ast.Module:
    """A module, parsed."""
    return ast.parse(path.read_text())


# By folder: of ten thousand tests each costs more than what it looks at.
each_package = pytest.mark.parametrize("modules", PACKAGES.values(), ids=map(name_of, PACKAGES))
"""Runs a test for each folder, with its modules."""
