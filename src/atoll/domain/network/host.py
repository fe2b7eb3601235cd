"""The canonical spelling of a host: one name or address for what a caller wrote.

Approvals and rules compare hosts as text, so two spellings of one host must become one. A spelling
that resolvers could read in two ways must not pass at all. Pure; `domain.network.address` checks
the resolved address.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urlsplit

import idna

MAX_HOST_CHARACTERS = 253
MAX_TARGET_CHARACTERS = 8192

_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PRINTABLE = re.compile(r"[!-~]+")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of an absolute URL. `host` is canonical; `path` begins with a slash and `query` is
    as sent, without its question mark."""

    scheme: str
    host: str
    port: int
    path: str
    query: str

    @property
    def authority(self) -> str:
        """The value of a `Host` header: the port only where it is not the scheme's own."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"https": 443, "http": 80}[self.scheme]
        return shown if self.port == usual else f"{shown}:{self.port}"


def canonical_host(text: str) -> str:
    """Return the one spelling of a host.

    It is in lower case, with IDNA A-labels (UTS 46), no trailing dot, and an address in its usual
    form without brackets. Raises `ValueError` for what is no host, and for names that end in a
    number without being a plain IPv4 address (`127.1`, `0x7f.1`, `2130706433`): resolvers read
    those as addresses (WHATWG URL, "ends in a number").
    """
    if len(text) > MAX_HOST_CHARACTERS:
        # Before IDNA, whose normalization takes the square of a run of marks.
        raise ValueError("this is no host name")
    if text.startswith("[") and text.endswith("]"):
        return IPv6Address(_without_zone(text[1:-1])).compressed
    if ":" in text:
        return IPv6Address(_without_zone(text)).compressed
    name = _ascii_name(text).removesuffix(".")
    labels = name.split(".")
    if len(name) > MAX_HOST_CHARACTERS or not all(_LABEL.fullmatch(one) for one in labels):
        raise ValueError("this is no host name")
    if _NUMBER.fullmatch(labels[-1]):
        return str(IPv4Address(name))
    return name


def as_read(host: str) -> str:
    """Return a canonical host in the letters its `xn--` labels stand for.

    Two names that look the same may differ in them. The host is unchanged without such a label, or
    where one does not decode.
    """
    try:
        return idna.decode(host) if "xn--" in host else host
    except idna.IDNAError:
        return host


def read_target(text: str, *, dev: bool = False) -> Target:
    """Return the parts of an absolute `https://` URL.

    Plain `http://` passes only in `dev` and only to loopback. Raises `ValueError` with what to do.
    """
    if len(text) > MAX_TARGET_CHARACTERS or not _PRINTABLE.fullmatch(text) or "\\" in text:
        raise ValueError("the target must be a URL of printable ASCII, percent-encoded")
    parts = urlsplit(text)
    if parts.scheme not in {"https", "http"} or not parts.hostname:
        raise ValueError("the target must be an absolute https:// URL")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise ValueError("the target may have no user, password or fragment")
    host = canonical_host(parts.hostname)
    if parts.scheme == "http" and not (dev and host in _LOOPBACK):
        raise ValueError("the target must be https://; plain http would show the secret")
    port = parts.port
    if port == 0:
        raise ValueError("the target's port must lie in 1 to 65535")
    usual = 443 if parts.scheme == "https" else 80
    return Target(parts.scheme, host, port or usual, parts.path or "/", parts.query)


def _without_zone(text: str) -> str:
    if "%" in text:
        raise ValueError("an address with a zone is this machine's own")
    return text


def _ascii_name(text: str) -> str:
    if text.isascii():
        return text.lower()
    try:
        return idna.encode(text, uts46=True, transitional=False).decode()
    except idna.IDNAError as error:
        raise ValueError("this is no host name") from error
