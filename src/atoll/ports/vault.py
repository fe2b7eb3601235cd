"""The Vault port: encryption of values at rest, so that the database alone reveals nothing.

A vault seals and opens; where the sealed bytes are kept is the store's business. Calls are
short computations and do not wait.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

Binding = Sequence[str]
"""Words a sealed value is bound to; it opens only with exactly these."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A value sealed with a key of its own, which is `wrapped` by the master key `key_id`."""

    key_id: str
    wrapped: bytes = field(repr=False)
    body: bytes = field(repr=False)


class Vault(Protocol):
    """Encryption of values at rest. Raises `Failed` (code `vault_sealed`) for what does not open:
    another binding, changed bytes, a master key this vault does not have. No message ever holds a
    value."""

    def seal(self, value: str, binding: Binding) -> Sealed:
        """Seal under the newest master key. Two seals of one value have nothing in common."""
        ...

    def open(self, sealed: Sealed, binding: Binding) -> str:
        """Return the value."""
        ...

    def rewrap(self, sealed: Sealed, binding: Binding) -> Sealed:
        """Return the same sealed value under the newest master key; the body stays as it is."""
        ...

    def fingerprint(self, value: str, org_id: str) -> str:
        """Return 32 hex digits, the same for the same value in the same organization. Without the
        vault's key they reveal nothing about the value."""
        ...


class Masters(Protocol):
    """The master keys of a vault that can make new ones itself."""

    def add(self) -> str:
        """Make a new master key, the newest from now on; returns its id. Older ones still open.
        Raises `Conflict` when the keys come from somewhere this program cannot write."""
        ...

    def retire(self) -> int:
        """Forget all master keys but the newest. Returns how many were forgotten."""
        ...
