"""The page's style sheets: five sizes and three weights by their names in `design/tokens.css`, and
no sheet of one view that changes another view."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import ROOT

PAGE = ROOT / "ui" / "src"
FACES = PAGE / "styles" / "fonts.css"
"""Says which weights the files of the fonts have."""
SIZES = {"text-small", "text", "text-large", "text-title", "text-display", "text-code"}
WEIGHTS = {"regular", "medium", "strong"}
SHELL = PAGE / "main.tsx"
"""Imports the sheets of every view; the others are fetched with the views that import them."""
IMPORT = re.compile(r"import '\./([\w/-]+\.css)'")
ALONE = re.compile(r"(?!(?:from|to)$)\.?[a-z][\w-]*(?::[\w-]+)?")
"""A selector of one class or of one element."""
DECLARATION = re.compile(r"^\s*(font|font-size|font-weight): ([^;]+);", re.MULTILINE)
SIZE = rf"var\(--(?:{'|'.join(sorted(SIZES))})\)"
WEIGHT = rf"var\(--(?:{'|'.join(sorted(WEIGHTS))})\)"
ALLOWED = {
    "font-size": re.compile(rf"{SIZE}|inherit"),
    "font-weight": re.compile(rf"{WEIGHT}|inherit"),
    "font": re.compile(rf"inherit|(?:{WEIGHT} )?{SIZE}\s*(?:/\s*[\d.]+(?:px)?)?\s+var\(--\w+\)"),
}


def _strays(text: str) -> Iterator[str]:
    for name, value in DECLARATION.findall(text):
        if not ALLOWED[name].fullmatch(" ".join(value.split())):
            yield f"{name}: {value}"


def test_page_has_no_size_or_weight_off_the_scale() -> None:
    strays = {
        str(path.relative_to(PAGE)): found
        for path in sorted(PAGE.rglob("*.css"))
        if path != FACES and (found := list(_strays(path.read_text())))
    }
    assert strays == {}, "use the names of design/tokens.css: --text-small, --strong, …"


@pytest.mark.parametrize("stray", ["font-size: 13px;", "font: 600 12px/1 var(--mono);"])
def test_check_of_type_finds_a_stray(stray: str) -> None:
    assert list(_strays(f".card {{\n  {stray}\n}}")) == [stray.rstrip(";")]


def _alone(path: Path) -> set[str]:
    """The classes and elements whose look a sheet changes wherever they are."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    heads = re.findall(r"([^{}]+)\{", text)
    selectors = {one.strip() for head in heads for one in head.split(",")}
    return {one for one in selectors if ALONE.fullmatch(one)}


def test_sheet_of_a_view_changes_no_part_of_another_sheet() -> None:
    everywhere = {PAGE / name for name in IMPORT.findall(SHELL.read_text())}
    sheets = [path for path in sorted(PAGE.rglob("*.css")) if path.parent.name != "frame"]
    owners = defaultdict(set)
    for path in sheets:
        for name in _alone(path):
            owners[name].add(path)
    leaks = {
        name: sorted(one.name for one in paths)
        for name, paths in owners.items()
        if len(paths) > 1 and not paths <= everywhere
    }
    assert leaks == {}
