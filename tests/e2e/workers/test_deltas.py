"""Pieces of text that an agent says, from its pipe to who follows, and not to the stream."""

import asyncio
from contextlib import aclosing

import pytest

from atoll.client.workers.shapes import WorkerDelta
from atoll.testing.server import TestServer
from tests.e2e.workers.test_kills import PATIENCE, asked, working

pytestmark = pytest.mark.timeout(600)

TRIES = 30
"""The connection for deltas is made beside that for events: the first ones may be missed."""


async def test_pieces_reach_who_listens_before_their_item_and_are_not_stored(
    server: TestServer,
) -> None:
    async with working(server, "speaks") as (atoll, _):
        told: list[str] = []
        heard, completed = asyncio.Event(), asyncio.Event()

        async def listen() -> None:
            async with aclosing(atoll.workers.listen("speaks")) as said:
                async for one in said:
                    if isinstance(one, WorkerDelta):
                        told.append(f"{one.item_id}: {one.text}")
                        heard.set()
                    elif one.method == "item/completed":
                        told.append(str(one.said["params"]))
                        if "speak-last" in told[-1]:
                            completed.set()

        async with asyncio.TaskGroup() as tasks:
            listening = tasks.create_task(listen())
            for number in range(TRIES):
                name = f"speak-{number}"
                await asked(atoll, "speaks", name)
                if heard.is_set():
                    break
            # Again, now that it certainly is connected.
            await asked(atoll, "speaks", "speak-last")
            async with asyncio.timeout(PATIENCE):
                await completed.wait()
            listening.cancel()
        last = [one for one in told if "speak-last" in one]
        assert last[-1].startswith("{") and len(last) > 1
        text = "".join(one.removeprefix("speak-last: ") for one in last[:-1])
        assert text == "Hello, it is speak-last. Good bye."
        stored = await atoll.workers.events("speaks")
        assert not [one for one in stored if "delta" in one.method]
