"""Seals of blobs: Zstandard, then AES-256-GCM (NIST SP 800-38D) with a random nonce of 96 bits.

A key seals one name, so few nonces are ever drawn under it. The name is the additional data.
Compression comes first, within bytes of one writer: what two people wrote is not packed together
with a secret of a third. The length of a blob reveals how well it packs.
"""

import secrets
from typing import Final

NONCE_BYTES: Final = 12

_VERSION: Final = b"\x01"
_PURPOSE: Final = b"atoll blob 1\0"
_LEVEL: Final = 1
"""Disks have much that packs well at any level; a higher one halves the rate for a tenth less."""


class ZstdAesSealer:
    """The `ports.contents.sealing.BlobSealer`."""

    def seal(self, key: bytes, name: str, plain: bytes) -> bytes:
        """See the port."""
        # Loaded here: a control plane that keeps no contents never pays for them.
        import zstandard
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        packed = zstandard.ZstdCompressor(level=_LEVEL).compress(plain)
        nonce = secrets.token_bytes(NONCE_BYTES)
        return _VERSION + nonce + AESGCM(key).encrypt(nonce, packed, _PURPOSE + name.encode())

    def open(self, key: bytes, name: str, sealed: bytes, max_bytes: int) -> bytes:
        """See the port."""
        import zstandard
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if sealed[:1] != _VERSION:
            raise ValueError("sealed by another version")
        nonce, body = sealed[1 : 1 + NONCE_BYTES], sealed[1 + NONCE_BYTES :]
        try:
            packed = AESGCM(key).decrypt(nonce, body, _PURPOSE + name.encode())
        except (InvalidTag, ValueError) as error:
            raise ValueError("changed since it was sealed") from error
        try:
            if not 0 <= zstandard.frame_content_size(packed) <= max_bytes:
                raise ValueError("too large")
            return bytes(zstandard.ZstdDecompressor().decompress(packed))
        except zstandard.ZstdError as error:
            raise ValueError("packed otherwise") from error
