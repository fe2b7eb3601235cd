"""The record of a sandbox's work, derived from the log: its trees, what was reviewed and merged,
its pull requests, and what waits for a decision.

Pure. Reports on trees cross a trust boundary: what does not fit its bounds is ignored.
"""

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Final

import msgspec
from msgspec.structs import replace

from atoll.domain.event import Event
from atoll.domain.projection import Projection
from atoll.wire.contract.trees import MAX_TREES, TreeReport
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.words.forges import PullState
from atoll.wire.words.library import MergeWay

MAX_PENDING: Final = 64
"""Approvals of one sandbox that are remembered as pending."""

MAX_PULLS: Final = 16
"""Merges and pull requests that are remembered, the newest."""

_ENDED = frozenset(
    f"approval.{word}" for word in ("granted", "denied", "used", "revoked", "expired")
)

_Name = Annotated[str, msgspec.Meta(max_length=300)]


class Merge(msgspec.Struct, frozen=True):
    """A merge of repository number `repo` into a branch, whose change had the `mark`."""

    repo: int
    into: _Name
    way: MergeWay
    commit: _Name
    mark: _Name = ""
    at: str = ""


class PullRecord(msgspec.Struct, frozen=True):
    """A pull request of repository number `repo`. `marks` are those of all trees, by their paths,
    when it was opened."""

    repo: int
    pull: int
    branch: _Name
    base: _Name
    commit: _Name
    state: PullState = PullState.OPEN
    marks: tuple[tuple[str, str], ...] = ()
    at: str = ""


class WorkRecord(msgspec.Struct, frozen=True):
    """The record. A tree is in conflict since `conflict_at`, `reviewed` is the mark of the work
    that a person reviewed, `asked` are the approvals that wait for a decision, and `reported` is
    the state that events last gave."""

    trees: tuple[TreeReport, ...] = ()
    conflict_at: str | None = None
    reviewed: str | None = None
    reviewed_at: str | None = None
    merges: tuple[Merge, ...] = ()
    pulls: tuple[PullRecord, ...] = ()
    asked: tuple[str, ...] = ()
    reported: str | None = None


NO_RECORD: Final = WorkRecord()

_decoder = msgspec.json.Decoder(WorkRecord)


class _Pull(msgspec.Struct):
    repo: int
    pull: int
    state: PullState


class _Trees(msgspec.Struct):
    trees: Annotated[tuple[TreeReport, ...], msgspec.Meta(max_length=MAX_TREES)]


def read_record(body: str | None) -> WorkRecord:
    """Return the record in a state of `WORK`."""
    return NO_RECORD if body is None else _decoder.decode(body)


def mark_of(record: WorkRecord) -> str:
    """Return the mark of the whole work: it names what changed, however it is committed. It is
    empty where nothing did."""
    marks = sorted((tree.path, tree.mark) for tree in record.trees if tree.mark)
    if not marks:
        return ""
    return hashlib.sha256(msgspec.json.encode(marks)).hexdigest()


def _see_trees(record: WorkRecord, event: Event) -> WorkRecord:
    trees = msgspec.convert(event.payload, _Trees).trees
    stopped = any(tree.conflict is not None for tree in trees)
    since = record.conflict_at or _timestamp(event.at) if stopped else None
    return replace(record, trees=trees, conflict_at=since)


def _review(record: WorkRecord, event: Event) -> WorkRecord:
    mark = event.payload.get("mark")
    if not isinstance(mark, str):
        return replace(record, reviewed=None, reviewed_at=None)
    return replace(record, reviewed=mark, reviewed_at=_timestamp(event.at))


def _merge(record: WorkRecord, event: Event) -> WorkRecord:
    merge = replace(msgspec.convert(event.payload, Merge), at=_timestamp(event.at))
    others = [
        earlier
        for earlier in record.merges
        if (earlier.repo, earlier.into) != (merge.repo, merge.into)
    ]
    return replace(record, merges=(*others, merge)[-MAX_PULLS:])


def _open_pull(record: WorkRecord, event: Event) -> WorkRecord:
    marks = tuple((tree.path, tree.mark) for tree in record.trees)
    opened = msgspec.convert(event.payload, PullRecord)
    opened = replace(opened, marks=marks, at=_timestamp(event.at), state=PullState.OPEN)
    others = [pull for pull in record.pulls if (pull.repo, pull.pull) != (opened.repo, opened.pull)]
    return replace(record, pulls=(*others, opened)[-MAX_PULLS:])


def _change_pull(record: WorkRecord, event: Event) -> WorkRecord:
    changed = msgspec.convert(event.payload, _Pull)
    pulls = tuple(
        replace(pull, state=changed.state)
        if (pull.repo, pull.pull) == (changed.repo, changed.pull)
        else pull
        for pull in record.pulls
    )
    return replace(record, pulls=pulls)


def _ask(record: WorkRecord, event: Event) -> WorkRecord:
    asked = [approval for approval in record.asked if approval != event.payload.get("approval_id")]
    return replace(record, asked=(*asked, str(event.payload["approval_id"]))[-MAX_PENDING:])


def _decide(record: WorkRecord, event: Event) -> WorkRecord:
    decided = event.payload.get("approval_id")
    return replace(
        record, asked=tuple(approval for approval in record.asked if approval != decided)
    )


def _work_again(record: WorkRecord, event: Event) -> WorkRecord:
    """Return the record once an agent works again: its next answer is not reviewed yet."""
    if event.payload.get("status") != "working" or event.payload.get("begins") is not True:
        return record
    return replace(record, reviewed=None, reviewed_at=None)


def _tell(record: WorkRecord, event: Event) -> WorkRecord:
    state = event.payload.get("work_state")
    return replace(record, reported=state if isinstance(state, str) else None)


_FOLDS: Final[Mapping[str, Callable[[WorkRecord, Event], WorkRecord]]] = {
    "git.tree": _see_trees,
    "work.reviewed": _review,
    "work.merged": _merge,
    "git.pull_opened": _open_pull,
    "git.pull_updated": _open_pull,
    "git.pull_changed": _change_pull,
    "approval.asked": _ask,
    **dict.fromkeys(_ENDED, _decide),
    "agent.status": _work_again,
    "work.changed": _tell,
}


def _fold(body: str | None, event: Event) -> str | None:
    if event.event_type == "sandbox.destroyed":
        return None
    record = read_record(body)
    try:
        after = _FOLDS[event.event_type](record, event)
    except (*UNREADABLE, KeyError):
        return body
    return body if after == record else msgspec.json.encode(after).decode()


WORK: Final = Projection("work", frozenset({*_FOLDS, "sandbox.destroyed"}), _fold)
"""The read model of the work of each sandbox."""


def _timestamp(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
