"""Public keys as OpenSSH writes them, and what is none."""

import base64
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Invalid
from atoll.domain.ids import PERSONAL_ORG
from atoll.domain.ssh.key import SshKey, SshKeyId, read_public_key
from atoll.testing.samples import NOW, OWNER
from atoll.wire.words.people import MAX_KEY_LINE

POINT = b"\4" + bytes(64)


def body(*parts: bytes) -> str:
    blob = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return base64.b64encode(blob).decode()


def line(kind: str, *parts: bytes) -> str:
    return f"{kind} {body(kind.encode(), *parts)}"


ED25519 = line("ssh-ed25519", bytes(32))


@pytest.mark.parametrize(
    "words",
    [
        ("-t", "ed25519"),
        ("-t", "rsa", "-b", "2048"),
        ("-t", "ecdsa", "-b", "256"),
        ("-t", "ecdsa", "-b", "384"),
        ("-t", "ecdsa", "-b", "521"),
    ],
    ids=" ".join,
)
def test_key_of_openssh_is_read_with_its_own_fingerprint(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "id"
    subprocess.run(
        ["ssh-keygen", "-q", "-N", "", "-C", "ann@laptop", "-f", file, *words], check=True
    )
    printed = subprocess.run(
        ["ssh-keygen", "-l", "-f", file], capture_output=True, text=True, check=True
    )
    written = (tmp_path / "id.pub").read_text()
    key = read_public_key(written)
    assert key.fingerprint == printed.stdout.split()[1]
    assert f"{key.line} {key.comment}\n" == written


@pytest.mark.parametrize(
    "text",
    [
        line("sk-ssh-ed25519@openssh.com", bytes(32), b"ssh:"),
        line("sk-ecdsa-sha2-nistp256@openssh.com", b"nistp256", POINT, b"ssh:"),
    ],
    ids=["ed25519", "ecdsa"],
)
def test_key_in_a_token_is_read(text: str) -> None:
    assert read_public_key(f"  {text}  \n").line == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "does not begin"),
        ("ssh-dss AAAA", "does not begin"),
        (f'command="id" {ED25519}', "does not begin"),
        ("ssh-ed25519", "body"),
        ("ssh-ed25519 not*base64", "no base64"),
        (f"{ED25519}\n{ED25519}", "more than one line"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA", "private key"),
        ("x" * (MAX_KEY_LINE + 1), "longer"),
        (f"ssh-ed25519 {body(b'ssh-rsa', bytes(32))}", "body"),
        (line("ssh-ed25519", bytes(31)), "body"),
        (line("ssh-ed25519", bytes(32), b"more"), "body"),
        (f"ssh-ed25519 {base64.b64encode(bytes.fromhex('ffffffff')).decode()}", "body"),
        (line("ssh-rsa", b"\1\0\1", b"\1" + bytes(127)), "too short"),
        (line("ecdsa-sha2-nistp256", b"nistp384", POINT), "body"),
        (line("ecdsa-sha2-nistp256", b"nistp256", b"\2" + bytes(64)), "body"),
        (line("ecdsa-sha2-nistp256", b"\xff", POINT), "body"),
    ],
)
def test_what_is_no_key_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(Invalid, match=why) as refused:
        read_public_key(text)
    assert refused.value.field == "key"


@given(st.text(max_size=80))
def test_comment_is_text_that_can_be_shown(comment: str) -> None:
    text = f"{ED25519} {comment}"
    try:
        key = read_public_key(text)
    except Invalid:
        assert len(text.splitlines()) > 1 or "PRIVATE KEY" in text
    else:
        assert key.comment == "" or key.comment.isprintable()


def test_name_of_a_key_can_be_shown() -> None:
    key = read_public_key(ED25519)
    with pytest.raises(Invalid):
        SshKey(SshKeyId("k"), PERSONAL_ORG, OWNER, "a\nb", key, key.fingerprint, NOW)
