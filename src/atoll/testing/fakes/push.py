"""Push services in memory."""

from atoll.domain.errors import AtollError
from atoll.domain.people.push import PushTarget, check_endpoint


class FakePushSender:
    """A `ports.senders.push.PushSender` that keeps what it sent, by endpoint. `failures` are raised
    for an endpoint, one after the other, before it accepts messages again."""

    def __init__(self) -> None:
        self.sent: dict[str, list[bytes]] = {}
        self.failures: dict[str, list[AtollError]] = {}

    async def public_key(self) -> str:
        """See the port."""
        return "BA" + "A" * 85

    async def check(self, endpoint: str) -> None:
        """See the port."""
        self._fail(check_endpoint(endpoint))

    async def send(self, target: PushTarget, message: bytes) -> None:
        """See the port."""
        self._fail(target.endpoint)
        self.sent.setdefault(target.endpoint, []).append(message)

    def _fail(self, endpoint: str) -> None:
        failures = self.failures.get(endpoint)
        if failures:
            raise failures.pop(0)
