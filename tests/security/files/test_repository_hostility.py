"""What an agent, or whoever uploads, may try with git."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from atoll.adapters.repos.direct_importer import DirectImporter
from atoll.adapters.repos.shelf import Settings, Shelf
from atoll.domain.errors import AtollError, Invalid, LimitReached
from atoll.domain.ids import PERSONAL_ORG
from atoll.domain.repository.repository import read_local
from atoll.ports.repositories import ImportJob, StoredRepository
from atoll.surfaces.cli.transfer.pulled_branch import take_in
from tests.peers.git_tree import Tree, new_tree

KEY = "ab" * 12


@dataclass
class Gate:
    shelf: Shelf
    stored: StoredRepository
    tree: Tree

    async def let_in(self, bundle: bytes) -> None:
        async with self.shelf.intake() as intake:
            intake.write(bundle)
            refs = await intake.verify(self.stored)
            await self.shelf.take(intake, self.stored, refs)

    async def state(self) -> tuple[str, tuple[str, ...]]:
        """Refs, and every object, of the shared repository."""
        bare = Tree(self.stored.path)
        listed = bare.git("cat-file", "--batch-check", "--batch-all-objects")
        return bare.git("for-each-ref"), tuple(listed.splitlines())


@pytest.fixture
async def gate(tmp_path: Path) -> AsyncIterator[Gate]:
    shelf = Shelf(
        Settings(tmp_path / "repos", tmp_path / "imports", max_bytes=4_000_000), DirectImporter()
    )
    shelf.sweep()
    tree = new_tree(tmp_path / "work")
    stored = await shelf.place(read_local(KEY, "work"), PERSONAL_ORG)
    made = Gate(shelf, stored, tree)
    await made.let_in(bundle_of(tree, "main"))
    yield made


def bundle_of(tree: Tree, *revisions: str) -> bytes:
    file = tree.path.parent / "made.bundle"
    tree.git("bundle", "create", "-q", str(file), *revisions)
    return file.read_bytes()


def planted(tree: Tree, *entries: tuple[str, str, bytes]) -> str:
    """A commit whose top tree holds these (mode, name, content) entries, however wrong."""
    raw = b""
    for mode, name, content in entries:
        blob = tree.git("hash-object", "-w", "--stdin", stdin=content)
        raw += f"{mode} {name}".encode() + b"\0" + bytes.fromhex(blob)
    top = tree.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)
    commit = tree.git("commit-tree", top, "-p", "main", "-m", "planted")
    tree.git("update-ref", "refs/heads/evil", commit)
    return commit


@pytest.mark.parametrize(
    "entries",
    [
        [("100644", ".git", b"x")],
        [("100644", ".GIT", b"x")],
        [("100644", "git~1", b"x")],
        [("100644", "..", b"x")],
        [("100644", "../../escape", b"x")],
        [("100644", "/etc/passwd", b"x")],
        [("100644", ".gitmodules", b'[submodule "a"]\n path = a\n url = -u./payload\n')],
        [("100644", ".gitmodules", b'[submodule "../../x"]\n path = a\n url = https://e.org/r\n')],
        [("120000", ".gitmodules", b"/etc/passwd")],
        [("100644", "a", b"x"), ("100644", "a", b"y")],
    ],
)
async def test_bundle_with_a_planted_tree_is_refused_whole(
    gate: Gate, entries: list[tuple[str, str, bytes]]
) -> None:
    before = await gate.state()
    planted(gate.tree, *entries)
    with pytest.raises(Invalid, match="refused"):
        await gate.let_in(bundle_of(gate.tree, "main..evil"))
    assert await gate.state() == before


async def test_bundle_with_damage_is_refused_whole(gate: Gate) -> None:
    gate.tree.commit("a", "a" * 500)
    whole = bundle_of(gate.tree, "main")
    before = await gate.state()
    for place in (len(whole) // 2, len(whole) - 5):
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        with pytest.raises(AtollError):
            await gate.let_in(bytes(damaged))
    with pytest.raises(AtollError):
        await gate.let_in(whole[:-30])
    assert await gate.state() == before


async def test_bundle_that_claims_what_it_does_not_bring_is_refused(gate: Gate) -> None:
    base = gate.tree.git("rev-parse", "main")
    gate.tree.commit("a", "a")
    tip = gate.tree.commit("b", "b")
    thin = bundle_of(gate.tree, "main~1..main")
    before = await gate.state()
    with pytest.raises(Invalid, match="prerequisite"):
        await gate.let_in(thin)
    # The same pack, with a header that hides what it stands on.
    header, pack = thin.split(b"\n\n", 1)
    for hidden in ("", f"-{base} \n"):
        lie = f"# v2 git bundle\n{hidden}{tip} refs/heads/main\n\n"
        with pytest.raises(Invalid):
            await gate.let_in(lie.encode() + pack)
    with pytest.raises(Invalid):
        await gate.let_in(header.replace(tip.encode(), b"e" * 40) + b"\n\n" + pack)
    assert await gate.state() == before


@pytest.mark.parametrize(
    "ref",
    [
        "refs/heads/../../hooks/post-update", "refs/heads/x.lock", "refs/heads/-x", "HEAD",
        "refs/atoll/saved/x", "refs/replace/x", "refs/remotes/origin/x", "refs/heads/a..b",
    ],
)  # fmt: skip
async def test_bundle_with_a_hostile_ref_name_brings_no_ref(gate: Gate, ref: str) -> None:
    gate.tree.commit("a", "a")
    whole = bundle_of(gate.tree, "main").replace(b"refs/heads/main", ref.encode())
    before = await gate.state()
    with pytest.raises(Invalid):
        await gate.let_in(whole)
    assert await gate.state() == before


async def test_bundle_past_the_size_limit_is_refused_while_it_comes(gate: Gate) -> None:
    async with gate.shelf.intake() as intake:
        for _ in range(3):
            intake.write(b"x" * 1_000_000)
        with pytest.raises(LimitReached, match="larger"):
            intake.write(b"x" * 1_000_001)
    await asyncio.sleep(0)
    assert list((gate.stored.path.parents[2] / "imports").iterdir()) == []


async def test_bundle_that_unpacks_to_far_more_is_bounded(gate: Gate) -> None:
    (gate.tree.path / "zeros").write_bytes(b"\0" * 50_000_000)
    gate.tree.git("add", "zeros")
    gate.tree.git("commit", "-qm", "bomb")
    bundle = bundle_of(gate.tree, "main")
    assert len(bundle) < 200_000
    await gate.let_in(bundle)
    stored = await gate.shelf.settle(gate.stored, "main")
    assert stored.bytes < 400_000  # kept as it came, never unpacked


async def test_take_in_runs_nothing_of_the_checkout_or_the_bundle(tmp_path: Path) -> None:
    tree = new_tree(tmp_path / "mine")
    pwned = tmp_path / "pwned"
    theirs = Tree(tmp_path / "theirs")
    tree.git("clone", "-q", str(tree.path), str(theirs.path))
    theirs.commit(".gitattributes", "* filter=x diff=x\n")
    tip = theirs.commit("b", "b")
    theirs.git("update-ref", "refs/heads/work", tip)
    bundle = tmp_path / "b.bundle"
    theirs.git("bundle", "create", "-q", str(bundle), "work", "--not", "origin/main")
    hooks = tree.path / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("reference-transaction", "post-checkout", "post-index-change", "post-merge"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {pwned}\n")
        (hooks / name).chmod(0o755)
    script = tmp_path / "payload"
    script.write_text(f"#!/bin/sh\ntouch {pwned}\ncat\n")
    script.chmod(0o755)
    for key in ("filter.x.clean", "filter.x.smudge", "diff.x.textconv", "core.fsmonitor"):
        tree.git("config", key, str(script))
    got = take_in(tree.path, bundle)
    assert (got.commit, got.commits, got.flagged) == (tip, 2, (".gitattributes",))
    assert not pwned.exists()
    assert sorted(path.name for path in tree.path.iterdir()) == [".git", "README.md"]


class Taken:
    """An importer that a bundle took over: it indexes, then changes what it hands back."""

    def __init__(self, lie: Callable[[Path, Path], None]) -> None:
        self._lie = lie
        self._honest = DirectImporter()

    async def run(self, job: ImportJob) -> None:
        await self._honest.run(job)
        if job.pack_at is not None:
            folder = job.repo_dir / "objects" / "pack"
            pack, index = (next(folder.glob(f"*.{kind}")) for kind in ("pack", "idx"))
            pack.chmod(0o600)
            index.chmod(0o600)
            self._lie(pack, index)


def summed(data: bytes) -> bytes:
    return data + hashlib.sha1(data, usedforsecurity=False).digest()


def other_bytes(pack: Path, index: Path) -> None:
    """A pack with other content, and every checksum made to fit."""
    data = bytearray(pack.read_bytes()[:-20])
    data[20] ^= 1
    whole = summed(bytes(data))
    pack.write_bytes(whole)
    index.write_bytes(summed(index.read_bytes()[:-40] + whole[-20:]))


def other_count(pack: Path, index: Path) -> None:
    data = bytearray(pack.read_bytes()[:-20])
    data[11] += 1
    whole = summed(bytes(data))
    pack.write_bytes(whole)
    index.write_bytes(summed(index.read_bytes()[:-40] + whole[-20:]))


def index_of_another(pack: Path, index: Path) -> None:
    index.write_bytes(summed(index.read_bytes()[:-40] + b"\x11" * 20))


def index_of_one_more(pack: Path, index: Path) -> None:
    data = index.read_bytes()[:-20]
    index.write_bytes(summed(data[:-20] + bytes(28) + data[-20:]))


def index_cut(pack: Path, index: Path) -> None:
    index.write_bytes(index.read_bytes()[:-1])


def index_changed(pack: Path, index: Path) -> None:
    data = bytearray(index.read_bytes())
    data[1040] ^= 1
    index.write_bytes(data)


def link(pack: Path, index: Path) -> None:
    index.unlink()
    index.symlink_to("/etc/passwd")


def further_file(pack: Path, index: Path) -> None:
    (pack.parent / "../../../evil.pack").write_bytes(b"PACK")
    (pack.parent / f"pack-{'e' * 40}.keep").write_bytes(b"")


def nothing(pack: Path, index: Path) -> None:
    pack.unlink()


@pytest.mark.parametrize(
    "lie",
    [
        other_bytes, other_count, index_of_another, index_of_one_more, index_cut, index_changed,
        link, further_file, nothing,
    ],
)  # fmt: skip
async def test_files_of_an_importer_that_was_taken_over_are_refused(
    gate: Gate, tmp_path: Path, lie: Callable[[Path, Path], None]
) -> None:
    gate.tree.commit("a", "a")
    bundle = bundle_of(gate.tree, "main")
    before = await gate.state()
    settings = Settings(tmp_path / "repos", tmp_path / "imports", max_bytes=4_000_000)
    taken = Gate(Shelf(settings, Taken(lie)), gate.stored, gate.tree)
    with pytest.raises(Invalid, match="does not fit"):
        await taken.let_in(bundle)
    assert await gate.state() == before
    honest = Gate(Shelf(settings, Taken(lambda _pack, _index: None)), gate.stored, gate.tree)
    await honest.let_in(bundle)
    assert await gate.state() != before


async def test_thin_pack_is_taken_with_the_objects_it_was_thin_without(gate: Gate) -> None:
    for number in range(3):
        gate.tree.commit("long", "".join(f"line {one}\n" for one in range(400 + number)))
        await gate.let_in(bundle_of(gate.tree, "main" if number == 0 else "main~1..main"))
    assert gate.tree.git("rev-parse", "main") in (await gate.state())[0]
