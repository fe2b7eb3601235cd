"""The cleanup after an earlier zygote: its processes end, its kept files stay."""

import contextlib
import os
import signal
from pathlib import Path

import msgspec

from atoll.domain.errors import Failed
from atoll.zygote.disk.engine_mounts import EngineMounts
from atoll.zygote.disk.trees import remove_tree
from atoll.zygote.host.home import POOL_PREFIX, Home
from atoll.zygote.records import record
from atoll.zygote.stop.teardown import SandboxTeardown, tear_down, unlink_socket
from atoll.zygote.wall import cgroups, control_group, runtime_group

ZYGOTE_ENDED = "Atoll's zygote ended while the sandbox ran; start it again"
REBOOTED = "this machine was started anew while the sandbox ran; start it again"


def sweep(
    home: Home, groups: cgroups.Groups, engine_mounts: EngineMounts
) -> dict[str, record.SandboxRecord]:
    """End leftovers of this home and return every sandbox whose files are kept, by id."""
    unlink_socket(home.socket)
    engine_mounts.unmount_all()
    kept: dict[str, record.SandboxRecord] = {}
    for folder in sorted(home.boxes.iterdir()):
        if not folder.is_dir():
            _remove_unfinished(folder)
            continue
        try:
            known = record.load(folder / "box.json")
        except Failed:
            continue  # left for a person: list cannot show what cannot be read
        if folder.name.startswith(POOL_PREFIX) or (known is not None and known.pooled):
            _remove_pooled(engine_mounts, groups, folder, known)
        elif known is not None:
            kept[known.sandbox_id] = _settle(engine_mounts, groups, known)
    _remove_empty_groups(groups)
    return kept


def _remove_unfinished(path: Path) -> None:
    if path.name.startswith("new-template-"):
        path.unlink(missing_ok=True)


def _remove_pooled(
    engine_mounts: EngineMounts,
    groups: cgroups.Groups,
    folder: Path,
    known: record.SandboxRecord | None,
) -> None:
    """Remove a sandbox that waited, even if it was just being assigned."""
    if known is not None:
        _end(engine_mounts, groups, known, name=folder.name, keep=False)
    remove_tree(folder)


def _settle(
    engine_mounts: EngineMounts, groups: cgroups.Groups, known: record.SandboxRecord
) -> record.SandboxRecord:
    if not known.live:
        return known
    teardown = _end(engine_mounts, groups, known, name=known.sandbox_id, keep=True)
    reason = ZYGOTE_ENDED if known.boot_id == record.boot_id() else REBOOTED
    settled = msgspec.structs.replace(known, live=False, processes=(), group="", reason=reason)
    record.save(teardown.places.record, settled)
    return settled


def _end(
    engine_mounts: EngineMounts,
    groups: cgroups.Groups,
    known: record.SandboxRecord,
    *,
    name: str,
    keep: bool,
) -> SandboxTeardown:
    """End the processes of the sandbox in folder `name`."""
    fds = _open_pidfds(known)
    teardown = SandboxTeardown(
        places=engine_mounts.home.box(name),
        groups=groups.paths(known.group_name),
        runtime_groups=runtime_group.paths(groups, known.group_name),
        runtime_pidfd=None,
        inside_pidfds=tuple(fds),
        keep=keep,
        engine_mounts=engine_mounts,
    )
    tear_down(teardown)
    for fd in fds:
        os.close(fd)
    return teardown


def _open_pidfds(known: record.SandboxRecord) -> list[int]:
    """Return pidfds of its running processes, without those whose pid was used again."""
    if known.boot_id != record.boot_id():
        return []
    found = []
    for process in known.processes:
        with contextlib.suppress(ProcessLookupError):
            fd = os.pidfd_open(process.pid)
            if record.same_process(process):
                found.append(fd)
            else:
                os.close(fd)
    return found


def _remove_empty_groups(groups: cgroups.Groups) -> None:
    for _version, base in groups.bases:
        for group in base.iterdir():
            if group.is_dir() and not control_group.is_own(group.name):
                for pid in cgroups.members(group):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                cgroups.remove([group])
