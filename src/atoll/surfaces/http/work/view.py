"""The work in a sandbox as the API shows it, everywhere the same."""

from atoll.domain.work.state import WorkSummary
from atoll.surfaces.http.serving.answers import answer_of
from atoll.wire.api.work import views as api


def work_view(work: WorkSummary) -> api.WorkView | None:
    """Return the work as answers show it, None where there is none."""
    if work.state is None:
        return None
    conflict = work.conflict
    shown = None
    if conflict is not None and conflict.tree.conflict is not None:
        tree = conflict.tree
        shown = answer_of(api.ConflictView, tree, repo=conflict.repo, kind=tree.conflict)
    return answer_of(
        api.WorkView,
        work,
        conflict=shown,
        merge=None if work.merge is None else answer_of(api.MergeView, work.merge),
        pull=None if work.pull is None else answer_of(api.PullMarkView, work.pull),
    )
