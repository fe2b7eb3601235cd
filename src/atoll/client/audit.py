"""The audit log over the API, and the verification of an export without a server."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields as fields_of
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from atoll.client.fields import Json
from atoll.client.transport import Transport, get
from atoll.domain.errors import Invalid

if TYPE_CHECKING:
    from atoll.domain.audit import Checkpoint

T = TypeVar("T")


def export_lines(transport: Transport) -> Iterator[bytes]:
    """Yield the lines of an export. Raises `Unavailable` when it breaks off."""
    with transport.open(get("audit", "export")) as stream:
        yield from stream.lines()


class Export(NamedTuple):
    """The outcome of following an export: its entries that hold, its newest one, its public key,
    and what is wrong, None when all holds."""

    entries: int
    n: int
    hash: str
    public_key: str
    wrong: str | None


def verify_export(lines: Iterable[bytes], *, public_key: str | None = None) -> Export:
    """Follow an export. `public_key` is the one that is known from elsewhere; without it the
    export's own is believed. Raises `Invalid` for what is no export."""
    from atoll.domain import audit as chain

    rest = iter(lines)
    head = _read_object(next(rest, b""))
    if not {"org_id", "checkpoint", "public_key"} <= head.keys():
        raise Invalid("this is no export of an audit log: its first line is missing")
    key = public_key or str(head["public_key"])
    begin = _checkpoint(head["checkpoint"])
    if begin is not None and not _is_signed(begin, key):
        wrong = "the checkpoint is not signed by this key: it was replaced, or the key is another"
        return Export(0, begin.n, begin.hash, key, wrong)
    entries = (_convert(chain.AuditEntry, _read_object(line)) for line in rest if line)
    outcome = chain.verify(entries, begin, org_id=head["org_id"])  # type: ignore[arg-type]
    return Export(outcome.entries, outcome.n, outcome.hash, key, outcome.wrong)


def _checkpoint(value: Json) -> "Checkpoint | None":
    from atoll.domain.audit import Checkpoint

    if value is None:
        return None
    if not isinstance(value, dict):
        raise Invalid("this is no export of an audit log: its checkpoint is damaged")
    return _convert(Checkpoint, value)


def _is_signed(checkpoint: "Checkpoint", key: str) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from atoll.domain.audit import signed_bytes

    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(bytes.fromhex(checkpoint.signature), signed_bytes(checkpoint))
    except (InvalidSignature, ValueError):
        return False
    return True


def _read_object(line: bytes) -> dict[str, Json]:
    """Return the object of an exported line. Raises `Invalid`."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Invalid("this is no export of an audit log: a line is not JSON") from error
    if not isinstance(document, dict):
        raise Invalid("this is no export of an audit log: a line is not an object")
    return document


def _convert(kind: type[T], value: dict[str, Json]) -> T:
    names = [field.name for field in fields_of(kind)]  # type: ignore[arg-type]
    strings = [name for name in names if name not in ("n", "reason", "payload")]
    fits = value.keys() == set(names) and all(isinstance(value[name], str) for name in strings)
    if not fits or type(value["n"]) is not int:
        raise Invalid("this is no export of an audit log: a line has other fields")
    return kind(**value)
