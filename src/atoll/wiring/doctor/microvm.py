"""The machines of `ext.microvm` of a home, seen from this machine: KVM, the image, leftovers.

`up` asks for the group that opens KVM's device, `down` ends machines, `doctor` reports on them.
The extension's code is loaded only where there is something to look at.
"""

import asyncio
import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from atoll.domain.errors import AtollError
from atoll.ports.host import Finding
from atoll.wiring.control.settings import read_settings
from atoll.zygote.host import kernel

NAME = "ext.microvm"
_BUILD = "`atoll vm build` makes the image and tries KVM again."


def groups_for(home: Path) -> tuple[int, ...]:
    """Return the supplementary groups a control plane of this home needs: the one that opens KVM's
    device, where a machine booted with it."""
    if not _is_on(home):
        return ()
    from atoll.adapters.extensions.microvm.image import KVM, find_image

    try:
        if find_image(home).record.no_kvm:
            return ()
        found = KVM.stat()
    except (AtollError, OSError):
        return ()
    return (found.st_gid,) if _opens(found, "group") and found.st_gid != 0 else ()


def clear(home: Path) -> None:
    """End the machines of a home; their runtimes are gone. Files are kept. As root, this becomes
    the owner of each machine's folder first."""
    for folder in home.glob("vms/*"):
        owner = folder.lstat().st_uid
        if os.geteuid() == 0 and owner != 0:
            kernel.errno_in_child(partial(_stop, folder, owner))
        else:
            _stop(folder)


def _stop(folder: Path, owner: int | None = None) -> None:
    from atoll.adapters.extensions.microvm.running import GuestMachine

    if owner is not None:
        kernel.drop_to(owner)
    asyncio.run(GuestMachine(folder).stop())


def findings(home: Path) -> Iterator[Finding]:
    """Report whether machines can be booted, and how fast."""
    if not _is_on(home):
        yield Finding(NAME, "ok", "not switched on (setting `extensions`)")
        return
    from atoll.adapters.extensions.microvm.disks import find_mke2fs
    from atoll.adapters.extensions.microvm.image import find_image
    from atoll.adapters.extensions.microvm.qemu import find_qemu

    try:
        find_qemu()
        find_mke2fs()
        image = find_image(home)
    except AtollError as err:
        yield Finding(NAME, "warn", err.message, "See docs/run/microvm.md.")
        return
    why = image.record.no_kvm or _explain_closed_kvm()
    if why:
        yield Finding(NAME, "warn", f"machines are emulated and slow: {why}", _BUILD)
    else:
        yield Finding(NAME, "ok", "machines run with KVM")


def _is_on(home: Path) -> bool:
    try:
        return "microvm" in read_settings(home, os.environ, {}).backends.extensions
    except AtollError:
        return False  # another check says what is wrong with the settings


def _explain_closed_kvm() -> str:
    """Return why the control plane, which is not root, may not open KVM; empty if it may."""
    from atoll.adapters.extensions.microvm.image import KVM, unusable_kvm

    if os.geteuid() != 0 or not KVM.exists():
        return unusable_kvm()
    found = KVM.stat()
    if _opens(found, "other") or (_opens(found, "group") and found.st_gid != 0):
        return ""
    return f"no group opens {KVM}, and the control plane is not root"


def _opens(found: os.stat_result, who: str) -> bool:
    wanted = stat.S_IRGRP | stat.S_IWGRP if who == "group" else stat.S_IROTH | stat.S_IWOTH
    return found.st_mode & wanted == wanted
