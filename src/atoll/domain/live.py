"""Bounds of live channels: sizes, and how much an organization may publish.

Pure. One organization that floods must not take the bus from the others.
"""

from atoll.domain.errors import Invalid, LimitReached

MAX_PAYLOAD_BYTES = 64 * 1024
MAX_CHANNEL_BYTES = 256
MAX_SUBSCRIPTIONS = 4096
"""Subscriptions of an organization, on each replica."""

MAX_QUEUED = 256
MAX_QUEUED_BYTES = 1024 * 1024
"""Messages and bytes that wait for one subscriber. Beyond, all of them give way to a marker."""

BURST_BYTES = 4 * 1024 * 1024
BYTES_PER_SECOND = 2 * 1024 * 1024
MESSAGE_BYTES = 512
"""Bytes that a message counts beside its payload, so that small ones are bounded, too: about 4,000
a second."""


def check_message(channel: str, payload: bytes) -> None:
    """Raise `Invalid` for a name of a channel or a payload that is too large."""
    check_channel(channel)
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise Invalid(
            f"a live message has {len(payload)} bytes, more than {MAX_PAYLOAD_BYTES}: send less, "
            "or the place to read it from",
            field="payload",
        )


def check_channel(channel: str) -> None:
    """Raise `Invalid` for a name of a channel that is too long."""
    size = len(channel.encode("utf-8", "surrogatepass"))
    if size > MAX_CHANNEL_BYTES:
        raise Invalid(
            f"the name of a live channel has {size} bytes, more than {MAX_CHANNEL_BYTES}",
            field="channel",
        )


class PublishRate:
    """The rate of one organization: a token bucket over seconds of a steady clock."""

    __slots__ = ("_at", "_left")

    def __init__(self, now: float) -> None:
        self._at = now
        self._left = float(BURST_BYTES)

    @property
    def full(self) -> bool:
        """Return whether nothing was spent when `take` or `refill` was called last."""
        return self._left >= BURST_BYTES

    def refill(self, now: float) -> None:
        """Add what the time since the last call is worth."""
        self._left = min(BURST_BYTES, self._left + max(0.0, now - self._at) * BYTES_PER_SECOND)
        self._at = now

    def take(self, size: int, now: float) -> None:
        """Spend one message of `size` bytes. Raises `LimitReached`."""
        self.refill(now)
        cost = size + MESSAGE_BYTES
        if cost > self._left:
            raise LimitReached("this organization publishes too many live messages: slow down")
        self._left -= cost
