"""A number that is claimed is nobody else's, in this process and in others."""

import os
import subprocess
import sys

import pytest

from tests.claims import claim
from tests.places import ROOT

KIND = f"trial-{os.getpid()}"
TAKES = f"from tests.claims import claim; print(claim('{KIND}', 3), flush=True); input()"


def test_numbers_are_each_claims_own_until_its_process_ends() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", TAKES],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        numbers = [int(other.stdout.readline()), claim(KIND, 3), claim(KIND, 3)]
        assert sorted(numbers) == [0, 1, 2]
        with pytest.raises(RuntimeError):
            claim(KIND, 3)
        other.kill()
        other.wait()
    assert claim(KIND, 3) == numbers[0]
