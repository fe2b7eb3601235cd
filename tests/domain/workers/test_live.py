"""Deltas stand where they were said, and never after the item that replaces them."""

import json
from datetime import UTC, datetime

from atoll.domain.event import Json
from atoll.domain.workers.live import MOST_ITEMS, DeltaBatch, DeltaOrder, WorkerDelta, read_batch
from atoll.domain.workers.record import WorkerEvent

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def delta(text: str, item: str = "i1") -> bytes:
    params = {"threadId": "t", "itemId": item, "delta": text}
    return json.dumps({"method": "item/agentMessage/delta", "params": params}).encode()


def batch(after: int, *items: str) -> DeltaBatch:
    return read_batch("w", after, [delta(f"of {item}", item) for item in items])


def completed(item: object, seq: int = 1, method: str = "item/completed") -> WorkerEvent:
    payload: dict[str, Json] = {"method": method, "params": json.dumps({"item": item})}
    return WorkerEvent(seq, "worker.event", 1, NOW, payload)


def shown(order: DeltaOrder, found: DeltaBatch) -> list[str]:
    return [json.loads(one.params)["itemId"] for one in order.admit(found)]


def test_params_are_those_of_the_agent_byte_for_byte() -> None:
    params = '{"threadId":"t","n":9007199254740993, "delta":"\\u0041"}'
    line = f'{{"method":"x/delta","params":{params}}}'.encode()
    found = read_batch("w", 3, [line])
    assert found.deltas == (("", WorkerDelta("w", "x/delta", params, "t")),)
    assert (found.after, found.size) == (3, len(params))


def test_line_that_is_no_message_is_left_out() -> None:
    lines = [b"", b"[]", b"{}", b'{"method":1}', b"\xff", b"[" * 100_000, delta("a")]
    assert len(read_batch("w", 0, lines).deltas) == 1


def test_params_of_any_form_name_no_item() -> None:
    for params in (b"null", b"[1]", b'{"itemId":1}', b'{"threadId":{}}'):
        found = read_batch("w", 0, [b'{"method":"a/delta","params":%s}' % params])
        assert found.deltas == (("", WorkerDelta("w", "a/delta", params.decode())),)


def test_place_is_that_of_the_last_whole_look() -> None:
    order = DeltaOrder()
    assert order.place == -1
    order.note_events([], 4)
    order.note_events([completed({"id": "i1"})], None)
    assert order.place == 4


def test_delta_that_is_late_is_shown_unless_its_item_is_completed() -> None:
    order = DeltaOrder()
    order.note_events([completed({"id": "i1"}), completed({"id": "i2"}, method="item/started")], 7)
    assert shown(order, batch(6, "i1", "i2", "i3")) == ["i2", "i3"]
    assert shown(order, batch(7, "i4")) == ["i4"]


def test_completed_item_of_any_form_is_read() -> None:
    order = DeltaOrder()
    items: tuple[object, ...] = (None, {"id": 1}, {}, [])
    events = [completed(item) for item in items]
    broken = WorkerEvent(1, "worker.event", 1, NOW, {"method": "item/completed", "params": "{"})
    none = WorkerEvent(1, "worker.event", 1, NOW, {"method": "item/completed", "params": None})
    order.note_events([*events, broken, none], 1)
    assert shown(order, batch(0, "i1")) == ["i1"]


def test_remembered_items_are_bounded() -> None:
    order = DeltaOrder()
    order.note_events([completed({"id": str(n)}) for n in range(MOST_ITEMS + 1)], 9)
    assert shown(order, batch(0, "0", "1")) == ["0"]
