"""Messages to people at the terminals of a sandbox that ends. Pure."""

from dataclasses import dataclass

from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.wire.words.sandboxes import State

MAX_REASON_BYTES = 120
"""The bytes that a WebSocket's close frame can carry (RFC 6455 §5.5), less the code and some
room."""


@dataclass(frozen=True, slots=True)
class Farewell:
    """A sentence for people who may act on the sandbox, and one for guests, who may not."""

    reason: str
    guest_reason: str


def farewell(sandbox: Sandbox) -> Farewell:
    """Return why the terminals of a sandbox end now, by the state it has entered."""
    start = f"`atoll start {sandbox.name}`"
    match sandbox.state:
        case State.STOPPED if sandbox.asleep:
            attach = f"`atoll attach {sandbox.name}`"
            return _sentence_about(f"the sandbox sleeps: {attach} wakes it", "sleeps")
        case State.STOPPED:
            return _sentence_about(f"the sandbox was stopped: {start} goes on", "was stopped")
        case State.EXPIRED:
            return _sentence_about(
                f"the sandbox has expired: {start} goes on", "has reached its end"
            )
        case State.FAILED:
            return _sentence_about(f"the sandbox failed: {start} tries again", "failed")
        case State.REQUESTED | State.PROVISIONING:
            again = f"`atoll attach {sandbox.name}`"
            return _sentence_about(
                f"the sandbox is being made afresh: {again} waits", "is made afresh"
            )
        # Every case returns above.
        case State.READY | State.ACTIVE | State.DESTROYING | State.DESTROYED:  # pragma: no branch
            return _sentence_about(
                f"the sandbox {sandbox.name} is being destroyed", "is being removed"
            )


def _sentence_about(reason: str, what: str) -> Farewell:
    cut = reason.encode()[:MAX_REASON_BYTES].decode("utf-8", "ignore")
    return Farewell(cut, f"This sandbox {what}. Ask whoever invited you.")
