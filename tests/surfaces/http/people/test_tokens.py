"""Personal access tokens and what they are exchanged for: what they open, and what never."""

import asyncio
import json
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import aiohttp
import httpx
import pytest

from atoll.domain.people.token import PREFIX, is_token
from atoll.services.people.token_issuer import IssuedToken
from tests.surfaces.http.world import World, client_of

ACTS = {
    "POST /auth/pat": {
        "name": "test_token_is_shown_once_and_acts_for_its_owner",
        "capabilities": "test_token_has_what_it_was_given_and_gives_no_more",
        "ttl": "test_token_ends_at_its_end_and_lives_no_longer_than_allowed",
        "sandbox_id": "test_token_of_a_sandbox_reaches_that_sandbox_alone",
        "account": "test_caller_without_an_account_makes_no_token_for_it",
    },
    "POST /auth/token": {
        "audience": "test_token_for_another_service_is_refused_here",
        "capabilities": "test_signed_token_carries_the_claims_and_no_more_than_its_maker",
        "ttl": "test_signed_token_ends_at_its_end",
    },
    "POST /auth/subscription": {
        "streams": "test_subscription_reads_its_streams_and_does_nothing_else",
        "models": "test_subscription_of_a_read_model_reads_that_alone",
        "ttl": "test_stream_of_a_subscription_ends_with_it",
    },
    "POST /v1/tokens/rotate-keys": {
        "at_once": "test_rotation_at_once_ends_what_was_signed",
    },
}


async def _pat(atoll: World, token: str | None = None, **body: object) -> dict[str, Any]:
    async with client_of(atoll.url, token or atoll.token) as client:
        made = await client.post("/auth/pat", json={"name": "ci", **body})
        assert made.status_code == 201, made.text
        shown: dict[str, Any] = made.json()
        return shown


async def _exchange(atoll: World, token: str, **body: object) -> str:
    async with client_of(atoll.url, token) as client:
        made = await client.post("/auth/token", json=body)
        assert made.status_code == 200, made.text
        return str(made.json()["access_token"])


async def _subscription(atoll: World, token: str, **body: object) -> str:
    async with client_of(atoll.url, token) as client:
        made = await client.post("/auth/subscription", json=body)
        assert made.status_code == 200, made.text
        return str(made.json()["access_token"])


async def _sandbox(atoll: World, **body: object) -> str:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/sandboxes?wait=ready", json={"profile": "shell", **body})
        assert made.status_code == 201, made.text
        return str(made.json()["sandbox_id"])


async def _status(
    atoll: World, token: str, path: str = "/v1/me", method: str = "GET", **more: Any
) -> int:
    async with client_of(atoll.url, token) as client:
        return (await client.request(method, path, **more)).status_code


def claims_of(token: str) -> dict[str, Any]:
    """Read the claims of a token without checking it."""
    import base64

    body = token.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return found


async def test_token_is_shown_once_and_acts_for_its_owner(atoll: World) -> None:
    made = await _pat(atoll, name="für CI")
    assert made["name"] == "für CI" and is_token(made["token"])
    assert made["token"].startswith(PREFIX) and made["used_at"] is None
    async with client_of(atoll.url, made["token"]) as client:
        me = (await client.get("/v1/me")).json()
        listed = (await client.get("/v1/tokens")).json()["tokens"]
        events = (await client.get("/v1/events", params={"stream": "auth"})).text
    assert (me["id"], me["interactive"], me["kind"]) == ("person", False, "adm")
    assert [one["id"] for one in listed] == [made["id"]] and "token" not in listed[0]
    assert made["token"] not in events and "token.created" in events


async def test_store_holds_no_token(atoll: World) -> None:
    made = await _pat(atoll)
    signed = await _exchange(atoll, made["token"])
    async with atoll.ground.store.read() as rows:
        (token,) = await rows.tokens.of(atoll.services.logins.person().org_id, "person")  # type: ignore[arg-type]
        (key,) = await rows.signing_keys.all()
        sealed = await rows.signing_keys.private(key.kid)
    assert made["token"] not in repr(token) and '"d"' not in key.public
    assert sealed is not None and b'"d"' not in sealed.body + sealed.wrapped
    assert signed.split(".")[2] not in repr(key)


async def test_use_is_noted_at_most_once_a_minute(atoll: World) -> None:
    made = await _pat(atoll)

    async def used() -> str:
        async with client_of(atoll.url, atoll.token) as client:
            return str((await client.get("/v1/tokens")).json()["tokens"][0]["used_at"])

    assert await _status(atoll, made["token"]) == 200
    first = await used()
    atoll.clock.at += timedelta(seconds=59)
    assert await _status(atoll, made["token"]) == 200 and await used() == first
    atoll.clock.at += timedelta(seconds=1)
    assert await _status(atoll, made["token"]) == 200 and await used() > first


async def test_token_has_what_it_was_given_and_gives_no_more(atoll: World) -> None:
    made = await _pat(atoll, capabilities=["token.manage", "sandbox.read"])
    assert made["capabilities"] == ["sandbox.read", "token.manage"]
    child = await _pat(atoll, made["token"], ttl="1h")
    assert child["capabilities"] == made["capabilities"] and child["parent"] == made["id"]
    async with client_of(atoll.url, made["token"]) as client:
        for word in ("sandbox.create", "system.manage", "no.such", "*"):
            refused = await client.post("/auth/pat", json={"name": "x", "capabilities": [word]})
            assert refused.status_code == 403
            refused = await client.post("/auth/token", json={"capabilities": [word]})
            assert refused.status_code == 403
        assert (await client.post("/v1/tokens/rotate-keys")).status_code == 403
    bare = await _pat(atoll, capabilities=["sandbox.read"])
    for method, path in (("GET", "/v1/tokens"), ("DELETE", f"/v1/tokens/{made['id']}")):
        assert await _status(atoll, bare["token"], path, method) == 403
    assert await _status(atoll, bare["token"], "/auth/pat", "POST", json={"name": "x"}) == 403


async def test_token_ends_at_its_end_and_lives_no_longer_than_allowed(atoll: World) -> None:
    made = await _pat(atoll, ttl=60)
    # What is made from it ends with it, whatever is asked for.
    child = await _pat(atoll, made["token"], ttl="2d")
    assert child["expires_at"] == made["expires_at"]
    signed = await _exchange(atoll, made["token"])
    assert claims_of(signed)["exp"] - claims_of(signed)["iat"] <= 60
    async with client_of(atoll.url, atoll.token) as client:
        refused = await client.post("/auth/pat", json={"name": "x", "ttl": "91d"})
        assert refused.status_code == 422 and "90 days" in refused.json()["detail"]
    atoll.clock.at += timedelta(seconds=60)
    for token in (made["token"], child["token"], signed):
        assert await _status(atoll, token) == 401
    async with client_of(atoll.url, atoll.token) as client:
        assert (await client.get("/v1/tokens")).json()["tokens"] == []


async def test_revoked_token_takes_what_was_made_from_it_along(atoll: World) -> None:
    made = await _pat(atoll)
    child = await _pat(atoll, made["token"])
    grandchild = await _pat(atoll, child["token"])
    signed = await _exchange(atoll, grandchild["token"])
    reading = await _subscription(atoll, signed, streams=["*"])
    other = await _pat(atoll)
    assert await _status(atoll, atoll.token, f"/v1/tokens/{made['id']}", "DELETE") == 204
    for token in (made["token"], child["token"], grandchild["token"], signed):
        assert await _status(atoll, token) == 401
    assert await _status(atoll, reading, "/v1/events/stream") == 401
    assert await _status(atoll, other["token"]) == 200
    assert await _status(atoll, atoll.token, f"/v1/tokens/{made['id']}", "DELETE") == 404


async def test_token_never_approves_and_makes_no_login(atoll: World) -> None:
    made = await _pat(atoll)
    signed = await _exchange(atoll, made["token"])
    for token in (made["token"], signed):
        for path in ("confirmation", "approve", "deny", "revoke"):
            body = {"shown": "x", "scope": "once"} if path == "approve" else None
            async with client_of(atoll.url, token) as client:
                answer = await client.post(f"/v1/approvals/ap_1/{path}", json=body)
            assert answer.status_code in {403, 422} and answer.status_code != 200
            if answer.status_code == 403:
                assert answer.json()["code"] == "not_interactive"
        assert await _status(atoll, token, "/auth/tickets", "POST") == 403


async def test_browser_exchanges_its_login_and_ends_it_with_its_logout(atoll: World) -> None:
    async with client_of(atoll.url) as page:
        page.headers.update({**await atoll.browser(), "Origin": atoll.url})
        made = await page.post("/auth/token", json={})
        signed = made.json()["access_token"]
        assert made.json()["token_type"] == "Bearer" and made.json()["expires_in"] == 900
        async with client_of(atoll.url, signed) as client:
            assert (await client.get("/v1/me")).json()["interactive"] is False
        await page.post("/auth/logout")
    assert await _status(atoll, signed) == 401


async def test_signed_token_carries_the_claims_and_no_more_than_its_maker(atoll: World) -> None:
    made = await _pat(atoll, capabilities=["sandbox.read", "me.manage"])
    signed = await _exchange(atoll, made["token"], capabilities=["sandbox.read"])
    claims = claims_of(signed)
    assert set(claims) == {
        *("iss", "sub", "aud", "exp", "iat", "nbf", "jti", "kind", "origin"),
        *("sovereign_id", "org_id", "roles", "groups", "capabilities"),
    }
    assert (claims["sub"], claims["org_id"], claims["aud"]) == ("person", "personal", "atoll")
    assert claims["capabilities"] == ["sandbox.read"] and "sovereign-admin" in claims["roles"]
    assert claims["exp"] - claims["iat"] == 900 and claims["nbf"] == claims["iat"]
    assert made["token"] not in json.dumps(claims)
    again = claims_of(await _exchange(atoll, signed))
    assert again["capabilities"] == ["sandbox.read"] and again["exp"] <= claims["exp"]


async def test_signed_token_ends_at_its_end(atoll: World) -> None:
    signed = await _exchange(atoll, atoll.token, ttl=30)
    atoll.clock.at += timedelta(seconds=28)
    assert await _status(atoll, signed) == 200
    # It cannot be used to stay: what it makes ends with it.
    again = await _exchange(atoll, signed)
    pat = await _pat(atoll, signed)
    atoll.clock.at += timedelta(seconds=2)
    for token in (signed, again, pat["token"]):
        assert await _status(atoll, token) == 401
    for ttl in (0, -1, 901, "1h"):
        assert await _status(atoll, atoll.token, "/auth/token", "POST", json={"ttl": ttl}) == 422


async def test_token_for_another_service_is_refused_here(atoll: World) -> None:
    signed = await _exchange(atoll, atoll.token, audience="billing")
    assert claims_of(signed)["aud"] == "billing"
    assert await _status(atoll, signed) == 401
    for word in ("subscription", "sandbox", ""):
        body = {"audience": word}
        assert await _status(atoll, atoll.token, "/auth/token", "POST", json=body) == 422


async def test_key_set_verifies_our_tokens_and_holds_no_private_key(atoll: World) -> None:
    from joserfc import jwt
    from joserfc.jwk import KeySet

    async with client_of(atoll.url) as client:
        assert (await client.get("/.well-known/jwks.json")).json() == {"keys": []}
        signed = await _exchange(atoll, atoll.token, audience="billing")
        answer = await client.get("/.well-known/jwks.json")
    assert answer.status_code == 200 and answer.headers["Cache-Control"].startswith("public")
    (key,) = answer.json()["keys"]
    assert set(key) == {"kty", "crv", "x", "y", "kid", "use", "alg"}
    decoded = jwt.decode(signed, KeySet.import_key_set(answer.json()), algorithms=["ES256"])
    assert decoded.claims["aud"] == "billing"


async def test_rotated_key_signs_and_the_old_one_verifies_until_its_tokens_end(
    atoll: World,
) -> None:
    before = await _exchange(atoll, atoll.token)
    assert await _status(atoll, atoll.token, "/v1/tokens/rotate-keys", "POST") == 200
    after = await _exchange(atoll, atoll.token)
    assert before.split(".")[0] != after.split(".")[0]
    for token in (before, after):
        assert await _status(atoll, token) == 200
    atoll.clock.at += timedelta(minutes=15, seconds=30)
    async with client_of(atoll.url) as client:
        (key,) = (await client.get("/.well-known/jwks.json")).json()["keys"]
    fresh = await _exchange(atoll, atoll.token)
    assert key["kid"] in json.dumps(_header(fresh)) and await _status(atoll, before) == 401


async def test_rotation_at_once_ends_what_was_signed(atoll: World) -> None:
    before = await _exchange(atoll, atoll.token)
    body = {"at_once": True}
    assert await _status(atoll, atoll.token, "/v1/tokens/rotate-keys", "POST", json=body) == 200
    assert await _status(atoll, before) == 401
    assert await _status(atoll, await _exchange(atoll, atoll.token)) == 200


def _header(token: str) -> dict[str, Any]:
    import base64

    head = token.split(".")[0]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    return found


async def _held(atoll: World, box: str) -> IssuedToken:
    """The token that the runtime of a sandbox would hold."""
    services = atoll.services
    issuer = services.tenancy.credentials.bearers._issuer
    found = await issuer.inside(await services.sandboxes.get(services.logins.person(), box))
    assert found is not None
    return found


async def test_token_of_a_sandbox_reaches_that_sandbox_alone(atoll: World) -> None:
    box, other = await _sandbox(atoll, name="box"), await _sandbox(atoll, name="other")
    made = await _pat(atoll, sandbox_id="box")
    assert made["sandbox_id"] == box
    held = await _held(atoll, box)
    assert claims_of(held.text)["sandbox_id"] == box
    for token in (made["token"], held.text):
        async with client_of(atoll.url, token) as client:
            assert (await client.get("/v1/me")).json()["kind"] == "agt"
            own = await client.get(f"/v1/sandboxes/{box}")
            assert own.status_code == 200 and own.json()["sandbox_id"] == box
            assert (await client.get(f"/v1/sandboxes/{box}/agents")).status_code == 200
            foreign = await client.get(f"/v1/sandboxes/{other}")
            missing = await client.get("/v1/sandboxes/sb_missing")
            assert foreign.status_code == missing.status_code == 404
            assert foreign.text.replace(other, "X") == missing.text.replace("sb_missing", "X")
            for path in ("/v1/sandboxes", "/v1/sandboxes/box", "/v1/tokens", "/v1/approvals",
                         "/v1/secrets", "/v1/events", "/v1/events/stream", "/v1/agents",
                         "/v1/inbox", f"/v1/sandboxes/{box}/shares", "/v1/repositories",
                         f"/v1/sandboxes/{box}/../{other}", f"/v1/sandboxes/{box}%2f..%2f{other}",
                         f"/v1/sandboxes/{box}/recordings"):  # fmt: skip
                assert (await client.get(path)).status_code in {404, 422}, path
            for method, path in (
                ("POST", "/auth/pat"), ("POST", "/auth/token"), ("POST", "/auth/subscription"),
                ("POST", "/auth/tickets"), ("DELETE", f"/v1/sandboxes/{box}"),
                ("POST", f"/v1/sandboxes/{box}/exec"), ("POST", "/v1/sandboxes"),
                ("POST", "/v1/approvals/ap_1/approve"), ("PATCH", "/v1/me"),
                ("DELETE", f"/v1/tokens/{made['id']}"),
            ):  # fmt: skip
                answer = await client.request(method, path, json={})
                assert answer.status_code == 404, (method, path)
    missing_box = {"name": "x", "sandbox_id": "sb_missing"}
    assert await _status(atoll, atoll.token, "/auth/pat", "POST", json=missing_box) == 404


async def test_token_that_a_runtime_holds_ends_with_its_sandbox(atoll: World) -> None:
    box = await _sandbox(atoll)
    issued = await _held(atoll, box)
    assert claims_of(issued.text)["aud"] == "sandbox"
    assert not {"token.manage", "approval.decide", "secret.read"} & set(issued.claims.capabilities)
    assert await _status(atoll, issued.text, f"/v1/sandboxes/{box}") == 200
    assert await _status(atoll, issued.text, "/v1/tokens") == 404
    await atoll.services.sandboxes.stop(atoll.services.logins.person(), box)
    assert await _status(atoll, issued.text, f"/v1/sandboxes/{box}") == 401


async def _lines(
    atoll: World, token: str, path: str, *, begun: asyncio.Event | None = None
) -> tuple[list[str], float]:
    """The lines of a stream until it ends, and the seconds that took. `begun` is set once it is
    open."""
    found: list[str] = []
    began = time.monotonic()
    async with client_of(atoll.url, token, timeout=20) as client:
        try:
            async with client.stream("GET", path) as answer:
                assert answer.status_code == 200
                if begun is not None:
                    begun.set()
                async for line in answer.aiter_lines():
                    found.append(line)
        except httpx.RemoteProtocolError:
            pass
    return found, time.monotonic() - began


async def test_subscription_reads_its_streams_and_does_nothing_else(atoll: World) -> None:
    box, other = await _sandbox(atoll), await _sandbox(atoll)
    token = await _subscription(atoll, atoll.token, streams=[f"sandbox:{box}"])
    assert claims_of(token)["aud"] == "subscription"
    async with client_of(atoll.url, token) as client:
        for path in ("/v1/me", "/v1/events", "/v1/sandboxes", f"/v1/sandboxes/{box}",
                     "/v1/agents", "/v1/tokens", "/auth/me"):  # fmt: skip
            assert (await client.get(path)).status_code == 404, path
        for path in ("/auth/token", "/auth/pat", "/auth/subscription", "/v1/events/stream"):
            assert (await client.post(path, json={})).status_code == 404, path
        for stream in (f"sandbox:{other}", "auth", "sandbox:sb_missing"):
            query = {"stream": stream}
            assert (await client.get("/v1/events/stream", params=query)).status_code == 404
        for more in ("", f"&stream=sandbox:{box}"):
            async with client.stream("GET", f"/v1/events/stream?after=0{more}") as answer:
                assert answer.status_code == 200
                data = await anext(
                    json.loads(line[6:])
                    async for line in answer.aiter_lines()
                    if line.startswith("data: ")
                )
            assert data["stream"] == f"sandbox:{box}"
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await _socket(atoll, token, f"/v1/sandboxes/{box}/terminals/t_1/attach")


async def test_subscription_never_sees_another_stream(atoll: World) -> None:
    box, other = await _sandbox(atoll), await _sandbox(atoll)
    quiet = "profile:profile.nothing"
    token = await _subscription(atoll, atoll.token, streams=[f"sandbox:{box}", quiet])
    seen: set[str] = set()
    async with (
        client_of(atoll.url, token) as client,
        client.stream("GET", "/v1/events/stream?after=0") as answer,
    ):
        lines = answer.aiter_lines()
        await atoll.services.sandboxes.stop(atoll.services.logins.person(), other)
        await atoll.services.sandboxes.stop(atoll.services.logins.person(), box)
        async with asyncio.timeout(10):
            async for line in lines:
                if line.startswith("data: "):
                    event = json.loads(line[6:])
                    seen.add(event["stream"])
                    if event["event_type"] == "sandbox.stopped":
                        break
    assert seen == {f"sandbox:{box}"}


async def test_subscription_of_a_read_model_reads_that_alone(atoll: World) -> None:
    token = await _subscription(atoll, atoll.token, models=["agents"])
    assert await _status(atoll, token, "/v1/agents") == 200
    assert await _status(atoll, token, "/v1/events/stream") == 404
    for body in ({}, {"models": ["secrets"]}, {"streams": ["x"] * 33}):
        assert await _status(atoll, atoll.token, "/auth/subscription", "POST", json=body) == 422


async def test_caller_without_the_capability_gets_no_subscription(atoll: World) -> None:
    bare = (await _pat(atoll, capabilities=["sandbox.read"]))["token"]
    for body in ({"streams": ["*"]}, {"models": ["agents"]}):
        assert await _status(atoll, bare, "/auth/subscription", "POST", json=body) == 403


async def test_stream_of_a_subscription_ends_with_it(atoll: World) -> None:
    token = await _subscription(atoll, atoll.token, streams=["*"], ttl=60)

    begun = asyncio.Event()

    async def later() -> None:
        await begun.wait()
        atoll.clock.at += timedelta(seconds=60)

    async with asyncio.TaskGroup() as group:
        group.create_task(later())
        _, seconds = await _lines(atoll, token, "/v1/events/stream", begun=begun)
    assert seconds < 5


async def _socket(
    atoll: World, token: str, path: str, protocols: tuple[str, ...] | None = None, **more: Any
) -> str:
    """The protocol that was taken, after the first frame of a WebSocket."""
    offered = protocols or ("atoll.bearer", f"atoll.bearer.{token}")
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(atoll.url + path, protocols=offered, **more) as socket,
    ):
        await socket.receive(5)
        return str(socket.protocol)


async def test_websocket_takes_a_signed_token_as_a_subprotocol(atoll: World) -> None:
    box = await _sandbox(atoll)
    reading = await _subscription(atoll, atoll.token, streams=[f"sandbox:{box}"])
    signed = await _exchange(atoll, atoll.token)
    stream = f"/v1/events/stream?after=0&stream=sandbox:{box}"
    for token, path in ((reading, stream), (signed, stream),
                        (signed, f"/v1/sandboxes/{box}/terminals/t_1/attach")):  # fmt: skip
        assert await _socket(atoll, token, path) == "atoll.bearer"
    pat = (await _pat(atoll))["token"]
    for token in (pat, atoll.token, "", "a.b.c", signed[:-1]):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await _socket(atoll, token, stream)
        assert refused.value.status == 401
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await _socket(atoll, signed, stream, headers={"Origin": "https://evil.example"})
    assert refused.value.status == 403
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await _socket(atoll, signed, stream, ("atoll.bearer." + signed,))
    assert refused.value.status == 401
    async with client_of(atoll.url) as client:
        answer = await client.get(f"/v1/events/stream?access_token={signed}")
        assert answer.status_code in {401, 422}


async def test_socket_of_a_subscription_sends_its_streams_and_closes_for_another(
    atoll: World,
) -> None:
    box = await _sandbox(atoll)
    await _sandbox(atoll)
    token = await _subscription(atoll, atoll.token, streams=[f"sandbox:{box}"])
    headers = {"Authorization": f"Bearer {token}"}
    path = f"{atoll.url}/v1/events/stream"
    async with aiohttp.ClientSession(headers=headers) as session:
        async with session.ws_connect(f"{path}?after=0") as socket:
            first, second = await socket.receive_json(), await socket.receive_json()
        assert first["stream"] == second["stream"] == f"sandbox:{box}"
        for stream in ("auth", "sandbox:sb_missing"):
            async with session.ws_connect(f"{path}?stream={stream}") as socket:
                assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
                assert socket.close_code == 4404


@pytest.mark.parametrize("way", ["pat", "signed", "subscription"])
async def test_open_connections_close_within_five_seconds_of_a_revocation(
    atoll: World, way: str
) -> None:
    box = await _sandbox(atoll)
    made = await _pat(atoll)
    token = str(made["token"])
    path = f"/v1/sandboxes/{box}/terminals/t_1/attach"
    if way == "signed":
        token = await _exchange(atoll, token)
    if way == "subscription":
        token = await _subscription(atoll, token, streams=["*"])
        path = "/v1/events/stream?after=0"
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        socket = await session.ws_connect(atoll.url + path)
        await socket.receive(5)
        async with asyncio.TaskGroup() as group:
            begun = asyncio.Event()
            stream = group.create_task(_lines(atoll, token, "/v1/events/stream", begun=begun))
            await begun.wait()
            began = time.monotonic()
            assert await _status(atoll, atoll.token, f"/v1/tokens/{made['id']}", "DELETE") == 204
            while (message := await socket.receive(10)).type is not aiohttp.WSMsgType.CLOSE:
                pass
            assert message.data == 4401 and "revoked" in str(message.extra)
            await stream
        assert time.monotonic() - began < 5


async def test_wrong_tokens_are_counted_and_a_right_one_passes(atoll: World) -> None:
    made = await _pat(atoll)
    wrong = made["token"][:-1] + ("0" if made["token"][-1] != "0" else "1")
    async with client_of(atoll.url) as client:
        codes = []
        for _ in range(101):
            answer = await client.get("/v1/me", headers={"Authorization": f"Bearer {wrong}"})
            codes.append(answer.status_code)
    assert codes[0] == 401 and codes[-1] == 429
    assert await _status(atoll, made["token"]) == 200


async def test_caller_without_an_account_makes_no_token_for_it(atoll: World) -> None:
    """What one with an account gets is tested with members."""
    body = {"name": "x", "account": "svc_missing"}
    assert await _status(atoll, atoll.token, "/auth/pat", "POST", json=body) == 404
    assert await _status(atoll, atoll.token, "/v1/tokens?account=svc_missing") == 404


async def test_person_has_a_bound_of_tokens(atoll: World, monkeypatch: Any) -> None:
    monkeypatch.setattr("atoll.services.people.tokens.MAX_TOKENS", 2)
    await _pat(atoll, ttl=60)
    await _pat(atoll)
    assert await _status(atoll, atoll.token, "/auth/pat", "POST", json={"name": "x"}) == 429
    atoll.clock.at += timedelta(seconds=60)
    await _pat(atoll)


@pytest.mark.parametrize(
    "body",
    [{}, {"name": ""}, {"name": "a\nb"}, {"name": "x", "ttl": 0}, {"name": "x", "ttl": "10y"},
     {"name": "x", "capabilities": "all"}, {"name": "x", "org_id": "other"},
     {"name": "x", "capabilities": ["a"] * 101}],
    ids=str,
)  # fmt: skip
async def test_body_that_is_wrong_is_refused(atoll: World, body: Mapping[str, object]) -> None:
    assert await _status(atoll, atoll.token, "/auth/pat", "POST", json=body) == 422
