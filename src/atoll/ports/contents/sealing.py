"""The BlobSealer port: what makes plain bytes into those of a blob, and back."""

from typing import Protocol


class BlobSealer(Protocol):
    """Compression, then encryption with a check of every bit. Calls compute, and do not wait."""

    def seal(self, key: bytes, name: str, plain: bytes) -> bytes:
        """Return the bytes of the blob of this name. `key` has 32 bytes and seals this name
        alone."""
        ...

    def open(self, key: bytes, name: str, sealed: bytes, max_bytes: int) -> bytes:
        """Return the plain bytes. Raises `ValueError` where these are not the bytes that were
        sealed under this key and name, or would be more than `max_bytes`."""
        ...
