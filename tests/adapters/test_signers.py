import pytest

from atoll.adapters.signers import Es256Signer
from atoll.ports.signer import TokenSigner
from atoll.testing import FakeTokenSigner, TokenSignerContract


class TestEs256Signer(TokenSignerContract):
    @pytest.fixture
    def signer(self) -> TokenSigner:
        return Es256Signer()


class TestFakeTokenSigner(TokenSignerContract):
    @pytest.fixture
    def signer(self) -> TokenSigner:
        return FakeTokenSigner()


def test_two_signatures_of_one_payload_verify_with_the_library_alone() -> None:
    """What we sign is a plain JWS: the key set and any library are enough."""
    import json

    from joserfc import jws
    from joserfc.jwk import KeySet

    signer = Es256Signer()
    pair = signer.make("k1")
    keys = KeySet.import_key_set({"keys": [json.loads(pair.public)]})
    for _ in range(2):
        text = signer.sign("k1", pair.private, b'{"a":1}')
        assert jws.deserialize_compact(text, keys, algorithms=["ES256"]).payload == b'{"a":1}'
