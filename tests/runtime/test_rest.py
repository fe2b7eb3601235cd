"""A runtime that rests before its sandbox sleeps: it begins nothing, and goes on without an end."""

import asyncio
from typing import TypeVar

import pytest
from aiohttp import WSServerHandshakeError, web

from atoll.runtime.api import announced_end
from atoll.runtime.api.requests import read_json
from atoll.wire.contract.call import RequestBody
from atoll.wire.contract.journal import CODE_HEADER, FALLING_ASLEEP
from tests.runtime.stage import Runtime, runtime

T = TypeVar("T", bound=RequestBody)

USES = [
    ("POST", "/execs", {"argv": ["true"]}),
    ("POST", "/sessions", {}),
    ("POST", "/agents", {"agent": "codex"}),
    ("DELETE", "/files?path=a", None),
    ("POST", "/wakes", {"wake_id": "w", "prompt": "p", "title": "t", "text": "x"}),
]


async def rests(rt: Runtime, **bounds: float) -> None:
    status, health = await rt.call("POST", "/rest", bounds)
    assert status == 200 and health["sandbox_id"]


@pytest.mark.parametrize(("method", "path", "body"), USES)
async def test_nothing_begins_in_a_runtime_that_rests(
    method: str, path: str, body: dict[str, object] | None
) -> None:
    async with runtime() as rt:
        await rests(rt, unused_seconds=0)
        status, problem = await rt.call(method, path, body)
        assert (status, problem["code"]) == (409, FALLING_ASLEEP)
        for looked in ("/health", "/sessions", "/journal?after=0", "/screens"):
            assert (await rt.call("GET", looked))[0] == 200


async def test_port_of_a_runtime_that_rests_is_refused_with_its_code() -> None:
    async with runtime() as rt:
        await rests(rt, idle_seconds=0)
        with pytest.raises(WSServerHandshakeError) as refused:
            async with rt.client.ws_connect("http://runtime/ports/8080"):
                pass
        assert refused.value.status == 409
        assert refused.value.headers is not None
        assert refused.value.headers[CODE_HEADER] == FALLING_ASLEEP


async def test_runtime_does_not_rest_while_something_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(request: web.Request, kind: type[T]) -> T:
        begun.set()
        await go_on.wait()
        return await read_json(request, kind)

    monkeypatch.setattr("atoll.runtime.api.execs.read_json", slowly)
    async with runtime() as rt, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(rt.call("POST", "/execs", {"argv": ["true"]}))
        await begun.wait()
        await rests(rt, idle_seconds=0, unused_seconds=0)
        go_on.set()
        assert (await running)[0] == 200
        assert (await rt.call("POST", "/execs", {"argv": ["true"]}))[0] == 200


async def test_farewell_of_a_sandbox_that_sleeps_refuses_without_effect() -> None:
    async with runtime() as rt:
        bye = {"reason": "r", "guest_reason": "g"}
        assert (await rt.call("POST", "/farewell?sleeps=true", bye))[0] == 204
        status, problem = await rt.call("POST", "/execs", {"argv": ["true"]})
        assert (status, problem["code"]) == (409, FALLING_ASLEEP)
        assert (await rt.call("GET", "/screens"))[0] == 200


async def test_runtime_that_was_used_lately_does_not_rest() -> None:
    async with runtime() as rt:
        await rests(rt, idle_seconds=60, unused_seconds=60)
        await rests(rt)
        assert (await rt.call("POST", "/execs", {"argv": ["true"]}))[0] == 200


async def test_rest_without_an_end_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announced_end, "REST_SECONDS", 0.05)
    async with runtime() as rt:
        await rests(rt, unused_seconds=0)
        # Until the rest is over by itself.
        await asyncio.sleep(0.1)
        assert (await rt.call("POST", "/execs", {"argv": ["true"]}))[0] == 200
