"""Heads of requests and answers: nothing of Atoll goes in, nothing for others comes out."""

import pytest

from atoll.domain.errors import Forbidden, Invalid
from atoll.domain.previews.head import (
    Headers,
    Outside,
    check_page,
    frame_policy,
    framing,
    inner_headers,
    outer_headers,
    upgrade_of,
)

OUT = Outside(b"http://3000-sb-abc.localhost:8080", 3000, ("http://localhost:8080",))


def inside(*headers: tuple[bytes, bytes], upgrade: bytes | None = None) -> dict[bytes, bytes]:
    return dict(inner_headers(headers, OUT, upgrade=upgrade))


def outside(*headers: tuple[bytes, bytes]) -> Headers:
    return tuple(one for one in outer_headers(headers, OUT) if one[0] != b"content-security-policy")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ((), ()),
        (((b"content-length", b"5"),), ((b"content-length", b"5"),)),
        (((b"transfer-encoding", b" Chunked"),), ((b"transfer-encoding", b"chunked"),)),
    ],
)
def test_body_is_framed_as_its_one_header_says(headers: Headers, expected: Headers) -> None:
    assert framing("POST", headers) == expected


@pytest.mark.parametrize(
    "headers",
    [
        ((b"content-length", b"5"), (b"content-length", b"5")),
        ((b"content-length", b"5"), (b"transfer-encoding", b"chunked")),
        ((b"transfer-encoding", b"chunked"), (b"transfer-encoding", b"identity")),
        ((b"transfer-encoding", b"gzip, chunked"),),
        ((b"transfer-encoding", b"xchunked"),),
        *(
            ((b"content-length", value),)
            for value in (b"+5", b"5,5", b"-1", b"0x5", b"", b"9" * 19)
        ),
    ],
)
def test_body_that_two_servers_could_read_differently_is_refused(headers: Headers) -> None:
    with pytest.raises(Invalid):
        framing("POST", headers)


@pytest.mark.parametrize("method", ["CONNECT", "TRACE"])
def test_method_that_makes_a_tunnel_is_refused(method: str) -> None:
    with pytest.raises(Invalid):
        framing(method, ())


def test_upgrade_is_what_both_headers_ask_for() -> None:
    asked = ((b"connection", b"keep-alive, Upgrade"), (b"upgrade", b"websocket"))
    assert upgrade_of("GET", asked) == b"websocket"
    assert upgrade_of("GET", asked[:1]) is None
    assert upgrade_of("GET", asked[1:]) is None
    assert upgrade_of("POST", ()) is None


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("POST", ((b"upgrade", b"websocket"),)),
        ("GET", ((b"upgrade", b"h2c"),)),
        ("GET", ((b"upgrade", b"H2C, websocket"),)),
        ("GET", ((b"upgrade", b"HTTP/2.0"),)),
        ("GET", ((b"upgrade", b"TLS/1.0"),)),
        ("GET", ((b"upgrade", b"a"), (b"upgrade", b"b"))),
        ("GET", ((b"upgrade", b"a b"),)),
        ("GET", ((b"upgrade", b"websocket"), (b"content-length", b"5"))),
        ("GET", ((b"upgrade", b"websocket"), (b"transfer-encoding", b"chunked"))),
    ],
)
def test_upgrade_that_could_hide_requests_is_refused(method: str, more: Headers) -> None:
    with pytest.raises(Invalid):
        upgrade_of(method, ((b"connection", b"upgrade"), *more))


@pytest.mark.parametrize(
    "headers",
    [
        (),
        ((b"origin", OUT.origin), (b"sec-fetch-site", b"same-origin")),
        ((b"sec-fetch-site", b"none"), (b"sec-fetch-mode", b"navigate")),
    ],
)
def test_own_page_may_do_everything(headers: Headers) -> None:
    check_page("POST", headers, OUT, upgrades=False)
    check_page("GET", headers, OUT, upgrades=True)


def test_link_from_elsewhere_may_be_followed_and_nothing_more() -> None:
    link = ((b"sec-fetch-site", b"cross-site"), (b"sec-fetch-mode", b"navigate"))
    check_page("GET", link, OUT, upgrades=False)
    for method, upgrades in (("POST", False), ("GET", True)):
        with pytest.raises(Forbidden):
            check_page(method, link, OUT, upgrades=upgrades)


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", ((b"sec-fetch-site", b"same-site"), (b"sec-fetch-mode", b"no-cors"))),
        ("GET", ((b"sec-fetch-site", b"cross-site"), (b"sec-fetch-mode", b"cors"))),
        ("POST", ((b"origin", b"http://3001-sb-abc.localhost:8080"),)),
        ("POST", ((b"origin", b"null"),)),
    ],
)
def test_page_of_a_neighbour_is_refused(method: str, headers: Headers) -> None:
    with pytest.raises(Forbidden):
        check_page(method, headers, OUT, upgrades=False)


def test_server_inside_is_called_by_its_own_name_and_learns_the_outer_one() -> None:
    found = inside(
        (b"host", b"3000-sb-abc.localhost:8080"),
        (b"origin", OUT.origin),
        (b"referer", OUT.origin + b"/page?x"),
        (b"accept", b"*/*"),
        (b"x-forwarded-for", b"1.2.3.4"),
    )
    assert found == {
        b"host": b"localhost:3000",
        b"origin": b"http://localhost:3000",
        b"referer": b"http://localhost:3000/page?x",
        b"accept": b"*/*",
        b"x-forwarded-host": b"3000-sb-abc.localhost:8080",
        b"x-forwarded-proto": b"http",
        b"connection": b"close",
    }


def test_foreign_origin_and_referer_go_in_as_they_are() -> None:
    found = inside((b"origin", b"null"), (b"referer", OUT.origin + b".evil.org/"))
    assert (found[b"origin"], found[b"referer"]) == (b"null", OUT.origin + b".evil.org/")


def test_nothing_of_atoll_goes_in() -> None:
    found = inside(
        (b"cookie", b"a=1; atoll_session=s; __Host-atoll_preview=p"),
        (b"cookie", b"ATOLL_GUEST=g; b=2;; =atoll"),
        (b"atoll-page-key", b"k"),
        (b"x-atoll-front-end", b"secret"),
        (b"x-oa-user-id", b"u"),
        (b"authorization", b"Bearer atoll_pat_abc"),
    )
    assert found[b"cookie"] == b"a=1; b=2; =atoll"
    assert set(found) == {
        *(b"host", b"cookie", b"x-forwarded-host", b"x-forwarded-proto", b"connection"),
    }


def test_apps_own_authorization_goes_in() -> None:
    assert inside((b"authorization", b"Basic eDp5"))[b"authorization"] == b"Basic eDp5"


def test_headers_of_one_connection_do_not_go_in() -> None:
    found = inside(
        (b"connection", b"close, X-Secret"),
        (b"x-secret", b"1"),
        (b"te", b"trailers"),
        (b"keep-alive", b"5"),
        (b"proxy-authorization", b"x"),
        (b"expect", b"100-continue"),
        (b"content-length", b"3"),
    )
    assert set(found) == {b"host", b"x-forwarded-host", b"x-forwarded-proto", b"connection"}


def test_upgrade_goes_in_with_its_headers() -> None:
    found = inside((b"sec-websocket-key", b"k"), upgrade=b"websocket")
    assert (found[b"connection"], found[b"upgrade"]) == (b"upgrade", b"websocket")
    assert found[b"sec-websocket-key"] == b"k"


def test_headers_that_act_beyond_the_origin_do_not_come_out() -> None:
    dropped = (
        *(b"clear-site-data", b"strict-transport-security", b"alt-svc", b"x-frame-options"),
        *(b"connection", b"keep-alive", b"upgrade", b"set-cookie2", b"report-to"),
    )
    kept = (b"content-type", b"text/html")
    assert outside(kept, *((name, b"x") for name in dropped)) == (kept,)
    assert outside((b"connection", b"x-a"), (b"x-a", b"1"), kept) == (kept,)


def test_length_comes_out_unless_the_answer_is_chunked() -> None:
    length = (b"content-length", b"5")
    assert outside(length) == (length,)
    assert outside(length, (b"transfer-encoding", b"chunked")) == ()


@pytest.mark.parametrize(
    "cookie",
    [
        *(b"a=1", b"a=1; Path=/; HttpOnly", b"a=1; domain=", b"__Host-a=1; Secure; Path=/"),
        b"a=1; Domain=3000-sb-abc.localhost",
    ],
)
def test_cookie_for_this_origin_is_set(cookie: bytes) -> None:
    assert outside((b"set-cookie", cookie)) == ((b"set-cookie", cookie),)


@pytest.mark.parametrize(
    "cookie",
    [
        *(b"a=1; Domain=localhost", b"a=1; domain = .localhost", b"a=1; Path=/;DOMAIN=example.org"),
        *(b"atoll_session=1", b" __Host-atoll_preview = 1; Secure", b"Atoll_Guest=; Max-Age=0"),
    ],
)
def test_cookie_for_others_or_with_a_name_of_ours_is_dropped(cookie: bytes) -> None:
    assert outside((b"set-cookie", cookie)) == ()


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        (b"http://localhost:3000/a?b", OUT.origin + b"/a?b"),
        (b"https://127.0.0.1:3000", OUT.origin),
        (b"http://localhost:3001/", b"http://localhost:3001/"),
        (b"http://localhost/", b"http://localhost/"),
        (b"http://localhost:3000.evil.org/", b"http://localhost:3000.evil.org/"),
        (b"/relative", b"/relative"),
    ],
)
def test_redirect_to_the_inner_name_becomes_the_outer_one(inner: bytes, outer: bytes) -> None:
    assert outside((b"location", inner)) == ((b"location", outer),)


def test_only_atolls_pages_frame_a_preview() -> None:
    policy = b"frame-ancestors 'self' http://localhost:8080"
    assert frame_policy(OUT) == policy
    own = (b"content-security-policy", b"default-src 'self'")
    assert outer_headers((own,), OUT) == (own, (b"content-security-policy", policy))


def test_answer_to_an_upgrade_names_the_protocol_once() -> None:
    answered = (
        (b"upgrade", b"websocket"),
        (b"connection", b"Upgrade"),
        (b"sec-websocket-accept", b"x"),
        (b"content-length", b"0"),
    )
    assert outer_headers(answered, OUT, upgraded=True) == (
        (b"sec-websocket-accept", b"x"),
        (b"connection", b"upgrade"),
        (b"upgrade", b"websocket"),
    )


def test_name_without_a_port_is_the_cookies_host() -> None:
    plain = Outside(b"https://3000-sb-abc.p.org", 3000)
    cookie = (b"set-cookie", b"a=1; Domain=3000-sb-abc.p.org")
    assert cookie in outer_headers((cookie,), plain)
