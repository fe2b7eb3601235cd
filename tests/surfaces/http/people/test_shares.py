"""Share links: what they open, and everything they do not."""

import asyncio
import time
from datetime import timedelta
from typing import Any

import aiohttp
import httpx
import pytest

from atoll.domain.ids import TerminalId
from atoll.domain.people.capability import capabilities_of
from atoll.domain.people.share import MAX_GUESTS
from atoll.surfaces.http.server.credentials import PAGE_KEY
from atoll.wire.words.people import MAX_SHARES, OrgRole
from tests.surfaces.http.world import World, client_of

ACTS = {
    "POST /v1/sandboxes/{sandbox}/shares": {
        "role": "test_attach_of_a_guest_carries_who_it_is_and_nothing_it_says_of_itself",
        "terminal_id": "test_guest_finds_its_sandbox_only_and_its_terminal_only",
        "recording_id": "test_guest_of_a_recording_plays_it_and_nothing_else",
        "ttl": "test_wrong_revoked_and_expired_links_answer_alike",
    },
    "POST /auth/guests": {
        "name": "test_attach_of_a_guest_carries_who_it_is_and_nothing_it_says_of_itself",
        "ticket": "test_guest_of_a_foreign_page_is_refused",
    },
    "POST /auth/invitations": {
        "ticket": "test_invitation_says_who_invites_to_what_and_to_do_what",
    },
}

ATTACH = "/v1/sandboxes/{}/terminals/t_1/attach"


async def _sandbox(atoll: World, **body: object) -> str:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/sandboxes?wait=ready", json={"profile": "shell", **body})
        assert made.status_code == 201, made.text
        return str(made.json()["sandbox_id"])


async def _share(atoll: World, sandbox: str, **body: object) -> tuple[dict[str, Any], str]:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post(f"/v1/sandboxes/{sandbox}/shares", json=body)
        assert made.status_code == 201, made.text
        return made.json(), made.json()["link"].partition("#share=")[2]


async def _enter(atoll: World, secret: str, **body: object) -> tuple[dict[str, Any], str]:
    """The answer, and the guest's cookie."""
    async with client_of(atoll.url) as client:
        told = await client.post("/auth/guests", json={"ticket": secret, **body})
        assert told.status_code == 201, told.text
        return told.json(), told.cookies["atoll_guest"]


def _as_guest(atoll: World, cookie: str) -> dict[str, str]:
    key = atoll.services.logins.page_key(cookie)
    return {"Cookie": f"atoll_guest={cookie}", PAGE_KEY: key, "Origin": atoll.url}


async def _guest(atoll: World, sandbox: str, **body: object) -> dict[str, str]:
    _, secret = await _share(atoll, sandbox, **body)
    _, cookie = await _enter(atoll, secret)
    return _as_guest(atoll, cookie)


async def test_link_makes_its_visitor_a_guest_with_an_id_and_a_name(atoll: World) -> None:
    sandbox = await _sandbox(atoll, name="box")
    share, secret = await _share(atoll, sandbox, role="controller", terminal_id="t_1", ttl="1h")
    assert share["link"] == f"{atoll.url}/#share={secret}"
    told, cookie = await _enter(atoll, secret, name="Bob")
    assert told["id"].startswith("guest_")
    assert (told["name"], told["interactive"]) == ("Bob", False)
    assert told["guest"] == {
        "share_id": share["share_id"],
        "inviter": "",
        "sandbox_id": sandbox,
        "sandbox_name": "box",
        "sandbox_state": told["guest"]["sandbox_state"],
        "dashboard_id": None,
        "dashboard_name": None,
        "terminals": False,
        "terminal_id": "t_1",
        "recording_id": None,
        "role": "controller",
        "expires_at": share["expires_at"],
    }
    other, _ = await _enter(atoll, secret)
    assert other["id"] != told["id"]
    assert other["name"].startswith("guest ")
    async with client_of(atoll.url) as client:
        client.headers.update(_as_guest(atoll, cookie))
        me = (await client.get("/auth/me")).json()
        assert {**me, "page_key": told["page_key"], "next": ""} == told
        await client.post("/auth/logout")
        assert (await client.get("/auth/me")).status_code == 401


async def test_invitation_says_who_invites_to_what_and_to_do_what(atoll: World) -> None:
    sandbox = await _sandbox(atoll, name="box")
    share, secret = await _share(atoll, sandbox, role="controller", terminal_id="t_1")
    async with client_of(atoll.url, atoll.token) as owner:
        await owner.patch("/v1/me", json={"name": "Ada"})
    async with client_of(atoll.url) as client:
        told = await client.post("/auth/invitations", json={"ticket": secret})
        assert told.json() == {
            "inviter": "Ada",
            "sandbox_name": "box",
            "dashboard_name": None,
            "terminal_id": "t_1",
            "recording_id": None,
            "role": "controller",
            "expires_at": share["expires_at"],
        }
        wrong = await client.post("/auth/invitations", json={"ticket": "x" * 43})
        assert wrong.status_code == 401
        assert "ask whoever invited you" in wrong.json()["detail"]
    entered, cookie = await _enter(atoll, secret, name="Bob")
    assert entered["guest"]["inviter"] == "Ada"
    async with client_of(atoll.url) as client:
        client.headers.update(_as_guest(atoll, cookie))
        assert (await client.get("/v1/me")).json()["name"] == "Bob"
        assert (await client.patch("/v1/me", json={"name": "Ada"})).status_code == 404
    async with client_of(atoll.url, atoll.token) as owner:
        listed = (await owner.get(f"/v1/sandboxes/{sandbox}/shares")).json()["shares"]
        assert [(one["guests"], one["guest_names"]) for one in listed] == [(1, ["Bob"])]


async def test_link_of_a_server_on_loopback_says_that_it_works_here_only(atoll: World) -> None:
    sandbox = await _sandbox(atoll)
    made, _ = await _share(atoll, sandbox)
    assert made["local_only"] is True


async def test_secret_of_a_link_is_shown_once_and_kept_nowhere(atoll: World) -> None:
    sandbox = await _sandbox(atoll)
    share, secret = await _share(atoll, sandbox, name="for Bob")
    _, cookie = await _enter(atoll, secret)
    async with client_of(atoll.url, atoll.token) as client:
        listed = (await client.get(f"/v1/sandboxes/{sandbox}/shares")).text
        events = (await client.get("/v1/events?limit=1000")).text
    for text in (listed, events):
        assert secret not in text
        assert cookie not in text
    assert share["share_id"] in listed
    assert "share.created" in events
    assert "share.entered" in events


async def test_attach_of_a_guest_carries_who_it_is_and_nothing_it_says_of_itself(
    atoll: World,
) -> None:
    sandbox = await _sandbox(atoll)
    _, secret = await _share(atoll, sandbox, role="viewer")
    told, cookie = await _enter(atoll, secret, name="Eve & co")
    address, headers = atoll.url + ATTACH.format(sandbox), _as_guest(atoll, cookie)
    async with aiohttp.ClientSession() as session:
        for lie in ("role=owner", "principal=person", "name=Ann", "expires=0"):
            async with session.ws_connect(f"{address}?client=c1&{lie}", headers=headers) as ws:
                await ws.receive()
                assert ws.close_code == 4403
        assert atoll.runtime.attached == []
        query = "?client=c1&take=true"
        async with session.ws_connect(address + query, headers=headers) as ws:
            await ws.receive()
    said = httpx.QueryParams(atoll.runtime.attached[-1])
    assert said.get_list("role") == ["viewer"]
    assert said.get_list("principal") == [told["id"]]
    assert said.get_list("name") == ["Eve & co"]
    assert len(said.get_list("expires")) == 1
    assert int(said["expires"]) > time.time()
    assert (said["client"], said["take"]) == ("c1", "true")


async def test_attach_of_the_owner_says_owner_and_passes_its_words(atoll: World) -> None:
    sandbox = await _sandbox(atoll)
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {atoll.token}"}) as session,
        session.ws_connect(atoll.url + ATTACH.format(sandbox) + "?keep_size=1") as ws,
    ):
        await ws.receive()
    said = httpx.QueryParams(atoll.runtime.attached[-1])
    assert dict(said) == {
        "principal": "person",
        "name": "person",
        "role": "owner",
        "keep_size": "1",
    }


ALLOWED = {
    ("GET", "/auth/me"),
    ("GET", "/v1/me"),
    ("POST", "/auth/logout"),
    ("GET", "/v1/sandboxes/{sandbox}/terminals"),
    ("GET", "/v1/sandboxes/{sandbox}/terminals/{terminal}"),
    ("GET", "/v1/sandboxes/{sandbox}/terminals/{terminal}/cards"),
    ("GET", "/v1/sandboxes/{sandbox}/terminals/{terminal}/marks"),
    ("GET", "/v1/sandboxes/{sandbox}/terminals/{terminal}/text"),
    ("GET", "/sessions/{session}/ptys"),
    ("GET", "/v1/ssh"),
    ("POST", "/v1/sandboxes/{sandbox}/ssh/certificates"),
}
PUBLIC = {
    *("/healthz", "/readyz", "/openapi.json", "/.well-known/jwks.json"),
    *("/.well-known/oauth-protected-resource", "/v1/ingest/{source}/{hook}"),
    *("/auth/login", "/auth/guests", "/auth/invitations", "/auth/realms"),
    *("/auth/cli", "/auth/cli/poll", "/auth/drive/callback"),
    *("/auth/oidc/{realm}/login", "/auth/oidc/{realm}/callback"),
}


async def test_every_other_route_is_not_there_for_a_guest(atoll: World) -> None:
    sandbox = await _sandbox(atoll, scope="shared")
    headers = await _guest(atoll, sandbox, role="controller")
    tried = 0
    async with client_of(atoll.url) as client:
        client.headers.update(headers)
        paths = (await client.get("/openapi.json")).json()["paths"]
        for path, item in paths.items():
            for method in item:
                if path in PUBLIC or (method.upper(), path) in ALLOWED:
                    continue
                real = path
                for name in ("{sandbox}", "{session}"):
                    real = real.replace(name, sandbox)
                real = real.replace("{terminal}", "t_1").replace("{", "").replace("}", "")
                answer = await client.request(method, real, content=b"{}")
                assert answer.status_code == 404, (method, path, answer.text)
                tried += 1
        for method, path in (
            ("GET", "/v1/nothing"),
            ("HEAD", f"/v1/sandboxes/{sandbox}"),
            ("OPTIONS", "/v1/sandboxes"),
            ("PATCH", f"/v1/sandboxes/{sandbox}/terminals"),
            ("GET", f"/v1/sandboxes/{sandbox}/terminals/"),
            ("GET", f"/v1/sandboxes/{sandbox}/terminals/t_1/resize"),
            ("GET", f"/v1/sandboxes/{sandbox}/terminals/../files"),
            ("GET", f"/v1/sandboxes/{sandbox}%2Ffiles/terminals"),
            ("GET", "//auth/me"),
        ):
            answer = await client.request(method, path)
            assert answer.status_code in (404, 422), (method, path, answer.status_code)
    assert tried > 40


async def test_guest_of_a_recording_plays_it_and_nothing_else(atoll: World) -> None:
    mine, other = await _sandbox(atoll), await _sandbox(atoll, scope="shared")
    share, secret = await _share(atoll, mine, recording_id="r_1")
    told, cookie = await _enter(atoll, secret)
    assert (told["guest"]["recording_id"], told["guest"]["terminal_id"]) == ("r_1", None)
    at_terminal = await _guest(atoll, mine)
    cast = f"/v1/sandboxes/{mine}/recordings/r_1"
    async with client_of(atoll.url) as client:
        client.headers.update(_as_guest(atoll, cookie))
        played = await client.get(cast)
        assert (played.status_code, played.headers["content-type"]) == (
            200,
            "application/x-asciicast",
        )
        for path in (
            f"/v1/sandboxes/{mine}/recordings",
            f"/v1/sandboxes/{mine}/recordings/r_2",
            f"/v1/sandboxes/{other}/recordings/r_1",
            f"/v1/sandboxes/{mine}/terminals",
            f"/v1/sandboxes/{mine}/terminals/t_1",
            f"/v1/sandboxes/{mine}/terminals/t_1/text",
        ):
            assert (await client.get(path)).status_code == 404, path
        assert (await client.delete(cast)).status_code == 404
        assert (await client.get(cast, headers=at_terminal)).status_code == 404
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(atoll.url + ATTACH.format(mine), headers=_as_guest(atoll, cookie)) as ws,
    ):
        await ws.receive()
        assert ws.close_code == 4404
    async with client_of(atoll.url, atoll.token) as owner:
        shares = f"/v1/sandboxes/{mine}/shares"
        assert (await owner.post(shares, json={"recording_id": "r_9"})).status_code == 404
        assert (await owner.delete(f"{shares}/{share['share_id']}")).status_code == 204
    async with client_of(atoll.url) as client:
        client.headers.update(_as_guest(atoll, cookie))
        assert (await client.get(cast)).status_code == 401


async def test_guest_finds_its_sandbox_only_and_its_terminal_only(atoll: World) -> None:
    mine = await _sandbox(atoll, name="mine")
    other = await _sandbox(atoll, name="other", scope="shared")
    whole = await _guest(atoll, mine)
    one = await _guest(atoll, mine, terminal_id="t_1")
    async with client_of(atoll.url) as client:
        for headers in (whole, one):
            listed = await client.get(f"/v1/sandboxes/{mine}/terminals", headers=headers)
            assert [row["terminal_id"] for row in listed.json()["terminals"]] == ["t_1"]
            for ref in (other, "mine", "other"):
                answer = await client.get(f"/v1/sandboxes/{ref}/terminals", headers=headers)
                assert answer.status_code == 404
        shown = await client.get(f"/v1/sandboxes/{mine}/terminals/t_1", headers=one)
        assert shown.status_code == 200
        hidden = await client.get(f"/v1/sandboxes/{mine}/terminals/t_2", headers=one)
        assert hidden.status_code == 404
    async with aiohttp.ClientSession() as session:
        for path in (
            f"/v1/sandboxes/{mine}/terminals/t_2/attach",
            f"/v1/sandboxes/{other}/terminals/t_1/attach",
            "/v1/sandboxes/other/terminals/t_1/attach",
        ):
            async with session.ws_connect(atoll.url + path, headers=one) as ws:
                await ws.receive()
                assert ws.close_code == 4404
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(f"{atoll.url}/v1/events/stream", headers=one)
        assert refused.value.status == 404
    assert atoll.runtime.attached == []


async def test_list_of_terminals_holds_only_the_one_of_the_link(atoll: World) -> None:
    mine = await _sandbox(atoll)
    _, secret = await _share(atoll, mine, terminal_id="t_1")
    _, cookie = await _enter(atoll, secret)
    shares = atoll.services.shares
    guest = await shares.holder(cookie)
    assert guest is not None
    assert guest.guest_access is not None
    found = await atoll.services.terminals.list(guest, mine)
    assert [one.terminal_id for one in found.terminals] == ["t_1"]
    from dataclasses import replace

    elsewhere = replace(
        guest, guest_access=replace(guest.guest_access, terminal_id=TerminalId("t_9"))
    )
    assert (await atoll.services.terminals.list(elsewhere, mine)).terminals == ()


async def test_guest_of_a_foreign_page_is_refused(atoll: World) -> None:
    sandbox = await _sandbox(atoll)
    headers = await _guest(atoll, sandbox)
    async with aiohttp.ClientSession() as session:
        for origin in ("https://evil.example", "null"):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await session.ws_connect(
                    atoll.url + ATTACH.format(sandbox), headers={**headers, "Origin": origin}
                )
            assert refused.value.status == 403
    async with client_of(atoll.url) as client:
        _, secret = await _share(atoll, sandbox)
        foreign = await client.post(
            "/auth/guests", json={"ticket": secret}, headers={"Origin": "https://evil.example"}
        )
        assert foreign.status_code == 403


@pytest.mark.parametrize(
    "body",
    [
        {"role": "owner"},
        {"role": "admin"},
        {"ttl": 0},
        {"ttl": "31d"},
        {"ttl": -1},
        {"name": "a\x1b[2J"},
        {"name": "x" * 65},
        {"terminal_id": "../t"},
        {"sandbox_id": "sb_other"},
        {"org_id": "guests"},
    ],
)
async def test_link_with_impossible_wishes_is_refused(atoll: World, body: dict[str, Any]) -> None:
    sandbox = await _sandbox(atoll)
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.post(f"/v1/sandboxes/{sandbox}/shares", json=body)
    assert answer.status_code == 422, answer.text


async def test_link_to_a_terminal_that_is_not_there_is_refused(atoll: World) -> None:
    sandbox = await _sandbox(atoll)
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.post(f"/v1/sandboxes/{sandbox}/shares", json={"terminal_id": "t_2"})
    assert answer.status_code == 404


async def test_wrong_revoked_and_expired_links_answer_alike(atoll: World) -> None:
    sandbox = await _sandbox(atoll)
    revoked, first = await _share(atoll, sandbox)
    _, second = await _share(atoll, sandbox, ttl=60)
    _, late_cookie = await _enter(atoll, second)
    async with client_of(atoll.url, atoll.token) as owner:
        path = f"/v1/sandboxes/{sandbox}/shares/{revoked['share_id']}"
        assert (await owner.delete(path)).status_code == 204
        assert (await owner.delete(path)).status_code == 404
    atoll.clock.at += timedelta(seconds=61)
    answers = []
    async with client_of(atoll.url) as client:
        for secret in (first, second, "x" * 43):
            answers.append(await client.post("/auth/guests", json={"ticket": secret}))
        late = await client.get("/auth/me", headers=_as_guest(atoll, late_cookie))
    assert {(a.status_code, a.text) for a in answers} == {(401, answers[0].text)}
    assert late.status_code == 401
    async with client_of(atoll.url, atoll.token) as owner:
        assert (await owner.get(f"/v1/sandboxes/{sandbox}/shares")).json() == {"shares": []}


async def test_links_and_tokens_end_with_their_sandbox_and_no_new_ones_are_made(
    atoll: World,
) -> None:
    sandbox, other = await _sandbox(atoll), await _sandbox(atoll)
    _, secret = await _share(atoll, sandbox)
    stays, _ = await _share(atoll, other)
    _, cookie = await _enter(atoll, secret)
    async with client_of(atoll.url, atoll.token) as owner:
        token = {"name": "x", "capabilities": ["sandbox.read"]}
        bound = await owner.post("/auth/pat", json={**token, "sandbox_id": sandbox})
        assert bound.status_code == 201, bound.text
        gone = await owner.delete(f"/v1/sandboxes/{sandbox}")
        assert gone.status_code == 202, gone.text
        events = (await owner.get("/v1/events?limit=1000")).json()["events"]
        ended = {"share.revoked", "token.revoked"}
        assert {one["event_type"] for one in events} >= ended
        shares = f"/v1/sandboxes/{sandbox}/shares"
        assert (await owner.get(shares)).json() == {"shares": []}
        assert (await owner.get("/v1/tokens")).json()["tokens"] == []
        for path, body in ((shares, {}), ("/auth/pat", {**token, "sandbox_id": sandbox})):
            refused = await owner.post(path, json=body)
            assert (refused.status_code, refused.json()["code"]) == (409, "conflict"), path
        (left,) = (await owner.get(f"/v1/sandboxes/{other}/shares")).json()["shares"]
        assert left["share_id"] == stays["share_id"]
    async with client_of(atoll.url, bound.json()["token"]) as client:
        assert (await client.get(f"/v1/sandboxes/{sandbox}")).status_code == 401
    async with client_of(atoll.url) as client:
        assert (await client.post("/auth/guests", json={"ticket": secret})).status_code == 401
        late = await client.get("/auth/me", headers=_as_guest(atoll, cookie))
        assert late.status_code == 401


async def test_links_and_guests_are_bounded(atoll: World) -> None:
    sandbox = await _sandbox(atoll)
    _, secret = await _share(atoll, sandbox)
    for _ in range(MAX_SHARES - 1):
        await _share(atoll, sandbox)
    async with client_of(atoll.url, atoll.token) as owner:
        answer = await owner.post(f"/v1/sandboxes/{sandbox}/shares", json={})
        assert answer.status_code == 429
    for _ in range(MAX_GUESTS):
        await _enter(atoll, secret)
    async with client_of(atoll.url) as client:
        answer = await client.post("/auth/guests", json={"ticket": secret})
        assert answer.status_code == 429


async def test_link_opened_again_in_the_same_browser_is_the_same_guest(atoll: World) -> None:
    sandbox = await _sandbox(atoll)
    _, secret = await _share(atoll, sandbox)
    _, other = await _share(atoll, sandbox)
    async with client_of(atoll.url) as client:
        first = await client.post("/auth/guests", json={"ticket": secret})
        client.headers[PAGE_KEY] = first.json()["page_key"]
        again = await client.post("/auth/guests", json={"ticket": secret})
        assert first.json() == again.json()
        elsewhere = await client.post("/auth/guests", json={"ticket": other})
        assert elsewhere.json()["id"] != first.json()["id"]
        # Whoever was only sent the cookie is somebody else.
        del client.headers[PAGE_KEY]
        replayed = await client.post("/auth/guests", json={"ticket": secret})
        assert replayed.json()["id"] != first.json()["id"]


async def test_persons_login_goes_before_a_guests_cookie(atoll: World) -> None:
    sandbox = await _sandbox(atoll)
    _, secret = await _share(atoll, sandbox)
    _, guest = await _enter(atoll, secret)
    person = await atoll.cookie()
    key = atoll.services.logins.page_key
    async with client_of(atoll.url) as client:
        client.headers["Cookie"] = f"atoll_guest={guest}; atoll_session={person}"
        client.headers[PAGE_KEY] = f"{key(person)}, {key(guest)}"
        assert (await client.get("/auth/me")).json()["id"] == "person"


async def _closed_within(ws: aiohttp.ClientWebSocketResponse, seconds: float) -> int | None:
    async with asyncio.timeout(seconds):
        while (await ws.receive()).type not in (
            aiohttp.WSMsgType.CLOSE,
            aiohttp.WSMsgType.CLOSED,
            aiohttp.WSMsgType.ERROR,
        ):
            pass
    return ws.close_code


async def test_revoked_link_closes_the_sockets_of_its_guests_within_five_seconds(
    atoll: World,
) -> None:
    sandbox = await _sandbox(atoll)
    gone, secret = await _share(atoll, sandbox)
    _, cookie = await _enter(atoll, secret)
    stays = await _guest(atoll, sandbox)
    url = atoll.url + ATTACH.format(sandbox)
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(url, headers=_as_guest(atoll, cookie)) as ws,
        session.ws_connect(url, headers=stays) as other,
    ):
        await ws.receive()
        await other.receive()
        async with client_of(atoll.url, atoll.token) as owner:
            await owner.delete(f"/v1/sandboxes/{sandbox}/shares/{gone['share_id']}")
        assert await _closed_within(ws, 5) == 4401
        await other.send_bytes(b"still here")
        assert (await other.receive()).data == b"still here"


async def test_logout_closes_sockets_and_streams_of_that_session_within_five_seconds(
    atoll: World,
) -> None:
    sandbox = await _sandbox(atoll)
    cookie, other = await atoll.cookie(), await atoll.cookie()
    headers = {**await atoll.browser(cookie), "Origin": atoll.url}
    url = atoll.url + ATTACH.format(sandbox)
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(url, headers=headers) as ws,
        session.ws_connect(
            url, headers={**await atoll.browser(other), "Origin": atoll.url}
        ) as stays,
        session.get(f"{atoll.url}/v1/events/stream", headers=headers) as stream,
    ):
        await ws.receive()
        await stays.receive()
        await stream.content.readany()
        async with session.post(f"{atoll.url}/auth/logout", headers=headers) as done:
            assert done.status == 204
        assert await _closed_within(ws, 5) == 4401
        with pytest.raises((aiohttp.ClientError, EOFError)):
            async with asyncio.timeout(5):
                while True:
                    if not await stream.content.readany():
                        raise EOFError
        await stays.send_bytes(b"still here")
        assert (await stays.receive()).data == b"still here"


async def test_only_the_owner_makes_sees_and_revokes_links(atoll: World) -> None:
    from dataclasses import replace

    from atoll.domain.errors import Forbidden
    from atoll.domain.ids import PrincipalId
    from atoll.domain.people.principal import LOCAL_PERSON
    from atoll.domain.people.share import ShareRequest

    sandbox = await _sandbox(atoll, scope="shared")
    share, _ = await _share(atoll, sandbox)
    member = replace(
        LOCAL_PERSON, id=PrincipalId("member"), capabilities=capabilities_of(OrgRole.MEMBER)
    )
    shares = atoll.services.shares
    with pytest.raises(Forbidden):
        await shares.create(member, sandbox, ShareRequest())
    with pytest.raises(Forbidden):
        await shares.list(member, sandbox)
    with pytest.raises(Forbidden):
        await shares.revoke(member, sandbox, share["share_id"])
