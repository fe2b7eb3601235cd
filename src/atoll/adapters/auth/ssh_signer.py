"""Keys and signatures of SSH (Ed25519), by `cryptography`."""

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
    load_ssh_public_key,
)

from atoll.domain.errors import Failed
from atoll.ports.signer import SshKeyPair

_UNUSABLE = (ValueError, UnsupportedAlgorithm)


class Ed25519SshSigner:
    """The `ports.signer.SshSigner`."""

    def make(self) -> SshKeyPair:
        """See the port."""
        key = Ed25519PrivateKey.generate()
        private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
        public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        return SshKeyPair(private.decode(), public.decode())

    def sign(self, private: str, data: bytes) -> bytes:
        """See the port."""
        try:
            key = load_ssh_private_key(private.encode(), None)
        except _UNUSABLE as error:
            raise Failed("an SSH key of this installation cannot be used") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise Failed("an SSH key of this installation is of another kind")
        return key.sign(data)

    def signed(self, public: str, data: bytes, signature: bytes) -> bool:
        """See the port."""
        try:
            key = load_ssh_public_key(public.encode())
            if not isinstance(key, Ed25519PublicKey):
                return False
            key.verify(signature, data)
        except (*_UNUSABLE, InvalidSignature):
            return False
        return True
