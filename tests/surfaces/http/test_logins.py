"""The routes of agents' logins: begun, shown, turned on and ended; no answer has a token."""

from typing import Any

import httpx
import pytest

from atoll.domain.logins.agent_login import POLL_INTERVAL
from atoll.ports.outside.issuer import DeviceCode
from atoll.wire.api.agents.logins import AgentLoginBody
from tests.surfaces.http.world import World, client_of

KEY = "sk-canary-login-7f3a9c1b5d2e8046"
LOGINS = "/v1/agent-logins"
ACTS = {
    "POST /v1/agent-logins": {
        "agent": "test_login_of_an_agent_without_an_issuer_is_not_found",
        "method": "test_login_in_a_browser_is_finished_by_its_own_redirect",
        "api_key": "test_key_is_ready_at_once_and_never_shown",
        "provider": "test_key_names_its_provider",
    },
    "PUT /v1/agent-logins/{login}/exposure": {
        "exposed_to": "test_login_is_exposed_by_its_owners_own_act_alone",
    },
    "POST /v1/agent-logins/{login}/redirect": {
        "redirect": "test_login_in_a_browser_is_finished_by_its_own_redirect",
    },
    "PUT /v1/agent-logins/{login}/use": {
        "in_use": "test_login_by_device_code_is_confirmed_turned_on_and_revoked",
    },
}


def no_token(*answers: httpx.Response) -> None:
    """Nothing that an issuer keeps secret is in these answers."""
    for answer in answers:
        said = answer.text + str(answer.headers)
        for secret in ("access-of-the", "refresh-of-the", "device-of-the", "code-of-the", KEY):
            assert secret not in said


async def begun(client: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await client.post(LOGINS, json=body)
    assert answer.status_code == 201, answer.text
    no_token(answer)
    found: dict[str, Any] = answer.json()
    return found


async def confirmed(atoll: World, number: int = 1) -> None:
    """The person confirms on the issuer's page, and the issuer is polled."""
    atoll.issuer.confirm(DeviceCode(f"device-of-the-fake-issuer-{number:06}", "", ""))
    atoll.clock.at += POLL_INTERVAL
    await atoll.services.agent_logins.advance()


async def test_login_by_device_code_is_confirmed_turned_on_and_revoked(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await begun(client)
        assert (made["agent"], made["method"], made["status"]) == ("codex", 1, "pending")
        assert (made["user_code"], made["page"]) == ("ABCD-EFGH", "https://issuer.example/device")
        assert made["in_use"] is False and made["expires_at"] is None
        one = f"{LOGINS}/{made['id']}"
        await confirmed(atoll)
        ready = await client.get(one)
        assert (ready.json()["status"], ready.json()["user_code"]) == ("ready", "")
        assert ready.json()["scopes"] == ["openid"] and ready.json()["expires_at"]
        secrets = await client.get("/v1/secrets")
        assert [(s["secret_id"], s["kind"]) for s in secrets.json()["secrets"]] == [
            (made["token_ref"], "oauth")
        ]
        on = await client.put(f"{one}/use", json={"in_use": True})
        again = await client.put(f"{one}/use", json={"in_use": True})
        assert on.json() == again.json() and on.json()["in_use"] is True
        other = await begun(client)
        await client.put(f"{LOGINS}/{other['id']}/use", json={"in_use": True})
        listed = await client.get(LOGINS)
        assert [one["in_use"] for one in listed.json()["logins"]] == [False, True]
        revoked = await client.delete(one)
        twice = await client.delete(one)
        assert (revoked.json()["status"], twice.status_code) == ("revoked", 200)
        late = await client.put(f"{one}/use", json={"in_use": True})
        assert (late.status_code, late.json()["code"]) == (409, "login_not_ready")
        events = await client.get(f"/v1/events?stream=secret:{made['token_ref']}")
        said = [(e["payload"]["state"], e["payload"]["in_use"]) for e in events.json()["events"]]
        assert said == [
            ("pending", False), ("ready", False), ("ready", True), ("ready", False),
            ("revoked", False),
        ]  # fmt: skip
    no_token(ready, secrets, on, listed, revoked, events)


async def test_login_in_a_browser_is_finished_by_its_own_redirect(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await begun(client, method=0)
        assert made["user_code"] == "" and "code_challenge=" in made["page"]
        back = atoll.issuer.log_in(made["page"])
        one = f"{LOGINS}/{made['id']}/redirect"
        for wrong in (
            "x",
            back.replace("state=", "state=x"),
            "http://evil.example/?code=1",
            "\r\n",
        ):
            refused = await client.post(one, json={"redirect": wrong})
            assert (refused.status_code, refused.json()["field"]) == (422, "redirect")
            no_token(refused)
        done = await client.post(one, json={"redirect": back})
        assert (done.status_code, done.json()["status"]) == (200, "ready")
        again = await client.post(one, json={"redirect": back})
        assert again.status_code == 409
    no_token(done, again)


async def test_key_is_ready_at_once_and_never_shown(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await begun(client, agent="opencode", method=2, api_key=KEY)
        assert (made["status"], made["expires_at"], made["agent"]) == ("ready", None, "opencode")
        for wrong in ("", "short", "password"):
            body = {"agent": "codex", "method": 2, "api_key": wrong}
            refused = await client.post(LOGINS, json=body)
            assert (refused.status_code, refused.json()["field"]) == (422, "api_key")
        shell = await client.post(LOGINS, json={"agent": "shell", "method": 2, "api_key": KEY})
        assert (shell.status_code, shell.json()["field"]) == (422, "agent")
        no_token(shell, await client.get(LOGINS))
        ended = await client.delete(f"{LOGINS}/{made['id']}")
        assert (ended.status_code, ended.json()["status"]) == (200, "revoked")


async def test_key_names_its_provider(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await begun(client, agent="opencode", method=2, api_key=KEY, provider="anthropic")
        assert (made["provider"], made["status"]) == ("anthropic", "ready")
        body = {"agent": "opencode", "method": 2, "api_key": KEY, "provider": "gemini"}
        refused = await client.post(LOGINS, json=body)
        assert (refused.status_code, refused.json()["code"]) == (422, "unknown_provider")
        assert "openai, anthropic" in refused.json()["detail"]
        beside = await client.post(LOGINS, json={"agent": "codex", "provider": "openai"})
        assert beside.status_code == 422


async def test_login_is_exposed_by_its_owners_own_act_alone(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await begun(client)
        await confirmed(atoll)
        one = f"{LOGINS}/{made['id']}/exposure"
        assert made["exposed_to"] == []
        places = ["profile:profile.shell", "profile:profile.python"]
        shown = await client.put(one, json={"exposed_to": places})
        assert shown.json()["exposed_to"] == places
        nothing = (["sandbox:sb_0000000000000000"], ["profile:profile.nope"])
        for wrong in (["person"], *nothing, ["x"], [1], "profile:x", None):
            refused = await client.put(one, json={"exposed_to": wrong})
            assert refused.status_code == 422, wrong
        many = [f"profile:profile.p{number}" for number in range(21)]
        assert (await client.put(one, json={"exposed_to": many})).status_code in (422, 429)
        gone = await client.put(one, json={"exposed_to": []})
        assert gone.json()["exposed_to"] == []
        key = await begun(client, method=2, api_key=KEY)
        lasting = await client.put(
            f"{LOGINS}/{key['id']}/exposure", json={"exposed_to": places[:1]}
        )
        assert (lasting.status_code, lasting.json()["code"]) == (409, "not_short_lived")
        events = await client.get(f"/v1/events?stream=secret:{made['token_ref']}")
        told = [e["payload"].get("exposed_to") for e in events.json()["events"]]
        assert told == [None, None, places, None]
    no_token(shown, gone, lasting, events)


async def test_login_of_an_agent_without_an_issuer_is_not_found(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        for agent, code in (("opencode", "no_issuer"), ("claude", "no_issuer")):
            refused = await client.post(LOGINS, json={"agent": agent})
            assert (refused.status_code, refused.json()["code"]) == (404, code)
        unknown = await client.post(LOGINS, json={"agent": "nobody"})
        assert (unknown.status_code, unknown.json()["field"]) == (404, "agent")


@pytest.mark.parametrize(
    "body",
    [
        {"method": 3}, {"method": "1"}, {"method": True}, {"method": 1.0}, {"method": None},
        {"agent": ""}, {"agent": 1}, {"api_key": 1}, {"token": "x"}, [], None,
        {"api_key": "x" * 5000}, {"api_key": KEY}, {"method": 0, "api_key": KEY},
    ],
)  # fmt: skip
async def test_body_that_is_none_is_refused(atoll: World, body: object) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        refused = await client.post(LOGINS, json=body)
        assert refused.status_code == 422, refused.text
        assert (await client.get(LOGINS)).json() == {"logins": [], "next": None}


async def test_login_that_is_not_there_answers_alike(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        for name in ("alg_aaaaaaaaaaaaaaaa", "x" * 200, "';--"):
            one = f"{LOGINS}/{name}"
            answers = [
                await client.get(one),
                await client.delete(one),
                await client.put(f"{one}/use", json={"in_use": True}),
                await client.post(f"{one}/redirect", json={"redirect": "x"}),
            ]
            assert {answer.status_code for answer in answers} == {404}, name


async def test_logins_are_paged(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = []
        for _ in range(3):
            made.append((await begun(client))["id"])
            atoll.clock.at += POLL_INTERVAL
        first = (await client.get(f"{LOGINS}?limit=2")).json()
        second = (await client.get(f"{LOGINS}?limit=2&cursor={first['next']}")).json()
        assert [one["id"] for one in first["logins"] + second["logins"]] == made


def test_text_of_a_body_does_not_show_its_key() -> None:
    assert "a key" not in repr(AgentLoginBody(api_key="a key"))
