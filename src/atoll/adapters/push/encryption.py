"""Encryption of a push message for one browser: RFC 8291, with the aes128gcm coding of RFC 8188.

Every message has a key pair and a salt of its own. Messages are padded to one length, so a push
service cannot tell them apart.
"""

import os

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from atoll.domain.errors import Failed
from atoll.domain.people.push import PushTarget

MAX_MESSAGE = 1024
RECORD_BYTES = 4096
SALT_BYTES = 16
_LAST_RECORD = b"\x02"
_CURVE = ec.SECP256R1()


def encrypt_message(target: PushTarget, message: bytes) -> bytes:
    """Return the body of the request that carries `message`. Raises `Failed` for a public key that
    is no point of P-256, `ValueError` for a message that is too long."""
    if len(message) > MAX_MESSAGE:
        raise ValueError(f"a push message has at most {MAX_MESSAGE} bytes")
    padded = message + _LAST_RECORD + bytes(MAX_MESSAGE - len(message))
    return encrypt_record(
        target, padded, own=ec.generate_private_key(_CURVE), salt=os.urandom(SALT_BYTES)
    )


def encrypt_record(
    target: PushTarget, padded: bytes, *, own: ec.EllipticCurvePrivateKey, salt: bytes
) -> bytes:
    """Return a record of already delimited content, under this key pair and salt."""
    try:
        browser = ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, target.p256dh)
    except ValueError as error:
        raise Failed("The browser's key is no point of P-256: subscribe again there.") from error
    own_public = public_bytes(own)
    key, nonce = content_keys(
        own.exchange(ec.ECDH(), browser), target, own_public=own_public, salt=salt
    )
    head = salt + RECORD_BYTES.to_bytes(4, "big") + len(own_public).to_bytes(1, "big") + own_public
    return head + AESGCM(key).encrypt(nonce, padded, None)


def content_keys(
    shared: bytes, target: PushTarget, *, own_public: bytes, salt: bytes
) -> tuple[bytes, bytes]:
    """Return key and nonce of a record, from the shared secret of both key pairs (RFC 8291)."""
    info = b"WebPush: info\0" + target.p256dh + own_public
    secret = _derive_key(shared, target.auth, info, 32)
    return (
        _derive_key(secret, salt, b"Content-Encoding: aes128gcm\0", 16),
        _derive_key(secret, salt, b"Content-Encoding: nonce\0", 12),
    )


def public_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the public half of a key pair, as an uncompressed point (65 bytes)."""
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _derive_key(secret: bytes, salt: bytes, info: bytes, size: int) -> bytes:
    return HKDF(SHA256(), size, salt, info).derive(secret)
