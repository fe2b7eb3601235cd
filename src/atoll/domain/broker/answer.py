"""What passes the broker door on its way back in: which headers, and which answers at all.

Pure: `runtime.doors` performs it. Keys in heads and bodies are `domain.redaction`'s.
"""

from urllib.parse import urlsplit

from atoll.domain.broker.passage import HOP_BY_HOP, Headers, Passage, Refusal, named_hop_by_hop

_WITHHELD = frozenset(
    {
        "set-cookie", "set-cookie2", "www-authenticate", "authorization", "x-api-key", "alt-svc",
        "strict-transport-security", "proxy-authenticate", "authentication-info",
        "proxy-authentication-info", "clear-site-data", "location",
    }
)  # fmt: skip
"""Headers of an answer that are the broker's business, not the sandbox's."""

_STRIPPED = HOP_BY_HOP | _WITHHELD
DECIDING = frozenset({"connection", "content-encoding", "location"})
"""The headers whose values decide what passes: answers that differ in other values only are
judged alike."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LEADING = _REDIRECTS | {201, 202}
"""Statuses whose `Location` means something."""
_USUAL_PORTS = {"https": 443, "http": 80}
SWITCHING = 101


def judge_answer(
    passage: Passage, status: int, headers: Headers
) -> tuple[tuple[int, ...], Headers] | Refusal:
    """The places of the headers that go in as they are, and those that do so in words of ours;
    or why the whole answer does not."""
    if status == SWITCHING and not passage.websocket:
        return Refusal(502, "bad_answer", "the provider switched protocols unasked")
    lows = [name.lower() for name, _ in headers]
    if any(map(_packed, lows, [value for _, value in headers])):
        # It was asked for plain bytes; in packed ones nobody could see the key.
        return Refusal(502, "packed_answer", "the provider answered with packed bytes")
    withheld = _STRIPPED | named_hop_by_hop(lows, headers)
    passed = tuple([at for at, low in enumerate(lows) if low not in withheld])
    ours: Headers = ()
    if "location" in lows and status in _LEADING:
        for low, (name, value) in zip(lows, headers, strict=True):
            if low != "location":
                continue
            shown = _location(passage, value)
            if shown is None and status in _REDIRECTS:
                return Refusal(502, "redirect_blocked", "the provider redirects elsewhere")
            ours += ((name, shown),) if shown is not None else ()
    return passed, ours


def _packed(low: str, value: str) -> bool:
    if low == "content-encoding":
        return value.strip().lower() not in {"identity", ""}
    return low == "sec-websocket-extensions"


def _location(passage: Passage, location: str) -> str | None:
    """Where a redirect leads as seen from inside; None when it leaves its origin, or what may
    be asked of it."""
    try:
        target = urlsplit(location)
        port = target.port or _USUAL_PORTS.get(target.scheme, 0)
    except ValueError:
        return None
    if target.netloc or target.scheme or location.startswith("\\"):
        origin = passage.origin
        there = (target.scheme, (target.hostname or "").rstrip("."), port)
        if there != (origin.scheme, origin.host, origin.port) or target.username is not None:
            return None
    path = target.path if target.path.startswith("/") else None
    if path is None or not path.startswith(passage.base + "/"):
        return None
    rest = path.removeprefix(passage.base)
    return passage.door + rest + (f"?{target.query}" if target.query else "")
