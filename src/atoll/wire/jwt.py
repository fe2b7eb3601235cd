"""Compact JSON Web Tokens (RFC 7519) as text, read strictly before any of it is believed.

One algorithm, one shape of header (RFC 8725 §3.1): a header that names a key or an address of its
own (`jwk`, `jku`, `x5u`), an extension (`crit`) or a nested token (`cty`) is not read at all. No
signature is checked here.
"""

import base64
import binascii
import json
import re
from dataclasses import dataclass, field

ALGORITHM = "ES256"
MAX_TOKEN_CHARACTERS = 8192
MAX_HEADER_CHARACTERS = 512
SIGNATURE_BYTES = 64

_PART = re.compile(r"[A-Za-z0-9_-]+")
_KID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class BadToken(ValueError):
    """Error of a token that is not one of ours. The text is for logs, never for its sender."""


@dataclass(frozen=True, slots=True)
class CompactToken:
    """A token in its parts, none of them checked by a key yet."""

    kid: str
    payload: bytes = field(repr=False)
    signed: bytes = field(repr=False)
    signature: bytes = field(repr=False)


def looks_compact(text: str) -> bool:
    """Report whether a bearer token is meant as a JSON Web Token: it has three parts or more."""
    return text.count(".") >= 2


def header_of(kid: str) -> dict[str, str]:
    """Return the one header that `read_compact` reads."""
    return {"alg": ALGORITHM, "kid": kid, "typ": "JWT"}


def read_compact(text: str) -> CompactToken:
    """Return the parts of a token. Raises `BadToken`."""
    if len(text) > MAX_TOKEN_CHARACTERS:
        raise BadToken("the token is too long")
    parts = text.split(".")
    if len(parts) != 3 or not all(map(_PART.fullmatch, parts)):
        raise BadToken("the token has not three parts in base64url")
    head, body, tail = parts
    kid = _kid_of(head)
    signature = _bytes(tail)
    if len(signature) != SIGNATURE_BYTES:
        raise BadToken("the signature has another length")
    return CompactToken(kid, _bytes(body), f"{head}.{body}".encode(), signature)


def read_object(data: bytes) -> dict[str, object]:
    """Return a JSON object, no key of which stands twice. Raises `BadToken`."""
    try:
        found = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_refuse_repeated_keys,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError) as error:
        raise BadToken("the JSON cannot be read") from error
    if not isinstance(found, dict):
        raise BadToken("the JSON is no object")
    return found


def _kid_of(head: str) -> str:
    if len(head) > MAX_HEADER_CHARACTERS:
        raise BadToken("the header is too long")
    header = read_object(_bytes(head))
    kid = header.get("kid")
    if not isinstance(kid, str) or not _KID.fullmatch(kid) or header != header_of(kid):
        raise BadToken("the header is not ours")
    return kid


def _bytes(part: str) -> bytes:
    """Return what a part holds. Only its one canonical spelling is read."""
    try:
        found = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except (binascii.Error, ValueError) as error:
        raise BadToken("a part is not base64url") from error
    if base64.urlsafe_b64encode(found).rstrip(b"=").decode() != part:
        raise BadToken("a part is not the canonical base64url")
    return found


def _refuse_repeated_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadToken("a key stands twice")
    return found


def _refuse_constant(word: str) -> object:
    raise BadToken(f"{word} is no JSON")
