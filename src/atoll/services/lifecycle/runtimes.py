"""Runtimes of sandboxes, at the addresses where they were last known to answer.

Whether a caller may use a sandbox is decided elsewhere.
"""

from atoll.domain.errors import Failed
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.ports import Reachability, RuntimeClient, RuntimeClients


class SandboxRuntimes:
    """The clients of runtimes, by sandbox."""

    def __init__(self, clients: RuntimeClients) -> None:
        self._clients = clients

    def client(self, sandbox: Sandbox) -> RuntimeClient:
        """Return the client of a sandbox's runtime, as last known. Raises `Failed` without an
        address."""
        attachment = sandbox.attachment
        if attachment.address is None or attachment.isolation is None:
            raise Failed(f"Sandbox {sandbox.name} has no runtime address; start or recreate it.")
        return self.client_at(
            Reachability(attachment.address, attachment.isolation, attachment.token)
        )

    def client_at(self, reach: Reachability) -> RuntimeClient:
        """Return the client of the runtime that answers there."""
        return self._clients.client(reach)
