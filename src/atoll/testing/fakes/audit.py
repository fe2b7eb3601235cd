"""A signer of audit checkpoints without a file."""

import hashlib
import hmac


class FakeAuditSigner:
    """A `ports.signer.AuditSigner` that signs with a hash under a key of its own."""

    def __init__(self, key: str = "11" * 32) -> None:
        self._key = key

    def public_key(self) -> str:
        """See the port."""
        return self._key

    def sign(self, data: bytes) -> str:
        """See the port."""
        return hashlib.sha512(self._key.encode() + data).hexdigest()

    def signed(self, data: bytes, signature: str) -> bool:
        """See the port."""
        return hmac.compare_digest(self.sign(data).encode(), signature.encode())
