"""From a request at the broker door to what it may have: provider, custom secret, or remote.

One breath over one set of holdings: what is checked is what is used. Judging is the domain's.
"""

import time

from atoll.domain.git_remote import judge_git
from atoll.domain.host import read_target
from atoll.domain.passage import Asked, Passage, Refusal, judge, judge_custom
from atoll.runtime.doors.call import Call
from atoll.runtime.doors.exchange import Order
from atoll.runtime.doors.gate import Gate
from atoll.runtime.doors.holdings import (
    Grant,
    Holdings,
    grant_of_remote,
    read_target_query,
    secret_of,
)
from atoll.runtime.doors.inbound import Request

_NO_SECRET = Refusal(404, "unknown_secret", "no such secret here")
"""The same for one that is not there and one that is somebody else's."""

_OUTSIDE = Refusal(
    404, "not_found", "there is /broker/{provider}/…, /broker/custom/{secret}?target=…, /git/…"
)


def route(request: Request, holdings: Holdings, *, used: set[str], call: Call) -> Order | Refusal:
    """Decide one request. `used` are the approvals that were good once; `call` notes how far
    it came."""
    if not request.target.startswith("/"):
        # Absolute forms are for proxies: who names another server means another server.
        return Refusal(400, "bad_path", "a path must begin with /broker/ or /git/")
    call.step = "route"
    path, _, query = request.target.partition("?")
    _, place, *parts = path.split("/", 3)
    if place == "broker" and parts:
        call.who = parts[0]
        rest = parts[1] if len(parts) == 2 else ""
        if call.who == "custom":
            asked = Asked(request.method, rest, query, request.headers)
            return _custom(request, asked, holdings, used=used, call=call)
        asked = Asked(request.method, "/" + rest, query, request.headers)
        return _provider(request, asked, holdings, call)
    if place == "git":
        call.who = "git"
        asked = Asked(request.method, path.removeprefix("/git"), query, request.headers)
        return _git(request, asked, holdings, call)
    return _OUTSIDE


def _provider(request: Request, asked: Asked, holdings: Holdings, call: Call) -> Order | Refusal:
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
    return _order(request, verdict, Grant("provider", name))


def _custom(
    request: Request, asked: Asked, holdings: Holdings, *, used: set[str], call: Call
) -> Order | Refusal:
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
    return _order(request, verdict, grant)


def _git(request: Request, asked: Asked, holdings: Holdings, call: Call) -> Order | Refusal:
    call.step = "judge"
    verdict = judge_git(holdings.remotes, asked)
    if isinstance(verdict, Refusal):
        return verdict
    remote, passage = verdict
    call.more = {"host": remote.target.host}
    pushing = asked.method == "POST" and passage.rule == "git-push"
    gate = Gate(remote) if pushing else None
    return _order(request, passage, grant_of_remote(remote), gate)


def _order(request: Request, passage: Passage, grant: Grant, gate: Gate | None = None) -> Order:
    return Order(
        passage=passage,
        grant=grant,
        method=request.method,
        length=request.length,
        chunked_back=request.http11,
        gate=gate,
    )
