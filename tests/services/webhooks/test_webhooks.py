from datetime import timedelta

import pytest

from atoll.domain.errors import Conflict, Forbidden, Invalid, LimitReached, NotFound, Unavailable
from atoll.domain.people.principal import LOCAL_PERSON as ME
from atoll.domain.people.principal import Principal
from atoll.domain.webhooks.delivery import Receipt
from atoll.ports import Store
from atoll.services.webhooks.webhooks import WebhookChange
from atoll.testing import FakeWebhookSender
from atoll.wire.words.events import ActorKind
from atoll.wire.words.webhooks import MAX_WEBHOOKS
from tests.services.sandboxes.test_sandboxes import OTHER
from tests.services.webhooks.scene import HookScene, hook_scene

URL = "https://hooks.example/in"
AGENT = Principal(ME.org_id, ME.id, ActorKind.AGENT)


async def _kinds(at: HookScene, stream: str) -> list[str]:
    return [one.event_type for one in await at.events(stream)]


async def test_webhook_is_its_owners_and_missing_for_everybody_else() -> None:
    async with hook_scene(FakeWebhookSender()) as (at, _):
        report, secret = await at.endpoints.create(ME, URL, event_types=("sandbox.*",))
        own = report.webhook.id
        assert secret.startswith("whsec_")
        assert await at.endpoints.list(ME) == [report]
        assert await at.endpoints.get(ME, own) == report
        assert await at.endpoints.list(OTHER) == []
        acts = (
            at.endpoints.get(OTHER, own),
            at.endpoints.change(OTHER, own, WebhookChange(enabled=False)),
            at.endpoints.rotate(OTHER, own),
            at.endpoints.test(OTHER, own),
            at.endpoints.remove(OTHER, own),
            at.deliveries.list(OTHER, own),
            at.deliveries.replay(OTHER, own),
            at.deliveries.replay_from(OTHER, own, 0),
            at.deliveries.drop(OTHER, own),
        )
        for act in acts:
            with pytest.raises(NotFound, match="You have no webhook"):
                await act
        await at.endpoints.remove(ME, own)
        with pytest.raises(NotFound):
            await at.endpoints.get(ME, own)
        assert await _kinds(at, report.webhook.stream) == ["webhook.created", "webhook.removed"]


async def test_nobody_but_a_person_sends_the_log_away() -> None:
    async with hook_scene(FakeWebhookSender()) as (at, _):
        report, _secret = await at.endpoints.create(ME, URL)
        own = report.webhook.id
        for act in (
            at.endpoints.create(AGENT, URL),
            at.endpoints.change(AGENT, own, WebhookChange(url=URL)),
            at.endpoints.rotate(AGENT, own),
            at.endpoints.test(AGENT, own),
            at.endpoints.remove(AGENT, own),
            at.deliveries.replay(AGENT, own),
            at.deliveries.replay_from(AGENT, own, 0),
            at.deliveries.drop(AGENT, own),
        ):
            with pytest.raises(Forbidden, match="only a person"):
                await act


async def test_webhook_that_cannot_be_is_refused_and_their_number_is_bounded() -> None:
    async with hook_scene(FakeWebhookSender()) as (at, _):
        for wrong in ({"event_types": ("nothing.*",)}, {"streams": ("",)}):
            with pytest.raises(Invalid):
                await at.endpoints.create(ME, URL, **wrong)  # type: ignore[arg-type]
        with pytest.raises(Invalid):
            await at.endpoints.create(ME, "http://hooks.example/")
        report, _secret = await at.endpoints.create(ME, URL)
        for _number in range(MAX_WEBHOOKS - 1):
            await at.endpoints.create(ME, URL)
        with pytest.raises(LimitReached, match="20 webhooks"):
            await at.endpoints.create(ME, URL)
        with pytest.raises(Invalid):
            await at.endpoints.change(ME, report.webhook.id, WebhookChange(url="ftp://x/"))
        await at.endpoints.create(OTHER, URL)


async def test_stream_of_nothing_is_refused_and_one_of_what_is_gone_stays() -> None:
    async with hook_scene(FakeWebhookSender()) as (at, _):
        things = ("sandbox:sb_nope", "secret:sec_nope", "webhook:wh_nope", "org:other", "hook:h")
        for stream in (*things, "dashboard:d", "worker:w"):
            with pytest.raises(Invalid) as refused:
                await at.endpoints.create(ME, URL, streams=(stream,))
            assert refused.value.field == "streams"
        # Those of what is there, of what was, of all of a noun, and of names that may come.
        await at.append(["sandbox:past"])
        fine = (
            "sandbox:a",
            "sandbox:past",
            "sandbox:*",
            "profile:profile.later",
            f"org:{ME.org_id}",
        )
        report, _secret = await at.endpoints.create(ME, URL, streams=fine)
        own = report.webhook.id
        with pytest.raises(Invalid):
            await at.endpoints.change(ME, own, WebhookChange(streams=(*fine, "sandbox:sb_nope")))
        with pytest.raises(Invalid):
            await at.endpoints.create(OTHER, URL, streams=("sandbox:a",))
        await at.endpoints.change(ME, own, WebhookChange(streams=(report.webhook.stream,)))


async def test_change_of_nothing_is_no_event_and_of_something_is_one() -> None:
    async with hook_scene(FakeWebhookSender()) as (at, _):
        report, _secret = await at.endpoints.create(ME, URL)
        own = report.webhook.id
        assert await at.endpoints.change(ME, own, WebhookChange(enabled=True, url=URL)) == report
        off = await at.endpoints.change(
            ME, own, WebhookChange(enabled=False, event_types=("agent.*",), streams=("vault",))
        )
        assert (off.webhook.enabled, off.webhook.reason) == (False, None)
        assert (off.webhook.event_types, off.webhook.streams) == (("agent.*",), ("vault",))
        kinds = await _kinds(at, report.webhook.stream)
        assert kinds == ["webhook.created", "webhook.changed"]


async def test_test_posts_once_past_the_filters_and_says_why_it_failed() -> None:
    sender = FakeWebhookSender()
    async with hook_scene(sender) as (at, _):
        report, _secret = await at.endpoints.create(ME, URL, event_types=("agent.*",))
        own = report.webhook.id
        await at.endpoints.change(ME, own, WebhookChange(enabled=False))
        accepted = await at.endpoints.test(ME, own)
        assert accepted.reason is None
        ((headers, body),) = sender.sent[URL]
        assert headers["webhook-id"] == accepted.event_id
        assert b'"type":"webhook.tested"' in body
        sender.answers[URL] = [Receipt(404), Unavailable("hooks.example cannot be reached (X).")]
        assert (await at.endpoints.test(ME, own)).reason == "hooks.example answered 404."
        reason = (await at.endpoints.test(ME, own)).reason
        assert reason == "hooks.example cannot be reached (X)."
        assert (await at.endpoints.get(ME, own)).webhook.failure is None


async def test_secrets_are_sealed_and_no_event_names_them_or_the_rest_of_the_url() -> None:
    async with hook_scene(FakeWebhookSender()) as (at, _):
        report, secret = await at.endpoints.create(ME, f"{URL}?key=hunter2")
        _, newest = await at.endpoints.rotate(ME, report.webhook.id, overlap=timedelta())
        assert newest != secret
        stored = repr(await _everything(at.ground.store))
        told = repr(await at.events(report.webhook.stream))
        for value in (secret, newest):
            assert value not in stored + told
            assert value.removeprefix("whsec_") not in stored + told
        assert "hunter2" not in told
        (kept,) = await _everything(at.ground.store)
        assert [key.version for key in kept.keys] == [2]


async def _everything(store: Store) -> list:  # type: ignore[type-arg]
    async with store.read() as rows:
        return await rows.webhooks.everything()


async def test_rotation_keeps_one_former_secret_for_its_time() -> None:
    async with hook_scene(FakeWebhookSender()) as (at, _):
        report, _secret = await at.endpoints.create(ME, URL)
        for _number in range(2):
            await at.endpoints.rotate(ME, report.webhook.id)
        rotated, _secret = await at.endpoints.rotate(ME, report.webhook.id)
        assert rotated.webhook.secret_version == 4
        (kept,) = await _everything(at.ground.store)
        assert [(key.version, key.until) for key in kept.keys] == [
            (4, None),
            (3, at.clock.now() + timedelta(days=1)),
        ]


async def test_secret_of_another_row_opens_nowhere_and_is_a_reason() -> None:
    async with hook_scene(FakeWebhookSender()) as (at, _):
        one, _secret = await at.endpoints.create(ME, URL)
        two, _secret = await at.endpoints.create(ME, URL)
        kept = {found.webhook.id: found for found in await _everything(at.ground.store)}
        async with at.ground.store.begin() as rows:
            swapped = type(kept[one.webhook.id])(one.webhook, kept[two.webhook.id].keys)
            await rows.webhooks.put(swapped)
        result = await at.endpoints.test(ME, one.webhook.id)
        assert result.reason is not None and "vault" in result.reason


async def test_replay_of_what_is_no_dead_letter_is_refused() -> None:
    async with hook_scene(FakeWebhookSender()) as (at, _):
        report, _secret = await at.endpoints.create(ME, URL)
        own = report.webhook.id
        with pytest.raises(NotFound, match="no dead letter"):
            await at.deliveries.replay(ME, own, "ev_none")
        assert (await at.deliveries.replay(ME, own)).deliveries == 0
        with pytest.raises(Invalid, match="at position"):
            await at.deliveries.replay_from(ME, own, 10**6)


async def test_dead_letters_are_listed_by_pages_dropped_and_replayed_once() -> None:
    sender = FakeWebhookSender()
    async with hook_scene(sender) as (at, _):
        report, _secret = await at.endpoints.create(ME, URL)
        own = report.webhook.id
        events = await at.append(["sandbox:a"] * 3, payload={"commit": "x" * 300_000})
        async with at.working():
            await at.until(report, dead=3)
        first = await at.deliveries.list(ME, own, limit=2)
        assert [one.event_id for one in first] == [event.id for event in events[:2]]
        rest = await at.deliveries.list(ME, own, after=first[-1].position)
        assert [one.event_id for one in rest] == [events[2].id]
        await at.deliveries.replay(ME, own, events[0].id)
        with pytest.raises(Conflict, match="sent again already"):
            await at.deliveries.replay(ME, own, events[0].id)
        assert (await at.endpoints.get(ME, own)).replaying == 1
        assert await at.deliveries.drop(ME, own) == 2
        assert (await at.endpoints.get(ME, own)).dead == 0
