"""The control plane as the broker door knows it, for what runs inside: `GET /atoll/…`, and its
tools (MCP) at `/mcp`.

Pure. The door adds the token of the sandbox. The control plane decides what that token reaches;
here only its reading paths and the endpoint of tools pass, so that a mistake there opens nothing
that is not listed here.
"""

from dataclasses import replace

from atoll.domain.broker.passage import IncomingRequest, Passage, Refusal, judge
from atoll.domain.broker.provider import Provider, Rule, Upstream
from atoll.domain.wall.interior import BROKER_DOOR

DOOR = "/atoll"
"""The beginning of its paths at the door."""

TOOLS_DOOR = "/mcp"
"""The path of tools, at the door and at the control plane."""

TOOLS_URL = f"{BROKER_DOOR}{TOOLS_DOOR}"
"""The address of tools as seen from inside."""

FLAT_TOOLS_URL = f"{TOOLS_URL}?names=flat"
"""The same for agents that pass the names of tools on to an API that admits no dots in them."""

_ID = r"[A-Za-z0-9_\-]{1,64}"
_READ = (
    f"agents(?:/{_ID})?|terminals(?:/{_ID})?|exec(?:/{_ID})?|processes|network|safety|changes"
    "|diff|checkpoints|files(?:/(?:stat|total|content))?|logs"
)
CONTROL_PLANE = Provider(
    name="atoll",
    upstream="",
    rules=(
        Rule("me", "GET", r"/v1/me"),
        Rule("sandbox", "GET", rf"/v1/sandboxes/{_ID}(?:/(?:{_READ}))?"),
    ),
)
"""Not one of `PROVIDERS`: no secret of a person can be its key."""

TOOLS = Provider(
    name="mcp",
    upstream="",
    rules=tuple(Rule("tools", method, TOOLS_DOOR) for method in ("POST", "GET", "DELETE")),
)
"""The endpoint of tools, which is not one of `PROVIDERS` either."""

_TOOLS_QUERIES = frozenset({"", "names=flat"})


def judge_api(upstream: Upstream, incoming: IncomingRequest) -> Passage | Refusal:
    """Decide a request for `/atoll{path}`."""
    verdict = judge(upstream, incoming)
    if isinstance(verdict, Passage):
        return replace(verdict, door=DOOR)
    if verdict.error == "bad_path":
        return verdict
    message = "a sandbox reads /v1/me and /v1/sandboxes/ID of its own here, and nothing else"
    return Refusal(403, "not_allowed", message)


def judge_tools(upstream: Upstream, incoming: IncomingRequest) -> Passage | Refusal:
    """Decide a request for `/mcp`."""
    verdict = judge(upstream, incoming)
    if isinstance(verdict, Refusal):
        return replace(verdict, message=f"{TOOLS_DOOR} takes POST, GET and DELETE")
    if incoming.query not in _TOOLS_QUERIES:
        return Refusal(400, "bad_path", f"the only query of {TOOLS_DOOR} is names=flat")
    return replace(verdict, door="")
