"""A candidate of a route: a backend at one place, what it can do, and what it objects."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from atoll.domain.hosts.host import HourlyCost, amount
from atoll.domain.routes.health import UNKNOWN, Health
from atoll.domain.routes.policy import Constraints
from atoll.domain.wall.isolation import reaches
from atoll.domain.wall.resources import NO_LIMITS, Resources
from atoll.wire.words.routes import Breaker, ExecutionMode
from atoll.wire.words.walls import IsolationLevel

ANY_GPU = "any"

COMPOSE_REF: Final = "inputs.compose_bundle_ref"
COMPOSE_FILE: Final = "inputs.compose_bundle"
COMPOSE_FIELDS: Final = frozenset({COMPOSE_REF, COMPOSE_FILE})
"""The fields that name a compose file."""


class ImageKind(StrEnum):
    """The kinds of a profile's image: the machine's own `/usr`, a root tree of ours, or an image
    of a registry. A tree may be a registry's name, too: only the backend knows."""

    HOST = "host"
    OTHER = "other"


def image_kind(image: str) -> ImageKind:
    """Return the kind of a profile's image."""
    return ImageKind.HOST if image == "host" else ImageKind.OTHER


@dataclass(frozen=True, slots=True)
class Candidate:
    """A backend at one place. `(extension, host, region)` is its identity.

    - `host` is empty on a vendor's machines. `order` is its place among the hosts of its extension.
    - `closes_network`: it can keep a sandbox from every place that no door leads to.
    - `limits`: the most that one sandbox may have; None is no limit.
    - `obstacles`: why it is not there for this request, as found outside: drained, no room, no key.
    - `unavailable`: why it is not there for anybody: not installed, or it does not answer. Then
      nothing is known of its abilities; empty while it is there.
    - `on_trial`: its breaker is half open, and a start is under way that may tell.
    - `ignores`: the fields of a create and of a profile that it cannot act on, and why.
    - `needs_compose`: it makes nothing but what a compose file names.
    - `lacking`: what it cannot give of this very profile, as the backend itself says.
    - `weak`: its wall lacks a part that protects its host, so it keeps no required isolation.
    """

    extension: str
    host: str = ""
    region: str = ""
    order: int = 0
    isolation: IsolationLevel = IsolationLevel.NONE
    self_hosted: bool = True
    gpus: frozenset[str] = frozenset()
    images: frozenset[ImageKind] = frozenset(ImageKind)
    closes_network: bool = True
    abilities: frozenset[str] = frozenset()
    limits: Resources = NO_LIMITS
    cost_per_hour: HourlyCost | None = None
    health: Health = UNKNOWN
    obstacles: tuple[str, ...] = ()
    execution_mode: ExecutionMode = ExecutionMode.SANDBOX
    unavailable: str = ""
    weak: bool = False
    on_trial: bool = False
    ignores: tuple[tuple[str, str], ...] = ()
    needs_compose: bool = False
    lacking: tuple[str, ...] = ()

    @property
    def rented_in(self) -> str:
        """The vendor's region; empty on a host, whose region says no more than its name."""
        return "" if self.host else self.region


@dataclass(frozen=True, slots=True)
class Need:
    """The facts of a request that candidates are judged by: what a sandbox needs of its backend.
    `fields` are those it names of the ones that not every backend acts on."""

    isolation: IsolationLevel = IsolationLevel.NONE
    image: ImageKind = ImageKind.HOST
    closed_network: bool = False
    abilities: frozenset[str] = frozenset()
    resources: Resources = NO_LIMITS
    fields: frozenset[str] = frozenset()


NO_NEED: Final = Need()


def find_shortfalls(candidate: Candidate, need: Need) -> Iterator[str]:
    """Yield each thing that a candidate cannot give."""
    if not reaches(candidate.isolation, need.isolation):
        yield f"its isolation is {candidate.isolation}, and {need.isolation} is needed"
    yield from candidate.lacking
    if need.image not in candidate.images:
        wanted = "the machine's own /usr" if need.image is ImageKind.HOST else "an image"
        yield f"it cannot show {wanted}"
    if need.closed_network and not candidate.closes_network:
        yield "it cannot close its network"
    missing = sorted(need.abilities - candidate.abilities)
    if missing:
        yield f"it lacks {', '.join(missing)}"
    yield from _ignored_fields(candidate, need.fields)
    yield from _beyond(candidate.limits, need.resources)


def _ignored_fields(candidate: Candidate, fields: frozenset[str]) -> Iterator[str]:
    """Yield each field that is named, and that a candidate would drop."""
    for field, why in candidate.ignores:
        if field in fields:
            yield f"it cannot act on {field}: {why}"
    if candidate.needs_compose and not fields & COMPOSE_FIELDS:
        yield (
            f"it brings up the services of a compose file: name one as {COMPOSE_REF}, `repo:PATH`, "
            f"or give it as {COMPOSE_FILE}"
        )


def _beyond(limits: Resources, wanted: Resources) -> Iterator[str]:
    each = (
        ("cores", limits.cpu, wanted.cpu),
        ("MiB of memory", limits.memory_mb, wanted.memory_mb),
        ("MiB of disk", limits.workspace_mb, wanted.workspace_mb),
    )
    for what, most, needed in each:
        if most is not None and needed is not None and needed > most:
            yield f"it gives at most {most:g} {what}, and {needed:g} are needed"


def breaches(candidate: Candidate, limits: Constraints) -> Iterator[str]:
    """Yield each limit that a candidate does not keep."""
    yield from _too_dear(candidate.cost_per_hour, limits.max_cost_per_hour)
    wanted = limits.require_isolation
    if wanted is not None and not reaches(candidate.isolation, wanted):
        yield f"its isolation is {candidate.isolation}, and {wanted} is required"
    elif wanted not in (None, IsolationLevel.NONE) and candidate.weak:
        yield f"its wall is weak, and {wanted} is required"
    region = limits.region
    if region is not None and not _lies_in(candidate.region, region):
        yield f"its region is {candidate.region or 'unknown'}, not {region}"
    if limits.gpu is not None and not _has_gpu(candidate.gpus, limits.gpu):
        yield "it has no GPU" if limits.gpu == ANY_GPU else f"it has no GPU {limits.gpu}"
    mode = limits.execution_mode
    if mode not in (None, candidate.execution_mode):
        yield f"its execution mode is {candidate.execution_mode}, and {mode} is asked"
    yield from _too_slow(candidate.health, limits)


def _too_dear(price: HourlyCost | None, most: HourlyCost | None) -> Iterator[str]:
    if most is None:
        return
    if price is None:
        yield "its price is not declared"
    elif price.currency != most.currency:
        yield f"its price is in {price.currency}, and the limit in {most.currency}"
    elif price.micros > most.micros:
        yield f"an hour costs {spell_price(price)}, and at most {spell_price(most)} is allowed"


def _too_slow(health: Health, limits: Constraints) -> Iterator[str]:
    slowest, least = limits.max_ready_ms, limits.min_success
    if slowest is not None:
        if health.p50_ms is None:
            yield "it was not measured how soon it is ready"
        elif health.p50_ms > slowest:
            yield f"it is ready after {health.p50_ms} ms, and {slowest} are allowed"
    if least is not None:
        if health.success is None:
            yield "it was not measured how often it succeeds"
        elif health.success < least:
            yield f"{health.success:.0%} of its attempts succeed, and {least:.0%} are asked"


def _lies_in(region: str, wanted: str) -> bool:
    return region == wanted or region.startswith(f"{wanted}-")


def _has_gpu(kinds: frozenset[str], wanted: str) -> bool:
    return bool(kinds) if wanted == ANY_GPU else wanted in kinds


def ailing(candidate: Candidate) -> Iterator[str]:
    """Yield why nobody should be sent to a candidate for now."""
    if candidate.health.breaker is Breaker.OPEN:
        yield "its last attempts failed, and it is left alone for a while"
    if candidate.on_trial:
        yield "one start is under way, which shows whether it works again"


def spell_price(price: HourlyCost) -> str:
    """Return a price as people write it: `0.12 USD`."""
    return f"{amount(price.micros)} {price.currency}"
