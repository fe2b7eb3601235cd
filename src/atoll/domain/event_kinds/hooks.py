"""Events that other systems report through hooks, and those of hooks themselves.

Their texts are of strangers, cut and spelled out.
"""

from typing import Final

from atoll.domain.event_kinds.kind import EventKind, define_kind

_HOOK = "hook_id source name"
_TOLD = "path state title"
_PULL = "sha branch author hook_id"
_RUN = "sha branch hook_id"
_FLUX = "message hook_id"

HOOKS: Final[tuple[tuple[str, EventKind], ...]] = (
    define_kind("hook.created", _HOOK, "", "A hook was made, for the reports of another system."),
    define_kind("hook.removed", _HOOK, "", "A hook was removed."),
    define_kind(
        "hook.tested", _HOOK, "", "Its owner tested a hook: what watches its events is told."
    ),
    define_kind("gitea.pr.opened", _TOLD, _PULL, "A pull request of Gitea was opened."),
    define_kind("gitea.pr.updated", _TOLD, _PULL, "Commits or words of a pull request changed."),
    define_kind(
        "gitea.pr.reviewed", _TOLD, _PULL, "Somebody reviewed or commented a pull request."
    ),
    define_kind("gitea.pr.merged", _TOLD, _PULL, "A pull request was merged."),
    define_kind("gitea.pr.closed", _TOLD, _PULL, "A pull request was closed without a merge."),
    define_kind("gha.run.requested", _TOLD, _RUN, "A run of a workflow of GitHub waits."),
    define_kind("gha.run.started", _TOLD, _RUN, "A run of a workflow of GitHub began."),
    define_kind("gha.run.completed", _TOLD, _RUN, "A run ended; `state` is its conclusion."),
    define_kind("flux.reconciled", _TOLD, _FLUX, "Flux applied an object."),
    define_kind("flux.progressing", _TOLD, _FLUX, "Flux works on an object."),
    define_kind("flux.failed", _TOLD, _FLUX, "Flux could not apply an object."),
    define_kind("hr.reconciled", _TOLD, _FLUX, "Flux applied a Helm release."),
    define_kind("hr.progressing", _TOLD, _FLUX, "Flux works on a Helm release."),
    define_kind("hr.failed", _TOLD, _FLUX, "Flux could not apply a Helm release."),
)
