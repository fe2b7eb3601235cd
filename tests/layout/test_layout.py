"""The shape of the code: small files, one noun each, docstrings that open with what a file is."""

import ast
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT

SOURCE = ROOT / "src" / "atoll"
MODULES = sorted(SOURCE.rglob("*.py"))
MAX_LINES = 500
MAX_MEDIAN_LINES = 160
MAX_FUNCTION_LINES = 40
MAX_PARAMETERS = 5
FORBIDDEN_NAMES = {"utils", "util", "helpers", "common", "misc", "base", "manager", "core"}
REEXPORTING = {"ports", "testing"}


def _name(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def _lines(path: Path) -> int:
    return len(path.read_text().splitlines())


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_module_has_docstring_and_bounded_length(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), f"{path} opens without saying what it is"
    assert _lines(path) <= MAX_LINES, f"{path} is over {MAX_LINES} lines: split it by noun"
    assert path.stem not in FORBIDDEN_NAMES, f"{path}: name it by its noun"


def test_module_median_length_is_small() -> None:
    lengths = sorted(_lines(p) for p in MODULES if p.name != "__init__.py")
    assert lengths[len(lengths) // 2] <= MAX_MEDIAN_LINES


@pytest.mark.parametrize(
    "path", [p for p in MODULES if p.name == "__init__.py" and p.parent != SOURCE], ids=_name
)
def test_package_init_holds_only_its_docstring(path: Path) -> None:
    if path.parent.name in REEXPORTING:
        return
    body = ast.parse(path.read_text()).body
    assert len(body) == 1, f"{path} holds code; only ports and testing re-export"


def _functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body without its docstring."""
    body = function.body
    if ast.get_docstring(function):
        body = body[1:]
    if not body:
        return 0
    return (body[-1].end_lineno or 0) - body[0].lineno + 1


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_functions_are_short(path: Path) -> None:
    long = [f"{f.name} ({_length(f)})" for f in _functions(path) if _length(f) > MAX_FUNCTION_LINES]
    assert not long, f"{path}: over {MAX_FUNCTION_LINES} lines: {long}"


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_functions_take_few_positional_parameters(path: Path) -> None:
    many = [
        f.name
        for f in _functions(path)
        if len([a for a in f.args.posonlyargs + f.args.args if a.arg not in {"self", "cls"}])
        > MAX_PARAMETERS
    ]
    assert not many, f"{path}: more than {MAX_PARAMETERS} positional parameters: {many}"


def _tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, capture_output=True, check=False
    )
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


def test_lock_file_names_no_registry() -> None:
    lock = ROOT / "ui" / "package-lock.json"
    assert '"resolved"' not in lock.read_text()
    assert "://" not in (ROOT / "constraints.txt").read_text()


def test_repository_has_no_large_files() -> None:
    large = [p for p in _tracked() if p.is_file() and p.stat().st_size > 1_000_000]
    assert not large
