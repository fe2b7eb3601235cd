"""The route table of the broker door: from a request to a provider, a custom secret or a remote.

A lookup runs without an await over one set of credentials, so what is checked is what is used. The
domain checks. A provider's route depends on the request shape and the credentials alone, so it is
cached.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from atoll.domain.agents.login_use import placeholder_tokens
from atoll.domain.broker.control_plane import (
    CONTROL_PLANE,
    TOOLS,
    TOOLS_DOOR,
    judge_api,
    judge_tools,
)
from atoll.domain.broker.fetching import fetching_parameter
from atoll.domain.broker.passage import (
    IncomingRequest,
    OwnAnswer,
    Passage,
    Refusal,
    judge,
    judge_custom,
)
from atoll.domain.broker.provider import LOGIN_PROVIDERS, Upstream
from atoll.domain.network.host import read_target
from atoll.domain.repository.git_remote import judge_git
from atoll.runtime.doors.broker.body_gate import refuse_fetch
from atoll.runtime.doors.broker.call_audit import BrokerCall
from atoll.runtime.doors.broker.credentials import (
    CredentialRef,
    Credentials,
    make_remote_ref,
    make_secret,
    read_target_query,
)
from atoll.runtime.doors.broker.request import KEPT_SHAPES, BrokerRequest, RequestShape
from atoll.runtime.doors.broker.route import BrokerRoute, make_route

_NO_SECRET = Refusal(404, "unknown_secret", "no such secret here")
"""The same refusal for an absent secret and for a secret of somebody else."""

_OUTSIDE = Refusal(
    404, "not_found", "there is /broker/{provider}/…, /broker/custom/{secret}?target=…, /git/…"
)

_NO_TOOLS = Refusal(404, "not_found", "the profile of this sandbox gives its agents no tools")


class RouteTable:
    """The routes under one set of credentials. Other credentials need another table."""

    __slots__ = ("_kept", "credentials")

    def __init__(self, credentials: Credentials) -> None:
        self.credentials = credentials
        self._kept: dict[RequestShape, BrokerRoute] = {}

    def find(
        self, request: BrokerRequest, *, used: set[str], call: BrokerCall
    ) -> BrokerRoute | Refusal | OwnAnswer:
        """Return the route of a request, why it is refused, or the door's own answer. `used` are
        the ids of used one-time approvals. The step that was reached is written to `call`."""
        cached = self._kept.get(request.shape)
        if cached is not None:
            call.service, call.step = cached.credential.name, "judge"
            return cached
        route = _find_route(request, self.credentials, used=used, call=call)
        # Approvals end, and the decision on a WebSocket depends on more values than the shape has.
        if (
            isinstance(route, BrokerRoute)
            and route.credential.kind in ("provider", "login")
            and not route.passage.websocket
        ):
            if len(self._kept) >= KEPT_SHAPES:
                del self._kept[next(iter(self._kept))]
            self._kept[request.shape] = route
        return route


def _find_route(
    request: BrokerRequest, credentials: Credentials, *, used: set[str], call: BrokerCall
) -> BrokerRoute | Refusal | OwnAnswer:
    method, target, headers = request.shape.method, request.shape.target, request.headers
    if not target.startswith("/"):
        # An absolute target is for a proxy and names another server.
        return Refusal(400, "bad_path", "a path must begin with /broker/ or /git/")
    call.step = "route"
    path, _, query = target.partition("?")
    _, place, *parts = path.split("/", 3)
    if place == "broker" and parts:
        call.service = parts[0]
        rest = parts[1] if len(parts) == 2 else ""
        if call.service == "custom":
            incoming = IncomingRequest(method, rest, query, headers)
            return _find_custom(request, incoming, credentials, used=used, call=call)
        return _find_provider(
            request, IncomingRequest(method, "/" + rest, query, headers), credentials, call
        )
    if place == "atoll":
        incoming = IncomingRequest(method, path.removeprefix("/atoll"), query, headers)
        return _find_own(request, incoming, _api(credentials), call)
    if place == TOOLS_DOOR[1:]:
        incoming = IncomingRequest(method, path, query, headers)
        return _find_own(request, incoming, _tools(credentials), call)
    if place == "git":
        call.service = "git"
        incoming = IncomingRequest(method, path.removeprefix("/git"), query, headers)
        return _find_remote(request, incoming, credentials, call)
    return _OUTSIDE


def _find_provider(
    request: BrokerRequest, incoming: IncomingRequest, credentials: Credentials, call: BrokerCall
) -> BrokerRoute | Refusal | OwnAnswer:
    name = call.service
    upstream = credentials.upstreams.get(name)
    if upstream is None:
        return Refusal(404, "unknown_provider", _unknown(name, credentials))
    call.step = "judge"
    if _asks_for_tokens(upstream, incoming):
        call.rule = "refresh"
        return OwnAnswer(tuple(placeholder_tokens(upstream.account).items()))
    verdict = judge(upstream, incoming)
    if isinstance(verdict, Refusal):
        return verdict
    route = make_route(request, verdict, credentials.refer(name))
    if name not in credentials.no_fetch:
        return route
    if verdict.websocket:
        message = f"the owner lets {name} fetch nothing, and a WebSocket cannot be judged"
        return Refusal(403, "fetch_not_allowed", message)
    parameter = fetching_parameter(incoming.query)
    return replace(route, judged=True) if parameter is None else refuse_fetch(name, parameter)


def _unknown(name: str, credentials: Credentials) -> str:
    if name in LOGIN_PROVIDERS:
        return (
            "no login is lent here: its owner turns one on, or logs in again where it ended "
            "(atoll agent logins)"
        )
    known = ", ".join(sorted(credentials.upstreams)) or "none yet; the owner sets them"
    return f"no such provider here, or it has no key; with a key: {known}"


def _asks_for_tokens(upstream: Upstream, incoming: IncomingRequest) -> bool:
    """Report whether an agent inside would refresh its login: the control plane does that."""
    path = upstream.provider.refresh_path
    return bool(path) and (incoming.method, incoming.path) == ("POST", path)


def _find_custom(
    request: BrokerRequest,
    incoming: IncomingRequest,
    credentials: Credentials,
    *,
    used: set[str],
    call: BrokerCall,
) -> BrokerRoute | Refusal:
    name = incoming.path
    custom = credentials.customs.get(name)
    if custom is None:
        return _NO_SECRET
    call.more = {"secret": name, "secret_id": custom.secret_id, "version": custom.version}
    text = read_target_query(incoming.query)
    try:
        target = read_target(text or "", dev=credentials.dev)
    except ValueError as error:
        return Refusal(400, "bad_target", f"give ?target=https://…: {error}")
    call.step = "judge"
    call.more |= {"host": target.host, "port": target.port}
    approval = credentials.find_approval(custom, target, used=used, now=time.time())
    verdict = judge_custom(
        make_secret(custom), target, incoming, approved=approval is not None, dev=credentials.dev
    )
    if isinstance(verdict, Refusal) or approval is None:
        assert isinstance(verdict, Refusal)  # noqa: S101  nothing passes unapproved
        return verdict
    call.more["approval_id"] = approval.approval_id
    credential = CredentialRef(
        "custom",
        custom.secret_id,
        custom.version,
        approval_id=approval.approval_id,
        once=approval.once,
        until=approval.until,
    )
    return make_route(request, verdict, credential)


@dataclass(frozen=True, slots=True)
class _OwnPlace:
    """A part of our own control plane: where it is (None where the policy gives no access), what
    judges a request to it, and the token that is added. `absent` is the answer without access."""

    name: str
    upstream: Upstream | None
    judge: Callable[[Upstream, IncomingRequest], Passage | Refusal]
    credential: CredentialRef
    absent: Refusal


def _api(credentials: Credentials) -> _OwnPlace:
    name = CONTROL_PLANE.name
    return _OwnPlace(name, credentials.api, judge_api, CredentialRef("api", name), _OUTSIDE)


def _tools(credentials: Credentials) -> _OwnPlace:
    credential = CredentialRef("tools", TOOLS.name, ends_at=credentials.tools_end)
    return _OwnPlace(TOOLS.name, credentials.tools, judge_tools, credential, _NO_TOOLS)


def _find_own(
    request: BrokerRequest, incoming: IncomingRequest, place: _OwnPlace, call: BrokerCall
) -> BrokerRoute | Refusal:
    call.service = place.name
    if place.upstream is None:
        return place.absent
    call.step = "judge"
    verdict = place.judge(place.upstream, incoming)
    if isinstance(verdict, Refusal):
        return verdict
    return make_route(request, verdict, place.credential)


def _find_remote(
    request: BrokerRequest, incoming: IncomingRequest, credentials: Credentials, call: BrokerCall
) -> BrokerRoute | Refusal:
    call.step = "judge"
    verdict = judge_git(credentials.remotes, incoming)
    if isinstance(verdict, Refusal):
        return verdict
    remote, passage = verdict
    call.more = {"host": remote.target.host}
    pushing = incoming.method == "POST" and passage.rule == "git-push"
    credential = make_remote_ref(remote)
    return make_route(request, passage, credential, remote if pushing else None)
