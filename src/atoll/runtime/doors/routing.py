"""From a request at the broker door to what it may have: provider, custom secret, or remote.

One breath over one set of holdings: what is checked is what is used. Judging is the domain's.
"""

import time
from dataclasses import dataclass, field

from atoll.domain.git_remote import judge_git
from atoll.domain.host import read_target
from atoll.domain.passage import Asked, Passage, Refusal, judge, judge_custom
from atoll.runtime.doors.call import Call
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


@dataclass(frozen=True, slots=True)
class Routed:
    """A request that passes, and what it leans on."""

    passage: Passage = field(repr=False)
    grant: Grant
    gate: Gate | None = None


def route(request: Request, holdings: Holdings, *, used: set[str], call: Call) -> Routed | Refusal:
    """Decide one request. `used` are the approvals that were good once; `call` notes how far
    it came."""
    asked = request.asked
    if not request.target.startswith("/"):
        # Absolute forms are for proxies: who names another server means another server.
        return Refusal(400, "bad_path", "a path must begin with /broker/ or /git/")
    call.step = "route"
    parts = asked.path.split("/", 3)
    rest = "/" + (parts[3] if len(parts) == 4 else "")
    match parts[1]:
        case "git":
            call.who = "git"
            return _git(asked, holdings, call)
        case "broker" if len(parts) > 2 and parts[2] == "custom":
            call.who = "custom"
            return _custom(asked, rest[1:], holdings, used=used, call=call)
        case "broker" if len(parts) > 2:
            call.who = parts[2]
            return _provider(asked, parts[2], rest, holdings=holdings, call=call)
        case _:
            return _OUTSIDE


def _provider(
    asked: Asked, name: str, path: str, *, holdings: Holdings, call: Call
) -> Routed | Refusal:
    upstream = holdings.upstreams.get(name)
    if upstream is None:
        known = ", ".join(sorted(holdings.upstreams)) or "none yet; the owner sets them"
        message = f"no such provider here, or it has no key; with a key: {known}"
        return Refusal(404, "unknown_provider", message)
    call.step = "judge"
    verdict = judge(upstream, Asked(asked.method, path, asked.query, asked.headers))
    if isinstance(verdict, Refusal):
        return verdict
    return Routed(verdict, Grant("provider", name))


def _custom(
    asked: Asked, name: str, holdings: Holdings, *, used: set[str], call: Call
) -> Routed | Refusal:
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
    return Routed(verdict, grant)


def _git(asked: Asked, holdings: Holdings, call: Call) -> Routed | Refusal:
    path = asked.path.removeprefix("/git")
    call.step = "judge"
    verdict = judge_git(holdings.remotes, Asked(asked.method, path, asked.query, asked.headers))
    if isinstance(verdict, Refusal):
        return verdict
    remote, passage = verdict
    call.more = {"host": remote.target.host}
    pushing = asked.method == "POST" and passage.rule == "git-push"
    return Routed(passage, grant_of_remote(remote), Gate(remote) if pushing else None)
