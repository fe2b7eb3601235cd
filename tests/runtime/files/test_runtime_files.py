"""The file routes over HTTP, on a real init of either language."""

import asyncio
import base64
import io
import json
import os
import tarfile
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from aiohttp import ClientError, ClientResponse, web
from aiohttp.test_utils import TestClient, TestServer

from atoll.ports.spawner import Spawner
from atoll.runtime.api.files import routes
from atoll.runtime.api.parts import Parts, promise_parts
from atoll.runtime.api.problems import problems
from atoll.runtime.files.files import Files
from atoll.runtime.policy.redactions import Redactions
from atoll.runtime.spawners.local import local

Client = TestClient[web.Request, web.Application]


@pytest.fixture
def root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def changed() -> list[str]:
    return []


@pytest.fixture
async def client(root: Path, changed: list[str]) -> AsyncIterator[Client]:
    async with local(root) as spawner, served(spawner, changed) as client:
        yield client


@asynccontextmanager
async def served(spawner: Spawner, changed: list[str]) -> AsyncIterator[Client]:
    app = web.Application(middlewares=[problems])
    files = Files(spawner, changed=changed.append)
    used = SimpleNamespace(files=files, redactions=Redactions())
    promise_parts(app).set_result(cast(Parts, used))
    app.add_routes(routes())
    async with TestClient(TestServer(app)) as client:
        yield client


async def problem(reply: ClientResponse) -> tuple[int, str]:
    return reply.status, (await reply.json(content_type="application/problem+json"))["code"]


async def test_content_put_and_got_is_the_same_and_announced(
    client: Client, root: Path, changed: list[str]
) -> None:
    data = os.urandom(3_000_000)
    reply = await client.put("/files/content?path=a/b&parents=true&mode=600", data=io.BytesIO(data))
    entry = await reply.json()
    assert reply.status == 201
    assert {k: entry[k] for k in ("name", "path", "type", "size", "mode")} == {
        "name": "b",
        "path": "a/b",
        "type": "file",
        "size": len(data),
        "mode": "0600",
    }
    reply = await client.get("/files/content?path=/workspace/a/b")
    assert (reply.status, await reply.read()) == (200, data)
    reply = await client.put("/files/content?path=a/b", data=b"shorter")
    assert (reply.status, (await reply.json())["mode"]) == (200, "0600")
    assert sorted(each.name for each in (root / "a").iterdir()) == ["b"]
    assert changed == ["a/b", "a/b"]


async def test_write_that_is_refused_names_the_file_that_was_to_be(
    client: Client, root: Path
) -> None:
    (root / "file").touch()
    (root / "away").symlink_to("/etc")
    (root / "closed").mkdir(mode=0o500)
    tried = {
        "gone/notes": "cannot write 'gone/notes': there is no directory 'gone'",
        "file/notes": "cannot write 'file/notes': a part of it is not a directory",
        "away/notes": "cannot write 'away/notes': it leads out of the workspace",
        "closed/notes": "cannot write 'closed/notes': its mode does not allow it",
    }
    if os.geteuid() == 0:
        del tried["closed/notes"]
    for path, said in tried.items():
        reply = await client.put(f"/files/content?path={path}", data=b"x")
        detail = (await reply.json(content_type="application/problem+json"))["detail"]
        assert reply.status >= 400 and detail.startswith(said), detail


@pytest.mark.parametrize(
    ("asked", "status", "body"),
    [
        ("bytes=0-3", 206, b"0123"),
        ("bytes=4-", 206, b"456789"),
        ("bytes=-2", 206, b"89"),
        ("bytes=5-100", 206, b"56789"),
        ("bytes=nonsense", 200, b"0123456789"),
    ],
)
async def test_content_range_gives_that_part(
    client: Client, root: Path, asked: str, status: int, body: bytes
) -> None:
    (root / "digits").write_bytes(b"0123456789")
    reply = await client.get("/files/content?path=digits", headers={"Range": asked})
    assert (reply.status, await reply.read()) == (status, body)


async def test_content_range_behind_the_end_is_refused(client: Client, root: Path) -> None:
    (root / "digits").write_bytes(b"0123456789")
    reply = await client.get("/files/content?path=digits", headers={"Range": "bytes=10-"})
    assert reply.status == 416
    (root / "empty").touch()
    assert await (await client.get("/files/content?path=empty")).read() == b""


async def test_content_of_what_is_no_file_is_refused_at_once(client: Client, root: Path) -> None:
    os.mkfifo(root / "fifo")
    (root / "zero").symlink_to("/dev/zero")
    (root / "out").symlink_to("/etc/passwd")
    (root / "dir").mkdir()
    async with asyncio.timeout(20):
        for path, wanted in {
            "fifo": (422, "not_a_file"),
            "dir": (422, "not_a_file"),
            "zero": (403, "outside_workspace"),
            "out": (403, "outside_workspace"),
            "absent": (404, "no_such_file"),
        }.items():
            assert await problem(await client.get(f"/files/content?path={path}")) == wanted
        for path, wanted in {
            "dir": (422, "is_a_directory"),
            "out": (403, "outside_workspace"),
            "zero": (403, "outside_workspace"),
            "fifo": (422, "invalid_path"),
            "absent/x": (404, "no_such_file"),
        }.items():
            reply = await client.put(f"/files/content?path={path}", data=b"x")
            assert await problem(reply) == wanted
    assert sorted(each.name for each in root.iterdir()) == ["dir", "fifo", "out", "zero"]


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "%252e%252e%252f", "....//", "/etc/passwd", "x%00.txt", ""]
)
async def test_path_that_leads_elsewhere_is_refused(client: Client, path: str) -> None:
    wanted = (422, "invalid_path")
    assert await problem(await client.get(f"/files/content?path={path}")) == wanted
    assert await problem(await client.put(f"/files/content?path={path}", data=b"")) == wanted
    assert await problem(await client.delete(f"/files?path={path}")) == wanted
    reply = await client.post("/files/move", json={"from": "a", "to": path.replace("%00", "\0")})
    if path != "%252e%252e%252f":
        assert await problem(reply) == wanted


async def test_content_of_a_link_is_written_where_it_leads(client: Client, root: Path) -> None:
    assert (await client.post("/files/mkdir", json={"path": "notes"})).status < 300
    (root / "CLAUDE.md").symlink_to("notes/AGENTS.md")
    for body, status in ((b"one", 201), (b"again", 200)):
        reply = await client.put("/files/content?path=CLAUDE.md", data=body)
        entry = await reply.json()
        assert reply.status == status, entry
        assert (entry["path"], entry["type"]) == ("CLAUDE.md", "file")
        assert entry["size"] == len(body) == (root / "notes" / "AGENTS.md").stat().st_size
        reply = await client.get("/files/content?path=CLAUDE.md")
        assert await reply.read() == body
    assert (root / "CLAUDE.md").is_symlink()
    assert [each.name for each in (root / "notes").iterdir()] == ["AGENTS.md"]


async def test_upload_that_breaks_off_leaves_the_old_file(client: Client, root: Path) -> None:
    (root / "file").write_text("old")

    async def half() -> AsyncIterator[bytes]:
        yield b"x" * 300_000
        raise ConnectionAbortedError("the client went away")

    with pytest.raises((ClientError, ConnectionError)):
        await client.put("/files/content?path=file", data=half())
    assert (root / "file").read_text() == "old"


async def test_list_is_paged_and_shows_names_that_are_not_utf8(client: Client, root: Path) -> None:
    odd = os.fsdecode(b"\xff<img src=x onerror=alert(1)>\n")
    for name in ("b", "a", odd):
        (root / name).touch()
    (root / "a-link").symlink_to("b")
    seen, cursor = [], ""
    while cursor is not None:
        reply = await client.get("/files", params={"limit": "3", "cursor": cursor})
        page = json.loads(await reply.text())
        seen += page["entries"]
        cursor = page["next"]
    assert [entry["name"] for entry in seen[:3]] == ["a", "a-link", "b"]
    assert (seen[1]["type"], seen[1]["target"]) == ("symlink", "b")
    assert seen[3]["name"].startswith("\ufffd<img")
    exact = seen[3]["name_b64"]
    assert base64.b64decode(exact) == os.fsencode(odd)
    reply = await client.get("/files/stat", params={"path_b64": exact})
    assert (await reply.json())["name_b64"] == exact
    assert (await client.delete("/files", params={"path_b64": exact})).status == 204
    assert not (root / odd).exists()


async def test_list_of_what_is_no_directory_and_bad_cursors_are_refused(
    client: Client, root: Path
) -> None:
    (root / "file").touch()
    (root / "out").symlink_to("/")
    assert await problem(await client.get("/files?path=file")) == (422, "not_a_directory")
    assert await problem(await client.get("/files?path=out/etc")) == (403, "outside_workspace")
    assert await problem(await client.get("/files?path=none")) == (404, "no_such_file")
    for query in ("cursor=%21", "cursor=Li4vYQ==", "limit=-1", "limit=5000", "limit=x"):
        assert (await client.get(f"/files?{query}")).status == 422


async def test_mkdir_move_and_delete_do_as_they_say(
    client: Client, root: Path, changed: list[str]
) -> None:
    reply = await client.post("/files/mkdir", json={"path": "a/b", "parents": True})
    assert (reply.status, (await reply.json())["type"]) == (201, "dir")
    assert await problem(await client.post("/files/mkdir", json={"path": "a/b"})) == (409, "exists")
    reply = await client.post("/files/move", json={"from": "a/b", "to": "c"})
    assert (reply.status, (await reply.json())["path"]) == (200, "c")
    reply = await client.post("/files/move", json={"from": "a", "to": "c"})
    assert await problem(reply) == (409, "exists")
    (root / "c" / "file").touch()
    assert await problem(await client.delete("/files?path=c")) == (409, "not_empty")
    assert (await client.delete("/files?path=c&recursive=true")).status == 204
    assert await problem(await client.delete("/files?path=c")) == (404, "no_such_file")
    assert changed == ["a/b", "a/b", "c", "c"]
    for body in ({"path": "x", "evil": 1}, {"parents": True}, [1]):
        assert (await client.post("/files/mkdir", json=body)).status == 422


async def test_total_counts_what_files_claim_and_what_they_take(client: Client, root: Path) -> None:
    (root / "tree" / "deep").mkdir(parents=True)
    (root / "tree" / "a").write_bytes(b"x" * 5000)
    with (root / "tree" / "deep" / "huge").open("wb") as file:
        file.truncate(2**40)
    (root / "tree" / "link").symlink_to("/usr")
    told = await (await client.get("/files/total?path=tree")).json()
    assert (told["files"], told["bytes"]) == (2, 2**40 + 5000)
    assert 5000 <= told["stored"] < 2**20
    one = await (await client.get("/files/total?path=tree/a")).json()
    assert (one["files"], one["bytes"]) == (1, 5000)
    assert (await client.get("/files/total?path=nothing")).status == 404


async def test_archive_goes_out_and_comes_in_whole(client: Client, root: Path) -> None:
    (root / "tree" / "sub").mkdir(parents=True)
    (root / "tree" / "sub" / "big").write_bytes(os.urandom(2_000_000))
    reply = await client.get("/files/archive?path=tree")
    assert (reply.status, reply.content_type) == (200, "application/x-tar")
    packed = await reply.read()
    reply = await client.put("/files/archive?path=copy/of/it", data=io.BytesIO(packed))
    assert (reply.status, await reply.json()) == (200, {"files": 2, "bytes": 2_000_000})
    big = (root / "tree" / "sub" / "big").read_bytes()
    assert (root / "copy/of/it/sub/big").read_bytes() == big


async def test_archive_that_is_unsafe_is_refused_and_says_why(client: Client, root: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as packed:
        info = tarfile.TarInfo("../escaped")
        info.size = 5_000_000
        packed.addfile(info, io.BytesIO(bytes(info.size)))
    reply = await client.put("/files/archive?path=into", data=io.BytesIO(out.getvalue()))
    assert await problem(reply) == (422, "unsafe_archive")
    assert await problem(await client.get("/files/archive?path=absent")) == (404, "no_such_file")


async def test_watch_tells_changes_as_events(client: Client, root: Path) -> None:
    async with asyncio.timeout(30), _watching(client, "path=&recursive=true") as events:
        (root / "file").write_text("x")
        assert await anext(events) == {"type": "created", "path": "file"}
        (root / "file").rename(root / "other")
        async for event in events:
            if event["type"] == "moved":
                break
        assert event == {"type": "moved", "path": "other", "from": "file"}
    assert await problem(await client.get("/files/watch?path=absent")) == (404, "no_such_file")


@asynccontextmanager
async def _watching(client: Client, query: str) -> AsyncIterator[AsyncIterator[dict[str, str]]]:
    async with client.get(f"/files/watch?{query}") as reply:
        assert reply.content_type == "text/event-stream"
        assert await reply.content.readline() == b"retry: 1000\n"
        assert await reply.content.readline() == b": watching\n"

        async def events() -> AsyncIterator[dict[str, str]]:
            async for line in reply.content:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])

        yield events()


async def test_move_overwrites_a_file_only_when_asked(client: Client, root: Path) -> None:
    (root / "a").write_text("new")
    (root / "b").write_text("old")
    move = {"from": "a", "to": "b"}
    assert await problem(await client.post("/files/move", json=move)) == (409, "exists")
    assert (root / "b").read_text() == "old"
    reply = await client.post("/files/move", json={**move, "overwrite": True})
    assert (reply.status, (root / "b").read_text()) == (200, "new")
