"""Events of one sandbox: its life, and what happens inside."""

from typing import Final

from atoll.domain.event_kinds.kind import EventKind, define_kind

_LIFE = "sandbox_id name generation state"
_INSIDE = "sandbox_id generation n id"
_PORT = "sandbox_id generation n port"
_PREVIEW = "preview_id sandbox_id app port state"
_SHOWN = "pr_number sha terminal_id"
_TYPED = _INSIDE + " principal name client"

INSIDE: Final[tuple[tuple[str, EventKind], ...]] = (
    define_kind(
        "sandbox.requested",
        _LIFE,
        "profile extension host region route_id parent seed consumer by owner agent resources",
        "A sandbox was requested.",
    ),
    define_kind(
        "sandbox.relocation_started",
        _LIFE + " from to",
        "",
        "The files of the sandbox began to go from one host to another.",
    ),
    define_kind(
        "sandbox.relocated",
        _LIFE + " from to",
        "",
        "All files of the sandbox are at its new host.",
    ),
    define_kind(
        "sandbox.relocation_ended",
        _LIFE + " from to leftovers",
        "",
        "The former host was emptied, but for `leftovers`.",
    ),
    define_kind(
        "sandbox.relocation_failed",
        _LIFE + " from to leftovers",
        "",
        "The files could not be moved (`reason`) and are where they were.",
    ),
    define_kind(
        "sandbox.rerouted",
        _LIFE + " extension host region",
        "",
        "Its backend could not bring the sandbox up (`reason`), so another one tries.",
    ),
    define_kind(
        "sandbox.destroy_held",
        _LIFE + " leftovers",
        "",
        "It cannot be destroyed (`reason`) while its host is not trusted; `leftovers` stand.",
    ),
    define_kind(
        "snapshot.taken",
        "snapshot_id sandbox_id name size",
        "",
        "Its disk was kept as it was then.",
    ),
    define_kind(
        "snapshot.failed", "snapshot_id sandbox_id name size", "", "Its disk could not be kept."
    ),
    define_kind(
        "snapshot.removed", "snapshot_id sandbox_id name size", "", "A snapshot of it was removed."
    ),
    define_kind("sandbox.provisioning", _LIFE, "", "The start of the sandbox began."),
    define_kind("sandbox.ready", _LIFE, "", "The runtime of the sandbox answered."),
    define_kind("sandbox.active", _LIFE, "", "A program was started in the sandbox."),
    define_kind(
        "sandbox.stopped",
        _LIFE,
        "asleep",
        "The sandbox was stopped, or sleeps (`asleep`); its workspace is kept.",
    ),
    define_kind(
        "sandbox.expired",
        _LIFE,
        "retained_until consumer by",
        "The sandbox reached the end of its time or of its consumer, or was idle too long.",
    ),
    define_kind(
        "sandbox.failed", _LIFE, "retained_until", "The sandbox failed; `reason` says why."
    ),
    define_kind("sandbox.destroying", _LIFE, "kept_at", "The removal of the sandbox began."),
    define_kind(
        "sandbox.pulled",
        _LIFE + " repo commit",
        "",
        "Commits of the sandbox were pulled, up to this one.",
    ),
    define_kind(
        "sandbox.destroyed",
        _LIFE,
        "removed leftovers",
        "The sandbox is removed; nothing of it runs.",
    ),
    define_kind(
        "sandbox.setup_started",
        _LIFE + " terminal_id setup",
        "",
        "The set-up commands of the sandbox's project began in a terminal.",
    ),
    define_kind(
        "sandbox.setup_ended",
        _LIFE + " terminal_id setup",
        "",
        "The set-up ended; `reason` says why it failed.",
    ),
    define_kind(
        "sandbox.exposed",
        _LIFE + " names",
        "",
        "Values of secrets or logins were put inside; `names` are all that are inside.",
    ),
    define_kind(
        "sandbox.archived", _LIFE, "", "Its person put the sandbox away; it keeps its files."
    ),
    define_kind("sandbox.revived", _LIFE, "expires_at", "Its person took the sandbox back up."),
    define_kind("sandbox.ends_soon", _LIFE + " expires_at", "", "The sandbox expires soon."),
    define_kind(
        "sandbox.unpulled",
        _LIFE + " expires_at places pushed",
        "",
        "Work is only in the sandbox, which expires soon: of each place `path`, `repo`, "
        "`branch`, and how many `commits` up to `tip`, `stashes` and `files`; `pushed` are "
        "held branches.",
    ),
    define_kind(
        "sandbox.end_accepted",
        _LIFE + " expires_at",
        "",
        "Its owner lets the sandbox expire at this time.",
    ),
    define_kind(
        "sandbox.ttl_extended",
        _LIFE,
        "expires_at retained_until",
        "The sandbox expires later, or is kept longer.",
    ),
    define_kind("terminal.opened", _INSIDE, "argv0 name", "A terminal was opened."),
    define_kind("terminal.adopted", _INSIDE, "argv0 name", "A new runtime took a terminal over."),
    define_kind("terminal.renamed", _INSIDE, "argv0 name", "A terminal was given another name."),
    define_kind("terminal.closed", _INSIDE, "argv0 name", "A terminal was closed on request."),
    define_kind("terminal.exited", _INSIDE, "argv0 name exit", "A terminal's leader ended."),
    define_kind(
        "terminal.input",
        _TYPED + " bytes since",
        "",
        "Input, as a sum over a turn or a minute; never its content.",
    ),
    define_kind(
        "terminal.control",
        _INSIDE + " act epoch",
        "principal name client by unrecorded",
        "Control of a terminal was granted, released, taken or lost.",
    ),
    define_kind(
        "recording.started",
        _INSIDE + " terminal by",
        "state bytes",
        "A recording of a terminal's output began.",
    ),
    define_kind(
        "recording.ended",
        _INSIDE + " state",
        "terminal by bytes",
        "A recording ended: stopped, with its terminal, full, or failed.",
    ),
    define_kind("recording.deleted", _INSIDE, "", "A recording was deleted."),
    define_kind("exec.started", _INSIDE, "argv0 background", "A command was started."),
    define_kind("exec.exited", _INSIDE, "argv0 exit timed_out", "A command ended."),
    define_kind("file.changed", "sandbox_id generation n", "path act bytes", "A file was changed."),
    define_kind(
        "git.tree",
        "sandbox_id generation n trees",
        "",
        "Working trees of the sandbox changed: of each its branch, counts, and a conflict.",
    ),
    define_kind("port.opened", _PORT, "", "A program inside began to listen on a port."),
    define_kind("port.closed", _PORT, "", "Nothing listens on the port any more."),
    define_kind("preview.building", _PREVIEW, _SHOWN, "The set-up that builds a preview began."),
    define_kind("preview.ready", _PREVIEW, _SHOWN, "The set-up of the preview succeeded."),
    define_kind("preview.failed", _PREVIEW, _SHOWN, "The set-up failed; `reason` says why."),
    define_kind(
        "preview.gone",
        _PREVIEW,
        _SHOWN,
        "A preview was torn down, or its sandbox was destroyed.",
    ),
    define_kind(
        "preview.linked",
        "sandbox_id port expires_at",
        "preview_id",
        "A person made a link to a port, good for one use.",
    ),
    define_kind("door.request", "sandbox_id generation n", "*", "A request passed a door."),
    define_kind("door.refused", "sandbox_id generation n", "*", "A door refused a request."),
    define_kind(
        "network.switched",
        _LIFE + " mode allowed denied host_ports ranges",
        "",
        "The owner changed the network rules of the sandbox.",
    ),
    define_kind(
        "agent.state",
        _INSIDE + " agent agent_state turn why",
        "unrecorded",
        "An agent started, waits, was paused or resumed, or ended.",
    ),
    define_kind(
        "agent.status",
        _INSIDE + " agent mode status since",
        "begins on question card answer options words turns reason commits plus minus",
        "An agent works, needs its person, is done, idle, stopped or failed.",
    ),
    define_kind(
        "agent.started",
        _INSIDE + " agent mode",
        "name cwd by asks otherwise conversation softlock",
        "An agent was started, or resumed with its sandbox.",
    ),
    define_kind(
        "agent.conversation",
        _INSIDE + " agent conversation",
        "",
        "An agent reported the id of its conversation.",
    ),
    define_kind(
        "agent.instructed",
        _INSIDE + " agent",
        "instructions_id",
        "An agent received the sandbox's instructions.",
    ),
    define_kind(
        "agent.changed",
        _INSIDE + " agent setting value by",
        "unrecorded",
        "The owner changed an agent's model or permission mode.",
    ),
    define_kind(
        "agent.woken",
        "sandbox_id generation id agent wake_id uris",
        "more",
        "Atoll asked an idle agent: what its profile watches had changed (`uris`, and `more`).",
    ),
    define_kind(
        "agent.ended", _INSIDE + " agent why", "", "An agent ended by itself, or was stopped."
    ),
    define_kind(
        "agent.forgotten",
        "sandbox_id generation",
        "",
        "The runtime began anew: agents of before are no longer listed.",
    ),
    define_kind("task.queued", _LIFE + " before", "", "The task waits for a place, after so many."),
    define_kind("task.given", _LIFE, "", "The agent of the sandbox received its task."),
    define_kind("task.failed", _LIFE, "", "The task could not be started; `reason` says why."),
    define_kind("agent.installed", "agent version", "", "An agent was installed on this host."),
    define_kind("agent.install_failed", "agent", "", "An agent could not be installed."),
    define_kind(
        "agent.tool",
        _INSIDE + " agent card card_kind",
        "unrecorded",
        "An agent began to use a tool; its card names it.",
    ),
    define_kind("agent.reported", "sandbox_id generation n", "*", "An agent reported its state."),
    define_kind(
        "project.decided",
        "repository digest decision",
        "",
        "A person approved or declined what a repository's project file proposes.",
    ),
    define_kind(
        "project.forgotten",
        "repository decisions",
        "",
        "A person's decisions on a repository's project files were dropped.",
    ),
    define_kind(
        "sandbox.given",
        _LIFE + " from to",
        "",
        "A sandbox has another owner, who has its history, too.",
    ),
)
