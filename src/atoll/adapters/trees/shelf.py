"""The port `ports.images.ImageShelf`: unpacks images into a home, for the person who owns it.

A confined process makes a tree beside its place and renames it into place: it exists whole or not
at all. `registry` fetches, `unpack` writes the files.
"""

import os
import platform
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from atoll.adapters.trees import registry
from atoll.adapters.trees.confine import run_confined
from atoll.adapters.trees.found import OCI, FoundTrees, is_folder, is_tree, place_of, tree_of
from atoll.adapters.trees.image_parts import ImageContents, open_image
from atoll.adapters.trees.index import TreeRecord, edit_index, read_index
from atoll.adapters.trees.unpack import TreeLimits, Unpacked, unpack
from atoll.adapters.turns import lock_in_turn
from atoll.domain.errors import AtollError, Conflict, Failed, Forbidden, NotFound
from atoll.domain.sandboxes.image import hex_of, is_tree_name, read_reference, read_tree_name
from atoll.domain.size import MIB
from atoll.ports.images import Tree

Report = Callable[[str], None]
MAKING = ".making-"
CAPS = TreeLimits()


@dataclass(frozen=True, slots=True)
class TreeShelf:
    """The trees below `folder`. `take_uid` returns an unused uid, None rootless; `users` returns
    the sandboxes that are built on a tree (by its path)."""

    folder: Path
    take_uid: Callable[[], int | None]
    users: Callable[[Path], Sequence[str]]
    caps: TreeLimits = CAPS

    def list(self) -> Sequence[Tree]:
        """See the port."""
        index = read_index(self.folder)
        named = [
            tree_of(path.name, path, index.names.get(path.name, TreeRecord()))
            for path in (sorted(self.folder.iterdir()) if self.folder.is_dir() else ())
            if is_tree_name(path.name) and is_tree(path)
        ]
        pulled = [
            tree_of(reference, place, entry)
            for reference, entry in sorted(index.references.items())
            if (place := place_of(self.folder, entry)) is not None and is_folder(place)
        ]
        return [*named, *pulled]

    def take(self, name: str, source: Path, report: Report) -> Tree:
        """See the port."""
        read_tree_name(name)
        with self._lock_folder(report):
            place = self.folder / name
            if place.exists() or place.is_symlink():
                raise Conflict(
                    f"there is an image {name} already: remove it first (`atoll image rm {name}`)"
                )
            with open_image(source, platform.machine()) as image:
                entry = self._lay(image, place, report)
            with edit_index(self.folder) as index:
                index.names[name] = entry
        return tree_of(name, place, entry)

    def pull(self, reference: str, report: Report) -> Tree:
        """See the port."""
        wanted = read_reference(reference)
        with (
            self._lock_folder(report),
            tempfile.TemporaryDirectory(prefix=MAKING, dir=self.folder) as made,
        ):
            layout = Path(made) / "layout"
            registry.fetch(wanted, layout, machine=platform.machine(), report=report)
            with open_image(layout, platform.machine()) as image:
                if image.digest is None:
                    raise Failed(f"{wanted} came without a manifest")
                place = self.folder / OCI / hex_of(image.digest)
                place.parent.mkdir(mode=0o755, exist_ok=True)
                entry = self._find_record(place)
                if entry is None:
                    entry = self._lay(image, place, report)
            with edit_index(self.folder) as index:
                index.references[str(wanted)] = entry
        return tree_of(reference, place, entry)

    def remove(self, name: str) -> Tree:
        """See the port. The tree of a reference is removed when no other reference needs it."""
        with self._lock_folder(), edit_index(self.folder) as index:
            try:
                tree = FoundTrees(self.folder).look(name)
            except AtollError as err:
                raise NotFound(
                    f"there is no image {name[:200]!r} here: `atoll image list`"
                ) from err
            place = Path(tree.path)
            self._check_unused(place, name)
            if place.parent == self.folder:
                index.names.pop(name, None)
            else:
                index.references.pop(str(read_reference(name)))
            others = {place_of(self.folder, each) for each in index.references.values()}
            if place not in others:
                self._bury(place)
        return tree

    def prune(self) -> Sequence[Tree]:
        """See the port."""
        gone = []
        with self._lock_folder():
            index = read_index(self.folder)
            needed = {place_of(self.folder, each) for each in index.references.values()}
            top = self.folder / OCI
            for place in sorted(top.iterdir()) if top.is_dir() else ():
                if place not in needed and not self.users(place):
                    self._bury(place)
                    gone.append(Tree(f"sha256:{place.name}", str(place)))
        return gone

    def _find_record(self, place: Path) -> TreeRecord | None:
        """Return the record of an unpacked image; remove a tree that has none."""
        for entry in read_index(self.folder).references.values():
            if is_folder(place) and place_of(self.folder, entry) == place:
                return entry
        if place.exists():
            self._bury(place)  # its origin is unknown
        return None

    def _lay(self, image: ImageContents, place: Path, report: Report) -> TreeRecord:
        size = sum(layer.stretch.size for layer in image.layers)
        report(f"unpacking {size / MIB:.0f} MiB in layers: {len(image.layers)}")
        making = Path(tempfile.mkdtemp(prefix=MAKING, dir=self.folder))
        try:
            tree = making / "tree"
            tree.mkdir(mode=0o755)
            done = self._unpack_confined(image, tree)
            tree.chmod(0o755)
            tree.rename(place)
        finally:
            shutil.rmtree(making, ignore_errors=True)
        report(f"{done.files} files, {done.bytes / MIB:.0f} MiB")
        return TreeRecord(image.digest, done.bytes, done.files, image.env, done.left_out)

    def _unpack_confined(self, image: ImageContents, tree: Path) -> Unpacked:
        """Unpack an image into `tree`, confined to that directory."""
        uid = self.take_uid()
        folder = os.open(tree, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if uid is not None:
                os.fchown(folder, uid, uid)
            answer = run_confined(
                folder, uid, lambda: msgspec.msgpack.encode(unpack(image, self.caps))
            )
        finally:
            os.close(folder)
        return msgspec.msgpack.decode(answer, type=Unpacked)

    def _check_unused(self, place: Path, name: str) -> None:
        users = self.users(place)
        if users:
            more = f" and {len(users) - 3} more" if len(users) > 3 else ""
            raise Conflict(
                f"built on {name}, and to be destroyed first: {', '.join(users[:3])}{more}"
            )

    def _bury(self, place: Path) -> None:
        aside = Path(tempfile.mkdtemp(prefix=MAKING, dir=self.folder))
        place.rename(aside / "tree")
        shutil.rmtree(aside, ignore_errors=True)

    @contextmanager
    def _lock_folder(self, report: Report | None = None) -> Iterator[None]:
        """Keep others from changing the images meanwhile, once they are done; remove remains of a
        killed run. Raises `Forbidden`, `Conflict` after a long wait."""
        _ensure_own_folder(self.folder)
        handle = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            lock_in_turn(handle, waits=report and partial(report, "waiting for another change"))
        except BlockingIOError as err:
            os.close(handle)
            raise Conflict(
                "the images are being changed for a long time: wait for that to end"
            ) from err
        try:
            for left in self.folder.glob(f"{MAKING}*"):
                shutil.rmtree(left, ignore_errors=True)
            yield
        finally:
            os.close(handle)


def _ensure_own_folder(folder: Path) -> None:
    """Make the directory and check that this user owns it: others could exchange its trees."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise Forbidden(f"{folder} cannot be made by you: run this as who owns it") from err
    found = folder.lstat()
    if found.st_uid != os.geteuid() or not stat.S_ISDIR(found.st_mode):
        raise Forbidden(
            f"{folder} is no folder of yours (uid {found.st_uid} has it): run this as who runs "
            "`atoll up`"
        )
    folder.chmod(0o755)
