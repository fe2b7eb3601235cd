"""What `doctor` says of a machine that hides parts of its /proc, tried with the real thing."""

import os
import shutil
import subprocess
import sys

import pytest

CODE = "from atoll.wiring import doctor; print([each.level for each in doctor._proc()])"
MASKED = "mount -t tmpfs none /proc/tty && exec "

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare"
    ),
]


@pytest.mark.parametrize(("before", "level"), [("exec ", "ok"), (MASKED, "fail")])
def test_doctor_names_a_masked_proc(before: str, level: str) -> None:
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f'{before}"$@"', "sh", sys.executable, "-c", CODE],
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"['{level}']\n", done.stderr
