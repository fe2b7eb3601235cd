import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from atoll.domain.errors import Unavailable
from atoll.domain.event import Json
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.webhooks.delivery import Receipt
from atoll.services.journals.events import Note, draft_of
from tests.peers.receivers.webhook_receiver import verify
from tests.surfaces.http.team import team_of
from tests.surfaces.http.world import World, client_of

ACTS = {
    "POST /v1/webhooks": {
        "url": "test_webhook_is_made_with_a_secret_shown_once_and_receives_events",
        "event_types": "test_filters_choose_what_is_posted",
        "streams": "test_filters_choose_what_is_posted",
        "scope": "test_webhook_of_a_team_is_made_by_its_administrators",
    },
    "PATCH /v1/webhooks/{webhook}": {
        "url": "test_change_turns_off_on_and_elsewhere",
        "event_types": "test_change_turns_off_on_and_elsewhere",
        "streams": "test_change_turns_off_on_and_elsewhere",
        "enabled": "test_change_turns_off_on_and_elsewhere",
    },
    "POST /v1/webhooks/{webhook}/rotate": {
        "overlap": "test_rotated_secret_signs_beside_the_former",
    },
    "POST /v1/webhooks/{webhook}/replay": {
        "event_id": "test_dead_letter_is_listed_replayed_and_dropped",
        "after": "test_dead_letter_is_listed_replayed_and_dropped",
    },
}

PATH = "/v1/webhooks"
URL = "https://hooks.example/in"
OTHER = "https://hooks.example/other"


@asynccontextmanager
async def _working(atoll: World) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(atoll.services.webhooks.worker.run())
        yield
        running.cancel()


async def _saved(atoll: World, profile: str, version: str = "1.0.0") -> None:
    """Append an event, `profile.saved`."""
    payload: dict[str, Json] = {"profile_id": profile, "version": version}
    note = Note(f"profile:{profile}", "profile.saved", payload)
    event_id = atoll.ground.ids.event()
    draft = draft_of(note, LOCAL_PERSON, at=atoll.clock.now(), event_id=event_id)
    async with atoll.ground.store.begin() as rows:
        await rows.events.append((draft,))
    atoll.ground.bus.announce((note.stream,))


async def _sent(atoll: World, url: str, number: int) -> list[dict[str, Any]]:
    """The messages that were posted to a URL, once there are so many."""
    for _ in range(1000):
        if len(atoll.hooks.sent.get(url, ())) >= number:
            break
        await asyncio.sleep(0.01)
    return [json.loads(body) for _, body in atoll.hooks.sent[url]]


async def _until(client: Any, path: str, field: str, value: object) -> dict[str, Any]:
    for _ in range(1000):
        told: dict[str, Any] = (await client.get(path)).json()
        if told[field] == value:
            return told
    raise AssertionError(f"{field} never became {value}")


async def test_webhook_is_made_with_a_secret_shown_once_and_receives_events(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client, _working(atoll):
        made = await client.post(PATH, json={"url": URL})
        assert made.status_code == 201, made.text
        view = made.json()
        secret = view.pop("secret")
        place = f"{PATH}/{view['webhook_id']}"
        assert (await client.get(place)).json() == view
        assert (await client.get(PATH)).json() == {"webhooks": [view]}
        await _saved(atoll, "a")
        (message,) = await _sent(atoll, URL, 1)
        headers, body = atoll.hooks.sent[URL][0]
        verify(secret, dict(headers), body)
        log = (await client.get("/v1/events", params={"stream": "profile:a"})).json()["events"]
        assert [message["data"]] == log
        assert (await client.delete(place)).status_code == 204
        assert (await client.get(place)).status_code == 404
        assert (await client.delete(place)).status_code == 404


async def test_filters_choose_what_is_posted(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client, _working(atoll):
        body = {"url": URL, "streams": ["profile:b"]}
        assert (await client.post(PATH, json=body)).status_code == 201
        body = {"url": OTHER, "event_types": ["agent.*", "profile.deleted"]}
        assert (await client.post(PATH, json=body)).status_code == 201
        for profile in ("a", "b"):
            await _saved(atoll, profile)
        (message,) = await _sent(atoll, URL, 1)
        assert message["data"]["stream"] == "profile:b"
        assert OTHER not in atoll.hooks.sent


async def test_change_turns_off_on_and_elsewhere(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client, _working(atoll):
        place = f"{PATH}/{(await client.post(PATH, json={'url': URL})).json()['webhook_id']}"
        off = await client.patch(place, json={"enabled": False})
        assert (off.status_code, off.json()["enabled"]) == (200, False)
        await _saved(atoll, "a")
        change = {"enabled": True, "url": OTHER, "event_types": ["profile.*"], "streams": []}
        assert (await client.patch(place, json=change)).json()["event_types"] == ["profile.*"]
        (message,) = await _sent(atoll, OTHER, 1)
        assert message["data"]["stream"] == "profile:a"
        assert (await client.patch(place, json={"streams": ["vault"]})).status_code == 200
        await _saved(atoll, "b")
        await client.patch(place, json={"streams": ["profile:c"], "event_types": []})
        await _saved(atoll, "c")
        assert (await _sent(atoll, OTHER, 2))[-1]["data"]["stream"] == "profile:c"
        assert URL not in atoll.hooks.sent


async def test_rotated_secret_signs_beside_the_former(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = (await client.post(PATH, json={"url": URL})).json()
        place = f"{PATH}/{made['webhook_id']}"
        rotated = (await client.post(f"{place}/rotate", json={})).json()
        assert rotated["secret_version"] == 2
        result = (await client.post(f"{place}/test")).json()
        assert (result["accepted"], result["reason"]) == (True, None)
        last = (await client.post(f"{place}/rotate", json={"overlap": 0})).json()
        await client.post(f"{place}/test")
        (first, second) = atoll.hooks.sent[URL]
        for secret, (headers, body) in (
            (made["secret"], first),
            (rotated["secret"], first),
            (last["secret"], second),
        ):
            verify(secret, dict(headers), body)
        assert second[0]["webhook-signature"].count("v1,") == 1
        told = await client.post(f"{place}/rotate", json={"overlap": "8d"})
        assert (told.status_code, told.json()["field"]) == (422, "overlap")


async def test_dead_letter_is_listed_replayed_and_dropped(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client, _working(atoll):
        place = f"{PATH}/{(await client.post(PATH, json={'url': URL})).json()['webhook_id']}"
        for _ in range(2):
            await _saved(atoll, "a", "x" * 300_000)
        await _saved(atoll, "b")
        await _sent(atoll, URL, 1)
        view = await _until(client, place, "dead", 2)
        assert "may have 262144" in view["failure"]
        page = (await client.get(f"{place}/deliveries", params={"state": "dead"})).json()
        one, two = page["deliveries"]
        assert (one["stream"], one["attempts"], one["next_at"]) == ("profile:a", 1, None)
        assert page["next"] == two["position"]
        assert (await client.get(f"{place}/deliveries?state=retrying")).json()["deliveries"] == []
        for body, count in (({"event_id": one["event_id"]}, 1), ({}, 2)):
            replay = await client.post(f"{place}/replay", json=body)
            assert replay.json() == {"deliveries": count, "after": None, "gap": None}
            await _until(client, place, "dead", 2)
        after = two["position"]
        replay = await client.post(f"{place}/replay", json={"after": after})
        assert replay.json() == {"deliveries": 0, "after": after, "gap": None}
        assert [one["data"]["stream"] for one in await _sent(atoll, URL, 2)] == ["profile:b"] * 2
        assert (await client.delete(f"{place}/deliveries")).status_code == 204
        assert (await client.get(place)).json()["dead"] == 0
        both = await client.post(f"{place}/replay", json={"after": 0, "event_id": "ev"})
        assert both.status_code == 422
        gone = await client.post(f"{place}/replay", json={"event_id": "ev_none"})
        assert gone.status_code == 404


async def test_reason_of_a_failure_is_shown(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client, _working(atoll):
        place = f"{PATH}/{(await client.post(PATH, json={'url': URL})).json()['webhook_id']}"
        atoll.hooks.answers[URL] = [Receipt(503), Unavailable("hooks.example is away.")]
        await _saved(atoll, "a")
        view = await _until(client, place, "retrying", 1)
        assert view["failure"] == "hooks.example answered 503."
        assert view["failing_since"] is not None
        assert (await client.post(f"{place}/test")).json()["reason"] == "hooks.example is away."


async def test_webhook_that_cannot_be_names_its_field(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        for wrong, field in (
            ({"url": "http://hooks.example/"}, "url"),
            ({"url": "https://u:p@hooks.example/"}, "url"),
            ({"event_types": ["nothing.happened"]}, "event_types"),
            ({"streams": ["no stream"]}, "streams"),
            ({"streams": ["a"] * 51}, "streams"),
        ):
            told = await client.post(PATH, json={"url": URL, **wrong})
            assert (told.status_code, told.json()["field"]) == (422, field), told.text


async def test_nobody_reads_or_makes_webhooks_without_a_login(atoll: World) -> None:
    async with client_of(atoll.url) as client:
        assert (await client.get(PATH)).status_code == 401
        assert (await client.post(PATH, json={"url": URL})).status_code == 401


async def test_webhook_of_a_team_is_made_by_its_administrators(atoll: World) -> None:
    team = await team_of(atoll, ann="admin", bob="member")
    body = {"url": URL, "scope": "organization"}
    async with _working(atoll):
        assert (await team.call("bob", "POST", PATH, json=body)).status_code == 403
        made = await team.call("ann", "POST", PATH, json=body)
        assert (made.status_code, made.json()["scope"]) == (201, "organization")
        shared = {"name": "all", "scope": "shared"}
        assert (await team.call("bob", "POST", "/v1/sandboxes", json=shared)).status_code == 202
        (message, *_) = await _sent(atoll, URL, 1)
        assert message["type"] == "sandbox.requested"
