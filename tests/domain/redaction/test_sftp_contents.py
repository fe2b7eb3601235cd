"""Contents of files among the messages of an SFTP server, however they are cut."""

import pytest

from atoll.domain.redaction.sftp_contents import SftpContents


def message(kind: int, body: bytes) -> bytes:
    return (len(body) + 1).to_bytes(4, "big") + bytes([kind]) + body


def contents(data: bytes) -> bytes:
    return message(103, bytes(4) + len(data).to_bytes(4, "big") + data)


STREAM = b"".join(
    (
        message(2, b"\0\0\0\3"),
        message(102, b"\0\0\0\1handle"),
        contents(b"a sec"),
        message(101, b"status"),
        contents(b"ret\0"),
        contents(b""),
        message(103, b"cut"),
        bytes(5),
        contents(b" end"),
    )
)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 1000])
def test_contents_are_one_text_however_they_are_cut(size: int) -> None:
    reader = SftpContents()
    pieces = [STREAM[start : start + size] for start in range(0, len(STREAM), size)]
    assert b"".join(map(reader.feed, pieces)) == b"a secret\0 end"
