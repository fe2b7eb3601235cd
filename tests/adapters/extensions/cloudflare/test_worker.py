"""The Worker by its own tests, which run it in Cloudflare's local runtime."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.peers.clouds.cloudflare import lacking
from tests.places import ROOT

pytestmark = pytest.mark.skipif(bool(lacking()), reason=str(lacking()))


@pytest.mark.timeout(180)
def test_worker_passes_its_own_tests(tmp_path: Path) -> None:
    done = subprocess.run(
        ["npm", "test", "--silent"],
        cwd=ROOT / "deploy" / "cloudflare",
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "# fail 0" in done.stdout and "# pass 0" not in done.stdout
