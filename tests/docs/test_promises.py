"""`docs/trust/security.md` against `attempts.toml`: each promise has an attempt that proves it, and
each attempt names a promise that stands there in these words."""

import re
import tomllib

import pytest

from tests.places import TESTS

ROWS = tomllib.loads((TESTS / "security" / "attempts.toml").read_text())
LIMITS, TRIED = "Limits", "What was tried"
DOCUMENT = (TESTS.parent / "docs" / "trust" / "security.md").read_text()


def section(title: str) -> str:
    found = re.search(rf"^## {title}$(.*?)(?=^## )", DOCUMENT, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def plain(text: str) -> str:
    """The words as somebody reads them: without bold marks, line ends and targets of links."""
    return re.sub(r"\s+", " ", re.sub(r"\]\([^)]*\)", "]", text).replace("**", ""))


def promises() -> dict[str, str]:
    """The text of each promise by its name, of all the limits, and of what is said of outcomes."""
    text = section("Promises")
    rows = [line.split("|", 2) for line in text.splitlines() if line.startswith("|")]
    named = {cells[1].strip(): plain(cells[2]) for cells in rows[2:]}
    for bullet in re.split(r"^- (?=\*\*)", text, flags=re.MULTILINE)[1:]:
        name = re.match(r"\*\*(.+?)\*\*", bullet)
        assert name, bullet[:60]
        named[name[1]] = plain(bullet)
    return {**named, LIMITS: plain(section("Limits")), TRIED: plain(section(TRIED))}


PROMISES = promises()
NUMBERED = sorted(ROWS, key=int)


@pytest.mark.parametrize("number", NUMBERED)
def test_row_names_a_promise_in_its_words(number: str) -> None:
    named = ROWS[number].get("promises", [])
    assert named, "name what of docs/trust/security.md it proves"
    for one in named:
        name, _colon, words = one.partition(": ")
        assert words and words in PROMISES[name], one


@pytest.mark.parametrize("name", sorted(PROMISES))
def test_promise_has_an_attempt_that_proves_it(name: str) -> None:
    named = [one for row in ROWS.values() for one in row.get("promises", [])]
    assert any(one.startswith(f"{name}: ") for one in named), name
