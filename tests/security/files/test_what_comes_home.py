"""What an agent left in its files, and what of it runs or fills something on a person's machine.

Real sandboxes; git here is the person's own. Each way home is tried: a mirror, `cp`, kept folders,
and commits.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.server import TestServer
from tests.e2e.terminals.test_left_running import DOCKER, wall
from tests.peers.api import api_of

pytestmark = pytest.mark.timeout(600)

BURY = """
set -e
git init -q --bare lib/buried
git -C lib/buried config core.bare false
git -C lib/buried config core.worktree .
git -C lib/buried config core.fsmonitor 'touch {marker}; false'
git init -q nested
git -C nested config core.fsmonitor 'touch {marker}; false'
mkdir -p lib/linked lib/common/objects lib/common/refs
echo ref: refs/heads/main > lib/linked/HEAD
echo ../common > lib/linked/commondir
cp lib/buried/config lib/common/config
touch lib/buried/objects/info/x lib/buried/refs/x lib/common/objects/x lib/common/refs/x
git config -f lib/common/config --unset core.worktree
git config -f lib/common/config core.repositoryformatversion 1
git config -f lib/common/config extensions.worktreeConfig true
git config -f lib/linked/config.worktree core.worktree .
echo work > kept.txt
echo all: > lib/GNUMakefile
printf '#!/bin/sh\\n' > run.sh
chmod 755 run.sh
"""


WALLS = [
    pytest.param(("root", "shell"), marks=pytest.mark.root, id="root"),
    pytest.param(("rootless", "shell"), marks=pytest.mark.slow, id="rootless"),
    pytest.param(("docker", "small"), marks=[*DOCKER, pytest.mark.slow], id="docker"),
]
on_every_wall = pytest.mark.parametrize("atoll", WALLS, indirect=True, scope="module")
on_one = pytest.mark.parametrize("atoll", WALLS[:1], indirect=True, scope="module")


@pytest.fixture(scope="module")
def atoll(request: pytest.FixtureRequest) -> Iterator[TestServer]:
    name, profile = request.param
    if name == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    with wall(name) as (server, _profile):
        (server.home.parent / "own").mkdir(exist_ok=True)
        server.env = {**server.env, "ATOLL_PROFILE": profile}
        yield server


@pytest.fixture
def mine(atoll: TestServer) -> Iterator[Path]:
    """A folder of the person whose command line this is."""
    folder = Path(tempfile.mkdtemp(dir=atoll.home.parent / "own"))
    owner = atoll.home.stat().st_uid
    os.chown(folder, owner, owner)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def marker(mine: Path) -> Path:
    return mine / "the-agents-command-ran"


def run(atoll: TestServer, *words: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "HOME": str(atoll.home.parent / "own")}
    return atoll.run(*words, stdin=subprocess.DEVNULL, env={**env, "ATOLL_HOME": str(atoll.home)})


def ok(atoll: TestServer, *words: str) -> "subprocess.CompletedProcess[str]":
    done = run(atoll, *words)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done


def person_runs(atoll: TestServer, *words: str, there: Path) -> None:
    """As the person themselves: git runs nothing in folders of somebody else."""
    home = str(atoll.home.parent / "own")
    # Whoever becomes the person does so by another folder than that of the test.
    line = 'cd "$0" && exec "$@"'
    argv = [*atoll.words_before, "/bin/sh", "-c", line, str(there), *words]
    subprocess.run(argv, capture_output=True, check=False, env={**os.environ, "HOME": home})


def git_status_everywhere(atoll: TestServer, folder: Path) -> None:
    """As a person, or a shell's prompt, does in every folder."""
    for place in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        person_runs(atoll, "git", "status", there=place)


@on_every_wall
def test_buried_repository_runs_nothing_here_whatever_way_it_comes(
    atoll: TestServer, mine: Path, marker: Path
) -> None:
    tmp_path, mirror = mine, mine / "mirror"
    person_runs(atoll, "mkdir", "mirror", "raw", there=mine)
    person_runs(atoll, "sh", "-c", "echo mine > mirror/mine.txt", there=mine)
    profile = atoll.env["ATOLL_PROFILE"]
    words = ("--name", "home", "--profile", profile, "--mirror", str(mirror))
    ok(atoll, "new", "--detach", *words)
    ok(atoll, "exec", "home", "--shell", BURY.format(marker=marker))

    # The control: unpacked as it is, the agent's command runs at the first `git status`.
    raw = tmp_path / "raw"
    with (tmp_path / "raw.tar").open("wb") as tar:
        env = {**os.environ, "ATOLL_HOME": str(atoll.home)}
        atoll.run("cp", "home:lib", "-", stdout=tar, capture_output=False, text=False, env=env)
    person_runs(atoll, "tar", "-xf", "raw.tar", "-C", "raw", there=mine)
    for place in ("buried", "linked"):
        person_runs(atoll, "git", "status", there=raw / place)
        assert marker.exists(), place
        marker.unlink()

    pulled = ok(atoll, "pull", "home")
    assert (mirror / "kept.txt").read_text() == "work\n"
    copied = ok(atoll, "cp", "home:", str(tmp_path / "copy"))
    assert (tmp_path / "copy" / "kept.txt").read_text() == "work\n"
    gone = ok(atoll, "destroy", "home", "--keep-worktree", "--to", str(tmp_path / "kept"))
    assert (tmp_path / "kept" / "kept.txt").read_text() == "work\n"
    # Nothing of what is kept is lost: it has other names.
    assert (tmp_path / "kept" / "lib" / "buried" / "HEAD.kept").exists()
    assert (tmp_path / "kept" / "nested" / ".git.kept" / "config").exists()

    for folder, told in ((mirror, pulled), (tmp_path / "copy", copied), (tmp_path / "kept", gone)):
        git_status_everywhere(atoll, folder)
        assert not marker.exists(), folder
        assert "lib/GNUMakefile" in told.stderr and "run.sh" in told.stderr
        assert "lib/buried" in told.stderr


IN_PARTS = """
set -e
git init -q --bare parts
git -C parts config core.bare false
git -C parts config core.worktree .
git -C parts config core.fsmonitor 'touch {marker}; false'
touch parts/objects/info/x parts/refs/x
mv parts/HEAD last
mkdir lone && cp parts/config lone/ && cp -r parts/refs lone/ && cp last lone/HEAD
mv parts/objects objects-apart && cp -r objects-apart parts/objects
"""


@on_one
def test_last_part_of_a_repository_stays_inside_whatever_way_it_comes(
    atoll: TestServer, mine: Path, marker: Path
) -> None:
    mirror = mine / "mirror"
    person_runs(atoll, "mkdir", "mirror", there=mine)
    ok(atoll, "new", "--detach", "--name", "parts", "--mirror", str(mirror))
    ok(atoll, "exec", "parts", "--shell", IN_PARTS.format(marker=marker))
    ok(atoll, "pull", "parts")
    assert (mirror / "parts" / "config").exists(), "without its HEAD it is none"

    ways = (
        ("cp", "parts:last", str(mirror / "parts" / "HEAD")),
        ("cp", "parts:last", str(mirror / "parts" / "Head")),
        ("cp", "parts:objects-apart", str(mirror / "lone" / "objects")),
        ("cp", "parts:last", str(mine / ".git")),
        ("destroy", "parts", "--keep-worktree", "--to", str(mirror / "lone" / "objects")),
    )
    for way in ways:
        done = run(atoll, *way)
        assert done.returncode != 0 and "git repository" in done.stderr, (way, done.stderr)
        assert not Path(way[-1]).exists(), way
        git_status_everywhere(atoll, mirror)
        assert not marker.exists(), way

    # The control: with that file the agent's command runs.
    person_runs(atoll, "cp", str(mirror / "last"), str(mirror / "parts" / "HEAD"), there=mine)
    git_status_everywhere(atoll, mirror)
    assert marker.exists()
    ok(atoll, "destroy", "parts", "--yes")


@on_one
def test_commit_that_completes_what_lies_in_the_checkout_is_refused(
    atoll: TestServer, tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    who = "-c user.name=A -c user.email=a@example.invalid"
    line = f"git init -q -b main {checkout} && git -C {checkout} {who} commit -q --allow-empty -m a"
    subprocess.run(["sh", "-c", line], check=True)
    ok(atoll, "new", "--detach", "--name", "completes", str(checkout), "fix")
    for part in ("objects", "refs"):
        (checkout / "lib" / part).mkdir(parents=True)
    work = f"mkdir lib; echo ref: refs/heads/main > lib/HEAD; git add -A; git {who} commit -qm work"
    ok(atoll, "exec", "completes", "--shell", work)
    refused = run(atoll, "pull", "completes", "-C", str(checkout))
    assert refused.returncode != 0 and "lib/HEAD" in refused.stderr, refused.stderr
    ok(atoll, "destroy", "completes", "--yes")


@on_one
def test_repository_among_the_files_of_commits_is_refused_until_it_is_wanted(
    atoll: TestServer, tmp_path: Path, marker: Path
) -> None:
    checkout = tmp_path / "checkout"
    who = "-c user.name=A -c user.email=a@example.invalid"
    line = f"git init -q -b main {checkout} && git -C {checkout} {who} commit -q --allow-empty -m a"
    subprocess.run(["sh", "-c", line], check=True)
    ok(atoll, "new", "--detach", "--name", "commits", str(checkout), "fix")
    bury = BURY.format(marker=marker) + f"rm -rf nested; git add -A; git {who} commit -qm work"
    ok(atoll, "exec", "commits", "--shell", bury)
    # Taken away again in the next commit: whoever checks out the one before has it.
    hide = f"git rm -rq lib/buried lib/linked; git {who} commit -qm hidden"
    ok(atoll, "exec", "commits", "--shell", hide)
    refused = run(atoll, "pull", "commits", "-C", str(checkout))
    assert refused.returncode != 0 and "lib/buried" in refused.stderr, refused.stderr
    branches = subprocess.run(
        ["git", "-C", checkout, "branch", "--list", "fix"], capture_output=True, check=True
    )
    assert branches.stdout == b""
    taken = ok(atoll, "pull", "commits", "-C", str(checkout), "--with-repositories")
    assert "fix is at" in taken.stdout and "run.sh" in taken.stderr
    ok(atoll, "destroy", "commits", "--yes")


def taken_up(folder: Path) -> int:
    """Bytes of disk below a folder; there may be none."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


@on_one
def test_terabyte_of_nothing_fills_no_disk(atoll: TestServer, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    ok(atoll, "new", "--detach", "--name", "sparse", "--mirror", str(mirror))
    ok(atoll, "exec", "sparse", "--shell", "mkdir d; truncate -s 1T d/huge; ls -s d/huge")
    ways = (
        ("cp", "sparse:d/huge", str(tmp_path / "file")),
        ("cp", "sparse:d", str(tmp_path / "folder")),
        ("pull", "sparse"),
        ("destroy", "sparse", "--keep-worktree", "--to", str(tmp_path / "kept")),
    )
    for way in ways:
        done = run(atoll, *way)
        assert done.returncode != 0, way
        assert "1.0 TiB" in done.stderr and "room" in done.stderr, (way, done.stderr)
        assert taken_up(tmp_path) < 2**20
    # The server is as careful with its own disk: kept there, or saved by a recreate.
    before = taken_up(atoll.home)
    with api_of(atoll) as api:
        kept = api.client.post("/v1/sandboxes/sparse/destroy?keep_worktree=true&wait=true")
        assert kept.status_code == 429 and "1.0 TiB" in kept.text and "room" in kept.text
    anew = run(atoll, "recreate", "sparse", "--yes")
    assert anew.returncode != 0 and "1.0 TiB" in anew.stderr, anew.stderr
    assert list((atoll.home / "kept").iterdir()) == []
    assert taken_up(atoll.home) - before < 2**20
    ok(atoll, "start", "sparse")
    # What fits comes, and takes here what it takes inside.
    some = "rm d/huge; truncate -s 64M d/some; printf end >> d/some; ls d"
    ok(atoll, "exec", "sparse", "--shell", some)
    for way in ways[1:]:
        ok(atoll, *way)
    for place in (tmp_path / "folder", mirror / "d", tmp_path / "kept" / "d"):
        found = (place / "some").stat()
        assert found.st_size == 64 * 2**20 + 3
        assert found.st_blocks * 512 <= 2**20
        with (place / "some").open("rb") as file:
            file.seek(-4, os.SEEK_END)
            assert file.read() == b"\0end"
