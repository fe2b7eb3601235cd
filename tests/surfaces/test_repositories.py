import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from atoll.client.transport import Call, api_path, post
from atoll.domain.errors import AtollError, Conflict, Forbidden, Invalid, NotFound
from atoll.domain.ids import PERSONAL_ORG, OrgId
from atoll.domain.repository.repository import read_local
from atoll.surfaces.cli.transfer.local_repo import describe
from atoll.surfaces.cli.transfer.pulled_branch import BranchRequest, PulledBranch, pull
from atoll.surfaces.cli.transfer.saved_work import bring_saved
from atoll.surfaces.cli.transfer.upload import upload
from tests.peers.git_server import git_server
from tests.peers.git_tree import Tree, bare_copy, new_tree
from tests.surfaces.repository_world import RepositoryWorld, repository_world


@pytest.fixture
async def atoll() -> AsyncIterator[RepositoryWorld]:
    async with repository_world() as world:
        yield world


async def made(atoll: RepositoryWorld, **repo: object) -> dict[str, object]:
    return await asked(atoll, repos=[repo])


async def asked(atoll: RepositoryWorld, **request: object) -> dict[str, object]:
    body = {"profile": "shell", **request}
    async with httpx.AsyncClient(
        base_url=atoll.url, headers={"Authorization": f"Bearer {atoll.token}"}, timeout=30
    ) as client:
        answer = await client.post("/v1/sandboxes?wait=ready", json=body)
    assert answer.status_code == 201, answer.text
    sandbox: dict[str, object] = answer.json()
    assert sandbox["state"] == "ready", sandbox
    return sandbox


async def sent(atoll: RepositoryWorld, tree: Tree, also: str | None = None) -> str:
    stored = await asyncio.to_thread(upload, atoll.api, tree.path, also=also)
    return stored.key


async def pulled(
    atoll: RepositoryWorld,
    sandbox: dict[str, object],
    tree: Tree,
    *,
    into: str | None = None,
    wanted: BranchRequest | None = None,
) -> PulledBranch:
    return await asyncio.to_thread(
        pull,
        atoll.api,
        str(sandbox["name"]),
        tree.path,
        wanted=wanted or BranchRequest(),
        into=into,
    )


async def test_remote_fetched_then_worked_on_then_pulled(
    atoll: RepositoryWorld, tmp_path: Path
) -> None:
    tree = new_tree(tmp_path / "work")
    bare_copy(tree, tmp_path / "srv" / "o" / "r.git")
    async with git_server(tmp_path / "srv") as server:
        asked = post("repositories", "fetch", value={"repo_url": f"{server.url}/o/r"})
        stored = await asyncio.to_thread(atoll.api.transport.call, asked)
        refs: Any = stored.value["refs"]
        assert [ref["name"] for ref in refs] == ["refs/heads/main"]
        sandbox = await made(atoll, repo_url=f"{server.url}/o/r", branch="fix")
    assert sandbox["name"] == "r-fix"
    assert sandbox["metadata"]["branch"] == "fix"  # type: ignore[index]
    box = atoll.box(str(sandbox["sandbox_id"]))
    box.run("echo x > .envrc && echo y > y && git add -A && git commit -qm work")
    got = await pulled(atoll, sandbox, tree)
    assert got == PulledBranch("fix", box.run("git rev-parse HEAD"), 1, (".envrc",))
    assert tree.git("rev-parse", "fix") == got.commit
    assert tree.git("status", "--porcelain") == ""


async def test_repositories_lie_where_they_were_asked_to_and_know_where_they_began(
    atoll: RepositoryWorld, tmp_path: Path
) -> None:
    tree = new_tree(tmp_path / "work")
    bare_copy(tree, tmp_path / "srv" / "o" / "r.git")
    async with git_server(tmp_path / "srv") as server:
        url = f"{server.url}/o/r"
        sandbox = await made(atoll, repo_url=url, branch="fix", path="deep/in")
        by_ref = await asked(atoll, inputs={"repo_ref": url})
        there = await made(atoll, repo_url=url, branch="main")
    box = atoll.box(str(sandbox["sandbox_id"]))
    assert box.run("git -C /workspace/deep/in branch --show-current; ls -A /workspace") == (
        "fix\ndeep"
    )
    assert sandbox["repos"][0]["path"] == "/workspace/deep/in"  # type: ignore[index]
    assert sandbox["repos"][0]["from_branch"] == "main"  # type: ignore[index]
    assert sandbox["metadata"]["from_branch"] == "main"  # type: ignore[index]
    assert by_ref["repos"][0]["repo_url"] == url  # type: ignore[index]
    assert atoll.box(str(by_ref["sandbox_id"])).run("git log --format=%H") == tree.git(
        "log", "--format=%H"
    )
    # The branch was there: it began from none.
    assert there["repos"][0]["from_branch"] is None  # type: ignore[index]


async def test_unpulled_work_of_several_repositories_and_beside_them_is_told(
    atoll: RepositoryWorld, tmp_path: Path
) -> None:
    tree = new_tree(tmp_path / "one")
    key = await sent(atoll, tree)
    repos = [
        {"key": key, "branch": "fix", "path": path} for path in ("a", "deep/b", "broken", "clean")
    ]
    sandbox = await asked(atoll, repos=repos)
    box = atoll.box(str(sandbox["sandbox_id"]))
    commit = "git -c user.name=A -c user.email=a@b.invalid commit -q"
    box.run(
        f"cd a; echo x > x; git add x; {commit} -m first; git switch -q --detach; "
        f"{commit} --allow-empty -m second; echo y > 'y z'; "
        "cd ../deep/b; echo x > x; git add x; git stash -q; cd ../..; rm -rf broken/.git; touch t"
    )
    path = api_path("sandboxes", str(sandbox["name"]), "unpulled")
    places = (await asyncio.to_thread(atoll.api.transport.call, Call("GET", path))).value["places"]
    assert isinstance(places, list)
    a, b, beside = places
    assert (a["path"], a["commits"], a["subject"]) == ("/workspace/a", 2, "second")
    assert (a["untracked"], a["changed"], a["stashes"]) == (["y z"], [], 0)
    assert (b["path"], b["commits"], b["stashes"]) == ("/workspace/deep/b", 0, 1)
    assert beside["repo"] is None and "t" in beside["untracked"]
    assert "broken/README.md" in beside["untracked"] or len(beside["untracked"]) > 1
    # A commit that is outside no longer counts, nor what it stands on.
    marked = post("sandboxes", str(sandbox["name"]), "pulled", value={"commit": a["tip"]})
    await asyncio.to_thread(atoll.api.transport.call, marked)
    places = (await asyncio.to_thread(atoll.api.transport.call, Call("GET", path))).value["places"]
    assert isinstance(places, list) and places[0]["commits"] == 0
    for refused in ({"repo": 4, "commit": a["tip"]}, {"commit": "main"}):
        with pytest.raises(Invalid):
            call = post("sandboxes", str(sandbox["name"]), "pulled", value=refused)
            await asyncio.to_thread(atoll.api.transport.call, call)


async def test_local_checkout_uploaded_twice_sends_only_what_is_new(
    atoll: RepositoryWorld, tmp_path: Path
) -> None:
    tree = new_tree(tmp_path / "demo")
    (tree.path / "big").write_bytes(os.urandom(300_000))
    tree.git("add", "big")
    tree.git("commit", "-qm", "big")
    key = await sent(atoll, tree)
    before = (await atoll.shelf.find(key, PERSONAL_ORG)).bytes
    (tree.path / "not-committed").write_text("stays here")
    tip = tree.commit("small", "small")
    assert await sent(atoll, tree) == key
    stored = await atoll.shelf.find(key, PERSONAL_ORG)
    assert stored.bytes - before < 5000
    assert [ref.commit for ref in await atoll.shelf.refs(stored)] == [tip]
    assert await sent(atoll, tree) == key  # nothing new: no bundle at all
    sandbox = await made(atoll, key=key, repo_url=describe(tree.path).label, branch="fix")
    assert sandbox["name"] == "demo-fix"
    box = atoll.box(str(sandbox["sandbox_id"]))
    assert sorted(path.name for path in box.workspace.iterdir()) == [
        ".git", "README.md", "big", "small",
    ]  # fmt: skip
    box.run("echo 1 > 1 && git add -A && git commit -qm one")
    assert (await pulled(atoll, sandbox, tree, into="theirs")).branch == "theirs"


async def test_upload_is_told_which_of_its_tips_are_stored(
    atoll: RepositoryWorld, tmp_path: Path
) -> None:
    tree = new_tree(tmp_path / "demo")
    key, tip = await sent(atoll, tree), tree.git("rev-parse", "HEAD")
    headers = {"Authorization": f"Bearer {atoll.token}"}
    async with httpx.AsyncClient(base_url=atoll.url, headers=headers) as client:
        place = f"/v1/repositories/local/{key}/have"
        known = await client.post(place, json={"tips": ["a" * 40, tip]})
        stored = (await client.get(f"/v1/repositories/local/{key}")).json()
        missing = await client.get(f"/v1/repositories/local/{'0' * 32}")
    assert known.json() == {"have": [tip]}
    assert stored["refs"] == [{"name": "refs/heads/main", "commit": tip}]
    assert (missing.status_code, stored["key"]) == (404, key)


async def test_local_checkout_that_went_back_moves_its_branch_back(
    atoll: RepositoryWorld, tmp_path: Path
) -> None:
    tree = new_tree(tmp_path / "demo")
    first = tree.git("rev-parse", "HEAD")
    tree.commit("a", "a")
    key = await sent(atoll, tree)
    tree.git("reset", "-q", "--hard", first)
    tree.git("branch", "side")
    await sent(atoll, tree, also="side")
    refs = await atoll.shelf.refs(await atoll.shelf.find(key, PERSONAL_ORG))
    assert [(ref.name, ref.commit) for ref in refs] == [
        ("refs/heads/main", first),
        ("refs/heads/side", first),
    ]


async def test_pull_never_touches_what_is_checked_out_or_would_be_lost(
    atoll: RepositoryWorld, tmp_path: Path
) -> None:
    tree = new_tree(tmp_path / "demo")
    key = await sent(atoll, tree)
    sandbox = await made(atoll, key=key, repo_url="local/demo", branch="fix")
    with pytest.raises(Conflict) as caught:
        await pulled(atoll, sandbox, tree)
    assert caught.value.code == "nothing_new"
    atoll.box(str(sandbox["sandbox_id"])).run("git commit -q --allow-empty -m theirs")
    with pytest.raises(Conflict) as caught:
        await pulled(atoll, sandbox, tree, into="main")
    assert caught.value.code == "branch_checked_out"
    tree.git("checkout", "-qb", "fix")
    tree.commit("mine", "mine")
    tree.git("checkout", "-q", "main")
    with pytest.raises(Conflict) as caught:
        await pulled(atoll, sandbox, tree)
    assert caught.value.code == "not_fast_forward"
    assert (await pulled(atoll, sandbox, tree, wanted=BranchRequest(force=True))).branch == "fix"
    elsewhere = new_tree(tmp_path / "elsewhere", branch="trunk", text="another beginning\n")
    with pytest.raises(Conflict) as caught:
        await pulled(atoll, sandbox, elsewhere)
    assert caught.value.code == "base_missing"
    with pytest.raises(NotFound):
        await pulled(atoll, sandbox, tree, wanted=BranchRequest(branch="absent"))
    with pytest.raises(NotFound):
        await pulled(atoll, sandbox, tree, wanted=BranchRequest(repo=3))


async def test_recreate_saves_commits_first(atoll: RepositoryWorld, tmp_path: Path) -> None:
    tree = new_tree(tmp_path / "demo")
    key = await sent(atoll, tree)
    sandbox = await made(atoll, key=key, repo_url="local/demo", branch="fix")
    sandbox_id = str(sandbox["sandbox_id"])
    box = atoll.box(sandbox_id)
    box.run("git commit -q --allow-empty -m kept")
    tip = box.run("git rev-parse HEAD")
    async with httpx.AsyncClient(
        base_url=atoll.url, headers={"Authorization": f"Bearer {atoll.token}"}, timeout=30
    ) as client:
        again = await client.post(f"/v1/sandboxes/{sandbox_id}/recreate?wait=true")
        assert again.json()["generation"] == 2, again.text
        (one,) = (await client.get("/v1/kept")).json()["kept"]
        assert (one["sandbox_id"], one["generation"], one["tree"]) == (sandbox_id, 1, False)
        assert (await client.get(f"/v1/kept/{one['kept_id']}/archive")).status_code == 404
    name = str(sandbox["name"])
    (saved,) = await asyncio.to_thread(
        bring_saved, atoll.api, name, tree.path, wanted=BranchRequest()
    )
    assert saved.branch == f"atoll/saved/{name}/1/branch/fix"
    assert tree.git("rev-parse", saved.branch) == tip == saved.commit


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        ("rm -rf .git", "not a usable git checkout"),
        ("git checkout -q --orphan empty", "no commit"),
    ],
)
def test_checkout_that_cannot_be_sent_says_what_to_do(
    tmp_path: Path, break_it: str, words: str
) -> None:
    tree = new_tree(tmp_path / "demo")
    for line in break_it.split(";"):
        if line.startswith("git "):
            tree.git(*line.split()[1:])
        else:
            (tree.path / ".git").rename(tmp_path / "gone")
    with pytest.raises(Invalid, match=words):
        describe(tree.path)


def test_checkout_described_with_its_origin_and_what_stays(tmp_path: Path) -> None:
    tree = new_tree(tmp_path / "my demo")
    tree.git("remote", "add", "origin", "https://someone@github.com/o/r.git")
    found = describe(tree.path)
    assert (found.name, found.branch, found.repo_url, found.dirty) == (
        "my-demo", "main", "https://github.com/o/r", False,
    )  # fmt: skip
    (tree.path / "new").write_text("x")
    (tree.path / "sub").mkdir()
    tree.git("config", "remote.origin.url", "https://user:secret@github.com/o/r")
    again = describe(tree.path / "sub")
    assert again == replace(found, dirty=True) or again.repo_url == "https://github.com/o/r"
    tree.git("config", "remote.origin.url", "/somewhere/else.git")
    assert describe(tree.path).label == "local/my-demo"
    tree.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "tree two"))
    assert describe(tmp_path / "tree two").key == found.key


async def test_repository_that_was_not_uploaded_makes_no_sandbox(
    atoll: RepositoryWorld, tmp_path: Path
) -> None:
    key = await sent(atoll, new_tree(tmp_path / "demo"))
    await atoll.shelf.place(read_local("ab" * 12, "theirs"), OrgId("other"))
    wrong: tuple[tuple[dict[str, str], int, str], ...] = (
        ({"key": "0" * 24}, 404, "repos[0].key"),
        ({"key": "ab" * 12}, 404, "repos[0].key"),
        ({"key": key, "from_branch": "absent"}, 422, "repos[0].from_branch"),
    )
    async with httpx.AsyncClient(
        base_url=atoll.url, headers={"Authorization": f"Bearer {atoll.token}"}
    ) as client:
        for repo, status, field in wrong:
            body = {"profile": "shell", "repos": [{"repo_url": "local/demo", **repo}]}
            answer = await client.post("/v1/sandboxes", json=body)
            assert (answer.status_code, answer.json()["field"]) == (status, field), answer.text
        assert (await client.get("/v1/sandboxes")).json()["sandboxes"] == []


async def test_upload_under_a_key_of_others_is_like_one_under_a_new_key(
    atoll: RepositoryWorld, tmp_path: Path
) -> None:
    tree = new_tree(tmp_path / "demo")
    key, tip = describe(tree.path).key, tree.git("rev-parse", "HEAD")
    other = OrgId("other")
    theirs = await atoll.shelf.place(read_local(key, "theirs"), other)
    async with httpx.AsyncClient(
        base_url=atoll.url, headers={"Authorization": f"Bearer {atoll.token}"}
    ) as client:
        for query, body in ((f"&tip={tip}", b""), ("", b"# v2 git bundle\n")):
            answers = [
                await client.put(
                    f"/v1/repositories/local/{one}?name=x&head=main{query}", content=body
                )
                for one in (key, "ab" * 12)
            ]
            assert answers[0].status_code == answers[1].status_code == 422
            assert answers[0].json()["detail"] == answers[1].json()["detail"]
        have = await client.post(f"/v1/repositories/local/{key}/have", json={"tips": ["a" * 40]})
        assert have.json() == {"have": []}
        assert (await client.get("/v1/repositories")).json()["repositories"] == []
        assert await sent(atoll, tree) == key
        listed = (await client.get("/v1/repositories")).json()["repositories"]
        assert [one["key"] for one in listed] == [key]
    mine = await atoll.shelf.find(key, PERSONAL_ORG)
    assert [ref.commit for ref in await atoll.shelf.refs(mine)] == [tip]
    assert await atoll.shelf.refs(await atoll.shelf.find(key, other)) == ()
    assert mine.path != theirs.path


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("local/" + "ab" * 10 + "?name=x&head=main", b"not a bundle", None),
        ("local/" + "ab" * 10 + "?name=x&head=main", b"", "tips"),
        ("local/" + "ab" * 10 + "?name=../x&head=main", b"", "name"),
        ("local/" + "ab" * 10 + "?name=x&head=--all", b"", "head"),
        ("local/UPPER?name=x&head=main", b"", "key"),
        ("local/" + "ab" * 10 + "?name=x&head=main&repo_url=ext::sh", b"", "repo_url"),
    ],
)
async def test_upload_that_is_wrong_is_refused_and_leaves_nothing(
    atoll: RepositoryWorld, path: str, body: bytes, field: str | None
) -> None:
    async with httpx.AsyncClient(
        base_url=atoll.url, headers={"Authorization": f"Bearer {atoll.token}"}
    ) as client:
        answer = await client.put(f"/v1/repositories/{path}", content=body)
    assert answer.status_code == 422, answer.text
    assert answer.json().get("field") == field
    assert await atoll.shelf.list() == ()
    assert list((atoll.home / "run" / "import").iterdir()) == []


@pytest.mark.parametrize("url", ["file:///etc", "ext::sh -c id", "--upload-pack=x", "/etc"])
async def test_fetch_of_a_hostile_address_is_invalid(atoll: RepositoryWorld, url: str) -> None:
    with pytest.raises(Invalid) as caught:
        asked = post("repositories", "fetch", value={"repo_url": url})
        await asyncio.to_thread(atoll.api.transport.call, asked)
    assert caught.value.field == "repo_url"


async def test_fetch_of_a_private_address_is_forbidden(atoll: RepositoryWorld) -> None:
    with pytest.raises((Forbidden, AtollError), match="not a public address"):
        asked = post("repositories", "fetch", value={"repo_url": "https://169.254.169.254/o/r"})
        await asyncio.to_thread(atoll.api.transport.call, asked)
