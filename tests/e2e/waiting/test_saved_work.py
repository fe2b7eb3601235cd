"""A recreate on the real wall loses no work: not of a running, a stopped, an expired or a failed
sandbox, not for callers of the API. As root, and as a person without rights."""

import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.testing.server import TestServer
from tests.e2e.servers import ROOT, SHORT, rootless_is_slow
from tests.e2e.waiting.test_long_weekend import checkout_of
from tests.peers.api import Api

PROFILES = {"short": SHORT}

WORK = """
set -e
echo committed > committed
git add committed && git commit -qm 'before the end'
echo staged > staged && git add staged
echo changed >> README.md
echo untracked > 'a file'
git stash list
"""


@pytest.fixture(scope="module")
def mine(server: TestServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository") / "project"
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    (folder / "README.md").write_text("# project\n")
    git(folder, "add", ".")
    git(folder, "-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-qm", "start")
    return checkout_of(server, folder)


def git(folder: Path, *words: str) -> str:
    argv = ["git", "-c", "safe.directory=*", "-C", str(folder), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def ok(server: TestServer, *words: str) -> subprocess.CompletedProcess[str]:
    done = server.run(*words, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done


def _running(server: TestServer, api: Api, sandbox: str) -> None:
    """Leave it as it is."""


def _stopped(server: TestServer, api: Api, sandbox: str) -> None:
    api.act(sandbox, "stop")


def _expired(server: TestServer, api: Api, sandbox: str) -> None:
    api.until(sandbox, lambda told: told["state"] == "expired", 120)


def _failed(server: TestServer, api: Api, sandbox: str) -> None:
    os.kill(api.box(sandbox).runtime_pid, signal.SIGKILL)
    api.until(sandbox, lambda told: told["state"] == "failed", 60)


ENDS = (_running, _stopped, _expired, _failed)
EVERYWHERE = [
    *(pytest.param(*ROOT.values, end, marks=ROOT.marks) for end in ENDS),
    *(
        pytest.param("rootless", end, marks=() if end is _stopped else pytest.mark.slow)
        for end in ENDS
    ),
]


@pytest.mark.parametrize(("server", "over"), EVERYWHERE, indirect=["server"], scope="module")
def test_work_of_a_recreated_sandbox_is_pulled(
    server: TestServer, api: Api, mine: Path, over: Callable[[TestServer, Api, str], None]
) -> None:
    profile = "short" if over is _expired else "shell"
    name = f"was{over.__name__.replace('_', '-')}"
    ok(server, "new", str(mine), "fix", "--detach", "--name", name, "--profile", profile)
    sandbox = str(api.sandbox(name)["sandbox_id"])
    api.run(sandbox, WORK)
    over(server, api, sandbox)
    again = api.call("POST", f"/v1/sandboxes/{sandbox}/recreate?wait=true")
    assert (again["state"], again["generation"]) == ("ready", 2), again
    assert api.run(sandbox, "git status --porcelain; cat README.md") == "# project\n"
    said = ok(server, "pull", name, "--saved", "-C", str(mine)).stderr
    place = f"atoll/saved/{name}/1"
    assert f"git checkout {place}/worktree -- ." in said
    assert git(mine, "log", "-1", "--format=%s", f"{place}/branch/fix") == "before the end\n"
    assert git(mine, "show", f"{place}/index:staged") == "staged\n"
    assert git(mine, "show", f"{place}/worktree:README.md") == "# project\nchanged\n"
    assert git(mine, "show", f"{place}/worktree:a file") == "untracked\n"
    # Once more changes nothing; and it is deleted like all that is kept.
    ok(server, "pull", name, "--saved", "-C", str(mine))
    ok(server, "prune", "--kept", "--yes")
    assert "nothing was saved" in ok(server, "pull", name, "--saved", "-C", str(mine)).stderr
    api.act(sandbox, "destroy")


@rootless_is_slow
def test_workspace_without_its_git_is_kept_as_a_tree(
    server: TestServer, api: Api, mine: Path, tmp_path: Path
) -> None:
    ok(server, "new", str(mine), "fix", "--detach", "--name", "nogit")
    sandbox = str(api.sandbox("nogit")["sandbox_id"])
    api.run(sandbox, "rm -rf .git; echo left > left")
    said = ok(server, "recreate", "nogit", "--yes").stderr
    kept = re.search(r"atoll kept (kept_\w+)", said)
    assert kept is not None, said
    target = mine.parent / f"{mine.name}-nogit"
    ok(server, "kept", kept[1], "--to", str(target))
    assert (target / "left").read_text() == "left\n"
    api.act(sandbox, "destroy")


@rootless_is_slow
def test_work_that_cannot_be_saved_is_not_dropped(server: TestServer, api: Api) -> None:
    sandbox = str(api.create(name="closed")["sandbox_id"])
    api.run(sandbox, "echo x > open; echo x > shut; chmod 0 shut")
    again = api.call("POST", f"/v1/sandboxes/{sandbox}/recreate?wait=true")
    assert again["state"] == "failed" and "could not be saved" in again["reason"], again
    assert api.act(sandbox, "start")["state"] == "ready"
    assert api.run(sandbox, "cat open") == "x\n"
    api.act(sandbox, "destroy")
