"""What is claimed is nobody else's, in this process and in others."""

import fcntl
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.claims import claim, whole_machine
from tests.places import ROOT, TESTS

KIND = f"trial-{os.getpid()}"
TAKES = f"from tests.claims import claim; print(claim('{KIND}', 3), flush=True); input()"
HOLDS = """
import sys
from pathlib import Path
from tests.claims import whole_machine
with whole_machine(Path(sys.argv[1])):
    print("held", flush=True)
    input()
"""
SHARED = re.compile(r"\b1_8\d\d_\d{3}_\d{3}\b|getpid\(\) *[%+*]")
"""The id of a user that is written down, and a number made of a process's."""

CLAIMED = {TESTS / "claims.py"}


@contextmanager
def other_process(code: str, *words: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        yield other
        other.kill()


def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_numbers_are_each_claims_own_until_its_process_ends() -> None:
    with other_process(TAKES) as other:
        numbers = [int(line_of(other)), claim(KIND, 3), claim(KIND, 3)]
        assert sorted(numbers) == [0, 1, 2]
        with pytest.raises(RuntimeError):
            claim(KIND, 3)
    assert claim(KIND, 3) == numbers[0]


def test_whole_machine_is_of_one_test_until_its_process_ends(tmp_path: Path) -> None:
    figures = tmp_path / "figures"
    figures.touch()
    with other_process(HOLDS, str(figures)) as other, figures.open() as mine:
        assert line_of(other) == "held"
        with pytest.raises(BlockingIOError):
            fcntl.flock(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with whole_machine(figures):
        pass


def test_no_test_takes_what_another_run_may_have() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted(TESTS.rglob("*.py"))
        if path not in CLAIMED and "node_modules" not in path.parts
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if SHARED.search(line)
    ]
    assert found == []
