"""Sandboxes that begin as a snapshot of one whose set-up has succeeded, instead of running it.

Whatever keeps them from that is said in the log, and the set-up runs as usual.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from atoll.domain.errors import AtollError
from atoll.domain.ids import SnapshotId
from atoll.domain.sandboxes.project import Prebuilt, SandboxProject, begin_prebuilt
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.snapshots.prebuild import (
    Beginning,
    may_be_prebuilt,
    prebuild_keys,
    version_paths,
)
from atoll.domain.snapshots.snapshot import Snapshot
from atoll.ports import AgentConfigs, RuntimeClient, StoreUnavailable
from atoll.services.provisioning.bring_up import BringUp
from atoll.services.provisioning.inside_agents import InsideAgents
from atoll.services.provisioning.seeds import config_of
from atoll.wire.words.sandboxes import SetupState


class PrebuildSource(Protocol):
    """Source of prebuilds."""

    async def find(self, sandbox: Sandbox, keys: Sequence[str]) -> Snapshot | None:
        """Return the snapshot that a sandbox may begin as, by the first key that has one, and note
        its use."""
        ...

    async def reject(self, snapshot: Snapshot) -> None:
        """Drop a snapshot that no sandbox could begin as."""
        ...


class PrebuiltTrees(Protocol):
    """Trees that are kept after a set-up, and those that begin as one: of sandboxes with one
    repository. Raises what reaching the sandbox and reading the repository raise."""

    async def beginning(self, sandbox: Sandbox, paths: Sequence[str]) -> Beginning:
        """Return where the tree of the repository begins, with the ids of those paths that are
        files there. It was fetched before."""
        ...

    async def mark(self, sandbox: Sandbox, client: RuntimeClient) -> str | None:
        """Mark the tree as one that a set-up left. Returns why it cannot be kept, and marks nothing
        then."""
        ...

    async def advance(
        self,
        sandbox: Sandbox,
        client: RuntimeClient,
        snapshot: SnapshotId,
        report: Callable[[str], None],
    ) -> None:
        """Bring a tree that a set-up left to where the sandbox's own would begin, and take away
        what agents left. Idempotent. Raises `Failed` also for a tree that no set-up left."""
        ...

    async def clear(self, sandbox: Sandbox, client: RuntimeClient) -> bool:
        """Empty a workspace that another sandbox's set-up left; returns whether it was one. Raises
        `Failed` where files stay."""
        ...


@dataclass(frozen=True, slots=True)
class Prebuilding:
    """Use of prebuilds in a bring-up: where they are found, and what brings their trees to a
    branch."""

    source: PrebuildSource
    trees: PrebuiltTrees


class PrebuildChoice:
    """The choice of a prebuild, before the wall. `prebuilding` None: there are none here."""

    def __init__(self, prebuilding: Prebuilding | None, configs: AgentConfigs | None) -> None:
        self._prebuilding = prebuilding
        self._configs = configs

    async def run(self, up: BringUp) -> None:
        """Choose, and remember the key under which the disk may be kept. Raises
        `StoreUnavailable`."""
        use, project = self._prebuilding, up.sandbox.project
        if use is None or project is None or up.extension.capabilities().snapshots is None:
            return
        if project.state is not SetupState.WAITING or project.later:
            return
        if not await self._is_eligible(up):
            up.report(
                "The set-up is not kept for later sandboxes: this one has more than its files."
            )
            return
        try:
            start = await use.trees.beginning(up.sandbox, version_paths(project.content.setup))
            keys = prebuild_keys(up.sandbox, start, _spell_agents(up.inside))
            up.prebuild = await use.source.find(up.sandbox, keys)
        except StoreUnavailable:
            raise
        except AtollError as error:
            up.report(f"The set-up is run: {error.message}")
            return
        up.sandbox = replace(up.sandbox, project=replace(project, prebuild_key=keys[0]))

    async def _is_eligible(self, up: BringUp) -> bool:
        """Return whether nothing of a person can reach the set-up: no value of a secret, no
        placeholder that stands for one, and no file of theirs."""
        if up.policy.exposed or up.policy.policy.customs:
            return False
        return may_be_prebuilt(up.sandbox) and not await config_of(self._configs, up.sandbox)


class PrebuiltWorkspace:
    """The workspace of a sandbox that began as a prebuild, brought to its own branch."""

    def __init__(self, prebuilding: Prebuilding | None) -> None:
        self._prebuilding = prebuilding

    async def run(self, up: BringUp) -> None:
        """Bring it there, or empty it. Raises `StoreUnavailable`, and what emptying raises."""
        use, project = self._prebuilding, up.sandbox.project
        if use is None or project is None or project.prebuild_key is None:
            return
        if up.prebuild is not None and await self._advance(use, up, project, up.prebuild):
            return
        # Also of a start before this one, which broke off.
        if await use.trees.clear(up.sandbox, up.client):
            up.report("The workspace is laid out anew.")

    async def _advance(
        self, use: Prebuilding, up: BringUp, project: SandboxProject, snapshot: Snapshot
    ) -> bool:
        try:
            await use.trees.advance(up.sandbox, up.client, snapshot.id, up.report)
        except StoreUnavailable:
            raise
        except AtollError as error:
            up.report(f"The set-up is run, as its snapshot does not fit: {error.message}")
            await use.source.reject(snapshot)
            return False
        began = begin_prebuilt(project, Prebuilt(snapshot.id, snapshot.created_at))
        up.sandbox = replace(up.sandbox, project=began)
        up.report(f"Set up from a snapshot of {snapshot.created_at:%Y-%m-%d %H:%M} UTC.")
        return True


def _spell_agents(inside: InsideAgents) -> tuple[str, ...]:
    agents = (*([inside.own] if inside.own else ()), *inside.others)
    return tuple(f"{each.agent.name}@{each.version}" for each in agents)
