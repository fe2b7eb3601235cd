"""Runtimes of sandboxes, at the addresses where they were last known to answer, and their tokens.

A token is sealed at rest: the database alone lets nobody into a sandbox. What is kept of it is one
text, bound to its sandbox. Tokens of earlier versions lie there unsealed and are sealed by the next
start. Whether a caller may use a sandbox is decided elsewhere.
"""

import base64
from dataclasses import replace

from atoll.domain.errors import Failed
from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Reachability, RuntimeClient, RuntimeClients
from atoll.ports.vault import Sealed, Vault

MARK = "sealed:1"
MAX_OPENED = 4096
"""The opened tokens that are kept in memory. One that is older is opened again."""


class SandboxRuntimes:
    """The clients of runtimes, by sandbox."""

    def __init__(self, clients: RuntimeClients, tokens: "RuntimeTokens") -> None:
        self._clients = clients
        self.tokens = tokens

    def client(self, sandbox: Sandbox) -> RuntimeClient:
        """Return the client of a sandbox's runtime, as last known. Raises `Failed` without an
        address, and for a token that does not open."""
        return self.client_at(self.reach(sandbox))

    def reach(self, sandbox: Sandbox) -> Reachability:
        """Return where a sandbox's runtime answers, as last known. Raises as `client`."""
        attachment = sandbox.attachment
        if attachment.address is None or attachment.isolation is None:
            raise Failed(f"Sandbox {sandbox.name} has no runtime address; start or recreate it.")
        return Reachability(attachment.address, attachment.isolation, self.tokens.open(sandbox))

    def client_at(self, reach: Reachability) -> RuntimeClient:
        """Return the client of the runtime that answers there."""
        return self._clients.client(reach)


class RuntimeTokens:
    """Seals and opens the tokens of runtimes."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._opened: dict[str, str] = {}

    def seal(self, sandbox_id: SandboxId, token: str | None) -> str | None:
        """Return what is stored of a token."""
        if token is None:
            return None
        stored = _spell_sealed(self._vault.seal(token, _binding(sandbox_id)))
        self._remember(sandbox_id, stored, token)
        return stored

    def open(self, sandbox: Sandbox) -> str | None:
        """Return the token of a sandbox's runtime. Raises `Failed` for one that does not open."""
        return self.open_for(sandbox.id, sandbox.attachment.token)

    def open_for(self, sandbox_id: SandboxId, stored: str | None) -> str | None:
        """Return the token of which this is stored. Raises `Failed` for one that does not open."""
        if stored is None or not stored.startswith(f"{MARK}:"):
            return stored
        key = f"{sandbox_id}:{stored}"
        if key not in self._opened:
            token = self._vault.open(_parse_sealed(sandbox_id, stored), _binding(sandbox_id))
            self._remember(sandbox_id, stored, token)
        return self._opened[key]

    def rewrapped(self, sandbox: Sandbox) -> Sandbox:
        """Return a sandbox whose token is under the newest master key. One that does not open stays
        as it is: its sandbox has to be started again."""
        stored = sandbox.attachment.token
        if stored is None:
            return sandbox
        binding = _binding(sandbox.id)
        try:
            if stored.startswith(f"{MARK}:"):
                token = self.open(sandbox)
                again = _spell_sealed(
                    self._vault.rewrap(_parse_sealed(sandbox.id, stored), binding)
                )
            else:
                token, again = stored, _spell_sealed(self._vault.seal(stored, binding))
        except Failed:
            return sandbox
        self._remember(sandbox.id, again, token or "")
        return replace(sandbox, attachment=replace(sandbox.attachment, token=again))

    def key_of(self, sandbox: Sandbox) -> str | None:
        """Return the id of the master key that a token is under; empty for one that is not
        sealed."""
        stored = sandbox.attachment.token
        if stored is None:
            return None
        return stored.split(":")[2] if stored.startswith(f"{MARK}:") else ""

    def _remember(self, sandbox_id: SandboxId, stored: str, token: str) -> None:
        self._opened[f"{sandbox_id}:{stored}"] = token
        while len(self._opened) > MAX_OPENED:
            del self._opened[next(iter(self._opened))]


def _binding(sandbox_id: SandboxId) -> tuple[str, str]:
    return ("runtime", sandbox_id)


def _spell_sealed(sealed: Sealed) -> str:
    """Return a sealed token as text for the store."""
    wrapped, body = (base64.b64encode(part).decode() for part in (sealed.wrapped, sealed.body))
    return f"{MARK}:{sealed.key_id}:{wrapped}:{body}"


def _parse_sealed(sandbox_id: SandboxId, stored: str) -> Sealed:
    """Return the sealed token of a stored text. Raises `Failed`."""
    try:
        key_id, wrapped, body = stored.removeprefix(f"{MARK}:").split(":")
        return Sealed(key_id, base64.b64decode(wrapped), base64.b64decode(body))
    except ValueError as err:
        raise Failed(
            f"The token of the runtime of {sandbox_id} cannot be read: start it again.",
            code="vault_sealed",
        ) from err
