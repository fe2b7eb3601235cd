"""The worst shapes of texts, of JSON and of heads, at a size. Each has broken a program once."""

import json
import tarfile
from collections.abc import Callable, Iterator

Shape = Callable[[int], bytes]

PIECES = {
    "marks in disorder": "\u0300\u0327",
    "backslashes": "\\",
    "quotes": '"',
    "brackets": "[",
    "braces": "{a",
    "spaces": " ",
    "lines": "\n",
    "escapes of terminals": "\x1b[",
    "dots": "a.",
    "slashes": "../",
    "percents": "%41",
    "letters that grow": "\ufdfa",
    "half of a pair of quotes": "a'",
    "stars": "*a",
    "digits": "9",
    "emoji": "\U0001f469\u200d",
}
"""Characters that a text repeats."""


def texts(size: int) -> dict[str, str]:
    """Return a text of each kind, of so many characters."""
    return {name: text(name, size) for name in PIECES}


def text(kind: str, size: int) -> str:
    """Return a text of this kind, of so many characters."""
    piece = PIECES[kind]
    return "a" + piece * (size // len(piece))


def body(shape: str, size: int) -> bytes:
    """Return the body of JSON of this shape, of at most so many bytes."""
    return BODIES[shape](size)


def bodies(size: int) -> Iterator[tuple[str, bytes]]:
    """Yield bodies of JSON of at most so many bytes, each made when it is asked for."""
    return ((shape, made(size)) for shape, made in BODIES.items())


def _filled(before: bytes, piece: bytes, after: bytes) -> Shape:
    """Repeat a piece between two ends."""
    ends = len(before) + len(after)
    return lambda size: before + piece * ((size - ends) // len(piece)) + after


def _numbered(before: bytes, piece: bytes, after: bytes) -> Shape:
    """Repeat a piece that has a number in it, none twice."""

    def made(size: int) -> bytes:
        count = (size - len(before) - len(after)) // len(piece % (size // 8))
        return before + b"".join([piece % number for number in range(count)]) + after

    return made


BODIES: dict[str, Shape] = {
    "lists": _filled(b"[", b"[],", b"[]]"),
    "objects": _filled(b"[", b'{"":{}},', b"{}]"),
    "deep lists": lambda size: b"[" * (size // 2) + b"]" * (size // 2),
    "deep objects": _filled(b"", b'{"a":', b"1"),
    "names": _numbered(b"{", b'"%08x":1,', b'"a":1}'),
    "a name given twice at the end": _numbered(b"{", b'"%08x":1,', b'"00000009":1}'),
    "one name": _filled(b"{", b'"a":1,', b'"a":1}'),
    "ends of lists": lambda size: b"[" + b"1," * 40 + b"1]" + b"]" * (size - 83),
    "ends of objects": lambda size: b"[" + b"1," * 40 + b"1]" + b"}" * (size - 83),
    "ends in turns": _filled(b"[", b"]}", b"]"),
    "a long name": lambda size: b'{"' + b"a" * (size - 6) + b'":1}',
    "members of members": _numbered(b"[", b'{"a%d":{"b":1}},', b"1]"),
    "numbers": _filled(b"[", b"1,", b"1]"),
    "long numbers": _filled(b"[", b"9" * 4300 + b",", b"1]"),
    "a number": lambda size: b"[" + b"9" * (size - 2) + b"]",
    "a float": lambda size: b"[1." + b"9" * (size - 4) + b"]",
    "an exponent": lambda size: b"[1e" + b"9" * (size - 4) + b"]",
    "spaces": lambda size: b"[" + b" " * (size - 2) + b"]",
    "floats": _filled(b"[", b"1e308,", b"1]"),
    "escapes": lambda size: b'["' + b"\\u00e9" * (size // 6 - 2) + b'"]',
    "pairs of escapes": lambda size: b'["' + b"\\ud83d\\ude00" * (size // 12 - 2) + b'"]',
    "escaped quotes": lambda size: b'["' + b'\\"' * (size // 2 - 2) + b'"]',
    "a text without an end": lambda size: b'["' + b'\\"' * (size // 2 - 2),
    "no JSON": lambda size: b"\\" * size,
    "no UTF-8": lambda size: b'["' + b"\xff" * (size - 4) + b'"]',
    "small texts": _filled(b"[", b'"",', b'""]'),
}
"""What makes a body of each shape, of at most so many bytes."""


def heads() -> Iterator[tuple[str, list[str]]]:
    """Yield headers, as large as a head may be."""
    value, many = 16_000, 60_000
    yield "a cookie of backslashes", ['Cookie: atoll_session="' + "\\" * value + '"']
    yield "cookies of backslashes", ['Cookie: a="' + "\\" * value + '"'] * 3
    yield "a cookie of octal escapes", ['Cookie: atoll_guest="' + "\\073" * (value // 4) + '"']
    yield "many cookies", ["Cookie: " + "a=1;" * (value // 4)] * 3
    yield "separators of cookies", ["Cookie: " + ";" * value] * 3
    yield "many headers", [f"X-{n}: 1" for n in range(90)]
    yield "short headers", ["A:"] * (many // 4)
    yield "a long token", ["Authorization: Bearer " + "a." * (value // 2)]
    yield "a long scheme", ["Authorization: " + "a " * (value // 2)]
    yield "ranges", ["Range: bytes=" + "0-,1-2," * (value // 7)]
    yield "tags", ["If-None-Match: " + '"a", ' * (value // 5), "If-Modified-Since: " + "(" * value]
    yield "kinds", ["Accept: " + "a/b;q=0.1," * (value // 10), "Accept-Encoding: " + "a," * 8000]
    yield "parameters", ["Content-Type: a/b" + ";a=b" * (value // 4)]
    yield "quoted parameters", ['Content-Type: multipart/form-data; boundary="' + ";" * value]
    yield "addresses", ["X-Forwarded-For: " + "::1," * (value // 4), "Forwarded: " + "for=" * 4000]
    yield "an origin", ["Origin: http://" + "a." * (value // 2)]
    yield "protocols", ["Sec-WebSocket-Protocol: " + "atoll.key.a," * (value // 12)]
    yield "page keys", ["Atoll-Page-Key: " + "a," * (value // 2)]
    yield "a trace", ["traceparent: " + "0-" * (value // 2), "tracestate: " + "a=b," * (value // 4)]
    yield "names of the connection", ["Connection: " + "a," * (value // 2)]


def targets() -> Iterator[tuple[str, str]]:
    """Yield targets of a request, as long as a head may be."""
    size = 60_000
    yield "folders", "/v1/" + "a/" * (size // 2)
    yield "ways up", "/v1/sandboxes" + "/.." * (size // 3)
    yield "percents", "/v1/sandboxes/" + "%41" * (size // 3)
    yield "parameters", "/v1/sandboxes?" + "a&" * (size // 2)
    yield "one parameter", "/v1/sandboxes?limit=" + "9" * size
    yield "a token", "/v1/sandboxes?token=" + "%25" * (size // 3)
    yield "a file", "/assets/" + "a" * size


def yaml_documents(size: int) -> Iterator[tuple[str, bytes]]:
    """Yield documents of YAML."""
    yield "deep", b"a: " + b"[" * size
    yield (
        "anchors",
        b"".join(b"a%d: &a%d [*a%d, *a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 99)),
    )
    yield "names", b"".join(b"a%d: 1\n" % n for n in range(size // 10))
    yield "lines", b"a: |\n" + b" a\n" * (size // 3)
    yield "flow", b"a: {" + b"a: 1, " * (size // 6) + b"}"
    yield "quotes", b'a: "' + b'\\"' * (size // 2) + b'"'
    yield "dashes", b"- " * (size // 2)
    yield "questions", b"? " * (size // 2)
    yield "comments", b"#" * size
    yield "spaces", b" " * size + b"a: 1"


def multipart(boundary: str, size: int) -> Iterator[tuple[str, bytes]]:
    """Yield bodies of forms with files."""
    mark = b"--" + boundary.encode()
    head = b'\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n'
    yield "parts", (mark + head + b"\r\n") * (size // len(mark + head)) + mark + b"--\r\n"
    yield "almost boundaries", mark + head + (b"\r\n" + mark[:-1]) * (size // (len(mark) + 1))
    yield "line ends", mark + head + b"\r\n" * (size // 2)
    yield "a header", mark + b"\r\nA: " + b"a" * size
    yield "headers", mark + b"\r\n" + b"A: b\r\n" * (size // 6)
    yield (
        "a name",
        mark + b'\r\nContent-Disposition: form-data; name="' + b"\\" * size + b'"\r\n\r\n',
    )


def tars(size: int) -> Iterator[tuple[str, bytes]]:
    """Yield archives of tar, with a head in each 512 bytes that they may have one."""

    def head(name: str, kind: bytes = tarfile.REGTYPE, length: int = 0) -> bytes:
        entry = tarfile.TarInfo(name)
        entry.type, entry.size = kind, length
        return entry.tobuf(tarfile.GNU_FORMAT)

    yield "empty files", b"".join(head(f"{n}") for n in range(size // 512))
    yield "one file, again", head("a") * (size // 512)
    yield "a file larger than all", head("a", length=2**62)
    yield "a long name", head("a", tarfile.GNUTYPE_LONGNAME, size) + b"a/" * (size // 2)
    yield "long names", head("a", tarfile.GNUTYPE_LONGNAME, 512) * (size // 512)
    yield "extended heads", head("a", tarfile.XHDTYPE, 0) * (size // 512)
    yield "an extended head", head("a", tarfile.XHDTYPE, size) + b"6 a=b\n" * (size // 6)


def text_of_json(value: object) -> bytes:
    """Return JSON as a page sends it: characters as they are."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
