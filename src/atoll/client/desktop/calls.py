"""The requests of a desktop: its link and presence, its offers, and what it delivers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from atoll.client.transport import Call, api_path, put
from atoll.domain.wall.isolation import Isolation as WallIsolation

LONGEST_MESSAGE: Final = 2000
SILENCE_SECONDS: Final = 20.0
"""The server sends a heartbeat much oftener; after this a stream is taken for dead."""


ANSWERED_SECONDS: Final = 10.0
SLOWEST_BYTES: Final = 64 * 1024
"""The time for the answer to a delivery: a heartbeat's, and as long as its bytes take at so many a
second. After a cut the next delivery then goes by a new connection."""


Item: TypeAlias = Mapping[str, object]
"""An item of a delivery, as JSON."""


@dataclass(frozen=True, slots=True)
class HostedLease:
    """The lease on one worker in one epoch. One that is `reattachable` may go elsewhere once this
    machine is not heard."""

    worker_id: str
    epoch: int
    token: str = field(repr=False)
    reattachable: bool = True


def presence_call(name: str, wall: WallIsolation) -> Call:
    """Return the report that a desktop's lane runs."""
    isolation = {"level": wall.level, "mechanism": wall.mechanism, "degraded": [*wall.degraded]}
    return put("desktops", name, "presence", value={"isolation": isolation})


def absence_call(name: str) -> Call:
    """Return the report that a desktop's lane has ended."""
    return Call("DELETE", api_path("desktops", name, "presence"))


def offers_call(name: str) -> Call:
    """Return the request for what a desktop shall do."""
    headers = (("Accept", "text/event-stream"),)
    place = api_path("desktops", name, "offers")
    return Call("GET", place, (), headers, timeout=SILENCE_SECONDS)


def deliver_call(
    lease: HostedLease, first: int, items: Sequence[Item], pieces: Sequence[Item] = ()
) -> Call:
    """Return the delivery of items by the token of a lease; without any it is a heartbeat. `pieces`
    are batches of pieces of text, which are shown live and kept by nobody."""
    value: dict[str, object] = {"epoch": lease.epoch, "first": first, "items": [*items]}
    if pieces:
        value["deltas"] = [*pieces]
    headers = (
        ("Content-Type", "application/json"),
        ("Authorization", f"Bearer {lease.token}"),
    )
    body = json.dumps(value).encode()
    timeout = ANSWERED_SECONDS + len(body) / SLOWEST_BYTES
    return Call("POST", api_path("workers", lease.worker_id, "events"), (), headers, body, timeout)


def response(request_id: str, result: Mapping[str, object]) -> Item:
    """Return the item of a receipt with a result."""
    return {"response": {"request_id": request_id, "result": json.dumps(result)}}


def refusal(request_id: str, code: str, message: str) -> Item:
    """Return the item of a receipt without one."""
    text = message[:LONGEST_MESSAGE] or "It failed."
    return {"error": {"request_id": request_id, "code": code, "message": text}}
