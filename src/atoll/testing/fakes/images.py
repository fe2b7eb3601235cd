"""Roots of sandboxes without a registry, a Docker daemon or a confined unpacker."""

import hashlib
import shutil
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from atoll.domain.errors import Conflict, Failed, Invalid, NotFound
from atoll.domain.sandboxes.image import read_reference, read_tree_name
from atoll.ports.images import Built, Tree


@dataclass(slots=True)
class FakeTrees:
    """A `ports.images.Trees` with the trees it was given, by the name of an image."""

    trees: dict[str, Tree] = field(default_factory=dict)

    async def find(self, image: str) -> Tree:
        """See the port."""
        return self.look(image)

    def look(self, image: str) -> Tree:
        """See the port."""
        if image not in self.trees:
            raise Invalid(f"the image {image} is not here: add it to the fake", field="image")
        return self.trees[image]


@dataclass(slots=True)
class FakeImageShelf:
    """A `ports.images.ImageShelf` that unpacks uncompressed tars below `folder`, unconfined, so
    give it only what a test made. `registry` holds the tar of each reference that can be pulled;
    `users` names the sandboxes built on a tree, by its path."""

    folder: Path
    registry: dict[str, Path] = field(default_factory=dict)
    users: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _named: dict[str, Tree] = field(default_factory=dict)
    _pulled: dict[str, Tree] = field(default_factory=dict)

    def list(self) -> Sequence[Tree]:
        """See the port."""
        return [trees[name] for trees in (self._named, self._pulled) for name in sorted(trees)]

    def take(self, name: str, source: Path, report: Callable[[str], None]) -> Tree:
        """See the port."""
        read_tree_name(name)
        if name in self._named:
            raise Conflict(f"there is an image {name} already")
        self._named[name] = _unpack(name, source, self.folder / name)
        report(f"unpacked {name}")
        return self._named[name]

    def pull(self, reference: str, report: Callable[[str], None]) -> Tree:
        """See the port."""
        wanted = str(read_reference(reference))
        if wanted not in self.registry:
            raise NotFound(f"the registry has no {wanted}")
        source = self.registry[wanted]
        digest = hashlib.sha256(source.read_bytes()).hexdigest()
        place = self.folder / "oci" / digest
        if not place.exists():
            report(f"unpacking {wanted}")
            _unpack(reference, source, place)
        self._pulled[wanted] = Tree(wanted, str(place), f"sha256:{digest}")
        return replace(self._pulled[wanted], name=reference)

    def remove(self, name: str) -> Tree:
        """See the port."""
        trees, key = self._holder(name)
        tree = trees[key]
        users = self.users.get(tree.path, ())
        if users:
            raise Conflict(f"built on {name}, and to be destroyed first: {', '.join(users)}")
        del trees[key]
        if tree.path not in {other.path for other in self._pulled.values()}:
            shutil.rmtree(tree.path)
        return replace(tree, name=name)

    def prune(self) -> Sequence[Tree]:
        """See the port."""
        needed = {tree.path for tree in self._pulled.values()} | self.users.keys()
        gone = [
            Tree(f"sha256:{place.name}", str(place))
            for place in sorted((self.folder / "oci").glob("*"))
            if str(place) not in needed
        ]
        for tree in gone:
            shutil.rmtree(tree.path)
        return gone

    def _holder(self, name: str) -> tuple[dict[str, Tree], str]:
        if name in self._named:
            return self._named, name
        try:
            wanted = str(read_reference(name))
        except Invalid:
            wanted = ""
        if wanted not in self._pulled:
            raise NotFound(f"there is no image {name[:200]!r} here")
        return self._pulled, wanted


def _unpack(name: str, source: Path, place: Path) -> Tree:
    """Unpack a tar whole or not at all. Raises `Invalid`."""
    try:
        with tarfile.open(source, "r:") as archive:
            members = [member for member in archive if ".." not in Path(member.name).parts]
            for member in members:
                member.name = member.name.lstrip("/")
            archive.extractall(place, members)  # noqa: S202  no name of theirs leads out
    except (OSError, tarfile.TarError) as error:
        shutil.rmtree(place, ignore_errors=True)
        raise Invalid(f"{source} is no image: {error}") from error
    files = [path for path in place.rglob("*") if path.is_file()]
    return Tree(
        name, str(place), bytes=sum(path.stat().st_size for path in files), files=len(files)
    )


@dataclass(slots=True)
class FakeImageBuilder:
    """A `ports.images.ImageBuilder` of `recipes`, the text of a Dockerfile by the name of its
    folder. `users` names the containers that use an image of a folder; a build raises `failure`
    while it is set."""

    recipes: dict[str, str] = field(default_factory=dict)
    users: dict[str, str] = field(default_factory=dict)
    failure: Failed | None = None
    _built: dict[str, dict[str, str]] = field(default_factory=dict)
    _count: int = 0

    def build(self, name: str, report: Callable[[str], None], *, again: bool) -> Built:
        """See the port."""
        if name not in self.recipes:
            raise Invalid(f"there is no folder {name[:80]!r} with a Dockerfile", field="image")
        if self.failure is not None:
            raise self.failure
        text, built = self.recipes[name], self._built.setdefault(name, {})
        new = again or text not in built
        if new:
            self._count += 1
            built[text] = f"sha256:{self._count:064x}"
            report(f"{name}: built")
        return Built(name, built[text], new)

    def remove(self, name: str) -> Sequence[str]:
        """See the port."""
        read_tree_name(name)
        if name in self.users and name in self._built:
            raise Conflict(f"the container {self.users[name]} uses an image of {name}")
        return [f"fake/{name}:{number}" for number, _ in enumerate(self._built.pop(name, {}))]
