"""`ports.agents.AgentShelf`: the layers of a home, for the person who owns it."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from atoll.adapters.agents.acp_probe import AcpProbe
from atoll.adapters.agents.add import add_agent
from atoll.adapters.agents.added import find_added, read_added, remove_added
from atoll.adapters.agents.fetch import ProgressReporter
from atoll.adapters.agents.install import install, locked
from atoll.adapters.agents.installed import SYSTEM_PATH, layer, versions
from atoll.adapters.agents.pins import with_pin
from atoll.domain.agent.acp.added import is_added
from atoll.domain.agent.agent import Agent, layer_name, layer_path, split_reference
from atoll.domain.agent.registry import AGENTS, find
from atoll.domain.errors import Conflict, NotFound
from atoll.ports.agents import InstalledAgent, Layer, NewAgent


class LayerShelf:
    """The layers below `folder`, which is made when something is installed. Those of `further`
    directories are listed, too."""

    def __init__(
        self, folder: Path, *, further: tuple[Path, ...] = (), bwrap: Path | None = None
    ) -> None:
        """`bwrap` is the program of the wall behind which an agent that is added is tried."""
        self._folder = folder
        self._further = further
        self._probe = AcpProbe(bwrap)

    def list(self) -> Sequence[InstalledAgent]:
        """See the port."""
        return [
            InstalledAgent(
                with_pin(self._folder, agent),
                self._versions(agent),
                shutil.which(agent.command, path=SYSTEM_PATH) is not None,
            )
            for agent in (*AGENTS, *read_added(self._folder, *self._further))
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
        agent = self._find(plain)
        return install(self._folder, agent, version or named, report=report, headway=headway)

    def add(
        self,
        wanted: NewAgent,
        report: Callable[[str], None],
        *,
        headway: Callable[[int, int], None] | None = None,
    ) -> Layer:
        """See the port."""
        progress = ProgressReporter(report, headway)
        return add_agent(self._folder, wanted, self._probe, progress=progress)

    def _find(self, name: str) -> Agent:
        if is_added(name):
            return find_added(name, self._folder, *self._further)
        return find(name)

    def remove(self, name: str, version: str | None) -> Sequence[Layer]:
        """See the port; `name` may be `name@version`."""
        plain, named = split_reference(name)
        agent, wanted = self._find(plain), version or named
        there = versions(self._folder, agent)
        gone = [one for one in there if wanted in (None, one)]
        if is_added(agent.name) and wanted is None:
            return self._remove_added(agent, gone)
        if not gone:
            have = ", ".join(there) or "none"
            raise NotFound(
                f"{agent.name}{' ' + wanted if wanted else ''} is not installed; installed: {have}"
            )
        with locked(self._folder, agent):
            return [self._remove(agent, one) for one in gone]

    def _remove_added(self, agent: Agent, versions: Sequence[str]) -> Sequence[Layer]:
        """Remove an added agent: its layers, then what is known of it."""
        with locked(self._folder, agent):
            gone = [self._remove(agent, one) for one in versions]
            if not remove_added(self._folder, agent.name):
                raise NotFound(f"{agent.name} was not added in {self._folder}")
        with suppress(OSError):  # a version that another process makes
            (self._folder / layer_name(agent)).rmdir()
        return gone or [Layer(agent.name, "", "")]

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
