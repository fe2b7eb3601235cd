"""`ports.agents.AgentShelf`: the layers of a home, for the person who owns it."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from atoll.adapters.agents.install import install, locked
from atoll.adapters.agents.installed import SYSTEM_PATH, layer, versions
from atoll.domain.agent.agent import Agent, layer_name, layer_path, split_reference
from atoll.domain.agent.registry import AGENTS, find
from atoll.domain.errors import Conflict, NotFound
from atoll.ports.agents import InstalledAgent, Layer


class LayerShelf:
    """The layers below `folder`, which is made when something is installed. Those of `further`
    directories are listed, too."""

    def __init__(self, folder: Path, *, further: tuple[Path, ...] = ()) -> None:
        self._folder = folder
        self._further = further

    def list(self) -> Sequence[InstalledAgent]:
        """See the port."""
        return [
            InstalledAgent(
                agent,
                self._versions(agent),
                shutil.which(agent.command, path=SYSTEM_PATH) is not None,
            )
            for agent in AGENTS
        ]

    def _versions(self, agent: Agent) -> tuple[str, ...]:
        folders = (self._folder, *self._further)
        return tuple(dict.fromkeys(one for each in folders for one in versions(each, agent)))

    def install(
        self,
        name: str,
        version: str | None,
        report: Callable[[str], None],
        *,
        headway: Callable[[int, int], None] | None = None,
    ) -> Layer:
        """See the port; `name` may be `name@version`."""
        plain, named = split_reference(name)
        return install(self._folder, find(plain), version or named, report=report, headway=headway)

    def remove(self, name: str, version: str | None) -> Sequence[Layer]:
        """See the port; `name` may be `name@version`."""
        plain, named = split_reference(name)
        agent, wanted = find(plain), version or named
        there = versions(self._folder, agent)
        gone = [one for one in there if wanted in (None, one)]
        if not gone:
            have = ", ".join(there) or "none"
            raise NotFound(
                f"{agent.name}{' ' + wanted if wanted else ''} is not installed; installed: {have}"
            )
        with locked(self._folder, agent):
            return [self._remove(agent, one) for one in gone]

    def _remove(self, agent: Agent, version: str) -> Layer:
        place = layer(self._folder, agent, version)
        if place is None:
            raise NotFound(f"{agent.name} {version} is not installed any more")
        if _mounted(agent, place.resolve()):
            raise Conflict(
                f"a sandbox runs with {agent.name} {version}: stop it first (`atoll list`)"
            )
        aside = Path(tempfile.mkdtemp(prefix=".removed-", dir=place.parent))
        place.rename(aside / version)
        shutil.rmtree(aside, ignore_errors=True)
        return Layer(agent.name, version, str(place))


def _mounted(agent: Agent, place: Path) -> bool:
    """Return whether any process visible to this user has the layer mounted. Field 4 of mountinfo
    is the folder within its file system, field 5 where it is seen (proc_pid_mountinfo(5))."""
    below = f"/{layer_name(agent)}/{place.name}"
    for text in _mount_tables():
        for line in text.splitlines():
            words = line.split(" ")
            ours = words[3].endswith(below) and str(place).endswith(words[3])
            if ours and words[4].endswith(layer_path(agent)):
                return True
    return False


def _mount_tables() -> Iterator[str]:
    """Yield one text for each mount namespace that can be read."""
    seen: set[str] = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            space = str((entry / "ns" / "mnt").readlink())
            if space not in seen:
                seen.add(space)
                yield (entry / "mountinfo").read_text()
        except OSError:
            continue  # ended meanwhile, or somebody else's
