import pytest

from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.live import (
    BURST_BYTES,
    BYTES_PER_SECOND,
    MAX_CHANNEL_BYTES,
    MAX_PAYLOAD_BYTES,
    MESSAGE_BYTES,
    PublishRate,
    check_message,
)


def test_largest_message_passes_and_a_larger_one_is_refused() -> None:
    check_message("ä" * (MAX_CHANNEL_BYTES // 2), bytes(MAX_PAYLOAD_BYTES))
    with pytest.raises(Invalid, match="65537 bytes") as refused:
        check_message("a", bytes(MAX_PAYLOAD_BYTES + 1))
    assert refused.value.field == "payload"
    with pytest.raises(Invalid) as refused:
        check_message("ä" * (MAX_CHANNEL_BYTES // 2) + "a", b"")
    assert refused.value.field == "channel"
    check_message("\ud800", b"")


def test_burst_passes_and_then_as_much_as_time_is_worth() -> None:
    rate = PublishRate(5.0)
    assert rate.full
    for _ in range(BURST_BYTES // (MAX_PAYLOAD_BYTES + MESSAGE_BYTES)):
        rate.take(MAX_PAYLOAD_BYTES, 5.0)
    assert not rate.full
    with pytest.raises(LimitReached, match="slow down"):
        rate.take(MAX_PAYLOAD_BYTES, 5.0)
    with pytest.raises(LimitReached):
        rate.take(MAX_PAYLOAD_BYTES, 4.0)  # a clock that goes back gives nothing
    rate.take(MAX_PAYLOAD_BYTES, 4.0 + (MAX_PAYLOAD_BYTES + MESSAGE_BYTES) / BYTES_PER_SECOND)
    rate.refill(1000.0)
    assert rate.full
