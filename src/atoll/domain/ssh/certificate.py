"""Certificates by which somebody logs in to one sandbox for a while.

Pure. A certificate is of a person's or a guest's own key, and names one sandbox as its principal.
It says by which right it was made: as a person, by a token of theirs, or by a share link. What that
right allows is looked up at each login, so what was revoked makes its certificates worthless.
`wire.ssh.certificate` has the bytes; whether the signature is right is the signer's to say.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from atoll.domain.errors import Invalid
from atoll.domain.ids import OrgId, PrincipalId, SandboxId, ShareId
from atoll.domain.people.token import TokenId
from atoll.domain.ssh.key import PublicKey
from atoll.wire.ssh.certificate import (
    FOREVER,
    Certificate,
    CertificateUse,
)
from atoll.wire.ssh.strings import Unreadable, pack, read_strings
from atoll.wire.words.people import MAX_CERTIFICATE_SECONDS, MIN_CERTIFICATE_SECONDS
from atoll.wire.words.terminals import Role

HOST_ALIAS: Final = "atoll"
"""The name of every gateway in its host certificate: a client checks it as `HostKeyAlias`."""

SKEW: Final = timedelta(minutes=1)
"""The time by which the clock of a gateway may be behind."""

RIGHT: Final = "right@atoll.dev"
"""The extension that says by which right a certificate was made."""

_ALLOWED: Final = ("permit-port-forwarding", "permit-pty")
_RANKS: Final = (Role.VIEWER, Role.CONTROLLER, Role.OWNER)


@dataclass(frozen=True, slots=True)
class CertificateRight:
    """The right by which a certificate was made: of a person, by a token of theirs or by a share
    link as a guest. `role` is the most that it gives at the sandbox's terminals."""

    org_id: OrgId
    person: PrincipalId
    role: Role
    token_id: TokenId | None = None
    share_id: ShareId | None = None


@dataclass(frozen=True, slots=True)
class CertificateRequest:
    """A request for a certificate of a key. Raises `Invalid` for a life that is too short or too
    long."""

    key: PublicKey
    seconds: int

    def __post_init__(self) -> None:
        if not MIN_CERTIFICATE_SECONDS <= self.seconds <= MAX_CERTIFICATE_SECONDS:
            raise Invalid("a certificate lives between 5 minutes and 8 hours", field="ttl")


@dataclass(frozen=True, slots=True)
class Issue:
    """The data of a new certificate that are not its right: `nonce` and `serial` are random."""

    authority: bytes
    nonce: bytes
    serial: int
    now: datetime
    ends_at: datetime


def user_certificate(
    key: PublicKey, sandbox_id: SandboxId, right: CertificateRight, issue: Issue
) -> Certificate:
    """Return the certificate of a key for one sandbox, to be signed."""
    return Certificate(
        key=key.blob,
        authority=issue.authority,
        nonce=issue.nonce,
        serial=issue.serial,
        use=CertificateUse.USER,
        key_id=f"{right.role} of {sandbox_id}",
        principals=(sandbox_id,),
        valid_after=int((issue.now - SKEW).timestamp()),
        valid_before=int(issue.ends_at.timestamp()),
        extensions=(*((name, b"") for name in _ALLOWED), (RIGHT, _write_right(right))),
    )


def host_certificate(
    key: PublicKey, *, authority: bytes, nonce: bytes, names: tuple[str, ...] = ()
) -> Certificate:
    """Return the certificate of the gateway's own key, to be signed. It holds for `HOST_ALIAS` and
    `names`, since a client compares principals of hosts letter by letter, and does not end."""
    return Certificate(
        key=key.blob,
        authority=authority,
        nonce=nonce,
        serial=0,
        use=CertificateUse.HOST,
        key_id="Atoll's SSH gateway",
        principals=(HOST_ALIAS, *names),
        valid_after=0,
        valid_before=FOREVER,
    )


def judge_certificate(
    certificate: Certificate, *, authority: bytes, sandbox_id: SandboxId, now: datetime
) -> CertificateRight:
    """Return the right by which a certificate opens a sandbox, for a signature that was found
    right. Raises `Unreadable` with the reason, which is for logs: whoever presents it is refused
    like anybody else."""
    if certificate.authority != authority:
        raise Unreadable("it is signed by another authority")
    if certificate.use is not CertificateUse.USER:
        raise Unreadable("it is no user's")
    if certificate.principals != (sandbox_id,):
        raise Unreadable("it is of another sandbox")
    at = int(now.timestamp())
    if not certificate.valid_after <= at < certificate.valid_before:
        raise Unreadable("it does not hold now")
    longest = MAX_CERTIFICATE_SECONDS + int(SKEW.total_seconds())
    if certificate.valid_before - certificate.valid_after > longest:
        raise Unreadable("it lives longer than any of ours")
    if certificate.critical:
        raise Unreadable("it has an option that nobody here heeds")
    return _read_right(dict(certificate.extensions).get(RIGHT, b""))


def lesser(first: Role, other: Role) -> Role:
    """Return the role of two that allows less."""
    return min(first, other, key=_RANKS.index)


def _write_right(right: CertificateRight) -> bytes:
    words = (right.org_id, right.person, right.role, right.token_id or "", right.share_id or "")
    return pack(*(word.encode() for word in words))


def _read_right(data: bytes) -> CertificateRight:
    match [part.decode("utf-8", "replace") for part in read_strings(data)]:
        case [org_id, person, role, token_id, share_id] if role in list(Role):
            return CertificateRight(
                OrgId(org_id),
                PrincipalId(person),
                Role(role),
                TokenId(token_id) if token_id else None,
                ShareId(share_id) if share_id else None,
            )
        case _:
            raise Unreadable("it does not say by which right it was made")
