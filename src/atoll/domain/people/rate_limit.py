"""The rate limit of callers: a bucket of requests for each, which refills evenly; and what counts
as one client before its login.

Pure. Moments are seconds of any clock that never goes back.
"""

import math
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address

_ROUNDING = 1e-6
"""The part of a request that may be missing: sums of fractions are not exact."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """So many requests in so many seconds, at once or spread out."""

    requests: int
    seconds: int = 60

    @property
    def per_second(self) -> float:
        """Return how many requests are given back in a second."""
        return self.requests / self.seconds


@dataclass(frozen=True, slots=True)
class Bucket:
    """The requests that a caller had left at a moment."""

    left: float
    at: float


@dataclass(frozen=True, slots=True)
class Permit:
    """The outcome of a request: `remaining` more are possible now, `full_in` seconds later all.
    A refused one is possible again after `retry_in` seconds, else that is 0."""

    remaining: int
    full_in: int
    retry_in: int = 0

    @property
    def refused(self) -> bool:
        """Report whether the request is one too many."""
        return self.retry_in > 0


def request(bucket: Bucket | None, limit: RateLimit, now: float) -> tuple[Bucket, Permit]:
    """Return the bucket after one more request, and whether that is allowed. A refused request
    costs nothing, so who waits as told always comes in."""
    left: float = limit.requests
    if bucket is not None:
        left = min(left, bucket.left + max(0.0, now - bucket.at) * limit.per_second)
    refused = left < 1 - _ROUNDING
    after = Bucket(left if refused else max(0.0, left - 1), now)
    full_in = math.ceil((limit.requests - after.left) / limit.per_second)
    retry_in = max(1, math.ceil((1 - left) / limit.per_second)) if refused else 0
    return after, Permit(int(after.left), full_in, retry_in)


def client_block(address: str) -> str:
    """Return the block of addresses that bounds count as one client: an IPv4 address itself, of an
    IPv6 one its /64, since a single host has that many to choose from (RFC 4291 §2.5.1).

    An IPv4-mapped address is its IPv4 one. Text that is no address is returned as it is.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Network((int(parsed) >> 64 << 64, 64)))
