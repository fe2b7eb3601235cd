import asyncio
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from atoll.adapters.repos import record
from atoll.adapters.repos.direct_importer import DirectImporter
from atoll.adapters.repos.shelf import Settings, Shelf
from atoll.domain.errors import Forbidden, LimitReached, NotFound, Unavailable
from atoll.domain.ids import PERSONAL_ORG
from atoll.domain.repository.repository import LocalSource, Remote, read_remote
from atoll.ports.repositories import Ref
from atoll.testing import ImporterContract, LocalShelfContract, RepositoryShelfContract
from tests.peers.git_server import GitServer, git_server
from tests.peers.git_tree import Tree, bare_copy, new_tree


def shelf_at(home: Path, **more: object) -> Shelf:
    settings = Settings(home / "repos", home / "imports", allow_loopback=True, **more)  # type: ignore[arg-type]
    shelf = Shelf(settings, DirectImporter())
    shelf.sweep()
    return shelf


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[tuple[GitServer, Tree]]:
    tree = new_tree(tmp_path / "work")
    bare_copy(tree, tmp_path / "srv" / "o" / "r.git")
    async with git_server(tmp_path / "srv") as server:
        yield server, tree


def remote_of(server: GitServer, path: str = "o/r") -> Remote:
    return read_remote(f"{server.url}/{path}", allow_loopback=True)


def quiet(_: str) -> None:
    return


async def test_fetch_of_a_new_remote_makes_one_bare_repository(
    tmp_path: Path, served: tuple[GitServer, Tree]
) -> None:
    server, tree = served
    shelf = shelf_at(tmp_path)
    stored = await shelf.fetch(remote_of(server), quiet)
    assert stored.path == tmp_path / "repos" / stored.key.split("/")[0] / "o" / "r.git"
    assert stored.bytes > 0 and stored.org_id is None
    refs = await shelf.refs(stored)
    assert [(ref.name, ref.commit) for ref in refs] == [
        ("refs/heads/main", tree.git("rev-parse", "HEAD"))
    ]
    assert await shelf.list() == (stored,)
    assert await shelf.find(stored.key, PERSONAL_ORG) == stored


async def test_records_saved_at_once_do_not_disturb_each_other(
    tmp_path: Path, served: tuple[GitServer, Tree]
) -> None:
    server, _ = served
    shelf = shelf_at(tmp_path)
    stored = await shelf.fetch(remote_of(server), quiet)
    for _ in range(20):
        await asyncio.gather(*(asyncio.to_thread(record.save, stored) for _ in range(8)))
    assert await shelf.list() == (stored,)
    assert not list(stored.path.glob("*.new"))


@pytest.mark.parametrize("held", ["refs/heads/main", "HEAD"])
async def test_upload_waits_while_another_one_holds_the_lock_of_a_ref(
    tmp_path: Path, served: tuple[GitServer, Tree], held: str
) -> None:
    server, _ = served
    shelf = shelf_at(tmp_path)
    stored = await shelf.fetch(remote_of(server), quiet)
    (main,) = await shelf.refs(stored)
    Tree(stored.path).git("pack-refs", "--all")
    lock = stored.path / f"{held}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch(exist_ok=False)
    # Longer than git's own patience, which is 100 ms.
    asyncio.get_running_loop().call_later(0.4, lock.unlink)
    await shelf.take(None, stored, (Ref(main.name, main.commit),))
    assert (await shelf.settle(stored, "main")).key == stored.key


async def test_fetch_again_brings_only_what_is_new_and_follows_head(
    tmp_path: Path, served: tuple[GitServer, Tree]
) -> None:
    server, tree = served
    shelf = shelf_at(tmp_path)
    stored = await shelf.fetch(remote_of(server), quiet)
    old = tree.git("rev-parse", "HEAD")
    tree.git("checkout", "-qb", "trunk")
    new = tree.commit("a.txt", "a")
    tree.git("push", "-q", "origin", "trunk")
    Tree(tmp_path / "srv/o/r.git").git("symbolic-ref", "HEAD", "refs/heads/trunk")
    await shelf.fetch(remote_of(server), quiet)
    assert [ref.name for ref in await shelf.refs(stored)] == ["refs/heads/trunk", "refs/heads/main"]
    assert await shelf.have(stored, (old, new, "0" * 40)) == (old, new)


async def test_branch_that_was_renamed_at_the_remote_below_its_old_name_is_fetched(
    tmp_path: Path, served: tuple[GitServer, Tree]
) -> None:
    server, tree = served
    shelf = shelf_at(tmp_path)
    for branch in ("work", "work/part", "work"):
        tree.git("push", "-q", "--prune", "origin", f"+main:refs/heads/{branch}")
        stored = await shelf.fetch(remote_of(server), quiet)
        assert [ref.name for ref in await shelf.refs(stored)][-1] == f"refs/heads/{branch}"
        for other in tree.git("ls-remote", "--heads", "origin", "work*", "work/*").splitlines():
            tree.git("push", "-q", "origin", f":{other.split()[1]}")


async def test_fetch_by_many_at_once_happens_once(
    tmp_path: Path, served: tuple[GitServer, Tree]
) -> None:
    server, _ = served
    shelf = shelf_at(tmp_path)
    server.gate = asyncio.Event()

    async with asyncio.TaskGroup() as tasks:
        fetches = [tasks.create_task(shelf.fetch(remote_of(server), quiet)) for _ in range(8)]
        await server.posted.wait()
        server.gate.set()
    assert len({fetch.result() for fetch in fetches}) == 1
    assert sum("info/refs" in path for path in server.asked) == 2  # one listing, one fetch


async def test_fetch_leaves_what_others_may_read_and_nothing_half_done(
    tmp_path: Path, served: tuple[GitServer, Tree]
) -> None:
    old_mask = os.umask(0o077)
    try:
        stored = await shelf_at(tmp_path).fetch(remote_of(served[0]), quiet)
    finally:
        os.umask(old_mask)
    for top, folders, files in os.walk(stored.path):
        for name in files:
            assert stat.S_IMODE((Path(top) / name).stat().st_mode) & 0o004, name
        for name in folders:
            assert stat.S_IMODE((Path(top) / name).stat().st_mode) & 0o005 == 0o005, name
    for parent in (stored.path.parent, stored.path.parent.parent, tmp_path / "repos"):
        assert stat.S_IMODE(parent.stat().st_mode) == 0o711
    with pytest.raises(NotFound):
        await shelf_at(tmp_path).fetch(remote_of(served[0], "o/absent"), quiet)
    assert [path.name for path in (tmp_path / "repos").iterdir()] == [stored.key.split("/")[0]]


async def test_fetch_of_a_private_or_absent_remote_is_not_found(
    tmp_path: Path, served: tuple[GitServer, Tree]
) -> None:
    with pytest.raises(NotFound, match="private"):
        await shelf_at(tmp_path).fetch(remote_of(served[0], "o/secret"), quiet)


async def test_fetch_past_the_size_limit_ends(
    tmp_path: Path, served: tuple[GitServer, Tree]
) -> None:
    server, tree = served
    (tree.path / "big").write_bytes(os.urandom(2_000_000))
    tree.git("add", "big")
    tree.git("commit", "-qm", "big")
    tree.git("push", "-q", "origin", "main")
    with pytest.raises(LimitReached):
        await shelf_at(tmp_path, max_bytes=500_000).fetch(remote_of(server), quiet)
    assert await shelf_at(tmp_path).list() == ()


async def test_fetch_from_one_who_never_answers_ends_in_time(
    tmp_path: Path, served: tuple[GitServer, Tree]
) -> None:
    server, _ = served
    server.gate = asyncio.Event()
    with pytest.raises(LimitReached, match="seconds"):
        await shelf_at(tmp_path, fetch_seconds=1.0).fetch(remote_of(server), quiet)


@pytest.mark.parametrize("target", ["http://169.254.169.254/", "file:///etc/", "ext::sh"])
async def test_fetch_is_not_led_elsewhere_by_a_redirect(
    tmp_path: Path, served: tuple[GitServer, Tree], target: str
) -> None:
    server, _ = served
    server.redirects["/o/r"] = f"{target}x.git/info/refs?service=git-upload-pack"
    with pytest.raises(NotFound):
        await shelf_at(tmp_path).fetch(remote_of(server), quiet)


async def test_fetch_from_a_private_address_is_refused(tmp_path: Path) -> None:
    shelf = Shelf(Settings(tmp_path / "repos", tmp_path / "imports"), DirectImporter())
    shelf.sweep()
    for host in ("127.0.0.1", "169.254.169.254", "10.1.2.3", "localhost"):
        with pytest.raises(Forbidden, match="not a public address"):
            await shelf.fetch(read_remote(f"https://{host}/o/r"), quiet)


async def test_fetch_from_a_name_that_does_not_exist_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        await shelf_at(tmp_path).fetch(read_remote("https://nowhere.invalid/o/r"), quiet)


async def test_fetch_ignores_the_environment_and_its_helpers(
    tmp_path: Path, served: tuple[GitServer, Tree], monkeypatch: pytest.MonkeyPatch
) -> None:
    pwned = tmp_path / "pwned"
    config = tmp_path / "gitconfig"
    config.write_text(
        f'[core]\n fsmonitor = "touch {pwned}"\n[credential]\n helper = "!touch {pwned}"\n'
        f'[url "ext::touch {pwned} "]\n insteadOf = http\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_ASKPASS", f"touch {pwned}")
    monkeypatch.setenv("GIT_DIR", "/etc")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    await shelf_at(tmp_path).fetch(remote_of(served[0]), quiet)
    assert not pwned.exists()


async def test_find_by_a_crafted_key_finds_nothing(
    tmp_path: Path, served: tuple[GitServer, Tree]
) -> None:
    shelf = shelf_at(tmp_path)
    stored = await shelf.fetch(remote_of(served[0]), quiet)
    for key in (f"x/../{stored.key}", f"/{stored.key}", f"./{stored.key}", "", "*" * 20, "a" * 20):
        with pytest.raises(NotFound):
            await shelf.find(key, PERSONAL_ORG)


async def test_file_of_a_commit_is_found_also_behind_links(
    tmp_path: Path, served: tuple[GitServer, Tree]
) -> None:
    server, tree = served
    tree.commit("docs/begin.md", "begin\n")
    for name, target in (("d", "docs"), ("out", "/etc"), ("gone", "nowhere")):
        (tree.path / name).symlink_to(target)
        tree.git("add", "--", name)
    tree.git("commit", "-qm", "links")
    tree.git("push", "-q", "origin", "main")
    shelf = shelf_at(tmp_path)
    stored = await shelf.fetch(remote_of(server), quiet)
    commit = (await shelf.refs(stored))[0].commit
    paths = ("docs/begin.md", "d/begin.md", "out/hosts", "gone", "docs", "d", "no", "README.md/x")
    held = [path for path in paths if await shelf.has_file(stored, commit, path)]
    assert held == ["docs/begin.md", "d/begin.md", "out/hosts"]


class TestShelf(RepositoryShelfContract, LocalShelfContract):
    @pytest.fixture
    def shelf(self, tmp_path: Path) -> Shelf:
        return shelf_at(tmp_path)

    @pytest.fixture
    def remote(self, served: tuple[GitServer, Tree]) -> Remote:
        return remote_of(served[0])

    @pytest.fixture
    def source(self) -> LocalSource:
        return LocalSource("0123456789abcdef", "work")


class TestDirectImporter(ImporterContract):
    @pytest.fixture
    def importer(self) -> DirectImporter:
        return DirectImporter()

    @pytest.fixture
    def scratch(self, tmp_path: Path) -> Path:
        return tmp_path
