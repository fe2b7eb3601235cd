"""The key that signs checkpoints of the audit log: `$ATOLL_HOME/audit.key`, mode 0600.

Replicas of one installation share the file; whoever holds it can sign, so keep the public key
and the head of the chain elsewhere, too (docs/run/audit.md).
"""

from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from atoll.adapters.auth.private_file import read_private, write_private
from atoll.domain.errors import Failed

_MAX_BYTES = 4096


class AuditKey:
    """The `ports.signer.AuditSigner` over a private file, made at its first use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._key: Ed25519PrivateKey | None = None

    def public_key(self) -> str:
        """See the port."""
        return self._load().public_key().public_bytes_raw().hex()

    def sign(self, data: bytes) -> str:
        """See the port."""
        return self._load().sign(data).hex()

    def signed(self, data: bytes, signature: str) -> bool:
        """See the port."""
        try:
            self._load().public_key().verify(bytes.fromhex(signature), data)
        except (InvalidSignature, ValueError):
            return False
        return True

    def _load(self) -> Ed25519PrivateKey:
        if self._key is None:
            self._key = self._read()
        return self._key

    def _read(self) -> Ed25519PrivateKey:
        kept = read_private(self._path, _MAX_BYTES)
        if kept is None:
            made = Ed25519PrivateKey.generate()
            pem = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            write_private(self._path, pem)
            return made
        try:
            key = load_pem_private_key(kept, None)
        except (ValueError, TypeError) as error:
            raise self._invalid_key_error() from error
        if not isinstance(key, Ed25519PrivateKey):
            raise self._invalid_key_error()
        return key

    def _invalid_key_error(self) -> Failed:
        return Failed(
            f"{self._path.name} is not an Ed25519 key: put it back from a backup; removing it "
            "makes a new one, which cannot vouch for earlier checkpoints"
        )
