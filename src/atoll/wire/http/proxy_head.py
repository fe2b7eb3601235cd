"""A strict reader of a forward proxy's request heads, so that no server reads them differently.

Pure. Servers disagree about ambiguous bytes (RFC 9112 sections 2.2, 5 and 6): two lengths, a length
beside a transfer coding, folded lines, bare line feeds, spaces before a colon. Here all of these
are refused. An accepted head is written anew by `spell`, never forwarded as it came.
"""

import re
from dataclasses import dataclass

MAX_HEAD_BYTES = 64 * 1024
MAX_FIELDS = 100

_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}) ([!-~]{1,16384}) HTTP/1\.([01])")
_FIELD = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}):[ \t]*([\t\x20-\x7e\x80-\xff]*)")
_CONNECT = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[^:\[\]@/?#]{1,255}):(\d{1,5})")
_ABSOLUTE = re.compile(
    r"http://(\[[0-9A-Fa-f:.]{2,45}\]|[^:\[\]@/?#]{1,255})(?::(\d{1,5}))?((?:[/?][^#]*)?)",
    re.IGNORECASE,
)
_ORIGIN = re.compile(r"/[^#]*")
_DIGITS = re.compile(r"\d{1,18}")
_HOP = frozenset(
    {
        *("connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "host"),
        *("proxy-connection", "proxy-authenticate", "proxy-authorization", "http2-settings"),
    }
)
_NEVER_NAMED = frozenset(
    ("host", "content-length", "content-type", "authorization", "cookie", "expect")
)


class BadHead(ValueError):
    """A request that a proxy may not pass on; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class ProxyHead:
    """A request head.

    `host` is as sent (brackets kept), `port` 80 for `http://` without one. `path` is None for
    CONNECT; `host` is empty for a request to the door itself. `length` is the body's, None when it
    is `chunked`.
    """

    method: str
    host: str
    port: int
    path: str | None
    fields: tuple[tuple[str, str], ...]
    length: int | None = 0

    @property
    def chunked(self) -> bool:
        """True if the body comes in chunks."""
        return self.length is None


def head_end(data: bytes | bytearray) -> int | None:
    """Return where the head ends (after its empty line), None when it is incomplete.

    Raises `BadHead` for one that is too long, or has a line end without a carriage return.
    """
    end = data.find(b"\r\n\r\n")
    size = len(data) if end < 0 else end + 4
    if size > MAX_HEAD_BYTES:
        raise BadHead(f"a head may have {MAX_HEAD_BYTES} bytes")
    if data.count(b"\n", 0, size) != data.count(b"\r\n", 0, size):
        raise BadHead("a line ends without a carriage return")
    return None if end < 0 else end + 4


def read_head(data: bytes) -> ProxyHead:
    """Return the parts of a whole head, with its empty line. Raises `BadHead`."""
    if not data.endswith(b"\r\n\r\n"):
        raise BadHead("the head is not whole")
    first, *rest = data[:-4].split(b"\r\n")
    line = _LINE.fullmatch(first)
    if line is None:
        raise BadHead("the request line is not METHOD TARGET HTTP/1.x")
    if len(rest) > MAX_FIELDS:
        raise BadHead(f"a head may have {MAX_FIELDS} fields")
    fields = tuple(_field(one) for one in rest)
    method, target = line[1].decode(), line[2].decode()
    old = line[3] == b"0"
    host, port, path = _target(method, target)
    _check_host(fields, host, port, old=old)
    _check_hops(fields)
    length = _length(fields, old=old)
    if path is None and length != 0:
        raise BadHead("CONNECT has no body")
    return ProxyHead(method, host, port, path, fields, length)


def spell(head: ProxyHead, *, authority: str) -> bytes:
    """Return the head for the server.

    It is in origin form, with one `Host`, without hop-by-hop fields, with framing of its own, and
    closes the connection after one response.
    """
    named = {token for name, value in head.fields if name == "connection" for token in _list(value)}
    lines = [f"{head.method} {head.path or '/'} HTTP/1.1", f"Host: {authority}"]
    for name, value in head.fields:
        if name in _HOP or name in named or name == "content-length":
            continue
        lines.append(f"{name}: {value}")
    if head.length is None:
        lines.append("Transfer-Encoding: chunked")
    elif head.length or any(name == "content-length" for name, _ in head.fields):
        lines.append(f"Content-Length: {head.length}")
    lines += ["Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1")


def _field(line: bytes) -> tuple[str, str]:
    found = _FIELD.fullmatch(line)
    if found is None:
        raise BadHead("a header field is malformed, folded, or has a space before its colon")
    return found[1].decode().lower(), found[2].decode("latin-1").strip(" \t")


def _target(method: str, target: str) -> tuple[str, int, str | None]:
    if method == "CONNECT":
        found = _CONNECT.fullmatch(target)
        if found is None:
            raise BadHead("CONNECT takes host:port")
        return found[1], _port(found[2]), None
    if _ORIGIN.fullmatch(target):
        return "", 0, target
    found = _ABSOLUTE.fullmatch(target)
    if found is None:
        raise BadHead("a proxy takes http://host/path, and CONNECT for everything else")
    path = found[3]
    return found[1], _port(found[2] or "80"), path if path.startswith("/") else f"/{path}"


def _port(text: str) -> int:
    if not 1 <= int(text) <= 65535:
        raise BadHead("the port must lie in 1 to 65535")
    return int(text)


def _check_host(fields: tuple[tuple[str, str], ...], host: str, port: int, *, old: bool) -> None:
    given = [value for name, value in fields if name == "host"]
    if len(given) > 1 or (not given and not old):
        raise BadHead("exactly one Host is needed")
    if given and host and given[0].lower() not in (host.lower(), f"{host.lower()}:{port}"):
        raise BadHead("Host names another server than the request line")


def _check_hops(fields: tuple[tuple[str, str], ...]) -> None:
    for name, value in fields:
        low = value.lower()
        if name == "upgrade" or name == "http2-settings":
            raise BadHead("this door does not change protocols; use CONNECT")
        if name == "te" and low not in ("", "trailers"):
            raise BadHead("TE may only say trailers")
        if name == "expect" and low != "100-continue":
            raise BadHead("Expect may only say 100-continue")
        if name in ("connection", "proxy-connection") and _NEVER_NAMED & set(_list(value)):
            raise BadHead("Connection names a field that is not a hop's own")


def _length(fields: tuple[tuple[str, str], ...], *, old: bool) -> int | None:
    lengths = [value for name, value in fields if name == "content-length"]
    codings = [value for name, value in fields if name == "transfer-encoding"]
    if codings:
        if lengths or old or len(codings) > 1 or codings[0].lower() != "chunked":
            raise BadHead("Transfer-Encoding may only be chunked, once, without Content-Length")
        return None
    if not lengths:
        return 0
    if len(lengths) > 1 or not _DIGITS.fullmatch(lengths[0]):
        raise BadHead("exactly one Content-Length in digits is taken")
    return int(lengths[0])


def _list(value: str) -> list[str]:
    return [token.strip().lower() for token in value.split(",")]
