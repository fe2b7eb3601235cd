"""Bundles let in by the zygote: what is good arrives, what is hostile does not."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.adapters.repos.git import Git, GitCall, GitReply
from atoll.adapters.repos.pack_files import check_pack_files
from atoll.adapters.repos.shelf import Settings, Shelf
from atoll.adapters.zygote.importer import ZygoteImporter
from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.ids import PERSONAL_ORG
from atoll.domain.repository.repository import read_local
from atoll.ports.repositories import ImportJob
from atoll.testing import ImporterContract
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.git.bundle import read_header
from tests.claims import claim_person

REFSPEC = "refs/heads/main:refs/heads/in"


@pytest.fixture(scope="module", params=["root", "rootless"])
def rig(request: pytest.FixtureRequest) -> Iterator[ZygoteRig]:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    uid = 0 if request.param == "root" else claim_person()
    with zygote_rig(uid) as running:
        for name in ("run/import", "repos"):
            (running.home.root / name).mkdir(mode=0o755)
            os.chown(running.home.root / name, uid, uid)
        yield running


def git(*argv: str, cwd: Path) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *argv],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    git("init", "-q", "-b", "main", str(tmp_path / "w"), cwd=tmp_path)
    work = tmp_path / "w"
    for text in ("one", "two"):
        (work / "f").write_text(text)
        git("add", "f", cwd=work)
        git("commit", "-q", "-m", text, cwd=work)
    return work


def job(rig: ZygoteRig, source: Path, *revisions: str, **more: object) -> ImportJob:
    folder = rig.home.imports / os.urandom(6).hex()
    folder.mkdir(mode=0o700)
    git("init", "-q", "--bare", str(folder / "r.git"), cwd=source)
    git("bundle", "create", "-q", str(folder / "b"), *revisions, cwd=source)
    subprocess.run(["chown", "-R", f"{rig.uid}:{rig.uid}", str(folder)], check=True)
    return ImportJob(folder / "r.git", folder / "b", (REFSPEC,), **more)  # type: ignore[arg-type]


def owned(rig: ZygoteRig, path: Path) -> list[str]:
    return [str(each) for each in path.rglob("*") if each.lstat().st_uid != rig.uid]


async def test_import_of_a_bundle_brings_its_branch(rig: ZygoteRig, source: Path) -> None:
    wanted = job(rig, source, "main")
    importer = ZygoteImporter(rig.home.socket)
    await importer.run(wanted)
    await importer.close()
    head = git("-c", "safe.directory=*", "rev-parse", "refs/heads/in", cwd=wanted.repo_dir)
    assert head == git("rev-parse", "main", cwd=source)
    assert owned(rig, wanted.repo_dir.parent) == []


async def test_import_of_a_thin_bundle_uses_its_alternate(rig: ZygoteRig, source: Path) -> None:
    shared = rig.home.repositories / f"{os.urandom(4).hex()}.git"
    git("clone", "-q", "--bare", str(source), str(shared), cwd=source)
    git("update-ref", "refs/heads/main", "main~1", cwd=shared)
    git("gc", "-q", "--prune=now", cwd=shared)
    subprocess.run(["chown", "-R", f"{rig.uid}:{rig.uid}", str(shared)], check=True)
    wanted = job(rig, source, "main~1..main", alternates=(shared,))
    note = wanted.repo_dir / "objects/info/alternates"
    note.write_text(f"{shared}/objects\n")
    os.chown(note, rig.uid, rig.uid)
    before = tree_of(shared)
    importer = ZygoteImporter(rig.home.socket)
    await importer.run(wanted)
    await importer.close()
    inside = ("-c", "safe.directory=*")
    head, below = git("rev-parse", "main", "main~1", cwd=source).split()
    assert git(*inside, "rev-parse", "refs/heads/in", cwd=wanted.repo_dir).strip() == head
    assert git(*inside, "cat-file", "-t", below, cwd=wanted.repo_dir).strip() == "commit"
    assert tree_of(shared) == before
    assert owned(rig, wanted.repo_dir.parent) == []
    note.unlink()
    assert git(*inside, "cat-file", "-t", head, cwd=wanted.repo_dir).strip() == "commit"
    with pytest.raises(subprocess.CalledProcessError):
        git(*inside, "cat-file", "-e", below, cwd=wanted.repo_dir)


async def test_import_of_a_thin_bundle_without_what_it_stands_on_is_refused(
    rig: ZygoteRig, source: Path
) -> None:
    wanted = job(rig, source, "main~1..main")
    importer = ZygoteImporter(rig.home.socket)
    with pytest.raises(Invalid, match="git refused"):
        await importer.run(wanted)
    await importer.close()
    refs = git("-c", "safe.directory=*", "for-each-ref", cwd=wanted.repo_dir)
    assert refs.strip() == ""


def tree_of(folder: Path) -> dict[str, int]:
    """Every file below, by its size."""
    files = (each for each in folder.rglob("*") if each.is_file())
    return {str(each): each.stat().st_size for each in files}


async def test_import_of_garbage_is_refused_with_git_s_words(rig: ZygoteRig, source: Path) -> None:
    wanted = job(rig, source, "main")
    wanted.bundle.write_bytes(b"# v2 git bundle\n" + b"0" * 40 + b" refs/heads/main\n\nPACKjunk")
    importer = ZygoteImporter(rig.home.socket)
    with pytest.raises(Invalid, match="git refused"):
        await importer.run(wanted)
    await importer.close()
    assert owned(rig, wanted.repo_dir.parent) == []


async def test_import_of_too_much_is_refused(rig: ZygoteRig, source: Path) -> None:
    wanted = job(rig, source, "main", max_bytes=64)
    importer = ZygoteImporter(rig.home.socket)
    with pytest.raises(LimitReached):
        await importer.run(wanted)
    await importer.close()


@pytest.mark.parametrize("where", ["/etc", "{imports}/../../boxes", "{imports}"])
async def test_import_into_another_place_is_refused(
    rig: ZygoteRig, source: Path, where: str
) -> None:
    wanted = job(rig, source, "main")
    place = Path(where.format(imports=rig.home.imports))
    importer = ZygoteImporter(rig.home.socket)
    with pytest.raises(Invalid):
        await importer.run(ImportJob(place, wanted.bundle, (REFSPEC,)))
    with pytest.raises(Invalid):
        await importer.run(ImportJob(wanted.repo_dir, wanted.bundle, ("--upload-pack=x",)))
    await importer.close()


async def test_import_with_a_link_in_the_repository_hands_nothing_over(
    rig: ZygoteRig, source: Path
) -> None:
    if rig.uid != 0:
        pytest.skip("rootless: nothing changes hands")
    wanted = job(rig, source, "main")
    prize = rig.home.root / "prize"
    prize.write_text("x")
    os.chown(prize, 12345, 12345)
    os.link(prize, wanted.repo_dir / "hard")
    importer = ZygoteImporter(rig.home.socket)
    with pytest.raises(Exception, match="no plain file"):
        await importer.run(wanted)
    await importer.close()
    assert prize.stat().st_uid == 12345


async def users_of_git(wanted: ImportJob, wait: Path, work: "asyncio.Task[None]") -> set[int]:
    """The uids that git runs as for one import, whose alternate's note is the pipe `wait`: git
    stands still until it is opened here, and its processes are known by what they have mounted."""
    seen: set[int] = set()
    while not work.done():
        await asyncio.sleep(0.01)
        try:
            pipe = os.open(wait, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            continue  # nobody reads yet
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                mounted = str(wanted.repo_dir) in (entry / "mountinfo").read_text()
                if mounted and (entry / "comm").read_text().strip() == "git":
                    seen.add((entry / "status").stat().st_uid)
            except OSError:
                continue
        os.close(pipe)
    await work
    return seen


async def test_pack_is_indexed_by_somebody_else_than_who_fetched_it(
    rig: ZygoteRig, source: Path
) -> None:
    shared = rig.home.repositories / f"{os.urandom(4).hex()}.git"
    git("clone", "-q", "--bare", str(source), str(shared), cwd=source)
    wait = shared / "objects/info/alternates"
    os.mkfifo(wait)
    subprocess.run(["chown", "-R", f"{rig.uid}:{rig.uid}", str(shared)], check=True)
    wait.chmod(0o644)
    fetching = job(rig, source, "main", alternates=(shared,))
    (fetching.repo_dir / "objects/info/alternates").write_text(f"{shared}/objects\n")
    indexing = job(rig, source, "main", alternates=(shared,))
    (indexing.repo_dir / "objects/info/alternates").write_text(f"{shared}/objects\n")
    at = read_header(indexing.bundle.read_bytes()).size
    indexing = replace(indexing, refspecs=(), pack_at=at)
    users: list[set[int]] = []
    for wanted in (fetching, indexing):
        importer = ZygoteImporter(rig.home.socket)
        work = asyncio.create_task(importer.run(wanted))  # noqa: TID251  awaited by users_of_git
        users.append(await users_of_git(wanted, wait, work))
        await importer.close()
    fetched, indexed = users
    assert fetched and indexed
    if rig.uid == 0:
        assert len(fetched) == len(indexed) == 1
        assert not fetched & indexed and not {0, rig.uid} & (fetched | indexed)
    made = check_pack_files(indexing.repo_dir / "objects/pack", indexing.bundle, at)
    assert made.index.stat().st_uid == rig.uid
    listed = git("verify-pack", "-v", str(made.index), cwd=source)
    assert git("rev-parse", "main", cwd=source) in listed


@pytest.mark.root
async def test_control_plane_s_own_git_never_reads_the_pack(
    rig: ZygoteRig, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if rig.uid != 0 or os.geteuid() != 0:
        pytest.skip("needs root, to be the control plane of the rig")
    ran: list[str] = []
    run = Git.run

    async def noted(self: Git, call: GitCall) -> GitReply:
        ran.append(call.args[0])
        return await run(self, call)

    monkeypatch.setattr(Git, "run", noted)
    importer = ZygoteImporter(rig.home.socket)
    shelf = Shelf(Settings(rig.home.repositories, rig.home.imports), importer)
    stored = await shelf.place(read_local("cd" * 12, "work"), PERSONAL_ORG)
    git("bundle", "create", "-q", str(source.parent / "b"), "main", cwd=source)
    async with shelf.intake() as intake:
        intake.write((source.parent / "b").read_bytes())
        ran.clear()
        refs = await intake.verify(stored)
        assert set(ran) == {"init"}
        await shelf.take(intake, stored, refs)
    await importer.close()
    head = git("-c", "safe.directory=*", "rev-parse", "main", cwd=stored.path)
    assert head == git("rev-parse", "main", cwd=source)


async def test_import_that_asks_for_both_or_neither_is_refused(
    rig: ZygoteRig, source: Path
) -> None:
    wanted = job(rig, source, "main")
    importer = ZygoteImporter(rig.home.socket)
    for odd in (replace(wanted, pack_at=0), replace(wanted, refspecs=())):
        with pytest.raises(Invalid, match="either"):
            await importer.run(odd)
    with pytest.raises(Invalid, match="git refused"):
        await importer.run(replace(wanted, refspecs=(), pack_at=3))
    await importer.close()


class TestZygoteImporter(ImporterContract):
    @pytest.fixture
    async def importer(self, rig: ZygoteRig) -> AsyncIterator[ZygoteImporter]:
        made = ZygoteImporter(rig.home.socket)
        yield made
        await made.close()

    @pytest.fixture
    def scratch(self, rig: ZygoteRig) -> Path:
        place = rig.home.imports / os.urandom(6).hex()
        place.mkdir(mode=0o700)
        return place

    def hand_over(self, scratch: Path) -> None:
        uid = scratch.parent.stat().st_uid
        subprocess.run(["chown", "-R", f"{uid}:{uid}", str(scratch)], check=True)
