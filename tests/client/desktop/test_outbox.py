import asyncio

import msgspec
import pytest

from atoll.client.desktop.items import NOTHING, delta_items, item_of, substitute
from atoll.client.desktop.outbox import MAX_BYTES, MAX_ITEMS, MOST_WAITING, Outbox, OutOfStep
from atoll.wire.contract.workers import EntryKind, LiveBatch, SpoolEntry


def note(number: int) -> dict[str, object]:
    return {"event": {"method": "m", "params": str(number)}}


async def test_items_are_numbered_once_and_forgotten_when_they_were_taken() -> None:
    box = Outbox()
    for number in range(5):
        box.add(note(number), spooled=10 + number)
    assert box.batch() == (1, [note(n) for n in range(5)])
    box.settle(3)
    assert (box.batch(), box.spooled) == ((3, [note(n) for n in (2, 3, 4)]), 11)
    box.settle(3)
    box.settle(6)
    assert (box.batch(), box.spooled, len(box)) == ((6, []), 14, 0)


async def test_host_that_was_restarted_goes_on_after_what_was_taken() -> None:
    box = Outbox()
    box.settle(8)
    box.add(note(1))
    assert box.batch() == (8, [note(1)])


async def test_item_that_was_taken_is_never_sent_again() -> None:
    box = Outbox()
    box.add(note(1))
    box.settle(2)
    with pytest.raises(OutOfStep):
        box.settle(1)


async def test_item_that_somebody_else_delivered_is_found_out() -> None:
    box = Outbox()
    box.add(note(1))
    box.settle(2, sent=1)
    with pytest.raises(OutOfStep):
        box.settle(3, sent=0)


async def test_batches_are_bounded_and_a_large_item_is_alone() -> None:
    box = Outbox()
    for number in range(MAX_ITEMS + 1):
        box.add(note(number))
    assert len(box.batch()[1]) == MAX_ITEMS
    large = Outbox()
    large.add({"event": {"method": "m", "params": "x" * (MAX_BYTES + 1)}})
    large.add(note(1))
    assert len(large.batch()[1]) == 1


async def test_item_that_is_refused_loses_its_place_and_the_others_go_on() -> None:
    box = Outbox()
    box.add(note(1), spooled=7)
    box.add(note(2))
    box.replace(NOTHING)
    assert box.batch() == (1, [{"heartbeat": {}}, note(2)])
    box.settle(2)
    assert box.spooled == 7


async def test_reader_waits_while_too_much_waits() -> None:
    box = Outbox()
    for number in range(MOST_WAITING):
        box.add(note(number))
    async with asyncio.TaskGroup() as tasks:
        room = tasks.create_task(box.wait_for_room())
        await asyncio.sleep(0)
        assert not room.done()
        box.settle(2)
    await asyncio.wait_for(Outbox().wait_for_items(0.01), 5)


@pytest.mark.parametrize(
    ("kind", "data", "item"),
    [
        (
            "event",
            b'{"method":"a/b","params":{"n": 1.0}}',
            {"event": {"method": "a/b", "params": '{"n": 1.0}'}},
        ),
        (
            "event",
            b'{"id":7,"method":"ask","params":null}',
            {"event": {"method": "ask", "params": "null", "server_request_id": "7"}},
        ),
        ("event", b'{"result":1}', {"heartbeat": {}}),
        ("event", b"7", {"heartbeat": {}}),
        ("response", b'{"f":1.0}', {"response": {"request_id": "r", "result": '{"f":1.0}'}}),
        (
            "error",
            b'{"code":"timeout","message":"late","retryable":false,"agent":{"code":-1}}',
            {
                "error": {
                    "request_id": "r",
                    "code": "timeout",
                    "message": "late",
                    "data": '{"code":-1}',
                }
            },
        ),
    ],
)
def test_entry_of_a_spool_is_an_item(kind: EntryKind, data: bytes, item: object) -> None:
    entry = SpoolEntry(3, "2026-01-01T00:00:00Z", kind, msgspec.Raw(data), "r")
    assert item_of(entry) == item


def test_refused_item_gives_its_place_to_one_receipt_or_to_nothing() -> None:
    answer = {"response": {"request_id": "r", "result": "x"}}
    error = substitute(answer, "it is no JSON")
    said = "The server refused the receipt of the agent: it is no JSON"
    assert error == {"error": {"request_id": "r", "code": "internal_error", "message": said}}
    refused = {"error": {"request_id": "r", "code": "timeout", "message": "late", "data": "x"}}
    assert substitute(refused, "it is no JSON") == error
    assert substitute(error, "again") == NOTHING
    assert substitute(note(1), "it is no JSON") == NOTHING


def test_pieces_of_text_are_events_without_what_says_nothing() -> None:
    lines = [b'{"method":"a/delta","params":{"delta":"x"}}', b"7", b'{"result":1}']
    found = delta_items(LiveBatch(3, [msgspec.Raw(one) for one in lines]))
    assert found == [{"method": "a/delta", "params": '{"delta":"x"}'}]
