"""The times of a sandbox: its end, the warning before, and the effect of idleness.

Values only; `domain.sandboxes.lifecycle` decides the transitions that follow from them.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from atoll.domain.duration import spell_duration
from atoll.domain.errors import Conflict, LimitReached
from atoll.domain.sandboxes.sandbox import KEPT, LIVE, RUNNING, Sandbox, keeps_files

LEAST_EXTENSION = 60
"""The shortest extension, in seconds, that a warning offers."""


def deadline(sandbox: Sandbox) -> datetime | None:
    """Return when `Due` (or, for idleness, a poll of the runtime) is needed next."""
    end = end_of(sandbox)
    if end is not None and sandbox.warned_of != end:
        end = warning_at(sandbox)
    if sandbox.state not in LIVE or end is None:
        return end
    idle = idle_deadline(sandbox)
    return end if idle is None else min(end, idle)


def end_of(sandbox: Sandbox) -> datetime | None:
    """Return when its time ends: to live, or once it ended, to be kept. That of an archived one
    stands still."""
    if sandbox.archived_at is not None:
        return None
    if sandbox.state in LIVE:
        return sandbox.expires_at
    return sandbox.retained_until if sandbox.state in KEPT else None


def warning_at(sandbox: Sandbox) -> datetime:
    """Return when a sandbox has to warn that its time ends soon: as long before as its profile
    says, at the earliest at half of it. One that keeps nothing does not warn."""
    ttl, end = sandbox.profile.ttl, end_of(sandbox) or sandbox.expires_at
    whole = ttl.retention_seconds if sandbox.state in KEPT else sandbox.ttl_seconds
    if sandbox.state in KEPT and not keeps_files(sandbox):
        return end
    return end - timedelta(seconds=min(ttl.warning_seconds, whole / 2))


def ends_soon(sandbox: Sandbox) -> bool:
    """Report whether it warned that it expires soon, and still does."""
    return sandbox.state in LIVE and sandbox.warned_of == sandbox.expires_at


def end_waits(sandbox: Sandbox) -> bool:
    """Report whether it warned of its end, in life or of what is kept, and its person has not
    accepted that."""
    end = end_of(sandbox)
    return end is not None and sandbox.warned_of == end != sandbox.end_accepted


def extension_of(sandbox: Sandbox) -> int:
    """Return the seconds by which a sandbox is extended when nobody names a time: its whole time
    again, or what fits. 0 when too little fits."""
    if sandbox.state in KEPT:
        ttl = sandbox.profile.ttl
        return min(ttl.retention_seconds, ttl.max_seconds)
    room = int((sandbox.max_expires_at - sandbox.expires_at).total_seconds())
    fits = min(sandbox.ttl_seconds, room)
    return fits if fits >= LEAST_EXTENSION else 0


def idle_deadline(sandbox: Sandbox) -> datetime | None:
    """Return when a running sandbox will have been idle for too long, as far as is known."""
    if sandbox.state not in RUNNING:
        return None
    ttl = sandbox.profile.ttl
    begun = sandbox.ready_at or sandbox.created_at
    active = max(sandbox.last_active_at or begun, begun)
    used = max(sandbox.last_used_at or begun, active)
    limits = ((active, ttl.idle_reap_seconds), (used, ttl.idle_stop_seconds))
    ends = [since + timedelta(seconds=most) for since, most in limits if most is not None]
    return min(ends, default=None)


def renew_lifetime(sandbox: Sandbox, now: datetime) -> Sandbox:
    """Return the sandbox with its whole time to live from now on."""
    latest = now + timedelta(seconds=sandbox.profile.ttl.max_seconds)
    return replace(
        sandbox,
        expires_at=min(now + timedelta(seconds=sandbox.ttl_seconds), latest),
        max_expires_at=latest,
        retained_until=None,
        warned_of=None,
    )


def extend_lifetime(sandbox: Sandbox, now: datetime, seconds: int) -> Sandbox:
    """Return the sandbox with more time: to live or, once it ended, to be kept.

    An ended sandbox may be kept, from now, for the profile's `retention` and `max` together. Raises
    `LimitReached` with the longest extension that fits, `Conflict` for less time.
    """
    if seconds <= 0:
        raise Conflict(f"Sandbox {sandbox.name} can only be given more time, not less.")
    more = timedelta(seconds=seconds)
    if sandbox.state in KEPT:
        ttl = sandbox.profile.ttl
        until = sandbox.retained_until or now
        latest = now + timedelta(seconds=ttl.retention_seconds + ttl.max_seconds)
        _check_room(sandbox, seconds, room=latest - until)
        return replace(sandbox, retained_until=until + more, updated_at=now)
    _check_room(sandbox, seconds, room=sandbox.max_expires_at - sandbox.expires_at)
    return replace(sandbox, expires_at=sandbox.expires_at + more, updated_at=now)


def _check_room(sandbox: Sandbox, seconds: int, *, room: timedelta) -> None:
    fits = int(room.total_seconds())
    if seconds <= fits:
        return
    hint = f"{spell_duration(fits)} is the longest that fits" if fits > 0 else "nothing more fits"
    raise LimitReached(
        f"Sandbox {sandbox.name} cannot be given {spell_duration(seconds)} more: {hint} into what "
        f"{sandbox.profile.id} allows.",
        code="ttl_limit",
        field="ttl",
    )
