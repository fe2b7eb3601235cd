"""The port `ports.images.Trees` over a home's `images` directory, read-only."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from atoll.adapters.trees.index import TreeRecord, read_index
from atoll.domain.errors import Invalid
from atoll.domain.sandboxes.image import hex_of, is_tree_name, read_reference
from atoll.ports.images import Tree

OCI = "oci"


@dataclass(frozen=True, slots=True)
class FoundTrees:
    """The trees below `folder`: `<name>/`, and `oci/<digest>/` by `index.json`."""

    folder: Path

    async def find(self, image: str) -> Tree:
        """See the port. A name takes precedence over a reference that is spelled alike."""
        return await asyncio.to_thread(self.look, image)

    def look(self, image: str) -> Tree:
        """See the port."""
        index = read_index(self.folder)
        if is_tree_name(image) and is_tree(self.folder / image):
            return tree_of(image, self.folder / image, index.names.get(image, TreeRecord()))
        reference = read_reference(image)
        entry = index.references.get(str(reference))
        place = None if entry is None else place_of(self.folder, entry)
        if entry is None or place is None or not is_folder(place):
            raise Invalid(
                f"the image {image} is not on this machine; fetch it once with: "
                f"atoll image pull {image}",
                field="image",
            )
        return tree_of(image, place, entry)


def place_of(folder: Path, entry: TreeRecord) -> Path | None:
    """Return where an image is unpacked."""
    return None if entry.digest is None else folder / OCI / hex_of(entry.digest)


def is_folder(path: Path) -> bool:
    """Report whether it is a directory itself, not a link to one."""
    return path.is_dir() and not path.is_symlink()


def is_tree(path: Path) -> bool:
    """Report whether a directory is a root: one with a Dockerfile is only a recipe
    (`build:NAME`)."""
    return is_folder(path) and not (path / "Dockerfile").is_file()


def tree_of(name: str, place: Path, entry: TreeRecord) -> Tree:
    """Return a tree as the port shows it."""
    return Tree(name, str(place), entry.digest, entry.bytes, entry.files, entry.env, entry.left_out)
