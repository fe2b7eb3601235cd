"""Model providers as the broker door knows them: one table, best read from `OPENAI` down.

For each vendor it holds the address, the form of the credential, the allowed requests, and the
variables its own SDK reads. Data only: `domain.broker.passage` checks by it,
`docs/program/providers.md` shows it.
"""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from atoll.domain.network.address import PrivateReach

PLACEHOLDER_PREFIX = "atoll-placeholder-"
WEBSOCKET = "WEBSOCKET"
"""The value that stands for the method in a rule that allows a WebSocket."""

_MODEL = r"[\w\-.:]+"
_NAME = r"[\w\-]+"


@dataclass(frozen=True, slots=True)
class Rule:
    """An allowed kind of request; `name` is its class in the audit."""

    name: str
    method: str
    path: str


@dataclass(frozen=True, slots=True)
class Provider:
    """A vendor. `header` and `scheme` make the credential line (`Authorization: Bearer KEY`). Rules
    list inference only: keys, accounts, files, and other people's jobs are not reachable from a
    sandbox. `key_env` and `base_env` are what the vendor's SDK reads, the latter with `base_path`
    behind the broker's address; empty where the SDK must be configured in code. `subprotocols` are
    the WebSocket subprotocols that are no credentials. `account_header` names the account of a
    login; `refresh_path` is where an agent asks for new tokens, which the broker answers itself."""

    name: str
    upstream: str
    rules: tuple[Rule, ...]
    header: str = "Authorization"
    scheme: str = "Bearer "
    key_env: str = ""
    base_env: str = ""
    base_path: str = ""
    subprotocols: frozenset[str] = frozenset()
    account_header: str = ""
    refresh_path: str = ""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A provider with this installation's key or the token of a login, and its own base URL when
    there is one. `account` is the vendor's id of a login's account. `reach` bounds where a gateway
    of somebody's own may lead; None: what the installation names is not judged."""

    provider: Provider
    base_url: str
    key: str = field(repr=False)
    account: str = ""
    reach: PrivateReach | None = None


OPENAI = Provider(
    name="openai",
    upstream="https://api.openai.com",
    key_env="OPENAI_API_KEY",
    base_env="OPENAI_BASE_URL",
    base_path="/v1",
    subprotocols=frozenset({"realtime", "openai-beta.realtime-v1"}),
    rules=(
        Rule("responses", "POST", r"/v1/responses(?:/compact|/input_tokens)?"),
        Rule("response", "GET", rf"/v1/responses/{_NAME}"),
        Rule("chat", "POST", r"/v1/chat/completions"),
        Rule("completions", "POST", r"/v1/completions"),
        Rule("embeddings", "POST", r"/v1/embeddings"),
        Rule("moderations", "POST", r"/v1/moderations"),
        Rule("images", "POST", r"/v1/images/(?:generations|edits|variations)"),
        Rule("audio", "POST", r"/v1/audio/(?:speech|transcriptions|translations)"),
        Rule("realtime", WEBSOCKET, r"/v1/realtime"),
        Rule("models", "GET", rf"/v1/models(?:/{_MODEL})?"),
    ),
)
ANTHROPIC = Provider(
    name="anthropic",
    upstream="https://api.anthropic.com",
    header="x-api-key",
    scheme="",
    key_env="ANTHROPIC_API_KEY",
    base_env="ANTHROPIC_BASE_URL",
    rules=(
        Rule("messages", "POST", r"/v1/messages"),
        Rule("count", "POST", r"/v1/messages/count_tokens"),
        Rule("models", "GET", rf"/v1/models(?:/{_MODEL})?"),
    ),
)
GOOGLE = Provider(
    name="google",
    upstream="https://aiplatform.googleapis.com",
    header="x-goog-api-key",
    scheme="",
    key_env="GOOGLE_API_KEY",
    base_env="GOOGLE_VERTEX_BASE_URL",
    rules=(
        Rule(
            "generate",
            "POST",
            rf"/v1(?:beta1)?/publishers/{_NAME}/models/{_MODEL}:"
            r"(?:generateContent|streamGenerateContent|countTokens|computeTokens|predict)",
        ),
        Rule("models", "GET", rf"/v1(?:beta1)?/publishers/{_NAME}/models(?:/{_MODEL})?"),
    ),
)
GEMINI = Provider(
    name="gemini",
    upstream="https://generativelanguage.googleapis.com",
    header="x-goog-api-key",
    scheme="",
    key_env="GEMINI_API_KEY",
    base_env="GOOGLE_GEMINI_BASE_URL",
    rules=(
        Rule("generate", "POST", r"/v1(?:alpha|beta)?/models/[\w\-.]+:(?:g|streamG)enerateContent"),
        Rule("count", "POST", r"/v1(?:alpha|beta)?/models/[\w\-.]+:countTokens"),
        Rule("embed", "POST", r"/v1(?:alpha|beta)?/models/[\w\-.]+:(?:e|batchE)mbedContents?"),
        Rule(
            "live",
            WEBSOCKET,
            r"/ws/google\.ai\.generativelanguage\.v1(?:alpha|beta)\."
            r"GenerativeService\.BidiGenerateContent",
        ),
        Rule("models", "GET", r"/v1(?:alpha|beta)?/models(?:/[\w\-.]+)?"),
    ),
)
ELEVENLABS = Provider(
    name="elevenlabs",
    upstream="https://api.elevenlabs.io",
    header="xi-api-key",
    scheme="",
    key_env="ELEVENLABS_API_KEY",
    rules=(
        Rule("speech", "POST", rf"/v1/text-to-speech/{_NAME}(?:/stream)?(?:/with-timestamps)?"),
        Rule("speech", WEBSOCKET, rf"/v1/text-to-speech/{_NAME}/(?:multi-)?stream-input"),
        Rule("dialogue", "POST", r"/v1/text-to-dialogue(?:/stream)?(?:/with-timestamps)?"),
        Rule("change", "POST", rf"/v1/speech-to-speech/{_NAME}(?:/stream)?"),
        Rule("transcribe", "POST", r"/v1/speech-to-text"),
        Rule("transcribe", WEBSOCKET, r"/v1/speech-to-text/realtime"),
        Rule("sound", "POST", r"/v1/(?:sound-generation|audio-isolation(?:/stream)?)"),
        Rule("voices", "GET", rf"/v[12]/voices(?:/{_NAME})?"),
        Rule("models", "GET", r"/v1/models"),
    ),
)
DEEPGRAM = Provider(
    name="deepgram",
    upstream="https://api.deepgram.com",
    scheme="Token ",
    key_env="DEEPGRAM_API_KEY",
    rules=(
        Rule("listen", "POST", r"/v1/listen"),
        Rule("listen", WEBSOCKET, r"/v[12]/listen"),
        Rule("speak", "POST", r"/v[12]/speak"),
        Rule("speak", WEBSOCKET, r"/v[12]/speak"),
        Rule("read", "POST", r"/v1/read"),
        Rule("models", "GET", rf"/v1/models(?:/{_MODEL})?"),
    ),
)
GROQ = Provider(
    name="groq",
    upstream="https://api.groq.com",
    key_env="GROQ_API_KEY",
    base_env="GROQ_BASE_URL",
    rules=(
        Rule("responses", "POST", r"/openai/v1/responses"),
        Rule("chat", "POST", r"/openai/v1/chat/completions"),
        Rule("embeddings", "POST", r"/openai/v1/embeddings"),
        Rule("audio", "POST", r"/openai/v1/audio/(?:speech|transcriptions|translations)"),
        Rule("models", "GET", r"/openai/v1/models(?:/[\w\-.:]+)*"),
    ),
)
TOGETHER = Provider(
    name="together",
    upstream="https://api.together.ai",
    key_env="TOGETHER_API_KEY",
    base_env="TOGETHER_BASE_URL",
    rules=(
        Rule("chat", "POST", r"/v1/chat/completions"),
        Rule("completions", "POST", r"/v1/completions"),
        Rule("embeddings", "POST", r"/v1/embeddings"),
        Rule("rerank", "POST", r"/v1/rerank"),
        Rule("images", "POST", r"/v1/images/generations"),
        Rule("audio", "POST", r"/v1/audio/(?:speech|transcriptions|translations)"),
        Rule("models", "GET", rf"/(?:v1/models|v2/supported-models(?:/{_MODEL}){{0,2}})"),
    ),
)
FIREWORKS = Provider(
    name="fireworks",
    upstream="https://api.fireworks.ai",
    key_env="FIREWORKS_API_KEY",
    base_env="FIREWORKS_BASE_URL",
    base_path="/inference",
    rules=(
        Rule("chat", "POST", r"/inference/v1/chat/completions"),
        Rule("completions", "POST", r"/inference/v1/completions"),
        Rule("responses", "POST", r"/inference/v1/responses"),
        Rule("messages", "POST", r"/inference/v1/messages"),
        Rule("embeddings", "POST", r"/inference/v1/embeddings"),
        Rule("rerank", "POST", r"/inference/v1/rerank"),
        Rule("models", "GET", r"/inference/v1/models"),
    ),
)
MISTRAL = Provider(
    name="mistral",
    upstream="https://api.mistral.ai",
    key_env="MISTRAL_API_KEY",
    rules=(
        Rule("chat", "POST", r"/v1/chat/completions"),
        Rule("fim", "POST", r"/v1/fim/completions"),
        Rule("embeddings", "POST", r"/v1/embeddings"),
        Rule("moderations", "POST", r"/v1/(?:chat/)?(?:moderations|classifications)"),
        Rule("ocr", "POST", r"/v1/ocr"),
        Rule("audio", "POST", r"/v1/audio/(?:speech|transcriptions)"),
        Rule("models", "GET", rf"/v1/models(?:/{_MODEL})?"),
    ),
)
COHERE = Provider(
    name="cohere",
    upstream="https://api.cohere.com",
    key_env="CO_API_KEY",
    base_env="CO_API_URL",
    rules=(
        Rule("chat", "POST", r"/v[12]/chat"),
        Rule("generate", "POST", r"/v1/(?:generate|summarize|classify)"),
        Rule("embed", "POST", r"/v[12]/embed"),
        Rule("rerank", "POST", r"/v[12]/rerank"),
        Rule("tokens", "POST", r"/v1/(?:de)?tokenize"),
        Rule("models", "GET", rf"/v1/models(?:/{_MODEL})?"),
    ),
)
REPLICATE = Provider(
    name="replicate",
    upstream="https://api.replicate.com",
    key_env="REPLICATE_API_TOKEN",
    base_env="REPLICATE_BASE_URL",
    rules=(
        Rule("predict", "POST", r"/v1/predictions"),
        Rule("predict", "POST", rf"/v1/models/{_MODEL}/{_MODEL}/predictions"),
        Rule("prediction", "GET", rf"/v1/predictions/{_NAME}"),
        Rule("cancel", "POST", rf"/v1/predictions/{_NAME}/cancel"),
        Rule("models", "GET", rf"/v1/models/{_MODEL}/{_MODEL}(?:/versions(?:/{_NAME})?)?"),
    ),
)
HUGGINGFACE = Provider(
    name="huggingface",
    upstream="https://router.huggingface.co",
    key_env="HF_TOKEN",
    rules=(
        Rule("chat", "POST", r"/v1/(?:chat/completions|responses|embeddings)"),
        Rule(
            "task",
            "POST",
            rf"/hf-inference/models/{_MODEL}(?:/{_MODEL})?"
            r"(?:/pipeline/[\w\-]+|/v1/chat/completions)?",
        ),
        Rule("models", "GET", rf"/v1/models(?:/{_MODEL}){{0,2}}"),
    ),
)

PROVIDERS = {
    one.name: one
    for one in (
        ANTHROPIC, OPENAI, GOOGLE, GEMINI, ELEVENLABS, DEEPGRAM, GROQ, TOGETHER, FIREWORKS,
        MISTRAL, COHERE, REPLICATE, HUGGINGFACE,
    )
}  # fmt: skip

CHATGPT = Provider(
    name="chatgpt",
    upstream="https://chatgpt.com",
    account_header="chatgpt-account-id",
    refresh_path="/oauth/token",
    rules=(
        Rule("responses", "POST", r"/backend-api/codex/responses(?:/compact)?"),
        Rule("models", "GET", r"/backend-api/codex/models"),
        Rule("account", "GET", r"/backend-api/wham/accounts/check"),
    ),
)
CLAUDE = Provider(
    name="claude",
    upstream=ANTHROPIC.upstream,
    base_env=ANTHROPIC.base_env,
    key_env="CLAUDE_CODE_OAUTH_TOKEN",
    rules=ANTHROPIC.rules,
)

LOGIN_PROVIDERS = {one.name: one for one in (CHATGPT, CLAUDE)}
"""The vendors as agents call them with a person's login. Nobody sets a key of theirs."""


def placeholder(provider: Provider) -> str:
    """Return the text that an agent inside finds in place of this provider's key."""
    return f"{PLACEHOLDER_PREFIX}{provider.name}-no-key-inside"


def broker_environment(provider: Provider, broker: str) -> tuple[tuple[str, str], ...]:
    """Return the variables that make the vendor's own SDK work behind `broker`.

    `broker` is a URL such as `http://127.0.0.1:8082/broker`. The variables hold a placeholder for
    the key, and the base URL where the SDK reads one.
    """
    base = f"{broker}/{provider.name}{provider.base_path}"
    named = ((provider.key_env, placeholder(provider)), (provider.base_env, base))
    return tuple((name, value) for name, value in named if name)


def safe_base_url(text: str) -> bool:
    """Report whether keys may be sent to a base URL: HTTPS anywhere; plain HTTP only to this
    machine."""
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
