"""An extension whose sandboxes are pods: `atoll.wiring.pod` on TCP, with a token, and the machine
around it as the wall. It stands for a cluster's, and each machine is a root of its own here."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from atoll.domain.agents.agent import LAYERS
from atoll.domain.ids import SandboxId
from atoll.domain.wall.interior import HOME
from atoll.domain.wall.isolation import Isolation
from atoll.ports import Capabilities, CleanupReport, Ended, Handle, Provision, Reachability
from atoll.wire.words.walls import IsolationLevel
from atoll.wire.zygote.messages import Agent
from atoll.zygote.jobs.programs import find_bwrap
from tests.claims import claim_uid
from tests.places import ROOT

TOKEN = "machine-token-0123456789-0123456789-abcdef"
OF_ITS_OWN = {"dev", "home", "opt", "proc", "tmp", "workspace"}
PROGRAMS = {ROOT, Path(sys.prefix), Path(sys.base_prefix)}
"""What the program of a pod is made of, wherever it lies on this machine."""


@dataclass
class Pod:
    """A pod that runs, and where."""

    generation: int
    process: "subprocess.Popen[str]"
    address: str


class PodMachines:
    """The extension. What it keeps lies below `folder`."""

    name = "ext.pods"

    def __init__(self, folder: Path, agents: tuple[Agent, ...]) -> None:
        self._folder = folder
        self._agents = folder / "agents.json"
        self._agents.write_bytes(msgspec.json.encode(agents))
        self._uid = claim_uid()
        self._pods: dict[SandboxId, Pod] = {}
        self._ended: asyncio.Queue[Ended] = asyncio.Queue()

    def capabilities(self) -> Capabilities:
        return Capabilities(IsolationLevel.POLICY)  # a cluster's policy closes the network

    async def provision(self, request: Provision) -> Handle:
        if request.sandbox_id not in self._pods:
            self._pods[request.sandbox_id] = await asyncio.to_thread(self._started, request)
        return Handle(request.sandbox_id, request.generation, self.name)

    async def wait_ready(self, handle: Handle) -> Reachability:
        pod = self._pods[handle.sandbox_id]
        wall = Isolation(IsolationLevel.POLICY, "a machine of its own", ("daemon: none",))
        return Reachability(pod.address, wall, TOKEN)

    async def teardown(self, handle: Handle, *, keep_state: bool) -> CleanupReport:
        pod = self._pods.pop(handle.sandbox_id, None)
        if pod is not None:
            pod.process.terminate()
            await asyncio.to_thread(pod.process.communicate)
        if not keep_state:
            shutil.rmtree(self._folder / handle.sandbox_id, ignore_errors=True)
        return CleanupReport(("pod",))

    async def survey(self) -> list[Handle]:
        return [Handle(name, pod.generation, self.name) for name, pod in self._pods.items()]

    async def ended(self) -> AsyncIterator[Ended]:
        while True:
            yield await self._ended.get()

    async def kill(self, sandbox_id: SandboxId) -> None:
        """Kill a pod, and report its end."""
        pod = self._pods.pop(sandbox_id)
        pod.process.kill()
        await asyncio.to_thread(pod.process.communicate)
        self._ended.put_nowait(Ended(sandbox_id, pod.generation, "its pod was killed"))

    def left(self) -> list[str]:
        """Return the directories of pods, and those that run."""
        return [*(one.name for one in self._folder.glob("sb_*")), *self._pods]

    def _started(self, request: Provision) -> Pod:
        place = self._folder / request.sandbox_id
        for name in ("workspace", "home"):
            (place / name).mkdir(parents=True, exist_ok=True)
            if os.geteuid() == 0:
                os.chown(place / name, self._uid, self._uid)
        argv = [*machine(place), sys.executable, "-m", "atoll.wiring.pod"]
        argv += ["--host", "127.0.0.1", "--port", "0"]
        argv += ["--sandbox-id", request.sandbox_id, "--generation", str(request.generation)]
        argv += ["--journal", str(place / "journal"), "--agents", str(self._agents)]
        process = subprocess.Popen(
            argv + (["--uid", str(self._uid)] if os.geteuid() == 0 else []),
            env={"PATH": os.defpath, "HOME": HOME, "ATOLL_RUNTIME_TOKEN": TOKEN},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        address = process.stdout.readline().removeprefix("runtime on ").strip()
        return Pod(request.generation, process, f"http://{address}")


def machine(place: Path) -> Iterator[str]:
    """Yield the words that give a pod a machine: this one's programs and network, and of its own
    processes, a workspace and a home."""
    yield from (str(find_bwrap()), "--unshare-pid", "--die-with-parent", "--tmpfs", "/")
    yield from ("--cap-add", "ALL") if os.geteuid() == 0 else ()
    for top in sorted(Path("/").iterdir()):
        if top.is_symlink():
            yield from ("--symlink", str(top.readlink()), str(top))
        elif top.name not in OF_ITS_OWN:
            yield from ("--ro-bind", str(top), str(top))
    yield from ("--proc", "/proc", "--dev", "/dev", "--perms", "0755", "--dir", "/home")
    yield from ("--perms", "1777", "--tmpfs", "/tmp")
    for one in sorted(PROGRAMS):
        if one.parts[1] in OF_ITS_OWN:
            for folder in reversed(one.parents[:-2]):
                yield from ("--perms", "0755", "--dir", str(folder))
            yield from ("--ro-bind", str(one), str(one))
    yield from ("--bind", str(place.parent), str(place.parent))
    # The program of an agent that is in the pod's image: a worker looks for it, and runs another.
    for above in ("/opt", "/opt/atoll", LAYERS, f"{LAYERS}/codex", f"{LAYERS}/codex/bin"):
        yield from ("--perms", "0755", "--dir", above)
    yield from ("--ro-bind", "/bin/true", f"{LAYERS}/codex/bin/codex")
    yield from ("--bind", str(place / "workspace"), "/workspace")
    yield from ("--bind", str(place / "home"), HOME)
