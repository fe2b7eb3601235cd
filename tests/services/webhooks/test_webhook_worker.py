import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from atoll.domain.event_retention import EventRetention
from atoll.domain.ids import PrincipalId, SandboxId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.webhooks.delivery import (
    GIVE_UP_AFTER,
    LAST_CEILING,
    MAX_ATTEMPTS,
    MAX_DEAD_AGE,
    MAX_HELD,
)
from atoll.domain.webhooks.signature import MAX_BODY
from atoll.services.journals.pruning import EventPruning
from atoll.services.webhooks.aging import WebhookAging
from atoll.services.webhooks.webhooks import WebhookChange
from atoll.testing.samples import sandbox
from atoll.wire.words.webhooks import DeliveryState
from tests.peers.receivers.webhook_receiver import HANG
from tests.services.sandboxes.test_sandboxes import OTHER
from tests.services.webhooks.scene import HookScene, hook_scene, opened

A, B = "sandbox:a", "sandbox:b"


async def test_events_arrive_signed_in_order_and_under_their_ids() -> None:
    async with hook_scene() as (at, receiver), at.working():
        await at.append([A])
        report, secret = await at.endpoints.create(LOCAL_PERSON, receiver.url)
        receiver.secret = secret
        events = await at.append([A, B, A, A])
        await at.append([A], owner=OTHER)
        await receiver.took(4)
        assert receiver.seqs(A) == [2, 3, 4]
        assert receiver.seqs(B) == [1]
        ids = {headers["webhook-id"] for headers, _ in receiver.requests}
        assert ids == {event.id for event in events}
        sent = {one["data"]["id"]: one for one in receiver.accepted}
        for event in events:
            assert sent[event.id]["type"] == "sandbox.pulled"
            assert sent[event.id]["data"]["position"] == event.position
        after = await at.until(report, cursor=events[-1].position)
        assert after.webhook.delivered_at == at.clock.now()
        assert (after.retrying, after.dead) == (0, 0)


async def test_filters_choose_kinds_and_streams_and_cost_no_write() -> None:
    async with hook_scene() as (at, receiver), at.working():
        report, _ = await at.endpoints.create(
            LOCAL_PERSON, receiver.url, event_types=("sandbox.*",), streams=(B,)
        )
        await at.append([A] * 5)
        unmoved = await at.endpoints.get(LOCAL_PERSON, report.webhook.id)
        (event,) = await at.append([B])
        await receiver.took(1)
        assert receiver.seqs(B) == [1] and len(receiver.accepted) == 1
        assert unmoved.webhook.cursor == report.webhook.cursor
        await at.until(report, cursor=event.position)


async def test_failed_delivery_holds_its_stream_and_no_other() -> None:
    async with hook_scene() as (at, receiver), at.working():
        report, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url)
        receiver.failing.add(A)
        await at.append([A, B, A, B])
        await receiver.took(2)
        await at.append([A, B])
        await receiver.took(3)
        assert receiver.seqs(B) == [1, 2, 3] and receiver.seqs(A) == []
        held = await at.until(report, retrying=1)
        (delivery,) = await at.deliveries.list(LOCAL_PERSON, report.webhook.id)
        assert (delivery.stream, delivery.attempts) == (A, 1)
        assert delivery.reason == held.webhook.failure == "127.0.0.1 answered 500."
        assert delivery.next_at == at.clock.now() + timedelta(seconds=10)
        receiver.failing.clear()
        at.clock.turn(9.9)
        await at.append([B])
        await receiver.took(4)
        assert receiver.seqs(A) == []
        at.clock.turn(0.1)
        await receiver.took(7)
        assert receiver.seqs(A) == [1, 2, 3]
        caught_up = await at.until(report, retrying=0)
        assert caught_up.webhook.failing_since is None
        await at.append([A])
        await receiver.took(8)
        assert receiver.seqs(A) == [1, 2, 3, 4]


async def test_endpoint_that_hangs_holds_one_stream_up_and_says_so() -> None:
    async with hook_scene(seconds=2) as (at, receiver), at.working():
        report, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url)
        receiver.statuses.append(HANG)
        await at.append([A])
        await receiver.came(1)
        await at.append([B])
        failing = await at.until(report, retrying=1)
        assert failing.webhook.failure == "127.0.0.1 did not answer within 2 s."
        await receiver.took(1)
        assert receiver.seqs(B) == [1]


async def test_every_failure_is_an_event_with_its_reason_and_the_last_makes_a_dead_letter() -> None:
    async with hook_scene() as (at, receiver), at.working():
        report, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url)
        receiver.failing.add(A)
        first, second = await at.append([A, A])
        for attempt in range(1, MAX_ATTEMPTS + 1):
            await receiver.came(attempt)
            await _attempts(at, report.webhook.stream, attempt)
            at.clock.turn(LAST_CEILING.total_seconds())
        # The stream goes on with its next event.
        await receiver.came(MAX_ATTEMPTS + 1)
        assert receiver.requests[-1][0]["webhook-id"] == second.id
        told = await at.events(report.webhook.stream)
        failed = [one for one in told if one.payload.get("event_id") == first.id]
        assert [one.payload["attempt"] for one in failed] == list(range(1, MAX_ATTEMPTS + 1))
        assert {one.event_type for one in failed[:-1]} == {"webhook.failed"}
        assert failed[-1].event_type == "webhook.dead_lettered"
        assert {one.reason for one in failed} == {"127.0.0.1 answered 500."}
        (dead,) = await at.deliveries.list(
            LOCAL_PERSON, report.webhook.id, state=DeliveryState.DEAD
        )
        assert (dead.event_id, dead.attempts) == (first.id, MAX_ATTEMPTS)


async def _attempts(at: HookScene, stream: str, number: int) -> None:
    """Return once so many failures are in the log."""
    async with asyncio.timeout(60):
        with at.ground.bus.listen(stream) as listener:
            while True:
                found = [one for one in await at.events(stream) if "attempt" in one.payload]
                if len(found) >= number:
                    return
                await listener.wait()


async def test_dead_letter_is_replayed_alone_and_all_of_them_in_order() -> None:
    async with hook_scene() as (at, receiver), at.working():
        report, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url)
        big = await at.append([A, A, A], payload={"commit": "x" * MAX_BODY})
        (small,) = await at.append([A])
        await receiver.took(1)
        assert receiver.accepted[0]["data"]["id"] == small.id
        dead = await at.until(report, dead=3)
        assert str(dead.webhook.failure or "").startswith("The event has") or not dead.retrying
        found = await at.deliveries.list(LOCAL_PERSON, report.webhook.id)
        assert [one.event_id for one in found] == [one.id for one in big]
        assert all("may have 262144" in str(one.reason) for one in found)
        # They are as long as before, so each fails once more.
        one = await at.deliveries.replay(LOCAL_PERSON, report.webhook.id, big[1].id)
        assert one.deliveries == 1
        await _attempts(at, report.webhook.stream, 4)
        everything = await at.deliveries.replay(LOCAL_PERSON, report.webhook.id)
        assert everything.deliveries == 3
        await _attempts(at, report.webhook.stream, 7)
        told = [e for e in await at.events(report.webhook.stream) if "attempt" in e.payload]
        assert [e.payload["event_id"] for e in told[4:]] == [event.id for event in big]


async def test_replayed_dead_letter_arrives_and_is_none_any_more() -> None:
    async with hook_scene() as (at, receiver), at.working():
        report, secret = await at.endpoints.create(LOCAL_PERSON, receiver.url)
        receiver.secret = secret
        receiver.failing.add(A)
        (event,) = await at.append([A])
        for attempt in range(1, MAX_ATTEMPTS + 1):
            await receiver.came(attempt)
            await _attempts(at, report.webhook.stream, attempt)
            at.clock.turn(LAST_CEILING.total_seconds())
        await at.until(report, dead=1)
        receiver.failing.clear()
        await at.deliveries.replay(LOCAL_PERSON, report.webhook.id, event.id)
        await receiver.took(1)
        assert receiver.accepted[0]["data"]["id"] == event.id
        await at.until(report, dead=0, replaying=0)


async def test_everything_after_a_position_is_sent_again_in_order() -> None:
    async with hook_scene() as (at, receiver), at.working():
        report, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url)
        events = await at.append([A, A, B, A])
        await receiver.took(4)
        await at.until(report, cursor=events[-1].position)
        receiver.accepted.clear()
        again = await at.deliveries.replay_from(LOCAL_PERSON, report.webhook.id, events[0].position)
        assert (again.after, again.gap) == (events[0].position, None)
        await receiver.took(3)
        assert receiver.seqs(A) == [2, 3] and receiver.seqs(B) == [1]


async def test_worker_that_is_killed_at_any_event_loses_nothing() -> None:
    async with hook_scene() as (at, receiver):
        _, receiver.secret = await at.endpoints.create(LOCAL_PERSON, receiver.url)
        streams = [f"sandbox:{number % 5}" for number in range(60)]
        before: HookScene = at
        appended = 0
        for killed_after in (1, 7, 13, 22, 40):
            async with opened(at.folder, before=before) as now:
                # It is killed amid a page: a later event hangs while earlier ones were accepted.
                receiver.statuses.extend([200] * 4 + [HANG, 500, 200])
                await now.append(streams[appended:killed_after])
                appended = killed_after
                # What waits for a retry is due, so that there is always a request.
                at.clock.turn(LAST_CEILING.total_seconds())
                async with now.working(killed=True):
                    await receiver.came(len(receiver.requests) + 1)
                before = now
                receiver.statuses.clear()
        async with opened(at.folder, before=before) as last, last.working():
            await last.append(streams[appended:])
            at.clock.turn(LAST_CEILING.total_seconds())
            wanted = {(name, seq) for name in set(streams) for seq in range(1, 13)}
            async with asyncio.timeout(60):
                while _arrived(receiver.accepted) != wanted:
                    await receiver.took(len(receiver.accepted) + 1)
        for name in set(streams):
            firsts = list(dict.fromkeys(receiver.seqs(name)))
            assert firsts == sorted(firsts)
        # What came twice came under the same id.
        ids = {one["data"]["id"] for one in receiver.accepted}
        assert len(ids) == len(wanted)


def _arrived(accepted: list[dict[str, object]]) -> set[tuple[str, int]]:
    events = [one["data"] for one in accepted]
    return {(one["stream"], one["seq"]) for one in events}  # type: ignore[index]


async def test_events_of_the_time_without_a_worker_come_when_it_is_back() -> None:
    async with hook_scene() as (at, receiver):
        await at.endpoints.create(LOCAL_PERSON, receiver.url)
        await at.append([A, B] * 150)
        async with at.working():
            await receiver.took(300)
        assert receiver.seqs(A) == receiver.seqs(B) == list(range(1, 151))


async def test_endpoint_that_is_gone_is_disabled_and_goes_on_where_it_stopped() -> None:
    async with hook_scene() as (at, receiver), at.working():
        report, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url)
        receiver.statuses.append(410)
        await at.append([A])
        off = await at.until(report, enabled=False)
        assert off.webhook.reason == "127.0.0.1 answered 410: it wants no more events."
        (told,) = [
            one
            for one in await at.events(report.webhook.stream)
            if one.event_type == "webhook.disabled"
        ]
        assert told.reason == off.webhook.reason
        await at.append([A, B])
        await at.endpoints.change(LOCAL_PERSON, report.webhook.id, WebhookChange(enabled=True))
        await receiver.took(3)
        assert receiver.seqs(A) == [1, 2] and receiver.seqs(B) == [1]


async def test_webhook_that_is_disabled_amid_a_page_posts_nothing_twice() -> None:
    async with hook_scene() as (at, receiver), at.working():
        report, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url)
        receiver.statuses.extend([200] * 2 + [HANG])
        await at.append([A] * 4)
        await receiver.came(3)
        for on in (False, True):
            await at.endpoints.change(LOCAL_PERSON, report.webhook.id, WebhookChange(enabled=on))
            if not on:
                await at.until(report, cursor=4 + 1, retrying=1)
        await receiver.took(4)
        # The third was not answered, so it came once more, and none of the others did.
        assert receiver.seqs(A) == [1, 2, 3, 4] and len(receiver.requests) == 5


async def test_endpoint_that_fails_for_days_is_disabled_with_its_last_reason() -> None:
    async with hook_scene() as (at, receiver), at.working():
        report, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url)
        receiver.failing.update((A, B))
        await at.append([A])
        await _attempts(at, report.webhook.stream, 1)
        at.clock.turn(GIVE_UP_AFTER.total_seconds())
        off = await at.until(report, enabled=False)
        assert off.webhook.reason == (
            "No delivery succeeded for 3 days. The last reason: 127.0.0.1 answered 500."
        )
        requests = len(receiver.requests)
        at.clock.turn(GIVE_UP_AFTER.total_seconds())
        await at.append([B])
        await asyncio.sleep(0)
        assert len(receiver.requests) == requests


async def test_endpoint_that_is_down_is_read_for_a_bounded_number_of_streams() -> None:
    async with hook_scene() as (at, receiver), at.working():
        report, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url)
        streams = [f"sandbox:{number}" for number in range(3 * MAX_HELD)]
        receiver.failing.update(streams)
        await at.append(streams)
        await at.until(report, retrying=MAX_HELD)
        receiver.failing.clear()
        at.clock.turn(LAST_CEILING.total_seconds())
        await receiver.took(3 * MAX_HELD)
        await at.until(report, retrying=0)


async def test_two_webhooks_that_fail_do_not_report_each_other_without_end() -> None:
    async with hook_scene() as (at, receiver), at.working():
        one, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url, streams=(A, "webhook:*"))
        two, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url, streams=(A, "webhook:*"))
        receiver.failing.update((A, one.webhook.stream, two.webhook.stream))
        await at.append([A])
        for report in (one, two):
            await at.until(report, retrying=2)
        for _ in range(3):
            at.clock.turn(LAST_CEILING.total_seconds())
            for report in (one, two):
                await at.until(report, retrying=2)
        for report in (one, two):
            told = [e for e in await at.events(report.webhook.stream) if "attempt" in e.payload]
            assert {e.payload["event_stream"] for e in told} == {A}


async def test_gap_in_the_log_is_an_event_and_the_rest_arrives() -> None:
    async with hook_scene() as (at, receiver):
        report, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url, streams=(A,))
        events = await at.append([A] * 6)
        await EventPruning(at.ground, EventRetention(None, most=1)).sweep()
        async with at.working():
            await receiver.took(2)
            assert receiver.seqs(A) == [5, 6]
            await at.until(report, cursor=events[-1].position + 1)  # and `log.pruned`
        told = await at.events(report.webhook.stream)
        (skipped,) = [one for one in told if one.event_type == "webhook.skipped"]
        assert skipped.payload["after"] == report.webhook.cursor
        assert skipped.payload["up_to"] == events[3].position


async def test_cursor_ahead_of_the_log_is_an_event_and_what_comes_arrives() -> None:
    async with hook_scene() as (at, receiver):
        report, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url, streams=(A,))
        async with at.ground.store.begin() as rows:
            kept = await rows.webhooks.get(report.webhook.id)
            assert kept is not None
            ahead = replace(kept.webhook, cursor=5000)
            await rows.webhooks.put(replace(kept, webhook=ahead))
            end = await rows.events.last_position()
        async with at.working():
            await at.until(report, cursor=end)
            await at.append([A])
            await receiver.took(1)
        told = await at.events(report.webhook.stream)
        (skipped,) = [one for one in told if one.event_type == "webhook.skipped"]
        assert skipped.payload["after"] == 5000
        assert skipped.payload["up_to"] == end


async def test_dead_letter_whose_event_is_no_longer_kept_says_so() -> None:
    async with hook_scene() as (at, receiver), at.working():
        report, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url, streams=(A,))
        (event,) = await at.append([A], payload={"commit": "x" * MAX_BODY})
        await at.until(report, dead=1)
        await at.append([A])
        await receiver.took(1)
        await EventPruning(at.ground, EventRetention(None, most=1)).sweep()
        await at.deliveries.replay(LOCAL_PERSON, report.webhook.id, event.id)
        await _attempts(at, report.webhook.stream, 2)
        (dead,) = await at.deliveries.list(LOCAL_PERSON, report.webhook.id)
        assert (dead.state, dead.reason) == (DeliveryState.DEAD, "The event is no longer kept.")


async def test_dead_letter_is_sent_again_from_its_copy_once_the_event_is_gone() -> None:
    async with hook_scene() as (at, receiver), at.working():
        await put_sandbox(at)
        report, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url, streams=(A,))
        receiver.failing.add(A)
        (event,) = await at.append([A])
        for attempt in range(1, MAX_ATTEMPTS + 1):
            await _attempts(at, report.webhook.stream, attempt)
            at.clock.turn(LAST_CEILING.total_seconds())
        await at.until(report, dead=1)
        receiver.failing.clear()
        await at.append([A])
        await receiver.took(1)
        await EventPruning(at.ground, EventRetention(None, most=1)).sweep()
        await at.deliveries.replay(LOCAL_PERSON, report.webhook.id, event.id)
        await receiver.took(2)
        assert receiver.accepted[-1]["data"]["id"] == event.id
        await at.until(report, dead=0, replaying=0)


async def test_copy_of_a_sandbox_that_was_given_away_is_not_sent() -> None:
    async with hook_scene() as (at, receiver), at.working():
        await put_sandbox(at)
        report, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url, streams=(A,))
        receiver.failing.add(A)
        await at.append([A])
        for attempt in range(1, MAX_ATTEMPTS + 1):
            await _attempts(at, report.webhook.stream, attempt)
            at.clock.turn(LAST_CEILING.total_seconds())
        await at.until(report, dead=1)
        receiver.failing.clear()
        await put_sandbox(at, owner=OTHER.id)
        await at.append([A], owner=OTHER)
        await EventPruning(at.ground, EventRetention(None, most=1)).sweep()
        await at.deliveries.replay(LOCAL_PERSON, report.webhook.id)
        await _attempts(at, report.webhook.stream, MAX_ATTEMPTS + 1)
        (dead,) = await at.deliveries.list(LOCAL_PERSON, report.webhook.id)
        assert dead.reason == "The event is no longer kept." and receiver.accepted == []


async def test_old_dead_letters_are_removed() -> None:
    async with hook_scene() as (at, receiver):
        report, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url, streams=(A,))
        async with at.working():
            await at.append([A], payload={"commit": "x" * MAX_BODY})
            await at.until(report, dead=1)
        at.clock.turn(MAX_DEAD_AGE.total_seconds())
        assert await WebhookAging(at.ground).sweep() == 0
        at.clock.turn(1)
        assert await WebhookAging(at.ground).sweep() == 1
        assert (await at.endpoints.get(LOCAL_PERSON, report.webhook.id)).dead == 0


async def put_sandbox(at: HookScene, *, owner: PrincipalId = LOCAL_PERSON.id) -> None:
    """Store the sandbox of the stream A, as somebody's."""
    one = replace(sandbox("a"), id=SandboxId("a"), owner=owner)
    async with at.ground.store.begin() as rows:
        if await rows.sandboxes.get(one.id) is None:
            await rows.sandboxes.insert(one)
        await rows.sandboxes.update(one)


async def test_two_secrets_sign_during_a_rotation_and_one_afterwards() -> None:
    async with hook_scene() as (at, receiver), at.working():
        report, former = await at.endpoints.create(LOCAL_PERSON, receiver.url)
        _, newest = await at.endpoints.rotate(
            LOCAL_PERSON, report.webhook.id, overlap=timedelta(hours=1)
        )
        signatures = []
        for secret, wait in ((former, 0), (newest, 0), (newest, 3600)):
            receiver.secret = secret
            at.clock.turn(wait)
            await at.append([A])
            await receiver.took(len(receiver.accepted) + 1)
            signatures.append(receiver.requests[-1][0]["webhook-signature"].count("v1,"))
        assert signatures == [2, 2, 1]


async def test_worker_without_webhooks_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with hook_scene() as (at, _), at.working():
        await asyncio.sleep(0.05)
        reads = []
        read = type(at.ground.store).read

        def counted(store: object) -> object:
            reads.append(1)
            return read(store)  # type: ignore[arg-type]

        monkeypatch.setattr(type(at.ground.store), "read", counted)
        await at.append([A] * 3)
        await asyncio.sleep(0.05)
        assert reads == []


async def test_changed_url_and_filters_apply_to_what_was_not_read() -> None:
    async with hook_scene() as (at, receiver), at.working():
        report, _ = await at.endpoints.create(LOCAL_PERSON, receiver.url, streams=(A,))
        await at.append([A])
        await receiver.took(1)
        other = receiver.url.replace("/hook", "/other")
        await at.endpoints.change(
            LOCAL_PERSON, report.webhook.id, replace(WebhookChange(url=other), streams=(B,))
        )
        await at.append([A, B])
        await receiver.took(2)
        assert receiver.seqs(B) == [1] and receiver.seqs(A) == [1]
