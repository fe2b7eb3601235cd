import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from atoll.domain.errors import AtollError, Failed, Forbidden, LimitReached, NotFound, Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.people.push import PER_WINDOW, PushSubscription, PushTarget
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.journals.events import Note, draft_of
from atoll.services.people.push.delivery import RETRIES, PushDelivery
from atoll.services.people.push.subscriptions import PushSubscriptions
from atoll.testing import FakePushSender
from atoll.wire.words.people import MAX_SUBSCRIPTIONS
from tests.adapters.storage.rows.dashboards.dashboards import dashboard
from tests.services.sandboxes.test_sandboxes import OTHER
from tests.services.scene import Scene, scene

ASKED = {"approval_id": "ap_1", "kind": "secret", "generation": 1, "n": 1}
PUSHED = {"repo": 0, "branch": "evil", "commit": "c" * 40, "generation": 1}


class Sender(FakePushSender):
    """A sender that wakes whoever waits for a delivery, or an attempt."""

    def __init__(self) -> None:
        super().__init__()
        self.attempted = asyncio.Condition()
        self.attempts = 0

    async def send(self, target: PushTarget, message: bytes) -> None:
        async with self.attempted:
            self.attempts += 1
            self.attempted.notify_all()
        await super().send(target, message)

    async def tried(self, times: int) -> None:
        async with asyncio.timeout(10), self.attempted:
            await self.attempted.wait_for(lambda: self.attempts >= times)


def _target(name: str = "one") -> PushTarget:
    return PushTarget(f"https://push.example/{name}", b"p" * 65, b"a" * 16)


def _ground(at: Scene) -> Ground:
    return Ground(at.store, at.bus, at.clock, Identifiers())


@asynccontextmanager
async def _pushing(at: Scene) -> AsyncIterator[tuple[PushSubscriptions, Sender]]:
    """Deliveries, running; what comes afterwards is pushed."""
    sender, ground = Sender(), _ground(at)
    delivery = PushDelivery(ground, sender)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(delivery.run())
        subscriptions = PushSubscriptions(ground, sender)
        await delivery.started()
        yield subscriptions, sender
        running.cancel()


async def _ask(at: Scene, sandbox: Sandbox, kinds: Sequence[str] = ("approval.asked",)) -> None:
    """Append events as a program inside causes them."""
    drafts = []
    for kind in kinds:
        payload: dict[str, Any] = {
            "sandbox_id": sandbox.id,
            **(PUSHED if kind == "git.pushed" else ASKED),
        }
        note = Note(f"sandbox:{sandbox.id}", kind, payload)
        drafts.append(
            draft_of(note, LOCAL_PERSON, at=at.clock.now(), event_id=Identifiers().event())
        )
    async with at.store.begin() as rows:
        await rows.events.append(drafts)
    at.bus.announce((f"sandbox:{sandbox.id}",))


async def test_subscription_is_the_callers_and_its_endpoint_is_one_browser() -> None:
    async with scene() as at:
        own = PushSubscriptions(_ground(at), FakePushSender())
        first = await own.subscribe(LOCAL_PERSON, _target())
        again = await own.subscribe(LOCAL_PERSON, _target())
        assert await own.list(LOCAL_PERSON) == [again]
        assert await own.list(OTHER) == []
        for caller, gone in ((OTHER, again.id), (LOCAL_PERSON, first.id)):
            with pytest.raises(NotFound, match="no push subscription"):
                await own.unsubscribe(caller, gone)
        await own.unsubscribe(LOCAL_PERSON, again.id)
        assert await own.list(LOCAL_PERSON) == []


async def test_subscription_is_refused_beyond_the_limit_and_where_it_leads_inside() -> None:
    async with scene() as at:
        sender = FakePushSender()
        own = PushSubscriptions(_ground(at), sender)
        sender.failures["https://push.example/inside"] = [Forbidden("not a public address")]
        with pytest.raises(Forbidden):
            await own.subscribe(LOCAL_PERSON, _target("inside"))
        for number in range(MAX_SUBSCRIPTIONS):
            await own.subscribe(LOCAL_PERSON, _target(str(number)))
        await own.subscribe(LOCAL_PERSON, _target("0"))
        with pytest.raises(LimitReached):
            await own.subscribe(LOCAL_PERSON, _target("more"))


async def test_every_browser_of_the_owner_hears_the_name_and_a_fixed_sentence() -> None:
    async with scene() as at:
        sandbox = await at.ready(name="box")
        await at.until(sandbox, "ready")
        async with _pushing(at) as (own, sender):
            for name in ("one", "two"):
                await own.subscribe(LOCAL_PERSON, _target(name))
            await own.subscribe(OTHER, _target("foreign"))
            await _ask(at, sandbox, ("approval.asked",))
            await sender.tried(2)
            assert sorted(sender.sent) == [_target("one").endpoint, _target("two").endpoint]
            (told,) = sender.sent[_target("one").endpoint]
            assert json.loads(told) == {
                "sandbox": "box",
                "reason": "needs_you",
                "text": "An agent needs you.",
            }


async def test_held_push_is_told_by_its_own_sentence_and_nothing_of_the_branch() -> None:
    async with scene() as at:
        sandbox = await at.ready(name="box")
        async with _pushing(at) as (own, sender):
            await own.subscribe(LOCAL_PERSON, _target())
            await _ask(at, sandbox, ("git.pushed",))
            await sender.tried(1)
            (told,) = sender.sent[_target().endpoint]
            sentence = "A pushed branch waits for you."
            assert json.loads(told) == {"sandbox": "box", "reason": "pushed", "text": sentence}


async def test_sandbox_causes_ten_pushes_a_minute_however_often_it_asks() -> None:
    async with scene() as at:
        sandbox, other = await at.ready(), await at.ready()
        async with _pushing(at) as (own, sender):
            await own.subscribe(LOCAL_PERSON, _target())
            await _ask(at, sandbox, ["approval.asked", "git.pushed"] * 250)
            await _ask(at, other)  # its push says that all before it were looked at
            await sender.tried(PER_WINDOW + 1)
            assert sender.attempts == PER_WINDOW + 1
            at.clock.turn(61)
            await _ask(at, sandbox)
            await sender.tried(PER_WINDOW + 2)
            assert sender.attempts == PER_WINDOW + 2


async def test_push_is_tried_again_a_few_times_and_then_dropped() -> None:
    async with scene() as at:
        sandbox = await at.ready()
        async with _pushing(at) as (own, sender):
            await own.subscribe(LOCAL_PERSON, _target())
            later = [Unavailable("busy") for _ in range(len(RETRIES) + 1)]
            sender.failures[_target().endpoint] = [*later]
            await _ask(at, sandbox)
            for attempt, wait in enumerate(RETRIES, 1):
                await sender.tried(attempt)
                await _asleep()
                at.clock.turn(wait.total_seconds())
            await sender.tried(len(RETRIES) + 1)
            assert sender.sent == {}
            assert len(await own.list(LOCAL_PERSON)) == 1


async def _asleep() -> None:
    """Return once a delivery that failed waits for its next attempt: it awaits nothing else."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("failure", "left"), [(NotFound("gone"), 0), (Failed("refused"), 1), (Forbidden("no"), 1)]
)
async def test_browser_that_is_gone_is_forgotten_and_no_other_failure_ends_deliveries(
    failure: AtollError, left: int
) -> None:
    async with scene() as at:
        sandbox = await at.ready()
        async with _pushing(at) as (own, sender):
            await own.subscribe(LOCAL_PERSON, _target())
            sender.failures[_target().endpoint] = [failure]
            await _ask(at, sandbox)
            await sender.tried(1)
            async with asyncio.timeout(10):
                while len(await own.list(LOCAL_PERSON)) != left:
                    pass
            await own.subscribe(LOCAL_PERSON, _target("two"))
            await _ask(at, sandbox)
            await sender.tried(2 + left)
            assert len(sender.sent[_target("two").endpoint]) == 1


async def test_event_of_a_sandbox_that_is_not_there_is_no_news() -> None:
    async with scene() as at:
        sandbox = await at.ready()
        async with _pushing(at) as (own, sender):
            subscription = await own.subscribe(LOCAL_PERSON, _target())
            assert isinstance(subscription, PushSubscription)
            await _ask(at, replace(sandbox, id=SandboxId("sb_none")))
            destroyed = await at.ready(name="destroyed")
            await at.sandboxes.destroy(LOCAL_PERSON, destroyed.id)
            await _ask(at, destroyed, ("approval.asked", "git.pushed"))
            await _ask(at, sandbox)
            await sender.tried(1)
            assert sender.attempts == 1
            assert json.loads(sender.sent[_target().endpoint][0])["sandbox"] == sandbox.name


async def test_push_that_was_postponed_is_dropped_when_its_sandbox_is_destroyed() -> None:
    async with scene() as at:
        sandbox, other = await at.ready(), await at.ready()
        async with _pushing(at) as (own, sender):
            await own.subscribe(LOCAL_PERSON, _target())
            sender.failures[_target().endpoint] = [Unavailable("busy")]
            await _ask(at, sandbox)
            await sender.tried(1)
            await _asleep()
            await at.sandboxes.destroy(LOCAL_PERSON, sandbox.id)
            at.clock.turn(RETRIES[0].total_seconds())
            await _ask(at, other)
            await sender.tried(2)
            await _asleep()
            sent = [json.loads(one)["sandbox"] for one in sender.sent[_target().endpoint]]
            assert sent == [other.name] and sender.attempts == 2


async def test_mention_is_pushed_with_the_name_of_its_dashboard_while_that_is_there() -> None:
    async with scene() as at:
        board = dashboard("1", name="Plan", owner=OTHER.id)
        gone = dashboard("2", name="Gone", owner=OTHER.id, deleted_at=at.clock.now())
        async with at.store.begin() as rows:
            for one in (board, gone):
                await rows.dashboards.put(one)
        async with _pushing(at) as (own, sender):
            await own.subscribe(LOCAL_PERSON, _target())
            for one in (gone, board):
                payload: dict[str, Any] = {
                    "dashboard_id": one.id, "name": one.name, "item_id": "itm_1",
                    "mention_id": "mnt_1", "kind": "comment",
                }  # fmt: skip
                note = Note(f"dashboard:{one.id}", "dashboard.mentioned", payload)
                draft = draft_of(
                    note, LOCAL_PERSON, at=at.clock.now(), event_id=Identifiers().event()
                )
                async with at.store.begin() as rows:
                    await rows.events.append((draft,))
                at.bus.announce((note.stream,))
            await sender.tried(1)
        ((message,),) = sender.sent.values()
        told = json.loads(message)
        assert (told["sandbox"], told["text"]) == ("Plan", "Somebody mentions you.")
        assert (told["dashboard"], told["item"]) == (board.id, "itm_1")
