"""The TokenSigner, AuditSigner and SshSigner ports: signatures of tokens, of the audit log's
checkpoints, and of SSH certificates.

A signer decides nothing about claims: what a payload says and whether it holds is the domain's.
Calls are short computations and do not wait.
"""

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A new key pair, each half as a JSON Web Key (RFC 7517) in JSON."""

    private: str = field(repr=False)
    public: str


class TokenSigner(Protocol):
    """Signatures by one algorithm, `wire.jwt.ALGORITHM`. No message ever holds a key or a token."""

    def make(self, kid: str) -> KeyPair:
        """Return a new key pair with this key id. The public half has the members of an EC key
        that verifies (`kty`, `crv`, `x`, `y`, `kid`, `use`, `alg`) and no private one."""
        ...

    def sign(self, kid: str, private: str, payload: bytes) -> str:
        """Return a compact token with this payload, which `wire.jwt.read_compact` reads. Raises
        `Failed` when the key cannot be used."""
        ...

    def payload(self, text: str, public: str) -> bytes:
        """Return the payload of a token signed by the private half of this key. Raises
        `wire.jwt.BadToken` for everything else: another key, another algorithm, another header, a
        changed or cut token."""
        ...


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


@dataclass(frozen=True, slots=True)
class SshKeyPair:
    """A new key pair (Ed25519): the private half as a file of OpenSSH (PEM), the public one as a
    line without a comment."""

    private: str = field(repr=False)
    public: str


class SshSigner(Protocol):
    """Signatures of SSH certificates. No message ever holds a key."""

    def make(self) -> SshKeyPair:
        """Return a new key pair."""
        ...

    def sign(self, private: str, data: bytes) -> bytes:
        """Return the signature of `data`: 64 bytes. Raises `Failed` when the key cannot be used."""
        ...

    def signed(self, public: str, data: bytes, signature: bytes) -> bool:
        """Report whether `signature` is that of this key for `data`; False for what is no
        signature."""
        ...
