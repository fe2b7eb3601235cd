"""The reporter's element: in which documents it stands, where there, and that it holds little."""

import pytest

from atoll.domain.previews.head import Headers
from atoll.domain.previews.reporter import (
    ELEMENT,
    MAX_BEFORE,
    MOST_PIECES,
    DocumentWriter,
    document_headers,
    takes_reporter,
    wants_reporter,
    whole_document,
)

FRAME = ((b"sec-fetch-dest", b"iframe"), (b"sec-fetch-mode", b"navigate"))
HTML = ((b"content-type", b"text/html; charset=utf-8"),)
E = ELEMENT.decode()


def written(document: bytes, size: int | None = None) -> bytes:
    """A document that came in pieces of this size."""
    writer = DocumentWriter()
    step = size or max(1, len(document))
    sent = [writer.write(document[at : at + step]) for at in range(0, len(document), step)]
    return b"".join((*sent, writer.end()))


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", ()),
        ("GET", ((b"sec-fetch-dest", b"document"), (b"sec-fetch-mode", b"navigate"))),
        ("GET", ((b"sec-fetch-dest", b"empty"), (b"sec-fetch-mode", b"cors"))),
        ("GET", ((b"sec-fetch-dest", b"iframe"), (b"sec-fetch-mode", b"no-cors"))),
        ("GET", (*FRAME, (b"upgrade", b"websocket"))),
        ("HEAD", FRAME),
        ("POST", FRAME),
    ],
)
def test_request_for_anything_but_the_document_of_a_frame_wants_none(
    method: str, headers: Headers
) -> None:
    assert not wants_reporter(method, headers)
    assert wants_reporter("GET", FRAME)


def test_document_is_asked_for_whole_and_uncompressed() -> None:
    asked = ((b"accept-encoding", b"gzip, br"), (b"range", b"bytes=0-9"), (b"if-none-match", b"x"))
    assert whole_document((*asked, (b"accept", b"text/html"))) == (
        (b"accept", b"text/html"),
        (b"accept-encoding", b"identity"),
    )


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, HTML),
        (404, HTML),
        (500, ((b"content-type", b"Text/HTML"),)),
        (200, (*HTML, (b"content-encoding", b"Identity"))),
        (200, (*HTML, (b"content-disposition", b"inline"))),
    ],
)
def test_page_takes_the_element(status: int, headers: Headers) -> None:
    assert takes_reporter(status, headers)


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, ()),
        (200, (*HTML, *HTML)),
        *((status, HTML) for status in (204, 205, 206, 301, 304)),
        (200, ((b"content-type", b"text/html-sandboxed"),)),
        (200, ((b"content-type", b"application/json"),)),
        (200, ((b"content-type", b"application/xhtml+xml"),)),
        (200, ((b"content-type", b"text/html; charset=UTF-16LE"),)),
        (200, ((b"content-type", b'text/html; charset = "utf16"'),)),
        (200, (*HTML, (b"content-encoding", b"gzip"))),
        (200, (*HTML, (b"content-encoding", b"identity"), (b"content-encoding", b"br"))),
        (200, (*HTML, (b"cache-control", b"private, No-Transform"))),
        (200, (*HTML, (b"content-disposition", b" Attachment; filename=a.html"))),
    ],
)
def test_answer_that_is_no_plain_page_stays_as_it_is(status: int, headers: Headers) -> None:
    assert not takes_reporter(status, headers)


def test_nobody_keeps_a_document_with_the_element() -> None:
    policy = (b"content-security-policy", b"script-src 'none'")
    kept = (
        *((b"etag", b"x"), (b"cache-control", b"public, max-age=9"), (b"content-length", b"9")),
        *((b"last-modified", b"x"), (b"accept-ranges", b"bytes"), (b"digest", b"x")),
    )
    # Above all its policy stays as it was.
    expected = (*HTML, policy, (b"cache-control", b"no-store"))
    assert document_headers((*HTML, *kept, policy)) == expected


PLACES = [
    f"<!doctype html><html><head>{E}<title>x</title></head>",
    f"\ufeff<!DOCTYPE html>\n<HTML lang='a>b' data-x=\"</head>\"><HEAD class=a>{E}<meta>",
    f"<!-- a > b --><!--><!---><!-- x --!><!doctype html><head\n>{E}<title>x</title>",
    f"<?xml version='1.0'?><!doctype html>{E}<title>no head of its own</title>",
    f"<!doctype html><html>{E}<header>a header is no head</header>",
    f"<!doctype html>{E}<htmlx></htmlx>",
    f" \n{E}hello, world",
    f"{E}hi",
    f"{E}<p>",
]


@pytest.mark.parametrize("expected", PLACES)
@pytest.mark.parametrize("size", [1, 2, 7, None])
def test_element_stands_first_in_the_head(expected: str, size: int | None) -> None:
    assert written(expected.replace(E, "").encode(), size) == expected.encode()


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b" \n",
        "<!doctype html><title>x</title>".encode("utf-16"),
        b"<!-- never ends",
        b"<html lang='never ends",
        b"<!-- " + b"x" * MAX_BEFORE + b"--><head></head>",
        b"<!doctype html>" + b" " * MAX_BEFORE + b"<head></head>",
    ],
)
@pytest.mark.parametrize("size", [1000, None])
def test_document_without_a_place_for_it_stays_as_it_is(document: bytes, size: int | None) -> None:
    assert written(document, size) == document


def test_document_streams_from_its_head_on() -> None:
    writer = DocumentWriter()
    assert writer.write(b"<!doctype html><hea") == b""
    assert writer.write(b"d><title>") == b"<!doctype html><head>" + ELEMENT + b"<title>"
    assert writer.write(b"<head>") == b"<head>"
    assert writer.end() == b""


def test_endless_space_before_a_head_is_held_up_to_the_bound() -> None:
    writer = DocumentWriter()
    held = 0
    while not writer.write(b" " * 1000):
        held += 1000
    assert held <= MAX_BEFORE
    assert writer.write(b"<head>") == b"<head>"


def test_head_in_tiny_pieces_is_not_looked_for_without_end() -> None:
    writer = DocumentWriter()
    pieces = 1
    while not writer.write(b"<html a='" if pieces == 1 else b">"):
        pieces += 1
    assert pieces == MOST_PIECES
    assert writer.write(b"'><head>") == b"'><head>"
