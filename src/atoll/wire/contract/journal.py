"""The runtime's journal, its health, and the requests a person decides."""

from typing import Literal

import msgspec

from atoll.wire.contract.call import RequestBody, RuntimeCall, done_call, json_call

REST_SECONDS = 15.0
"""The longest that a runtime begins nothing, when no end follows."""

FALLING_ASLEEP = "falling_asleep"
"""The code of what a runtime refused because it rests. It had no effect."""

CODE_HEADER = "Problem-Code"
"""The header with the code of a refusal: who opens a WebSocket does not see the body."""


class JournalEntry(msgspec.Struct, frozen=True):
    """An event in the runtime; `at` is RFC 3339 UTC."""

    n: int
    at: str
    kind: str
    payload: dict[str, object]


class JournalPage(msgspec.Struct, frozen=True):
    """A page of entries after the requested number. `last` is the newest number, `dropped` counts
    the entries that were removed unacknowledged, `terminals` those that are open now."""

    entries: list[JournalEntry]
    last: int
    dropped: int = 0
    terminals: int = 0


class AckBody(RequestBody):
    """The body of `POST /journal/ack`."""

    n: int


class HealthRecord(msgspec.Struct, frozen=True):
    """The answer of `GET /health`."""

    sandbox_id: str
    generation: int
    version: str
    pid: int
    started_at: str
    sessions: int
    execs: int
    attached: int
    idle_seconds: float
    unused_seconds: float | None = None


class RestBody(RequestBody):
    """The body of `POST /rest`: the bounds in seconds, None for one that is not meant."""

    idle_seconds: float | None = None
    unused_seconds: float | None = None


class DecideBody(RequestBody):
    """The body of `POST /asks/{id}`."""

    decision: Literal["allow", "deny"]


def read_journal(
    after: int, *, limit: int, away_seconds: int, wait_seconds: int = 0
) -> RuntimeCall[JournalPage]:
    """Read entries above `after`; with `wait_seconds`, wait that long for something urgent.
    `away_seconds` is how long terminals wait for their drivers once nobody reads any more."""
    waiting = (("wait", str(wait_seconds)),) if wait_seconds else ()
    away = ("away", str(away_seconds))
    query = (("after", str(after)), ("limit", str(limit)), away, *waiting)
    return json_call("GET", "/journal", JournalPage, query=query)


def acknowledge(n: int) -> RuntimeCall[None]:
    """Forget entries up to `n`."""
    return done_call("POST", "/journal/ack", body=AckBody(n=n))


def check_health() -> RuntimeCall[HealthRecord]:
    """Return the state of the runtime."""
    return json_call("GET", "/health", HealthRecord)


def rest_if_idle(body: RestBody) -> RuntimeCall[HealthRecord]:
    """Return the state of the runtime. One that was idle for as long as a bound says begins nothing
    from now on, for `REST_SECONDS`: its sandbox is about to end or to sleep."""
    return json_call("POST", "/rest", HealthRecord, body=body)


def decide_ask(ask_id: str, decision: Literal["allow", "deny"]) -> RuntimeCall[None]:
    """Decide a request that waits in the runtime."""
    return done_call("POST", f"/asks/{ask_id}", body=DecideBody(decision=decision))
