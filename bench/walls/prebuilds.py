"""`new` of a repository with a set-up: with the set-up run, and begun with what one left."""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from atoll.client.client import Client
from atoll.client.projects import Projects
from atoll.client.server import find_server
from atoll.surfaces.cli.console.plan import SandboxPlan
from atoll.surfaces.cli.transfer.origin import origins
from atoll.zygote.disk.image import clones
from bench.figures import Series, ratio, table
from bench.peers import milliseconds
from bench.server import Server, server
from bench.walls.snapshots import shared_blocks

ROUNDS = 3
FILES = 1000
SETUP = (
    f"mkdir -p node_modules && cd node_modules && for n in $(seq {FILES}); do "
    "head -c 4096 /dev/urandom > $n; done"
)
LOOK_SECONDS = 0.005
SETTLED = "The set-up is "


def prebuilds() -> None:
    """A create until its set-up is done: run, and begun with what one left; and one without."""
    _measure("the home's own disk", None)
    if shutil.which("mkfs.xfs"):
        with shared_blocks() as disk:
            _measure("a disk that shares blocks (XFS)", disk)


def _measure(where: str, disk: Path | None) -> None:
    run = Series(f"new, a set-up that writes {FILES} files run")
    kept = Series("new, begun with what it left")
    plain = Series("new, without a set-up")
    with server(boxes_on=disk) as atoll, tempfile.TemporaryDirectory(dir="/tmp") as folder:
        assert disk is None or clones(atoll.host.home / "boxes")
        with_setup = _Checkout(atoll, Path(folder) / "with", f"setup: ['{SETUP}']\n")
        without = _Checkout(atoll, Path(folder) / "without", "")
        for number in range(ROUNDS):
            # Another lock file each time: nothing of it is kept yet.
            with_setup.commit("package-lock.json", f"{number}\n")
            run.samples.append(with_setup.new(prebuilt=False))
            kept.samples.append(with_setup.new(prebuilt=True))
            plain.samples.append(without.new(prebuilt=False))
    table(where, run, kept, plain)
    ratio("part of a set-up's time", kept.median / run.median)
    ratio("times a create without a set-up", kept.median / plain.median)


class _Checkout:
    """A checkout of a person's, whose file they approve."""

    def __init__(self, atoll: Server, folder: Path, file: str) -> None:
        self._atoll = atoll
        self._folder = folder
        known = {"ATOLL_URL": atoll.host.url, "ATOLL_TOKEN": atoll.host.token}
        self._client = Client(lambda: find_server(known))
        folder.mkdir()
        self._git("init", "-q", "--initial-branch=main")
        self.commit("package-lock.json", "none\n")
        self.commit(".gitignore", "node_modules\n")
        if file:
            self.commit(".atoll.yaml", file)

    def commit(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text)
        self._git("add", name)
        self._git("commit", "-qm", name)

    def new(self, *, prebuilt: bool) -> float:
        """Make a sandbox; return the milliseconds until its set-up was done. It is gone again."""
        body = self._request()
        started = time.perf_counter()
        sandbox = self._atoll.create(**body)
        shown = self._shown(sandbox)
        while "project" in body and shown["project"]["state"] != "done":
            assert shown["project"]["state"] != "failed", shown["project"]
            time.sleep(LOOK_SECONDS)
            shown = self._shown(sandbox)
        took = milliseconds(started)
        project = shown["project"]
        assert prebuilt == (project is not None and project["prebuilt_at"] is not None)
        while project is not None and not prebuilt and SETTLED not in self._log(sandbox):
            time.sleep(LOOK_SECONDS)
        self._atoll.api.delete(f"/v1/sandboxes/{sandbox}", params={"wait": "true"})
        return took

    def _request(self) -> dict[str, Any]:
        """Return the body of a create, after its repository was sent and approved."""
        repo = origins(self._client, SandboxPlan(repo=str(self._folder)))[0].request
        projects = Projects(self._client.transport)
        shown = projects.read(repo)
        if not shown.proposals:
            return {"repos": [repo]}
        projects.decide(repo, shown=shown.digest, decision="approved")
        return {"repos": [repo], "project": {"digest": shown.digest, "setup": "now"}}

    def _shown(self, sandbox: str) -> dict[str, Any]:
        answer = self._atoll.api.get(f"/v1/sandboxes/{sandbox}").raise_for_status()
        shown: dict[str, Any] = answer.json()
        return shown

    def _log(self, sandbox: str) -> str:
        return self._atoll.api.get(f"/v1/sandboxes/{sandbox}/logs").raise_for_status().text

    def _git(self, *words: str) -> None:
        who = ("-c", "user.name=Bench", "-c", "user.email=bench@atoll.invalid")
        subprocess.run(["git", *who, *words], cwd=self._folder, check=True)
