"""Dashboards at the command line, named by id or by name."""

from typing import Any

from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted


def _dashboard(**more: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": "dsh_1",
        "name": "Plan",
        "owner": "person",
        "scope": "private",
        "role": "owner",
        "sandbox_id": None,
        "linked": [],
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "items": 3,
    }
    return {**shown, **more}


def answers(server: Scripted, route: str, value: object, status: int = 200) -> None:
    server.answers[route] = lambda _seen: web.json_response(value, status=status)


def listed(server: Scripted, *dashboards: dict[str, Any]) -> None:
    answers(server, "GET /v1/dashboards", {"dashboards": list(dashboards), "next": None})


def test_create_prints_the_id_alone_and_list_shows_what_is_there(
    cli: Cli, server: Scripted
) -> None:
    answers(server, "POST /v1/dashboards", _dashboard(), 201)
    ran = cli("dashboard", "create", "Plan", "--scope", "shared", "--template", "review")
    assert (ran.code, ran.out) == (0, "dsh_1\n")
    (seen,) = server.requests("POST", "/v1/dashboards")
    assert seen.json == {"name": "Plan", "scope": "shared", "template": "review"}
    listed(server, _dashboard())
    shown = cli("dashboard", "list").out
    assert all(word in shown for word in ("dsh_1", "Plan", "owner", "private", "3"))


def test_dashboard_is_found_by_its_name_where_one_alone_has_it(cli: Cli, server: Scripted) -> None:
    listed(server, _dashboard(), _dashboard(id="dsh_2", name="Two"), _dashboard(id="dsh_3"))
    answers(server, "PATCH /v1/dashboards/dsh_2", _dashboard(id="dsh_2", name="New"))
    assert cli("dashboard", "rename", "Two", "New").code == 0
    assert server.requests("PATCH", "/v1/dashboards/dsh_2")[0].json == {"name": "New"}
    several, missing = cli("dashboard", "delete", "Plan"), cli("dashboard", "delete", "Nope")
    assert several.code != 0 and "several" in several.err
    assert missing.code != 0 and "no dashboard" in missing.err
    answers(server, "DELETE /v1/dashboards/dsh_1", None, 204)
    assert "atoll dashboard restore dsh_1" in cli("dashboard", "delete", "dsh_1").err


def test_link_is_printed_once_listed_and_revoked(cli: Cli, server: Scripted) -> None:
    share = {
        "share_id": "sh_1",
        "dashboard_id": "dsh_1",
        "terminals": True,
        "edits": True,
        "name": "for Bob",
        "created_at": "2026-01-01T00:00:00Z",
        "expires_at": "2036-01-01T00:00:00Z",
        "guests": 1,
        "guest_names": ["Bob"],
    }
    made = {**share, "link": "http://localhost/#share=abc", "local_only": True}
    answers(server, "POST /v1/dashboards/dsh_1/shares", made, 201)
    ran = cli("dashboard", "link", "dsh_1", "--ttl", "2h", "--terminals", "--label", "for Bob")
    assert (ran.code, ran.out) == (0, "http://localhost/#share=abc\n")
    assert "watch its terminals" in ran.err and "this machine only" in ran.err
    (seen,) = server.requests("POST", "/v1/dashboards/dsh_1/shares")
    assert seen.json == {"ttl": "2h", "terminals": True, "name": "for Bob"}
    cli("dashboard", "link", "dsh_1", "--edit")
    assert server.requests("POST", "/v1/dashboards/dsh_1/shares")[1].json["edits"] is True
    answers(server, "GET /v1/dashboards/dsh_1/shares", {"shares": [share]})
    shown = cli("dashboard", "links", "dsh_1").out
    assert all(word in shown for word in ("sh_1", "edit", "yes", "Bob", "for Bob"))
    answers(server, "DELETE /v1/dashboards/dsh_1/shares/sh_1", None, 204)
    assert "revoked sh_1" in cli("dashboard", "unlink", "dsh_1", "sh_1").err


def test_share_gives_takes_and_opens(cli: Cli, server: Scripted) -> None:
    person = {"subject": "group:web", "role": "viewer", "since": "2026-01-01T00:00:00Z"}
    answers(server, "PUT /v1/dashboards/dsh_1/people/group:web", {"people": [person]})
    answers(server, "PATCH /v1/dashboards/dsh_1", _dashboard(scope="shared"))
    ran = cli("dashboard", "share", "dsh_1", "group:web", "--role", "viewer", "--scope", "shared")
    assert ran.code == 0 and "group:web" in ran.out and "Plan is shared" in ran.err
    assert cli("dashboard", "share", "dsh_1").code == 2


def test_dashboard_is_given_away_and_those_without_an_owner_are_listed(
    cli: Cli, server: Scripted
) -> None:
    answers(server, "POST /v1/dashboards/dsh_1/owner", None, 204)
    ran = cli("dashboard", "give", "dsh_1", "Bob", "--yes")
    assert (ran.code, ran.err) == (0, "dsh_1 is Bob's\n")
    (seen,) = server.requests("POST", "/v1/dashboards/dsh_1/owner")
    assert seen.json == {"member": "Bob"}
    answers(server, "GET /v1/me", {"id": "a", "org_id": "org_1", "name": "Ada"})
    left = {"id": "dsh_2", "name": "Plan\x1b[2J", "owner": "ann", "items": 3, "removed_at": None}
    found = {"dashboards": [left], "next": None}
    answers(server, "GET /v1/organizations/org_1/waiting-dashboards", found)
    assert "Plan\\x1b[2J" in cli("dashboard", "waiting").out
