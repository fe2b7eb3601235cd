"""ID tokens: their signature by a key of the provider, and their claims (OpenID Connect §3.1.3.7).

Which algorithms count is decided here, not by the token: asymmetric ones only, so neither `none`
nor a signature with the provider's public key as a shared secret passes.
"""

from collections.abc import Mapping
from typing import Any

from atoll.domain.errors import Unauthenticated
from atoll.domain.event import Json
from atoll.domain.people.realm import Realm

ALGORITHMS = frozenset(
    {
        *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
        *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
    }
)
LEEWAY_SECONDS = 60
MAX_TOKEN = 64 * 1024
_KEY_TYPES = frozenset({"RSA", "EC", "OKP"})


class UnknownKey(Exception):
    """A token that no key at hand signed: the provider may have a new one."""


def read_id_token(
    realm: Realm,
    text: str,
    keys: Mapping[str, Json],
    *,
    nonce: str | None,
    access_token: str,
    now: int,
) -> Mapping[str, Json]:
    """Return the claims of an ID token. `keys` is the provider's key set; a `nonce` of None is that
    of a refresh, which has none. Raises `Unauthenticated`, `UnknownKey`."""
    from authlib.oidc.core import CodeIDToken
    from joserfc import jwt
    from joserfc.errors import InvalidKeyIdError, JoseError

    if len(text) > MAX_TOKEN:
        raise unproven_login_error()
    try:
        found = jwt.decode(text, _key_set(keys), algorithms=sorted(ALGORITHMS))
        claims = CodeIDToken(
            found.claims,
            found.header,
            {
                "iss": {"essential": True, "value": realm.issuer},
                "aud": {"essential": True, "value": realm.client_id},
            },
            {"nonce": nonce, "client_id": realm.client_id, "access_token": access_token},
        )
        claims.validate(now=now, leeway=LEEWAY_SECONDS)
    except InvalidKeyIdError as error:
        raise UnknownKey from error
    except (JoseError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise unproven_login_error() from error
    return dict(claims)


def unproven_login_error() -> Unauthenticated:
    """Return the error for an identity that the provider's answer does not prove."""
    return Unauthenticated(
        "The login was refused: what the provider says is not proven. Begin again.",
        code="login_refused",
    )


def _key_set(keys: Mapping[str, Json]) -> Any:
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    listed = keys.get("keys")
    usable = [
        one
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, dict) and one.get("kty") in _KEY_TYPES and one.get("use", "sig") == "sig"
    ]
    found = []
    for one in usable:
        try:
            found += KeySet.import_key_set({"keys": [one]}).keys  # type: ignore[list-item]
        except (JoseError, ValueError, TypeError):
            continue  # a kind of key that is not known here
    if not found:
        raise UnknownKey
    return KeySet(found)
