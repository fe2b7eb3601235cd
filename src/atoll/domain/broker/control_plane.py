"""The control plane as the broker door knows it: `GET /atoll/…`, for what runs inside.

Pure. The door adds the token of the sandbox. The control plane decides what that token reaches;
here only its reading paths pass, so that a mistake there opens nothing that is not listed here.
"""

from dataclasses import replace

from atoll.domain.broker.passage import IncomingRequest, Passage, Refusal, judge
from atoll.domain.broker.provider import Provider, Rule, Upstream

DOOR = "/atoll"
"""The beginning of its paths at the door."""

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


def judge_api(upstream: Upstream, incoming: IncomingRequest) -> Passage | Refusal:
    """Decide a request for `/atoll{path}`."""
    verdict = judge(upstream, incoming)
    if isinstance(verdict, Passage):
        return replace(verdict, door=DOOR)
    if verdict.error == "bad_path":
        return verdict
    message = "a sandbox reads /v1/me and /v1/sandboxes/ID of its own here, and nothing else"
    return Refusal(403, "not_allowed", message)
