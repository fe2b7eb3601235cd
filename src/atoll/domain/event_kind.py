"""Kinds of events that the log knows.

`KINDS` is the contract with readers of the log. A kind's payload may gain optional fields; any
other change needs a new version.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from atoll.domain.event import Json


@dataclass(frozen=True, slots=True)
class EventKind:
    """A kind of event. `fields` are always in its payload, `optional` may be."""

    name: str
    version: int
    fields: frozenset[str]
    optional: frozenset[str]
    text: str


def _kind(name: str, fields: str, optional: str, text: str) -> tuple[str, EventKind]:
    return name, EventKind(name, 1, frozenset(fields.split()), frozenset(optional.split()), text)


_LIFE = "sandbox_id name generation state"
_INSIDE = "sandbox_id generation n id"
_SHARE, _VISIT = "sandbox_id share_id", "dashboard_id share_id"
_VALUED = "secret_id name scope purpose version"
_APPROVAL = "approval_id sandbox_id kind"
_ABOUT = "secret secret_id version host port argv0"
_MEMBER, _WEBHOOK = "org member kind name role", "webhook_id host"
_DELIVERY = _WEBHOOK + " event_id event_stream event_position attempt"
_DASHBOARD, _HOST = "dashboard_id name", "host_id name kind"
_PORT = "sandbox_id generation n port"
_PREVIEW, _SHOWN = "preview_id sandbox_id app port state", "pr_number sha terminal_id"
_TYPED = _INSIDE + " principal name client"

KINDS: Mapping[str, EventKind] = dict(
    (
        _kind("sandbox.requested", _LIFE, "profile extension", "A sandbox was requested."),
        _kind("sandbox.provisioning", _LIFE, "", "The start of the sandbox began."),
        _kind("sandbox.ready", _LIFE, "", "The runtime of the sandbox answered."),
        _kind("sandbox.active", _LIFE, "", "A program was started in the sandbox."),
        _kind("sandbox.stopped", _LIFE, "", "The sandbox was stopped; its workspace is kept."),
        _kind(
            "sandbox.expired",
            _LIFE,
            "retained_until",
            "The sandbox reached the end of its time or was idle too long.",
        ),
        _kind("sandbox.failed", _LIFE, "retained_until", "The sandbox failed; `reason` says why."),
        _kind("sandbox.destroying", _LIFE, "kept_at", "The removal of the sandbox began."),
        _kind(
            "sandbox.pulled",
            _LIFE + " repo commit",
            "",
            "Commits of the sandbox were pulled, up to this one.",
        ),
        _kind(
            "sandbox.destroyed",
            _LIFE,
            "removed leftovers",
            "The sandbox is removed; nothing of it runs.",
        ),
        _kind(
            "sandbox.setup_started",
            _LIFE + " terminal_id setup",
            "",
            "The set-up commands of the sandbox's project began in a terminal.",
        ),
        _kind(
            "sandbox.setup_ended",
            _LIFE + " terminal_id setup",
            "",
            "The set-up ended; `reason` says why it failed.",
        ),
        _kind("sandbox.ends_soon", _LIFE + " expires_at", "", "The sandbox expires soon."),
        _kind(
            "sandbox.unpulled",
            _LIFE + " expires_at places pushed",
            "",
            "Work is only in the sandbox, which expires soon: of each place `path`, `repo`, "
            "`branch`, and how many `commits` up to `tip`, `stashes` and `files`; `pushed` are "
            "held branches.",
        ),
        _kind(
            "sandbox.end_accepted",
            _LIFE + " expires_at",
            "",
            "Its owner lets the sandbox expire at this time.",
        ),
        _kind(
            "sandbox.ttl_extended",
            _LIFE,
            "expires_at retained_until",
            "The sandbox expires later, or is kept longer.",
        ),
        _kind("terminal.opened", _INSIDE, "argv0 name", "A terminal was opened."),
        _kind("terminal.adopted", _INSIDE, "argv0 name", "A new runtime took a terminal over."),
        _kind("terminal.renamed", _INSIDE, "argv0 name", "A terminal was given another name."),
        _kind("terminal.closed", _INSIDE, "argv0 name", "A terminal was closed on request."),
        _kind("terminal.exited", _INSIDE, "argv0 name exit", "A terminal's leader ended."),
        _kind(
            "terminal.input",
            _TYPED + " bytes since",
            "",
            "Input, as a sum over a turn or a minute; never its content.",
        ),
        _kind(
            "terminal.control",
            _INSIDE + " act epoch",
            "principal name client by unrecorded",
            "Control of a terminal was granted, released, taken or lost.",
        ),
        _kind(
            "recording.started",
            _INSIDE + " terminal by",
            "state bytes",
            "A recording of a terminal's output began.",
        ),
        _kind(
            "recording.ended",
            _INSIDE + " state",
            "terminal by bytes",
            "A recording ended: stopped, with its terminal, full, or failed.",
        ),
        _kind("recording.deleted", _INSIDE, "", "A recording was deleted."),
        _kind(
            "share.created",
            _SHARE + " role expires_at",
            "terminal_id recording_id name",
            "A share link was created.",
        ),
        _kind("share.revoked", _SHARE, "", "A share link was revoked and its guests disconnected."),
        _kind("share.entered", _SHARE + " guest_id name", "role", "A guest opened a share link."),
        _kind("exec.started", _INSIDE, "argv0 background", "A command was started."),
        _kind("exec.exited", _INSIDE, "argv0 exit timed_out", "A command ended."),
        _kind("file.changed", "sandbox_id generation n", "path act bytes", "A file was changed."),
        _kind(
            "secret.withheld",
            "sandbox_id generation n path",
            "",
            "A file or tree that holds a secret was not handed out.",
        ),
        _kind(
            "secret.exported",
            "sandbox_id generation n path",
            "",
            "The owner downloaded a file or tree that holds a secret.",
        ),
        _kind("port.opened", _PORT, "", "A program inside began to listen on a port."),
        _kind("port.closed", _PORT, "", "Nothing listens on the port any more."),
        _kind("preview.building", _PREVIEW, _SHOWN, "The set-up that builds a preview began."),
        _kind("preview.ready", _PREVIEW, _SHOWN, "The set-up of the preview succeeded."),
        _kind("preview.failed", _PREVIEW, _SHOWN, "The set-up failed; `reason` says why."),
        _kind(
            "preview.gone",
            _PREVIEW,
            _SHOWN,
            "A preview was torn down, or its sandbox was destroyed.",
        ),
        _kind(
            "preview.linked",
            "sandbox_id port expires_at",
            "preview_id",
            "A person made a link to a port, good for one use.",
        ),
        _kind("door.request", "sandbox_id generation n", "*", "A request passed a door."),
        _kind("door.refused", "sandbox_id generation n", "*", "A door refused a request."),
        _kind(
            "network.switched",
            _LIFE + " mode allowed denied host_ports ranges",
            "",
            "The owner changed the network rules of the sandbox.",
        ),
        _kind(
            "agent.state",
            _INSIDE + " agent agent_state turn why",
            "unrecorded",
            "An agent started, waits, was paused or resumed, or ended.",
        ),
        _kind(
            "agent.status",
            _INSIDE + " agent mode status since",
            "begins on question card answer options words turns reason commits plus minus",
            "An agent works, needs its person, is done, idle, stopped or failed.",
        ),
        _kind(
            "agent.started",
            _INSIDE + " agent mode",
            "name cwd by asks otherwise conversation softlock",
            "An agent was started, or resumed with its sandbox.",
        ),
        _kind(
            "agent.conversation",
            _INSIDE + " agent conversation",
            "",
            "An agent reported the id of its conversation.",
        ),
        _kind(
            "agent.instructed",
            _INSIDE + " agent",
            "instructions_id",
            "An agent received the sandbox's instructions.",
        ),
        _kind(
            "agent.changed",
            _INSIDE + " agent setting value by",
            "unrecorded",
            "The owner changed an agent's model or permission mode.",
        ),
        _kind(
            "agent.ended", _INSIDE + " agent why", "", "An agent ended by itself, or was stopped."
        ),
        _kind(
            "agent.forgotten",
            "sandbox_id generation",
            "",
            "The runtime began anew: agents of before are no longer listed.",
        ),
        _kind("task.queued", _LIFE + " before", "", "The task waits for a place, after so many."),
        _kind("task.given", _LIFE, "", "The agent of the sandbox received its task."),
        _kind("task.failed", _LIFE, "", "The task could not be started; `reason` says why."),
        _kind("agent.installed", "agent version", "", "An agent was installed on this host."),
        _kind("agent.install_failed", "agent", "", "An agent could not be installed."),
        _kind(
            "agent.tool",
            _INSIDE + " agent card card_kind",
            "unrecorded",
            "An agent began to use a tool; its card names it.",
        ),
        _kind("agent.reported", "sandbox_id generation n", "*", "An agent reported its state."),
        _kind(
            "safety.sudo",
            "sandbox_id generation n argv exit",
            "why",
            "A command of the sudo list ran, or failed to run (`why`).",
        ),
        _kind("dashboard.created", _DASHBOARD, "", "A dashboard was made."),
        _kind("dashboard.changed", _DASHBOARD, "", "A dashboard was renamed, or others see it."),
        _kind(
            "dashboard.shared",
            _DASHBOARD + " subject role",
            "",
            "A person or a group has a role on a dashboard.",
        ),
        _kind(
            "dashboard.unshared",
            _DASHBOARD + " subject",
            "",
            "A person or a group has no role on a dashboard any more.",
        ),
        _kind(
            "dashboard.linked",
            _DASHBOARD + " sandbox_id",
            "",
            "A dashboard shows a sandbox, which its editors may use from now on.",
        ),
        _kind(
            "dashboard.unlinked",
            _DASHBOARD + " sandbox_id",
            "",
            "A dashboard does not show a sandbox any more.",
        ),
        _kind(
            "dashboard.commented",
            _DASHBOARD + " comment_id item_id author",
            "",
            "Somebody commented on an item; not what they wrote.",
        ),
        _kind(
            "dashboard.uncommented",
            _DASHBOARD + " comment_id item_id author",
            "",
            "A comment was deleted.",
        ),
        _kind(
            "dashboard.share_created",
            _VISIT + " role expires_at",
            "label terminals",
            "A share link of a dashboard was created.",
        ),
        _kind(
            "dashboard.share_revoked",
            _VISIT,
            "",
            "A share link of a dashboard was revoked and its guests disconnected.",
        ),
        _kind(
            "dashboard.share_entered",
            _VISIT + " guest_id guest_name",
            "",
            "A guest opened a share link of a dashboard.",
        ),
        _kind(
            "dashboard.mentioned",
            _DASHBOARD + " item_id mention_id kind",
            "",
            "A comment mentions somebody, or a todo became theirs; only they read of it.",
        ),
        _kind(
            "dashboard.mention_ended",
            _DASHBOARD + " item_id mention_id kind",
            "",
            "A mention was dismissed, or ended with its comment or its todo.",
        ),
        _kind("dashboard.given", _DASHBOARD + " from to", "", "A dashboard has another owner."),
        _kind("dashboard.deleted", _DASHBOARD, "", "A dashboard was deleted; it can be restored."),
        _kind("dashboard.restored", _DASHBOARD, "", "A deleted dashboard is back."),
        _kind(
            "host.added", _HOST + " address fingerprint", "", "A host was added, its key pinned."
        ),
        _kind("host.changed", _HOST, "", "What is said of a host was changed."),
        _kind("host.drained", _HOST, "", "A host takes no new sandbox any more."),
        _kind("host.undrained", _HOST, "", "A host takes sandboxes again."),
        _kind("host.removed", _HOST, "", "A host was removed."),
        _kind("profile.saved", "profile_id version", "", "A profile was saved."),
        _kind("profile.deleted", "profile_id", "version", "A profile was deleted."),
        _kind("repository.fetched", "key", "repo_url bytes", "A shared repository was fetched."),
        _kind(
            "project.decided",
            "repository digest decision",
            "",
            "A person approved or declined what a repository's project file proposes.",
        ),
        _kind(
            "project.forgotten",
            "repository decisions",
            "",
            "A person's decisions on a repository's project files were dropped.",
        ),
        _kind(
            "git.pushed",
            "sandbox_id generation repo branch commit",
            "commits kept_id",
            "A push inside the sandbox is held for its owner.",
        ),
        _kind(
            "git.synced",
            "sandbox_id generation repo onto outcome",
            "commits",
            "A branch of the sandbox was rebased onto newer commits, or stopped on the way.",
        ),
        _kind(
            "git.pull_opened",
            "sandbox_id generation repo branch base commit pull",
            "",
            "A pull request of a branch of the sandbox was opened at its forge.",
        ),
        _kind("drive.connected", "secret_id", "", "A person connected their account at a drive."),
        _kind(
            "drive.disconnected",
            "secret_id how",
            "",
            "A person's account at a drive was disconnected, or its consent ended.",
        ),
        _kind(
            "drive.imported",
            "sandbox_id generation file path bytes",
            "",
            "A file of a drive was imported into the workspace.",
        ),
        _kind(
            "drive.exported",
            "sandbox_id generation file path bytes",
            "",
            "A file of the workspace was exported to a drive.",
        ),
        _kind("auth.login", "how", "", "Somebody logged in."),
        _kind("auth.refused", "realm reason", "", "A login at a provider was refused."),
        _kind("auth.logout", "how", "", "Logins of a person ended."),
        _kind("secret.set", _VALUED, "provider exposed", "A secret was set."),
        _kind("secret.rotated", _VALUED, "provider exposed", "The value of a secret was replaced."),
        _kind("secret.removed", _VALUED, "provider exposed", "A secret was removed."),
        _kind(
            "vault.rotated",
            "key_id secrets",
            "retired",
            "The master key of the vault was replaced.",
        ),
        _kind(
            "approval.asked",
            _APPROVAL + " generation n",
            _ABOUT,
            "A program in a sandbox requested an approval.",
        ),
        _kind(
            "approval.granted", _APPROVAL, _ABOUT + " reach until", "A person approved a request."
        ),
        _kind("approval.denied", _APPROVAL, _ABOUT + " until", "A person denied a request."),
        _kind("approval.used", _APPROVAL, _ABOUT, "An approval for one request was used."),
        _kind(
            "approval.revoked", _APPROVAL, _ABOUT, "An approval was revoked, or its secret changed."
        ),
        _kind(
            "approval.expired", _APPROVAL, _ABOUT, "An approval request ended without a decision."
        ),
        _kind("org.created", "org slug name", "", "An organization was made, or became a team."),
        _kind("org.changed", "org slug name", "", "An organization was renamed."),
        _kind("member.invited", "org invitation role", "email", "Somebody was invited."),
        _kind("member.uninvited", "org invitation role", "email", "An invitation was taken back."),
        _kind(
            "member.added",
            _MEMBER,
            "invitation",
            "A person joined an organization, or a service account was made.",
        ),
        _kind("member.changed", _MEMBER, "before", "A member has another role or other groups."),
        _kind(
            "member.removed",
            _MEMBER,
            "dashboards sandboxes secrets",
            "A member left or was removed; what is left of theirs is counted.",
        ),
        _kind("quota.set", "org member quota", "", "A quota of a member, or (empty) of all."),
        _kind(
            "sandbox.given",
            _LIFE + " from to",
            "",
            "A sandbox has another owner, who has its history, too.",
        ),
        _kind("webhook.created", _WEBHOOK, "", "A webhook was created, for an endpoint on `host`."),
        _kind("webhook.changed", _WEBHOOK + " enabled", "", "A webhook was changed by its owner."),
        _kind("webhook.removed", _WEBHOOK, "", "A webhook was removed."),
        _kind(
            "webhook.rotated",
            _WEBHOOK + " version until",
            "",
            "The secret of a webhook was replaced; the former one signs until then, too.",
        ),
        _kind("webhook.tested", _WEBHOOK, "", "A test event was posted to the endpoint."),
        _kind(
            "webhook.failed",
            _DELIVERY + " next_at",
            "",
            "A delivery failed, for the reason `reason`; it is tried again, at `next_at`.",
        ),
        _kind(
            "webhook.dead_lettered",
            _DELIVERY,
            "",
            "A delivery failed for the last time; the event is a dead letter.",
        ),
        _kind(
            "webhook.disabled",
            _WEBHOOK + " dead",
            "",
            "Atoll disabled a webhook; `reason` says why. Its events wait in the log.",
        ),
        _kind(
            "webhook.replayed",
            _WEBHOOK,
            "event_id after deliveries",
            "Its owner sent dead letters again, or everything after a position.",
        ),
        _kind(
            "webhook.skipped",
            _WEBHOOK + " after up_to",
            "",
            "Some events between two positions were no longer kept when it was their turn.",
        ),
        _kind(
            "log.pruned",
            "readers after",
            "",
            "Events after this position were removed before these readers had read them: they had "
            "been kept a week longer.",
        ),
        _kind(
            "token.created",
            "token_id name capabilities expires_at",
            "account sandbox_id",
            "A personal access token was made.",
        ),
        _kind("token.revoked", "token_id name", "account sandbox_id", "A token was revoked."),
        _kind("token.keys_rotated", "kid at_once", "", "A new key signs tokens from now on."),
    )
)
"""Every kind, by name. `*` among the optional fields allows any."""


def check(event_type: str, payload: Mapping[str, Json]) -> EventKind:
    """Return the kind of `event_type`, after comparing its payload with it.

    Raises `ValueError`: an event that does not fit is a mistake in the program, never in a request.
    """
    kind = KINDS.get(event_type)
    if kind is None:
        raise ValueError(
            f"no event kind is called {event_type!r}: add it to domain.event_kind.KINDS"
        )
    missing = kind.fields - payload.keys()
    if missing:
        raise ValueError(f"{event_type} lacks {', '.join(sorted(missing))}")
    unknown = payload.keys() - kind.fields - kind.optional
    if unknown and "*" not in kind.optional:
        raise ValueError(f"{event_type} does not know {', '.join(sorted(unknown))}")
    return kind
