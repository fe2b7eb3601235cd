"""Folders of the host's in a sandbox: allowed, opened without following anything, attached.

The zygote believes no control plane in this: a folder must be granted by a file that only
the home's owner can write, or lie below one that their settings name. An ordinary user's files
are shown as the sandbox's own; root's are shown as they are.
"""

import contextlib
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from atoll.domain.errors import AtollError, Forbidden, Invalid
from atoll.domain.files.host_mount import HostMount, read_host_mounts
from atoll.domain.files.private_folder import private_inside, refuse_private
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.zygote.messages import Start
from atoll.zygote.daemon import kernel
from atoll.zygote.daemon.own_settings import read_own_settings, read_owned_file
from atoll.zygote.disk.own_places import own_place_at, own_places
from atoll.zygote.disk.safe_open import open_below
from atoll.zygote.records.home import BoxPlaces, Home
from atoll.zygote.wall import idmap


class MountGrant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A person's consent, kept as `grants/<32 hex digits>` in the home."""

    source: str
    writable: bool = False
    private: bool = False


def host_mounts(start: Start) -> tuple[HostMount, ...]:
    """What `start` asks for, in the domain's words."""
    return tuple(
        HostMount(one.source, one.target, one.writable, one.grant, one.private)
        for one in start.mounts
    )


def check_host_mounts(home: Home, start: Start) -> None:
    """Raises `Invalid`, `Forbidden` for a mount that may not be."""
    mounts = host_mounts(start)
    if not mounts:
        return
    read_host_mounts(mounts, read_own_settings(home).mount_roots)
    places = own_places(home.root)
    for mount in mounts:
        own = own_place_at(Path(mount.source), places)
        if own is not None:
            raise Forbidden(
                f"{mount.source} is, holds or lies in {own}, where Atoll's own program or home "
                "is: it is never mounted, not even to be read",
                field="mounts",
            )
        if mount.grant:
            _check_grant(home, mount)


def _check_grant(home: Home, mount: HostMount) -> None:
    try:
        grant = msgspec.json.decode(read_owned_file(home.grants / mount.grant), type=MountGrant)
    except (OSError, *UNREADABLE) as err:
        raise Forbidden(f"nobody granted that {mount.source} be mounted ({err})") from err
    more = (mount.writable and not grant.writable) or (mount.private and not grant.private)
    if grant.source != mount.source or more:
        raise Forbidden(f"what was granted is not that {mount} be mounted")


def check_contents(mounts: tuple[HostMount, ...]) -> None:
    """Raises `Forbidden` for a folder that holds keys or logins, which nobody agreed to, and
    `Invalid` for a way with a link in it. Call it in a child: a disk may take its time."""
    for mount in mounts:
        if mount.private:
            continue
        source = open_source(mount)
        try:
            found = private_inside(mount.source, partial(_list_entries, f"/proc/self/fd/{source}"))
        finally:
            os.close(source)
        if found:
            raise refuse_private(mount.source, found)


def _list_entries(top: str, below: str) -> Iterator[tuple[str, bool]]:
    with contextlib.suppress(OSError), os.scandir(f"{top}/{below}") as entries:
        for entry in entries:
            yield entry.name, entry.is_dir(follow_symlinks=False)


def attachment_path(places: BoxPlaces, number: int) -> Path:
    """Where a mount is attached before bubblewrap takes it."""
    return places.folder / f"host-{number}"


def attach_host_mounts(mounts: tuple[HostMount, ...], places: BoxPlaces, *, uid: int) -> None:
    """With privilege, in a mount namespace of your own: attach each for `uid`. What is mounted
    below a source is not shown. Raises `Invalid` for a way with a link in it, `OSError`."""
    for number, mount in enumerate(mounts):
        place = attachment_path(places, number)
        place.mkdir(mode=0o700, exist_ok=True)
        source = open_source(mount)
        try:
            if os.fstat(source).st_uid != 0:
                with contextlib.suppress(OSError):
                    # Where the file system cannot be mapped it is shown as it is, too.
                    idmap.attach_as(source, place, uid=uid)
                    continue
            kernel.mount(f"/proc/self/fd/{source}", str(place), flags=kernel.MS_BIND)
        finally:
            os.close(source)


def open_source(mount: HostMount) -> int:
    """A descriptor of the source, no link followed anywhere on its way. Raises `Invalid`."""
    try:
        return open_below(Path("/"), mount.source)
    except AtollError as err:
        raise Invalid(
            f"{err.message}; name a folder by its real path, without links", field="mounts"
        ) from err


def host_mount_argv(
    mounts: tuple[HostMount, ...], places: BoxPlaces, *, privileged: bool
) -> Iterator[str]:
    """bubblewrap's words for them. Unprivileged they go by descriptors opened here, for the
    process that will be bwrap."""
    for number, mount in enumerate(mounts):
        kind = "--bind" if mount.writable else "--ro-bind"
        if privileged:
            yield from (kind, str(attachment_path(places, number)), mount.target)
        else:
            fd = open_source(mount)
            os.set_inheritable(fd, True)
            yield from (f"{kind}-fd", str(fd), mount.target)
