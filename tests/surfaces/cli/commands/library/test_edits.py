"""`atoll commit` and `atoll discard`, against scripted answers."""

import json
from typing import Any

import pytest
from aiohttp import web

from tests.surfaces.cli.conftest import Cli, spawned
from tests.surfaces.cli.scripted import Scripted, Seen

BASE = "/v1/sandboxes/box"


def changed(path: str, digest: str) -> dict[str, Any]:
    return {"path": path, "kind": "modified", "additions": 1, "deletions": 2, "digest": digest}


FILES = [
    changed("src/a", "d1"), changed("src/\x1b[2Jb", "d2"), changed("z", "d3"),
    changed("own/", "d4"),
]  # fmt: skip


@pytest.fixture
def sent(server: Scripted) -> list[Any]:
    """The bodies of what is discarded and committed in `box`."""
    server.add("box")
    found = {"total": 4, "commits": 0, "additions": 0, "deletions": 0, "files": FILES}
    bodies: list[Any] = []

    def act(request: Seen) -> web.StreamResponse:
        bodies.append(json.loads(request.body))
        return web.json_response({"saved": 6 + len(bodies), "commit": "c" * 40})

    server.answers[f"GET {BASE}/changes"] = lambda _: web.json_response(found)
    server.answers[f"POST {BASE}/changes/discard"] = act
    server.answers[f"POST {BASE}/commit"] = act
    return bodies


def test_discard_asks_and_names_the_way_back(cli: Cli, sent: list[Any]) -> None:
    refused = cli("discard", "box", "z")
    assert (refused.code, sent) == (1, [])
    assert "M z  +1 -2" in refused.err
    ran = cli("discard", "box", "src/", "./z", "z", "--yes", "--base")
    assert ran.out.splitlines() == [
        "discarded the changes of 3 files in box",
        "`atoll rewind box 7` brings them back",
    ]
    assert [(one["path"], one["digest"]) for one in sent] == [
        ("src/a", "d1"), ("src/\x1b[2Jb", "d2"), ("z", "d3"),
    ]  # fmt: skip
    assert {one["against"] for one in sent} == {"base"}
    assert json.loads(cli("discard", "box", ".", "-y", "--json").out) == {
        "saved": 10,
        "commit": "c" * 40,
    }


def test_discard_of_what_did_not_change_is_refused(cli: Cli, sent: list[Any]) -> None:
    ran = cli("discard", "box", "z", "sr\x1b[2J", "--yes")
    assert (ran.code, sent) == (3, [])
    assert "sr\\x1b[2J has no changes in box" in ran.err
    assert cli("discard", "box", "own/", "--yes").code == 3


def test_commit_sends_message_and_paths(cli: Cli, sent: list[Any]) -> None:
    assert cli("commit", "box").code == 2
    assert cli("commit", "box", "-m", "Mend it", "-m", "Because.", "src").out == (
        "cccccccccccc Mend it\n"
    )
    assert cli("commit", "box", "-m", "x", "--json").code == 0
    assert sent == [
        {"message": "Mend it\n\nBecause.", "paths": ["src"], "repo": 0},
        {"message": "x", "paths": None, "repo": 0},
    ]


def test_changed_files_are_completed_when_plain(
    environ: dict[str, str], server: Scripted, sent: list[Any]
) -> None:
    def words(line: str) -> list[bytes]:
        place = str(len(line.split()) - (line[-1] != " "))
        asked = {"_ATOLL_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": place}
        return spawned({**environ, **asked}).communicate(timeout=20)[0].split()

    assert words("atoll discard box ") == [b"plain,src/", b"plain,z", b"plain,own/"]
    assert words("atoll commit box src/") == [b"plain,src/a"]
    assert server.requests("GET", f"{BASE}/changes")[-1].query["against"] == "uncommitted"
