import asyncio
from dataclasses import replace

import pytest

from atoll.domain.ids import PrincipalId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.consumer import EVERY_CONSUMER, ConsumerFilter
from atoll.domain.sandboxes.sandbox import Consumer, CreateSandbox
from atoll.services.sandboxes.consumers import Consumers
from atoll.wire.words.events import ActorKind
from atoll.wire.words.sandboxes import Scope, State
from tests.services.sandboxes.test_sandboxes import OTHER
from tests.services.scene import scene

RUN = Consumer(harness="nightly", run_id="r-1")
END = ConsumerFilter("nightly", run_id="r-1")


async def test_end_of_a_run_expires_its_sandboxes_once_and_no_others() -> None:
    async with scene() as s:
        mine = [await s.ready(name=f"mine-{n}", consumer=RUN) for n in range(3)]
        other = await s.ready(name="other", consumer=replace(RUN, run_id="r-2"))
        lasting = await s.ready(name="lasting", consumer=RUN, scope=Scope.AGENT)
        consumers = Consumers(s.store, s.sandboxes)
        stranger = replace(LOCAL_PERSON, id=PrincipalId("stranger"))
        assert await consumers.end(stranger, END) == []
        ended = await consumers.end(LOCAL_PERSON, END)
        assert {one.id for one in ended} == {one.id for one in mine}
        assert all(one.state is State.EXPIRED and one.retained_until for one in ended)
        assert await consumers.end(LOCAL_PERSON, END) == []
        for one in (other, lasting):
            assert (await s.sandboxes.get(LOCAL_PERSON, one.id)).state is State.READY


async def test_ends_at_the_same_time_tell_of_each_sandbox_once() -> None:
    async with scene() as s:
        mine = [await s.ready(name=f"mine-{n}", consumer=RUN) for n in range(4)]
        consumers = Consumers(s.store, s.sandboxes)
        told = await asyncio.gather(*(consumers.end(LOCAL_PERSON, END) for _ in range(5)))
        assert sorted(box.id for ended in told for box in ended) == sorted(box.id for box in mine)
        for box in mine:
            assert (await s.kinds(box)).count("sandbox.expired") == 1


async def test_end_reaches_a_sandbox_that_is_still_being_made() -> None:
    async with scene() as s:
        request = CreateSandbox("bare", name="making", consumer=RUN)
        made = await s.sandboxes.create(LOCAL_PERSON, request)
        assert made.state is State.PROVISIONING
        (ended,) = await Consumers(s.store, s.sandboxes).end(LOCAL_PERSON, END)
        assert (ended.id, ended.state) == (made.id, State.EXPIRED)
        assert (await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)).state is State.EXPIRED
        again = await s.ready(name="again", consumer=RUN)
        assert again.state is State.READY


async def test_member_ends_and_counts_nothing_that_others_share_with_them() -> None:
    async with scene() as s:
        shared = await s.ready(name="shared", consumer=RUN, scope=Scope.SHARED)
        mine = await s.ready(name="mine", consumer=RUN)
        consumers = Consumers(s.store, s.sandboxes)
        seen = await s.sandboxes.list(OTHER, consumers=END)
        assert [box.id for box in seen.sandboxes] == [shared.id]
        assert await consumers.end(OTHER, END) == []
        assert await consumers.usage(OTHER, EVERY_CONSUMER) == []
        (usage,) = await consumers.usage(LOCAL_PERSON, END)
        assert (usage.harness, usage.run_id) == ("nightly", "r-1")
        assert (usage.sandboxes, usage.running) == (2, 2)
        assert (await s.sandboxes.get(LOCAL_PERSON, mine.id)).state is State.READY


async def test_create_of_a_harness_is_its_own_act_in_the_log() -> None:
    async with scene() as s:
        named = Consumer(ActorKind.AGENT, "glas-harness", session_id="s-1")
        made = await s.ready(name="one", consumer=named)
        first = (await s.events.list(LOCAL_PERSON, stream=f"sandbox:{made.id}"))[0]
        assert (first.event_type, first.actor_kind) == ("sandbox.requested", "agt")
        assert first.actor_id == "glas-harness"
        assert first.payload["consumer"] == {
            "actor": "agt",
            "harness": "glas-harness",
            "session_id": "s-1",
        }
        assert first.payload["by"] == LOCAL_PERSON.id


@pytest.mark.parametrize(
    "consumer",
    [
        Consumer(),
        Consumer(ActorKind.PERSON, "nightly", run_id="r"),
        Consumer(ActorKind.AUTOMATION, "atoll"),
    ],
)
async def test_nobody_acts_as_a_person_or_as_atoll_by_naming_it(consumer: Consumer) -> None:
    async with scene() as s:
        made = await s.ready(name="one", consumer=consumer)
        first = (await s.events.list(LOCAL_PERSON, stream=f"sandbox:{made.id}"))[0]
        assert (first.actor_kind, first.actor_id) == ("adm", LOCAL_PERSON.id)
        assert ("consumer" in first.payload) is (consumer != Consumer())
