"""From a request at the broker door to what it may have: provider, custom secret, or remote.

One breath over one set of holdings: what is checked is what is used. Judging is the domain's.
What leads to a provider depends on a head's shape and the holdings alone, and may be kept.
"""

import time
from dataclasses import replace

from atoll.domain.broker.fetching import fetching_parameter
from atoll.domain.broker.passage import Asked, Refusal, judge, judge_custom
from atoll.domain.network.host import read_target
from atoll.domain.repository.git_remote import judge_git
from atoll.runtime.doors.broker.body_gate import refused_fetch
from atoll.runtime.doors.broker.call_audit import Call
from atoll.runtime.doors.broker.credentials import (
    Grant,
    Holdings,
    grant_of_remote,
    read_target_query,
    secret_of,
)
from atoll.runtime.doors.broker.request import KEPT_SHAPES, Request, Shape
from atoll.runtime.doors.broker.route import Way, way_of

_NO_SECRET = Refusal(404, "unknown_secret", "no such secret here")
"""The same for one that is not there and one that is somebody else's."""

_OUTSIDE = Refusal(
    404, "not_found", "there is /broker/{provider}/…, /broker/custom/{secret}?target=…, /git/…"
)


class Ways:
    """The ways out under one set of holdings. With other holdings there are other ways."""

    __slots__ = ("_kept", "holdings")

    def __init__(self, holdings: Holdings) -> None:
        self.holdings = holdings
        self._kept: dict[Shape, Way] = {}

    def route(self, request: Request, *, used: set[str], call: Call) -> Way | Refusal:
        """Decide one request. `used` are the approvals that were good once; `call` notes how far
        it came."""
        kept = self._kept.get(request.shape)
        if kept is not None:
            call.who, call.step = kept.grant.name, "judge"
            return kept
        way = _route(request, self.holdings, used=used, call=call)
        # An approval may end, and be used up; a WebSocket's opening is judged by more values.
        if isinstance(way, Way) and way.grant.kind == "provider" and not way.passage.websocket:
            if len(self._kept) >= KEPT_SHAPES:
                del self._kept[next(iter(self._kept))]
            self._kept[request.shape] = way
        return way


def _route(request: Request, holdings: Holdings, *, used: set[str], call: Call) -> Way | Refusal:
    method, target, headers = request.shape.method, request.shape.target, request.headers
    if not target.startswith("/"):
        # Absolute forms are for proxies: who names another server means another server.
        return Refusal(400, "bad_path", "a path must begin with /broker/ or /git/")
    call.step = "route"
    path, _, query = target.partition("?")
    _, place, *parts = path.split("/", 3)
    if place == "broker" and parts:
        call.who = parts[0]
        rest = parts[1] if len(parts) == 2 else ""
        if call.who == "custom":
            asked = Asked(method, rest, query, headers)
            return _custom(request, asked, holdings, used=used, call=call)
        return _provider(request, Asked(method, "/" + rest, query, headers), holdings, call)
    if place == "git":
        call.who = "git"
        asked = Asked(method, path.removeprefix("/git"), query, headers)
        return _git(request, asked, holdings, call)
    return _OUTSIDE


def _provider(request: Request, asked: Asked, holdings: Holdings, call: Call) -> Way | Refusal:
    name = call.who
    upstream = holdings.upstreams.get(name)
    if upstream is None:
        known = ", ".join(sorted(holdings.upstreams)) or "none yet; the owner sets them"
        message = f"no such provider here, or it has no key; with a key: {known}"
        return Refusal(404, "unknown_provider", message)
    call.step = "judge"
    verdict = judge(upstream, asked)
    if isinstance(verdict, Refusal):
        return verdict
    way = way_of(request, verdict, Grant("provider", name))
    if name not in holdings.no_fetch:
        return way
    if verdict.websocket:
        message = f"the owner lets {name} fetch nothing, and a WebSocket cannot be judged"
        return Refusal(403, "fetch_not_allowed", message)
    found = fetching_parameter(asked.query)
    return replace(way, judged=True) if found is None else refused_fetch(name, found)


def _custom(
    request: Request, asked: Asked, holdings: Holdings, *, used: set[str], call: Call
) -> Way | Refusal:
    name = asked.path
    custom = holdings.customs.get(name)
    if custom is None:
        return _NO_SECRET
    call.more = {"secret": name, "secret_id": custom.secret_id, "version": custom.version}
    text = read_target_query(asked.query)
    try:
        target = read_target(text or "", dev=holdings.dev)
    except ValueError as error:
        return Refusal(400, "bad_target", f"give ?target=https://…: {error}")
    call.step = "judge"
    call.more |= {"host": target.host, "port": target.port}
    approval = holdings.approval(custom, target, used=used, now=time.time())
    verdict = judge_custom(
        secret_of(custom), target, asked, approved=approval is not None, dev=holdings.dev
    )
    if isinstance(verdict, Refusal) or approval is None:
        assert isinstance(verdict, Refusal)  # noqa: S101  nothing passes unapproved
        return verdict
    call.more["approval_id"] = approval.approval_id
    grant = Grant(
        "custom",
        custom.secret_id,
        custom.version,
        approval_id=approval.approval_id,
        once=approval.once,
        until=approval.until,
    )
    return way_of(request, verdict, grant)


def _git(request: Request, asked: Asked, holdings: Holdings, call: Call) -> Way | Refusal:
    call.step = "judge"
    verdict = judge_git(holdings.remotes, asked)
    if isinstance(verdict, Refusal):
        return verdict
    remote, passage = verdict
    call.more = {"host": remote.target.host}
    pushing = asked.method == "POST" and passage.rule == "git-push"
    grant = grant_of_remote(remote)
    return way_of(request, passage, grant, remote if pushing else None)
