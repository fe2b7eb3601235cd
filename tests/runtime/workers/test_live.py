"""Deltas of an agent: live only, redacted over their pieces, bounded, and no hold on the agent."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from atoll.runtime.workers.live import BATCH_BYTES, LIVE_BYTES
from tests.runtime.workers.stage import Served, served

SECRET = "hunter2-hunter2-hunter2"


def delta(text: str, item: str = "i1", method: str = "item/agentMessage/delta") -> str:
    return json.dumps({"method": method, "params": {"itemId": item, "delta": text}})


@asynccontextmanager
async def following(worker: Served) -> AsyncIterator[AsyncIterator[Any]]:
    async with worker.rt.client.get("http://runtime/workers/w1/live") as reply:
        assert reply.status == 200

        async def batches() -> AsyncIterator[Any]:
            async for line in reply.content:
                if line.strip():
                    yield json.loads(line)

        yield batches()


async def texts(batches: AsyncIterator[Any], until: str) -> tuple[list[int], str]:
    """The numbers and the text of deltas, until one ends with these words."""
    numbers, said = [], ""
    async with asyncio.timeout(20):
        async for batch in batches:
            numbers.append(batch["after"])
            said += "".join(one["params"]["delta"] for one in batch["lines"])
            if said.endswith(until):
                return numbers, said
    raise AssertionError(said)


async def test_deltas_come_between_the_entries_and_are_not_stored(tmp_path: Path) -> None:
    started = '{"method":"item/started","params":{}}'
    async with served(tmp_path) as worker:
        await worker.request("r0", "test/say", lines=[delta("nobody follows yet")])
        async with following(worker) as batches:
            lines = [delta("one. "), started, delta("two. "), "no json", '{"id":9}', delta("end")]
            await worker.request("r1", "test/say", lines=lines)
            assert await texts(batches, "end") == ([1, 2], "one. two. end")
        entries = (await worker.page())["entries"]
        assert [one["kind"] for one in entries] == ["response", "event", "response"]


async def test_delta_is_sent_as_the_agent_wrote_it(tmp_path: Path) -> None:
    odd = '{"method":"x/delta", "params":{"n":9007199254740993,"f":1.0, "delta":"\\u0041"}}'
    async with (
        served(tmp_path, secrets=(SECRET,)) as worker,
        worker.rt.client.get("http://runtime/workers/w1/live") as reply,
    ):
        await worker.request("r1", "test/say", lines=[odd])
        async with asyncio.timeout(20):
            assert odd.encode() in await reply.content.readline()


async def test_secret_said_in_pieces_is_masked(tmp_path: Path) -> None:
    """Also where pieces of another item come between."""
    async with served(tmp_path, secrets=(SECRET,)) as worker, following(worker) as batches:
        pieces = [f"it is {SECRET[:9]}", SECRET[9:15], SECRET[15:] + " and so on"]
        lines = [line for one in pieces for line in (delta(one), delta("- ", "i2"))]
        await worker.request("r1", "test/say", lines=[*lines, delta(f"{SECRET}."), delta("end")])
        _, said = await texts(batches, "end")
    assert "hunter" not in said
    assert said.startswith("it is ") and "and so on" in said


async def test_slow_follower_misses_the_oldest_and_holds_nobody_up(tmp_path: Path) -> None:
    many = [delta(f"{n:06}" + "x" * 1000) for n in range(4 * LIVE_BYTES // 1000)]
    async with served(tmp_path) as worker, following(worker) as batches:
        for at in range(0, len(many), 500):
            lines = many[at : at + 500]
            status, _ = await worker.request(f"r{at}", "test/say", lines=lines)
            assert status == 200
        await worker.request("last", "test/say", lines=[delta("end")])
        _, said = await texts(batches, "end")
    assert len(said) < len(many) * 1006
    assert said.count("x" * 1000) > (LIVE_BYTES - BATCH_BYTES) // 1100


async def test_followers_are_bounded_and_a_missing_worker_has_none(tmp_path: Path) -> None:
    async with served(tmp_path) as worker:
        assert (await worker.rt.call("GET", "/workers/nobody/live"))[0] == 404
        open_ = [following(worker) for _ in range(64)]
        for one in open_:
            await one.__aenter__()
        status, problem = await worker.rt.call("GET", "/workers/w1/live")
        assert (status, problem["code"]) == (429, "limit_reached")
        for one in open_:
            await one.__aexit__(None, None, None)
