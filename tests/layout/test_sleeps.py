"""No test sleeps to wait for something: it waits for the thing.

Where a sleep of a tenth of a second or more is the point (nothing may happen for a time, a program
has a pace), a comment on its line or on the line above says why. Modules whose docstring says that
time is virtual sleep freely.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import ROOT

TESTS = sorted((ROOT / "tests").rglob("*.py"))
LEAST_SECONDS = 0.1
MIN_REASON = 12
SLEEPS = {"sleep": 1.0, "wait_for_timeout": 0.001}
"""The calls that sleep, and the seconds of what they count in."""
SHELL = re.compile(r"\bsleep (?:0?\.[1-9]\d*|[1-9])(?![\d.])")
"""A short sleep in a script; programs that stay sleep longer."""
POLLS = re.compile(r"\b(?:while|until)\b")


def _constants(tree: ast.Module) -> dict[str, float]:
    """Return the numbers that a module names; for what only the run knows, the least."""
    return {
        target.id: _seconds(node.value, {}) if isinstance(node.value, ast.Constant)
        else LEAST_SECONDS
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }  # fmt: skip


def _seconds(argument: ast.expr, named: dict[str, float]) -> float:
    """Return how long a call sleeps; the least that needs a reason where only the run knows."""
    match argument:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            return named.get(name, 0.0)  # imported: where it is defined it is short
        case ast.BinOp():
            return LEAST_SECONDS
        case _:
            return 0.0  # a parameter: its caller says why


def _sleeps(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Yield the first and last lines of sleeps."""
    named = _constants(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            unit = SLEEPS.get(node.func.attr, 0.0)
            long = _seconds(node.args[0], named) * unit >= LEAST_SECONDS
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            long = bool(SHELL.search(node.value)) and not POLLS.search(node.value)
        else:
            continue
        if long:
            yield node.lineno, node.end_lineno or node.lineno


def unexplained(text: str) -> list[int]:
    """Return the lines of sleeps without a reason beside them."""
    if not any(word in text for word in SLEEPS):
        return []
    tree, lines = ast.parse(text), text.splitlines()
    if "virtual" in (ast.get_docstring(tree) or ""):
        return []

    def explained(first: int, last: int) -> bool:
        above = lines[first - 2].strip() if first > 1 else ""
        beside = [line.partition("  # ")[2] for line in lines[first - 1 : last]]
        reasons = [*beside, above[1:] if above.startswith("#") else ""]
        return any(len(reason.split("noqa")[0].strip()) >= MIN_REASON for reason in reasons)

    return [first for first, last in _sleeps(tree) if not explained(first, last)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("await asyncio.sleep(0.1)", [1]),
        ("await asyncio.sleep(0.05)", []),
        ("LONG = 3\ntime.sleep(LONG)", [2]),
        ("LONG = float(os.environ['LONG'])\ntime.sleep(LONG)", [2]),
        ("time.sleep(PACE.interval * 2)", [1]),
        ("await page.wait_for_timeout(200)", [1]),
        ("await page.wait_for_timeout(50)", []),
        ("await asyncio.sleep(1)  # nothing may come for a time", []),
        ("# Nothing may come for a time.\nawait asyncio.sleep(1)", []),
        ("await asyncio.sleep(1)  # noqa: X", [1]),
        ('"""Time is virtual."""\nawait asyncio.sleep(60)', []),
        ('run("sh", "-c", "sleep 0.5; echo late")', [1]),
        ('run("sh", "-c", "until [ -e go ]; do sleep 0.1; done")', []),
        ('run("sleep 100")', []),
    ],
)
def test_sleep_is_found_unless_its_reason_stands_beside_it(text: str, found: list[int]) -> None:
    assert unexplained(text) == found


def test_no_sleep_of_the_tests_is_without_a_reason() -> None:
    this = Path(__file__)
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in TESTS
        if path != this
        for line in unexplained(path.read_text(encoding="utf-8"))
    }
    assert found == set()
