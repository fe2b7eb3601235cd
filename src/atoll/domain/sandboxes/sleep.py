"""Who may wake a sandbox by using it. Pure."""

from atoll.domain.errors import Conflict
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.wire.words.events import ActorKind
from atoll.wire.words.sandboxes import WakePolicy


def check_may_wake(caller: Principal, sandbox: Sandbox) -> None:
    """Check that an access of the caller may wake a sandbox. Raises `Conflict`, which says what
    does wake it."""
    policy = sandbox.profile.wake
    by_person = caller.kind is ActorKind.PERSON and caller.token is None
    if policy is WakePolicy.ACCESS or (policy is WakePolicy.PERSON and by_person):
        return
    raise Conflict(
        f"Sandbox {sandbox.name} sleeps, and its profile has it woken by "
        f"{'a person alone' if policy is WakePolicy.PERSON else 'nothing but a start'}: "
        f"`atoll start {sandbox.name}`.",
        code="asleep",
    )
