"""Certificates of OpenSSH, version 1 (PROTOCOL.certkeys), signed by an Ed25519 key.

Written and read strictly: what is read is written again byte for byte, so no certificate reads in
two ways. No signature is checked here.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from atoll.wire.ssh.strings import KEY_STRINGS, Reader, Unreadable, pack, pack_all, read_strings

MAX_CERTIFICATE_BYTES: Final = 16 * 1024
FOREVER: Final = 2**64 - 1
"""The end of a certificate that does not end."""

AUTHORITY_KIND: Final = "ssh-ed25519"
_SUFFIX: Final = "-cert-v01@openssh.com"
_VENDOR: Final = "@openssh.com"

_Options = tuple[tuple[str, bytes], ...]


class CertificateUse(IntEnum):
    """The party that a certificate is of."""

    USER = 1
    HOST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A certificate without its signature. `key` is the public key that it is of, and `authority`
    that of its signer, both as blobs. Times are seconds since 1970, `valid_before` the first at
    which it does not hold. Options are by name, in the order of names; each has its data, or none.
    """

    key: bytes
    authority: bytes
    nonce: bytes = field(repr=False)
    serial: int
    use: CertificateUse
    key_id: str
    principals: tuple[str, ...]
    valid_after: int
    valid_before: int
    critical: _Options = ()
    extensions: _Options = ()


@dataclass(frozen=True, slots=True)
class SignedCertificate:
    """A certificate as it was presented: what was signed, and by which signature of 64 bytes."""

    certificate: Certificate
    signed: bytes = field(repr=False)
    signature: bytes = field(repr=False)


def certificate_kind(key_kind: str) -> str:
    """Return the kind of a certificate of a key of this kind."""
    return key_kind.removesuffix(_VENDOR) + _SUFFIX


_KEY_KINDS: Final = {certificate_kind(kind): kind for kind in KEY_STRINGS}


def write_certificate(certificate: Certificate) -> bytes:
    """Return the bytes that are to be signed."""
    kind, *parts = read_strings(certificate.key)
    return b"".join(
        (
            pack(certificate_kind(kind.decode()).encode(), certificate.nonce, *parts),
            certificate.serial.to_bytes(8, "big"),
            certificate.use.to_bytes(4, "big"),
            pack(certificate.key_id.encode()),
            pack_all(name.encode() for name in certificate.principals),
            certificate.valid_after.to_bytes(8, "big"),
            certificate.valid_before.to_bytes(8, "big"),
            _write_options(certificate.critical),
            _write_options(certificate.extensions),
            pack(b""),
            pack(certificate.authority),
        )
    )


def add_signature(signed: bytes, signature: bytes) -> bytes:
    """Return a whole certificate: what was signed, and the signature of an Ed25519 key."""
    return signed + pack(pack(AUTHORITY_KIND.encode(), signature))


def read_certificate(blob: bytes) -> SignedCertificate:
    """Return the certificate of some bytes. Raises `Unreadable`."""
    if len(blob) > MAX_CERTIFICATE_BYTES:
        raise Unreadable("it is too large")
    reader = Reader(blob)
    certificate = _read_signed(reader)
    signed = blob[: reader.at]
    match read_strings(reader.string()):
        case [kind, signature] if kind == AUTHORITY_KIND.encode():
            whole = SignedCertificate(certificate, signed, signature)
        case _:
            raise Unreadable("it is not signed by Ed25519")
    if reader.rest() or write_certificate(certificate) != signed:
        raise Unreadable("it reads in two ways")
    return whole


def _read_signed(reader: Reader) -> Certificate:
    kind = _KEY_KINDS.get(reader.text())
    if kind is None:
        raise Unreadable("it is of no kind that is known")
    nonce = reader.string()
    parts = [reader.string() for _ in range(KEY_STRINGS[kind] - 1)]
    serial, use = reader.number(8), reader.number(4)
    if use not in list(CertificateUse):
        raise Unreadable("it is neither of a user nor of a host")
    key_id, names = reader.text(), Reader(reader.string())
    principals: list[str] = []
    while names.rest():
        principals.append(names.text())
    after, before = reader.number(8), reader.number(8)
    critical, extensions = _read_options(reader), _read_options(reader)
    reader.string()
    return Certificate(
        key=pack(kind.encode(), *parts),
        authority=reader.string(),
        nonce=nonce,
        serial=serial,
        use=CertificateUse(use),
        key_id=key_id,
        principals=tuple(principals),
        valid_after=after,
        valid_before=before,
        critical=critical,
        extensions=extensions,
    )


def _write_options(options: _Options) -> bytes:
    return pack_all(
        part
        for name, data in sorted(options)
        for part in (name.encode(), pack(data) if data else b"")
    )


def _read_options(reader: Reader) -> _Options:
    inner = Reader(reader.string())
    options: dict[str, bytes] = {}
    while inner.rest():
        name, data = inner.text(), inner.string()
        if name in options:
            raise Unreadable("an option is in it twice")
        options[name] = Reader(data).string() if data else b""
    return tuple(options.items())
