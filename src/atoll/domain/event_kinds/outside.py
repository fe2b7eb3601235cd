"""Events of people, secrets, hosts and everything else around sandboxes."""

from typing import Final

from atoll.domain.event_kinds.kind import EventKind, kind

_SHARE = "sandbox_id share_id"
_VISIT = "dashboard_id share_id"
_VALUED = "secret_id name scope purpose version"
_APPROVAL = "approval_id sandbox_id kind"
_ABOUT = "secret secret_id version host port argv0 tool"
_MEMBER = "org member kind name role"
_WEBHOOK = "webhook_id host"
_DELIVERY = _WEBHOOK + " event_id event_stream event_position attempt"
_DASHBOARD = "dashboard_id name"
_HOST = "host_id name kind"

OUTSIDE: Final[tuple[tuple[str, EventKind], ...]] = (
    kind(
        "share.created",
        _SHARE + " role expires_at",
        "terminal_id recording_id name",
        "A share link was created.",
    ),
    kind("share.revoked", _SHARE, "", "A share link was revoked and its guests disconnected."),
    kind("share.entered", _SHARE + " guest_id name", "role", "A guest opened a share link."),
    kind(
        "secret.withheld",
        "sandbox_id generation n path",
        "",
        "A file or tree that holds a secret was not handed out.",
    ),
    kind(
        "secret.exported",
        "sandbox_id generation n path",
        "",
        "The owner downloaded a file or tree that holds a secret.",
    ),
    kind(
        "safety.sudo",
        "sandbox_id generation n argv exit",
        "why",
        "A command of the sudo list ran, or failed to run (`why`).",
    ),
    kind("dashboard.created", _DASHBOARD, "", "A dashboard was made."),
    kind("dashboard.changed", _DASHBOARD, "", "A dashboard was renamed, or others see it."),
    kind(
        "dashboard.shared",
        _DASHBOARD + " subject role",
        "",
        "A person or a group has a role on a dashboard.",
    ),
    kind(
        "dashboard.unshared",
        _DASHBOARD + " subject",
        "",
        "A person or a group has no role on a dashboard any more.",
    ),
    kind(
        "dashboard.linked",
        _DASHBOARD + " sandbox_id",
        "",
        "A dashboard shows a sandbox, which its editors may use from now on.",
    ),
    kind(
        "dashboard.unlinked",
        _DASHBOARD + " sandbox_id",
        "",
        "A dashboard does not show a sandbox any more.",
    ),
    kind(
        "dashboard.commented",
        _DASHBOARD + " comment_id item_id author",
        "",
        "Somebody commented on an item; not what they wrote.",
    ),
    kind(
        "dashboard.uncommented",
        _DASHBOARD + " comment_id item_id author",
        "",
        "A comment was deleted.",
    ),
    kind(
        "dashboard.share_created",
        _VISIT + " role expires_at",
        "label terminals",
        "A share link of a dashboard was created.",
    ),
    kind(
        "dashboard.share_revoked",
        _VISIT,
        "",
        "A share link of a dashboard was revoked and its guests disconnected.",
    ),
    kind(
        "dashboard.share_entered",
        _VISIT + " guest_id guest_name",
        "",
        "A guest opened a share link of a dashboard.",
    ),
    kind(
        "dashboard.mentioned",
        _DASHBOARD + " item_id mention_id kind",
        "",
        "A comment mentions somebody, or a todo became theirs; only they read of it.",
    ),
    kind(
        "dashboard.mention_ended",
        _DASHBOARD + " item_id mention_id kind",
        "",
        "A mention was dismissed, or ended with its comment or its todo.",
    ),
    kind("dashboard.given", _DASHBOARD + " from to", "", "A dashboard has another owner."),
    kind("dashboard.deleted", _DASHBOARD, "", "A dashboard was deleted; it can be restored."),
    kind("dashboard.restored", _DASHBOARD, "", "A deleted dashboard is back."),
    kind("host.added", _HOST + " address fingerprint", "", "A host was added, its key pinned."),
    kind("host.changed", _HOST, "", "What is said of a host was changed."),
    kind("host.trusted", _HOST, "", "Another key that a host shows is pinned for it."),
    kind("host.drained", _HOST, "", "A host takes no new sandbox any more."),
    kind("host.undrained", _HOST, "", "A host takes sandboxes again."),
    kind("host.removed", _HOST, "", "A host was removed."),
    kind(
        "route.changed",
        "scope",
        "",
        "The default route or the allowed backends of an organization or the installation changed.",
    ),
    kind("profile.saved", "profile_id version", "", "A profile was saved."),
    kind("profile.deleted", "profile_id", "version", "A profile was deleted."),
    kind("repository.fetched", "key", "repo_url bytes", "A shared repository was fetched."),
    kind(
        "git.pushed",
        "sandbox_id generation repo branch commit",
        "commits kept_id",
        "A push inside the sandbox is held for its owner.",
    ),
    kind(
        "git.synced",
        "sandbox_id generation repo onto outcome",
        "commits",
        "A branch of the sandbox was rebased onto newer commits, or stopped on the way.",
    ),
    kind(
        "git.pull_opened",
        "sandbox_id generation repo branch base commit pull",
        "",
        "A pull request of a branch of the sandbox was opened at its forge.",
    ),
    kind(
        "git.pull_changed",
        "sandbox_id generation repo branch base commit pull state",
        "",
        "A pull request was merged or closed at its forge, or opened again.",
    ),
    kind(
        "work.reviewed",
        "sandbox_id generation mark",
        "",
        "A person reviewed the work (`mark` names it), or took that back (null).",
    ),
    kind(
        "work.merged",
        "sandbox_id generation repo into way commit mark",
        "commits",
        "A branch of the sandbox was merged into another one, inside.",
    ),
    kind(
        "work.changed",
        "sandbox_id generation work_state before",
        "",
        "The work in the sandbox reached another state; null where there is none.",
    ),
    kind(
        "agent_login.changed",
        "agent_login_id secret_id agent state",
        "in_use reason exposed_to",
        "A login of an agent began, became ready, was turned on or off, was exposed, or ended.",
    ),
    kind("drive.connected", "secret_id", "", "A person connected their account at a drive."),
    kind(
        "drive.disconnected",
        "secret_id how",
        "",
        "A person's account at a drive was disconnected, or its consent ended.",
    ),
    kind(
        "drive.imported",
        "sandbox_id generation file path bytes",
        "",
        "A file of a drive was imported into the workspace.",
    ),
    kind(
        "drive.exported",
        "sandbox_id generation file path bytes",
        "",
        "A file of the workspace was exported to a drive.",
    ),
    kind("auth.login", "how", "", "Somebody logged in."),
    kind("auth.refused", "realm reason", "", "A login at a provider was refused."),
    kind("auth.logout", "how", "", "Logins of a person ended."),
    kind("secret.set", _VALUED, "provider exposed", "A secret was set."),
    kind("secret.rotated", _VALUED, "provider exposed", "The value of a secret was replaced."),
    kind("secret.removed", _VALUED, "provider exposed", "A secret was removed."),
    kind(
        "vault.rotated",
        "key_id secrets",
        "retired",
        "The master key of the vault was replaced.",
    ),
    kind(
        "approval.asked",
        _APPROVAL + " generation n",
        _ABOUT,
        "A program in a sandbox requested an approval; of a tool, `n` is 0.",
    ),
    kind("approval.granted", _APPROVAL, _ABOUT + " reach until", "A person approved a request."),
    kind("approval.denied", _APPROVAL, _ABOUT + " until", "A person denied a request."),
    kind("approval.used", _APPROVAL, _ABOUT, "An approval for one request was used."),
    kind("approval.revoked", _APPROVAL, _ABOUT, "An approval was revoked, or its secret changed."),
    kind("approval.expired", _APPROVAL, _ABOUT, "An approval request ended without a decision."),
    kind("org.created", "org slug name", "", "An organization was made, or became a team."),
    kind("org.changed", "org slug name", "", "An organization was renamed."),
    kind("member.invited", "org invitation role", "email", "Somebody was invited."),
    kind("member.uninvited", "org invitation role", "email", "An invitation was taken back."),
    kind(
        "member.added",
        _MEMBER,
        "invitation",
        "A person joined an organization, or a service account was made.",
    ),
    kind("member.changed", _MEMBER, "before", "A member has another role or other groups."),
    kind(
        "member.removed",
        _MEMBER,
        "dashboards sandboxes secrets",
        "A member left or was removed; what is left of theirs is counted.",
    ),
    kind(
        "network.bounded",
        "bounds org",
        "",
        "An organization bounded the networks of its sandboxes.",
    ),
    kind("quota.set", "org member quota", "", "A quota of a member, or (empty) of all."),
    kind(
        "service.reported",
        "name data",
        "worker_id",
        "A trusted service reported something; `name` says what.",
    ),
    kind("webhook.created", _WEBHOOK, "", "A webhook was created, for an endpoint on `host`."),
    kind("webhook.changed", _WEBHOOK + " enabled", "", "A webhook was changed by its owner."),
    kind("webhook.removed", _WEBHOOK, "", "A webhook was removed."),
    kind(
        "webhook.rotated",
        _WEBHOOK + " version until",
        "",
        "The secret of a webhook was replaced; the former one signs until then, too.",
    ),
    kind("webhook.tested", _WEBHOOK, "", "A test event was posted to the endpoint."),
    kind(
        "webhook.failed",
        _DELIVERY + " next_at",
        "",
        "A delivery failed, for the reason `reason`; it is tried again, at `next_at`.",
    ),
    kind(
        "webhook.dead_lettered",
        _DELIVERY,
        "",
        "A delivery failed for the last time; the event is a dead letter.",
    ),
    kind(
        "webhook.disabled",
        _WEBHOOK + " dead",
        "",
        "Atoll disabled a webhook; `reason` says why. Its events wait in the log.",
    ),
    kind(
        "webhook.replayed",
        _WEBHOOK,
        "event_id after deliveries",
        "Its owner sent dead letters again, or everything after a position.",
    ),
    kind(
        "webhook.skipped",
        _WEBHOOK + " after up_to",
        "",
        "Some events between two positions were no longer kept when it was their turn.",
    ),
    kind(
        "log.pruned",
        "readers after",
        "",
        "Events after this position were removed before these readers had read them: they had "
        "been kept a week longer.",
    ),
    kind(
        "token.created",
        "token_id name capabilities expires_at",
        "account sandbox_id",
        "A personal access token was made.",
    ),
    kind("token.revoked", "token_id name", "account sandbox_id", "A token was revoked."),
    kind("token.keys_rotated", "kid at_once", "", "A new key signs tokens from now on."),
)
