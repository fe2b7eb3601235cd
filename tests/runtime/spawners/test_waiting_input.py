from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from atoll.runtime.spawners.waiting import MAX_WAITING_BYTES, WaitingInput


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.binary(min_size=1, max_size=9)), max_size=9),
    st.lists(st.integers(0, 7), max_size=40),
)
def test_bytes_come_out_in_their_order_and_each_sender_learns_what_was_taken(
    sent: list[tuple[str, bytes]], room: list[int]
) -> None:
    waiting, out, taken = WaitingInput(), bytearray(), {"a": 0, "b": 0}

    def add(who: str, count: int) -> None:
        taken[who] += count

    for who, data in sent:
        waiting.put(data, partial(add, who))
    for free in room:
        left = free

        def write(data: memoryview) -> int:
            nonlocal left
            count = min(left, len(data))
            left -= count
            out.extend(data[:count])
            return count

        waiting.drain(write)
        whole = b"".join(data for _, data in sent)
        assert whole.startswith(bytes(out))
        assert sum(taken.values()) == len(out)
        assert bool(waiting) == (len(out) < len(whole))


def test_more_than_the_bound_is_not_taken_and_clearing_makes_room() -> None:
    waiting = WaitingInput()
    assert waiting.takes(MAX_WAITING_BYTES)
    waiting.put(b"x" * MAX_WAITING_BYTES, lambda _: None)
    assert not waiting.takes(1)
    waiting.clear()
    assert waiting.takes(1)
    assert not waiting
