"""The host key of the SSH gateway: Ed25519, made once."""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from atoll.adapters.auth.private_file import read_private, write_private

_MAX_BYTES = 4096


def load_or_make_host_key(path: Path) -> str:
    """Return the private key, in OpenSSH's form. Raises `Failed` when the file is open to
    others."""
    kept = read_private(path, _MAX_BYTES)
    if not kept:
        kept = Ed25519PrivateKey.generate().private_bytes(
            Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()
        )
        write_private(path, kept)
    return kept.decode()
