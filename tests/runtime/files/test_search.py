"""Searching a workspace: in bounds, and no secret by its beginning."""

import asyncio
import base64
import json
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient, TestServer

from atoll.domain.errors import Failed, Invalid
from atoll.domain.redaction.lexicon import Lexicon
from atoll.runtime.api.files import routes
from atoll.runtime.api.parts import Parts, promise_parts
from atoll.runtime.api.problems import problems
from atoll.runtime.files import files as files_module
from atoll.runtime.files.files import Files
from atoll.runtime.files.search import FileSearch, read_found
from atoll.runtime.policy.redactions import Redactions
from atoll.runtime.spawners.local import local
from atoll.wire.contract.files import FoundLine, FoundName

MANY = 20_000
SECRET = "sk-hush-1234567890abcdef"
Client = TestClient[web.Request, web.Application]
Event = dict[str, Any]


@pytest.fixture
def root() -> Iterator[Path]:
    # In memory where that is possible: some of the trees are large.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"
    with tempfile.TemporaryDirectory(prefix="at", dir=place) as folder:
        yield Path(folder)


@pytest.fixture
async def client(root: Path) -> AsyncIterator[Client]:
    async with local(root) as spawner:
        app = web.Application(middlewares=[problems])
        used = SimpleNamespace(files=Files(spawner), redactions=Redactions((SECRET,)))
        promise_parts(app).set_result(cast(Parts, used))
        app.add_routes(routes())
        async with TestClient(TestServer(app)) as client:
            yield client


def _read(body: bytes) -> list[Event]:
    return [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: ")]


async def found(client: Client, **query: str) -> list[Event]:
    reply = await client.get("/files/search", params=query)
    assert (reply.status, reply.content_type) == (200, "text/event-stream")
    return _read(await reply.read())


async def problem(reply: ClientResponse) -> tuple[int, str]:
    return reply.status, (await reply.json(content_type="application/problem+json"))["code"]


def hostile(root: Path) -> None:
    """A tree that an agent made to break out of, hang or confuse a search."""
    (root / "out").symlink_to("/etc")
    (root / "loop").symlink_to(".")
    (root / "passwd").symlink_to("/etc/passwd")
    os.mkfifo(root / "needle.fifo")
    (root / "<img src=x onerror=alert(1)>\nneedle\u202e").write_text("the Needle\r\n")
    Path(os.fsdecode(os.fsencode(root) + b"/needle\xff")).write_bytes(b"x\xff needle \xc3")
    (root / "binary").write_bytes(b"needle\0")
    (root / "large").write_bytes(b"needle")
    os.truncate(root / "large", 2**34)
    for name in (".git", "node_modules"):
        (root / name).mkdir()
        (root / name / "needle").write_text("needle")


async def test_search_of_a_hostile_tree_finds_names_exactly_and_follows_nothing(
    client: Client, root: Path
) -> None:
    hostile(root)
    *names, end = await found(client, text="NEEDLE")
    assert names == [
        {"type": "name", "path": "<img src=x onerror=alert(1)>\nneedle\u202e", "kind": "file"},
        {"type": "name", "path": "needle.fifo", "kind": "other"},
        {
            "type": "name",
            "path": "needle\ufffd",
            "kind": "file",
            "path_b64": base64.b64encode(b"needle\xff").decode(),
        },
    ]
    assert (end["reason"], end["files"]) == ("all", 8)
    inner, _ = await found(client, text="node_modules/needle", all="true")
    assert inner["path"] == "node_modules/needle"
    assert len(await found(client, text="NEEDLE", exact="true")) == 1


async def test_search_of_contents_skips_binaries_and_reports_large_files(
    client: Client, root: Path
) -> None:
    hostile(root)
    first, second, end = await found(client, text="needle", **{"in": "text"})
    assert (first["line"], first["before"], first["match"], first["after"]) == (
        1,
        "the ",
        "Needle",
        "",
    )
    assert (second["before"], second["match"], second["after"]) == ("x\ufffd ", "needle", " \ufffd")
    assert (end["reason"], end["large"]) == ("all", 1)
    assert len(await found(client, text="needle", path="node_modules/needle", all="1")) == 2


@pytest.mark.parametrize("path", ["out", "passwd", "../x", "loop/loop/absent"])
async def test_search_outside_the_workspace_is_refused(
    client: Client, root: Path, path: str
) -> None:
    hostile(root)
    reply = await client.get("/files/search", params={"path": path, "text": "root", "in": "text"})
    assert reply.status in (400, 403, 404, 409, 422)
    assert "root" not in (await reply.text()).replace("/root", "")


@pytest.mark.parametrize(
    "query", ["", "text=", "text=a%0Ab", "text=a%00", "text=a&in=x", "text=" + "a" * 1001]
)
async def test_search_text_that_cannot_be_part_of_a_line_is_refused(
    client: Client, query: str
) -> None:
    assert (await problem(await client.get(f"/files/search?{query}")))[0] == 422


async def test_search_ends_at_its_bounds_and_says_which(client: Client, root: Path) -> None:
    (root / "many").write_text("needle\n" * 500)
    (root / "other").write_text("needle\n" * 50)
    *lines, end = await found(client, text="needle", **{"in": "text"})
    assert (len(lines), end["more"], end["reason"]) == (150, 1, "all")
    assert [one["line"] for one in lines[:2]] == [1, 2] and lines[100]["path"] == "other"
    *lines, end = await found(client, text="needle", limit="7", **{"in": "text"})
    assert (len(lines), end["reason"]) == (7, "matches")


async def test_search_of_a_large_directory_looks_at_every_name(client: Client, root: Path) -> None:
    (root / "big").mkdir()
    folder = os.open(root / "big", os.O_RDONLY)
    for n in range(MANY):
        os.mknod(f"{n}.log", dir_fd=folder)
    os.close(folder)
    async with asyncio.timeout(30):
        *names, end = await found(client, path="big", text=f"{MANY - 1}")
    assert [one["path"] for one in names] == [f"big/{MANY - 1}.log"]
    assert (end["files"], end["reason"]) == (MANY, "all")


async def test_search_of_a_deep_tree_ends_and_reports_what_is_above(
    client: Client, root: Path
) -> None:
    at = os.open(root, os.O_RDONLY)
    for _ in range(600):
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)
    *names, end = await found(client, text="d", limit="5000")
    assert 500 < len(names) < 520 and end["reason"] == "all"


async def test_search_finds_no_secret_by_its_beginning_and_shows_none(
    client: Client, root: Path
) -> None:
    (root / "env").write_text(f"KEY={SECRET} # the key\nsk-hush is no secret\n")
    for n in (1, 7, 8, 12, len(SECRET)):
        *lines, _ = await found(client, text=SECRET[:n], **{"in": "text"})
        assert all(SECRET[:12] not in line["before"] + line["after"] for line in lines)
        assert [one["line"] for one in lines] == ([2] if n <= len("sk-hush") else [])
    line, _ = await found(client, text="the key", **{"in": "text"})
    assert line["before"] == f"KEY={'*' * len(SECRET)} # "


async def test_searches_at_once_are_bounded_and_end_with_their_client(
    client: Client, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("a")
    monkeypatch.setattr(files_module, "MAX_WAITING_SEARCHES", -files_module.MAX_SEARCHES)
    assert (await client.get("/files/search?text=a")).status == 429
    monkeypatch.undo()
    many = await asyncio.gather(*(found(client, text="a") for _ in range(12)))
    assert [len(each) for each in many] == [2] * 12


def test_secret_over_several_lines_is_masked_in_a_part_of_it() -> None:
    around = base64.b64encode(b"x\nBEGIN-first-part\nsecond-part-END here\n").decode()
    record = f"t YQ== 3 35 4 {around}".encode()
    shown = read_found(record, Lexicon(("BEGIN-first-part\nsecond-part-END",)))
    assert isinstance(shown, FoundLine)
    assert (shown.before, shown.match) == ("*" * 15 + " ", "here")


def test_match_in_a_long_line_is_shown_with_whole_characters_around() -> None:
    around = base64.b64encode(("é" * 300 + "needle" + "x" * 999).encode()).decode()
    shown = read_found(f"t YQ== 1 600 6 {around}".encode(), Lexicon())
    assert isinstance(shown, FoundLine)
    assert (shown.before, shown.match, shown.after) == ("é" * 40, "needle", "x" * 200)


@pytest.mark.parametrize("record", [b"x", b"n q YQ==", b"e why 1 2 3 4", b"t YQ== 1 2", b"n f !"])
def test_record_no_tool_writes_is_an_error(record: bytes) -> None:
    with pytest.raises(Failed):
        read_found(record, Lexicon())


def test_name_is_read_from_its_record() -> None:
    assert read_found(b"n d YQ==", Lexicon()) == FoundName("a", "dir")


@pytest.mark.parametrize("text", ["", "a\nb", "a\0", "é" * 501])
def test_query_text_that_cannot_be_part_of_a_line_is_invalid(text: str) -> None:
    with pytest.raises(Invalid):
        FileSearch("", text, contents=True)
