"""`atoll login --url`, `whoami` and `logout`: this machine's login at a server elsewhere."""

import json
from pathlib import Path

from aiohttp import web

from atoll.client.server import find_server
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import TOKEN, Scripted, Seen

ME = {"id": "usr_ada", "org_id": "org_1", "name": "Ada"}
ORGANIZATIONS = [
    {"organization_id": "org_1", "slug": "acme", "name": "Acme", "role": "admin"},
    {"organization_id": "org_2", "slug": "beta", "name": "Beta", "role": "viewer"},
]


def _answers(server: Scripted) -> None:
    begun = {
        "interval": 1,
        "code": "BCDF-GHJK",
        "secret": "s3cret",
        "url": "http://x/#/cli/BCDF-GHJK",
    }
    polls = iter([{"token": None}, {"token": TOKEN, "token_id": "tok_1"}])

    def poll(seen: Seen) -> web.Response:
        return web.json_response(next(polls))

    server.answers["POST /auth/cli"] = lambda _: web.json_response(
        {**begun, "interval": 1}, status=201
    )
    server.answers["POST /auth/cli/poll"] = poll
    server.answers["GET /v1/me"] = lambda _: web.json_response(ME)
    server.answers["GET /v1/organizations"] = lambda _: web.json_response(
        {"organizations": ORGANIZATIONS}
    )
    for route in ("POST /auth/logout/everywhere", "DELETE /v1/tokens/tok_1"):
        server.answers[route] = lambda _: web.Response(status=204)


def test_login_elsewhere_is_kept_privately_and_ended(
    cli: Cli, server: Scripted, environ: dict[str, str], tmp_path: Path
) -> None:
    _answers(server)
    done = cli("login", "--url", server.url)
    assert done.code == 0, done.err
    assert done.out == "http://x/#/cli/BCDF-GHJK\n" and "BCDF-GHJK" in done.err
    kept = tmp_path / "login.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert json.loads(kept.read_text())["token"] == TOKEN

    home = {"ATOLL_HOME": str(tmp_path)}
    found = find_server(home)
    assert (found.url, found.token) == (server.url, TOKEN)
    assert TOKEN not in repr(found)
    environ.clear()
    environ.update(home)
    assert cli("logout", "--everywhere").code == 0
    assert server.requests("POST", "/auth/logout/everywhere")
    assert server.requests("DELETE", "/v1/tokens/tok_1")
    assert not kept.exists()


def test_kept_login_goes_to_its_server_alone_and_not_to_others_who_read(
    cli: Cli, environ: dict[str, str], tmp_path: Path
) -> None:
    kept = tmp_path / "login.json"
    kept.touch(0o600)
    login = {"url": "https://atoll.example", "token": "atoll_pat_x", "token_id": "tok_1"}
    kept.write_text(json.dumps(login))
    del environ["ATOLL_TOKEN"]
    environ["ATOLL_URL"] = "https://other.example"
    refused = cli("whoami")
    assert refused.code != 0 and "no token for this server" in refused.err
    environ["ATOLL_URL"] = "https://atoll.example/"
    assert find_server(environ).token == "atoll_pat_x"
    kept.chmod(0o644)
    assert "can be read by others" in cli("whoami").err
    kept.chmod(0o600)
    for text in ("", "[]", '{"url": 1}', '{"url": "https://atoll.example", "token": "a\\n"}'):
        kept.write_text(text)
        assert "no token for this server" in cli("whoami").err


def test_whoami_shows_organizations_and_roles(cli: Cli, server: Scripted) -> None:
    _answers(server)
    shown = cli("whoami")
    assert shown.code == 0, shown.err
    assert "Ada (usr_ada)" in shown.out
    assert [line.split()[:2] for line in shown.out.splitlines()[2:]] == [
        ["acme", "admin"],
        ["beta", "viewer"],
    ]
    told = json.loads(cli("whoami", "--json").out)
    assert told["me"]["id"] == "usr_ada" and len(told["organizations"]) == 2


def test_login_by_plain_http_elsewhere_is_refused(cli: Cli) -> None:
    refused = cli("login", "--url", "http://192.0.2.1")
    assert refused.code != 0 and "plain http" in refused.err
