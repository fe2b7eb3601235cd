"""Host folders in a sandbox: permission, safe opening, attachment.

The zygote trusts no control plane here: a folder must be granted by a file that only the home's
owner can write, or lie below one that the owner's settings name. An ordinary user's files appear as
the sandbox's own; root's appear as they are.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from atoll.domain.errors import AtollError, Forbidden, Invalid
from atoll.domain.files.host_mount import HostMount, read_host_mounts
from atoll.domain.files.private_folder import private_inside, refuse_private
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.zygote.messages import Start
from atoll.zygote.disk.own_places import own_place_at, own_places
from atoll.zygote.disk.safe_open import open_below
from atoll.zygote.host import kernel
from atoll.zygote.host.home import BoxPlaces, Home
from atoll.zygote.host.own_settings import read_own_settings, read_owned_file
from atoll.zygote.host.user_namespaces import attach_as


class MountGrant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A person's consent to a mount, kept as `grants/<32 hex digits>` in the home."""

    source: str
    writable: bool = False
    private: bool = False


def host_mounts(start: Start) -> tuple[HostMount, ...]:
    """Return the mounts that `start` requests, as domain values."""
    return tuple(
        HostMount(one.source, one.target, one.writable, one.grant, one.private)
        for one in start.mounts
    )


def check_host_mounts(home: Home, start: Start) -> None:
    """Check that the requested mounts are allowed. Raises `Invalid`, `Forbidden`."""
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


def remove_grants(home: Home, names: Iterable[str]) -> tuple[str, ...]:
    """Remove grants by name; return those that were there. Raises `OSError`."""
    removed = []
    try:
        folder = os.open(home.grants, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return ()
    try:
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
                removed.append(name)
    finally:
        os.close(folder)
    return tuple(removed)


def check_contents(mounts: tuple[HostMount, ...]) -> None:
    """Check that no folder holds keys or logins without consent. Raises `Forbidden`, or `Invalid`
    for a path with a link in it. Call it in a child: the disk may be slow."""
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
    """Return where a mount is attached before bubblewrap binds it."""
    return places.folder / f"host-{number}"


def attach_host_mounts(mounts: tuple[HostMount, ...], places: BoxPlaces, *, uid: int) -> None:
    """Attach each mount for `uid`, with privilege and in a private mount namespace. Mounts below a
    source are not shown. Raises `Invalid` for a path with a link in it, `OSError`."""
    for number, mount in enumerate(mounts):
        place = attachment_path(places, number)
        place.mkdir(mode=0o700, exist_ok=True)
        source = open_source(mount)
        try:
            if os.fstat(source).st_uid != 0:
                with contextlib.suppress(OSError):
                    # Where the file system cannot be mapped it is shown as it is, too.
                    attach_as(source, place, uid=uid)
                    continue
            kernel.mount(f"/proc/self/fd/{source}", str(place), flags=kernel.MS_BIND)
        finally:
            os.close(source)


def open_source(mount: HostMount) -> int:
    """Return a descriptor of the source, following no link in its path. Raises `Invalid`."""
    try:
        return open_below(Path("/"), mount.source)
    except AtollError as err:
        raise Invalid(
            f"{err.message}; name a folder by its real path, without links", field="mounts"
        ) from err


def host_mount_argv(
    mounts: tuple[HostMount, ...], places: BoxPlaces, *, privileged: bool
) -> Iterator[str]:
    """Yield bubblewrap's arguments for the mounts. Without privilege they name descriptors opened
    here, in the process that becomes bwrap."""
    for number, mount in enumerate(mounts):
        kind = "--bind" if mount.writable else "--ro-bind"
        if privileged:
            yield from (kind, str(attachment_path(places, number)), mount.target)
        else:
            fd = open_source(mount)
            os.set_inheritable(fd, True)
            yield from (f"{kind}-fd", str(fd), mount.target)
