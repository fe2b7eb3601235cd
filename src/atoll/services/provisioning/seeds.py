"""Writing configuration of agents into a sandbox's home.

Seeds are an agent's first configuration, written where none is there yet: a person's own
changes stay. What a person keeps on this machine for a sandbox is laid over what is there. Files of
a login say that an agent is logged in, and hold no token.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from atoll.domain.agent.agent import Seed
from atoll.domain.agent.login_use import PLACEHOLDER_REFRESH, LoginFile
from atoll.domain.errors import Failed
from atoll.ports.runtime import RuntimeClient
from atoll.services.scripts import Script, run_inside

AT_ONCE = 4
"""Files of 64 KiB at most, as arguments of one command."""

# A mark of files that are ours; then fours: how, a path below the home, what the file is to hold,
# and what else of ours it may hold now. "keep" writes it if it is absent, "replace" always, "turn"
# also in place of what is ours, and "drop" removes what is ours.
_SEED = Script(
    "write the agents' configuration",
    r"""
set -eu
umask 077
mark=$1; shift
ours() {
  [ -f "$1" ] || return 1
  held=$(head -c 65536 "$1")
  case $held in *"$mark"*) return 0 ;; esac
  [ -n "$2" ] && [ "$held" = "$(printf %s "$2")" ]
}
while [ $# -ge 4 ]; do
  file=$HOME/$2 write=no
  case $1 in
    keep) [ -e "$file" ] || write=yes ;;
    replace) write=yes ;;
    turn) if [ ! -e "$file" ] || ours "$file" "$4"; then write=yes; fi ;;
    drop) if ours "$file" "$4"; then rm -f "$file"; fi ;;
  esac
  if [ $write = yes ]; then
    mkdir -p "${file%/*}"
    printf %s "$3" > "$file"
  fi
  shift 4
done
""",
    seconds=20.0,
)


@dataclass(frozen=True, slots=True)
class _Written:
    """A file to write. `other` is what else of ours it may hold now."""

    how: Literal["keep", "replace", "turn", "drop"]
    path: str
    content: str = ""
    other: str = ""


async def write_seeds(
    client: RuntimeClient,
    seeds: tuple[Seed, ...],
    login_files: tuple[LoginFile, ...] = (),
    *,
    account: str | None = None,
) -> None:
    """Write each seed whose file is absent, and the files of a login in use, whose account is named
    where one is. What is left of an earlier login is removed. Raises `Failed` with the shell's
    message."""
    turned = [_login_file(one, account) for one in login_files]
    await _write(client, (*turned, *(_Written("keep", one.path, one.content) for one in seeds)))


async def write_files(client: RuntimeClient, files: tuple[Seed, ...]) -> None:
    """Write each file, also over one that is there. Raises `Failed` with what the shell said."""
    for at in range(0, len(files), AT_ONCE):
        some = files[at : at + AT_ONCE]
        await _write(client, [_Written("replace", one.path, one.content) for one in some])


def _login_file(file: LoginFile, account: str | None) -> _Written:
    if account is not None:
        return _Written("turn", file.path, file.of(account), file.without or "")
    return _Written("drop", file.path, other=file.of(""))


async def _write(client: RuntimeClient, files: Iterable[_Written]) -> None:
    words = [word for one in files for word in (one.how, one.path, one.content, one.other)]
    if not words:
        return
    outcome = await run_inside(client, _SEED, (PLACEHOLDER_REFRESH, *words))
    if outcome.code:
        raise Failed(f"The agents' configuration could not be written: {outcome.said}")
