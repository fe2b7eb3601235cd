"""A dialled host: what it is offered, and its lease on one worker in one epoch.

A host that dials follows offers and delivers receipts. Its own acts (start, stop, remove) are
receipted like requests, under ids that no client can choose: they have a blank.
"""

import json
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from atoll.domain.errors import Conflict
from atoll.domain.event import Json
from atoll.domain.ids import DesktopId, OrgId, PrincipalId, RouteId, WorkerKey
from atoll.domain.workers.create import CreateWorker, WorkerId
from atoll.domain.workers.ingest import Source
from atoll.domain.workers.ledger import Receipt, RequestRefusal, Response, WorkerRequest
from atoll.domain.workers.lifecycle import check_epoch
from atoll.wire.words.workers import ErrorCode

LEASE_TOKEN: Final = "atw_"  # noqa: S105 - the prefix of tokens, not a token
"""The prefix of the token of one lease."""

LONGEST_REASON: Final = 500

FOLLOW_SECONDS: Final = 30
"""The time for which a host delivers pieces of text after it was asked to."""


class HostAct(StrEnum):
    """An act of a host itself, as the `request_id` of its receipt. `END` is not offered: a host
    reports by it that the agent has ended. `HOLD` and `RETURN` hand the conversation over."""

    START = "host start"
    HOLD = "host hold"
    RETURN = "host return"
    FOLLOW = "host follow"
    STOP = "host stop"
    REMOVE = "host remove"
    END = "host end"


@dataclass(frozen=True, slots=True)
class StartOffer:
    """Start the agent of a worker. `token` delivers for this worker and epoch alone. A host whose
    worker is `reattachable` elsewhere pauses its agent when it loses contact."""

    token: str = field(repr=False)
    reattachable: bool = True


@dataclass(frozen=True, slots=True)
class StopOffer:
    """End the agent, and keep its files."""


@dataclass(frozen=True, slots=True)
class RemoveOffer:
    """Remove the files of a worker that was stopped."""


@dataclass(frozen=True, slots=True)
class HoldOffer:
    """Give a thread to a terminal of the host's own person: the machine ends."""

    thread_id: str


@dataclass(frozen=True, slots=True)
class ReturnOffer:
    """End that terminal, and have the machine resume the thread."""

    thread_id: str


@dataclass(frozen=True, slots=True)
class FollowOffer:
    """Deliver pieces of text for `FOLLOW_SECONDS`: somebody follows."""


HostCommand: TypeAlias = (
    StartOffer | WorkerRequest | StopOffer | RemoveOffer | HoldOffer | ReturnOffer | FollowOffer
)


@dataclass(frozen=True, slots=True)
class HostOffer:
    """Something to do for one worker, once for each (`worker_id`, `epoch`, `request_id`).
    `number` grows from offer to offer; `created` is the worker as it was requested."""

    number: int
    created: CreateWorker
    epoch: int
    request_id: str
    command: HostCommand


def spell_command(command: HostCommand) -> str:
    """Return a command as JSON, to be sealed."""
    told: dict[str, Json] = {}
    match command:
        case StartOffer(token, reattachable):
            told |= {"token": token, "reattachable": reattachable}
        case WorkerRequest(_, method, params):
            told |= {"method": method, "params": dict(params)}
        case HoldOffer(thread_id) | ReturnOffer(thread_id):
            told |= {"thread_id": thread_id}
        case StopOffer() | RemoveOffer() | FollowOffer():  # pragma: no branch - the cases are all
            pass
    return json.dumps(told)


def read_command(request_id: str, text: str) -> HostCommand:
    """Return the command that was spelled for a request."""
    told = json.loads(text)
    match request_id:
        case HostAct.START:
            return StartOffer(told["token"], told["reattachable"])
        case HostAct.STOP:
            return StopOffer()
        case HostAct.REMOVE:
            return RemoveOffer()
        case HostAct.HOLD:
            return HoldOffer(told["thread_id"])
        case HostAct.RETURN:
            return ReturnOffer(told["thread_id"])
        case HostAct.FOLLOW:
            return FollowOffer()
        case _:
            return WorkerRequest(request_id, told["method"], told["params"])


def offer_binding(key: WorkerKey, epoch: int, request_id: str) -> tuple[str, ...]:
    """Return the words that a sealed command is bound to."""
    return ("host-offer", key, str(epoch), request_id)


class LeaseState(StrEnum):
    """The state of a lease. `held`: a person has the conversation at their desktop. `refused`: the
    host could not start the agent; `invalid`: nobody could, as the request is at fault. `ended`:
    nothing is taken of its host any more."""

    GRANTED = "granted"
    SERVED = "served"
    HELD = "held"
    REFUSED = "refused"
    INVALID = "invalid"
    GONE = "gone"
    STOPPED = "stopped"
    REMOVED = "removed"
    ENDED = "ended"


_SERVING: Final = frozenset({LeaseState.GRANTED, LeaseState.SERVED, LeaseState.HELD})


@dataclass(frozen=True, slots=True)
class HostLease:
    """A desktop's lease on one worker in one epoch. `mark` is the fingerprint of its token,
    `received` the number of the last item that was taken, `heard_at` the last contact. `reason`
    says why an act failed, or an agent ended; `route` is the decision that chose the
    desktop."""

    key: WorkerKey
    epoch: int
    desktop_id: DesktopId
    org_id: OrgId
    owner: PrincipalId
    worker_id: WorkerId
    mark: str
    granted_at: datetime
    state: LeaseState = LeaseState.GRANTED
    heard_at: datetime | None = None
    received: int = 0
    agent_id: str = ""
    reason: str | None = None
    route: RouteId | None = None

    @property
    def serves(self) -> bool:
        """True while its host may have the agent."""
        return self.state in _SERVING

    @property
    def source(self) -> Source:
        """The source of its items."""
        return Source(self.epoch, self.received + 1)


def offer_stream(desktop_id: DesktopId) -> str:
    """Return the stream of the bus that tells of offers to a desktop."""
    return f"desktop:{desktop_id}"


def delivery_stream(key: WorkerKey) -> str:
    """Return the stream of the bus that tells of deliveries for a worker."""
    return f"host:{key}"


def check_lease(lease: HostLease | None, current: int, epoch: int) -> HostLease:
    """Return a lease that holds: its worker is in this epoch, and nobody ended it. Raises
    `Conflict`, code `stale_lease`."""
    if lease is None or lease.state is LeaseState.ENDED:
        raise Conflict(
            f"The lease of epoch {epoch} has ended: stop its agent here.", code="stale_lease"
        )
    check_epoch(current, lease.epoch)
    check_epoch(lease.epoch, epoch)
    return lease


def begin_hand_over(lease: HostLease, act: HostAct) -> HostLease:
    """Return the lease while its host is asked to hand the conversation over."""
    before = LeaseState.SERVED if act is HostAct.HOLD else LeaseState.HELD
    return replace(lease, state=before, reason=None)


def apply_receipt(lease: HostLease, request_id: str, receipt: Receipt) -> HostLease:
    """Return the lease after a receipt; those of requests do not change it."""
    match request_id:
        case HostAct.START if lease.state is LeaseState.GRANTED:
            return _apply_start(lease, receipt)
        case HostAct.END if lease.state in _SERVING:
            return replace(lease, state=LeaseState.GONE, reason=_reason(receipt))
        case HostAct.HOLD | HostAct.RETURN if lease.state in (LeaseState.SERVED, LeaseState.HELD):
            return _apply_hand_over(lease, request_id, receipt)
        case HostAct.STOP if lease.state is not LeaseState.REMOVED:
            return replace(lease, state=LeaseState.STOPPED)
        case HostAct.REMOVE:
            reason = _reason(receipt) if isinstance(receipt, RequestRefusal) else None
            return replace(lease, state=LeaseState.REMOVED, reason=reason)
        case _:
            return lease


def _apply_start(lease: HostLease, receipt: Receipt) -> HostLease:
    match receipt:
        case Response(result):
            return replace(lease, state=LeaseState.SERVED, agent_id=_agent_id(result))
        case RequestRefusal(code):  # pragma: no branch - the cases are all
            at_fault = code is ErrorCode.INVALID_REQUEST
            state = LeaseState.INVALID if at_fault else LeaseState.REFUSED
            return replace(lease, state=state, reason=_reason(receipt))


def _apply_hand_over(lease: HostLease, request_id: str, receipt: Receipt) -> HostLease:
    """Return the lease after a hand-over; one that failed changes nothing and says why."""
    match receipt:
        case Response(result):
            state = LeaseState.HELD if request_id == HostAct.HOLD else LeaseState.SERVED
            return replace(lease, state=state, agent_id=_agent_id(result), reason=None)
        case RequestRefusal():  # pragma: no branch - the cases are all
            return replace(lease, reason=_reason(receipt))


def _agent_id(result: str) -> str:
    try:
        answer = json.loads(result)
    except (ValueError, RecursionError):
        return "agent"
    named = answer.get("agent_id") if isinstance(answer, dict) else None
    return named[:128] if isinstance(named, str) and named else "agent"


def _reason(receipt: Receipt) -> str:
    message = receipt.message if isinstance(receipt, RequestRefusal) else ""
    return message[:LONGEST_REASON] or "Its agent has ended."
