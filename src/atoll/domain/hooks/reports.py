"""Reports of other systems as events: `gitea.pr.*`, `gha.run.*`, `flux.*`, `hr.*`.

Pure. Everything in a report is text of strangers: it is cut and spelled out. What is no event of
ours is left out, with no error: a hook may be given everything.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec

from atoll.domain.approvals.approval import spelled_out
from atoll.domain.event import Json
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.words.hooks import HookSource

MAX_TEXT: Final = 200
_PART = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,100}\Z")


@dataclass(frozen=True, slots=True)
class Reported:
    """An event that a report tells of: its kind, and its payload, in which `path` is the path of
    its URI (`domain.tools.uri`)."""

    kind: str
    payload: Mapping[str, Json]


class _User(msgspec.Struct):
    login: str = ""


class _Repository(msgspec.Struct):
    full_name: str


class _Branch(msgspec.Struct):
    ref: str = ""
    sha: str = ""


_Number = Annotated[int, msgspec.Meta(ge=1, le=2**53)]


class _PullRequest(msgspec.Struct):
    title: str = ""
    merged: bool = False
    head: _Branch = msgspec.field(default_factory=_Branch)
    user: _User | None = None


class _PullRequestReport(msgspec.Struct):
    action: str
    number: _Number
    pull_request: _PullRequest
    repository: _Repository


class _Run(msgspec.Struct):
    id: _Number
    name: str | None = None
    run_attempt: int = 1
    conclusion: str | None = None
    head_branch: str | None = None
    head_sha: str = ""


class _RunReport(msgspec.Struct):
    action: str
    workflow_run: _Run
    repository: _Repository


class _Involved(msgspec.Struct):
    kind: str
    namespace: str
    name: str


class _FluxReport(msgspec.Struct, rename="camel"):
    involved_object: _Involved
    severity: str
    reason: str = ""
    message: str = ""


_PULLS: Final = {
    "opened": "opened",
    "reopened": "opened",
    "synchronized": "updated",
    "edited": "updated",
    "closed": "closed",
    "reviewed": "reviewed",
}
_PULL_EVENTS: Final = {
    "pull_request": "",
    "pull_request_sync": "",
    "pull_request_approved": "reviewed",
    "pull_request_rejected": "reviewed",
    "pull_request_comment": "reviewed",
}
"""Gitea's kinds of events about pull requests; the action that some of them are."""

_RUNS: Final = {"requested": "requested", "in_progress": "started", "completed": "completed"}
_FLUX: Final = {"error": "failed", "info": "reconciled"}


def read_report(source: HookSource, event: str, body: bytes) -> Reported | None:
    """Return the event of a report; None where it tells of none of ours. Raises `ValueError` for a
    body that is not what its system sends."""
    try:
        return _READERS[source](event, body)
    except UNREADABLE as error:
        raise ValueError(f"the report of {source} cannot be read: {error}") from error


def _read_gitea(event: str, body: bytes) -> Reported | None:
    if event not in _PULL_EVENTS:
        return None
    told = msgspec.json.decode(body, type=_PullRequestReport)
    action = _PULLS.get(_PULL_EVENTS[event] or told.action)
    repository = _repository(told.repository)
    if action is None or repository is None:
        return None
    pull = told.pull_request
    payload: dict[str, Json] = {
        "path": f"gitea/pr/{repository}/{told.number}",
        "state": "merged" if action == "closed" and pull.merged else action,
        "title": _spell_out(pull.title),
        "sha": _spell_out(pull.head.sha),
        "branch": _spell_out(pull.head.ref),
        "author": _spell_out("" if pull.user is None else pull.user.login),
    }
    return Reported(f"gitea.pr.{payload['state']}", payload)


def _read_github(event: str, body: bytes) -> Reported | None:
    if event != "workflow_run":
        return None
    told = msgspec.json.decode(body, type=_RunReport)
    action, repository = _RUNS.get(told.action), _repository(told.repository)
    if action is None or repository is None:
        return None
    run = told.workflow_run
    payload: dict[str, Json] = {
        "path": f"gha/run/{repository}/{run.id}",
        "state": _spell_out(run.conclusion or action),
        "title": _spell_out(run.name or ""),
        "sha": _spell_out(run.head_sha),
        "branch": _spell_out(run.head_branch or ""),
    }
    return Reported(f"gha.run.{action}", payload)


def _read_flux(event: str, body: bytes) -> Reported | None:
    del event
    told = msgspec.json.decode(body, type=_FluxReport)
    outcome, involved = _FLUX.get(told.severity), told.involved_object
    parts = (involved.kind.lower(), involved.namespace, involved.name)
    if outcome is None or not all(map(_PART.match, parts)):
        return None
    if outcome == "reconciled" and told.reason.startswith("Progressing"):
        outcome = "progressing"
    kind, namespace, name = parts
    release = kind == "helmrelease"
    path = f"hr/{namespace}/{name}" if release else f"flux/{kind}/{namespace}/{name}"
    payload: dict[str, Json] = {
        "path": path,
        "state": outcome,
        "title": _spell_out(told.reason),
        "message": _spell_out(told.message),
    }
    return Reported(f"{'hr' if release else 'flux'}.{outcome}", payload)


_READERS: Final[Mapping[HookSource, Callable[[str, bytes], Reported | None]]] = {
    HookSource.GITEA: _read_gitea,
    HookSource.GITHUB: _read_github,
    HookSource.FLUX: _read_flux,
}


def _repository(told: _Repository) -> str | None:
    """Return `owner/name`, None for anything else."""
    parts = told.full_name.split("/")
    return told.full_name if len(parts) == 2 and all(map(_PART.match, parts)) else None


def _spell_out(text: str) -> str:
    """Return text of bounded length, with unsafe characters spelled out."""
    return spelled_out(text, MAX_TEXT)
