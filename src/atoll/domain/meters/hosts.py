"""Shares of a host's cost, of the sandboxes that it has reserved room for.

A sandbox has the larger of its shares in the cores and in the memory; on a host without a capacity
all have the same. Where the shares are more than the whole host, they are reduced together. What
nobody reserved is the host's idle time: shares and idle time add up to the host's cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Final

from atoll.domain.hosts.host import Host
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.meters.interval import HOUR, MICROSECOND, SECOND_US, Piece, hour_of, pieces
from atoll.domain.meters.meter import Charge, Meter, Subject, meter_id
from atoll.domain.meters.state import UNKNOWN, MeterState, Reservation
from atoll.wire.words.meters import MeterKind, Source

WHOLE: Final = 10**6
"""The parts that a host is shared in."""

HOUR_US: Final = 3600 * SECOND_US


@dataclass(frozen=True, slots=True)
class HostTerms:
    """The declared cost of a host and its room, `overcommit` included; None is no limit."""

    micros: int
    currency: str
    cpu_milli: int | None = None
    memory_mb: int | None = None


@dataclass(frozen=True, slots=True)
class HostShare:
    """A part of a host since `since`: `parts` in microseconds of `WHOLE` parts, and `money` in
    micros times microseconds, of which an hour's make one micro. What is below a whole unit stays
    here."""

    subject: Subject
    since: datetime
    reserved: Reservation = UNKNOWN
    parts: int = 0
    money: int = 0


@dataclass(frozen=True, slots=True)
class HostState:
    """The open interval of one host: who has reserved room, and what nobody has (`idle`). `turn`
    counts what was closed."""

    name: str
    moment: datetime
    terms: HostTerms
    idle: HostShare
    shares: tuple[HostShare, ...] = ()
    turn: int = 0


HostDerived = tuple[HostState, tuple[Meter, ...]]
"""A state of a host, and the meters of what was closed."""


def terms_of(host: Host) -> HostTerms | None:
    """Return what a host costs, None where nobody declared it."""
    if host.cost_per_hour is None:
        return None
    cost, room, factor = host.cost_per_hour, host.capacity, Fraction(host.overcommit)
    cpu = None if room.cpu is None else int(Fraction(room.cpu) * 1000 * factor)
    memory = None if room.memory_mb is None else int(room.memory_mb * factor)
    return HostTerms(cost.micros, cost.currency, cpu or None, memory or None)


def open_host(host: Host, terms: HostTerms, moment: datetime, *, org_id: OrgId) -> HostState:
    """Return a host that nobody has reserved yet. Its idle time is `org_id`'s."""
    subject = Subject(None, org_id, PrincipalId(""), host=host.name, region=host.region)
    return HostState(host.name, moment, terms, HostShare(subject, moment))


def holds_room(state: MeterState | None) -> bool:
    """Report whether a sandbox has room on a host reserved."""
    return state is not None and state.phase is MeterKind.RUNNING and bool(state.subject.host)


def reserve(host: HostState, sandbox: MeterState, moment: datetime) -> HostDerived:
    """Return the host with the sandbox's room reserved from a moment on. One that was there
    already is as it is now: what it had so far is closed."""
    host, meters = leave(host, sandbox.subject, moment)
    share = HostShare(sandbox.subject, host.moment, sandbox.reserved)
    return replace(host, shares=(*host.shares, share)), meters


def leave(host: HostState, subject: Subject, moment: datetime) -> HostDerived:
    """Return the host without a sandbox, and the meters of what was closed. What the sandbox has
    left below a unit is the host's idle time."""
    host, meters = _advance(host, moment)
    for share in host.shares:
        if share.subject.sandbox_id == subject.sandbox_id:
            left, meter = _settle(host, share)
            idle = host.idle
            idle = replace(idle, parts=idle.parts + left.parts, money=idle.money + left.money)
            shares = tuple(each for each in host.shares if each is not share)
            host = replace(host, idle=idle, shares=shares, turn=host.turn + 1)
            meters = meters if meter is None else (*meters, meter)
    return host, meters


def cut_host(host: HostState, moment: datetime) -> HostDerived:
    """Return the host with its interval closed at a moment, and at each full hour before."""
    host, meters = _advance(host, moment)
    host, closed = _close(host)
    return host, (*meters, *closed)


def change_terms(host: HostState, moment: datetime, terms: HostTerms) -> HostDerived:
    """Return the host with its interval closed at a moment, and other terms from then on. Parts of
    a micro in another currency cannot be added up, and are dropped."""
    host, meters = cut_host(host, moment)
    if host.terms.currency != terms.currency:
        shares = tuple(replace(each, money=0) for each in host.shares)
        host = replace(host, shares=shares, idle=replace(host.idle, money=0))
    return replace(host, terms=terms), meters


def host_is_due(host: HostState, moment: datetime) -> bool:
    """Report whether a full hour has passed that the host was not cut at."""
    return moment >= hour_of(host.moment) + HOUR


def weights_of(host: HostState) -> Sequence[int]:
    """Return the part of each share, in millionths; together at most `WHOLE`."""
    terms, shares = host.terms, host.shares
    by_count = WHOLE // max(len(shares), 1)
    if terms.cpu_milli is None and terms.memory_mb is None:
        return [by_count] * len(shares)
    wanted = [_weight(share.reserved, terms, by_count) for share in shares]
    whole = max(WHOLE, sum(wanted))
    return [weight * WHOLE // whole for weight in wanted]


def _weight(reserved: Reservation, terms: HostTerms, unknown: int) -> int:
    pairs = ((reserved.cpu_milli, terms.cpu_milli), (reserved.memory_mb, terms.memory_mb))
    known = [own * WHOLE // most for own, most in pairs if own is not None and most is not None]
    return max(known, default=unknown)


def _advance(host: HostState, moment: datetime) -> HostDerived:
    """HostShare the time up to a moment out, and close the interval at each full hour in it."""
    made: tuple[Meter, ...] = ()
    for begin, until in pieces(host.moment, moment):
        host = _accrue(host, (until - begin) // MICROSECOND, until)
        if until == hour_of(until):
            host, closed = _close(host)
            made = (*made, *closed)
    return host, made


def _accrue(host: HostState, length: int, moment: datetime) -> HostState:
    money, weights = host.terms.micros * length, weights_of(host)
    shares = tuple(
        replace(
            each, parts=each.parts + weight * length, money=each.money + money * weight // WHOLE
        )
        for each, weight in zip(host.shares, weights, strict=True)
    )
    spent = sum(after.money - each.money for after, each in zip(shares, host.shares, strict=True))
    idle = replace(
        host.idle,
        parts=host.idle.parts + (WHOLE - sum(weights)) * length,
        money=host.idle.money + money - spent,
    )
    return replace(host, moment=moment, shares=shares, idle=idle)


def _close(host: HostState) -> HostDerived:
    """Close every share at the host's moment; what is left below a unit stays."""
    settled = [_settle(host, share) for share in (*host.shares, host.idle)]
    *shares, idle = [share for share, _ in settled]
    meters = tuple(meter for _, meter in settled if meter is not None)
    return replace(host, shares=tuple(shares), idle=idle, turn=host.turn + 1), meters


def _settle(host: HostState, share: HostShare) -> tuple[HostShare, Meter | None]:
    quantity, parts = divmod(share.parts, WHOLE * SECOND_US)
    micros, money = divmod(share.money, HOUR_US)
    left = replace(share, since=host.moment, parts=parts, money=money)
    if not (quantity or micros):
        return left, None
    price = Charge(f"host/{host.name}@{host.terms.micros}", micros, host.terms.currency)
    piece: Piece = (share.since, host.moment)
    identity = meter_id("host", host.name, host.turn, share.subject.sandbox_id, *piece)
    kind = MeterKind.HOST
    return left, Meter(identity, share.subject, kind, quantity, *piece, price, Source.DECLARED)
