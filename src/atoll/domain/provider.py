"""Model providers as the broker door knows them: a table and the rules that read it.

What may be asked of whom, with which header the key goes out, and which headers must
not pass in either direction. Pure: `runtime.doors.broker` performs it.
"""

import re
from dataclasses import dataclass, field
from urllib.parse import unquote_plus, urlsplit

PLACEHOLDER_PREFIX = "atoll-placeholder-"

_HOP_BY_HOP = frozenset(
    {
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
"""RFC 9110 §7.6.1, and the old `Proxy-Connection`."""

_CREDENTIALS = frozenset(
    {
        "authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie",
        "openai-organization", "openai-project", "sec-websocket-protocol",
    }
)  # fmt: skip
"""Every header a client could put a credential of its own in."""

_CREDENTIAL_PARAMETERS = frozenset({"key", "api_key", "api-key", "access_token", "oauth_token"})
"""And every query parameter: some vendors take a key there."""

_REWRITTEN = frozenset({"host", "content-length", "accept-encoding", "expect"})
_WITHHELD = frozenset(
    {
        "set-cookie", "www-authenticate", "authorization", "x-api-key", "alt-svc",
        "strict-transport-security", "content-length", "proxy-authenticate",
    }
)  # fmt: skip
"""Headers of an answer that are the broker's business, not the sandbox's."""

_SAFE_PATH = re.compile(r"/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2}|/)*")
_TRICKY_ESCAPE = re.compile(r"%(?:2e|2f|5c|00|25)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of request that is let through; `name` is its class in the audit."""

    name: str
    method: str
    path: str


@dataclass(frozen=True, slots=True)
class Provider:
    """A vendor: where it lives, how it wants its key, and what may be asked of it.

    `header` and `scheme` make the credential line (`Authorization: Bearer KEY`). Rules
    list inference only: key and account management is not reachable from a sandbox."""

    name: str
    upstream: str
    header: str
    scheme: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Upstream:
    """A provider with the key of this installation, and its own base URL when it has one."""

    provider: Provider
    base_url: str
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request does not pass: a status, a stable word, and what to do."""

    status: int
    error: str
    message: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A request that passes: where it goes and the headers it takes."""

    url: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    rule: str


OPENAI = Provider(
    name="openai",
    upstream="https://api.openai.com",
    header="Authorization",
    scheme="Bearer ",
    rules=(
        Rule("responses", "POST", r"/v1/responses(?:/compact)?"),
        Rule("response", "GET", r"/v1/responses/[\w\-]+"),
        Rule("chat", "POST", r"/v1/chat/completions"),
        Rule("completions", "POST", r"/v1/completions"),
        Rule("embeddings", "POST", r"/v1/embeddings"),
        Rule("models", "GET", r"/v1/models(?:/[\w\-.:]+)?"),
    ),
)
ANTHROPIC = Provider(
    name="anthropic",
    upstream="https://api.anthropic.com",
    header="x-api-key",
    scheme="",
    rules=(
        Rule("messages", "POST", r"/v1/messages"),
        Rule("count", "POST", r"/v1/messages/count_tokens"),
        Rule("models", "GET", r"/v1/models(?:/[\w\-.:]+)?"),
    ),
)
GEMINI = Provider(
    name="gemini",
    upstream="https://generativelanguage.googleapis.com",
    header="x-goog-api-key",
    scheme="",
    rules=(
        Rule("generate", "POST", r"/v1beta/models/[\w\-.]+:(?:g|streamG)enerateContent"),
        Rule("count", "POST", r"/v1beta/models/[\w\-.]+:countTokens"),
        Rule("models", "GET", r"/v1beta/models(?:/[\w\-.]+)?"),
    ),
)
PROVIDERS = {p.name: p for p in (OPENAI, ANTHROPIC, GEMINI)}


def placeholder(provider: Provider) -> str:
    """What stands in the sandbox where an agent looks for this provider's key."""
    return f"{PLACEHOLDER_PREFIX}{provider.name}-no-key-inside"


def judge(
    upstream: Upstream,
    method: str,
    raw_path: str,
    *,
    query: str,
    headers: tuple[tuple[str, str], ...],
) -> Passage | Refusal:
    """Decide one request for `/broker/{provider}{raw_path}`; `raw_path` is as sent, still
    percent-encoded. Client credentials never survive, whatever slot they came in."""
    provider = upstream.provider
    if not _SAFE_PATH.fullmatch(raw_path) or _TRICKY_ESCAPE.search(raw_path):
        return Refusal(400, "bad_path", f"{raw_path!r:.200} is not a plain path")
    if any(part in {".", ".."} for part in raw_path.split("/")):
        return Refusal(400, "bad_path", "dot segments are not allowed in a broker path")
    if _wants_upgrade(headers):
        return Refusal(
            426, "websocket_not_offered", "this door speaks plain HTTP; use POST with streaming"
        )
    rule = next((r for r in provider.rules if _matches(r, method, raw_path)), None)
    if rule is None:
        return Refusal(
            403,
            "not_allowed",
            f"{method} {raw_path} is not an inference endpoint of {provider.name} "
            f"that sandboxes may use",
        )
    kept = _without_credentials(query)
    url = upstream.base_url.rstrip("/") + raw_path + (f"?{kept}" if kept else "")
    passed = tuple((n, v) for n, v in headers if _passes_out(n, headers))
    return Passage(url, (*passed, *_credential(upstream)), rule.name)


def passes_back(name: str, connection: str = "") -> bool:
    """Whether a header of the upstream's answer goes into the sandbox."""
    low = name.lower()
    named = {token.strip().lower() for token in connection.split(",")}
    return low not in _HOP_BY_HOP and low not in _WITHHELD and low not in named


def redirect_stays(base_url: str, location: str) -> bool:
    """Whether a `Location` leads to the same origin (relative ones do)."""
    base, target = urlsplit(base_url), urlsplit(location)
    if not target.netloc and not target.scheme:
        return not location.startswith(("//", "\\"))
    return (target.scheme, target.netloc.lower()) == (base.scheme, base.netloc.lower())


def safe_base_url(text: str) -> bool:
    """Whether keys may be sent there: HTTPS anywhere; plain HTTP only to this machine."""
    try:
        url = urlsplit(text)
        host = url.hostname or ""
        url.port  # noqa: B018 - reading it checks it
    except ValueError:
        return False
    if url.username or url.password or url.query or url.fragment or not host:
        return False
    loopback = host in {"127.0.0.1", "localhost", "::1"}
    return url.scheme == "https" or (url.scheme == "http" and loopback)


def _matches(rule: Rule, method: str, path: str) -> bool:
    return rule.method == method and re.fullmatch(rule.path, path) is not None


def _without_credentials(query: str) -> str:
    """The query as sent, but for parameters that carry a credential. Some servers part them
    at `;` too (HTML 4.01, appendix B.2.2)."""
    parts = re.split("([&;])", query)
    kept = [
        (separator, one)
        for separator, one in zip(["", *parts[1::2]], parts[0::2], strict=True)
        if unquote_plus(one.partition("=")[0]).strip().lower() not in _CREDENTIAL_PARAMETERS
    ]
    return "".join(separator + one for separator, one in kept).lstrip("&;")


def _wants_upgrade(headers: tuple[tuple[str, str], ...]) -> bool:
    return any(name.lower() == "upgrade" for name, _ in headers)


def _passes_out(name: str, headers: tuple[tuple[str, str], ...]) -> bool:
    low = name.lower()
    named = {
        token.strip().lower()
        for n, value in headers
        if n.lower() == "connection"
        for token in value.split(",")
    }
    return low not in _HOP_BY_HOP | _CREDENTIALS | _REWRITTEN | named


def _credential(upstream: Upstream) -> tuple[tuple[str, str], ...]:
    provider = upstream.provider
    return (
        (provider.header, provider.scheme + upstream.key),
        ("Accept-Encoding", "identity"),
    )
