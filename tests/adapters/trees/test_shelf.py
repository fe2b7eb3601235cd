import os
import platform
import stat
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from atoll.adapters.trees.found import FoundTrees
from atoll.adapters.trees.image_parts import MACHINES
from atoll.adapters.trees.shelf import TreeShelf
from atoll.adapters.trees.unpack import TreeLimits
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Failed,
    Forbidden,
    Invalid,
    LimitReached,
    NotFound,
)
from atoll.domain.sandboxes.image import read_reference
from atoll.ports.images import ImageShelf, Tree
from atoll.testing import (
    FakeImageBuilder,
    FakeImageShelf,
    FakeTrees,
    ImageBuilderContract,
    ImageShelfContract,
    TreesContract,
)
from atoll.testing.contracts.images import root_tar
from tests.adapters.trees.images import Files, layer, layout, member, packed, push, saved
from tests.claims import claim_far_uid
from tests.peers.registry import TOKEN, registry

BASE: Files = {
    "usr/bin/tool": b"one",
    "etc/conf": b"old",
    "etc/drop": b"x",
    "var/cache/a": b"a",
    "var/cache/b": b"b",
    "lib": member(tarfile.SYMTYPE, goal="usr/lib"),
    "usr/lib/x": b"x",
}
NEXT: Files = {
    "./etc/conf": b"new",
    "etc/.wh.drop": b"",
    "var/cache/.wh..wh..opq": b"",
    "var/cache/c": b"c",
    "lib/through": b"by the link",
    "hard": member(tarfile.LNKTYPE, goal="usr/bin/tool"),
}
HERE = MACHINES.get(platform.machine(), platform.machine())
UID = claim_far_uid()


class Sandboxes:
    """Who is built on what."""

    def __init__(self) -> None:
        self.by_tree: dict[Path, list[str]] = {}

    def __call__(self, tree: Path) -> list[str]:
        return self.by_tree.get(tree, [])


@pytest.fixture
def sandboxes() -> Sandboxes:
    return Sandboxes()


@pytest.fixture
def shelf(tmp_path: Path, sandboxes: Sandboxes) -> TreeShelf:
    uid = UID if os.geteuid() == 0 else None
    caps = TreeLimits(bytes=1_000_000, files=200)
    return TreeShelf(tmp_path / "images", lambda: uid, sandboxes, caps)


def quiet(_line: str) -> None:
    return


def contents(path: str) -> dict[str, bytes]:
    top = Path(path)
    return {str(one.relative_to(top)): one.read_bytes() for one in sorted(top.rglob("*"))
            if one.is_file() and not one.is_symlink()}  # fmt: skip


@pytest.fixture(params=["layout", "layout-tar", "docker-save"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    layers = (layer(BASE), layer(NEXT))
    if request.param == "docker-save":
        return saved(tmp_path / "saved.tar", *layers)
    folder = layout(tmp_path / "layout", *layers, machine=HERE)
    return folder if request.param == "layout" else packed(folder, tmp_path / "layout.tar")


def test_image_of_two_layers_is_laid_out_with_its_whiteouts(shelf: TreeShelf, source: Path) -> None:
    tree = shelf.take("two", source, quiet)
    assert contents(tree.path) == {
        "usr/bin/tool": b"one",
        "hard": b"one",
        "etc/conf": b"new",
        "var/cache/c": b"c",
        "usr/lib/x": b"x",
        "usr/lib/through": b"by the link",
    }
    assert tree.digest is not None
    assert FoundTrees(shelf.folder).look("two") == tree
    assert [one.name for one in shelf.list()] == ["two"]
    assert list(shelf.folder.glob(".making-*")) == []
    if os.geteuid() == 0:
        assert Path(tree.path, "usr/bin/tool").stat().st_uid == UID


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_tar_of_a_root_is_laid_out_whatever_compresses_it(
    shelf: TreeShelf, tmp_path: Path, mode: str
) -> None:
    (tmp_path / "f").write_text("hello")
    with tarfile.open(tmp_path / "root.tar", mode) as archive:  # type: ignore[call-overload]
        archive.add(tmp_path / "f", "./etc/hello")
    assert contents(shelf.take("plain", tmp_path / "root.tar", quiet).path) == {
        "etc/hello": b"hello"
    }


def test_special_files_and_bits_are_left_out(shelf: TreeShelf, tmp_path: Path) -> None:
    program = member(tarfile.REGTYPE, mode=0o6755)
    files: Files = {
        "su": program,
        "disk": member(tarfile.BLKTYPE),
        "null": member(tarfile.CHRTYPE),
        "pipe": member(tarfile.FIFOTYPE),
        "closed": member(tarfile.DIRTYPE, mode=0o000),
        "sticky": member(tarfile.DIRTYPE, mode=0o7777),
        "closed/in": b"",
    }
    (tmp_path / "t.tar").write_bytes(layer(files))
    tree = shelf.take("special", tmp_path / "t.tar", quiet)
    assert tree.left_out == 3
    top = Path(tree.path)
    assert stat.S_IMODE((top / "su").stat().st_mode) == 0o755
    assert stat.S_IMODE((top / "sticky").stat().st_mode) == 0o777
    assert stat.S_IMODE((top / "closed").stat().st_mode) == 0o700
    assert sorted(one.name for one in top.iterdir()) == ["closed", "sticky", "su"]


@pytest.mark.parametrize(
    "name", ["../out", "/etc/out", "a/../../out", "./../out", "a/b/../../../x", "x\0y"]
)
def test_name_that_leads_out_is_refused(shelf: TreeShelf, tmp_path: Path, name: str) -> None:
    (tmp_path / "t.tar").write_bytes(layer({name.replace("\0", "%00"): b"x"}) if "\0" not in name
                                     else layer({"ok": b"x"}))  # fmt: skip
    if "\0" in name:
        info = tarfile.TarInfo("short")
        info.pax_headers = {"path": name}
        (tmp_path / "t.tar").write_bytes(info.tobuf(tarfile.PAX_FORMAT) + bytes(1024))
    with pytest.raises(AtollError):
        shelf.take("bad", tmp_path / "t.tar", quiet)
    assert shelf.list() == []
    assert list(shelf.folder.iterdir()) == []


def test_links_that_lead_out_lead_nowhere(shelf: TreeShelf, tmp_path: Path) -> None:
    bait = tmp_path / "bait"
    bait.mkdir()
    tmp_path.chmod(0o755)
    bait.chmod(0o777)
    files: Files = {
        "abs": member(tarfile.SYMTYPE, goal=str(bait)),
        "up": member(tarfile.SYMTYPE, goal=f"../../../../../..{bait}"),
        "abs/one": b"1",
        "up/two": b"2",
        "passwd": member(tarfile.SYMTYPE, goal="/etc/passwd"),
        "passwd/x": b"3",
    }
    (tmp_path / "t.tar").write_bytes(layer(dict(list(files.items())[:4])))
    tree = shelf.take("links", tmp_path / "t.tar", quiet)
    assert list(bait.iterdir()) == []
    # They are followed as in the image's own root.
    assert contents(tree.path) == {f"{str(bait)[1:]}/one": b"1", f"{str(bait)[1:]}/two": b"2"}


def test_hard_link_out_of_the_root_is_no_file_of_the_host(shelf: TreeShelf, tmp_path: Path) -> None:
    for number, goal in enumerate(("/etc/passwd", "../../etc/passwd", "etc/passwd")):
        (tmp_path / "t.tar").write_bytes(layer({"h": member(tarfile.LNKTYPE, goal=goal)}))
        with pytest.raises(AtollError):
            shelf.take(f"hard{number}", tmp_path / "t.tar", quiet)
    assert shelf.list() == []


def test_whiteout_of_a_link_removes_the_link_alone(shelf: TreeShelf, tmp_path: Path) -> None:
    below = layer({"real/f": b"1", "link": member(tarfile.SYMTYPE, goal="real")})
    source = saved(tmp_path / "s.tar", below, layer({".wh.link": b""}))
    assert contents(shelf.take("gone", source, quiet).path) == {"real/f": b"1"}


@pytest.mark.parametrize("name", [".wh.", ".wh..", ".wh...", "real/.wh..."])
def test_whiteout_of_no_name_is_refused(shelf: TreeShelf, tmp_path: Path, name: str) -> None:
    source = saved(tmp_path / "s.tar", layer({"real/f": b"1"}), layer({name: b""}))
    with pytest.raises(Invalid):
        shelf.take("gone", source, quiet)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({f"f{n}": b"" for n in range(201)}, "more than 200 files"),
        ({"big": bytes(1_000_001)}, "larger than"),
    ],
)
def test_image_past_its_caps_is_refused(
    shelf: TreeShelf, tmp_path: Path, files: Files, said: str
) -> None:
    (tmp_path / "t.tar").write_bytes(layer(files))
    with pytest.raises(LimitReached, match=said):
        shelf.take("big", tmp_path / "t.tar", quiet)
    assert list(shelf.folder.iterdir()) == []


def test_bomb_that_unpacks_to_nothing_but_air_is_refused(shelf: TreeShelf, tmp_path: Path) -> None:
    import gzip

    info = tarfile.TarInfo("air")
    info.size = 2**33
    with gzip.open(tmp_path / "t.tar.gz", "wb", compresslevel=1) as out:
        out.write(info.tobuf())
        for _ in range(64):
            out.write(bytes(2**20))
    with pytest.raises(LimitReached):
        shelf.take("bomb", tmp_path / "t.tar.gz", quiet)


def test_damaged_layer_is_refused(shelf: TreeShelf, tmp_path: Path) -> None:
    folder = layout(tmp_path / "l", layer(BASE), machine=HERE)
    biggest = max((folder / "blobs" / "sha256").iterdir(), key=lambda each: each.stat().st_size)
    biggest.write_bytes(biggest.read_bytes()[:-1] + b"!")
    with pytest.raises(Failed, match=r"damaged|cannot be read"):
        shelf.take("bad", folder, quiet)
    assert shelf.list() == []


def test_saved_layer_of_another_digest_is_refused(shelf: TreeShelf, tmp_path: Path) -> None:
    source = saved(tmp_path / "s.tar", layer(BASE))
    source.write_bytes(source.read_bytes().replace(b"old", b"OLD"))
    with pytest.raises(Failed, match="damaged"):
        shelf.take("bad", source, quiet)


@pytest.mark.parametrize("name", ["host", "oci", "../x", "", "A", ".x", "a/b", "x" * 64, "a..b"])
def test_odd_name_of_a_tree_is_refused(shelf: TreeShelf, tmp_path: Path, name: str) -> None:
    with pytest.raises(Invalid):
        shelf.take(name, tmp_path, quiet)


def test_garbage_is_refused_as_an_image(shelf: TreeShelf, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"nothing of the kind" * 1000)
    with pytest.raises(Failed):
        shelf.take("x", tmp_path / "x", quiet)
    with pytest.raises(Invalid):
        shelf.take("x", tmp_path / "absent", quiet)


def test_tree_in_use_or_of_a_taken_name_stays(
    shelf: TreeShelf, sandboxes: Sandboxes, tmp_path: Path
) -> None:
    (tmp_path / "t.tar").write_bytes(layer({"a": b"1"}))
    tree = shelf.take("used", tmp_path / "t.tar", quiet)
    with pytest.raises(Conflict, match="already"):
        shelf.take("used", tmp_path / "t.tar", quiet)
    sandboxes.by_tree[Path(tree.path)] = ["box"]
    with pytest.raises(Conflict, match="box"):
        shelf.remove("used")
    sandboxes.by_tree.clear()
    shelf.remove("used")
    assert shelf.list() == []
    with pytest.raises(NotFound):
        shelf.remove("used")


def test_folder_of_images_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    folder = tmp_path / "images"
    folder.mkdir()
    os.chown(folder, UID, UID)
    with pytest.raises(Forbidden):
        TreeShelf(folder, lambda: UID, lambda _tree: []).prune()


@pytest.fixture(params=[False, True], ids=["open", "token"])
def private(request: pytest.FixtureRequest) -> Iterator[bool]:
    yield request.param


def test_pull_fetches_checks_and_unpacks_once(shelf: TreeShelf, private: bool) -> None:
    with registry(private=private) as peer:
        for tag in ("1", "again"):
            peer.tags["team/build", tag] = push(peer.add, layer(BASE), layer(NEXT), machine=HERE)
        tree = shelf.pull(peer.reference("team/build", "1"), quiet)
        assert contents(tree.path)["etc/conf"] == b"new"
        assert dict(tree.env)["TOOL"] == "1"
        again = shelf.pull(peer.reference("team/build", "again"), quiet)
        assert again.path == tree.path
        sent = {authorization for path, authorization in peer.seen if "/v2/" in path}
        assert (f"Bearer {TOKEN}" in sent) is private
        assert {a for path, a in peer.seen if path.startswith("/elsewhere")} == {None}
        found = FoundTrees(shelf.folder).look(peer.reference("team/build", "1"))
        assert found.path == tree.path
        shelf.remove(peer.reference("team/build", "1"))
        assert Path(tree.path).exists()  # the other tag still means it
        shelf.remove(peer.reference("team/build", "again"))
        assert not Path(tree.path).exists()


def test_pull_of_a_blob_that_comes_changed_is_refused(shelf: TreeShelf) -> None:
    with registry() as peer:
        peer.tags["x", "1"] = push(peer.add, layer(BASE), machine=HERE)
        peer.spoil = max(peer.blobs, key=lambda digest: len(peer.blobs[digest]))
        with pytest.raises(AtollError):
            shelf.pull(peer.reference("x", "1"), quiet)
    assert shelf.list() == []
    assert list(shelf.folder.iterdir()) == []


def test_pull_of_what_is_not_there_or_not_for_us_is_refused(shelf: TreeShelf) -> None:
    with registry() as peer:
        with pytest.raises(NotFound):
            shelf.pull(peer.reference("x", "none"), quiet)
        peer.tags["x", "1"] = push(peer.add, layer(BASE), machine="vax")
        with pytest.raises(Invalid, match="vax"):
            shelf.pull(peer.reference("x", "1"), quiet)


def test_find_of_an_absent_image_says_how_to_get_it(shelf: TreeShelf) -> None:
    with pytest.raises(Invalid, match="atoll image pull debian:12"):
        FoundTrees(shelf.folder).look("debian:12")


def test_folder_with_a_dockerfile_is_a_recipe_and_no_root(shelf: TreeShelf) -> None:
    for name in ("root", "recipe"):
        (shelf.folder / name).mkdir(parents=True)
    (shelf.folder / "recipe" / "Dockerfile").write_text("FROM scratch\n")
    assert [tree.name for tree in shelf.list()] == ["root"]


class TestTreeShelf(ImageShelfContract):
    """The suite on this module's shelf."""

    @contextmanager
    def occupied(self, shelf: ImageShelf, tree: Tree) -> Iterator[None]:
        assert isinstance(shelf, TreeShelf) and isinstance(shelf.users, Sandboxes)
        shelf.users.by_tree[Path(tree.path)] = ["box"]
        yield
        shelf.users.by_tree.clear()


class TestFakeImageShelf(ImageShelfContract):
    @pytest.fixture
    def shelf(self, tmp_path: Path) -> FakeImageShelf:
        return FakeImageShelf(tmp_path / "images")

    @contextmanager
    def occupied(self, shelf: ImageShelf, tree: Tree) -> Iterator[None]:
        assert isinstance(shelf, FakeImageShelf)
        shelf.users[tree.path] = ("box",)
        yield
        shelf.users.clear()

    def test_pulled_image_goes_with_its_last_reference(
        self, shelf: FakeImageShelf, tmp_path: Path
    ) -> None:
        for name in ("one", "two"):
            shelf.registry[str(read_reference(name))] = root_tar(tmp_path / "root.tar")
        trees = [shelf.pull(name, quiet) for name in ("one", "two")]
        assert trees[0].path == trees[1].path
        with pytest.raises(NotFound):
            shelf.pull("three", quiet)
        shelf.registry[str(read_reference("one"))] = root_tar(tmp_path / "new.tar", "bin/new")
        shelf.pull("one", quiet)
        assert shelf.prune() == []
        shelf.remove("two")
        assert not Path(trees[1].path).exists()
        assert len(shelf.list()) == 1


class TestFoundTrees(TreesContract):
    @pytest.fixture
    def trees(self, tmp_path: Path, shelf: TreeShelf) -> FoundTrees:
        shelf.take("small", root_tar(tmp_path / "root.tar"), quiet)
        return FoundTrees(tmp_path / "images")

    @pytest.fixture
    def present(self) -> str:
        return "small"


class TestFakeTrees(TreesContract):
    @pytest.fixture
    def trees(self, tmp_path: Path) -> FakeTrees:
        return FakeTrees({"small": Tree("small", str(tmp_path))})

    @pytest.fixture
    def present(self) -> str:
        return "small"


class TestFakeImageBuilder(ImageBuilderContract):
    @pytest.fixture
    def builder(self) -> FakeImageBuilder:
        return FakeImageBuilder({"web": "FROM scratch\n"})

    @pytest.fixture
    def recipe(self) -> str:
        return "web"

    def test_image_that_a_container_uses_stays(self, builder: FakeImageBuilder) -> None:
        builder.build("web", quiet, again=False)
        builder.users["web"] = "box"
        with pytest.raises(Conflict):
            builder.remove("web")
