"""Logging in: links, cookies, tokens, and what a restart leaves."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from atoll.adapters.auth.token_file import load_or_make_token
from atoll.adapters.storage.engines.sqlite import sqlite_url
from atoll.adapters.storage.store import Settings, open_store
from atoll.domain.errors import Failed
from atoll.services.people.logins import Logins
from atoll.surfaces.http.server.credentials import PAGE_KEY
from tests.surfaces.http.world import TurnedClock, World, client_of, short_folder

ACTS = {
    "POST /auth/login": {
        "ticket": "test_login_sent_by_a_foreign_page_is_refused_and_the_link_stays_good",
    },
    "PATCH /v1/me": {"name": "test_name_of_a_person_is_seen_by_others_and_outlives_a_restart"},
}


async def test_login_link_works_once_and_sets_a_guarded_cookie(atoll: World) -> None:
    async with client_of(atoll.url) as client:
        ticket = await atoll.ticket()
        first = await client.post("/auth/login", json={"ticket": ticket})
        second = await client.post("/auth/login", json={"ticket": ticket})
        me = await client.get("/auth/me", headers={PAGE_KEY: first.json()["page_key"]})
    assert first.status_code == 200
    cookie = first.headers["set-cookie"].lower()
    assert cookie.startswith("atoll_session=")
    assert {"httponly", "samesite=strict", "path=/"} <= {p.strip() for p in cookie.split(";")}
    assert ticket not in first.text
    assert (second.status_code, second.json()["code"]) == (401, "unauthenticated")
    assert me.json()["interactive"] is True


async def test_login_link_used_by_two_at_once_lets_one_in(atoll: World) -> None:
    ticket = await atoll.ticket()
    async with client_of(atoll.url) as client:
        answers = await asyncio.gather(
            *(client.post("/auth/login", json={"ticket": ticket}) for _ in range(8))
        )
    assert sorted(answer.status_code for answer in answers) == [200] + [401] * 7


async def test_login_link_after_ten_minutes_is_refused(atoll: World) -> None:
    ticket = await atoll.ticket()
    atoll.clock.at += timedelta(minutes=10, seconds=1)
    async with client_of(atoll.url) as client:
        assert (await client.post("/auth/login", json={"ticket": ticket})).status_code == 401


async def test_login_sent_by_a_foreign_page_is_refused_and_the_link_stays_good(
    atoll: World,
) -> None:
    ticket = await atoll.ticket()
    async with client_of(atoll.url) as client:
        foreign = {"Origin": "https://evil.example"}
        refused = await client.post("/auth/login", json={"ticket": ticket}, headers=foreign)
        assert refused.status_code == 403
        assert (await client.post("/auth/login", json={"ticket": ticket})).status_code == 200


async def test_new_link_is_made_for_the_token_and_not_for_a_browser(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/auth/tickets")
    assert made.status_code == 201
    assert made.json()["url"] == f"{atoll.url}/#login={made.json()['ticket']}"
    headers = {**await atoll.browser(), "Origin": atoll.url}
    async with client_of(atoll.url) as client:
        assert (await client.post("/auth/tickets", headers=headers)).status_code == 403
        assert (
            await client.post("/auth/login", json={"ticket": made.json()["ticket"]})
        ).status_code == 200


async def test_token_is_the_person_but_not_interactive(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        assert (await client.get("/auth/me")).json() == {
            "id": "person",
            "org_id": "personal",
            "kind": "adm",
            "interactive": False,
            "roles": ["owner", "org:personal:admin", "sovereign-admin"],
            "name": "person",
            "guest": None,
        }


async def test_logout_ends_the_session_everywhere(atoll: World) -> None:
    headers = {**await atoll.browser(), "Origin": atoll.url}
    async with client_of(atoll.url) as client:
        assert (await client.post("/auth/logout", headers=headers)).status_code == 204
        assert (await client.get("/auth/me", headers=headers)).status_code == 401


async def test_session_after_thirty_days_is_over(atoll: World) -> None:
    headers = await atoll.browser()
    atoll.clock.at += timedelta(days=30, seconds=1)
    async with client_of(atoll.url) as client:
        assert (await client.get("/auth/me", headers=headers)).status_code == 401


@asynccontextmanager
async def logins_in(folder: Path) -> AsyncIterator[Logins]:
    """The logins of a control plane whose database is there."""
    async with open_store(Settings(sqlite_url(folder / "b"))) as store:
        logins = Logins(store, TurnedClock(), token="x" * 43)
        await logins.load()
        yield logins


async def test_session_and_link_survive_a_restart_and_their_secrets_are_not_on_disk() -> None:
    async with short_folder() as folder:
        async with logins_in(folder) as before:
            session = await before.login(await before.new_ticket(), "here")
            ticket = await before.new_ticket()
        kept = (folder / "b").read_bytes()
        assert session.encode() not in kept
        assert ticket.encode() not in kept
        assert stat.S_IMODE((folder / "b").stat().st_mode) == 0o600
        async with logins_in(folder) as after:
            assert (await after.by_session(session, "here")).interactive
            assert await after.login(ticket, "here")


async def test_token_of_another_server_is_refused() -> None:
    async with short_folder() as folder, logins_in(folder) as logins:
        assert logins.by_home("x" * 42 + "y") is None
        assert logins.by_home("x" * 43) is not None


async def test_token_file_is_made_once_private_and_kept() -> None:
    async with short_folder() as folder:
        token = load_or_make_token(folder / "token")
        assert len(token) == 43
        assert stat.S_IMODE((folder / "token").stat().st_mode) == 0o600
        assert load_or_make_token(folder / "token") == token


@pytest.mark.parametrize("trap", ["link", "open", "short", "pipe", "folder"])
async def test_token_file_that_cannot_be_trusted_is_refused(trap: str) -> None:
    async with short_folder() as folder:
        path = folder / "token"
        _lay(trap, path)
        with pytest.raises(Failed):
            load_or_make_token(path)


def _lay(trap: str, path: Path) -> None:
    match trap:
        case "link":
            (path.parent / "other").write_text("x" * 43)
            path.symlink_to(path.parent / "other")
        case "open":
            path.write_text("x" * 43)
            path.chmod(0o644)
        case "short":
            path.write_text("x")
            path.chmod(0o600)
        case "pipe":
            os.mkfifo(path, 0o600)
        case _:
            path.mkdir(0o700)


async def test_name_of_a_person_is_seen_by_others_and_outlives_a_restart(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        assert (await client.get("/v1/me")).json()["name"] == "person"
        named = await client.patch("/v1/me", json={"name": "  Ada "})
        assert (named.status_code, named.json()["name"]) == (200, "Ada")
        assert (await client.get("/auth/me")).json()["name"] == "Ada"
    assert atoll.services.logins.person().name == "Ada"
    async with short_folder() as folder:
        async with logins_in(folder) as before:
            await before.rename(before.person(), "Grace")
            session = await before.login(await before.new_ticket(), "here")
        async with logins_in(folder) as after:
            assert (await after.by_session(session, "here")).name == "Grace"


@pytest.mark.parametrize(
    "name", ["", "   ", "x" * 65, "a\nb", "\x1b[2J", "\u202eadA", "A\u200bda", 7, None]
)
async def test_name_that_cannot_be_shown_is_refused(atoll: World, name: object) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        refused = await client.patch("/v1/me", json={"name": name})
        assert refused.status_code == 422
        assert refused.json()["field"] == "name"
