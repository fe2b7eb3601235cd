"""The contracts of Trees, ImageShelf and ImageBuilder.

Subclass one in a test module and give it the fixtures its docstring names.
"""

import asyncio
import io
import tarfile
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from atoll.domain.errors import AtollError, Conflict, Invalid, NotFound
from atoll.ports.images import ImageBuilder, ImageShelf, Tree, Trees

SHELL = b"#!/bin/true\n"
HOSTILE_NAMES = ("../x", "..", "", "a/b", ".hidden", "/etc", "a..b", "A", "a\0b", "a" * 10_000)
NO_REFERENCES = ("", "..", "../x", "UPPER", "a b", "-rf", "a\0b", "a" * 10_000)


def root_tar(path: Path, member: str = "bin/sh") -> Path:
    """Write a tar of a root that holds one program; returns its path."""
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo(member)
        info.size, info.mode = len(SHELL), 0o755
        archive.addfile(info, io.BytesIO(SHELL))
    return path


def discard_line(_line: str) -> None:
    """Discard a line of progress."""


class TreesContract:
    """A contract of image trees. Fixtures: `trees`, and `present`, the name of an installed
    image."""

    async def test_image_that_is_here_is_a_folder(self, trees: Trees, present: str) -> None:
        tree = await trees.find(present)
        assert tree == trees.look(present)
        assert tree.name == present
        assert Path(tree.path).is_absolute() and Path(tree.path).is_dir()
        assert all("=" not in name and "\0" not in name + value for name, value in tree.env)

    async def test_image_is_the_same_each_time_and_for_all(
        self, trees: Trees, present: str
    ) -> None:
        copies = await asyncio.gather(*(trees.find(present) for _ in range(10)))
        assert len(set(copies)) == 1

    @pytest.mark.parametrize(
        "image", ["absent", "docker.io/library/absent:1", f"a@sha256:{'0' * 64}", *NO_REFERENCES]
    )
    async def test_image_that_is_not_here_is_refused_by_its_field(
        self, trees: Trees, image: str
    ) -> None:
        with pytest.raises(Invalid) as refused:
            await trees.find(image)
        with pytest.raises(Invalid):
            trees.look(image)
        assert refused.value.field == "image"
        assert refused.value.message


class ImageShelfContract:
    """A contract of image shelves. Fixture: `shelf`, an empty one. Override `occupied`."""

    def occupied(self, shelf: ImageShelf, tree: Tree) -> AbstractContextManager[None]:
        """Have a sandbox built on the tree, as long as the context lasts."""
        raise NotImplementedError("override occupied() in your subclass of ImageShelfContract")

    def test_shelf_is_empty_at_first(self, shelf: ImageShelf) -> None:
        assert list(shelf.list()) == []
        assert list(shelf.prune()) == []

    def test_taken_root_is_listed_until_it_is_removed(
        self, shelf: ImageShelf, tmp_path: Path
    ) -> None:
        tree = shelf.take("small", root_tar(tmp_path / "root.tar"), discard_line)
        assert (Path(tree.path) / "bin" / "sh").read_bytes() == SHELL
        assert (tree.name, tree.files, tree.bytes) == ("small", 1, len(SHELL))
        assert list(shelf.list()) == [tree]
        assert list(shelf.prune()) == []
        assert shelf.remove("small").name == "small"
        assert list(shelf.list()) == []
        assert not Path(tree.path).exists()

    def test_roots_are_listed_by_name(self, shelf: ImageShelf, tmp_path: Path) -> None:
        source = root_tar(tmp_path / "root.tar")
        for name in ("c", "a", "b"):
            shelf.take(name, source, discard_line)
        assert [tree.name for tree in shelf.list()] == ["a", "b", "c"]

    def test_what_takes_long_is_reported_in_lines(self, shelf: ImageShelf, tmp_path: Path) -> None:
        lines: list[str] = []
        shelf.take("small", root_tar(tmp_path / "root.tar"), lines.append)
        assert lines and all(line and "\n" not in line for line in lines)

    def test_name_that_is_taken_is_refused_until_it_is_removed(
        self, shelf: ImageShelf, tmp_path: Path
    ) -> None:
        source = root_tar(tmp_path / "root.tar")
        shelf.take("small", source, discard_line)
        with pytest.raises(Conflict):
            shelf.take("small", source, discard_line)
        assert len(shelf.list()) == 1
        shelf.remove("small")
        shelf.take("small", source, discard_line)

    def test_root_that_a_sandbox_stands_on_stays(self, shelf: ImageShelf, tmp_path: Path) -> None:
        tree = shelf.take("small", root_tar(tmp_path / "root.tar"), discard_line)
        with self.occupied(shelf, tree), pytest.raises(Conflict):
            shelf.remove("small")
        assert Path(tree.path).is_dir()
        shelf.remove("small")

    def test_file_that_is_no_image_leaves_nothing(self, shelf: ImageShelf, tmp_path: Path) -> None:
        source = tmp_path / "text"
        source.write_text("no tar")
        for wrong in (source, tmp_path / "absent"):
            with pytest.raises(AtollError):
                shelf.take("small", wrong, discard_line)
            assert list(shelf.list()) == []
        shelf.take("small", root_tar(tmp_path / "root.tar"), discard_line)

    @pytest.mark.parametrize("member", ["../out", "../../out", "../../../out", "/out"])
    def test_member_that_leads_out_is_written_nowhere_else(
        self, shelf: ImageShelf, tmp_path: Path, member: str
    ) -> None:
        inside = None
        try:
            tree = shelf.take("evil", root_tar(tmp_path / "root.tar", member), discard_line)
            inside = Path(tree.path)
        except AtollError:
            assert list(shelf.list()) == []
        for path in (*tmp_path.rglob("out"), *Path("/").glob("out")):
            assert inside is not None and path.is_relative_to(inside)

    @pytest.mark.parametrize("name", HOSTILE_NAMES)
    def test_hostile_name_never_becomes_a_path(
        self, shelf: ImageShelf, tmp_path: Path, name: str
    ) -> None:
        with pytest.raises(Invalid):
            shelf.take(name, root_tar(tmp_path / "root.tar"), discard_line)
        with pytest.raises(NotFound):
            shelf.remove(name)

    @pytest.mark.parametrize("reference", NO_REFERENCES)
    def test_pull_of_what_is_no_reference_is_refused(
        self, shelf: ImageShelf, reference: str
    ) -> None:
        with pytest.raises(Invalid):
            shelf.pull(reference, discard_line)
        assert list(shelf.list()) == []

    def test_unknown_tree_is_not_found(self, shelf: ImageShelf) -> None:
        for name in ("absent", "docker.io/library/absent:1"):
            with pytest.raises(NotFound):
                shelf.remove(name)


class ImageBuilderContract:
    """A contract of image builders. Fixtures: `builder`, and `recipe`, a folder with a Dockerfile
    that was not built yet."""

    def test_unchanged_recipe_is_built_once(self, builder: ImageBuilder, recipe: str) -> None:
        built = builder.build(recipe, discard_line, again=False)
        assert built.new and built.name == recipe and built.id
        same = builder.build(recipe, discard_line, again=False)
        assert not same.new and same.id == built.id
        assert builder.remove(recipe)
        assert list(builder.remove(recipe)) == []

    def test_recipe_is_built_again_on_request_and_after_a_removal(
        self, builder: ImageBuilder, recipe: str
    ) -> None:
        lines: list[str] = []
        builder.build(recipe, discard_line, again=False)
        assert builder.build(recipe, lines.append, again=True).new
        assert lines and all("\n" not in line for line in lines)
        assert builder.remove(recipe)
        assert builder.build(recipe, discard_line, again=False).new
        builder.remove(recipe)

    def test_recipe_that_is_not_there_is_refused(self, builder: ImageBuilder) -> None:
        with pytest.raises(Invalid):
            builder.build("absent", discard_line, again=False)
        assert list(builder.remove("absent")) == []

    @pytest.mark.parametrize("name", HOSTILE_NAMES)
    def test_hostile_name_never_becomes_a_path(self, builder: ImageBuilder, name: str) -> None:
        with pytest.raises(Invalid):
            builder.build(name, discard_line, again=False)
        with pytest.raises(Invalid):
            builder.remove(name)
