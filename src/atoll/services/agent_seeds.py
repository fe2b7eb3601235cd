"""Writing an agent's first configuration into a sandbox's home, where none is there yet.

A person's own changes stay: a file that exists is never touched.
"""

from atoll.domain.agent import Seed
from atoll.domain.errors import Failed
from atoll.ports.runtime import RuntimeClient
from atoll.services.inside import Script, run_inside

# Pairs of arguments: a path below the home, and what the file holds when it is absent.
_SEED = Script(
    "write the agent's first configuration",
    r"""
set -eu
umask 077
while [ $# -ge 2 ]; do
  file=$HOME/$1
  if [ ! -e "$file" ]; then
    mkdir -p "${file%/*}"
    printf %s "$2" > "$file"
  fi
  shift 2
done
""",
    seconds=20.0,
)


async def plant(client: RuntimeClient, seeds: tuple[Seed, ...]) -> None:
    """Write each seed whose file is absent. Raises `Failed` with what the shell said."""
    if not seeds:
        return
    words = tuple(word for seed in seeds for word in (seed.path, seed.content))
    outcome = await run_inside(client, _SEED, words)
    if outcome.code:
        raise Failed(f"The agent's first configuration could not be written: {outcome.said}")
