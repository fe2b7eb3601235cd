"""Mounts of host folders for a container engine: opened here, attached where only root can change
names.

An engine binds by name and follows links, so it gets names that nobody else can change. Once the
container runs, each of its mounts is compared with what was opened here.
"""

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.errors import Failed, Forbidden
from atoll.domain.files.host_mount import HostMount
from atoll.zygote.disk.engine_mounts import EngineMounts
from atoll.zygote.disk.host_mounts import open_source
from atoll.zygote.host import kernel
from atoll.zygote.host.home import BoxPlaces

_ALWAYS = kernel.MOUNT_ATTR_NOSUID | kernel.MOUNT_ATTR_NODEV


@dataclass(frozen=True, slots=True)
class EngineFolder:
    """A folder attached at `place`, for the engine to bind at `target`. `identity` is its device
    and inode; `attributes` apply to it and every mount below it."""

    place: Path
    target: str
    identity: tuple[int, int]
    attributes: int


def mount_engine_folders(
    mounts: tuple[HostMount, ...], places: BoxPlaces, engine_mounts: EngineMounts
) -> tuple[EngineFolder, ...]:
    """Open each source and attach it in the machine's mounts, without propagation, until
    `EngineMounts.unmount`. Raises `Forbidden` without root, `Invalid` for a source with a link in
    its path, `Failed` for a kernel that is too old, `OSError`."""
    if not mounts:
        return ()
    if os.geteuid() != 0:
        raise Forbidden(
            "a folder of the host's is mounted in a container only by an Atoll that runs as root: "
            "the Docker daemon would follow links on the way to it. Use ext.namespaces"
        )
    top = places.engine_folders
    top.mkdir(mode=0o700, exist_ok=True)
    with engine_mounts.machine_mounts():
        flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
        kernel.mount("none", str(top), "tmpfs", flags, data="mode=700,size=64k")
        kernel.mount("none", str(top), flags=kernel.MS_PRIVATE)
        return tuple(_mount_folder(mount, top / str(number)) for number, mount in enumerate(mounts))


def _mount_folder(mount: HostMount, place: Path) -> EngineFolder:
    place.mkdir(mode=0o700)
    attributes = _ALWAYS if mount.writable else _ALWAYS | kernel.MOUNT_ATTR_RDONLY
    source = open_source(mount)
    try:
        found = os.fstat(source)
        _attach(source, place, attributes)
    finally:
        os.close(source)
    return EngineFolder(place, mount.target, (found.st_dev, found.st_ino), attributes)


def _attach(source: int, place: Path, attributes: int) -> None:
    try:
        tree = kernel.open_tree(source, recursive=True)
        try:
            kernel.set_mount(tree, attributes, propagation=kernel.MS_PRIVATE, recursive=True)
            kernel.move_mount(tree, str(place))
        finally:
            os.close(tree)
    except OSError as err:
        if err.errno != errno.ENOSYS:
            raise
        raise Failed(
            "mounting a folder of the host's in a container needs Linux 5.12 (mount_setattr): "
            "use a newer kernel, or ext.namespaces"
        ) from err


def check_container_folders(pid: int, folders: tuple[EngineFolder, ...]) -> None:
    """Compare the mounts of the container whose init is `pid` with what was opened, and set their
    attributes again, because an engine drops some. Leaves the working directory at `/`. Raises
    `Failed` when a mount shows another folder or cannot be inspected."""
    if not folders:
        return
    try:
        theirs = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        try:
            with kernel.entered_mounts(theirs):
                for folder in folders:
                    _check(folder)
        finally:
            os.close(theirs)
    except OSError as err:
        raise Failed(f"the container's mounts cannot be looked at: {err}") from err


def _check(folder: EngineFolder) -> None:
    """Check one folder, in the container's mount namespace, where `/` is its root."""
    root = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        there = kernel.open_in_root(root, folder.target)
    finally:
        os.close(root)
    try:
        found = os.fstat(there)
        if (found.st_dev, found.st_ino) != folder.identity:
            raise Failed(
                f"the container shows another folder at {folder.target} than the one that was "
                "opened, so it was not started. Its daemon must see the mounts of this machine "
                "(no MountFlags in its unit)"
            )
        kernel.set_mount(there, folder.attributes, recursive=True)
    finally:
        os.close(there)
