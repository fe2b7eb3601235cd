"""Logins of command lines: begun there, confirmed in a browser, fetched once."""

from datetime import datetime, timedelta

import pytest

from atoll.domain.errors import LimitReached
from atoll.domain.people.cli_login import (
    LIFE,
    MAX_OF_CLIENT,
    MAX_PENDING,
    CliLogin,
)
from tests.surfaces.http.world import World, client_of

ACTS = {
    "POST /auth/cli": {"machine": "test_confirmed_login_gives_its_token_once"},
    "POST /auth/cli/poll": {"secret": "test_confirmed_login_gives_its_token_once"},
}


async def test_confirmed_login_gives_its_token_once(atoll: World) -> None:
    headers = {**await atoll.browser(), "Origin": atoll.url}
    async with client_of(atoll.url) as line, client_of(atoll.url) as page:
        begun = (await line.post("/auth/cli", json={"machine": "laptop\x1b"})).json()
        code, own = begun["code"], {"secret": begun["secret"]}
        assert begun["url"] == f"{atoll.url}/#/cli/{code}"
        waits = await line.post("/auth/cli/poll", json=own)
        assert waits.json() == {"token": None, "token_id": None, "expires_at": None}
        shown = await page.get(f"/auth/cli/{code}", headers=headers)
        assert (shown.json()["machine"], shown.json()["address"]) == ("laptop", "127.0.0.1")
        typed = code.replace("-", "").lower()
        confirmed = await page.post(f"/auth/cli/{typed}/confirm", headers=headers)
        assert confirmed.status_code == 200
        again = await page.post(f"/auth/cli/{code}/confirm", headers=headers)
        assert again.status_code == 404
        token = (await line.post("/auth/cli/poll", json=own)).json()["token"]
        assert (await line.post("/auth/cli/poll", json=own)).status_code == 401
    async with client_of(atoll.url, token) as line:
        me = (await line.get("/v1/me")).json()
        assert (me["id"], me["interactive"]) == ("person", False)


async def test_login_of_a_command_line_ends_and_is_not_guessed(atoll: World) -> None:
    headers = {**await atoll.browser(), "Origin": atoll.url}
    async with client_of(atoll.url) as line:
        begun = (await line.post("/auth/cli", json={})).json()
        code = begun["code"]
        for wrong in ("BCDF-GHJK", "x", "%00"):
            answer = await line.post(f"/auth/cli/{wrong}/confirm", headers=headers)
            assert answer.status_code in {404, 422}
        assert (await line.post("/auth/cli/poll", json={"secret": "x" * 43})).status_code == 401
        assert (await line.post("/auth/cli/poll", json={"secret": code})).status_code == 401
        atoll.clock.at += timedelta(minutes=11)
        answer = await line.post(f"/auth/cli/{code}/confirm", headers=headers)
        assert answer.status_code == 404
        over = await line.post("/auth/cli/poll", json={"secret": begun["secret"]})
        assert over.status_code == 401


async def test_only_a_person_in_a_browser_confirms(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as line:
        code = (await line.post("/auth/cli", json={})).json()["code"]
        assert (await line.post(f"/auth/cli/{code}/confirm")).status_code == 403
        made = (await line.post("/auth/pat", json={"name": "p"})).json()["token"]
    async with client_of(atoll.url, made) as program:
        assert (await program.post(f"/auth/cli/{code}/confirm")).status_code == 403
        assert (await program.get(f"/auth/cli/{code}")).status_code == 403


def crowd(addresses: list[str], ends: datetime) -> list[CliLogin]:
    """Logins of strangers that wait."""
    return [
        CliLogin(f"m{at}", f"code {at}", address, "", ends) for at, address in enumerate(addresses)
    ]


async def test_stranger_who_begins_many_logins_keeps_only_itself_out(atoll: World) -> None:
    """Attack: one IPv6 network begins as many as it may, and others fill the bound of all."""
    networks = [f"2001:db8:0:{at // MAX_OF_CLIENT:x}::{at:x}" for at in range(MAX_PENDING)]
    logins = atoll.services.tenancy.cli_logins
    async with atoll.ground.store.begin() as rows:
        for one in crowd(networks, atoll.clock.at + LIFE):
            await rows.cli_logins.put(one)
    with pytest.raises(LimitReached):
        await logins.begin("2001:db8::ffff", "")
    headers = {**await atoll.browser(), "Origin": atoll.url}
    async with client_of(atoll.url) as line:
        codes = [(await line.post("/auth/cli", json={})).json()["code"] for _ in range(2)]
        for code in codes:
            confirmed = await line.post(f"/auth/cli/{code}/confirm", headers=headers)
            assert confirmed.status_code == 200


async def test_client_with_too_many_logins_is_told_so(atoll: World) -> None:
    async with atoll.ground.store.begin() as rows:
        for one in crowd(["127.0.0.1"] * MAX_OF_CLIENT, atoll.clock.at + LIFE):
            await rows.cli_logins.put(one)
    async with client_of(atoll.url) as line:
        assert (await line.post("/auth/cli", json={})).status_code == 429
        atoll.clock.at += timedelta(minutes=11)
        assert (await line.post("/auth/cli", json={})).status_code == 201
