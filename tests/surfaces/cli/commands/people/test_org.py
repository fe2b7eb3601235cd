"""Organizations at the command line: each command makes its one call, of one's own team."""

import io
from typing import Any

import pytest
from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted, sandbox

ORG = {"organization_id": "personal", "slug": "acme", "name": "Acme", "role": "owner"}
BOB = {
    "member_id": "svc_1",
    "kind": "atm",
    "name": "deploy\x1b[2J",
    "email": "",
    "role": "viewer",
    "groups": ["ci"],
}
INVITED = {
    "invitation_id": "inv_1",
    "role": "member",
    "email": "",
    "expires_at": "2026-01-01T00:00:00Z",
}
OIDC = {"mode": "oidc", "realms": [{"realm": "r", "name": "R", "login_path": "/auth/oidc/r/login"}]}
LOCAL = {"mode": "local", "realms": []}
LINK = "https://atoll.example/#join=s"
OWN_LINK = "https://atoll.example/#link=s"
MADE = {**INVITED, "secret": "s", "url": LINK}
LEFT = {
    "sandbox_id": "sb_1",
    "name": "box",
    "state": "stopped",
    "owner": "bob",
    "expires_at": "2026-01-01T00:00:00Z",
}
BASE = "/v1/organizations/personal"
CALLS: list[tuple[str, tuple[str, ...], str, Any, Any]] = [
    ("create", ("acme", "--name", "Acme"), "POST /v1/organizations", ORG, "acme"),
    ("list", (), "GET /v1/organizations", {"organizations": [ORG]}, "acme"),
    ("show", ("acme",), "GET /v1/organizations/acme", ORG, "you are owner"),
    ("show", (), f"GET {BASE}", ORG, "acme (personal)"),
    ("members", (), f"GET {BASE}/members", {"members": [BOB]}, "service account"),
    ("invite", ("--email", "b@x.org"), f"POST {BASE}/invitations", MADE, LINK),
    ("invitations", (), f"GET {BASE}/invitations", {"invitations": [INVITED]}, "inv_1"),
    ("uninvite", ("inv_1",), f"DELETE {BASE}/invitations/inv_1", None, ""),
    ("role", ("bob", "viewer"), f"PATCH {BASE}/members/bob", BOB, "is viewer"),
    ("remove", ("bob", "--yes"), f"DELETE {BASE}/members/bob", None, ""),
    ("leave", ("--yes",), f"POST {BASE}/leave", None, ""),
    ("service-account", ("deploy",), f"POST {BASE}/service-accounts", BOB, "svc_1"),
    ("waiting", (), f"GET {BASE}/waiting-sandboxes", {"sandboxes": [LEFT]}, "sb_1"),
    ("link", (), "POST /v1/me/login", {"url": OWN_LINK, "expires_in": 600}, OWN_LINK),
    ("members", ("--org", "other"), "GET /v1/organizations/other/members", {"members": []}, ""),
]


def _give(server: Scripted, call: str, answer: Any) -> None:
    server.answers["GET /v1/me"] = lambda _: web.json_response(
        {"id": "person", "org_id": "personal", "name": "Ada"}
    )
    server.answers.setdefault("GET /auth/realms", lambda _: web.json_response(OIDC))
    server.answers[call] = lambda _: (
        web.Response(status=204) if answer is None else web.json_response(answer)
    )


@pytest.mark.parametrize(("verb", "words", "call", "answer", "shown"), CALLS)
def test_org_command_makes_its_call_and_says_what_came(
    cli: Cli,
    server: Scripted,
    verb: str,
    words: tuple[str, ...],
    call: str,
    answer: Any,
    shown: str,
) -> None:
    _give(server, call, answer)
    ran = cli("org", verb, *words)
    assert ran.code == 0, ran.err
    assert shown in ran.out
    assert "\x1b" not in ran.out
    method, _, path = call.partition(" ")
    assert len(server.requests(method, path)) == 1


def test_bodies_of_org_commands_hold_what_was_said(cli: Cli, server: Scripted) -> None:
    _give(server, f"POST {BASE}/invitations", MADE)
    cli("org", "invite", "--role", "admin", "--group", "a", "--group", "b", "--ttl", "1h")
    (invited,) = server.requests("POST", f"{BASE}/invitations")
    assert invited.json == {"role": "admin", "email": "", "ttl": "1h", "groups": ["a", "b"]}
    _give(server, f"PATCH {BASE}/members/bob", BOB)
    cli("org", "role", "bob", "--group", "a")
    (changed,) = server.requests("PATCH", f"{BASE}/members/bob")
    assert changed.json == {"role": None, "groups": ["a"]}


@pytest.mark.parametrize(
    ("verb", "words", "call", "answer"),
    [
        ("create", ("acme",), "POST /v1/organizations", ORG),
        ("invite", (), f"POST {BASE}/invitations", MADE),
        ("invitations", (), f"GET {BASE}/invitations", {"invitations": [INVITED]}),
    ],
)
def test_invitations_that_nobody_can_accept_are_said_to_need_a_login_provider(
    cli: Cli, server: Scripted, *, verb: str, words: tuple[str, ...], call: str, answer: Any
) -> None:
    _give(server, call, answer)
    told = cli("org", verb, *words).err
    assert "login provider" not in told
    server.answers["GET /auth/realms"] = lambda _: web.json_response(LOCAL)
    told = cli("org", verb, *words).err
    assert "nobody else can log in here yet" in told
    assert "docs/run/sign-in.md" in told and "`atoll share`" in told


def test_invitation_by_loopback_is_said_to_work_on_this_machine_only(
    cli: Cli, server: Scripted
) -> None:
    _give(server, f"POST {BASE}/invitations", {**MADE, "local_only": True})
    assert "works on this machine only" in cli("org", "invite").err
    _give(server, f"POST {BASE}/invitations", {**MADE, "local_only": False})
    assert "this machine" not in cli("org", "invite").err


def test_removal_that_nobody_confirms_removes_nobody(cli: Cli, server: Scripted) -> None:
    _give(server, f"DELETE {BASE}/members/bob", None)
    ran = cli("org", "remove", "bob")
    assert ran.code != 0
    assert "add --yes" in ran.err
    assert server.requests("DELETE", f"{BASE}/members/bob") == []


def test_give_names_the_member_and_shows_whose_it_is(cli: Cli, server: Scripted) -> None:
    call = "POST /v1/sandboxes/box/owner"
    server.answers[call] = lambda _: web.json_response(sandbox("box", owner="bob"))
    ran = cli("give", "box", "bob", "--yes")
    assert ran.code == 0
    assert "box is bob's" in ran.out
    (given,) = server.requests("POST", "/v1/sandboxes/box/owner")
    assert given.json == {"member": "bob"}
    assert cli("give", "box", "bob").code != 0


def test_secret_of_an_invitation_comes_from_stdin_and_never_from_the_command_line(
    cli: Cli, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    _give(server, "POST /v1/invitations/accept", {**ORG, "role": "member"})
    for said in ("the-secret\n", "https://atoll.example/#join=the-secret\n"):
        monkeypatch.setattr("sys.stdin", io.StringIO(said))
        assert "you are member of acme" in cli("org", "join").out
    joined = server.requests("POST", "/v1/invitations/accept")
    assert [one.json for one in joined] == [{"secret": "the-secret"}] * 2
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert "nothing came: pipe the link in" in cli("org", "join").err
    assert cli("org", "join", "the-secret").code != 0


def test_login_is_ended_once_it_was_named(cli: Cli, server: Scripted) -> None:
    own = {"linked": True, "name": "Ada", "email": "ada@example.org"}
    _give(server, "GET /v1/me/login", own)
    _give(server, "DELETE /v1/me/login", None)
    assert "ada@example.org is somebody else" in cli("org", "unlink", "--yes").err
    assert len(server.requests("DELETE", "/v1/me/login")) == 1
    _give(server, "GET /v1/me/login", {"linked": False, "name": "", "email": ""})
    assert "you have no login at a provider" in cli("org", "unlink", "--yes").err
    assert len(server.requests("DELETE", "/v1/me/login")) == 1
