"""The policy a runtime lives by, and who wants to know when it changes.

Replaced whole by the control plane; before the first one it allows nothing. Held in memory
only.
"""

from collections.abc import Callable

from atoll.domain.errors import Conflict
from atoll.wire.contract.policy import Policy

Listener = Callable[[Policy], None]


class StandingPolicy:
    """Policy in force. `current` is what holds now; listeners are called in order, before `replace`
    returns."""

    def __init__(self) -> None:
        self.current = Policy()
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> None:
        """Call `listener` now with what holds, and with every later policy."""
        self._listeners.append(listener)
        listener(self.current)

    def replace(self, policy: Policy) -> None:
        """Replace the policy from now on. Raises `Conflict` for one older than what holds."""
        if policy.revision < self.current.revision:
            raise Conflict(
                f"policy revision {policy.revision} is older than {self.current.revision}, "
                "which this sandbox lives by"
            )
        self.current = policy
        for listener in self._listeners:
            listener(policy)
