"""The filter of requests at the broker door: one request in, a passage or a refusal out.

Pure: `runtime.doors` performs it. Every credential that a client sends is removed, wherever it
stands, and the recorded one is added. Responses are checked by `domain.broker.answer`.
"""

import base64
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal
from urllib.parse import quote, unquote_plus, urlsplit

import msgspec

from atoll.domain.broker.provider import PROVIDERS, WEBSOCKET, Provider, Rule, Upstream
from atoll.domain.broker.request_headers import AllowedNames, of_provider, of_secret
from atoll.domain.network.address import PrivateReach
from atoll.domain.network.host import Target, canonical_host

Headers = tuple[tuple[str, str], ...]
Slot = Literal["bearer", "header", "query", "basic"]

HOP_BY_HOP = frozenset(
    {
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
"""The hop-by-hop headers of RFC 9110 §7.6.1, and the old `Proxy-Connection`."""

_CREDENTIALS = frozenset(
    {
        "authorization", "authentication", "x-api-key", "api-key", "apikey", "x-api-token",
        "x-auth-token", "x-access-token", "x-goog-api-key", "x-goog-user-project", "cookie",
        "x-goog-iam-authorization-token", "x-goog-iam-authority-selector",
        "openai-organization", "openai-project", "x-amz-security-token", "private-token",
        *(one.header.lower() for one in PROVIDERS.values()),
    }
)  # fmt: skip
"""Every header in which a client could put a credential of its own."""

_CREDENTIAL_PARAMETERS = frozenset(
    {
        "key", "api_key", "api-key", "apikey", "access_token", "oauth_token", "token",
        "xi-api-key", "xi_api_key", "authorization", "single_use_token",
    }
)  # fmt: skip
"""Every query parameter for the same: some vendors take a key there."""

_REWRITTEN = frozenset({"host", "content-length", "accept-encoding", "expect"})
_STRIPPED = HOP_BY_HOP | _CREDENTIALS | _REWRITTEN
_HANDSHAKE = frozenset({"sec-websocket-key", "sec-websocket-version"})
"""The headers that a WebSocket's opening keeps (RFC 6455 §4.1); extensions would compress its
frames."""

DECIDING = frozenset({"connection", "upgrade"})
"""The headers whose values decide what passes: requests that differ in other values only are
checked alike, except `WEBSOCKET` ones."""

_SAFE_PATH = re.compile(r"/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]++|%[0-9A-Fa-f]{2})*")
_TRICKY_ESCAPE = re.compile(r"%(?:2e|2f|5c|00|25)", re.IGNORECASE)
_METHOD = re.compile(r"GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS")


@dataclass(frozen=True, slots=True)
class IncomingRequest:
    """A request as it came in at the door, `path` and `query` as sent."""

    method: str
    path: str
    query: str = ""
    headers: Headers = ()

    @property
    def upgrade(self) -> str:
        """The protocol that the request wants to upgrade to, lower case; empty when none."""
        return next((v.strip().lower() for n, v in self.headers if n.lower() == "upgrade"), "")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request: a status, a stable code, and what to do.

    `fields` stand between code and message in the response.
    """

    status: int
    error: str
    message: str
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """A request that the door answers itself, with these members of a JSON object."""

    members: tuple[tuple[str, str], ...] = field(repr=False)


class Origin(msgspec.Struct, frozen=True):
    """The server to dial.

    `host` is canonical, or a base URL's own. A `judged` one must resolve to public addresses only,
    to loopback when `loopback` allows it, or into the private `ranges`. One that a program inside
    `named` is dialled anew each time.
    """

    scheme: str
    host: str
    port: int
    judged: bool = False
    loopback: bool = False
    ranges: tuple[str, ...] = ()
    named: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """A request that passes.

    It holds the destination, target and headers (`Host` among them). The last headers are the
    client's own, which stood at the places `passed`. It also holds the texts that may not come
    back. A `Location` below `base` is shown inside below `door`.
    """

    origin: Origin
    target: str
    rule: str
    headers: Headers = field(repr=False)
    passed: tuple[int, ...]
    masks: tuple[str, ...] = field(repr=False)
    door: str
    base: str = ""
    websocket: bool = False


@dataclass(frozen=True, slots=True)
class BrokerSecret:
    """A custom secret and how it is sent: `slot_name` is the header's or parameter's name, or the
    user of `basic`; `headers` are further ones allowed with it."""

    name: str
    value: str = field(repr=False)
    slot: Slot = "bearer"
    slot_name: str = ""
    headers: tuple[str, ...] = ()


def judge(upstream: Upstream, incoming: IncomingRequest) -> Passage | Refusal:
    """Decide a request for `/broker/{provider}{path}`."""
    provider = upstream.provider
    refusal = plain_path(incoming.path)
    if refusal is not None:
        return refusal
    upgrade = incoming.upgrade
    websocket = upgrade == "websocket" and incoming.method == "GET"
    if upgrade and not websocket:
        return Refusal(426, "upgrade_not_offered", "this door speaks HTTP/1.1 and WebSocket")
    method = WEBSOCKET if websocket else incoming.method
    rule = next((r for r in provider.rules if _matches(r, method, incoming.path)), None)
    if rule is None and websocket:
        message = (
            f"{provider.name} has no WebSocket at {incoming.path} here; use POST with streaming"
        )
        return Refusal(426, "websocket_not_offered", message)
    if rule is None:
        message = (
            f"{incoming.method} {incoming.path} is not an inference endpoint of {provider.name}"
        )
        return Refusal(403, "not_allowed", f"{message} that sandboxes may use")
    origin, authority, base = _place(upstream.base_url, upstream.reach)
    query = without_parameters(incoming.query, _CREDENTIAL_PARAMETERS)
    credentials: Headers = ((provider.header, provider.scheme + upstream.key),)
    if upstream.account and provider.account_header:
        credentials += ((provider.account_header, upstream.account),)
    offered = _protocols(incoming, provider) if websocket else None
    known = of_provider(provider.name)
    headers, passed = outgoing_headers(incoming, authority, credentials, known, websocket=offered)
    return Passage(
        origin=origin,
        target=base + incoming.path + (f"?{query}" if query else ""),
        rule=rule.name,
        headers=headers,
        passed=passed,
        masks=(upstream.key,),
        door=f"/broker/{provider.name}",
        base=base,
        websocket=websocket,
    )


def judge_custom(
    secret: BrokerSecret, target: Target, incoming: IncomingRequest, *, approved: bool, dev: bool
) -> Passage | Refusal:
    """Decide a request that sends a custom secret to `target`. `approved` is a person's approval
    for this secret, host and port; without it nothing of the request leaves."""
    shown = target.authority
    if not approved:
        return Refusal(
            403,
            "domain_not_approved",
            "This domain requires owner approval before the secret can be sent.",
            (("domain", shown), ("secret", secret.name)),
        )
    if incoming.upgrade or not _METHOD.fullmatch(incoming.method):
        return Refusal(405, "method_not_allowed", f"{incoming.method} does not pass with a secret")
    refusal = plain_path(target.path)
    if refusal is not None:
        return refusal
    query, credentials = target.query, _credentials(secret)
    if secret.slot == "query":
        query = without_parameters(query, frozenset({secret.slot_name.lower()}))
        pair = f"{quote(secret.slot_name, safe='')}={quote(secret.value, safe='')}"
        query = f"{query}&{pair}" if query else pair
    loopback = dev and target.scheme == "http"
    headers, passed = outgoing_headers(incoming, shown, credentials, of_secret(secret.headers))
    return Passage(
        origin=Origin(
            target.scheme, target.host, target.port, judged=True, loopback=loopback, named=True
        ),
        target=target.path + (f"?{query}" if query else ""),
        rule="custom",
        headers=headers,
        passed=passed,
        masks=_spellings(secret),
        door=f"/broker/custom/{secret.name}?target={target.scheme}://{shown}",
    )


def plain_path(raw_path: str) -> Refusal | None:
    """Return a refusal for a path, still percent-encoded, that servers could read in two ways."""
    if not _SAFE_PATH.fullmatch(raw_path) or _TRICKY_ESCAPE.search(raw_path):
        return Refusal(400, "bad_path", f"{raw_path!r:.200} is not a plain path")
    if "/." in raw_path and any(part in {".", ".."} for part in raw_path.split("/")):
        return Refusal(400, "bad_path", "dot segments are not allowed in a broker path")
    return None


def outgoing_headers(
    incoming: IncomingRequest,
    authority: str,
    credentials: Headers,
    known: AllowedNames,
    *,
    websocket: str | None = None,
) -> tuple[Headers, tuple[int, ...]]:
    """Return the outgoing headers, and the places of the client's own in its request.

    First come ours, then those of the client that are `known`, without hop-by-hop headers and
    possible credentials. `websocket` holds the subprotocols of an opening, None for plain requests.
    """
    lows = [name.lower() for name, _ in incoming.headers]
    named = {name.lower() for name, _ in credentials} | named_hop_by_hop(lows, incoming.headers)
    passed = tuple(
        at
        for at, low in enumerate(lows)
        if low not in named and _goes_out(low, known, opening=websocket is not None)
    )
    kept = tuple(incoming.headers[at] for at in passed)
    ours: Headers = (("Host", authority), *credentials, ("Accept-Encoding", "identity"))
    if websocket is None:
        return (*ours, *kept), passed
    offered: Headers = (("Sec-WebSocket-Protocol", websocket),) if websocket else ()
    ours = (*ours, ("Connection", "Upgrade"), ("Upgrade", "websocket"), *offered)
    return (*ours, *kept), passed


def _goes_out(low: str, known: AllowedNames, *, opening: bool) -> bool:
    if low in _HANDSHAKE:
        return opening
    return low not in _STRIPPED and known.passes(low)


def named_hop_by_hop(lows: list[str], headers: Headers) -> set[str]:
    """Return the headers that `Connection` restricts to one hop (RFC 9110 §7.6.1), lower case;
    `lows` are the names of `headers` in lower case."""
    if "connection" not in lows:
        return set()
    told = [value for low, (_, value) in zip(lows, headers, strict=True) if low == "connection"]
    return {token.strip().lower() for token in ",".join(told).split(",")}


def without_parameters(query: str, names: frozenset[str]) -> str:
    """Return the query as sent, without the named parameters. Some servers split them at `;` too
    (HTML 4.01, appendix B.2.2)."""
    if not query:
        return ""
    parts = re.split("([&;])", query)
    kept = [
        (separator, one)
        for separator, one in zip(["", *parts[1::2]], parts[0::2], strict=True)
        if unquote_plus(one.partition("=")[0]).strip().lower() not in names
    ]
    return "".join(separator + one for separator, one in kept).lstrip("&;")


def basic(user: str, password: str) -> tuple[str, str]:
    """Return an `Authorization` header for HTTP Basic (RFC 7617)."""
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    return "Authorization", f"Basic {token}"


def _matches(rule: Rule, method: str, path: str) -> bool:
    return rule.method == method and re.fullmatch(rule.path, path) is not None


def _protocols(incoming: IncomingRequest, provider: Provider) -> str:
    """Return the subprotocols a client offers, without those that are credentials (OpenAI's
    `openai-insecure-api-key.KEY`, Deepgram's `token, KEY`)."""
    offered = [
        token.strip()
        for name, value in incoming.headers
        if name.lower() == "sec-websocket-protocol"
        for token in value.split(",")
    ]
    return ", ".join(one for one in offered if one in provider.subprotocols)


def _credentials(secret: BrokerSecret) -> Headers:
    if secret.slot == "bearer":
        return (("Authorization", f"Bearer {secret.value}"),)
    if secret.slot == "header":
        return ((secret.slot_name, secret.value),)
    if secret.slot == "basic":
        return (basic(secret.slot_name, secret.value),)
    return ()


def _spellings(secret: BrokerSecret) -> tuple[str, ...]:
    """Return the outgoing secret in every spelling that an echo could return."""
    forms = [secret.value]
    if secret.slot == "query":
        forms.append(quote(secret.value, safe=""))
    if secret.slot == "basic":
        forms.append(basic(secret.slot_name, secret.value)[1].removeprefix("Basic "))
    return tuple(dict.fromkeys(forms))


@lru_cache(maxsize=64)
def _place(base_url: str, reach: PrivateReach | None) -> tuple[Origin, str, str]:
    """Return the origin of a provider's base URL, its `Host`, and its base path."""
    parts = urlsplit(base_url)
    host = canonical_host(parts.hostname or "")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    authority = Target(parts.scheme, host, port, "/", "").authority
    origin = Origin(parts.scheme, host, port)
    if reach is not None:
        origin = Origin(
            parts.scheme, host, port, judged=True, loopback=reach.loopback, ranges=reach.ranges
        )
    return origin, authority, parts.path.rstrip("/")
