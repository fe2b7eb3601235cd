"""What a viewer sends: within the server's window, and what is lost is counted."""

import asyncio

import pytest

from atoll.client.attach.outgoing import Outgoing


async def test_input_waits_for_room_and_goes_on_when_some_was_taken() -> None:
    outgoing = Outgoing()
    outgoing.begin(100)
    assert await outgoing.reserve(100)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(outgoing.reserve(40))
        await asyncio.sleep(0)
        outgoing.record_taken(30)
        await asyncio.sleep(0)
        assert not waiting.done()
        outgoing.record_taken(40)
    assert waiting.result()
    assert not outgoing.stuck


async def test_end_of_the_connection_refuses_what_waits_and_the_next_begins_afresh() -> None:
    outgoing = Outgoing()
    outgoing.begin(100)
    assert await outgoing.reserve(100)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(outgoing.reserve(1))
        await asyncio.sleep(0)
        outgoing.end()
    assert not waiting.result()
    assert not await outgoing.reserve(1)
    outgoing.begin(100)
    assert await outgoing.reserve(100)


async def test_program_that_takes_nothing_has_its_input_refused_at_once_until_it_takes_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("atoll.client.attach.outgoing.STUCK_SECONDS", 0.05)
    outgoing = Outgoing()
    outgoing.begin(10)
    assert await outgoing.reserve(10)
    assert not await outgoing.reserve(1)
    assert outgoing.stuck
    monkeypatch.setattr("atoll.client.attach.outgoing.STUCK_SECONDS", 3600.0)
    assert not await outgoing.reserve(1)
    outgoing.record_taken(10)
    assert await outgoing.reserve(10)


async def test_server_without_a_window_is_sent_everything() -> None:
    outgoing = Outgoing()
    outgoing.begin(0)
    assert await outgoing.reserve(1 << 30)
