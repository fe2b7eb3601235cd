"""The strict head of a proxy request: what passes, what smugglers try, and that it never tears."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.http.proxy_head import MAX_HEAD_BYTES, BadHead, head_end, read_head, spell

GET = b"GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\n"


def test_connect_with_port_is_read() -> None:
    head = read_head(b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n")
    assert (head.method, head.host, head.port, head.path) == ("CONNECT", "a.example", 443, None)


def test_absolute_form_is_spelled_anew_in_origin_form() -> None:
    head = read_head(
        b"POST HTTP://A.example:8080/x?y=1 HTTP/1.1\r\nhost:a.EXAMPLE:8080\r\nX-A:  b \r\n"
        b"Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nProxy-Authorization: Basic x\r\n"
        b"TE: trailers\r\nContent-Length: 3\r\n\r\n"
    )
    assert spell(head, authority="a.example:8080") == (
        b"POST /x?y=1 HTTP/1.1\r\nHost: a.example:8080\r\nx-a: b\r\nContent-Length: 3\r\n"
        b"Connection: close\r\n\r\n"
    )


@pytest.mark.parametrize(
    "more",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Length: 5\r\nContent-Length: 5\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: 5, 5\r\n",
        b"Content-Length: +5\r\n",
        b"Content-Length: 0x5\r\n",
        b"Content-Length: \r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding: identity\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding:\x0bchunked\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding:\r\n chunked\r\n",
        b"X: a\r\n folded\r\n",
        b"X: a\nTransfer-Encoding: chunked\r\n",
        b"X: a\rTransfer-Encoding: chunked\r\n",
        b"X: a\x00b\r\n",
        b"Host: b.example\r\n",
        b"TE: chunked, identity\r\n",
        b"Upgrade: h2c\r\n",
        b"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: x\r\n",
        b"Connection: Host\r\n",
        b"Connection: content-length\r\n",
        b"Expect: 200-ok\r\n",
        b": nothing\r\n",
        b"No colon\r\n",
        b"X\xe9: a\r\n",
    ],
)
def test_smuggled_framing_is_refused(more: bytes) -> None:
    with pytest.raises(BadHead):
        data = GET + more + b"\r\n"
        head_end(data)
        read_head(data)


@pytest.mark.parametrize(
    "line",
    [
        b"GET /local HTTP/1.1 extra",
        b"GET  http://a.example/ HTTP/1.1",
        b"GET\thttp://a.example/ HTTP/1.1",
        b"GET http://a.example/ HTTP/2.0",
        b"GET http://a.example/ http/1.1",
        b"GET https://a.example/ HTTP/1.1",
        b"GET ftp://a.example/ HTTP/1.1",
        b"GET http://u:p@a.example/ HTTP/1.1",
        b"GET http://a.example/#f HTTP/1.1",
        b"GET http:///x HTTP/1.1",
        b"GET http://a.example:0/ HTTP/1.1",
        b"GET http://a.example:99999/ HTTP/1.1",
        b"GET http://other.example/ HTTP/1.1",
        b"GET * HTTP/1.1",
        b"CONNECT a.example HTTP/1.1",
        b"CONNECT a.example:443x HTTP/1.1",
        b"CONNECT a.example:0 HTTP/1.1",
        b"CONNECT a.example:70000 HTTP/1.1",
        b"CONNECT http://a.example:443 HTTP/1.1",
        b"CONNECT u@a.example:443 HTTP/1.1",
        b"",
    ],
)
def test_request_line_in_the_grey_is_refused(line: bytes) -> None:
    with pytest.raises(BadHead):
        read_head(line + b"\r\nHost: a.example\r\n\r\n")


def test_missing_host_passes_in_http_1_0_only() -> None:
    assert read_head(b"GET http://a.example HTTP/1.0\r\n\r\n").path == "/"
    with pytest.raises(BadHead):
        read_head(b"GET http://a.example/ HTTP/1.1\r\n\r\n")
    with pytest.raises(BadHead):
        read_head(b"POST http://a.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n")


def test_request_to_the_door_itself_has_no_host() -> None:
    head = read_head(b"GET /status HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n\r\n")
    assert (head.host, head.port, head.path) == ("", 0, "/status")


def test_query_without_a_path_belongs_to_the_root() -> None:
    head = read_head(b"GET http://a.example?x=1 HTTP/1.1\r\nHost: a.example\r\n\r\n")
    assert head.path == "/?x=1"


def test_body_in_chunks_is_spelled_as_chunks() -> None:
    head = read_head(GET + b"Transfer-Encoding: Chunked\r\n\r\n")
    assert head.chunked
    assert b"\r\nTransfer-Encoding: chunked\r\n" in spell(head, authority="a.example")


def test_head_without_its_end_or_with_too_many_fields_is_refused() -> None:
    with pytest.raises(BadHead):
        read_head(GET)
    with pytest.raises(BadHead):
        read_head(GET + b"a: b\r\n" * 100 + b"\r\n")


def test_connect_with_a_body_is_refused() -> None:
    with pytest.raises(BadHead):
        read_head(b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1\r\n\r\n")


def test_endless_head_is_refused() -> None:
    with pytest.raises(BadHead):
        head_end(b"GET http://a.example/ HTTP/1.1\r\n" + b"a: b\r\n" * (MAX_HEAD_BYTES // 6))


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        end = head_end(GET + data + b"\r\n\r\n")
        assert end is not None
        head = read_head((GET + data + b"\r\n\r\n")[:end])
    except BadHead:
        return
    spelled = spell(head, authority="a.example")
    assert spelled.count(b"\r\n\r\n") == 1
    assert spelled.count(b"\n") == spelled.count(b"\r\n") == spelled.count(b"\r")
    again = spelled.replace(b"GET /", b"GET http://a.example/", 1)
    assert read_head(again).length == head.length


@given(st.lists(st.sampled_from([
    b"Content-Length: 1", b"Transfer-Encoding: chunked", b"content-length:2", b"TE: x", b" fold",
    b"Connection: close", b"Upgrade: a", b"X: y", b"\tq", b"transfer-encoding : chunked",
    b"Host: b",
]), max_size=5))  # fmt: skip
def test_spelled_head_never_carries_two_framings(lines: list[bytes]) -> None:
    data = GET + b"".join(line + b"\r\n" for line in lines) + b"\r\n"
    try:
        spelled = spell(read_head(data), authority="a.example").lower()
    except BadHead:
        return
    framings = spelled.count(b"\r\ncontent-length:") + spelled.count(b"\r\ntransfer-encoding:")
    assert framings <= 1
    assert spelled.count(b"\r\nhost:") == 1


def test_head_of_a_request_without_a_body_tells_no_length() -> None:
    assert b"Content-Length" not in spell(read_head(GET + b"\r\n"), authority="a.example")
    told = spell(read_head(GET + b"Content-Length: 0\r\n\r\n"), authority="a.example")
    assert told.count(b"Content-Length: 0\r\n") == 1
