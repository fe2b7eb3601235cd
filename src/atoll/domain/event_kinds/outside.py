"""Events of people, secrets, hosts and everything else around sandboxes."""

from typing import Final

from atoll.domain.event_kinds.kind import EventKind, define_kind

_SHARE = "sandbox_id share_id"
_VISIT = "dashboard_id share_id"
_VALUED = "secret_id name scope purpose version"
_APPROVAL = "approval_id sandbox_id kind"
_ABOUT = "secret secret_id version host port argv0 tool"
_MEMBER = "org member kind name role"
_WEBHOOK = "webhook_id host"
_DELIVERY = _WEBHOOK + " event_id event_stream event_position attempt"
_DASHBOARD = "dashboard_id name"
_SSH = "sandbox_id fingerprint from"
_HOST = "host_id name kind"
_BUDGET = "org budget_id scope subject"

OUTSIDE: Final[tuple[tuple[str, EventKind], ...]] = (
    define_kind(
        "share.created",
        _SHARE + " role expires_at",
        "terminal_id recording_id name",
        "A share link was created.",
    ),
    define_kind(
        "share.revoked", _SHARE, "", "A share link was revoked and its guests disconnected."
    ),
    define_kind("share.entered", _SHARE + " guest_id name", "role", "A guest opened a share link."),
    define_kind(
        "secret.withheld",
        "sandbox_id generation n path",
        "",
        "A file or tree that holds a secret was not handed out.",
    ),
    define_kind(
        "secret.exported",
        "sandbox_id generation n path",
        "",
        "The owner downloaded a file or tree that holds a secret.",
    ),
    define_kind(
        "safety.sudo",
        "sandbox_id generation n argv exit",
        "why",
        "A command of the sudo list ran, or failed to run (`why`).",
    ),
    define_kind("dashboard.created", _DASHBOARD, "", "A dashboard was made."),
    define_kind("dashboard.changed", _DASHBOARD, "", "A dashboard was renamed, or others see it."),
    define_kind(
        "dashboard.shared",
        _DASHBOARD + " subject role",
        "",
        "A person or a group has a role on a dashboard.",
    ),
    define_kind(
        "dashboard.unshared",
        _DASHBOARD + " subject",
        "",
        "A person or a group has no role on a dashboard any more.",
    ),
    define_kind(
        "dashboard.linked",
        _DASHBOARD + " sandbox_id",
        "",
        "A dashboard shows a sandbox, which its editors may use from now on.",
    ),
    define_kind(
        "dashboard.unlinked",
        _DASHBOARD + " sandbox_id",
        "",
        "A dashboard does not show a sandbox any more.",
    ),
    define_kind(
        "dashboard.commented",
        _DASHBOARD + " comment_id item_id author",
        "",
        "Somebody commented on an item; not what they wrote.",
    ),
    define_kind(
        "dashboard.uncommented",
        _DASHBOARD + " comment_id item_id author",
        "",
        "A comment was deleted.",
    ),
    define_kind(
        "dashboard.share_created",
        _VISIT + " role expires_at",
        "label terminals",
        "A share link of a dashboard was created.",
    ),
    define_kind(
        "dashboard.share_revoked",
        _VISIT,
        "",
        "A share link of a dashboard was revoked and its guests disconnected.",
    ),
    define_kind(
        "dashboard.share_entered",
        _VISIT + " guest_id guest_name",
        "",
        "A guest opened a share link of a dashboard.",
    ),
    define_kind(
        "dashboard.mentioned",
        _DASHBOARD + " item_id mention_id kind",
        "",
        "A comment mentions somebody, or a todo became theirs; only they read of it.",
    ),
    define_kind(
        "dashboard.mention_ended",
        _DASHBOARD + " item_id mention_id kind",
        "",
        "A mention was dismissed, or ended with its comment or its todo.",
    ),
    define_kind("dashboard.given", _DASHBOARD + " from to", "", "A dashboard has another owner."),
    define_kind(
        "dashboard.deleted", _DASHBOARD, "", "A dashboard was deleted; it can be restored."
    ),
    define_kind("dashboard.restored", _DASHBOARD, "", "A deleted dashboard is back."),
    define_kind(
        "host.added", _HOST + " address fingerprint", "", "A host was added, its key pinned."
    ),
    define_kind("host.changed", _HOST, "", "What is said of a host was changed."),
    define_kind("host.trusted", _HOST, "", "Another key that a host shows is pinned for it."),
    define_kind("host.drained", _HOST, "", "A host takes no new sandbox any more."),
    define_kind("host.undrained", _HOST, "", "A host takes sandboxes again."),
    define_kind("host.removed", _HOST, "", "A host was removed."),
    define_kind(
        "route.changed",
        "scope",
        "",
        "The default route or the allowed backends of an organization or the installation changed.",
    ),
    define_kind("profile.saved", "profile_id version", "", "A profile was saved."),
    define_kind("profile.deleted", "profile_id", "version", "A profile was deleted."),
    define_kind("repository.fetched", "key", "repo_url bytes", "A shared repository was fetched."),
    define_kind(
        "git.pushed",
        "sandbox_id generation repo branch commit",
        "commits kept_id",
        "A push inside the sandbox is held for its owner.",
    ),
    define_kind(
        "git.synced",
        "sandbox_id generation repo onto outcome",
        "commits",
        "A branch of the sandbox was rebased onto newer commits, or stopped on the way.",
    ),
    define_kind(
        "git.pull_opened",
        "sandbox_id generation repo branch base commit pull",
        "",
        "A pull request of a branch of the sandbox was opened at its forge.",
    ),
    define_kind(
        "git.pull_updated",
        "sandbox_id generation repo branch base commit pull",
        "",
        "Newer commits of a branch of the sandbox went into its open pull request.",
    ),
    define_kind(
        "git.pull_changed",
        "sandbox_id generation repo branch base commit pull state",
        "",
        "A pull request was merged or closed at its forge, or opened again.",
    ),
    define_kind(
        "work.reviewed",
        "sandbox_id generation mark",
        "",
        "A person reviewed the work (`mark` names it), or took that back (null).",
    ),
    define_kind(
        "work.merged",
        "sandbox_id generation repo into way commit mark",
        "commits",
        "A branch of the sandbox was merged into another one, inside.",
    ),
    define_kind(
        "work.changed",
        "sandbox_id generation work_state before",
        "",
        "The work in the sandbox reached another state; null where there is none.",
    ),
    define_kind(
        "thread.opened",
        "sandbox_id generation thread_id",
        "",
        "A person opened a review thread; not what they wrote.",
    ),
    define_kind(
        "thread.replied",
        "sandbox_id generation thread_id",
        "",
        "A person added a remark to a review thread.",
    ),
    define_kind(
        "thread.changed",
        "sandbox_id generation thread_id",
        "",
        "A remark of a review thread was changed or deleted.",
    ),
    define_kind(
        "thread.resolved",
        "sandbox_id generation thread_id",
        "",
        "A person settled a review thread.",
    ),
    define_kind(
        "thread.reopened",
        "sandbox_id generation thread_id",
        "",
        "A person opened a settled review thread again.",
    ),
    define_kind(
        "thread.sent",
        "sandbox_id generation thread_id agent terminal_id",
        "",
        "A person sent a review thread to an agent.",
    ),
    define_kind(
        "thread.removed",
        "sandbox_id generation thread_id",
        "",
        "A review thread went with its last remark.",
    ),
    define_kind(
        "agent_login.changed",
        "agent_login_id secret_id agent state",
        "in_use reason exposed_to",
        "A login of an agent began, became ready, was turned on or off, was exposed, or ended.",
    ),
    define_kind("drive.connected", "secret_id", "", "A person connected their account at a drive."),
    define_kind(
        "drive.disconnected",
        "secret_id how",
        "",
        "A person's account at a drive was disconnected, or its consent ended.",
    ),
    define_kind(
        "drive.imported",
        "sandbox_id generation file path bytes",
        "",
        "A file of a drive was imported into the workspace.",
    ),
    define_kind(
        "drive.exported",
        "sandbox_id generation file path bytes",
        "",
        "A file of the workspace was exported to a drive.",
    ),
    define_kind("auth.login", "how", "", "Somebody logged in."),
    define_kind("auth.refused", "realm reason", "", "A login at a provider was refused."),
    define_kind("auth.linked", "login name", "", "A login is the installation's person now."),
    define_kind("auth.unlinked", "login", "", "A login is the installation's person no more."),
    define_kind("auth.logout", "how", "", "Logins of a person ended."),
    define_kind("secret.set", _VALUED, "provider exposed", "A secret was set."),
    define_kind(
        "secret.rotated", _VALUED, "provider exposed", "The value of a secret was replaced."
    ),
    define_kind("secret.removed", _VALUED, "provider exposed", "A secret was removed."),
    define_kind(
        "vault.rotated",
        "key_id secrets",
        "retired",
        "The master key of the vault was replaced.",
    ),
    define_kind(
        "approval.asked",
        _APPROVAL + " generation n",
        _ABOUT,
        "A program in a sandbox requested an approval; of a tool, `n` is 0.",
    ),
    define_kind(
        "approval.granted", _APPROVAL, _ABOUT + " reach until", "A person approved a request."
    ),
    define_kind("approval.denied", _APPROVAL, _ABOUT + " until", "A person denied a request."),
    define_kind("approval.used", _APPROVAL, _ABOUT, "An approval for one request was used."),
    define_kind(
        "approval.revoked", _APPROVAL, _ABOUT, "An approval was revoked, or its secret changed."
    ),
    define_kind(
        "approval.expired", _APPROVAL, _ABOUT, "An approval request ended without a decision."
    ),
    define_kind("org.created", "org slug name", "", "An organization was made, or became a team."),
    define_kind("org.changed", "org slug name", "", "An organization was renamed."),
    define_kind("member.invited", "org invitation role", "email", "Somebody was invited."),
    define_kind(
        "member.uninvited", "org invitation role", "email", "An invitation was taken back."
    ),
    define_kind(
        "member.added",
        _MEMBER,
        "invitation",
        "A person joined an organization, or a service account was made.",
    ),
    define_kind("member.changed", _MEMBER, "before", "A member has another role or other groups."),
    define_kind(
        "member.removed",
        _MEMBER,
        "dashboards sandboxes secrets",
        "A member left or was removed; what is left of theirs is counted.",
    ),
    define_kind(
        "network.bounded",
        "bounds org",
        "",
        "An organization bounded the networks of its sandboxes.",
    ),
    define_kind("quota.set", "org member quota", "", "A quota of a member, or (empty) of all."),
    define_kind("budget.set", _BUDGET + " terms", "", "A budget was set, or its terms changed."),
    define_kind("budget.removed", _BUDGET, "", "A budget was removed."),
    define_kind(
        "budget.warned",
        _BUDGET + " percent spent_micros amount_micros currency",
        "",
        "A percent of a budget at which a warning is due is spent.",
    ),
    define_kind(
        "budget.reached",
        _BUDGET + " at_limit spent_micros amount_micros currency",
        "",
        "All of a budget is spent.",
    ),
    define_kind("pool.set", "org profile pool", "", "The size of the pool of a profile."),
    define_kind("pool.removed", "org profile", "", "A pool was removed, and what waited in it."),
    define_kind(
        "service.reported",
        "name data",
        "worker_id",
        "A trusted service reported something; `name` says what.",
    ),
    define_kind(
        "webhook.created",
        _WEBHOOK,
        "sandbox_id",
        "A webhook was created, for an endpoint on `host`; with `sandbox_id` for that sandbox.",
    ),
    define_kind(
        "webhook.changed", _WEBHOOK + " enabled", "", "A webhook was changed by its owner."
    ),
    define_kind(
        "webhook.ended",
        _WEBHOOK + " sandbox_id dead",
        "",
        "A sandbox's webhook ended with it, after its last event; `dead` events were given up, the "
        "last for the reason `reason`.",
    ),
    define_kind("webhook.removed", _WEBHOOK, "", "A webhook was removed."),
    define_kind(
        "webhook.rotated",
        _WEBHOOK + " version until",
        "",
        "The secret of a webhook was replaced; the former one signs until then, too.",
    ),
    define_kind("webhook.tested", _WEBHOOK, "", "A test event was posted to the endpoint."),
    define_kind(
        "webhook.failed",
        _DELIVERY + " next_at",
        "",
        "A delivery failed, for the reason `reason`; it is tried again, at `next_at`.",
    ),
    define_kind(
        "webhook.dead_lettered",
        _DELIVERY,
        "",
        "A delivery failed for the last time; the event is a dead letter.",
    ),
    define_kind(
        "webhook.disabled",
        _WEBHOOK + " dead",
        "",
        "Atoll disabled a webhook; `reason` says why. Its events wait in the log.",
    ),
    define_kind(
        "webhook.replayed",
        _WEBHOOK,
        "event_id after deliveries",
        "Its owner sent dead letters again, or everything after a position.",
    ),
    define_kind(
        "webhook.skipped",
        _WEBHOOK + " after up_to",
        "",
        "Some events between two positions were no longer kept when it was their turn.",
    ),
    define_kind(
        "log.pruned",
        "readers after",
        "",
        "Events after this position were removed before these readers had read them: they had "
        "been kept a week longer.",
    ),
    define_kind(
        "token.created",
        "token_id name capabilities expires_at",
        "account sandbox_id",
        "A personal access token was made.",
    ),
    define_kind("token.revoked", "token_id name", "account sandbox_id", "A token was revoked."),
    define_kind("ssh.key_added", "key_id name fingerprint", "", "A person added an SSH key."),
    define_kind(
        "ssh.certified",
        "sandbox_id fingerprint role serial expires_at",
        "",
        "A key was certified for a sandbox.",
    ),
    define_kind("ssh.key_removed", "key_id name fingerprint", "", "An SSH key was removed."),
    define_kind(
        "ssh.opened",
        _SSH,
        "",
        "Somebody logged in over SSH: by which key, from where.",
    ),
    define_kind("ssh.closed", _SSH + " seconds", "", "An SSH connection to a sandbox ended."),
    define_kind(
        "ssh.forwarded", _SSH + " to", "", "Somebody forwarded a port or socket of a sandbox."
    ),
    define_kind("token.keys_rotated", "kid at_once", "", "A new key signs tokens from now on."),
)
