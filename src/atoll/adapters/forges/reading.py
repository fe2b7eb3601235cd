"""Bounded lists out of forges' answers: checks by name, comments by time."""

from collections.abc import Iterable, Sequence

from atoll.domain.repository.forge import Check, ForgeComment
from atoll.wire.words.forges import MAX_CHECKS, MAX_COMMENTS, CheckState

_WORST = (CheckState.FAILED, CheckState.PENDING, CheckState.PASSED, CheckState.SKIPPED)


def sorted_checks(checks: Iterable[Check]) -> Sequence[Check]:
    """Return one check of each name, by name: of several runs, the one that needs a person most.
    Of too many, those that failed stay."""
    chosen: dict[str, Check] = {}
    for check in checks:
        earlier = chosen.get(check.name)
        if earlier is None or _rank(check) < _rank(earlier):
            chosen[check.name] = check
    by_rank = sorted(chosen.values(), key=lambda check: (_rank(check), check.name))
    return tuple(sorted(by_rank[:MAX_CHECKS], key=lambda check: check.name))


def newest_comments(comments: Iterable[ForgeComment]) -> Sequence[ForgeComment]:
    """Return the newest comments, oldest first."""
    ordered = sorted(comments, key=lambda comment: (comment.at, comment.id))
    return tuple(ordered[-MAX_COMMENTS:])


def _rank(check: Check) -> int:
    return _WORST.index(check.state)
