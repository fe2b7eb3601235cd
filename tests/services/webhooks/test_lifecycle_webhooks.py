"""Lifecycle webhooks: events of one sandbox, signed by its owner's secret, until it is gone."""

import base64
from dataclasses import replace
from datetime import timedelta

import pytest

from atoll.adapters.webhooks.sender import HttpWebhookSender
from atoll.adapters.webhooks.settings import WebhookSettings
from atoll.domain.errors import AtollError, Conflict, Forbidden, Invalid, LimitReached, NotFound
from atoll.domain.event import Event, EventDraft, Json
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId, SecretId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.domain.sandboxes.sandbox import LifecycleWebhook, Sandbox
from atoll.domain.secrets.secret import Secret, Use, bound_to
from atoll.domain.webhooks.delivery import LAST_CEILING, MAX_ATTEMPTS
from atoll.domain.webhooks.webhook import lifecycle_webhook_id, webhook_stream
from atoll.services.webhooks import lifecycle_webhooks
from atoll.services.webhooks.aging import WebhookAging
from atoll.services.webhooks.lifecycle_webhooks import LifecycleReport
from atoll.services.webhooks.webhooks import WebhookChange
from atoll.testing import FakeWebhookSender
from atoll.testing.samples import sandbox
from atoll.wire.words.events import ActorKind
from atoll.wire.words.sandboxes import State
from atoll.wire.words.secrets import Purpose
from atoll.wire.words.webhooks import LifecycleWebhookState
from tests.peers.receivers.webhook_receiver import ENDLESS, HANG, WebhookReceiver, verify
from tests.services.sandboxes.test_sandboxes import OTHER
from tests.services.webhooks.scene import HookScene, hook_scene, opened

SIGNING = "whsec_" + base64.b64encode(b"s" * 32).decode()
NEWER = "whsec_" + base64.b64encode(b"n" * 32).decode()
BOX = SandboxId("sb_3k7qa2mnzv5xw4ty")
STREAM = f"sandbox:{BOX}"
HOOK = lifecycle_webhook_id(BOX)
CUSTOM = Use(Purpose.CUSTOM)


async def _set_secret(
    at: HookScene,
    value: str = SIGNING,
    *,
    name: str = "SIGNING",
    use: Use = CUSTOM,
    owner: PrincipalId = LOCAL_PERSON.id,
    version: int = 1,
) -> Secret:
    now = at.clock.now()
    secret = Secret(
        id=SecretId(f"sec_{name}_{owner}"),
        org_id=PERSONAL_ORG,
        owner=owner,
        name=name,
        scope="person",
        use=use,
        version=version,
        fingerprint="",
        last4="",
        size=len(value),
        created_at=now,
        updated_at=now,
    )
    async with at.ground.store.begin() as rows:
        await rows.secrets.put(secret, at.vault.seal(value, bound_to(secret)))
    return secret


async def _made(at: HookScene, url: str, ref: str = "SIGNING") -> Sandbox:
    """A sandbox of the person with this webhook, as an admission stores it."""
    made = replace(
        sandbox("box"),
        id=BOX,
        owner=LOCAL_PERSON.id,
        lifecycle_webhook=LifecycleWebhook(url, ref),
    )
    async with at.ground.store.begin() as rows:
        await at.lifecycle.begin(rows, made, LOCAL_PERSON)
        await rows.sandboxes.insert(made)
        await rows.events.append((_draft(at, "sandbox.requested", made),))
    at.lifecycle.announce(made)
    return made


def _draft(at: HookScene, kind: str, box: Sandbox) -> EventDraft:
    facts: dict[str, Json] = {
        "sandbox_id": box.id,
        "name": box.name,
        "generation": 1,
        "state": box.state.value,
    }
    if kind == "sandbox.requested":
        facts |= {"profile": "profile.x", "extension": "ext.x"}
    return EventDraft(
        id=at.ground.ids.event(),
        stream=STREAM,
        event_type=kind,
        at=at.clock.now(),
        org_id=box.org_id,
        owner=box.owner,
        actor=LOCAL_PERSON,
        reason=None,
        payload=facts,
    )


async def _enter(at: HookScene, box: Sandbox, state: State, kind: str) -> Sandbox:
    """The sandbox in another state, with the event that says so."""
    entered = replace(box, state=state)
    async with at.ground.store.begin() as rows:
        await rows.sandboxes.update(entered)
        await rows.events.append((_draft(at, kind, entered),))
    at.ground.bus.announce((STREAM,))
    return entered


async def _destroy(at: HookScene, box: Sandbox) -> Sandbox:
    box = await _enter(at, box, State.DESTROYING, "sandbox.destroying")
    return await _enter(at, box, State.DESTROYED, "sandbox.destroyed")


async def _reported(at: HookScene, box: Sandbox) -> LifecycleReport:
    return (await at.lifecycle.reports((box,)))[box.id]


async def _told(at: HookScene, kind: str, count: int = 1) -> list[Event]:
    """The events of this kind about the webhook, once there are so many."""
    with at.ground.bus.listen(webhook_stream(HOOK)) as listener:
        while True:
            events = await at.events(webhook_stream(HOOK))
            found = [event for event in events if event.event_type == kind]
            if len(found) >= count:
                return found
            await listener.wait()


def _kinds(receiver: WebhookReceiver) -> list[str]:
    return [message["type"] for message in receiver.accepted]


LIFE = ["sandbox.requested", "sandbox.ready", "sandbox.destroying", "sandbox.destroyed"]


async def test_life_of_one_sandbox_is_posted_in_order_and_ends_the_webhook() -> None:
    async with hook_scene() as (at, receiver), at.working():
        await _set_secret(at)
        receiver.secret = SIGNING
        box = await _made(at, receiver.url)
        await at.append(["sandbox:a", "sandbox:b"])
        box = await _enter(at, box, State.READY, "sandbox.ready")
        await receiver.took(2)
        standing = await _reported(at, box)
        assert (standing.state, standing.host) == (LifecycleWebhookState.DELIVERING, "127.0.0.1")
        assert "hook" not in standing.host
        box = await _destroy(at, box)
        (ended,) = await _told(at, "webhook.ended")
        assert _kinds(receiver) == LIFE
        assert receiver.seqs(STREAM) == [1, 2, 3, 4]
        assert ended.payload == {
            "webhook_id": HOOK, "host": "127.0.0.1", "sandbox_id": BOX, "dead": 0,
        }  # fmt: skip
        assert ended.reason is None
        over = await _reported(at, box)
        assert (over.state, over.reason) == (LifecycleWebhookState.ENDED, None)
        with pytest.raises(NotFound):
            await at.endpoints.get(LOCAL_PERSON, HOOK)


async def test_killed_worker_goes_on_where_it_was_and_ends_the_webhook_after_the_last() -> None:
    async with hook_scene() as (at, receiver):
        await _set_secret(at)
        receiver.secret = SIGNING
        box = await _made(at, receiver.url)
        receiver.statuses.append(HANG)
        async with at.working(killed=True):
            await receiver.came(1)
        box = await _enter(at, box, State.READY, "sandbox.ready")
        await _destroy(at, box)
        async with opened(at.folder, before=at) as again, again.working():
            await receiver.took(4)
            await _told(again, "webhook.ended")
        assert _kinds(receiver) == LIFE


async def test_sandbox_that_was_gone_before_a_start_ends_its_webhook() -> None:
    """The process died between the last delivery and the end."""
    async with hook_scene() as (at, receiver):
        await _set_secret(at)
        await _destroy(at, await _made(at, receiver.url))
        async with at.ground.store.begin() as rows:
            record = await rows.webhooks.get(HOOK)
            assert record is not None
            last = await rows.events.last_position()
            await rows.webhooks.put(replace(record, webhook=replace(record.webhook, cursor=last)))
        async with at.working():
            await _told(at, "webhook.ended")
        assert receiver.requests == []


async def test_endpoint_that_fails_holds_the_order_and_every_failure_has_its_reason() -> None:
    async with hook_scene() as (at, receiver), at.working():
        await _set_secret(at)
        receiver.failing.add(STREAM)
        box = await _made(at, receiver.url)
        (failed,) = await _told(at, "webhook.failed")
        box = await _enter(at, box, State.READY, "sandbox.ready")
        assert failed.reason == "127.0.0.1 answered 500."
        failing = await _reported(at, box)
        assert failing.state is LifecycleWebhookState.FAILING
        assert failing.reason == "127.0.0.1 answered 500."
        receiver.failing.clear()
        at.clock.turn(10)
        await receiver.took(2)
        assert _kinds(receiver) == LIFE[:2]


async def test_last_event_that_is_given_up_ends_the_webhook_with_the_reason() -> None:
    async with hook_scene() as (at, receiver), at.working():
        await _set_secret(at)
        box = await _made(at, receiver.url)
        await receiver.took(1)
        receiver.failing.add(STREAM)
        box = await _enter(at, box, State.DESTROYED, "sandbox.destroyed")
        for attempt in range(1, MAX_ATTEMPTS + 1):
            await receiver.came(attempt + 1)
            await _tried(at, attempt)
            at.clock.turn(LAST_CEILING.total_seconds())
        (ended,) = await _told(at, "webhook.ended")
        assert (ended.payload["dead"], ended.reason) == (1, "127.0.0.1 answered 500.")
        over = await _reported(at, box)
        assert (over.state, over.reason) == (LifecycleWebhookState.ENDED, ended.reason)


async def _tried(at: HookScene, attempts: int) -> None:
    """Return once so many attempts were told of as failed, for good or not."""
    with at.ground.bus.listen(webhook_stream(HOOK)) as listener:
        while True:
            events = await at.events(webhook_stream(HOOK))
            kinds = [event.event_type for event in events]
            if kinds.count("webhook.failed") + kinds.count("webhook.dead_lettered") >= attempts:
                return
            await listener.wait()


async def test_redirect_into_this_machine_is_a_failure_and_is_not_followed() -> None:
    async with hook_scene() as (at, receiver), at.working():
        await _set_secret(at)
        receiver.statuses.append(302)
        receiver.headers = {"Location": receiver.url.replace("/hook", "/inside")}
        await _made(at, receiver.url)
        (failed,) = await _told(at, "webhook.failed")
        assert failed.reason == "127.0.0.1 answered 302: redirects are not followed."
        assert len(receiver.requests) == 1


async def test_answer_without_end_counts_by_its_status_and_is_not_read_on() -> None:
    async with hook_scene() as (at, receiver), at.working():
        await _set_secret(at)
        receiver.statuses.append(ENDLESS)
        box = await _made(at, receiver.url)
        await _enter(at, box, State.READY, "sandbox.ready")
        await receiver.took(2)
        assert receiver.bytes_written < 16 * 1024 * 1024


async def test_slow_receiver_is_a_failure_with_its_reason() -> None:
    async with hook_scene(seconds=1) as (at, receiver), at.working():
        await _set_secret(at)
        receiver.statuses.append(HANG)
        await _made(at, receiver.url)
        (failed,) = await _told(at, "webhook.failed")
        assert failed.reason == "127.0.0.1 did not answer within 1 s."


async def test_host_that_leads_elsewhere_later_is_not_dialled() -> None:
    """The name was public when the sandbox was made; the sender checks it at each attempt."""
    refusing = HttpWebhookSender(WebhookSettings())
    async with hook_scene(refusing) as (at, receiver), at.working():
        await _set_secret(at)
        await _made(at, receiver.url.replace("http://127.0.0.1", "https://localhost"))
        (failed,) = await _told(at, "webhook.failed")
        assert failed.reason is not None and "not a public address" in failed.reason
        assert receiver.requests == []
    await refusing.close()


async def test_secret_that_is_rotated_signs_at_once_and_one_that_is_gone_sends_nothing() -> None:
    async with hook_scene() as (at, receiver), at.working():
        secret = await _set_secret(at)
        box = await _made(at, receiver.url)
        await receiver.took(1)
        await _set_secret(at, NEWER, version=2)
        box = await _enter(at, box, State.READY, "sandbox.ready")
        await receiver.took(2)
        for value, request in zip((SIGNING, NEWER), receiver.requests, strict=True):
            verify(value, *request)
        await _set_secret(at, "a password", version=3)
        box = await _enter(at, box, State.ACTIVE, "sandbox.active")
        (changed,) = await _told(at, "webhook.failed")
        assert changed.reason is not None and "SIGNING does not sign" in changed.reason
        async with at.ground.store.begin() as rows:
            await rows.secrets.remove(secret.id)
        at.clock.turn(10)
        (_, removed) = await _told(at, "webhook.failed", 2)
        assert removed.reason is not None and "was removed" in removed.reason
        assert len(receiver.requests) == 2


async def test_sandbox_that_is_given_away_ends_the_webhook_and_posts_nothing_more() -> None:
    async with hook_scene() as (at, receiver), at.working():
        await _set_secret(at)
        box = await _made(at, receiver.url)
        await receiver.took(1)
        theirs = replace(box, owner=OTHER.id, lifecycle_webhook=None)
        await _enter(at, theirs, State.READY, "sandbox.ready")
        await _told(at, "webhook.ended")
        assert len(receiver.requests) == 1


async def test_endpoint_that_wants_no_more_is_disabled_and_ended_once_the_sandbox_is_gone() -> None:
    async with hook_scene() as (at, receiver), at.working():
        await _set_secret(at)
        receiver.statuses.append(410)
        box = await _made(at, receiver.url)
        (disabled,) = await _told(at, "webhook.disabled")
        assert disabled.reason == "127.0.0.1 answered 410: it wants no more events."
        aging = WebhookAging(at.ground)
        await aging.sweep()
        off = await _reported(at, box)
        assert (off.state, off.reason) == (LifecycleWebhookState.DISABLED, disabled.reason)
        box = await _destroy(at, box)
        await aging.sweep()
        (ended,) = await _told(at, "webhook.ended")
        assert ended.reason == disabled.reason
        assert (await _reported(at, box)).state is LifecycleWebhookState.ENDED
        assert len(receiver.requests) == 1


async def test_webhook_of_a_sandbox_is_found_by_its_id_and_stays_as_it_was_made() -> None:
    async with hook_scene() as (at, receiver), at.working():
        await _set_secret(at)
        receiver.secret = SIGNING
        await _made(at, receiver.url)
        await receiver.took(1)
        assert await at.endpoints.list(LOCAL_PERSON) == []
        found = await at.endpoints.get(LOCAL_PERSON, HOOK)
        assert (found.webhook.url, found.webhook.sandbox_id) == (receiver.url, BOX)
        with pytest.raises(NotFound):
            await at.endpoints.get(OTHER, HOOK)
        assert (await at.endpoints.test(LOCAL_PERSON, HOOK)).reason is None
        for change in (
            WebhookChange(url=receiver.url),
            WebhookChange(event_types=()),
            WebhookChange(streams=("sandbox:a",)),
        ):
            with pytest.raises(Conflict, match="made for another endpoint"):
                await at.endpoints.change(LOCAL_PERSON, HOOK, change)
        with pytest.raises(Conflict, match="rotate the secret"):
            await at.endpoints.rotate(LOCAL_PERSON, HOOK, overlap=timedelta())
        off = await at.endpoints.change(LOCAL_PERSON, HOOK, WebhookChange(enabled=False))
        assert not off.webhook.enabled
        await at.deliveries.replay_from(LOCAL_PERSON, HOOK, 0)
        await at.endpoints.change(LOCAL_PERSON, HOOK, WebhookChange(enabled=True))
        await receiver.took(3)
        assert _kinds(receiver).count("sandbox.requested") == 2
        await at.endpoints.remove(LOCAL_PERSON, HOOK)
        assert await at.lifecycle.reports(()) == {}


async def test_removed_webhook_counts_as_ended() -> None:
    async with hook_scene() as (at, receiver):
        await _set_secret(at)
        box = await _made(at, receiver.url)
        await at.endpoints.remove(LOCAL_PERSON, HOOK)
        assert (await _reported(at, box)).state is LifecycleWebhookState.ENDED


async def test_webhooks_of_sandboxes_are_bounded_with_those_of_sandboxes_that_are_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lifecycle_webhooks, "MAX_LIFECYCLE_WEBHOOKS", 1)
    async with hook_scene() as (at, receiver):
        await _set_secret(at)
        await at.endpoints.create(LOCAL_PERSON, receiver.url)
        box = await _destroy(at, await _made(at, receiver.url))
        another = replace(box, id=SandboxId("sb_0000000000000002"))
        with pytest.raises(LimitReached) as refused:
            async with at.ground.store.begin() as rows:
                await at.lifecycle.begin(rows, another, LOCAL_PERSON)
        assert refused.value.field == "lifecycle_webhook"


async def _refused(at: HookScene, ref: str) -> Invalid:
    with pytest.raises(Invalid) as refused:
        await _made(at, "https://hooks.example/in", ref)
    async with at.ground.store.read() as rows:
        assert await rows.webhooks.get(HOOK) is None
        assert await rows.sandboxes.get(BOX) is None
    return refused.value


async def test_secret_of_somebody_else_is_refused_like_one_that_is_missing() -> None:
    async with hook_scene() as (at, _):
        theirs = await _set_secret(at, name="THEIRS", owner=OTHER.id)
        refusals = [await _refused(at, ref) for ref in ("THEIRS", theirs.id, "MISSING")]
        for refusal, ref in zip(refusals, ("THEIRS", theirs.id, "MISSING"), strict=True):
            assert (refusal.code, refusal.field) == (
                "unknown_secret",
                "lifecycle_webhook.secret_ref",
            )
            assert refusal.message.replace(ref, "X") == refusals[0].message.replace("THEIRS", "X")


@pytest.mark.parametrize(
    ("value", "use"),
    [
        ("sk-0123456789abcdef0123456789", CUSTOM),
        (SIGNING, Use(Purpose.PROVIDER, "openai")),
        (SIGNING, Use(Purpose.GIT, "https://example.org/o/r")),
        (SIGNING, Use(Purpose.ENV, variable="A", brokered=False)),
        (SIGNING, Use(Purpose.CUSTOM, variable="A", brokered=False)),
    ],
)
async def test_secret_that_was_not_made_to_sign_is_refused_and_not_shown(
    value: str, use: Use
) -> None:
    async with hook_scene() as (at, _):
        await _set_secret(at, value, use=use)
        refusal = await _refused(at, "SIGNING")
        assert refusal.field == "lifecycle_webhook.secret_ref"
        assert "does not sign" in refusal.message
        assert value not in refusal.message


@pytest.mark.parametrize(
    "url",
    [
        "https://169.254.169.254/latest/meta-data/",
        "https://[fd00:ec2::254]/",
        "https://127.0.0.1/",
        "https://localhost/",
        "https://10.0.0.5/",
        "https://[::ffff:127.0.0.1]/",
        "http://hooks.example/",
        "https://me:pass@hooks.example/",
        "file:///etc/passwd",
        "https://2130706433/",
    ],
)
async def test_url_that_may_not_be_posted_to_is_refused_with_its_field(url: str) -> None:
    plain = HttpWebhookSender(WebhookSettings())
    async with hook_scene(plain) as (at, _):
        with pytest.raises(AtollError) as refused:
            await at.lifecycle.check(LOCAL_PERSON, LifecycleWebhook(url, "SIGNING"))
        assert isinstance(refused.value, Forbidden | Invalid)
        assert refused.value.field == "lifecycle_webhook.url"
        await at.lifecycle.check(LOCAL_PERSON, None)
    await plain.close()


AGENT = Principal(PERSONAL_ORG, PrincipalId("agent"), ActorKind.AGENT)
FEW = replace(LOCAL_PERSON, capabilities=frozenset({Capability.SANDBOX_CREATE}))


@pytest.mark.parametrize("caller", [AGENT, FEW])
async def test_caller_who_may_make_no_webhooks_makes_none_with_a_sandbox(
    caller: Principal,
) -> None:
    async with hook_scene(FakeWebhookSender()) as (at, _):
        with pytest.raises(Forbidden):
            wanted = LifecycleWebhook("https://hooks.example/in", "SIGNING")
            await at.lifecycle.check(caller, wanted)
