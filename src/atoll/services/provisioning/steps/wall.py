"""The wall of a sandbox, raised by its backend until the runtime answers."""

from dataclasses import replace

from atoll.domain.sandboxes.sandbox import Attachment
from atoll.services.lifecycle.runtimes import SandboxRuntimes
from atoll.services.provisioning.bring_up import BringUp
from atoll.services.provisioning.provisioning import Provisioning


class Wall:
    """The wall, and the client of the runtime that stands at it."""

    def __init__(self, provisioning: Provisioning, runtimes: SandboxRuntimes) -> None:
        self._provisioning = provisioning
        self._runtimes = runtimes

    async def run(self, up: BringUp) -> None:
        """Raise the wall. Raises `BackendFailed`, and `Invalid` for a fault of the request."""
        with up.phase("wall"):
            request = replace(up.request, report=up.report)
            handle, reach = await self._provisioning.raise_wall(request, up.sandbox)
        up.report(f"The runtime answers ({reach.isolation.mechanism}).")
        up.reach = reach
        up.client = self._runtimes.client_at(reach)
        token = self._runtimes.tokens.seal(up.sandbox.id, reach.token)
        up.attachment = Attachment(handle.data, reach.address, token, reach.isolation)
