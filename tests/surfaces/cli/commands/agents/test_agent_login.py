"""`atoll agent login`: the code is shown, the person waited for, and no key is an argument."""

import io
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web

from atoll.surfaces.cli.commands.agents import agent_login
from atoll.surfaces.cli.console.exits import CONFLICT, FAILED, NOT_FOUND, OK, USAGE
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted

KEY = "sk-canary-login-7f3a9c1b5d2e8046"
LOGINS = "/v1/agent-logins"
ONE = f"{LOGINS}/alg_one"


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_login, "PAUSE_SECONDS", 0.0)


def shown(**changed: Any) -> dict[str, Any]:
    found = {
        "id": "alg_one", "agent": "codex", "method": 1, "status": "pending", "reason": "",
        "in_use": False, "token_ref": "sec_one", "scopes": [], "page": "https://i.example/device",
        "user_code": "AB\x1b[2JCD", "provider": "", "exposed_to": [],
        "created_at": "2026-01-01T00:00:00Z", "expires_at": None,
    }  # fmt: skip
    return {**found, **changed}


def answer(server: Scripted, route: str, *values: Any, status: int = 200) -> None:
    """Answer with these values in turn, the last one from then on."""
    rest: Iterator[Any] = iter(values[:-1])
    server.answers[route] = lambda _seen: web.json_response(next(rest, values[-1]), status=status)


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Give a text on standard input."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_login_shows_code_and_address_and_waits(cli: Cli, server: Scripted) -> None:
    answer(server, f"POST {LOGINS}", shown(), status=201)
    answer(server, f"GET {ONE}", shown(), shown(), shown(status="ready"))
    ran = cli("agent", "login")
    assert ran.code == OK and ran.out == "codex is logged in: alg_one\n", ran.err
    assert "open https://i.example/device" in ran.err and "--on alg_one" in ran.err
    assert "\x1b" not in ran.err
    assert len(server.requests("GET", ONE)) == 3
    assert server.requests("POST", LOGINS)[0].json == {"agent": "codex", "method": 1}


def test_login_is_used_only_where_its_person_says_so(cli: Cli, server: Scripted) -> None:
    answer(server, f"POST {LOGINS}", shown(status="ready"), status=201)
    answer(server, f"PUT {ONE}/use", shown(status="ready", in_use=True))
    assert cli("agent", "login").code == OK and not server.requests("PUT", f"{ONE}/use")
    assert cli("agent", "login", "claude-code", "--use").code == OK
    assert server.requests("PUT", f"{ONE}/use")[0].json == {"in_use": True}
    answer(server, f"GET {LOGINS}", {"logins": [shown()], "next": None})
    ran = cli("agent", "logins", "--off", "alg_one")
    assert "sec_one" in ran.out and server.requests("PUT", f"{ONE}/use")[1].json == {
        "in_use": False
    }


@pytest.mark.parametrize("status", ["denied", "expired", "failed", "revoked"])
def test_login_that_ends_says_why(cli: Cli, server: Scripted, status: str) -> None:
    answer(server, f"POST {LOGINS}", shown(), status=201)
    answer(server, f"GET {ONE}", shown(status=status, reason="no\x1b[2J reason"))
    ran = cli("agent", "login")
    assert (ran.code, ran.out) == (CONFLICT, "") and status in ran.err and "\x1b" not in ran.err


def test_key_and_redirect_come_by_standard_input(
    cli: Cli, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(server, f"POST {LOGINS}", shown(status="ready", method=2), status=201)
    typed(monkeypatch, f"{KEY}\n")
    ran = cli("agent", "login", "opencode", "--key")
    assert ran.code == OK and KEY not in ran.out + ran.err
    assert server.requests("POST", LOGINS)[0].json == {
        "agent": "opencode", "method": 2, "api_key": KEY,
    }  # fmt: skip
    answer(server, f"POST {LOGINS}", shown(method=0, user_code=""), status=201)
    answer(server, f"POST {ONE}/redirect", shown(method=0, status="ready"))
    typed(monkeypatch, "http://localhost:1455/auth/callback?code=c&state=s\n")
    assert cli("agent", "login", "--browser").code == OK
    assert server.requests("POST", f"{ONE}/redirect")[0].json == {
        "redirect": "http://localhost:1455/auth/callback?code=c&state=s"
    }
    typed(monkeypatch, "")
    assert cli("agent", "login", "--key").code == FAILED
    typed(monkeypatch, "x" * 9000)
    assert cli("agent", "login", "--key").code == USAGE


def test_key_names_its_provider(
    cli: Cli, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, KEY)
    made = shown(status="ready", method=2, agent="opencode", provider="anthropic")
    answer(server, f"POST {LOGINS}", made, status=201)
    ran = cli("agent", "login", "opencode", "--key", "--provider", "anthropic")
    assert ran.code == OK, ran.err
    body = {"agent": "opencode", "method": 2, "api_key": KEY, "provider": "anthropic"}
    assert server.requests("POST", LOGINS)[0].json == body
    answer(server, f"GET {LOGINS}", {"logins": [made], "next": None})
    assert "key of anthropic" in cli("agent", "logins").out


def test_exposing_a_login_says_what_it_means(cli: Cli, server: Scripted) -> None:
    before, after = (
        ["profile:profile.a"],
        ["profile:profile.a", "sandbox:sb_1", "profile:profile.b"],
    )
    ends = "2026-01-01T10:00:00Z"
    answer(server, f"GET {ONE}", shown(status="ready", exposed_to=before))
    answer(server, "GET /v1/sandboxes/box", {"sandbox_id": "sb_1", "name": "box"})
    exposed = shown(status="ready", exposed_to=after, expires_at=ends)
    answer(server, f"PUT {ONE}/exposure", exposed, shown(status="ready"))
    answer(server, f"GET {LOGINS}", {"logins": [exposed], "next": None})
    ran = cli("agent", "logins", "--expose", "alg_one", "--to", "box", "--to", "profile:b")
    assert ran.code == OK, ran.err
    assert f"may use it anywhere until {ends}" in ran.err and "sandbox:sb_1" in ran.out
    assert server.requests("PUT", f"{ONE}/exposure")[0].json == {"exposed_to": after}
    ran = cli("agent", "logins", "--conceal", "alg_one")
    assert ran.code == OK and "works until its end" in ran.err
    assert server.requests("PUT", f"{ONE}/exposure")[1].json == {"exposed_to": []}
    for words in (("--expose", "alg_one"), ("--to", "box")):
        assert cli("agent", "logins", *words).code == USAGE


def test_logout_ends_the_open_logins_of_an_agent(cli: Cli, server: Scripted) -> None:
    others = [shown(id="alg_two", status="failed"), shown(id="alg_three", agent="claude-code")]
    answer(server, f"GET {LOGINS}", {"logins": [shown(), *others], "next": None})
    answer(server, f"DELETE {ONE}", shown(status="revoked"))
    ran = cli("agent", "logout")
    assert (ran.code, ran.out) == (OK, "logged out: codex (alg_one)\n")
    ran = cli("agent", "logout", "alg_two")
    assert (ran.code, ran.out) == (OK, "") and "ended already" in ran.err
    assert cli("agent", "logout", "opencode").code == NOT_FOUND
