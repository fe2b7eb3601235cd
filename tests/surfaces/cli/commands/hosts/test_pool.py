"""Pools at the command line."""

from typing import Any

from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted

POOL: dict[str, Any] = {
    "profile": "profile.shell",
    "min": 2,
    "max": 5,
    "idle": 600,
    "ready": 1,
    "building": 1,
    "taken": 7,
    "missed": 3,
    "trouble": None,
    "set_by": "person",
    "set_at": "2026-12-02T12:00:00Z",
}


def answers(server: Scripted, route: str, value: object, status: int = 200) -> None:
    server.answers[route] = lambda _seen: web.json_response(value, status=status)


def test_set_sends_the_size_and_shows_the_pool(server: Scripted, cli: Cli) -> None:
    answers(server, "PUT /v1/pools/shell", POOL)
    ran = cli("pool", "set", "shell", "--min", "2", "--max", "5", "--idle", "10m")
    assert ran.code == 0
    assert server.seen[-1].json == {"min": 2, "max": 5, "idle": "10m"}
    assert ran.out.splitlines()[1].split() == [
        *("profile.shell", "2", "5", "600", "s", "1", "1", "7", "3")
    ]
    assert cli("pool", "set", "shell", "--idle", "soon").code == 2


def test_list_says_what_is_wrong_and_how_to_begin(server: Scripted, cli: Cli) -> None:
    answers(server, "GET /v1/pools", {"pools": [{**POOL, "trouble": "no disk is left"}]})
    ran = cli("pool", "list")
    assert "profile.shell" in ran.out and "no disk is left" in ran.err
    answers(server, "GET /v1/pools", {"pools": []})
    assert "atoll pool set" in cli("pool", "list").out


def test_show_and_rm_name_one_pool(server: Scripted, cli: Cli) -> None:
    answers(server, "GET /v1/pools/shell", POOL)
    assert '"taken": 7' in cli("pool", "show", "shell", "--json").out
    server.answers["DELETE /v1/pools/shell"] = lambda _seen: web.Response(status=204)
    assert "removed" in cli("pool", "rm", "shell").out
