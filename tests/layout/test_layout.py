"""The shape of the code: small files, one noun each, docstrings that open with what a file is."""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.layout.modules import MODULES, SOURCE, each_package, name_of, tree_of
from tests.places import ROOT

MAX_LINES = 500
MAX_MEDIAN_LINES = 160
MAX_FILES = 20
MAX_FUNCTION_LINES = 40
MAX_PARAMETERS = 5
ASSEMBLING = ("wiring/", "adapters/storage/migrations/")
"""What puts parts together in a row reads better in one function than in several."""
MAX_ASSEMBLING_LINES = 60
MAX_ASSEMBLING_PARAMETERS = 8
FORBIDDEN_NAMES = {"utils", "util", "helpers", "common", "misc", "base", "manager", "core"}
REEXPORTING = {"client", "ports", "testing"}
MIGRATIONS = "src/atoll/adapters/storage/migrations/versions"
"""The one folder that grows by a file with each change of the schema."""
CHARACTER_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\\n])*\]")
POSSESSIVE_GROUP = re.compile(r"\)(?:\+|\*|\?|\{\d*,?\d*\})\+")
"""Python before 3.11.5 matches it wrongly where the group can be matched in several ways
(gh-106052): Debian 12's let sequences pass that a terminal was guarded against."""


@cache
def _lines(path: Path) -> int:
    return len(path.read_text().splitlines())


@each_package
def test_module_has_docstring_and_bounded_length(modules: Sequence[Path]) -> None:
    for path in modules:
        assert ast.get_docstring(tree_of(path)), f"{path} opens without saying what it is"
        assert _lines(path) <= MAX_LINES, f"{path} is over {MAX_LINES} lines: split it by noun"
        assert path.stem not in FORBIDDEN_NAMES, f"{path}: name it by its noun"


def test_no_pattern_has_a_possessive_group() -> None:
    for path in MODULES:
        text = CHARACTER_CLASS.sub("x", path.read_text())
        assert not POSSESSIVE_GROUP.search(text), path


def test_module_median_length_is_small() -> None:
    lengths = sorted(_lines(p) for p in MODULES if p.name != "__init__.py")
    assert lengths[len(lengths) // 2] <= MAX_MEDIAN_LINES


def test_folder_holds_few_files() -> None:
    kinds = ("py", "ts", "tsx", "css", "c", "h", "sh", "md")
    sources = [p for p in _tracked(*(f"*.{kind}" for kind in kinds)) if p.name != "__init__.py"]
    counts = Counter(str(path.parent.relative_to(ROOT)) for path in sources)
    del counts[MIGRATIONS]
    assert {folder: count for folder, count in counts.items() if count > MAX_FILES} == {}


def test_package_init_holds_only_its_docstring() -> None:
    for path in MODULES:
        if path.name != "__init__.py" or path.parent == SOURCE or path.parent.name in REEXPORTING:
            continue
        body = tree_of(path).body
        assert len(body) == 1, f"{path} holds code; only client, ports and testing re-export"


@cache
def _functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    nodes = ast.walk(tree_of(path))
    return [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body without its docstring."""
    body = function.body
    if ast.get_docstring(function):
        body = body[1:]
    if not body:
        return 0
    return (body[-1].end_lineno or 0) - body[0].lineno + 1


def _assembles(path: Path) -> bool:
    return name_of(path).startswith(ASSEMBLING)


@each_package
def test_functions_are_short(modules: Sequence[Path]) -> None:
    long = [
        f"{path}: {f.name} ({_length(f)})"
        for path in modules
        for f in _functions(path)
        if _length(f) > (MAX_ASSEMBLING_LINES if _assembles(path) else MAX_FUNCTION_LINES)
    ]
    assert not long, f"over {MAX_FUNCTION_LINES} lines: {long}"


@each_package
def test_functions_take_few_positional_parameters(modules: Sequence[Path]) -> None:
    many = [
        f"{path}: {f.name}"
        for path in modules
        for f in _functions(path)
        if len([a for a in f.args.posonlyargs + f.args.args if a.arg not in {"self", "cls"}])
        > (MAX_ASSEMBLING_PARAMETERS if _assembles(path) else MAX_PARAMETERS)
    ]
    assert not many, f"more than {MAX_PARAMETERS} positional parameters: {many}"


@each_package
def test_name_of_a_module_is_given_once(modules: Sequence[Path]) -> None:
    found = []
    for path in modules:
        given = [
            target.id
            for one in tree_of(path).body
            if isinstance(one, ast.Assign)
            for target in one.targets
            if isinstance(target, ast.Name)
        ]
        found += [f"{path}: {name}" for name in sorted(set(given)) if given.count(name) > 1]
    assert not found, f"a constant that is given twice is what was not meant: {found}"


@each_package
def test_nothing_drops_a_cancellation(modules: Sequence[Path]) -> None:
    found = [
        f"{path}:{one.lineno}"
        for path in modules
        for one in ast.walk(tree_of(path))
        if isinstance(one, ast.Attribute) and one.attr == "wait_for"
        if ast.unparse(one) == "asyncio.wait_for"
    ]
    assert not found, (
        f"{found}: asyncio.wait_for of Python 3.11 drops a cancellation that comes with the "
        "result; use asyncio.timeout"
    )


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
