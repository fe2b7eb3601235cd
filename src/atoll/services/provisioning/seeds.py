"""Writing configuration of agents into a sandbox's home.

Seeds are an agent's first configuration, written where none is there yet: a person's own
changes stay. What a person keeps on this machine for a sandbox is laid over what is there.
"""

from atoll.domain.agent.agent import Seed
from atoll.domain.errors import Failed
from atoll.ports.runtime import RuntimeClient
from atoll.services.scripts import Script, run_inside

AT_ONCE = 4
"""Files of 64 KiB at most, as arguments of one command."""

# "keep" or "replace"; then pairs: a path below the home, and what the file is to hold.
_SEED = Script(
    "write the agents' configuration",
    r"""
set -eu
umask 077
how=$1; shift
while [ $# -ge 2 ]; do
  file=$HOME/$1
  if [ "$how" = replace ] || [ ! -e "$file" ]; then
    mkdir -p "${file%/*}"
    printf %s "$2" > "$file"
  fi
  shift 2
done
""",
    seconds=20.0,
)


async def write_seeds(client: RuntimeClient, seeds: tuple[Seed, ...]) -> None:
    """Write each seed whose file is absent. Raises `Failed` with the shell's message."""
    await _write(client, seeds, "keep")


async def write_files(client: RuntimeClient, files: tuple[Seed, ...]) -> None:
    """Write each file, also over one that is there. Raises `Failed` with what the shell said."""
    for at in range(0, len(files), AT_ONCE):
        await _write(client, files[at : at + AT_ONCE], "replace")


async def _write(client: RuntimeClient, files: tuple[Seed, ...], how: str) -> None:
    if not files:
        return
    words = tuple(word for file in files for word in (file.path, file.content))
    outcome = await run_inside(client, _SEED, (how, *words))
    if outcome.code:
        raise Failed(f"The agents' configuration could not be written: {outcome.said}")
