"""Opaque JSON: a member of a document as the text that its author wrote, and back.

What an agent and its client say to each other (`params`, `result`) is theirs. Parsed and written
anew, `1.0` becomes `1` and 2^53 + 1 becomes 2^53. So it is stored and answered as text, which every
schema passes on byte for byte.
"""

import msgspec

from atoll.wire.http.unreadable import UNREADABLE

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TEXT = msgspec.json.Decoder(str)
_CHECKED = msgspec.json.Decoder(msgspec.Raw)
"""Reads a text to its end as JSON and makes nothing of it, so a number of any size passes."""


class NotOpaque(ValueError):
    """Error of a document that cannot be read, or whose member is no JSON. Half a surrogate pair,
    which no UTF-8 can hold, is none here."""


def as_text(document: bytes, *path: str) -> bytes:
    """Return a JSON document with the member at `path` as text: `{"params":{"a":1.0}}` becomes
    `{"params":"{\\"a\\":1.0}"}`. Without such a member it is unchanged in meaning. Raises
    `NotOpaque`."""
    return _replace_member(document, path, wrap=True)


def as_json(document: bytes, *path: str) -> bytes:
    """Return a JSON document with the text at `path` as the JSON that it is. Raises `NotOpaque`
    where the text is none."""
    return _replace_member(document, path, wrap=False)


def _replace_member(document: bytes, path: tuple[str, ...], *, wrap: bool) -> bytes:
    """Return the document with one member wrapped as a JSON string, or unwrapped."""
    try:
        members = _MEMBERS.decode(document)
        name, *below = path
        if name in members:
            value = bytes(members[name])
            if below:
                changed = _replace_member(value, tuple(below), wrap=wrap)
            else:
                changed = _wrap(value) if wrap else _unwrap(value)
            members[name] = msgspec.Raw(changed)
        return msgspec.json.encode(members)
    except UNREADABLE as err:
        raise NotOpaque(f"the member {'.'.join(path)} cannot be read: {err}") from err


def _wrap(value: bytes) -> bytes:
    """Return JSON as a JSON string that holds it."""
    # The decoder checked that it is JSON, and not yet that it is UTF-8.
    return msgspec.json.encode(value.decode())


def _unwrap(value: bytes) -> bytes:
    """Return the JSON that a JSON string holds."""
    text = _TEXT.decode(value).encode()
    _CHECKED.decode(text)
    return text
