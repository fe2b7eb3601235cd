"""The signers of SSH certificates, by the contract of their port."""

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from atoll.adapters.auth.ssh_signer import Ed25519SshSigner
from atoll.domain.errors import Failed
from atoll.ports.signer import SshSigner
from atoll.testing import FakeSshSigner, SshSignerContract


class TestEd25519SshSigner(SshSignerContract):
    @pytest.fixture
    def signer(self) -> SshSigner:
        return Ed25519SshSigner()


class TestFakeSshSigner(SshSignerContract):
    @pytest.fixture
    def signer(self) -> SshSigner:
        return FakeSshSigner()


def test_key_of_another_kind_signs_nothing() -> None:
    key = generate_private_key(65537, 2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    with pytest.raises(Failed, match="another kind"):
        Ed25519SshSigner().sign(pem, b"words")
