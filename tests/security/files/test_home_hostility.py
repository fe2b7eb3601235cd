"""What a bundle on its way home may try: bombs, odd refs, and files that a checkout would obey."""

import hashlib
import struct
import zlib
from pathlib import Path

import pytest

from atoll.domain.errors import AtollError, Invalid
from atoll.surfaces.cli.transfer.pulled_branch import take_in
from tests.peers.git_tree import Tree, new_tree
from tests.security.files.test_repository_hostility import Gate, bundle_of, gate

__all__ = ["gate"]

BLOB, OFS_DELTA = 3, 6
BASE = b"x" * 65536


def entry(kind: int, size: int, body: bytes, *, back: int | None = None) -> bytes:
    """An object of a pack (gitformat-pack); `back` is the distance to a delta's base."""
    first, size = kind << 4 | size & 15, size >> 4
    head = bytearray()
    while size:
        head.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    head.append(first)
    if back is not None:
        offset = [back & 0x7F]
        while back := back >> 7:
            back -= 1
            offset.insert(0, back & 0x7F | 0x80)
        head += bytes(offset)
    return bytes(head) + zlib.compress(body, 9)


def number(value: int) -> bytes:
    said = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        said.append(low | (0x80 if value else 0))
        if not value:
            return bytes(said)


def multiplied(size: int, times: int) -> bytes:
    """A delta that copies the first 64 KiB of its base `times` times."""
    return number(size) + number(65536 * times) + b"\x80" * times


def pack_of(*entries: bytes) -> bytes:
    whole = b"PACK" + struct.pack(">II", 2, len(entries)) + b"".join(entries)
    return whole + hashlib.sha1(whole, usedforsecurity=False).digest()


async def test_delta_that_makes_gigabytes_of_a_kilobyte_is_refused(gate: Gate) -> None:
    base = entry(BLOB, len(BASE), BASE)
    delta = multiplied(len(BASE), 131072)
    bomb = entry(OFS_DELTA, len(delta), delta, back=len(base))
    whole = f"# v2 git bundle\n{'a' * 40} refs/heads/main\n\n".encode() + pack_of(base, bomb)
    assert len(whole) < 4096
    before = await gate.state()
    with pytest.raises(AtollError):
        await gate.let_in(whole)
    assert await gate.state() == before


async def test_bundle_of_too_many_branches_is_refused_by_its_header(gate: Gate) -> None:
    tip = gate.tree.commit("a", "a")
    names = "".join(f"{tip} refs/heads/b{one}\n" for one in range(300))
    pack = bundle_of(gate.tree, "main").split(b"\n\n", 1)[1]
    with pytest.raises(Invalid, match="300 branches"):
        await gate.let_in(f"# v2 git bundle\n{names}\n".encode() + pack)


@pytest.mark.parametrize("kind", ["blob", "tree"])
async def test_branch_that_is_no_commit_is_refused(gate: Gate, kind: str) -> None:
    tip = gate.tree.commit("a", "a")
    other = gate.tree.git("rev-parse", "main:a" if kind == "blob" else "main^{tree}")
    whole = bundle_of(gate.tree, "main").replace(tip.encode(), other.encode(), 1)
    before = await gate.state()
    with pytest.raises(AtollError):
        await gate.let_in(whole)
    assert await gate.state() == before


def test_nothing_that_comes_home_runs_or_touches_the_working_tree(tmp_path: Path) -> None:
    mine, theirs, pwned = new_tree(tmp_path / "mine"), Tree(tmp_path / "theirs"), tmp_path / "ran"
    mine.git("clone", "-q", str(mine.path), str(theirs.path))
    payload = tmp_path / "payload"
    payload.write_text(f"#!/bin/sh\ntouch {pwned}\ncat\n")
    payload.chmod(0o755)
    for key in ("clean", "smudge", "process"):
        mine.git("config", f"filter.lfs.{key}", str(payload))
    mine.git("config", "diff.external", str(payload))
    mine.git("config", "submodule.recurse", "true")
    mine.git("config", "fetch.recurseSubmodules", "true")
    urls = (f"ext::sh -c touch% {pwned}", f"file://{theirs.path}", "https://h.invalid/o/r")
    modules = "".join(
        f'[submodule "m{n}"]\n\tpath = m{n}\n\turl = {url}\n\tupdate = !touch {pwned}\n'
        for n, url in enumerate(urls)
    )
    # The server's check refuses `update = !…`; the person's checkout does not depend on that.
    theirs.commit(".gitmodules", modules)
    theirs.commit(".gitattributes", "* filter=lfs diff=lfs merge=lfs\n*.x ident export-subst\n")
    theirs.commit(".lfsconfig", "[lfs]\n\turl = https://evil.invalid\n")
    theirs.commit("big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    theirs.commit("README.MD", "a twin\n")
    (theirs.path / "link").symlink_to("/etc/passwd")
    (theirs.path / "out").symlink_to("../../escape")
    commit = theirs.git("rev-parse", "HEAD")
    theirs.git("add", "-A")
    theirs.git("update-index", "--add", "--cacheinfo", f"160000,{commit},m2")
    theirs.git("commit", "-qm", "links")
    theirs.git("branch", "work")
    bundle = tmp_path / "b.bundle"
    theirs.git("bundle", "create", "-q", str(bundle), "work", "--not", "origin/main")
    before = mine.git("status", "--porcelain"), mine.git("rev-parse", "HEAD")
    got = take_in(mine.path, bundle)
    assert got.commit == theirs.git("rev-parse", "work")
    assert {".gitmodules", ".gitattributes", ".lfsconfig"} <= set(got.flagged)
    assert not pwned.exists() and not (tmp_path / "escape").exists()
    assert (mine.git("status", "--porcelain"), mine.git("rev-parse", "HEAD")) == before
    assert sorted(one.name for one in mine.path.iterdir()) == [".git", "README.md"]
    assert not (mine.path / ".git" / "modules").exists()
