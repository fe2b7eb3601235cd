"""Clearing up after a zygote that is gone: what it left running ends, what it kept stays."""

import contextlib
import os
import signal
from pathlib import Path

import msgspec

from atoll.domain.errors import Failed
from atoll.runtime.zygote import cgroups, record
from atoll.runtime.zygote.burial import Grave, bury, unlink_socket
from atoll.runtime.zygote.home import Home
from atoll.runtime.zygote.lending import Lender

REASON = "Atoll's zygote ended while the sandbox ran; start it again"


def sweep(home: Home, groups: cgroups.Groups, lender: Lender) -> dict[str, record.Record]:
    """End leftovers of this home and return every sandbox whose files are kept, by id."""
    unlink_socket(home.socket)
    lender.take_back_all()
    kept: dict[str, record.Record] = {}
    for folder in sorted(home.boxes.iterdir()):
        if not folder.is_dir():
            _forget_unfinished(folder)
            continue
        try:
            known = record.load(folder / "box.json")
        except Failed:
            continue  # left for a person: list cannot show what cannot be read
        if known is not None:
            kept[known.sandbox_id] = _settle(lender, groups, known)
    _remove_empty_groups(groups)
    return kept


def _forget_unfinished(path: Path) -> None:
    if path.name.startswith("new-template-"):
        path.unlink(missing_ok=True)


def _settle(lender: Lender, groups: cgroups.Groups, known: record.Record) -> record.Record:
    if not known.live:
        return known
    fds = _living(known)
    grave = Grave(
        places=lender.home.box(known.sandbox_id),
        groups=groups.paths(known.sandbox_id),
        runtime=None,
        inside=tuple(fds),
        keep=True,
        lender=lender,
    )
    bury(grave)
    for fd in fds:
        os.close(fd)
    settled = msgspec.structs.replace(known, live=False, processes=(), reason=REASON)
    record.save(grave.places.record, settled)
    return settled


def _living(known: record.Record) -> list[int]:
    """Descriptors of its processes that still run; a pid used again is not one of them."""
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
            if group.is_dir() and group.name != "zygote":
                for pid in cgroups.members(group):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                cgroups.remove([group])
