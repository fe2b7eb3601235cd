"""Certificates of OpenSSH as bytes: what is written is what `ssh-keygen` reads, and nothing else is
read."""

import base64
import contextlib
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.adapters.auth.ssh_signer import Ed25519SshSigner
from atoll.wire.ssh.certificate import (
    FOREVER,
    MAX_CERTIFICATE_BYTES,
    Certificate,
    CertificateUse,
    add_signature,
    certificate_kind,
    read_certificate,
    write_certificate,
)
from atoll.wire.ssh.strings import Unreadable, pack, read_strings

KEY = pack(b"ssh-ed25519", b"k" * 32)
AUTHORITY = pack(b"ssh-ed25519", b"a" * 32)
CERTIFICATE = Certificate(
    key=KEY,
    authority=AUTHORITY,
    nonce=b"n" * 32,
    serial=7,
    use=CertificateUse.USER,
    key_id="controller of sb_1",
    principals=("sb_1",),
    valid_after=100,
    valid_before=200,
    critical=(("force-command", b"true"),),
    extensions=(("permit-pty", b""), ("right@atoll.dev", b"words")),
)
SIGNATURE = b"s" * 64
BLOB = add_signature(write_certificate(CERTIFICATE), SIGNATURE)


@pytest.mark.parametrize(
    "key",
    [
        KEY,
        pack(b"sk-ssh-ed25519@openssh.com", b"k" * 32, b"ssh:"),
        pack(b"ecdsa-sha2-nistp256", b"nistp256", b"\4" * 65),
        pack(b"sk-ecdsa-sha2-nistp256@openssh.com", b"nistp256", b"\4" * 65, b"ssh:"),
        pack(b"ssh-rsa", b"\1\0\1", b"\1" * 256),
    ],
    ids=lambda key: read_strings(key)[0].decode(),
)
def test_certificate_is_read_as_it_was_written(key: bytes) -> None:
    certificate = replace(CERTIFICATE, key=key)
    signed = write_certificate(certificate)
    read = read_certificate(add_signature(signed, SIGNATURE))
    assert (read.certificate, read.signed, read.signature) == (certificate, signed, SIGNATURE)
    kind = read_strings(signed[: 4 + int.from_bytes(signed[:4], "big")])[0].decode()
    assert kind == certificate_kind(read_strings(key)[0].decode())


def test_openssh_reads_what_is_written(tmp_path: Path) -> None:
    file = tmp_path / "id-cert.pub"
    signer = Ed25519SshSigner()
    pair = signer.make()
    authority = base64.b64decode(pair.public.split()[1])
    certificate = replace(CERTIFICATE, authority=authority, valid_before=FOREVER)
    signed = write_certificate(certificate)
    blob = add_signature(signed, signer.sign(pair.private, signed))
    kind = "ssh-ed25519-cert-v01@openssh.com"
    file.write_text(f"{kind} {base64.b64encode(blob).decode()}\n")
    shown = subprocess.run(["ssh-keygen", "-L", "-f", file], capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    for words in ("user certificate", "controller of sb_1", "Serial: 7", "sb_1", "permit-pty"):
        assert words in shown.stdout


def changed(**fields: object) -> bytes:
    return add_signature(write_certificate(replace(CERTIFICATE, **fields)), SIGNATURE)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("blob", "why"),
    [
        (b"", "cut off"),
        (BLOB[:-1], "cut off"),
        (BLOB + b"\0", "two ways"),
        (b"\xff\xff\xff\xff", "cut off"),
        (BLOB + bytes(MAX_CERTIFICATE_BYTES), "too large"),
        (pack(b"ssh-ed25519", b"k" * 32), "no kind"),
        (pack(b"ssh-dss-cert-v01@openssh.com") + BLOB, "no kind"),
        (write_certificate(CERTIFICATE) + pack(pack(b"ssh-rsa", b"s" * 64)), "Ed25519"),
        (write_certificate(CERTIFICATE) + pack(pack(b"ssh-ed25519")), "Ed25519"),
        (BLOB.replace(b"\0\0\0\1\0\0\0\x12", b"\0\0\0\3\0\0\0\x12"), "neither"),
        (changed(key_id="a\nb"), "shown"),
        (changed(principals=("sb_1\0",)), "shown"),
        (changed(critical=(("a", b"1"), ("a", b"2"))), "twice"),
    ],
)
def test_what_is_no_certificate_is_not_read(blob: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read_certificate(blob)


def test_options_out_of_order_are_not_read() -> None:
    one, two = pack(b"a", b""), pack(b"b", b"")
    blob = changed(extensions=(("a", b""), ("b", b"")))
    with pytest.raises(Unreadable, match="two ways"):
        read_certificate(blob.replace(one + two, two + one))


@given(st.binary(max_size=400))
def test_no_bytes_break_the_reader(blob: bytes) -> None:
    with pytest.raises(Unreadable):
        read_certificate(blob)
    with contextlib.suppress(Unreadable):
        read_strings(blob)


@given(st.integers(0, len(BLOB) - 1), st.integers(1, 255))
def test_flipped_byte_is_another_certificate_or_none(at: int, by: int) -> None:
    blob = bytearray(BLOB)
    blob[at] ^= by
    try:
        read = read_certificate(bytes(blob))
    except Unreadable:
        return
    assert add_signature(read.signed, read.signature) == bytes(blob)
    assert read.signed != write_certificate(CERTIFICATE) or read.signature != SIGNATURE
