"""The snapshot of a worker: threads, open questions, usage and artifacts."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.domain.overview.usage import DoorCounts
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.workers.artifact import WorkerArtifact
from atoll.domain.workers.ledger import Response, WorkerRequest
from atoll.domain.workers.snapshot import WorkerUsage
from atoll.domain.workers.talk import WorkerThread
from atoll.testing.samples import sandbox
from tests.services.workers.test_workers import Scene, serving

START = WorkerRequest("r1", "thread/start", {})


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with serving(tmp_path) as found:
        yield found


def asking(number: int, **params: object) -> str:
    return json.dumps({"id": number, "method": "item/x/requestApproval", "params": params})


def said(method: str, **params: object) -> str:
    return json.dumps({"method": method, "params": params})


@pytest.mark.parametrize("fast", [True, False])
async def test_thread_is_shown_from_its_receipt_on(scene: Scene, fast: bool) -> None:
    """By the answer itself, or by the spool alone."""
    key = await scene.running()
    scene.host.held.add("thread/start")
    assert await scene.workers.request(LOCAL_PERSON, "w", START, wait_ms=0) is None
    scene.host.answer(key, "r1", Response('{"thread":{"id":"t1","preview":"One"}}'))
    if fast:
        await scene.workers.request(LOCAL_PERSON, "w", START, wait_ms=1000)
    shown = await scene.until(lambda shown: shown.observed.threads != ())
    assert shown.observed.threads == (WorkerThread("t1", None, "One"),)
    scene.host.say(key, said("turn/started", threadId="t1", turn={"id": "u1"}))
    shown = await scene.until(lambda shown: shown.observed.threads[0].turn_id is not None)
    assert shown.observed.threads == (WorkerThread("t1", "u1", "One"),)


async def test_question_is_shown_byte_for_byte_until_it_is_resolved(scene: Scene) -> None:
    key = await scene.running()
    params = '{"threadId":"t1", "n":9007199254740993}'
    scene.host.say(key, f'{{"id":0,"method":"item/x/requestApproval","params":{params}}}')
    shown = await scene.until(lambda shown: shown.observed.pending.server_requests != ())
    (question,) = shown.observed.pending.server_requests
    assert (question.server_request_id, question.method) == ("0", "item/x/requestApproval")
    assert (question.params, question.thread_id) == (params, "t1")
    scene.host.say(key, said("serverRequest/resolved", threadId="t1", requestId=0))
    await scene.until(lambda shown: shown.observed.pending.server_requests == ())


async def test_question_whose_event_is_gone_is_left_out(scene: Scene) -> None:
    key = await scene.running()
    scene.host.say(key, asking(7))
    scene.host.say(key, asking(8))
    await scene.until(lambda shown: len(shown.observed.pending.server_requests) == 2)
    async with scene.ground.store.begin() as rows:
        await rows.worker_events.remove(key, 3)
    shown = await scene.workers.get(LOCAL_PERSON, "w")
    assert [one.server_request_id for one in shown.observed.pending.server_requests] == ["8"]


@pytest.mark.parametrize("way", ["stop", "end"])
async def test_agent_that_ended_asks_nothing_and_is_at_no_turn(scene: Scene, way: str) -> None:
    key = await scene.running()
    scene.host.say(key, said("turn/started", threadId="t1", turn={"id": "u1"}))
    scene.host.say(key, asking(7, threadId="t1"))
    await scene.until(lambda shown: shown.observed.pending.server_requests != ())
    if way == "stop":
        await scene.workers.stop(LOCAL_PERSON, "w", None)
    else:
        scene.host.end(key, "the runtime ended")
    shown = await scene.until(lambda shown: shown.observed.pending.server_requests == ())
    assert shown.observed.threads == (WorkerThread("t1"),)


async def test_usage_is_that_of_its_sandbox_as_the_broker_counts_it(scene: Scene) -> None:
    key = await scene.running()
    assert (await scene.workers.get(LOCAL_PERSON, "w")).observed.usage == WorkerUsage()
    counts = DoorCounts(requests=9, calls=3, tokens_in=50, tokens_out=6, tokens_cached=20)
    async with scene.ground.store.begin() as rows:
        record = await rows.workers.get(key)
        assert record is not None and record.sandbox_id is not None
        box: Sandbox = replace(sandbox("box"), id=record.sandbox_id)
        await rows.sandboxes.insert(box)
        await rows.usage.count(box.org_id, box.id, counts)
        await rows.usage.count(box.org_id, sandbox("other", number=2).id, counts)
    shown = await scene.workers.get(LOCAL_PERSON, "w")
    assert shown.observed.usage == WorkerUsage(3, 50, 6, 20)


async def test_artifacts_are_shown(scene: Scene) -> None:
    key = await scene.running()
    artifact = WorkerArtifact("a", "text/plain", 1, "a" * 64)
    async with scene.ground.store.begin() as rows:
        await rows.worker_artifacts.put(key, artifact, scene.ground.clock.now())
    assert (await scene.workers.get(LOCAL_PERSON, "w")).observed.artifacts == (artifact,)
