"""Signatures with ECDSA on P-256 and SHA-256 (`ES256`, RFC 7518 §3.4), by joserfc.

`wire.jwt` reads a token's header before the library sees it, so no header chooses what happens
here. The library is loaded at the first token: most installations never make one.
"""

import json
from typing import Any

from atoll.domain.errors import Failed
from atoll.ports.signer import KeyPair
from atoll.wire.jwt import ALGORITHM, BadToken, header_of, read_compact, read_object

_CURVE = "P-256"


class Es256Signer:
    """The `ports.signer.TokenSigner`."""

    def make(self, kid: str) -> KeyPair:
        """See the port."""
        from joserfc.jwk import ECKey

        key = ECKey.generate_key(_CURVE, {"kid": kid, "use": "sig", "alg": ALGORITHM})
        return KeyPair(json.dumps(key.as_dict(private=True)), json.dumps(key.as_dict()))

    def sign(self, kid: str, private: str, payload: bytes) -> str:
        """See the port."""
        from joserfc.errors import JoseError
        from joserfc.jwk import ECKey
        from joserfc.jws import serialize_compact

        try:
            key = ECKey.import_key(_members(private))
            return serialize_compact(header_of(kid), payload, key, algorithms=[ALGORITHM])
        except (JoseError, ValueError) as error:
            raise Failed("the signing key cannot be used: run `atoll token rotate-keys`") from error

    def payload(self, text: str, public: str) -> bytes:
        """See the port."""
        read = read_compact(text)
        from joserfc.errors import JoseError
        from joserfc.jwk import ECKey
        from joserfc.jws import deserialize_compact

        try:
            key = ECKey.import_key(_members(public))
            if key.kid != read.kid:
                raise BadToken("the key is another one")
            found = deserialize_compact(text, key, algorithms=[ALGORITHM])
        except (JoseError, ValueError) as error:
            raise BadToken("the signature is not by this key") from error
        if found.payload != read.payload:
            raise BadToken("the token reads in two ways")
        return read.payload


def _members(half: str) -> dict[str, Any]:
    return read_object(half.encode("utf-8", "replace"))
