"""The filter of responses at the broker door: which headers pass, and which responses.

Pure: `runtime.doors` performs it. Keys in headers and bodies are masked by `domain.redaction`.
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
"""The response headers that concern the broker, not the sandbox."""

_STRIPPED = HOP_BY_HOP | _WITHHELD
DECIDING = frozenset({"connection", "content-encoding", "location"})
"""The headers whose values decide what passes: responses that differ in other values only are
checked alike."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LEADING = _REDIRECTS | {201, 202}
"""The statuses whose `Location` has a meaning."""
_USUAL_PORTS = {"https": 443, "http": 80}
SWITCHING = 101


def judge_answer(
    passage: Passage, status: int, headers: Headers
) -> tuple[tuple[int, ...], Headers] | Refusal:
    """Return the places of the headers that pass unchanged, and the rewritten headers.

    Returns a refusal where the whole response may not pass.
    """
    if status == SWITCHING and not passage.websocket:
        return Refusal(502, "bad_answer", "the provider switched protocols unasked")
    lows = [name.lower() for name, _ in headers]
    if any(map(_declares_encoding, lows, [value for _, value in headers])):
        # The broker requested plain bytes; in compressed ones nobody could see the key.
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


def _declares_encoding(low: str, value: str) -> bool:
    """Report whether a header declares an encoded or compressed body."""
    if low == "content-encoding":
        return value.strip().lower() not in {"identity", ""}
    return low == "sec-websocket-extensions"


def _location(passage: Passage, location: str) -> str | None:
    """Return a redirect's target as seen from inside.

    Returns None when it leaves its origin or the allowed paths.
    """
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
