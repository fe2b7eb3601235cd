"""The AuditSigner port: the installation's signature below checkpoints of the audit log."""

from typing import Protocol


class AuditSigner(Protocol):
    """A key pair (Ed25519) that outlives restarts. Raises `Failed` when it cannot be read."""

    def public_key(self) -> str:
        """Return the public key: 32 bytes in hexadecimal."""
        ...

    def sign(self, data: bytes) -> str:
        """Return the signature of `data`: 64 bytes in hexadecimal."""
        ...

    def signed(self, data: bytes, signature: str) -> bool:
        """Report whether `signature` is this key's for `data`; False for what is no signature."""
        ...
