"""Keys of one organization's contents, all made from one secret, and digests under them.

Digests are keyed (HMAC-SHA-256, RFC 2104), so that they are equal for equal bytes within one
organization, and reveal nothing to anybody without its key. A blob's key is made from its name: two
blobs cannot be exchanged, and no key seals twice.
"""

import hmac
from collections.abc import Sequence
from typing import Final

from atoll.wire.contents.manifest import DIGEST_BYTES

SECRET_BYTES: Final = 32

_PIECES: Final = b"atoll content pieces 1"
_BUNDLES: Final = b"atoll content bundles 1"
_SEALS: Final = b"atoll content seals 1"


class ContentKeys:
    """The keys that come from an organization's secret of 32 bytes."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) != SECRET_BYTES:
            raise ValueError(f"a content's secret has {SECRET_BYTES} bytes")
        self._pieces = hmac.new(hmac.digest(secret, _PIECES, "sha256"), digestmod="sha256")
        self._bundles = hmac.digest(secret, _BUNDLES, "sha256")
        self._seals = hmac.digest(secret, _SEALS, "sha256")

    def piece_digest(self, piece: bytes | memoryview) -> bytes:
        """Return the digest of a piece, 16 bytes."""
        digest = self._pieces.copy()
        digest.update(piece)
        return digest.digest()[:DIGEST_BYTES]

    def bundle_digest(self, digests: Sequence[bytes]) -> str:
        """Return the digest of a bundle, of those of its pieces: 64 hex digits."""
        return hmac.digest(self._bundles, b"".join(digests), "sha256").hex()

    def seal_key(self, name: str) -> bytes:
        """Return the key of 32 bytes that seals the blob of this name."""
        return hmac.digest(self._seals, name.encode(), "sha256")
