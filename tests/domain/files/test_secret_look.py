"""Which files look as if they held a secret."""

import pytest

from atoll.domain.files.secret_look import MAX_VARIABLES, secret_reason, secret_variables


@pytest.mark.parametrize(
    ("path", "data"),
    [
        (".ssh/config", b""),
        ("a/id_ed25519", b""),
        ("a/ID_RSA", b""),
        ("tls/server.KEY", b""),
        (".env", b"export OPENAI_API_KEY = 'sk-x'\n"),
        (".env", b"DATABASE_URL=postgres://u:p@h/d"),
        (".env", b"A=1\r\nDB_PASSWORD=hunter2\r\n"),
        ("notes", b"-----BEGIN OPENSSH PRIVATE KEY-----\n"),
        ("notes", b"use ghp_0123456789abcdefghijKLMN please"),
        (".npmrc", b"//registry.npmjs.org/:_authToken=x"),
    ],
)
def test_file_that_looks_like_a_secret_says_why(path: str, data: bytes) -> None:
    assert secret_reason(path, data)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("config/dev.json", b'{"port": 1}'),
        (".env", b"NODE_ENV=development\nAPI_KEY=\nTOKEN=''\nMONKEY=x\n"),
        ("keys.md", b"how to use keys"),
    ],
)
def test_plain_file_does_not(path: str, data: bytes) -> None:
    assert secret_reason(path, data) is None


def test_variables_come_without_quotes_and_bounded() -> None:
    assert secret_variables(b"A_TOKEN=\"x y\"\nB_KEY='z'\nC=1\nD_KEY=\xff\n") == (
        ("A_TOKEN", "x y"),
        ("B_KEY", "z"),
    )
    many = b"".join(b"K%d_KEY=x\n" % number for number in range(50))
    assert len(secret_variables(many)) == MAX_VARIABLES
