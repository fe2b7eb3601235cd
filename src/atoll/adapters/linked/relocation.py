"""The relocation of a sandbox's files from one machine to another, through this one.

Archives go from tar to tar; nothing is stored here. The far folder is complete before it has its
name: the same archive of both sides is hashed, since a stream that ended tells nothing.
"""

import asyncio
import secrets
import socket
from typing import Final

from atoll.adapters.linked.machine import COMMAND_SECONDS
from atoll.adapters.linked.shell import Shell
from atoll.adapters.linked.wall import FarWall
from atoll.domain.errors import Failed, Unavailable
from atoll.ports.extension import CleanupReport

COPY_SECONDS = 4 * 3600.0
"""For one sandbox. A machine that says nothing is given up much sooner, by SSH itself."""

_TAR: Final = r"""
inside() {
  kept=$1; shift
  env "LD_LIBRARY_PATH=$programs" "$programs/bwrap" --unshare-all --unshare-user --uid 0 --gid 0 \
    --cap-drop ALL --cap-add CAP_DAC_OVERRIDE --cap-add CAP_DAC_READ_SEARCH --cap-add CAP_FOWNER \
    --cap-add CAP_FSETID --ro-bind / / --dev /dev "$kept" "$box" "$box" --chdir "$box" \
    --die-with-parent --unsetenv LD_LIBRARY_PATH -- "$@"
}
names() { for n in generation state workspace; do [ ! -e "$box/$n" ] || echo "$n"; done; }
"""
"""Files that their owner may not read are read all the same: tar has this power over its own user's
files, in a user namespace that sees nothing else as writable."""

SEND: Final = (
    _TAR
    + r"""
set -eu
programs=$1 box=$2
[ -d "$box/workspace" ] || { echo "$box holds no workspace" >&2; exit 1; }
set -- $(names)
inside --ro-bind tar -c -S --format=posix --xattrs --xattrs-include='user.*' \
  --owner=0 --group=0 -f - -- "$@" </dev/null
"""
)
"""Words: the programs, a sandbox's folder. Prints an archive."""

RECEIVE: Final = (
    _TAR
    + r"""
set -eu
programs=$1 box=$2
inside --bind tar -x -p --no-same-owner --xattrs --xattrs-include='user.*' -f - >/dev/null
"""
)
"""Words: the programs, an empty folder. Its input is an archive."""

DIGEST: Final = (
    _TAR
    + r"""
set -eu
programs=$1 box=$2
set -- $(names)
inside --ro-bind sh -c '{ tar -c --sort=name --format=posix --mtime=@0 \
  --pax-option="exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime" --xattrs \
  --xattrs-include="user.*" --owner=0 --group=0 -f - -- "$@" && echo whole; } | sha256sum' sh "$@"
"""
)
"""Words: the programs, a sandbox's folder. Prints a digest of what is kept."""

MAKE_ROOM: Final = r"""
set -eu
umask 077; mkdir -p "$1"
for old in "$1/$2".*; do
  [ -d "$old" ] || continue
  chmod -R u+rwX "$old" 2>/dev/null || :; rm -rf "$old"
done
[ -z "$3" ] || mkdir "$1/$2.$3"
"""
"""Words: the folder of arrivals, a sandbox, and the name of its new arrival, or nothing. Earlier
arrivals of it are removed."""

ARRIVE: Final = r"""
set -eu
mkdir -p "$(dirname "$2")"
mv -T -- "$1" "$2"
sync -f "$2" 2>/dev/null || sync
"""
"""Words: an arrival that is whole, and the sandbox's folder, which is not there."""


async def copy_sandbox(here: FarWall, there: FarWall, sandbox_id: str) -> None:
    """Have a sandbox's folder on another machine, too. Raises `Failed`, `Unavailable`."""
    await _end_failed(here, sandbox_id, "keep")
    source, target = await here.files(sandbox_id), await there.files(sandbox_id)
    token = secrets.token_hex(8)
    arrivals = await _arrivals(there)
    arrival = f"{arrivals}/{sandbox_id}.{token}"
    before = await here.machine.place_programs()
    after = await there.machine.place_programs()
    await _run(there.machine.client, MAKE_ROOM, arrivals, sandbox_id, token)
    try:
        async with asyncio.timeout(COPY_SECONDS):
            complaint = await _pour(
                (here.machine.client, before, source), (there.machine.client, after, arrival)
            )
    except TimeoutError as err:
        raise Unavailable(f"the files did not arrive within {COPY_SECONDS / 3600:g} h") from err
    digest = await _digest(here.machine.client, before, source)
    got = await _digest(there.machine.client, after, arrival)
    if digest != got:
        raise Failed(
            f"not all files came from {here.machine.client.label} to "
            f"{there.machine.client.label}: {complaint or 'what arrived differs'}"
        )
    # What is there by this name is older: the files' place is the source until the caller says so.
    await _end_failed(there, sandbox_id, "remove")
    await _run(there.machine.client, ARRIVE, arrival, target)


async def drop_sandbox(wall: FarWall, sandbox_id: str) -> CleanupReport:
    """Remove a sandbox's folder from a machine, with arrivals of it."""
    await _run(wall.machine.client, MAKE_ROOM, await _arrivals(wall), sandbox_id, "")
    return await wall.stop(sandbox_id, "remove")


async def _arrivals(wall: FarWall) -> str:
    return f"{(await wall.machine.facts()).base}/arriving"


async def _end_failed(wall: FarWall, sandbox_id: str, what: str) -> None:
    report = await wall.stop(sandbox_id, what)
    if report.leftovers:
        raise Failed("; ".join(report.leftovers))


async def _run(client: Shell, script: str, *words: str, seconds: float = COMMAND_SECONDS) -> bytes:
    ran = await client.run(script, *words, seconds=seconds)
    if ran.code:
        raise Failed(f"{client.label}: {ran.complaint or f'a command ended with {ran.code}'}")
    return ran.output


async def _digest(client: Shell, programs: str, folder: str) -> bytes:
    return await _run(client, DIGEST, programs, folder, seconds=COPY_SECONDS)


async def _pour(source: tuple[Shell, str, str], target: tuple[Shell, str, str]) -> str:
    """Join the archive of one side to the input of the other. Returns what the two complained of:
    whether all came is not known by it."""
    out, into = socket.socketpair()
    sending, *sent = source
    taking, *taken = target

    async def send() -> str:
        try:
            return await sending.stream(SEND, *sent, near=out)
        finally:
            out.shutdown(socket.SHUT_WR)

    async def take() -> str:
        try:
            return await taking.stream(RECEIVE, *taken, near=into)
        finally:
            # Nobody reads any more: the sender must not wait for ever.
            into.shutdown(socket.SHUT_RDWR)

    with out, into:
        async with asyncio.TaskGroup() as tasks:
            both = tasks.create_task(send()), tasks.create_task(take())
    return "; ".join(filter(None, (task.result() for task in both)))
