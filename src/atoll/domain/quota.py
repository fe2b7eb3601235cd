"""Quotas of an organization and of each of its members: what they may hold at once.

Pure. A quota bounds what is granted, not what happens to be used: a sandbox counts with the limits
of its profile. Stopped and kept ones count their storage only.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TypeAlias

from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.sandboxes.sandbox import LIVE, Sandbox
from atoll.domain.wall.resources import Resources
from atoll.wire.words.sandboxes import State

Quantity: TypeAlias = "int | float | str | None"

MAX_COUNT = 1_000_000
_UNLIMITED = Resources()
_UNITS = {"Mi": 1, "Gi": 1024, "Ti": 1024 * 1024}
_SIZE = re.compile(r"([0-9]{1,9})(Mi|Gi|Ti)")
_CPU = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Quota:
    """Limits; None is no limit. `sessions` are live terminals and machine agents together."""

    sandboxes: int | None = None
    sessions: int | None = None
    cpu: float | None = None
    memory_mb: int | None = None
    storage_mb: int | None = None

    @property
    def empty(self) -> bool:
        """Report whether nothing is limited."""
        return self == Quota()


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    """The room that is taken at a moment, in the terms of a quota."""

    sandboxes: int = 0
    sessions: int = 0
    cpu: float = 0.0
    memory_mb: int = 0
    storage_mb: int = 0

    def plus(self, other: "QuotaUsage") -> "QuotaUsage":
        """Return both together."""
        return QuotaUsage(
            self.sandboxes + other.sandboxes,
            self.sessions + other.sessions,
            self.cpu + other.cpu,
            self.memory_mb + other.memory_mb,
            self.storage_mb + other.storage_mb,
        )


def usage_of(
    sandboxes: Iterable[Sandbox], defaults: Resources = _UNLIMITED, *, sessions: int = 0
) -> QuotaUsage:
    """Return what sandboxes hold; destroyed ones hold nothing. One that began without a limit
    counts with the default."""
    total = QuotaUsage(sessions=sessions)
    for sandbox in sandboxes:
        total = total.plus(_usage_of(sandbox, defaults))
    return total


def with_default_limits(sandbox: Sandbox, quota: Quota, defaults: Resources) -> Sandbox:
    """Return a sandbox with the default of each limit that a quota counts and its profile lacks, so
    that what is counted is also enforced."""
    granted = sandbox.profile.resources
    filled = replace(
        granted,
        **{
            name: getattr(defaults, name)
            for limit, name in _LIMITS.items()
            if getattr(quota, limit) is not None and getattr(granted, name) is None
        },
    )
    if filled == granted:
        return sandbox
    return replace(sandbox, profile=replace(sandbox.profile, resources=filled))


def _usage_of(sandbox: Sandbox, defaults: Resources) -> QuotaUsage:
    """Return what a sandbox counts against a quota."""
    if sandbox.state in (State.DESTROYING, State.DESTROYED):
        return QuotaUsage()
    granted = with_default_limits(sandbox, _EVERYTHING, defaults).profile.resources
    storage = granted.workspace_mb or 0
    if sandbox.state not in LIVE - {State.STOPPED}:
        return QuotaUsage(sandboxes=1, storage_mb=storage)
    return QuotaUsage(1, 0, granted.cpu or 0.0, granted.memory_mb or 0, storage)


def check_sandbox(quota: Quota, usage: QuotaUsage, sandbox: Sandbox, *, whose: str) -> None:
    """Check that `sandbox` fits beside what is held without it. Raises `LimitReached`: for a quota
    that is exceeded, and for a sandbox without the limit that a quota counts."""
    granted = sandbox.profile.resources
    for limit, name in _LIMITS.items():
        if getattr(quota, limit) is not None and getattr(granted, name) is None:
            raise LimitReached(
                f"{whose} has a quota that counts {name}, and profile {sandbox.profile.id} sets no "
                f"{name}: choose a profile that does, or have quota_defaults set",
                code="quota_needs_limit",
            )
    _check(quota, usage.plus(_usage_of(sandbox, _UNLIMITED)), whose=whose)


def check_session(quota: Quota, usage: QuotaUsage, *, whose: str) -> None:
    """Check that one more session fits. Raises `LimitReached`."""
    _check(quota, usage.plus(QuotaUsage(sessions=1)), whose=whose, only="sessions")


def _check(quota: Quota, usage: QuotaUsage, *, whose: str, only: str | None = None) -> None:
    for one in fields(Quota):
        most, held = getattr(quota, one.name), getattr(usage, one.name)
        if most is not None and held > most and only in (None, one.name):
            words = _WORDS[one.name]
            raise LimitReached(
                f"{whose} would hold {_spell_number(held)} {words} of {_spell_number(most)}: end "
                "something, or have the quota raised",
                code="quota_exceeded",
                field=_SPELLED[one.name],
            )


_LIMITS = {"cpu": "cpu", "memory_mb": "memory_mb", "storage_mb": "workspace_mb"}
"""Limits of a sandbox that a quota counts, and their names in a profile."""

_EVERYTHING = Quota(cpu=0.0, memory_mb=0, storage_mb=0)

_WORDS = {
    "sandboxes": "sandboxes",
    "sessions": "concurrent sessions",
    "cpu": "cores",
    "memory_mb": "MiB of memory",
    "storage_mb": "MiB of storage",
}
_SPELLED = {
    "sandboxes": "sandboxes",
    "sessions": "concurrentSessions",
    "cpu": "cpu",
    "memory_mb": "memory",
    "storage_mb": "storage",
}
"""Spelling of each limit in requests and answers."""


def read_quota(given: Mapping[str, Quantity]) -> Quota:
    """Return a quota as it is written: `{"sandboxes": 10, "concurrentSessions": 3, "cpu": "4",
    "memory": "8Gi", "storage": "50Gi"}`. What is absent or null is not limited. Raises
    `Invalid`."""
    unknown = sorted(given.keys() - set(_SPELLED.values()))
    if unknown:
        raise Invalid(
            f"a quota has no {unknown[0][:40]!r}; it has {', '.join(_SPELLED.values())}",
            field=unknown[0],
        )
    return Quota(
        _count(given, "sandboxes"),
        _count(given, "concurrentSessions"),
        _cores(given),
        _mebibytes(given, "memory"),
        _mebibytes(given, "storage"),
    )


def read_default_limits(given: Mapping[str, Quantity]) -> Resources:
    """Return the limits that are written as a quota's: `{"cpu": "2", "memory": "4Gi"}`. Raises
    `Invalid` for what is no limit of a sandbox, and for nothing."""
    quota = read_quota(given)
    found = {name: getattr(quota, limit) for limit, name in _LIMITS.items()}
    if quota.sandboxes is not None or quota.sessions is not None or 0 in found.values():
        raise Invalid("default limits are of cpu, memory and storage, and above 0")
    return Resources(**found)


def spelled_quota(quota: Quota | QuotaUsage) -> dict[str, int | str | None]:
    """Return a quota, or a usage, as `read_quota` reads it."""
    return {
        "sandboxes": quota.sandboxes,
        "concurrentSessions": quota.sessions,
        "cpu": None if quota.cpu is None else _spell_number(quota.cpu),
        "memory": _spelled_size(quota.memory_mb),
        "storage": _spelled_size(quota.storage_mb),
    }


def _count(given: Mapping[str, Quantity], name: str) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_COUNT:
        raise Invalid(f"{name} is a whole number from 0 to {MAX_COUNT}", field=name)
    return value


def _cores(given: Mapping[str, Quantity]) -> float | None:
    value = given.get("cpu")
    if value is None:
        return None
    if isinstance(value, bool) or not _CPU.fullmatch(str(value)):
        raise Invalid('cpu is a number of cores such as "4" or "0.5"', field="cpu")
    return float(value)


def _mebibytes(given: Mapping[str, Quantity], name: str) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise Invalid(f'{name} is a size such as "512Mi", "8Gi" or "1Ti"', field=name)
    return int(found[1]) * _UNITS[found[2]]


def _spelled_size(mebibytes: int | None) -> str | None:
    if mebibytes is None:
        return None
    for unit, size in reversed(_UNITS.items()):
        if mebibytes and mebibytes % size == 0:
            return f"{mebibytes // size}{unit}"
    return "0Mi"


def _spell_number(value: float) -> str:
    """Return a number as text, rounded to three decimals."""
    return f"{round(value, 3):g}" if isinstance(value, float) else str(value)
