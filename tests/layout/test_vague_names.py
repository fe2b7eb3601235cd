"""Vague names grow fewer: a participle as the name of a class, and values called by what happened
to them. A bound here only falls: lower it with each name that is read and rewritten."""

import ast
import re

from tests.layout.modules import MODULES, name_of, tree_of

MAX_PARTICIPLES = 125
MAX_VAGUE_VALUES = 1080

VAGUE = frozenset({"found", "kept", "one", "said", "told"})
IRREGULAR = frozenset(
    {
        *("begun", "found", "given", "gone", "held", "kept", "known", "left", "lost", "made"),
        *("said", "seen", "sent", "shown", "taken", "told"),
    }
)
NOUNS = frozenset({"embed", "feed", "need", "seed", "shed", "speed"})


def is_participle(name: str) -> bool:
    """Report whether a name is one word, and that a participle."""
    word = name.strip("_").lower()
    single = re.fullmatch(r"_?[A-Z][a-z]+", name) is not None
    return single and word not in NOUNS and (word.endswith("ed") or word in IRREGULAR)


def test_fewer_classes_are_named_by_a_participle() -> None:
    named = [
        f"{name_of(path)}: {node.name}"
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef) and is_participle(node.name)
    ]
    assert len(named) <= MAX_PARTICIPLES, "name a class by a noun of the field:\n" + "\n".join(
        named
    )


def test_fewer_values_are_named_by_what_happened_to_them() -> None:
    count = 0
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                count += node.id in VAGUE
            elif isinstance(node, ast.arg):
                count += node.arg in VAGUE
    assert count <= MAX_VAGUE_VALUES, f"{count}: name a value by what it holds, not {sorted(VAGUE)}"
