"""The headers of a request that pass the broker door: a list, for each provider and in general.

All others are removed. An unknown header may mean something to a gateway or a framework on the way:
another method, another path, another client, a part of the response. A name with an underscore
never passes by a prefix: servers read `X_Api_Key` as `X-Api-Key` (RFC 3875 §4.1.18). Credentials
are handled by `domain.broker.passage`.
"""

from dataclasses import dataclass

_COMMON = frozenset(
    {
        "accept", "accept-charset", "accept-language", "api-version", "baggage", "cache-control",
        "content-disposition", "content-encoding", "content-language", "content-type", "date",
        "idempotency-key", "if-match", "if-modified-since", "if-none-match", "pragma", "prefer",
        "priority", "traceparent", "tracestate", "user-agent", "x-api-version", "x-app",
        "x-client-name", "x-client-request-id", "x-client-version", "x-correlation-id",
        "x-idempotency-key", "x-request-id", "x-session-id",
    }
)  # fmt: skip
_SDKS = ("x-fern-", "x-stainless-")
"""The headers of the generators that make most vendors' SDKs."""

_GIT = frozenset({"git-protocol"})
_CUSTOM = frozenset({"notion-version", "stripe-version", "x-github-api-version"})
_MISREAD = frozenset(
    {
        "forwarded", "via", "range", "if-range", "true-client-ip", "cf-connecting-ip", "x-host",
        "x-client-ip", "x-cluster-client-ip", "x-forwarded", "x-http-method",
        "x-http-method-override", "x-method-override", "x-original-host", "x-original-method",
        "x-original-url", "x-real-ip", "x-rewrite-url",
    }
)  # fmt: skip
_MISREAD_PREFIXES = ("x-forwarded-", "x-accel-", "sec-", "proxy-")
MAX_DECLARED = 32


@dataclass(frozen=True, slots=True)
class AllowedNames:
    """The names that pass, in lower case, and the allowed prefixes of names."""

    names: frozenset[str] = _COMMON
    prefixes: tuple[str, ...] = ()

    def passes(self, low: str) -> bool:
        """Report whether a header of this name, in lower case, passes."""
        return low in self.names or ("_" not in low and low.startswith(self.prefixes))


def _allow_names(*names: str, prefixes: tuple[str, ...] = ()) -> AllowedNames:
    return AllowedNames(_COMMON | frozenset(names), (*_SDKS, *prefixes))


# Codex sends `session_id` and `conversation_id` with an underscore.
_OPENAI = _allow_names(
    "originator", "version", "session_id", "session-id", "conversation_id", "thread-id",
    prefixes=("openai-", "x-openai-", "x-codex-"),
)  # fmt: skip
_ANTHROPIC = _allow_names(prefixes=("anthropic-", "x-anthropic-", "x-claude-"))
_VENDORS = {
    "openai": _OPENAI,
    "chatgpt": _OPENAI,
    "anthropic": _ANTHROPIC,
    "claude": _ANTHROPIC,
    "google": _allow_names("x-server-timeout", prefixes=("x-goog-", "x-vertex-ai-")),
    "gemini": _allow_names("x-server-timeout", prefixes=("x-goog-", "x-gemini-")),
    "deepgram": _allow_names(prefixes=("x-deepgram-", "dg-")),
    "groq": _allow_names(prefixes=("groq-", "x-groq-")),
    "together": _allow_names(prefixes=("x-together-",)),
    "fireworks": _allow_names("x-session-affinity", prefixes=("fireworks-", "x-fireworks-")),
    "mistral": _allow_names(prefixes=("x-mistral-",)),
    "replicate": _allow_names("cancel-after"),
    "huggingface": _allow_names("x-use-cache", "x-wait-for-model", "x-compute-type"),
    "mcp": _allow_names("last-event-id", prefixes=("mcp-",)),
}  # fmt: skip
_VENDOR = _allow_names()

OF_GIT = AllowedNames(_COMMON | _GIT)
"""The headers that git sends over smart HTTP."""


def of_provider(name: str) -> AllowedNames:
    """Return the headers that a provider's SDKs, and the agents that use it, send."""
    return _VENDORS.get(name, _VENDOR)


def of_secret(declared: tuple[str, ...]) -> AllowedNames:
    """Return the headers that pass with a custom secret: common ones, and those its owner
    `declared`."""
    return AllowedNames(_COMMON | _CUSTOM | frozenset(name.lower() for name in declared))


def may_be_declared(name: str) -> bool:
    """Report whether an owner may declare a header of this name: none that gives a request another
    method, path, client or range."""
    low = name.lower()
    return not ("_" in low or low in _MISREAD or low.startswith(_MISREAD_PREFIXES))
