"""The image ports: root file systems of sandboxes, unpacked once in the home and shared read-only.

`Trees` is what a backend asks for while it provisions; it fetches nothing. `ImageShelf` is
that of the person who owns the home.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Tree:
    """A root file system. `name` is the name in a profile, `env` the variables that the image sets;
    `digest` that of its manifest, where it came from an image. Sizes are 0 where a person put the
    folder there."""

    name: str
    path: str
    digest: str | None = None
    bytes: int = 0
    files: int = 0
    env: tuple[tuple[str, str], ...] = ()
    left_out: int = 0


class Trees(Protocol):
    """File trees of the images that are installed."""

    async def find(self, image: str) -> Tree:
        """Return the tree of a profile's `image`. Raises `Invalid` with how to get it."""
        ...

    def look(self, image: str) -> Tree:
        """Find it without waiting."""
        ...


class ImageShelf(Protocol):
    """The trees of a home. Blocking; never used by a process that serves sandboxes."""

    def list(self) -> Sequence[Tree]:
        """Return every tree, by name."""
        ...

    def take(self, name: str, source: Path, report: Callable[[str], None]) -> Tree:
        """Unpack a tar of a root, an OCI layout (folder or tar) or a `docker save` as `name`,
        whole or not at all. Raises `Invalid`, `Conflict` (the name is taken), `Forbidden` (the
        home is somebody else's), `LimitReached`, `Failed`."""
        ...

    def pull(self, reference: str, report: Callable[[str], None]) -> Tree:
        """Fetch an image from its registry and unpack it, once per digest. Raises as `take`, and
        `NotFound`, `Unavailable`."""
        ...

    def remove(self, name: str) -> Tree:
        """Remove a tree, or what a reference stands for. Raises `NotFound`, `Conflict` while a
        sandbox is built on it."""
        ...

    def prune(self) -> Sequence[Tree]:
        """Remove unpacked images that neither a reference nor a sandbox needs."""
        ...


@dataclass(frozen=True, slots=True)
class Built:
    """An image made of the folder `name`; `new` when it was built just now."""

    name: str
    id: str
    new: bool


class ImageBuilder(Protocol):
    """The Dockerfiles of a home, built by its Docker daemon. Blocking, as `ImageShelf` is."""

    def build(self, name: str, report: Callable[[str], None], *, again: bool) -> Built:
        """Build the folder `name` unless its content was built before, or `again`. Raises
        `Invalid`, `Forbidden` (a base that is not allowed), `LimitReached`, `Failed` with the
        daemon's words, `Unavailable`."""
        ...

    def remove(self, name: str) -> Sequence[str]:
        """Remove every image built of `name`; their tags. Raises `Conflict` while a container
        uses one, `Unavailable`."""
        ...
