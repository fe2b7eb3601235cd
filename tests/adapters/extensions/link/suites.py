"""Suites of a runtime as they stand, taken into a module of this folder to run over a link."""

from collections.abc import Mapping
from types import ModuleType


def suite_of(suite: ModuleType) -> Mapping[str, object]:
    """Return the tests of a module, by their names."""
    return {name: each for name, each in vars(suite).items() if name.startswith("test_")}
