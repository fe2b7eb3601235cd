"""Credentials of Atoll in the head of a request that goes into a sandbox: found, and taken out.

Pure. A credential is known by what it is, wherever it stands: in a header, a cookie, a query, a
subprotocol, plain, escaped or in base64. `services.previews.own_credentials` says which words are
credentials here; what follows the head is never read.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final
from urllib.parse import unquote_to_bytes

from atoll.domain.errors import Forbidden
from atoll.domain.previews.head import Headers

OPAQUE_CHARACTERS: Final = 43
"""The length of every secret that `domain.people.login.spell_secret` spells."""

PROTOCOLS: Final = b"sec-websocket-protocol"
OWN_PROTOCOL: Final = b"atoll."
"""The beginning of subprotocols of Atoll's, each of which offers a credential or goes with one."""

SHORTEST: Final = 16
MAX_WORDS: Final = 2000
_ESCAPED: Final = 3
"""The layers of percent-encoding that are read."""

_WORD = re.compile(rb"[A-Za-z0-9._~-]{16,}")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}={0,2}")

Holds = Callable[[bytes], bool]
"""Reports whether a text is, or contains, a credential."""


def words_in(texts: Iterable[bytes]) -> frozenset[str]:
    """Return the words of texts that could be credentials. Raises `Forbidden` for a head with more
    words than anybody would look up."""
    found: set[str] = set()
    for text in texts:
        for view in views_of(text):
            for word in _WORD.findall(view):
                found.update(_secret_candidates(word.decode("ascii")))
        if len(found) > MAX_WORDS:
            raise Forbidden("the head of this request has too many words", code="own_credential")
    return frozenset(found)


def views_of(text: bytes) -> Iterator[bytes]:
    """Yield a text as it is, without its escapes, and with what its base64 says."""
    seen = {text}
    plain = text
    for _ in range(_ESCAPED):
        plain = unquote_to_bytes(plain)
        seen.add(plain)
    for view in tuple(seen):
        for word in _BASE64.findall(view):
            seen.update(_decode_base64(word))
    yield from seen


def holder(credentials: Iterable[bytes]) -> Holds:
    """Return the report on texts that contain one of these credentials."""
    own = tuple(one for one in credentials if len(one) >= SHORTEST)

    def holds_own(text: bytes) -> bool:
        return bool(own) and any(one in view for view in views_of(text) for one in own)

    return holds_own


def without_own(headers: Headers, holds: Holds) -> Headers:
    """Return the headers of a request without credentials: of cookies and subprotocols the others
    stay, any other header goes whole."""
    kept = []
    for name, value in headers:
        if name == b"cookie":
            parts = [part for part in value.split(b";") if not holds(part)]
            value = b";".join(parts)
        elif name == PROTOCOLS:
            value = b", ".join(one for one in _split_list(value) if not _is_own(one, holds))
        elif holds(value):
            continue
        if value.strip():
            kept.append((name, value))
    return tuple(kept)


def target_without_own(path: bytes, query: bytes, holds: Holds) -> bytes:
    """Return the target of a request without the parts of its query that hold a credential. Raises
    `Forbidden` for a path with one, which would lead elsewhere without it."""
    if holds(path):
        raise Forbidden(
            "the path holds a credential of this Atoll, which never goes into a sandbox",
            code="own_credential",
        )
    parts = re.split(rb"[&;]", query)
    kept = [part for part in parts if not holds(part)]
    if len(kept) == len(parts):
        return path + (b"?" + query if query else b"")
    left = b"&".join(kept)
    return path + (b"?" + left if left else b"")


def _split_list(value: bytes) -> Iterator[bytes]:
    yield from (one.strip() for one in value.split(b",") if one.strip())


def _is_own(protocol: bytes, holds: Holds) -> bool:
    return protocol.lower().startswith(OWN_PROTOCOL) or holds(protocol)


def _decode_base64(word: bytes) -> Iterator[bytes]:
    """Yield the text that a word encodes in base64, in either alphabet."""
    plain = word.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
    try:
        found = base64.b64decode(plain + b"=" * (-len(plain) % 4))
    except binascii.Error:
        return
    if all(0x20 <= one < 0x7F for one in found):
        yield found


def _secret_candidates(word: str) -> Iterator[str]:
    """Yield a word, its pieces between dots, and the ends of each that have a secret's length."""
    yield word
    for piece in {word, *word.split("."), *word.split("~")}:
        if len(piece) >= OPAQUE_CHARACTERS:
            yield from {piece, piece[:OPAQUE_CHARACTERS], piece[-OPAQUE_CHARACTERS:]}
