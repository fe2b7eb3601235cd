"""Tokens at the command line: printed once, listed without their texts, revoked."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted

TEXT = "atoll_pat_x"


def _token(**more: Any) -> dict[str, Any]:
    ends = datetime.now(UTC) + timedelta(days=29, hours=1)
    shown = {
        "id": "tok_1",
        "name": "ci",
        "capabilities": ["sandbox.create", "sandbox.read", "terminal.use", "terminal.watch"],
        "sandbox_id": None,
        "parent": None,
        "created_at": "2026-01-01T00:00:00Z",
        "expires_at": ends.isoformat(),
        "used_at": None,
    }
    return {**shown, **more}


def answers(server: Scripted, route: str, value: object, status: int = 200) -> None:
    server.answers[route] = lambda _seen: web.json_response(value, status=status)


def test_new_prints_the_token_alone_on_stdout(cli: Cli, server: Scripted) -> None:
    answers(server, "POST /auth/pat", _token(token=TEXT), 201)
    words = ("--can", "sandbox.read", "--can", "event.read", "--ttl", "7d", "--sandbox", "box")
    ran = cli("token", "new", "ci", *words)
    assert (ran.code, ran.out) == (0, TEXT + "\n") and "not shown again" in ran.err
    (seen,) = server.requests("POST", "/auth/pat")
    assert seen.json == {
        "name": "ci",
        "ttl": "7d",
        "sandbox_id": "box",
        "capabilities": ["sandbox.read", "event.read"],
    }
    cli("token", "new", "ci", "--account", "svc_1")
    bare = server.requests("POST", "/auth/pat")[1].json
    assert "capabilities" not in bare and bare["account"] == "svc_1"


def test_list_shows_no_text_and_escapes_names(cli: Cli, server: Scripted) -> None:
    used = (datetime.now(UTC) - timedelta(minutes=3)).isoformat()
    tokens = [_token(name="c\x1b[2Ji"), _token(id="tok_2", used_at=used, sandbox_id="sb_1")]
    answers(server, "GET /v1/tokens", {"tokens": tokens})
    ran = cli("token", "list")
    assert ran.code == 0 and "\x1b[2J" not in ran.out and "never" in ran.out
    assert "and 1 more" in ran.out and "sb_1" in ran.out and "in 29d" in ran.out
    assert json.loads(cli("token", "list", "--json").out) == {"tokens": tokens}
    cli("token", "list", "--account", "svc_1")
    assert server.requests("GET", "/v1/tokens")[-1].query == {"account": "svc_1"}


def test_revoke_ends_each_and_says_so(cli: Cli, server: Scripted) -> None:
    for name in ("tok_1", "tok_2"):
        server.answers[f"DELETE /v1/tokens/{name}"] = lambda _seen: web.Response(status=204)
    ran = cli("token", "revoke", "tok_1", "tok_2")
    assert ran.code == 0 and "revoked tok_2" in ran.err
    assert cli("token", "revoke", "").code == 2 or server.requests("DELETE", "/v1/tokens/") == []


def test_rotation_names_the_key_and_may_end_the_old_ones(cli: Cli, server: Scripted) -> None:
    answers(server, "POST /v1/tokens/rotate-keys", {"kid": "k2"})
    assert cli("token", "rotate-keys").out == "k2 signs from now on\n"
    assert cli("token", "rotate-keys", "--now", "--json").code == 0
    bodies = [seen.json for seen in server.requests("POST", "/v1/tokens/rotate-keys")]
    assert bodies == [{"at_once": False}, {"at_once": True}]
