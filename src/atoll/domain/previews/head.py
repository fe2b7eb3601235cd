"""Heads of requests to a preview and of its answers: what goes into the sandbox, what comes out.

Pure. Header names are in small letters, as ASGI gives them. What is hostile here: the page in the
browser, which wants what belongs to Atoll, and the server inside, which wants cookies of others.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from atoll.domain.errors import Forbidden, Invalid

Headers = tuple[tuple[bytes, bytes], ...]

HOP_BY_HOP: Final = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"upgrade"),
        *(b"transfer-encoding", b"proxy-authenticate", b"proxy-authorization", b"http2-settings"),
    }
)
"""The headers of one connection (RFC 9110 §7.6.1). The head says anew what holds inside."""

_NOT_IN: Final = HOP_BY_HOP | {
    *(b"host", b"content-length", b"expect", b"cookie", b"forwarded", b"x-internal-token"),
}
_NOT_OUT: Final = HOP_BY_HOP | frozenset(
    {
        # They act beyond the preview's own origin, or forbid the page to show it.
        *(b"clear-site-data", b"strict-transport-security", b"alt-svc", b"public-key-pins"),
        *(b"set-cookie2", b"nel", b"report-to", b"x-frame-options"),
    }
)
_OWN_HEADERS: Final = (b"atoll-", b"x-atoll-", b"x-oa-", b"x-forwarded-", b"x-real-ip")
"""The beginnings of headers that are the page's, a front end's, or said anew."""

_OWN_TOKEN: Final = b"atoll_pat_"
_OWN_COOKIES: Final = (b"atoll_", b"__host-atoll_", b"__secure-atoll_")
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_TUNNELS: Final = frozenset({"CONNECT", "TRACE"})
_OWN_SITE: Final = frozenset({b"same-origin", b"none"})
_LENGTH = re.compile(rb"[0-9]{1,18}")
_INNER = re.compile(
    rb"https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::([0-9]{1,5}))?(?=[/?#]|\Z)"
)
_PORT_AT_END = re.compile(rb":[0-9]+\Z")
_PROTOCOL = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~/-]{1,64}")


@dataclass(frozen=True, slots=True)
class Outside:
    """The address of a preview as its browser knows it: `origin` is `http://HOST`, with the port
    where there is one. `framed_by` are the origins of the pages that may show it in a frame."""

    origin: bytes
    port: int
    framed_by: tuple[str, ...] = ()

    @property
    def inner_host(self) -> bytes:
        """The name by which the server inside is called: what it would be called from inside."""
        return b"localhost:%d" % self.port


def framing(method: str, headers: Headers) -> tuple[tuple[bytes, bytes], ...]:
    """Return the header that frames a request's body, none without one.

    Raises `Invalid` for what two servers could read differently, and for methods that make tunnels.
    """
    if method in _TUNNELS:
        raise Invalid(f"a preview takes no {method}", code="bad_request_head")
    lengths = [value for name, value in headers if name == b"content-length"]
    codings = [value.strip().lower() for name, value in headers if name == b"transfer-encoding"]
    if not lengths and not codings:
        return ()
    if codings == [b"chunked"] and not lengths:
        return ((b"transfer-encoding", b"chunked"),)
    if len(lengths) == 1 and not codings and _LENGTH.fullmatch(lengths[0]):
        return ((b"content-length", lengths[0]),)
    raise Invalid(
        "the length of the body must be said once: by Content-Length or as chunked",
        code="bad_request_head",
    )


def upgrade_of(method: str, headers: Headers) -> bytes | None:
    """Return the protocol that a request wants to continue with, None for a usual one.

    Raises `Invalid` for one with a body, and for one that would hide further requests.
    """
    tokens = {
        one.strip().lower() for one in b",".join(values_of(headers, b"connection")).split(b",")
    }
    named = values_of(headers, b"upgrade")
    if b"upgrade" not in tokens or not named:
        return None
    wanted = named[0].strip()
    hidden = wanted.lower().startswith((b"h2c", b"http/", b"tls/"))
    if method != "GET" or len(named) > 1 or hidden or _PROTOCOL.fullmatch(wanted) is None:
        raise Invalid("a preview takes no such upgrade", code="bad_request_head")
    if any(name in {b"content-length", b"transfer-encoding"} for name, _ in headers):
        raise Invalid("a request for an upgrade has no body", code="bad_request_head")
    return wanted


def check_page(method: str, headers: Headers, outside: Outside, *, upgrades: bool) -> None:
    """Check that a page of the preview's own origin sent a request, or a person followed a link.

    A browser sends the visit's cookie by itself, also for a page of a neighbouring preview. Raises
    `Forbidden`.
    """
    found = dict(headers)
    unsafe = upgrades or method not in _SAFE
    origin, site = found.get(b"origin"), found.get(b"sec-fetch-site", b"none")
    followed = found.get(b"sec-fetch-mode") == b"navigate" and not unsafe
    foreign = origin is not None and origin != outside.origin
    if (foreign and unsafe) or (site not in _OWN_SITE and not followed):
        raise Forbidden("a page of another origin may not use this preview", code="foreign_page")


def inner_headers(headers: Headers, outside: Outside, *, upgrade: bytes | None) -> Headers:
    """Return the headers of a request as the server inside receives them, without the framing.

    Nothing of Atoll goes in: no cookie, no header of its page or of a front end; credentials that
    stand elsewhere were taken out before (`domain.previews.own_credentials`). The server is
    called by its own name, and so is its origin: many refuse others.
    """
    named = _named_by_connection(headers)
    kept = [
        (name, _rewrite_request_value(name, value, outside))
        for name, value in headers
        if name not in _NOT_IN
        and name not in named
        and not name.startswith(_OWN_HEADERS)
        and not (name == b"authorization" and _OWN_TOKEN in value)
    ]
    cookies = b"; ".join(_others(b";".join(values_of(headers, b"cookie"))))
    scheme, _, host = outside.origin.partition(b"://")
    return (
        (b"host", outside.inner_host),
        *kept,
        *(((b"cookie", cookies),) if cookies else ()),
        (b"x-forwarded-host", host),
        (b"x-forwarded-proto", scheme),
        (b"connection", b"close" if upgrade is None else b"upgrade"),
        *(() if upgrade is None else ((b"upgrade", upgrade),)),
    )


def outer_headers(headers: Headers, outside: Outside, *, upgraded: bool = False) -> Headers:
    """Return the headers of an answer as the browser receives them.

    Cookies for more than this origin are dropped, and those with names of Atoll's.
    """
    named = _named_by_connection(headers)
    chunked = any(name == b"transfer-encoding" for name, _ in headers)
    not_out = _NOT_OUT | {b"content-length"} if chunked or upgraded else _NOT_OUT
    host = _PORT_AT_END.sub(b"", outside.origin.partition(b"://")[2])
    kept = [
        (name, _rewrite_response_value(name, value, outside))
        for name, value in headers
        if name not in not_out
        and name not in named
        and (name != b"set-cookie" or _may_be_set(value, host))
    ]
    if upgraded:
        switched = [(name, value) for name, value in headers if name == b"upgrade"]
        return (*kept, (b"connection", b"upgrade"), *switched[:1])
    return (*kept, (b"content-security-policy", frame_policy(outside)))


def frame_policy(outside: Outside) -> bytes:
    """Return the policy by which only Atoll's own pages show a preview in a frame."""
    return " ".join(("frame-ancestors 'self'", *outside.framed_by)).encode()


def _rewrite_request_value(name: bytes, value: bytes, outside: Outside) -> bytes:
    """Return a request header's value with the preview's origin replaced by the inner one."""
    own = outside.origin
    if name == b"origin" and value == own:
        return b"http://" + outside.inner_host
    if name == b"referer" and (value == own or value.startswith(own + b"/")):
        return b"http://" + outside.inner_host + value[len(own) :]
    return value


def _rewrite_response_value(name: bytes, value: bytes, outside: Outside) -> bytes:
    """Return a response header's value with the inner origin replaced by the preview's."""
    if name not in {b"location", b"content-location"}:
        return value
    match = _INNER.match(value)
    if match is None or int(match[1] or 80) != outside.port:
        return value
    return outside.origin + value[match.end() :]


def _may_be_set(cookie: bytes, host: bytes) -> bool:
    first, *attributes = cookie.split(b";")
    name, _, _ = first.strip().partition(b"=")
    if name.strip().lower().startswith(_OWN_COOKIES):
        return False
    for attribute in attributes:
        key, _, value = attribute.partition(b"=")
        domain = value.strip().lower().lstrip(b".")
        if key.strip().lower() == b"domain" and domain and domain != host:
            return False
    return True


def _others(cookies: bytes) -> Iterator[bytes]:
    for part in cookies.split(b";"):
        stripped = part.strip()
        name = stripped.partition(b"=")[0].strip().lower()
        if stripped and not name.startswith(_OWN_COOKIES):
            yield stripped


def values_of(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> list[bytes]:
    """Return the values of every header of this name."""
    return [value for name, value in headers if name == wanted]


def _named_by_connection(headers: Headers) -> frozenset[bytes]:
    """Return the headers that a sender declares to be of its connection."""
    tokens = b",".join(values_of(headers, b"connection")).split(b",")
    return frozenset(one.strip().lower() for one in tokens) - {b"close", b"keep-alive", b"upgrade"}
