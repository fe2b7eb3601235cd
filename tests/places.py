"""Where this repository and its tests lie."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
