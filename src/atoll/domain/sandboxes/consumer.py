"""Consumers: the sessions, runs and jobs for which sandboxes were created, and their end."""

from dataclasses import asdict, dataclass, replace

from atoll.domain.errors import Invalid
from atoll.domain.event import Json
from atoll.domain.ids import PrincipalId
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.domain.sandboxes.sandbox import LIVE, Consumer, Sandbox
from atoll.wire.words.events import ActorKind
from atoll.wire.words.sandboxes import Scope


@dataclass(frozen=True, slots=True)
class ConsumerFilter:
    """The consumers that have these names; what is None matches any, also none. Raises `Invalid`
    with `field` for a name that no create accepts."""

    harness: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    job_id: str | None = None

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None and not (value and value.isprintable()):
                raise Invalid(f"{name} must be printable characters", field=name)


EVERY_CONSUMER = ConsumerFilter()


def check_end(end: ConsumerFilter) -> None:
    """Check that an end names a harness and exactly one of its ids. Raises `Invalid` for any other
    number of them: fewer would also end unrelated sandboxes."""
    given = [one for one in (end.session_id, end.run_id, end.job_id) if one is not None]
    if end.harness is None:
        raise Invalid("name the harness whose session, run or job ended", field="harness")
    if len(given) != 1:
        raise Invalid("name one of session_id, run_id and job_id", field="session_id")


def acting_consumer(caller: Principal, consumer: Consumer) -> Principal:
    """Return the actor of a create: the harness that a person's program names as its consumer, an
    agent or automation, else the caller. Nobody can name Atoll itself."""
    harness = consumer.harness
    if harness is None or harness == SYSTEM.id or consumer.actor is ActorKind.PERSON:
        return caller
    if caller.kind is not ActorKind.PERSON:
        return caller
    return replace(caller, id=PrincipalId(harness), kind=consumer.actor, name=harness)


def consumer_facts(caller: Principal, consumer: Consumer) -> dict[str, Json]:
    """Return what the log says of a consumer beside its actor: what it named of itself, and by
    whose credential it came. Empty for a request that names none."""
    named = {name: value for name, value in asdict(consumer).items() if value is not None}
    if named.keys() == {"actor"} and consumer.actor is ActorKind.PERSON:
        return {}
    return {"consumer": {**named, "actor": consumer.actor.value}, "by": caller.id}


def ends_with(sandbox: Sandbox, end: ConsumerFilter) -> bool:
    """Report whether this sandbox ends with that consumer."""
    if sandbox.scope is not Scope.SESSION or sandbox.state not in LIVE:
        return False
    return is_consumer(sandbox.consumer, end)


def is_consumer(consumer: Consumer, wanted: ConsumerFilter) -> bool:
    """Report whether a consumer has the names that are wanted."""
    return all(value in (None, getattr(consumer, name)) for name, value in asdict(wanted).items())
