"""The page's type: five sizes and three weights, by their names in `design/tokens.css`."""

import re
from collections.abc import Iterator

import pytest

from tests.places import ROOT

PAGE = ROOT / "ui" / "src"
FACES = PAGE / "styles" / "fonts.css"
"""Says which weights the files of the fonts have."""
SIZES = {"text-small", "text", "text-large", "text-title", "text-display", "text-code"}
WEIGHTS = {"regular", "medium", "strong"}
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
