"""The scripts of checkpoints, as far as no repository is needed."""

import subprocess

import pytest

from atoll.wire.git.checkpoints import CHECKPOINT, MAX_CHECKPOINTS, POINTS, QUIET, TAKE


@pytest.mark.parametrize("script", [QUIET, POINTS, TAKE, CHECKPOINT])
def test_script_is_a_shells(script: str) -> None:
    read = subprocess.run(["sh", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (read.returncode, read.stderr) == (0, "")


def test_number_of_checkpoints_is_bounded() -> None:
    assert f"number - {MAX_CHECKPOINTS})" in TAKE
