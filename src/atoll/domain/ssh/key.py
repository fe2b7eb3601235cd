"""A public key of a person, by which they log in to sandboxes over SSH.

Pure. A key is read as OpenSSH writes it, one line of a file `id_….pub` (sshd(8), AUTHORIZED_KEYS
FILE FORMAT; RFC 4253 §6.6, RFC 5656 §3.1, RFC 8709 §4). Options before it are refused: they say
what a server should run, and Atoll's says that itself.
"""

import base64
import binascii
import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NewType

from atoll.domain.errors import Invalid
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.name import printable_name
from atoll.wire.ssh.strings import KEY_STRINGS, Unreadable, read_strings
from atoll.wire.words.people import MAX_KEY_LINE

SshKeyId = NewType("SshKeyId", str)

MIN_RSA_BITS: Final = 2048
MAX_COMMENT: Final = 200

_CURVE_BYTES: Final = {"nistp256": 65, "nistp384": 97, "nistp521": 133}
"""The bytes of an uncompressed point, by curve."""

_ED25519_BYTES: Final = 32
_PLAIN: Final = 4
"""The first byte of a point that is not compressed."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key: its kind, and its body in base64. `comment` is what its owner wrote behind."""

    kind: str
    body: str
    comment: str = ""

    @property
    def line(self) -> str:
        """Return the key as OpenSSH writes it, without its comment."""
        return f"{self.kind} {self.body}"

    @property
    def blob(self) -> bytes:
        """Return the body as bytes."""
        return base64.b64decode(self.body)

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint, as `ssh-keygen -l` prints it."""
        return fingerprint_of(self.blob)


@dataclass(frozen=True, slots=True)
class SshKey:
    """A key that a person added. `used_at` is when somebody last logged in by it. Raises `Invalid`
    for a name that cannot be shown."""

    id: SshKeyId
    org_id: OrgId
    owner: PrincipalId
    name: str
    key: PublicKey
    fingerprint: str
    added_at: datetime
    used_at: datetime | None = None

    def __post_init__(self) -> None:
        printable_name(self.name)


def fingerprint_of(blob: bytes) -> str:
    """Return the fingerprint of a key's body."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def read_public_key(text: str, *, field: str = "key") -> PublicKey:
    """Return the key of a line. Raises `Invalid` for `field`, which says what is wrong."""
    try:
        return _read_line(text.strip())
    except _NoKey as error:
        raise Invalid(f"This is no public key of OpenSSH: {error}.", field=field) from error


class _NoKey(ValueError):
    """Error of a line that is no key; the text says why."""


def _read_line(line: str) -> PublicKey:
    if len(line) > MAX_KEY_LINE:
        raise _NoKey(f"it is longer than {MAX_KEY_LINE} characters")
    if "PRIVATE KEY" in line:
        raise _NoKey("it is a private key, which nobody else should have: send the `.pub` file")
    if "\n" in line or "\r" in line:
        raise _NoKey("it is more than one line")
    kind, body, comment = (*line.split(None, 2), "", "", "")[:3]
    if kind not in KEY_STRINGS:
        raise _NoKey(f"it does not begin with one of: {', '.join(KEY_STRINGS)}")
    try:
        blob = base64.b64decode(body, validate=True)
    except binascii.Error as error:
        raise _NoKey(f"what follows {kind} is no base64") from error
    try:
        parts = read_strings(blob)
    except Unreadable:
        parts = []
    if not _is_of(kind, parts):
        raise _NoKey(f"its body is not that of a key {kind}")
    shown = "".join(each for each in comment if each.isprintable())
    return PublicKey(kind, base64.b64encode(blob).decode(), shown[:MAX_COMMENT])


def _is_of(kind: str, parts: list[bytes]) -> bool:
    """Report whether the parts of a body are those of a kind. Raises `_NoKey` for a short key."""
    if len(parts) != KEY_STRINGS[kind] or parts[0] != kind.encode():
        return False
    if kind == "ssh-rsa":
        bits = int.from_bytes(parts[2], "big").bit_length()
        if bits < MIN_RSA_BITS:
            raise _NoKey(f"RSA of {bits} bits is too short: {MIN_RSA_BITS} at least")
        return True
    if "ed25519" in kind:
        return len(parts[1]) == _ED25519_BYTES
    curve, point = parts[1].decode("ascii", "replace"), parts[2]
    return f"-{curve}" in kind and _CURVE_BYTES.get(curve) == len(point) and point[0] == _PLAIN
