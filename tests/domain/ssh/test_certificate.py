"""Certificates: what one of ours opens, and each way in which one opens nothing."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.ids import PERSONAL_ORG, SandboxId, ShareId
from atoll.domain.people.token import TokenId
from atoll.domain.ssh.certificate import (
    HOST_ALIAS,
    RIGHT,
    SKEW,
    CertificateRequest,
    CertificateRight,
    Issue,
    host_certificate,
    judge_certificate,
    lesser,
    user_certificate,
)
from atoll.domain.ssh.key import read_public_key
from atoll.testing.samples import NOW, OWNER
from atoll.wire.ssh.certificate import FOREVER, Certificate, CertificateUse
from atoll.wire.ssh.strings import Unreadable, pack
from atoll.wire.words.people import MAX_CERTIFICATE_SECONDS, MIN_CERTIFICATE_SECONDS
from atoll.wire.words.terminals import Role
from tests.domain.ssh.test_key import ED25519

KEY = read_public_key(ED25519)
AUTHORITY = pack(b"ssh-ed25519", b"a" * 32)
BOX = SandboxId("sb_1")
RIGHTS = [
    CertificateRight(PERSONAL_ORG, OWNER, Role.OWNER),
    CertificateRight(PERSONAL_ORG, OWNER, Role.CONTROLLER, token_id=TokenId("tok_1")),
    CertificateRight(PERSONAL_ORG, OWNER, Role.VIEWER, share_id=ShareId("sh_1")),
]


def made(right: CertificateRight = RIGHTS[0], *, seconds: int = 600) -> Certificate:
    ends_at = NOW + timedelta(seconds=seconds)
    return user_certificate(KEY, BOX, right, Issue(AUTHORITY, b"n" * 32, 7, NOW, ends_at))


def judge(certificate: Certificate, *, later: timedelta = timedelta()) -> CertificateRight:
    return judge_certificate(certificate, authority=AUTHORITY, sandbox_id=BOX, now=NOW + later)


@pytest.mark.parametrize("right", RIGHTS, ids=["person", "token", "guest"])
def test_certificate_opens_its_sandbox_by_the_right_it_was_made_by(right: CertificateRight) -> None:
    assert judge(made(right)) == right


def test_certificate_holds_from_a_minute_before_until_its_end() -> None:
    certificate = made(seconds=MAX_CERTIFICATE_SECONDS)
    longest = timedelta(seconds=MAX_CERTIFICATE_SECONDS)
    for later in (-SKEW, timedelta(), longest - timedelta(seconds=1)):
        judge(certificate, later=later)
    for later in (-SKEW - timedelta(seconds=1), longest):
        with pytest.raises(Unreadable, match="now"):
            judge(certificate, later=later)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"authority": pack(b"ssh-ed25519", b"b" * 32)}, "authority"),
        ({"use": CertificateUse.HOST}, "user's"),
        ({"principals": ()}, "another sandbox"),
        ({"principals": ("sb_2",)}, "another sandbox"),
        ({"principals": (BOX, "sb_2")}, "another sandbox"),
        ({"valid_before": FOREVER}, "longer"),
        ({"valid_after": 0}, "longer"),
        ({"critical": (("force-command", b"id"),)}, "option"),
        ({"extensions": ()}, "right"),
        ({"extensions": ((RIGHT, b""),)}, "right"),
        ({"extensions": ((RIGHT, pack(b"o", b"p", b"root", b"", b"")),)}, "right"),
        ({"extensions": ((RIGHT, pack(b"o", b"p", b"owner", b"")),)}, "right"),
        ({"extensions": ((RIGHT, b"\xff\xff\xff\xff"),)}, "cut off"),
    ],
)
def test_certificate_that_is_not_one_of_ours_opens_nothing(
    fields: dict[str, Any], why: str
) -> None:
    with pytest.raises(Unreadable, match=why):
        judge(replace(made(), **fields))


@pytest.mark.parametrize("seconds", [0, MIN_CERTIFICATE_SECONDS - 1, MAX_CERTIFICATE_SECONDS + 1])
def test_life_beyond_its_bounds_is_refused(seconds: int) -> None:
    with pytest.raises(Invalid) as refused:
        CertificateRequest(KEY, seconds)
    assert refused.value.field == "ttl"
    assert CertificateRequest(KEY, MAX_CERTIFICATE_SECONDS).key == KEY


def test_host_certificate_holds_for_the_alias_and_opens_nothing() -> None:
    host = host_certificate(KEY, authority=AUTHORITY, nonce=b"n", names=("box.example",))
    assert host.principals == (HOST_ALIAS, "box.example") and host.use is CertificateUse.HOST
    with pytest.raises(Unreadable):
        judge(host)


@pytest.mark.parametrize(
    ("one", "other", "less"),
    [
        (Role.OWNER, Role.VIEWER, Role.VIEWER),
        (Role.CONTROLLER, Role.OWNER, Role.CONTROLLER),
        (Role.VIEWER, Role.VIEWER, Role.VIEWER),
    ],
)
def test_lesser_role_is_the_one_that_allows_less(one: Role, other: Role, less: Role) -> None:
    assert lesser(one, other) is less
