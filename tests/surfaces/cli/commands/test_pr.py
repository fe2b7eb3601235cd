"""`atoll pr`: what is sent to open a pull request, and how one is shown."""

from typing import Any

import pytest
from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted

ROUTE = "/v1/sandboxes/{box}/pull-requests"
PULL: dict[str, Any] = {
    "number": 7, "url": "https://forge.example/o/r/pulls/7", "title": "Fix \x1b[2J it",
    "state": "open", "draft": True, "branch": "fix", "base": "main", "commit": "a" * 40,
    "existed": False,
}  # fmt: skip
COMMENT = {
    "id": "line-5", "author": "ada", "text": "Why\ntwo?\x1b]0;x\x07", "at": "2026-01-02T00:00:00Z",
    "path": "src/a.py", "line": 3,
}  # fmt: skip


@pytest.mark.parametrize("existed", [False, True])
def test_create_sends_what_was_given_and_says_where_it_is(
    cli: Cli, server: Scripted, existed: bool
) -> None:
    server.add("box")
    route = ROUTE.format(box="box")
    made = web.json_response(PULL | {"existed": existed}, status=201)
    server.answers[f"POST {route}"] = lambda _seen: made
    ran = cli("pr", "create", "box", "-t", "Fix it", "--base", "main", "--draft")
    assert ran.code == 0, ran.err
    said = "is open already" if existed else "opened"
    assert ran.out == f"{said}: https://forge.example/o/r/pulls/7\n"
    (sent,) = server.requests("POST", route)
    assert sent.json == {"title": "Fix it", "text": "", "repo": 0, "draft": True, "base": "main"}


def test_show_has_checks_and_comments_without_control_characters(
    cli: Cli, server: Scripted
) -> None:
    server.add("box")
    route = ROUTE.format(box="box")
    checks = [{"name": "tests", "state": "failed"}]
    server.answers[f"GET {route}"] = lambda _seen: web.json_response({"pull_requests": [PULL]})
    one = PULL | {"checks": checks, "comments": [COMMENT]}
    server.answers[f"GET {route}/7"] = lambda _seen: web.json_response(one)
    ran = cli("pr", "show", "box", "--branch", "fix")
    assert ran.code == 0, ran.err
    assert "failed  tests" in ran.out and "ada on src/a.py:3" in ran.out
    assert "\x1b" not in ran.out and "\x07" not in ran.out


def test_show_without_a_pull_request_says_how_to_open_one(cli: Cli, server: Scripted) -> None:
    server.add("box")
    route = ROUTE.format(box="box")
    server.answers[f"GET {route}"] = lambda _seen: web.json_response({"pull_requests": []})
    ran = cli("pr", "show", "box")
    assert ran.code != 0 and "atoll pr create box" in ran.err


def test_create_without_a_title_leaves_it_to_the_task(cli: Cli, server: Scripted) -> None:
    server.add("box")
    route = ROUTE.format(box="box")
    server.answers[f"POST {route}"] = lambda _seen: web.json_response(PULL, status=201)
    assert cli("pr", "create", "box").code == 0
    (sent,) = server.requests("POST", route)
    assert sent.json == {"text": "", "repo": 0, "draft": False}
