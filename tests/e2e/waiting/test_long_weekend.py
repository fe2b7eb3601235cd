"""A person who comes back after an expiry finds every file, by the commands atoll names."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from atoll.testing.server import TestServer
from tests.e2e.servers import SHORT, on_both_walls
from tests.peers.api import Api

pytestmark = on_both_walls
PROFILES = {"short": SHORT}

WORK = """
set -e
echo committed > committed
git add committed && git commit -qm 'work of friday'
echo staged > staged && git add staged
echo changed >> README.md
echo untracked > untracked
printf 'ignored\\n' > .gitignore && git add .gitignore
echo ignored > ignored
"""
FILES = {
    "committed": "committed\n",
    "staged": "staged\n",
    "README.md": "# project\nchanged\n",
    "untracked": "untracked\n",
    "ignored": "ignored\n",
}


def checkout_of(server: TestServer, repository: Path) -> Path:
    """The repository where the server's person may use it: theirs, in their home."""
    home = server.env.get("HOME")
    if home is None or os.geteuid() != 0:
        return repository
    owner = server.home.stat().st_uid
    folder = Path(tempfile.mkdtemp(dir=home))
    place = folder / "project"
    shutil.copytree(repository, place)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, owner, owner)
    return place


def test_every_file_is_found_by_the_commands_that_are_named(
    server: TestServer, api: Api, repository: Path
) -> None:
    mine = checkout_of(server, repository)
    made = server.run("new", str(mine), "-d", "--profile", "short")
    assert made.returncode == 0, made.stderr
    name = made.stdout.split()[-1]
    sandbox = str(api.sandbox(name)["sandbox_id"])
    api.run(sandbox, WORK)
    api.until(sandbox, lambda told: told["state"] == "expired", 120)
    # Back on Tuesday: the first thing tried says what can be done.
    tried = server.run("exec", name, "--", "git", "status")
    assert tried.returncode != 0
    start, pull, copy = re.findall(r"`atoll ([^`]+)`", tried.stderr)
    out = mine.parent / f"{name}-out"
    copied = server.run(*copy.replace("DIR", str(out)).split())
    assert copied.returncode == 0, copied.stderr
    assert {path: (out / path).read_text() for path in FILES} == FILES
    pulled = server.run(*pull.split(), "-C", str(mine))
    assert pulled.returncode == 0, pulled.stderr
    branch = str(api.sandbox(sandbox)["repos"][0]["branch"])
    shown = ("git", "-c", "safe.directory=*", "-C", str(mine), "show", f"{branch}:committed")
    assert subprocess.run(shown, capture_output=True, check=True).stdout == b"committed\n"
    assert api.sandbox(sandbox)["state"] == "expired"
    started = server.run(*start.split())
    assert started.returncode == 0, started.stderr
    for path, text in FILES.items():
        assert api.run(sandbox, f"cat {path}") == text
    assert api.run(sandbox, "git diff --cached --name-only").split() == [".gitignore", "staged"]
