"""The contracts of Trees, ImageShelf and ImageBuilder.

Subclass one in a test module and give it the fixtures its docstring names.
"""

import io
import tarfile
from pathlib import Path

import pytest

from atoll.domain.errors import AtollError, Conflict, Invalid, NotFound
from atoll.ports.images import ImageBuilder, ImageShelf, Trees

SHELL = b"#!/bin/true\n"


def root_tar(path: Path) -> Path:
    """Write a tar of a root that holds one program; returns its path."""
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("bin/sh")
        info.size, info.mode = len(SHELL), 0o755
        archive.addfile(info, io.BytesIO(SHELL))
    return path


def silent(_line: str) -> None:
    """Drop a line of progress."""


class TreesContract:
    """Fixtures `trees` and `present`, the name of an image that is here."""

    async def test_image_that_is_here_is_a_folder(self, trees: Trees, present: str) -> None:
        tree = await trees.find(present)
        assert tree.name == present
        assert Path(tree.path).is_dir()
        assert await trees.find(present) == tree

    @pytest.mark.parametrize("image", ["absent", "docker.io/library/absent:1", "..", "/etc", ""])
    async def test_image_that_is_not_here_is_refused(self, trees: Trees, image: str) -> None:
        with pytest.raises(Invalid):
            await trees.find(image)


class ImageShelfContract:
    """Fixture `shelf`, an empty one."""

    def test_taken_root_is_listed_until_it_is_removed(
        self, shelf: ImageShelf, tmp_path: Path
    ) -> None:
        tree = shelf.take("small", root_tar(tmp_path / "root.tar"), silent)
        assert (Path(tree.path) / "bin" / "sh").read_bytes() == SHELL
        assert [one.name for one in shelf.list()] == ["small"]
        assert shelf.prune() == []
        assert shelf.remove("small").name == "small"
        assert list(shelf.list()) == []
        assert not Path(tree.path).exists()

    def test_name_that_is_taken_is_refused(self, shelf: ImageShelf, tmp_path: Path) -> None:
        source = root_tar(tmp_path / "root.tar")
        shelf.take("small", source, silent)
        with pytest.raises(Conflict):
            shelf.take("small", source, silent)
        assert len(shelf.list()) == 1

    def test_file_that_is_no_image_leaves_nothing(self, shelf: ImageShelf, tmp_path: Path) -> None:
        source = tmp_path / "text"
        source.write_text("no tar")
        with pytest.raises(AtollError):
            shelf.take("small", source, silent)
        assert list(shelf.list()) == []

    @pytest.mark.parametrize("name", ["../x", "", "a/b", ".hidden"])
    def test_hostile_name_never_becomes_a_path(
        self, shelf: ImageShelf, tmp_path: Path, name: str
    ) -> None:
        with pytest.raises(AtollError):
            shelf.take(name, root_tar(tmp_path / "root.tar"), silent)

    def test_unknown_tree_is_not_found(self, shelf: ImageShelf) -> None:
        with pytest.raises(NotFound):
            shelf.remove("absent")


class ImageBuilderContract:
    """Fixtures `builder` and `recipe`, a folder with a Dockerfile that was not built yet."""

    def test_unchanged_recipe_is_built_once(self, builder: ImageBuilder, recipe: str) -> None:
        built = builder.build(recipe, silent, again=False)
        assert built.new and built.name == recipe and built.id
        same = builder.build(recipe, silent, again=False)
        assert not same.new and same.id == built.id
        assert builder.remove(recipe)
        assert list(builder.remove(recipe)) == []

    def test_recipe_that_is_not_there_is_refused(self, builder: ImageBuilder) -> None:
        with pytest.raises(Invalid):
            builder.build("absent", silent, again=False)
