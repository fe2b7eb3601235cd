"""Checks that keep names and docstrings in the words of the field."""

import ast
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.layout.modules import MODULES, SOURCE, each_package, name_of, tree_of
from tests.places import ROOT

GLOSSARY = ROOT / "docs" / "change" / "glossary.md"
MAX_OWN_WORDS = 40
OPENERS = {
    *("it", "its", "one", "those", "what", "whether", "who", "which", "where", "how"),
    *("that", "this", "these", "they"),
}
"""First words of a docstring that name nothing."""


@cache
def _tables() -> list[list[str]]:
    """Return the first column of each table of the glossary."""
    tables: list[list[str]] = []
    for block in GLOSSARY.read_text().split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        if rows:
            tables.append([row.split("|")[1].strip() for row in rows[2:]])
    return tables


def _first_word(text: str) -> str:
    words = text.split()
    return words[0].strip(".,:;`*()").lower() if words else ""


@cache
def _docstrings(path: Path) -> list[tuple[int, str]]:
    """Return line and text of the docstrings of modules, classes, functions and attributes."""
    found = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.append((getattr(node, "lineno", 1), ast.get_docstring(node) or ""))
            for before, after in zip(node.body, node.body[1:], strict=False):
                if (
                    isinstance(before, ast.Assign | ast.AnnAssign)
                    and isinstance(after, ast.Expr)
                    and isinstance(after.value, ast.Constant)
                    and isinstance(after.value.value, str)
                ):
                    found.append((after.lineno, after.value.value))
    return found


@each_package
def test_docstring_opens_with_the_thing_it_describes(modules: Sequence[Path]) -> None:
    vague = [
        f"{path}:{line}"
        for path in modules
        for line, text in _docstrings(path)
        if _first_word(text) in OPENERS
    ]
    assert not vague, "open with a verb phrase (function) or a noun phrase (anything else)"


@each_package
def test_docstrings_cite_nothing_a_reader_cannot_open(modules: Sequence[Path]) -> None:
    private = re.compile(r"\bdesign (R\d|§)|\(R\d+\)")
    assert not [
        f"{path}:{line}"
        for path in modules
        for line, text in _docstrings(path)
        if private.search(text)
    ]


def _identifiers(tree: ast.Module) -> set[str]:
    """Return the single words of the names a module defines, in lower case."""
    words: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                named = node.name
            case ast.arg():
                named = node.arg
            case ast.Name(ctx=ast.Store()):
                named = node.id
            case ast.Attribute(ctx=ast.Store()):
                named = node.attr
            case _:
                continue
        words.update(word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", named))
    return words


@each_package
def test_names_use_no_word_the_glossary_replaced(modules: Sequence[Path]) -> None:
    _, replaced = _tables()
    for path in modules:
        used = _identifiers(tree_of(path)) | set(path.stem.split("_"))
        assert not used & set(replaced), path


def test_glossary_is_short_and_sorted() -> None:
    own, replaced = _tables()
    assert len(own) <= MAX_OWN_WORDS
    assert own == sorted(own, key=str.lower)
    assert replaced == sorted(replaced)


def _vocabulary(path: Path) -> str:
    """Return where a class name means one thing: a layer, or a protocol of `wire`."""
    layer, *below = path.relative_to(SOURCE).parts
    return f"wire/{below[0]}" if layer == "wire" else layer


def test_class_name_means_one_thing_in_its_layer() -> None:
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in MODULES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[_vocabulary(path), node.name].append(name_of(path))
    # Each feature owns its settings (design: constructor injection, no global configuration).
    twice = {
        name: where for (_, name), where in places.items() if len(where) > 1 and name != "Settings"
    }
    assert not twice
