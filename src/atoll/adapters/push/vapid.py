"""The server's own key at push services, and the tokens it signs: VAPID, RFC 8292.

The key is made here at its first use and never leaves: `$ATOLL_HOME/push.key`, mode 0600.
"""

import base64
import json
from datetime import datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from atoll.adapters.auth.private_file import read_private, write_private
from atoll.adapters.push.encryption import public_bytes
from atoll.domain.errors import Failed
from atoll.domain.people.push import origin_of

TOKEN_LIFE = timedelta(hours=12)
"""The life of a token; RFC 8292 allows 24 hours."""

_MAX_BYTES = 4096


class VapidKey:
    """The key pair in a file, made at the first use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._key: ec.EllipticCurvePrivateKey | None = None

    def load(self) -> ec.EllipticCurvePrivateKey:
        """Return the key pair. Raises `Failed` when the file is open to others, no plain file, or
        holds another kind of key."""
        if self._key is None:
            self._key = self._read()
        return self._key

    def public(self) -> str:
        """Return the public key in base64url, as a browser wants it. Raises like `load`."""
        return encode_base64url(public_bytes(self.load()))

    def authorization(self, endpoint: str, *, contact: str, now: datetime) -> str:
        """Return the value of the header `Authorization` for a request to `endpoint`."""
        claims = {
            "aud": origin_of(endpoint),
            "exp": int((now + TOKEN_LIFE).timestamp()),
            "sub": contact,
        }
        signed = ".".join(
            _encode_token_part(one) for one in ({"typ": "JWT", "alg": "ES256"}, claims)
        )
        r, s = decode_dss_signature(self.load().sign(signed.encode(), ec.ECDSA(SHA256())))
        token = f"{signed}.{encode_base64url(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"
        return f"vapid t={token}, k={self.public()}"

    def _read(self) -> ec.EllipticCurvePrivateKey:
        kept = read_private(self._path, _MAX_BYTES)
        if kept is None:
            made = ec.generate_private_key(ec.SECP256R1())
            write_private(
                self._path,
                made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
            )
            return made
        try:
            key = load_pem_private_key(kept, None)
        except (ValueError, TypeError) as error:
            raise self._invalid_key_error() from error
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.curve.name != "secp256r1":
            raise self._invalid_key_error()
        return key

    def _invalid_key_error(self) -> Failed:
        return Failed(
            f"{self._path.name} holds no P-256 key: remove it and a new one is made. Browsers must "
            "then subscribe again."
        )


def encode_base64url(data: bytes) -> str:
    """Return bytes in base64url without padding (RFC 7515 §2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _encode_token_part(content: object) -> str:
    return encode_base64url(json.dumps(content, separators=(",", ":")).encode())
