"""`ext.several`: a correct extension whose sandboxes are several processes each.

A keeper carries the sandbox's id and writes that the runtime ended. The runtime itself carries no
id anywhere in its command line, and goes on without its keeper. Helpers come and go.
"""

import asyncio
import hashlib
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from atoll.adapters.pods.process import PodProcess, PodRecord, run_to_end_in_thread
from atoll.domain.errors import Conflict, Failed
from atoll.domain.ids import SandboxId
from atoll.domain.routes.candidate import ImageKind
from atoll.domain.wall.isolation import Isolation
from atoll.ports import Capabilities, CleanupReport, Ended, Handle, Provision, Reachability
from atoll.ports.extension import ExtensionSetup
from atoll.wire.words.walls import IsolationLevel

LOOK_SECONDS = 0.2
ISOLATION = Isolation(
    IsolationLevel.POLICY,
    "bubblewrap",
    ("uid: the control plane's", "memory: not bounded", "pids: not bounded", "disk: not bounded"),
)
RUNTIME = """\
import json, runpy, sys
with open("words.json") as file:
    sys.argv[1:1] = json.load(file)
runpy.run_module("atoll.wiring.pod", run_name="__main__", alter_sys=True)
"""
KEEPER = """\
import os, select, subprocess, sys
name, pid = sys.argv[1], int(sys.argv[2])
ended = select.poll()
ended.register(os.pidfd_open(pid), select.POLLIN)
while not ended.poll(1):
    subprocess.run(["true", name])  # one that comes and goes
"""


class SeveralProcesses(PodProcess):
    """A runtime, and a keeper beside it."""

    @property
    def sandbox_id(self) -> SandboxId:
        """The sandbox whose processes these are."""
        return SandboxId((self.place / "id").read_text())

    def start(self, request: Provision, **given: object) -> PodRecord:
        """Start both."""
        if request.fresh:
            self.remove()
        self.place.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.place / "id").write_text(request.sandbox_id)
        _, _, *words = super().command(request)
        (self.place / "words.json").write_text(json.dumps(words[1:]))
        record = super().start(replace(request, fresh=False), **given)  # type: ignore[arg-type]  # as it was given
        keeper = [sys.executable, "-c", KEEPER, request.sandbox_id, str(record.pid)]
        subprocess.Popen(keeper, start_new_session=True).returncode = 0
        return record

    def command(self, request: Provision) -> list[str]:
        """Return words that say nothing of the sandbox."""
        return [sys.executable, "-c", RUNTIME]


class Several:
    """The extension."""

    name = "ext.several"

    def __init__(self, setup: ExtensionSetup) -> None:
        self._setup = setup
        self._folder = setup.folder or setup.home / "extensions" / "several"
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def capabilities(self) -> Capabilities:
        """See the port."""
        return Capabilities(IsolationLevel.POLICY, images=frozenset({ImageKind.HOST}))

    async def provision(self, request: Provision) -> Handle:
        """See the port."""
        async with self._turns[request.sandbox_id]:
            return await run_to_end_in_thread(self._provision, request)

    def _provision(self, request: Provision) -> Handle:
        group, alone = self._group(request.sandbox_id), request.maintenance_seconds is not None
        record = group.record
        if record is not None and group.lives and record.maintenance and not alone:
            group.end()
        if record is not None and group.lives:
            if record.generation != request.generation or alone != record.maintenance:
                raise Conflict(f"sandbox {request.sandbox_id} runs already: stop it first")
        else:
            group.start(request, agents=self._setup.agents, upstreams=self._setup.upstreams)
        return Handle(request.sandbox_id, request.generation, self.name)

    async def wait_ready(self, handle: Handle) -> Reachability:
        """See the port."""
        record = self._group(handle.sandbox_id).record
        if record is None or not self._group(handle.sandbox_id).lives:
            raise Failed(f"sandbox {handle.sandbox_id} does not run")
        return Reachability(record.address, ISOLATION, record.token)

    async def teardown(self, handle: Handle, *, keep_state: bool) -> CleanupReport:
        """See the port."""
        group = self._group(handle.sandbox_id)
        async with self._turns[handle.sandbox_id]:
            removed = ["processes"] if await run_to_end_in_thread(group.end) else []
            if not keep_state and group.remove():
                removed.append("files")
        return CleanupReport(tuple(removed))

    async def survey(self) -> list[Handle]:
        """See the port."""
        return [
            Handle(group.sandbox_id, record.generation, self.name)
            for group, record in self._groups()
            if group.lives
        ]

    async def ended(self) -> AsyncIterator[Ended]:
        """See the port."""
        while True:
            for group, record in self._groups():
                if record.live and not group.lives:
                    group.end()
                    if not record.maintenance:
                        yield Ended(group.sandbox_id, record.generation, "its runtime ended")
            await asyncio.sleep(LOOK_SECONDS)  # it looks again and again, as the port asks

    def _group(self, sandbox_id: str) -> SeveralProcesses:
        digest = hashlib.sha256(sandbox_id.encode()).hexdigest()[:12]
        return SeveralProcesses(Path(self._folder) / digest)

    def _groups(self) -> list[tuple[SeveralProcesses, PodRecord]]:
        groups = [SeveralProcesses(place.parent) for place in Path(self._folder).glob("*/id")]
        return [(group, record) for group in groups if (record := group.record) is not None]


def make(setup: ExtensionSetup) -> Several:
    """Make the extension of a home."""
    return Several(setup)
