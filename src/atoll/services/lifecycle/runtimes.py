"""Runtimes of sandboxes, at the addresses where they were last known to answer.

Whether a caller may use a sandbox is decided elsewhere.
"""

from atoll.domain.errors import Failed
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Reachability, RuntimeClient, RuntimeClients
from atoll.services.lifecycle.runtime_tokens import RuntimeTokens


class SandboxRuntimes:
    """The clients of runtimes, by sandbox."""

    def __init__(self, clients: RuntimeClients, tokens: RuntimeTokens) -> None:
        self._clients = clients
        self.tokens = tokens

    def client(self, sandbox: Sandbox) -> RuntimeClient:
        """Return the client of a sandbox's runtime, as last known. Raises `Failed` without an
        address, and for a token that does not open."""
        attachment = sandbox.attachment
        if attachment.address is None or attachment.isolation is None:
            raise Failed(f"Sandbox {sandbox.name} has no runtime address; start or recreate it.")
        return self.client_at(
            Reachability(attachment.address, attachment.isolation, self.tokens.open(sandbox))
        )

    def client_at(self, reach: Reachability) -> RuntimeClient:
        """Return the client of the runtime that answers there."""
        return self._clients.client(reach)
