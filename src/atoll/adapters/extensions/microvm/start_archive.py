"""The archive that one start of a guest reads: programs, its etc, the wall's command, the key."""

import io
import shlex
import tarfile
from pathlib import Path

from atoll.adapters.extensions.microvm.guest import (
    FILES,
    LETTERS,
    LINK_PORT,
    SECOND,
    SERVE,
    STARTED,
)
from atoll.adapters.linked.wall import wall_of
from atoll.adapters.zygote.start import hostname
from atoll.domain.agents.registry import HOME_STATE
from atoll.domain.interior.remote import RemoteMachine, etc_files, remote_wall_argv
from atoll.ports.extension import Provision
from atoll.ports.far import LinkTerms

PROGRAMS = f"{STARTED}/programs"
_WITH_FILTER = 'filter=$1; shift; exec "$@" 9<"$filter"'


def start_archive(
    request: Provision,
    terms: LinkTerms,
    machine: RemoteMachine,
    views: tuple[tuple[str, str], ...],
    programs: Path,
) -> bytes:
    """Return the archive of a start. Only root of the guest may read its key."""
    etc = etc_files(request.sandbox_id, hostname(request.name))
    wall = wall_of(request, FILES, PROGRAMS, views)
    filter_name = "seccomp-debug.bpf" if request.profile.safety.debug else "seccomp.bpf"
    command = (
        *("exec", "setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "--"),
        *(f"{PROGRAMS}/link", "serve", "--device", LINK_PORT),
        *("--grace", str(terms.grace_seconds), "--", "env", f"LD_LIBRARY_PATH={PROGRAMS}"),
        *("sh", "-c", _WITH_FILTER, "sh", f"{PROGRAMS}/{filter_name}"),
        *remote_wall_argv(machine, wall),
    )
    states = "".join(f"{state}\n" for state, _ in HOME_STATE)
    files = {
        "second": SECOND.encode(),
        "run": shlex.join(command).encode(),
        "states": states.encode(),
        "serve": SERVE.encode(),
        "live": " ".join(live_letters(request)).encode(),
        "key": terms.key,
        **{f"etc/{at}": text.encode() for at, text in etc.items()},
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for at, content in files.items():
            entry = tarfile.TarInfo(at)
            entry.size, entry.mode = len(content), 0o600 if at == "key" else 0o644
            archive.addfile(entry, io.BytesIO(content))
        archive.add(programs, "programs", filter=_of_root)
    return buffer.getvalue()


def live_letters(request: Provision) -> dict[str, str]:
    """Return the sources of live mounts, by the letters of their disks."""
    disks = zip(LETTERS, request.mounts, strict=False)
    return {letter: mount.source for letter, mount in disks if mount.live}


def _of_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755
    return entry
