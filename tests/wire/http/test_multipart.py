from email import message_from_bytes
from email.policy import HTTP

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.http.multipart import (
    MAX_HEAD_BYTES,
    MAX_PARTS,
    MAX_PREAMBLE_BYTES,
    BadMultipart,
    Multipart,
    PartBegan,
    PartEnded,
    read_boundary,
)

B = b"----WebKitFormBoundaryx1"
Part = tuple[PartBegan, bytes]


def part(disposition: str, data: bytes, *more: str) -> bytes:
    head = "".join(f"{line}\r\n" for line in (f"Content-Disposition: {disposition}", *more))
    return b"--%b\r\n%b\r\n%b\r\n" % (B, head.encode(), data)


END = b"--%b--\r\n" % B


def read(body: bytes, step: int = 1 << 20) -> list[Part]:
    """The parts of a whole body that arrives in pieces of `step` bytes."""
    form = Multipart(B)
    parts: list[Part] = []
    ended = 0
    for at in range(0, len(body), step):
        for event in form.feed(body[at : at + step]):
            match event:
                case PartBegan():
                    parts.append((event, b""))
                case PartEnded():
                    ended += 1
                case bytes():
                    parts[-1] = (parts[-1][0], parts[-1][1] + event)
    assert form.done and ended == len(parts)
    return parts


@pytest.mark.parametrize("step", [1, 2, 3, 7, 64, 1 << 20])
def test_body_arriving_in_any_pieces_is_read_alike(step: int) -> None:
    tricky = b"\r\n--" + B[:-1] + b"\r\n\r\n-\r\n" + bytes(range(256))
    body = (
        part('form-data; name="file"; filename="a.bin"', tricky, "Content-Type: text/plain")
        + part('form-data; name="empty"; filename="b"', b"")
        + part("form-data; name=note", b"plain")
        + END
        + b"what follows is dropped"
    )
    assert read(body, step) == [
        (PartBegan("file", "a.bin"), tricky),
        (PartBegan("empty", "b"), b""),
        (PartBegan("note", None), b"plain"),
    ]


@given(st.lists(st.binary(max_size=200), max_size=4), st.integers(1, 50))
def test_every_body_comes_back_whole(bodies: list[bytes], step: int) -> None:
    delimiter = b"\r\n--" + B
    bodies = [data for data in bodies if delimiter not in data]
    whole = b"".join(part('form-data; name="f"; filename="x"', data) for data in bodies)
    assert [data for _, data in read(whole + END, step)] == bodies


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('name="f"; filename="plain.txt"', "plain.txt"),
        ('name="f"; filename="./../e"', "./../e"),
        ('name="f"; filename="a\\"b"', 'a"b'),
        ('name="f"; filename="a%22b"', 'a"b'),
        ('name="f"; filename="C:\\dir\\x"', "C:\\dir\\x"),
        ('name="f"; filename="two; words.txt"', "two; words.txt"),
        ('name="f"; filename="ä😀"', "ä😀"),
        ('name="f"; filename=""', ""),
        ("name=f; filename=bare", "bare"),
        ("name=f; filename*=UTF-8''%c3%a4%20b", "ä b"),
        ("name=f; filename=plain; filename*=UTF-8''other", "plain"),
    ],
)
def test_file_name_is_read_as_the_client_meant_it(written: str, meant: str) -> None:
    assert read(part(f"form-data; {written}", b"") + END)[0][0].filename == meant


@pytest.mark.parametrize(
    "disposition",
    [
        "attachment; name=f",
        "form-data",
        "form-data; filename=x",
        "form-data; name=a; name=b",
        'form-data; name="open',
        "form-data; name=f; filename*=latin-1''x",
        "form-data; name=f; filename*=UTF-8''%ff",
        "form-data; name=f x",
    ],
)
def test_disposition_that_is_malformed_is_refused(disposition: str) -> None:
    with pytest.raises(BadMultipart):
        Multipart(B).feed(part(disposition, b"") + END)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"x" * (MAX_PREAMBLE_BYTES + 100), "boundary"),
        (b"x" * (MAX_PREAMBLE_BYTES + 1) + b"\r\n--" + B, "boundary"),
        (b"--" + B + b"yz", "within"),
        (b"--" + B + b"\r\n\r\nno head", "Content-Disposition"),
        (b"--" + B + b"\r\n" + b"a" * (MAX_HEAD_BYTES + 100), "larger"),
        (b"--" + B + b"\r\n" + b"a" * (MAX_HEAD_BYTES + 9) + b"\r\n\r\n", "larger"),
        (b"--" + B + b"\r\nContent-Disposition: \xff\r\n\r\n", "UTF-8"),
        (part("form-data; name=f", b"", "Content-Disposition: form-data; name=g"), "several"),
        (part("form-data; name=f", b"", "Content-Transfer-Encoding: base64"), "Encoding"),
        (part("form-data; name=f", b"") * (MAX_PARTS + 1), "parts"),
    ],
)
def test_body_that_is_malformed_or_out_of_bounds_is_refused(body: bytes, why: str) -> None:
    with pytest.raises(BadMultipart, match=why):
        Multipart(B).feed(body)


def test_plain_transfer_encoding_is_accepted() -> None:
    body = part("form-data; name=f; filename=x", b"data", "Content-Transfer-Encoding: Binary")
    assert read(body + END) == [(PartBegan("f", "x"), b"data")]


def test_body_that_ends_early_is_not_done() -> None:
    form = Multipart(B)
    form.feed(part("form-data; name=f; filename=x", b"data"))
    assert not form.done


def test_file_of_many_megabytes_holds_no_more_than_a_delimiter() -> None:
    form = Multipart(B)
    form.feed(part("form-data; name=f; filename=x", b"")[: -len(b"\r\n")])
    for _ in range(64):
        got = b"".join(event for event in form.feed(b"z" * 65536) if isinstance(event, bytes))
        assert len(got) > 65536 - len(B) - 8


@pytest.mark.parametrize(
    ("header", "boundary"),
    [
        ("application/octet-stream", None),
        ("", None),
        ("multipart/form-data; boundary=abc", b"abc"),
        ('Multipart/Form-Data ; charset=utf-8; boundary="a b"', b"a b"),
    ],
)
def test_boundary_is_read_from_the_content_type(header: str, boundary: bytes | None) -> None:
    assert read_boundary(header) == boundary


@pytest.mark.parametrize(
    "header",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=" + "a" * 71,
        'multipart/form-data; boundary="a "',
        "multipart/form-data; boundary=a; boundary=b",
    ],
)
def test_boundary_that_cannot_be_one_is_refused(header: str) -> None:
    with pytest.raises(BadMultipart):
        read_boundary(header)


def test_standard_library_reads_the_same_part() -> None:
    body = part('form-data; name="f"; filename="x"', b"one\r\ntwo") + END
    head = b"Content-Type: multipart/form-data; boundary=%b\r\n\r\n" % B
    (read_there,) = message_from_bytes(head + body, policy=HTTP).iter_parts()
    assert read(body)[0][1] == read_there.get_payload(decode=True)
