"""The directory that terminals and commands of a sandbox start in, other than the workspace.

A misspelled one fails the first start. One that was removed later is made again, so that the
sandbox still opens terminals.
"""

from atoll.domain.errors import Failed
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports.runtime import RuntimeClient
from atoll.services.provisioning.bring_up import BringUp
from atoll.services.scripts import Script, run_inside
from atoll.wire.words.walls import WORKSPACE

_ABSENT = 3

# $1 folder  $2 "yes" at the first start
_CHECK = Script(
    "look for the start folder",
    r"""
cd -- "$1" 2> /dev/null && exit 0
[ "$2" != yes ] || exit 3
mkdir -p -- "$1"
""",
    seconds=20.0,
)


class StartFolder:
    """The directory that processes start in."""

    async def run(self, up: BringUp) -> None:
        """Make sure that processes can start there. Raises `Failed`."""
        await check_start_folder(up.sandbox, up.client)


async def check_start_folder(sandbox: Sandbox, client: RuntimeClient) -> None:
    """Make sure processes can start there. Raises `Failed` naming the folder."""
    if sandbox.cwd == WORKSPACE:
        return
    first = "yes" if sandbox.ready_at is None else "no"
    outcome = await run_inside(client, _CHECK, (sandbox.cwd, first))
    if outcome.code == _ABSENT:
        raise Failed(f"{sandbox.cwd} is no folder of this sandbox: nothing can start there.")
    if outcome.code:
        raise Failed(f"{sandbox.cwd} cannot be used as the start folder: {outcome.said}")
