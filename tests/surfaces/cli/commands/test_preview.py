"""Previews at the command line: links alone on stdout, lists with the ports, and the builds."""

import json
from typing import Any
from unittest.mock import patch

from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted

AT = "/v1/sandboxes/box"
PREVIEW = {
    "preview_id": "pv_1",
    "app": "web",
    "port": 3000,
    "pr_number": 7,
    "sha": None,
    "state": "failed",
    "reason": "A command ended with exit code 3.",
    "url": "http://pr-7.web.localhost:1",
}
LINK = {"url": "http://x.localhost:1/.atoll/enter#s", "expires_at": "2036-01-01T00:00:00Z"}


def answers(server: Scripted, route: str, value: object, status: int = 200) -> None:
    server.answers[route] = lambda _seen: web.json_response(value, status=status)


def test_link_prints_the_link_alone_on_stdout(cli: Cli, server: Scripted) -> None:
    answers(server, f"POST {AT}/ports/3000/links", {**LINK, "local_only": True}, 201)
    ran = cli("preview", "link", "box", "3000", "--path", "/a", "--ttl", "1h")
    assert (ran.code, ran.out) == (0, f"{LINK['url']}\n")
    assert "one use" in ran.err and "preview_domain" in ran.err
    assert server.requests("POST", f"{AT}/ports/3000/links")[0].json == {"path": "/a", "ttl": "1h"}
    answers(server, f"POST {AT}/previews/pv_1/links", {**LINK, "local_only": False}, 201)
    ran = cli("preview", "link", "box", "pv_1", "--json")
    assert json.loads(ran.out)["url"] == LINK["url"]


def test_open_takes_the_browser_and_prints_the_link_where_there_is_none(
    cli: Cli, server: Scripted
) -> None:
    answers(server, f"POST {AT}/ports/3000/links", {**LINK, "local_only": True}, 201)
    for found, out in ((True, ""), (False, f"{LINK['url']}\n")):
        with patch("webbrowser.open", return_value=found) as opened:
            assert cli("preview", "open", "box", "3000").out == out
        opened.assert_called_once_with(LINK["url"])


def test_list_shows_previews_that_live_and_other_ports(cli: Cli, server: Scripted) -> None:
    gone: dict[str, Any] = {**PREVIEW, "preview_id": "pv_0", "state": "gone"}
    answers(server, f"GET {AT}/previews", {"previews": [PREVIEW, gone], "next": None})
    ports = [{"port": 3000, "chosen": True}, {"port": 8000, "chosen": True}]
    answers(server, f"GET {AT}/ports", {"ports": ports})
    ran = cli("preview", "list", "box")
    assert ran.code == 0 and "pv_1" in ran.out and "pv_0" not in ran.out
    assert ran.out.count("3000") == 1 and "8000" in ran.out
    found = json.loads(cli("preview", "list", "box", "--all", "--json").out)
    assert found == {"previews": [PREVIEW, gone], "ports": ports}


def test_build_is_made_again_read_and_removed(cli: Cli, server: Scripted) -> None:
    answers(server, f"POST {AT}/previews", PREVIEW, 201)
    ran = cli("preview", "create", "box", "web", "3000", "--pr", "7", "--sha", "abcdef1")
    assert ran.out == "pv_1\n" and "exit code 3" in ran.err
    made = server.requests("POST", f"{AT}/previews")[0].json
    assert made == {"app": "web", "port": 3000, "pr_number": 7, "sha": "abcdef1"}
    answers(server, f"POST {AT}/previews/pv_1/rebuild", {**PREVIEW, "reason": None})
    assert cli("preview", "rebuild", "box", "pv_1").err.strip().endswith("failed")
    answers(server, f"GET {AT}/previews/pv_1/log", {"text": "npm \x1b[2Jsaid"})
    ran = cli("preview", "log", "box", "pv_1")
    assert "said" in ran.out and "\x1b[2J" not in ran.out
    answers(server, f"DELETE {AT}/previews/pv_1", {**PREVIEW, "state": "gone"})
    assert "gone" in cli("preview", "delete", "box", "pv_1").err
