"""The root of a sandbox: the host's `/usr` or a tree of its own, read-only or with a writable
layer.

With privilege overlays are mounted here, from directories held by descriptor; without it bubblewrap
mounts them. Written data is stored in the sandbox's own files and counts against their quota.
"""

import contextlib
import functools
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.errors import Failed
from atoll.wire.zygote.messages import Start
from atoll.zygote.disk.safe_open import open_below
from atoll.zygote.disk.skeleton import PLACES, folders_of, skeleton
from atoll.zygote.host import kernel
from atoll.zygote.host.home import BoxPlaces, Home
from atoll.zygote.host.user_namespaces import attach_as

HOST = Path("/usr")
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_OPTIONS = "redirect_dir=nofollow,metacopy=off,index=off"
_SEALED = kernel.MS_NOSUID | kernel.MS_NODEV


@dataclass(frozen=True, slots=True)
class Root:
    """Root to mount at `target`: `layers`, the topmost first, each below the home or the host's
    own. With `writable` the sandbox has a layer of its own above them."""

    target: str
    layers: tuple[Path, ...]
    writable: bool

    @property
    def whole(self) -> bool:
        """True for the whole root, and not a part of the usual one."""
        return self.target == "/"


def plan_root(home: Home, start: Start, *, privileged: bool) -> tuple[Root | None, tuple[str, ...]]:
    """Return the root that `start` requests, and what is missing of it here. None is the usual
    root, the host's and read-only. Raises `Failed` for a tree that this kernel cannot show."""
    if start.tree is None and not start.overlay:
        return None, ()
    able = privileged or unprivileged_overlays()
    if start.tree is not None and not able:
        raise Failed(
            "this kernel gives no overlay to an unprivileged user, and an image needs one: use "
            "image `host`, or run Atoll as root"
        )
    if start.tree is not None:
        return Root("/", (skeleton(home.roots), Path(start.tree)), start.overlay), ()
    if not able:
        return None, ("root: this kernel gives no overlay to an unprivileged user",)
    return Root(str(HOST), (folders_of(home.roots, HOST), HOST), True), ()


def overlay_path(places: BoxPlaces) -> Path:
    """Return the directory of a sandbox's writes above its root: `up`, and the kernel's `work`."""
    return places.mounted / "overlay_path"


def root_mount_path(places: BoxPlaces) -> Path:
    """Return where a root is mounted, in the runtime's mount namespace, before bubblewrap binds
    it."""
    return places.folder / "root"


def mount_root(home: Home, root: Root, places: BoxPlaces, *, uid: int | None) -> tuple[str, ...]:
    """Prepare what `root_argv` names; `uid` is the sandbox's with privilege, None without. Call it
    in a private mount namespace, once the sandbox's files are mounted. Returns what is missing, as
    sentences. Raises `Failed`, `OSError`."""
    if root.writable:
        _make_own_layer(overlay_path(places), uid)
        _check_own_layer(overlay_path(places) / "up", root)
    if uid is None:
        return ()
    root_mount_path(places).mkdir(mode=0o711, exist_ok=True)
    with contextlib.ExitStack() as held:
        layers = [_close_later(held, _open_layer(home, layer)) for layer in root.layers]
        if not root.writable:
            _mount_read_only(root, layers, places)
            return ()
        try:
            _mount_writable(root, layers, places, uid=uid)
        except OSError as err:
            _mount_read_only(root, layers, places)
            return (f"root: no writable layer above it ({err})",)
    return ()


def root_argv(root: Root, places: BoxPlaces, *, privileged: bool) -> Iterator[str]:
    """Yield bubblewrap's arguments for the root."""
    if privileged:
        yield from ("--bind", str(root_mount_path(places)), root.target)
        return
    # bubblewrap stacks upwards: the lowest is named first.
    for layer in reversed(root.layers):
        yield from ("--overlay-src", str(layer))
    if root.writable:
        yield from (
            "--overlay",
            str(overlay_path(places) / "up"),
            str(overlay_path(places) / "work"),
            root.target,
        )
    else:
        yield from ("--ro-overlay", root.target)


def _open_layer(home: Home, layer: Path) -> int:
    """Open a layer. Trees are in directories of the control plane's, so no link is followed on the
    way."""
    if layer.is_relative_to(home.images):
        return open_below(home.root, str(layer))
    return os.open(layer, _FOLDER)


def _close_later(stack: contextlib.ExitStack, fd: int) -> int:
    stack.callback(os.close, fd)
    return fd


def _make_own_layer(folder: Path, uid: int | None) -> None:
    """Make the sandbox's own layer. Processes inside write to it only through the overlay."""
    for path in (folder, folder / "up", folder / "work"):
        path.mkdir(mode=0o755, exist_ok=True)
    if uid is not None:
        folder.chmod(0o700)
        os.chown(folder / "up", uid, uid)


def _check_own_layer(up: Path, root: Root) -> None:
    """Check that the own layer has no link where Atoll mounts something at the next start. The
    kernel prevents that, too; this is a second check. Raises `Failed`."""
    for place in PLACES if root.whole else ():
        at = up
        for part in Path(place).parts:
            at /= part
            try:
                mode = at.lstat().st_mode
            except FileNotFoundError:
                break
            if not stat.S_ISDIR(mode):
                raise Failed(
                    f"the sandbox replaced /{at.relative_to(up)} of its root by something that "
                    "is no folder: recreate it"
                )


def _mount_read_only(root: Root, layers: list[int], places: BoxPlaces) -> None:
    place = str(root_mount_path(places))
    if not root.whole:
        kernel.mount(f"/proc/self/fd/{layers[-1]}", place, flags=kernel.MS_BIND)
        flags = _SEALED | kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY
        kernel.mount("none", place, flags=flags)
        return
    kernel.mount("atoll", place, "overlay", _SEALED | kernel.MS_RDONLY, data=_lower(layers))


def _mount_writable(root: Root, layers: list[int], places: BoxPlaces, *, uid: int) -> None:
    """Mount a writable root. Every layer but the host's own appears as the sandbox's, so that it
    may write there."""
    with contextlib.ExitStack() as held:
        shown = []
        for number, (path, fd) in enumerate(zip(root.layers, layers, strict=True)):
            if path == HOST:
                shown.append(fd)
                continue
            place = places.folder / f"layer-{number}"
            place.mkdir(mode=0o700, exist_ok=True)
            attach_as(fd, place, uid=uid)
            shown.append(_close_later(held, os.open(place, _FOLDER)))
        own = overlay_path(places)
        data = f"{_lower(shown)},upperdir={own / 'up'},workdir={own / 'work'}"
        kernel.mount("atoll", str(root_mount_path(places)), "overlay", _SEALED, data=data)


def _lower(layers: list[int]) -> str:
    return f"{_OPTIONS},lowerdir=" + ":".join(f"/proc/self/fd/{fd}" for fd in layers)


@functools.cache
def unprivileged_overlays() -> bool:
    """Return whether bubblewrap can mount an overlay as this user (Linux 5.11). Tests it once, by
    mounting one."""
    pid = os.fork()
    if pid == 0:
        code = 1
        with contextlib.suppress(OSError):
            kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS)
            kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_SLAVE)
            kernel.mount("atoll", "/mnt", "overlay", data="userxattr,lowerdir=/usr/bin:/usr/lib")
            code = 0
        os._exit(code)
    _pid, status = os.waitpid(pid, 0)
    return status == 0
