"""`atoll commits` and `atoll find`: what is read from inside, without its control characters."""

import json
from typing import Any

from aiohttp import web

from tests.surfaces.cli.commands.library.test_diff import FILE
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted

COMMIT = {
    "commit": "4f1c2b9a0d" + "0" * 30, "parents": [], "author": "codex\x1b[2J", "email": "c@x.org",
    "at": "2999-01-01T00:00:00Z", "subject": "Say why\x1b[31m",
}  # fmt: skip


def _listing(server: Scripted, path: str, answer: dict[str, Any]) -> None:
    server.add("box")
    server.answers[f"GET /v1/sandboxes/box/{path}"] = lambda _: web.json_response(answer)


def test_commits_are_listed_with_the_names_of_their_branches(cli: Cli, server: Scripted) -> None:
    ref = {"name": "fix\x1b]0;x\x07", "kind": "branch", "commit": COMMIT["commit"]}
    page = {"branch": "fix", "head": None, "digest": "d", "refs": [ref], "commits": [COMMIT]}
    _listing(server, "commits", {**page, "next": "1"})
    ran = cli("commits", "box", "--limit", "1", "--repo", "2")
    assert (ran.code, ran.err) == (0, "there are more: raise --limit\n")
    _, line = ran.out.splitlines()
    assert "4f1c2b9a0d" in line and "(fix" in line and "Say why" in line and "\x1b" not in line
    (asked,) = server.requests("GET", "/v1/sandboxes/box/commits")
    assert dict(asked.query) == {"repo": "2", "limit": "1"}
    assert json.loads(cli("commits", "box", "--json").out)["commits"] == [COMMIT]


def test_commit_is_shown_with_its_message_and_its_changes(cli: Cli, server: Scripted) -> None:
    shown = {"commit": COMMIT, "message": "Say why\n\nIt failed\x1b[2J", "files": [FILE]}
    _listing(server, "commits/4f1c2b9a0d", {**shown, "truncated": True})
    ran = cli("commits", "box", "4f1c2b9a0d")
    assert ran.code == 0 and "too long" in ran.err and "\x1b" not in ran.out
    lines = ran.out.splitlines()
    assert lines[0] == f"commit {COMMIT['commit']}"
    assert "    Say why" in lines and "diff --git a/ev\\x1b[2Jil b/ev\\x1b[2Jil" in lines
    assert json.loads(cli("commits", "box", "4f1c2b9a0d", "--json").out)["truncated"] is True


def _finding(server: Scripted, *events: dict[str, Any]) -> None:
    server.add("box")
    body = "".join(f"data: {json.dumps(one)}\n\n" for one in events)
    server.answers["GET /v1/sandboxes/box/files/search"] = lambda _: web.Response(
        text=body, content_type="text/event-stream"
    )


END = {"type": "end", "reason": "matches", "files": 9, "bytes": 99, "large": 2, "more": 1}


def test_files_are_found_by_their_lines_and_the_bound_is_said(cli: Cli, server: Scripted) -> None:
    line = {"type": "line", "path": "a\x1b[2J.py", "line": 12, "before": "def ", "match": "login"}
    _finding(server, {**line, "after": "():"}, END)
    ran = cli("find", "box", "login", "--match-case", "--all", "--path", "src", "--limit", "7")
    assert (ran.code, ran.out) == (0, "a\\x1b[2J.py:12: def login():\n")
    assert "raise --limit" in ran.err and "2 large files" in ran.err and "of 1 files" in ran.err
    (asked,) = server.requests("GET", "/v1/sandboxes/box/files/search")
    assert dict(asked.query) == {
        "text": "login", "in": "text", "limit": "7", "exact": "true", "all": "true", "path": "src",
    }  # fmt: skip


def test_files_are_found_by_their_names_and_nothing_is_an_exit_code(
    cli: Cli, server: Scripted
) -> None:
    end = {**END, "reason": "all", "large": 0, "more": 0}
    _finding(server, {"type": "name", "path": "src/login.py", "kind": "file"}, end)
    ran = cli("find", "box", "login", "--names")
    assert (ran.code, ran.out, ran.err) == (0, "src/login.py\n", "")
    told = [json.loads(one) for one in cli("find", "box", "x", "--json").out.splitlines()]
    assert [one["type"] for one in told] == ["name", "end"]
    _finding(server, end)
    assert cli("find", "box", "nothing").code == 1
