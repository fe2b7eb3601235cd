"""Signers without public keys or files, for tests of what is signed."""

import base64
import hashlib
import hmac
import json
import secrets

from atoll.domain.errors import Failed
from atoll.ports.signer import KeyPair, SshKeyPair
from atoll.wire.jwt import SIGNATURE_BYTES, BadToken, header_of, read_compact
from atoll.wire.ssh.strings import pack

_PEM = "-----BEGIN OPENSSH PRIVATE KEY-----"


class FakeTokenSigner:
    """A `ports.signer.TokenSigner` whose two halves of a key hold one secret: it is quick, and
    forged by whoever reads the public half."""

    def make(self, kid: str) -> KeyPair:
        """See the port."""
        half = {"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": kid}
        half |= {"x": secrets.token_urlsafe(32), "y": ""}
        return KeyPair(json.dumps({**half, "d": ""}), json.dumps(half))

    def sign(self, kid: str, private: str, payload: bytes) -> str:
        """See the port."""
        head = json.dumps(header_of(kid), separators=(",", ":")).encode()
        signed = f"{_base64url(head)}.{_base64url(payload)}"
        return f"{signed}.{_base64url(_mark(private, signed.encode()))}"

    def payload(self, text: str, public: str) -> bytes:
        """See the port."""
        read = read_compact(text)
        try:
            mark, kid = _mark(public, read.signed), json.loads(public)["kid"]
        except Failed as error:
            raise BadToken("the key cannot be used") from error
        if kid != read.kid or not hmac.compare_digest(mark, read.signature):
            raise BadToken("the signature is not by this key")
        return read.payload


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


class FakeSshSigner:
    """A `ports.signer.SshSigner` whose public half is the secret: forged by whoever reads it."""

    def make(self) -> SshKeyPair:
        """See the port."""
        blob = pack(b"ssh-ed25519", secrets.token_bytes(32))
        line = f"ssh-ed25519 {base64.b64encode(blob).decode()}"
        return SshKeyPair(f"{_PEM}\n{line}", line)

    def sign(self, private: str, data: bytes) -> bytes:
        """See the port."""
        head, _, line = private.partition("\n")
        if head != _PEM:
            raise Failed("the SSH key cannot be used")
        return hmac.new(line.encode(), data, hashlib.sha512).digest()

    def signed(self, public: str, data: bytes, signature: bytes) -> bool:
        """See the port."""
        return hmac.compare_digest(self.sign(f"{_PEM}\n{public}", data), signature)


def _mark(half: str, data: bytes) -> bytes:
    try:
        secret = json.loads(half)["x"]
    except (ValueError, KeyError, TypeError) as error:
        raise Failed("the signing key cannot be used") from error
    return hmac.new(str(secret).encode(), data, hashlib.sha512).digest()[:SIGNATURE_BYTES]


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
