"""Remotes that a sandbox reaches without a credential of its own: allowed requests and pushes.

Smart HTTP only (gitprotocol-http). Pure; the list of refs in a push is read by
`wire.git.receive_pack`.
"""

import re
from dataclasses import dataclass, field

from atoll.domain.broker.passage import (
    IncomingRequest,
    Origin,
    Passage,
    Refusal,
    basic,
    outgoing_headers,
    plain_path,
)
from atoll.domain.broker.request_headers import OF_GIT
from atoll.domain.network.host import Target, read_target

USER = "x-access-token"
"""The user name that forges expect with a token; the others accept any."""

_REF = re.compile(r"refs/(?:[A-Za-z0-9._@+\-]+/)*[A-Za-z0-9._@+\-]+")
_SERVICES = {"service=git-upload-pack": "fetch", "service=git-receive-pack": "push"}
ZERO = "0" * 40


@dataclass(frozen=True, slots=True)
class BrokerRemote:
    """A repository, and the ref patterns a push may change (`refs/heads/agent/*`; `*` stands for
    anything below). Without patterns no push is allowed."""

    target: Target
    token: str = field(repr=False)
    push: tuple[str, ...] = ()


def read_remote(url: str, token: str, push: tuple[str, ...], *, dev: bool = False) -> BrokerRemote:
    """Return a remote by its https URL, with or without `.git`. Raises `ValueError`."""
    target = read_target(url, dev=dev)
    path = target.path.rstrip("/").removesuffix(".git").rstrip("/")
    if target.query or not path or plain_path(path) is not None:
        raise ValueError("a remote is https://host/path")
    return BrokerRemote(
        Target(target.scheme, target.host, target.port, path, ""), token, tuple(push)
    )


def judge_git(
    remotes: tuple[BrokerRemote, ...], incoming: IncomingRequest
) -> tuple[BrokerRemote, Passage] | Refusal:
    """Decide a request for `/git/{host}{path}`; `incoming.path` begins with the host."""
    none = Refusal(404, "unknown_remote", "no such remote here; ask the owner to allow it")
    refusal = plain_path(incoming.path)
    if refusal is not None:
        return refusal
    host, _, rest = incoming.path[1:].partition("/")
    for remote in remotes:
        target = remote.target
        act = _act(target.path, "/" + rest, incoming)
        if host.lower() != target.authority or act is None:
            continue
        if act == "push" and not remote.push:
            return Refusal(403, "push_not_allowed", "nothing may be pushed there from here")
        loopback = target.scheme == "http"
        origin = Origin(target.scheme, target.host, target.port, judged=True, loopback=loopback)
        credential = basic(USER, remote.token)
        spelled = credential[1].removeprefix("Basic ")
        headers, passed = outgoing_headers(incoming, target.authority, (credential,), OF_GIT)
        passage = Passage(
            origin=origin,
            target=f"/{rest}" + (f"?{incoming.query}" if incoming.query else ""),
            rule=f"git-{act}",
            headers=headers,
            passed=passed,
            masks=(remote.token, spelled),
            door=f"/git/{target.authority}",
        )
        return remote, passage
    return none


def judge_update(remote: BrokerRemote, old: str, new: str, ref: str) -> str | None:
    """Return why a push may not move `ref` from `old` to `new`; None when it may."""
    if not _REF.fullmatch(ref) or ".." in ref or ref.endswith((".lock", ".")):
        return "this ref's name is not allowed"
    if new == ZERO:
        return "deleting is not allowed"
    if not any(_matches_ref(pattern, ref) for pattern in remote.push):
        rest = "; `git push atoll` holds it" if holdable(new, ref) else ""
        return f"only {', '.join(remote.push)} may be pushed{rest}"
    return None


def holdable(new: str, ref: str) -> bool:
    """Report whether a push of `new` to `ref` that the policy does not let out may be held for its
    owner: it is of a branch, and deletes nothing."""
    return new != ZERO and ref.startswith("refs/heads/") and _REF.fullmatch(ref) is not None


def git_environment(
    urls: tuple[str, ...], door: str, *, pushed: tuple[str, ...] = ()
) -> tuple[tuple[str, str], ...]:
    """Return the variables by which git inside reaches these remotes through `door`.

    `door` is a URL such as `http://127.0.0.1:8082/git`. Every spelling of a remote works, so that
    `git push origin` needs no setting (git-config, `GIT_CONFIG_COUNT`). Pushes to a remote that is
    not among `pushed` stay with the working tree's own setting, which holds them inside. Raises
    `ValueError` for what is no remote.
    """
    settings: list[tuple[str, str]] = []
    for url in urls:
        target = read_target(url, dev=True)
        path = target.path.rstrip("/").removesuffix(".git")
        kinds = ("insteadOf", "pushInsteadOf") if url in pushed else ("insteadOf",)
        spellings = (
            f"{target.scheme}://{target.authority}{path}",
            f"git@{target.host}:{path[1:]}",
            f"ssh://git@{target.host}{path}",
        )
        base = f"url.{door}/{target.authority}{path}"
        settings += [(f"{base}.{kind}", spelling) for kind in kinds for spelling in spellings]
    if not settings:
        return ()
    pairs = [("GIT_CONFIG_COUNT", str(len(settings)))]
    for number, (key, value) in enumerate(settings):
        pairs += [(f"GIT_CONFIG_KEY_{number}", key), (f"GIT_CONFIG_VALUE_{number}", value)]
    return tuple(pairs)


def _act(base: str, path: str, incoming: IncomingRequest) -> str | None:
    """Return `fetch` or `push` for one of smart HTTP's three requests, else None."""
    for place in (base, base + ".git"):
        if not path.startswith(place + "/"):
            continue
        rest = path[len(place) :]
        if (incoming.method, rest) == ("GET", "/info/refs"):
            return _SERVICES.get(incoming.query)
        if incoming.method == "POST" and not incoming.query:
            return {"/git-upload-pack": "fetch", "/git-receive-pack": "push"}.get(rest)
    return None


def _matches_ref(pattern: str, ref: str) -> bool:
    """Report whether a pattern covers a ref.

    `*` stands for any characters, slashes too; a pattern without `refs/` names a branch.
    """
    whole = pattern if pattern.startswith("refs/") else f"refs/heads/{pattern}"
    return re.fullmatch(".*".join(map(re.escape, whole.split("*"))), ref) is not None
