"""Changes over the API and the command line, of a repository in a real box."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from atoll.client.files import WorkingTrees
from atoll.client.transport import get, post
from atoll.domain.errors import Conflict, Invalid, NotFound
from tests.peers.git_tree import new_tree
from tests.surfaces.repository_world import RepositoryWorld, repository_world
from tests.surfaces.test_repositories import made, sent


@pytest.fixture
async def atoll() -> AsyncIterator[RepositoryWorld]:
    async with repository_world() as world:
        yield world


async def test_changes_and_diff_over_the_api(atoll: RepositoryWorld, tmp_path: Path) -> None:
    key = await sent(atoll, new_tree(tmp_path / "demo"))
    sandbox = await made(atoll, key=key, branch="fix")
    name, trees = str(sandbox["name"]), WorkingTrees(atoll.api.transport)
    box = atoll.box(str(sandbox["sandbox_id"]))
    box.run("echo x > x; git add x; git commit -qm x; echo y > y")
    found = await asyncio.to_thread(trees.changes, name, ())
    assert [(file.path, file.kind, file.untracked) for file in found.files] == [
        ("x", "added", False),
        ("y", "added", True),
    ]
    assert (found.commits, found.additions, found.total) == (1, 2, 2)
    diff = await asyncio.to_thread(trees.diff, name, (("path", "y"), ("against", "uncommitted")))
    assert [file.path for file in diff.files] == ["y"] and diff.files[0].hunks[0].lines == ["+y"]
    waited = (("since", str(found.value["digest"])), ("wait", "1"))
    again = await asyncio.to_thread(trees.changes, name, waited)
    assert again.value["digest"] == found.value["digest"]
    points = await asyncio.to_thread(trees.checkpoints, name, 0)
    assert points.checkpoints == []
    with pytest.raises(NotFound):
        await asyncio.to_thread(trees.restore, name, 1, 0)
    box.run("git update-ref refs/atoll/checkpoints/t_1/4 HEAD")
    points = await asyncio.to_thread(trees.checkpoints, name, 0)
    assert [(one.number, one.subject) for one in points.checkpoints] == [(4, "x")]
    turn = (("against", "turn"), ("checkpoint", "4"))
    since = await asyncio.to_thread(trees.changes, name, turn)
    assert [file.path for file in since.files] == ["y"]
    restored = await asyncio.to_thread(trees.restore, name, 4, 0)
    assert (restored.saved, box.run("ls")) == (5, "README.md\nx")
    (atoll.box(str(sandbox["sandbox_id"])).workspace / "dot.gif").write_bytes(b"GIF89a\1\0\1\0")
    at = ("sandboxes", name, "changes", "image")
    with pytest.raises(Invalid, match="no PNG"):
        await asyncio.to_thread(atoll.api.transport.call, get(*at, query=(("path", "README.md"),)))
    with pytest.raises(NotFound):
        head = (("path", "dot.gif"), ("commit", "0" * 40))
        await asyncio.to_thread(atoll.api.transport.call, get(*at, query=head))
    for query, kind in (
        (("repo", "3"), Invalid),
        (("path", "../x"), Invalid),
        (("against", "last"), Invalid),
        (("checkpoint", "0"), Invalid),
    ):
        with pytest.raises(kind):
            await asyncio.to_thread(trees.diff, name, (query,))


async def test_files_are_discarded_and_committed_over_the_api(
    atoll: RepositoryWorld, tmp_path: Path
) -> None:
    key = await sent(atoll, new_tree(tmp_path / "demo"))
    sandbox = await made(atoll, key=key, branch="fix")
    name, trees = str(sandbox["name"]), WorkingTrees(atoll.api.transport)
    box = atoll.box(str(sandbox["sandbox_id"]))

    async def act(verb: str, **body: object) -> object:
        call = post("sandboxes", name, *verb.split("/"), value=body)
        return (await asyncio.to_thread(atoll.api.transport.call, call)).value

    box.run("echo x > x; git update-ref refs/atoll/checkpoints/t/3 HEAD; echo y > y; echo z > z")
    await act("commit", message="only x", paths=["x"])
    assert box.run("git log -1 --format=%s; git status --porcelain") == "only x\n?? y\n?? z"
    files = (await asyncio.to_thread(trees.changes, name, ())).files
    digests = {file.path: file.value["digest"] for file in files}
    assert await act("changes/discard", path="y", digest=digests["y"]) == {"saved": 4}
    turn = {"against": "turn", "checkpoint": 3}
    await act("changes/discard", path="x", digest=digests["x"], **turn)
    assert box.run("ls") == "README.md\nz"
    assert await act("commit", message="rest") == {"commit": box.run("git rev-parse HEAD")}
    with pytest.raises(Conflict):
        await act("commit", message="again")
    for verb, body in (
        ("commit", {"message": "x", "repo": 1}),
        ("changes/discard", {"path": "x", "digest": "0", "repo": 1}),
        ("changes/discard", {"path": "../x", "digest": "0"}),
    ):
        with pytest.raises(Invalid):
            await act(verb, **body)


async def test_threads_are_found_where_their_lines_went(
    atoll: RepositoryWorld, tmp_path: Path
) -> None:
    key = await sent(atoll, new_tree(tmp_path / "demo"))
    sandbox = await made(atoll, key=key, branch="fix")
    box, here = atoll.box(str(sandbox["sandbox_id"])), ("sandboxes", str(sandbox["name"]))
    box.run("printf 'one\\ntwo\\nthree\\n' > a; git add a; git commit -qm a; seq 9 >> a")

    async def open_thread(side: str, line: int, text: str) -> str:
        place = {"path": "a", "side": side, "line": line, "lines": [text], "text": "Why?"}
        call = post(*here, "threads", value=place)
        answer = (await asyncio.to_thread(atoll.api.transport.call, call)).value
        return str(cast("dict[str, Any]", answer)["thread_id"])

    async def places(*more: tuple[str, str], path: str = "a") -> dict[str, int | None]:
        query = (("path", path), ("against", "uncommitted"), *more)
        call = get(*here, "changes", "threads", query=query)
        answer = (await asyncio.to_thread(atoll.api.transport.call, call)).value
        found = cast("dict[str, Any]", answer)["places"]
        return {one["thread_id"]: one["line"] for one in found}

    old, new = await open_thread("old", 2, "two"), await open_thread("new", 6, "3")
    assert await places() == {old: 2, new: 6}
    box.run("sed -i '1i zero' a; sed -i /two/d a")
    assert await places() == {old: 2, new: 6}
    box.run("sed -i '1i $(touch /tmp/pwned)' a")
    assert await places() == {old: 2, new: 7}
    box.run("sed -i '/^3$/d' a; git mv a b")
    assert await places(("old_path", "a"), path="b") == {old: 2, new: None}
    # A file that does not differ is not shown, and neither are its threads.
    box.run("git reset -q --hard")
    assert await places() == {}


async def test_commits_over_the_api(atoll: RepositoryWorld, tmp_path: Path) -> None:
    key = await sent(atoll, new_tree(tmp_path / "demo"))
    sandbox = await made(atoll, key=key, branch="fix")
    box = atoll.box(str(sandbox["sandbox_id"]))
    box.run("echo x > x; git add x; git commit -qm x")
    here = ("sandboxes", str(sandbox["name"]), "commits")

    async def read(*more: str, query: tuple[tuple[str, str], ...] = ()) -> dict[str, Any]:
        call = get(*here, *more, query=query)
        return cast(
            "dict[str, Any]", (await asyncio.to_thread(atoll.api.transport.call, call)).value
        )

    page = await read(query=(("limit", "1"),))
    assert [one["subject"] for one in page["commits"]] == ["x"]
    rest = await read(query=(("limit", "1"), ("cursor", str(page["next"]))))
    assert [one["subject"] for one in rest["commits"]] == ["begin"] and rest["next"] is None
    shown = await read(str(page["head"]))
    assert (shown["message"], shown["files"][0]["path"]) == ("x", "x")
    assert shown["commit"] == page["commits"][0]
    for query in ((("cursor", "-1"),), (("cursor", "999999"),), (("limit", "201"),)):
        with pytest.raises(Invalid):
            await read(query=query)
    with pytest.raises(NotFound):
        await read("0" * 40)
    with pytest.raises(Invalid):
        await read("HEAD")
