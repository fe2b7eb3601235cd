"""The sandbox of a machine whose own policy is the wall: no namespace may be made there.

The machine is the sandbox's alone. Init and link run as its one user, beside what they serve: a
program that ends them ends its own sandbox, and the far end was never believed.
"""

from dataclasses import dataclass
from typing import Final

from atoll.adapters.linked import scripts
from atoll.adapters.linked.machine import COMMAND_SECONDS
from atoll.adapters.linked.wall import START_SECONDS, FarWall
from atoll.domain.agents.registry import HOME_STATE
from atoll.domain.errors import Failed
from atoll.domain.interior.remote import CONTROL_FD, INIT
from atoll.domain.wall.interior import DEFAULT_FILES, DOORS, HOME
from atoll.ports.extension import Provision
from atoll.ports.far import LinkTerms

BOX: Final = "/.atoll"
"""The sandbox's folder there: beside it stands `/workspace`, as behind every other wall."""

DEGRADED: Final = (
    "uid: init and link have the uid of the programs inside, which may end them",
    "pids: a policy bounds no processes",
    "disk: a policy bounds no files",
    "etc: it is the image's, so agents take Atoll's hooks as arguments, and its policy not at all",
)

_PREPARE: Final = r"""
set -eu
umask 022
box=$1 programs=$2 home=$3 how=$4; shift 4
for place in /workspace "$box" "$home" /opt/atoll; do
  [ -d "$place" ] && [ -w "$place" ] ||
    { echo "its image has no $place that its user may write" >&2; exit 1; }
done
mkdir -p "$box/state"
if [ "$how" = fresh ]; then
  chmod -R u+rwX /workspace "$box/state"
  find /workspace "$box/state" -mindepth 1 -maxdepth 1 -exec rm -rf {} +
fi
cp "$programs/init" "$box/init.new"; chmod 555 "$box/init.new"; mv -f "$box/init.new" "$box/init"
while [ $# -gt 0 ]; do
  mkdir -p "$box/state/$1" "$(dirname "$home/$2")"
  [ -L "$home/$2" ] || rm -rf "$home/$2"
  ln -sfn "$box/state/$1" "$home/$2"; shift 2
done
"""
"""Words: the sandbox's folder, the programs, the home, `fresh` or `kept`, then a name and a place
in the home for each folder of agents' state."""

_SHOW: Final = r"""
set -eu
umask 022
while [ $# -gt 0 ]; do
  [ "$3" = live ] || chmod -R a-w "$1"
  mkdir -p "$(dirname "$2")"
  [ ! -d "$2" ] || [ -L "$2" ] || rmdir "$2"
  ln -sfn "$1" "$2"; shift 3
done
"""
"""Words: a folder, its place inside, and `live` when it is written to from outside; any number."""

_INIT: Final = 'exec 9<&-; exec env -i "$@"'


@dataclass(frozen=True, slots=True)
class PolicyWall(FarWall):
    """A `FarWall` without bubblewrap."""

    async def files(self, sandbox_id: str) -> str:
        """Return the place of the sandbox's files, of which there is one."""
        return BOX

    def above_workspace(self, files: str) -> str:
        """Return the folder that holds the workspace."""
        return "/"

    async def programs(self) -> str:
        """Return the directory of our programs there."""
        return await self.machine.send_programs()

    async def prepare(self, request: Provision) -> None:
        """Make the sandbox's places, after ending what still runs. Raises `Failed` for an image
        that lacks one."""
        await self.stop(request.sandbox_id, "keep")
        states = (word for pair in HOME_STATE for word in pair)
        how = "fresh" if request.fresh else "kept"
        await self._run_checked(_PREPARE, BOX, await self.programs(), HOME, how, *states)

    async def start(self, request: Provision, terms: LinkTerms) -> None:
        """Put the mounts in their places, and start the link. Raises `Failed` with the machine's
        words."""
        words_of_mounts: list[str] = []
        for mount in request.mounts:
            place, target = await self.view(mount)
            words_of_mounts += (place, target, "live" if mount.live else "kept")
        await self._run_checked(_SHOW, *words_of_mounts)
        doors = (word for door in DOORS for word in ("--door", str(door)))
        files = str(request.profile.resources.files or DEFAULT_FILES)
        init = (INIT, "--control-fd", str(CONTROL_FD), *doors, "--files", files)
        ran = await self.machine.client.run(
            scripts.START,
            *(BOX, await self.programs(), str(request.generation), str(terms.grace_seconds)),
            *("/dev/null", "sh", "-c", _INIT, "sh", *init),
            given=terms.key,
            seconds=START_SECONDS,
        )
        if ran.code:
            raise Failed(f"{self.machine.client.label} started no link: {ran.complaint}")

    async def _run_checked(self, script: str, *words: str) -> None:
        ran = await self.machine.client.run(script, *words, seconds=COMMAND_SECONDS)
        if ran.code:
            raise Failed(f"{self.machine.client.label} cannot hold a sandbox: {ran.complaint}")
