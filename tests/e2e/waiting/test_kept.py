"""What a destroyed sandbox leaves to its person: files and commits on their machine, or kept on
the server. As root, and as a person without rights; whatever fails, nothing is destroyed."""

import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atoll.testing.server import TestServer, test_server
from atoll.testing.subordinate_ids import why_not
from tests.e2e.servers import api_with
from tests.e2e.walls.test_rootless import person
from tests.peers.api import Api, until

SHORT = """\
id: profile.short
version: "1.0.0"
extension: ext.namespaces
ttl: {default: 30s, max: 1h, retention: 1h}
"""
SEEN_SECONDS = 2.0
"""The time in which a conflict is seen."""

IDENTITY = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid")


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("rootless", "subordinate")]


@pytest.fixture(scope="module", params=["root", *SLOW])
def atoll(request: pytest.FixtureRequest) -> Iterator[TestServer]:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    if request.param == "subordinate" and why_not():
        pytest.skip(why_not())
    apart = request.param == "subordinate"
    started = test_server() if request.param == "root" else person(subordinates=apart)
    with started as server:
        own = server.home.parent / "own"
        own.mkdir(exist_ok=True)
        server.env = {**server.env, "HOME": str(own)}
        yield server


@pytest.fixture
def api(atoll: TestServer) -> Iterator[Api]:
    with api_with(atoll, {"short": SHORT}) as made:
        yield made


@pytest.fixture
def checkout(atoll: TestServer) -> Iterator[Path]:
    """A repository of the person whose command line this is."""
    folder = atoll.home.parent / "own" / "project"
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    (folder / "README.md").write_text("# project\n")
    git(folder, "add", ".")
    git(folder, *IDENTITY, "commit", "-qm", "start")
    owner = atoll.home.stat().st_uid
    for path in (folder, *folder.rglob("*")):
        os.chown(path, owner, owner, follow_symlinks=False)
    yield folder
    shutil.rmtree(folder)


def git(folder: Path, *words: str) -> str:
    safe = ("-c", f"safe.directory={folder}")
    done = subprocess.run(
        ["git", *safe, "-C", str(folder), *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def ok(atoll: TestServer, *words: str, **more: object) -> str:
    done = atoll.run(*words, stdin=subprocess.DEVNULL, **more)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return str(done.stdout).strip()


def inside(atoll: TestServer, name: str, line: str) -> str:
    return ok(atoll, "exec", name, "--shell", line)


def state(atoll: TestServer, name: str) -> str:
    return str(json.loads(ok(atoll, "info", name, "--json"))["state"])


WORK = """
echo changed >> README.md
echo new > 'a file'
git checkout -q -b other
git -c user.name=A -c user.email=a@example.invalid commit -qam 'the work'
echo later >> README.md
mkdir -p .git/hooks bin
printf '#!/bin/sh\\ntouch /tmp/ran\\n' > .git/hooks/post-checkout
chmod 755 .git/hooks/post-checkout
cp .git/hooks/post-checkout bin/tool
ln -s /etc/passwd out
ln -s README.md in
mkfifo pipe
mkdir -p nested/.git
echo x > nested/.git/config
"""


def test_destroyed_sandbox_leaves_files_and_commits_to_its_person(
    atoll: TestServer, checkout: Path, usual: tuple[str, ...]
) -> None:
    ok(atoll, "new", "--detach", "--name", "leaves", *usual, str(checkout), "fix")
    inside(atoll, "leaves", WORK)
    refused = atoll.run("destroy", "leaves", stdin=subprocess.DEVNULL)
    assert refused.returncode == 1
    for word in ("1 commit up to", "the work", "README.md", "a file", "--keep-worktree"):
        assert word in refused.stderr, refused.stderr
    assert state(atoll, "leaves") in ("ready", "active")
    done = atoll.run("destroy", "leaves", "--keep-worktree", stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    kept = atoll.home.parent / "own" / "atoll-kept" / "leaves"
    assert f"kept {kept}\n" in done.stdout and f"kept {kept}.bundle\n" in done.stdout
    assert (kept / "README.md").read_text() == "# project\nchanged\nlater\n"
    assert (kept / "a file").read_text() == "new\n"
    assert (kept / "in").readlink() == Path("README.md")
    assert not (kept / "out").is_symlink() and not (kept / "pipe").exists()
    assert "out" in done.stderr
    # No git of this machine reads what was written inside, and no bit outlives it.
    assert not (kept / ".git").exists() and not (kept / "nested" / ".git").exists()
    assert (kept / ".git.kept" / "hooks" / "post-checkout").stat().st_mode & 0o7777 == 0o755
    assert {path.lstat().st_uid for path in (kept, *kept.rglob("*"))} == {atoll.home.stat().st_uid}
    bundle = kept.with_name("leaves.bundle")
    git(checkout, "fetch", "-q", str(bundle), "refs/heads/*:refs/kept/*")
    assert git(checkout, "log", "-1", "--format=%s", "refs/kept/other") == "the work"
    assert atoll.run("info", "leaves").returncode != 0
    assert str(kept) in ok(atoll, "kept")
    assert str(kept) in ok(atoll, "prune", "--kept", "--yes")
    assert not kept.exists() and not bundle.exists()
    assert str(kept) not in ok(atoll, "kept")


def test_pulled_work_is_not_told_again_and_new_work_is(atoll: TestServer, checkout: Path) -> None:
    ok(atoll, "new", "--detach", "--name", "pulled", str(checkout), "fix")
    commit = "git -c user.name=A -c user.email=a@example.invalid commit -qam"
    inside(atoll, "pulled", f"echo one >> README.md; {commit} one")
    told = atoll.run("stop", "pulled", stdin=subprocess.DEVNULL)
    assert told.returncode == 0 and "1 commit up to" in told.stderr
    ok(atoll, "start", "pulled")
    ok(atoll, "pull", "pulled", "-C", str(checkout))
    quiet = atoll.run("stop", "pulled", stdin=subprocess.DEVNULL)
    assert quiet.stderr == ""
    ok(atoll, "start", "pulled")
    inside(atoll, "pulled", f"echo two >> README.md; {commit} two; echo x > README.md")
    refused = atoll.run("recreate", "pulled", stdin=subprocess.DEVNULL)
    assert refused.returncode == 1
    assert "1 commit up to" in refused.stderr and "(two), 1 file changed" in refused.stderr
    target = checkout.parent / "mine"
    ok(atoll, "recreate", "pulled", "--to", str(target))
    assert (target / "README.md").read_text() == "x\n"
    assert inside(atoll, "pulled", "cat README.md; git status --porcelain") == "# project"
    assert atoll.run("destroy", "pulled", "--to", str(target), stdin=subprocess.DEVNULL).returncode
    assert state(atoll, "pulled") in ("ready", "active")
    ok(atoll, "destroy", "pulled", "--yes")
    ok(atoll, "prune", "--kept", "--yes")
    shutil.rmtree(target, ignore_errors=True)


def test_files_of_a_sandbox_without_a_repository_are_told_and_kept(atoll: TestServer) -> None:
    ok(atoll, "new", "--detach", "--name", "plain")
    inside(atoll, "plain", "mkdir -p a/b; echo x > a/b/c")
    refused = atoll.run("destroy", "plain", stdin=subprocess.DEVNULL)
    assert refused.returncode == 1 and "a/b/c" in refused.stderr
    said = json.loads(ok(atoll, "destroy", "plain", "--keep-worktree", "--json"))
    (gone,) = said["sandboxes"]
    kept = Path(gone["kept"]["path"])
    assert (kept / "a" / "b" / "c").read_text() == "x\n" and gone["kept"]["bundles"] == []
    ok(atoll, "prune", "--kept", "--yes")


def _stopped(atoll: TestServer, api: Api, name: str) -> None:
    ok(atoll, "stop", name)


def _expired(atoll: TestServer, api: Api, name: str) -> None:
    api.until(name, lambda told: told["state"] == "expired", 120)


def _failed(atoll: TestServer, api: Api, name: str) -> None:
    os.kill(api.box(api.sandbox(name)["sandbox_id"]).runtime_pid, signal.SIGKILL)
    api.until(name, lambda told: told["state"] == "failed", 60)


@pytest.mark.parametrize("over", [_stopped, _expired, _failed])
def test_sandbox_that_does_not_run_leaves_its_files_and_commits(
    atoll: TestServer,
    api: Api,
    checkout: Path,
    usual: tuple[str, ...],
    over: Callable[[TestServer, Api, str], None],
) -> None:
    name = over.__name__.strip("_")
    words = ("--profile", "short") if over is _expired else usual
    ok(atoll, "new", "--detach", "--name", name, *words, str(checkout), "fix")
    inside(atoll, name, "echo y > y; git add y; git -c user.name=A -c user.email=a@b.invalid "
           "commit -qm 'before the end'; echo left > left")  # fmt: skip
    over(atoll, api, name)
    refused = atoll.run("destroy", name, stdin=subprocess.DEVNULL)
    assert refused.returncode == 1, refused.stderr
    assert "(before the end), 1 file untracked" in refused.stderr
    assert state(atoll, name) == name
    target = checkout.parent / "from-here"
    ok(atoll, "destroy", name, "--to", str(target))
    assert (target / "left").read_text() == "left\n"
    git(checkout, "fetch", "-q", f"{target}.bundle", "refs/heads/fix:refs/kept/fix")
    assert git(checkout, "log", "-1", "--format=%s", "refs/kept/fix") == "before the end"
    assert atoll.run("info", name).returncode != 0
    ok(atoll, "prune", "--kept", "--yes")


def test_sandbox_whose_files_cannot_be_kept_whole_is_not_destroyed(atoll: TestServer) -> None:
    ok(atoll, "new", "--detach", "--name", "stays")
    inside(atoll, "stays", "echo x > closed; chmod 0 closed; head -c 9000000 /dev/zero > much")
    kept = atoll.home.parent / "own" / "atoll-kept"
    words = ("destroy", "stays", "--keep-worktree")
    done = atoll.run(*words, stdin=subprocess.DEVNULL)
    assert done.returncode != 0 and "was left as it is" in done.stderr, done.stderr
    assert state(atoll, "stays") in ("ready", "active")
    inside(atoll, "stays", "rm -f closed")
    # A disk that is full: no file may grow past a megabyte.
    full = atoll.run(*words, stdin=subprocess.DEVNULL, preexec_fn=_little_disk)
    assert full.returncode != 0 and "cannot be written" in full.stderr, full.stderr
    assert "Traceback" not in full.stderr
    assert state(atoll, "stays") in ("ready", "active")
    assert not kept.exists() or list(kept.iterdir()) == []
    ok(atoll, "destroy", "stays", "--yes")


def _little_disk() -> None:
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))


def test_api_keeps_on_the_server_lists_hands_out_and_deletes(
    atoll: TestServer, api: Api, checkout: Path
) -> None:
    ok(atoll, "new", "--detach", "--name", "served", str(checkout), "fix")
    inside(atoll, "served", "echo y > y; git add y; git -c user.name=A -c user.email=a@b.invalid "
           "commit -qm 'on the server'; echo left > left")  # fmt: skip
    gone = api.call("POST", "/v1/sandboxes/served/destroy?keep_worktree=true&wait=true")
    assert gone["state"] == "destroyed"
    (kept,) = [
        one for one in api.call("GET", "/v1/kept")["kept"] if one["sandbox_name"] == "served"
    ]
    assert kept["path"] == gone["kept_at"] and kept["bundles"] == [0]
    assert Path(kept["path"], "tree.tar").stat().st_size <= kept["bytes"]
    tree = api.client.get(f"/v1/kept/{kept['kept_id']}/archive")
    with tarfile.open(fileobj=io.BytesIO(tree.content)) as archive:
        left = archive.extractfile("left")
        assert left is not None and left.read() == b"left\n"
    target = checkout.parent / "fetched"
    shown = ok(atoll, "kept")
    assert kept["kept_id"] in shown and kept["path"] in shown
    said = ok(atoll, "kept", kept["kept_id"], "--to", str(target))
    assert said.splitlines() == [f"wrote {target}", f"wrote {target}.bundle"]
    git(checkout, "fetch", "-q", f"{target}.bundle", "refs/heads/*:refs/kept/*")
    assert git(checkout, "log", "-1", "--format=%s", "refs/kept/fix") == "on the server"
    api.call("DELETE", f"/v1/kept/{kept['kept_id']}")
    assert api.client.get(f"/v1/kept/{kept['kept_id']}").status_code == 404
    assert not Path(kept["path"]).exists()
    ok(atoll, "prune", "--kept", "--yes")
    assert not target.exists()


def test_api_that_cannot_keep_destroys_nothing(atoll: TestServer, api: Api) -> None:
    sandbox = api.create(name="whole")["sandbox_id"]
    api.run(sandbox, "head -c 6000000 /dev/zero > much; echo x > zz-closed; chmod 0 zz-closed")
    answer = api.client.post(f"/v1/sandboxes/{sandbox}/destroy?keep_worktree=true&wait=true")
    assert answer.status_code >= 400, answer.text
    assert api.sandbox(sandbox)["state"] in ("ready", "active")
    assert not any(one["sandbox_id"] == sandbox for one in api.call("GET", "/v1/kept")["kept"])
    assert list((atoll.home / "kept").iterdir()) == []
    api.act(sandbox, "destroy")


def test_conflict_is_seen_resolved_and_merged(atoll: TestServer, api: Api, checkout: Path) -> None:
    ok(atoll, "new", "--detach", "--name", "stuck", str(checkout), "fix")
    commit = "git -c user.name=A -c user.email=a@example.invalid commit -qam"
    inside(atoll, "stuck", f"echo mine > README.md; {commit} mine")
    (checkout / "README.md").write_text("theirs\n")
    git(checkout, *IDENTITY, "commit", "-qam", "theirs")
    stopped = atoll.run("merge", "stuck", "-C", str(checkout), stdin=subprocess.DEVNULL)
    assert stopped.returncode == 1 and "README.md" in stopped.stderr, stopped.stderr
    work = until(
        lambda: api.sandbox("stuck")["work"], lambda one: one is not None, seconds=SEEN_SECONDS
    )
    assert (work["state"], work["conflict"]["files"]) == ("in_conflict", ["README.md"])
    assert (work["conflict"]["kind"], work["conflict"]["onto"]) == ("rebase", "main")
    (item,) = [one for one in api.call("GET", "/v1/inbox")["items"] if one["kind"] == "conflict"]
    assert [option["id"] for option in item["options"]] == ["terminal", "abort"]
    assert "in conflict onto main" in ok(atoll, "list")
    resolve = "echo both > README.md; git add README.md; GIT_EDITOR=true git rebase --continue"
    inside(atoll, "stuck", f"git config user.name A; git config user.email a@b.invalid; {resolve}")
    merged = ok(atoll, "merge", "stuck", "-C", str(checkout))
    assert "1 commit merged into main" in merged
    assert (checkout / "README.md").read_text() == "both\n"
    work = api.sandbox("stuck")["work"]
    assert (work["state"], work["merge"]["into"], work["conflict"]) == ("merged", "main", None)
    assert not [one for one in api.call("GET", "/v1/inbox")["items"] if one["kind"] == "conflict"]
    ok(atoll, "archive", "stuck")
    assert "stuck" not in ok(atoll, "list") and "archived" in ok(atoll, "list", "--archived")
    ok(atoll, "revive", "stuck")
    assert "merged into main" in ok(atoll, "list")
