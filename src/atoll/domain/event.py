"""Events: the envelope of the one durable log, and the kinds it knows.

Every transition and every act that matters is an event. `KINDS` is the contract with readers of the
log. A kind's payload may gain optional fields; any other change needs a new version. The store
appends and numbers events.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from atoll.domain.ids import EventId, OrgId, PrincipalId
from atoll.domain.people.principal import Principal

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

SANDBOX_STREAMS = "sandbox:"
"""The prefix of the name of a sandbox's stream."""


@dataclass(frozen=True, slots=True)
class EventKind:
    """A kind of event. `fields` are always in its payload, `optional` may be."""

    name: str
    version: int
    fields: frozenset[str]
    optional: frozenset[str]
    text: str


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event before the log has numbered it. `owner` is the owner of its subject, who may read
    it."""

    id: EventId
    stream: str
    event_type: str
    at: datetime
    org_id: OrgId
    owner: PrincipalId
    actor: Principal
    reason: str | None
    payload: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Gap:
    """A gap in what a reader received: of the events after position `after` and up to `to`, some
    are no longer kept. The kept ones still come."""

    after: int
    to: int


@dataclass(frozen=True, slots=True)
class Event:
    """An event in its envelope. `seq` counts from 1 within its stream, `position` over the whole
    log; both grow in the order of commits. `actor_kind` is `adm`, `agt` or `atm`."""

    id: EventId
    position: int
    stream: str
    seq: int
    event_type: str
    event_version: int
    at: datetime
    org_id: OrgId
    actor_kind: str
    actor_id: str
    reason: str | None
    payload: Mapping[str, Json]


def _kind(name: str, fields: str, optional: str, text: str) -> tuple[str, EventKind]:
    return name, EventKind(name, 1, frozenset(fields.split()), frozenset(optional.split()), text)


_LIFE = "sandbox_id name generation state"
_INSIDE = "sandbox_id generation n id"
_SHARE = "sandbox_id share_id"
_VALUED = "secret_id name scope purpose version"
_APPROVAL = "approval_id sandbox_id kind"
_ABOUT = "secret secret_id version host port argv0"
_TYPED = _INSIDE + " principal name client"

KINDS: Mapping[str, EventKind] = dict(
    (
        _kind("sandbox.requested", _LIFE, "profile extension", "Somebody asked for a sandbox."),
        _kind("sandbox.provisioning", _LIFE, "", "It is being brought up."),
        _kind("sandbox.ready", _LIFE, "", "Its runtime answered."),
        _kind("sandbox.active", _LIFE, "", "Something ran in it."),
        _kind("sandbox.stopped", _LIFE, "", "Its processes were ended; its workspace is kept."),
        _kind("sandbox.expired", _LIFE, "retained_until", "Its time or its idleness ran out."),
        _kind("sandbox.failed", _LIFE, "retained_until", "It broke; `reason` says why."),
        _kind("sandbox.destroying", _LIFE, "kept_at", "It is being taken away."),
        _kind(
            "sandbox.pulled",
            _LIFE + " repo commit",
            "",
            "Somebody brought its commits outside, up to this one.",
        ),
        _kind("sandbox.destroyed", _LIFE, "removed leftovers", "Nothing of it is left running."),
        _kind("sandbox.ends_soon", _LIFE + " expires_at", "", "Its time to live is nearly over."),
        _kind(
            "sandbox.ttl_extended",
            _LIFE,
            "expires_at retained_until",
            "It may live longer, or is kept longer.",
        ),
        _kind("terminal.opened", _INSIDE, "argv0 name", "A terminal was opened."),
        _kind("terminal.closed", _INSIDE, "argv0 name", "A terminal was closed by somebody."),
        _kind("terminal.exited", _INSIDE, "argv0 name exit", "A terminal's leader ended."),
        _kind(
            "terminal.input",
            _TYPED + " bytes since",
            "",
            "Somebody typed; summed up over a turn, a minute at most. Never what.",
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
            "What a terminal shows is being kept from now on.",
        ),
        _kind(
            "recording.ended",
            _INSIDE + " state",
            "terminal by bytes",
            "A recording ended: stopped, with its terminal, full, or failed.",
        ),
        _kind("recording.deleted", _INSIDE, "", "A recording was deleted."),
        _kind("share.created", _SHARE + " role expires_at", "terminal_id name", "A link was made."),
        _kind("share.revoked", _SHARE, "", "A link was revoked; its guests are gone."),
        _kind("share.entered", _SHARE + " guest_id name", "", "Somebody opened a link."),
        _kind("exec.started", _INSIDE, "argv0 background", "A command was started."),
        _kind("exec.exited", _INSIDE, "argv0 exit timed_out", "A command ended."),
        _kind("file.changed", "sandbox_id generation n", "path act bytes", "A file was changed."),
        _kind(
            "secret.withheld",
            "sandbox_id generation n path",
            "",
            "A file or tree was not handed out: it holds a secret.",
        ),
        _kind(
            "secret.exported",
            "sandbox_id generation n path",
            "",
            "The owner took out a file or tree that holds a secret.",
        ),
        _kind("door.request", "sandbox_id generation n", "*", "Something left by a door."),
        _kind("door.refused", "sandbox_id generation n", "*", "A door let something not out."),
        _kind(
            "network.switched",
            _LIFE + " mode allowed denied host_ports ranges",
            "",
            "Its owner changed what it may reach.",
        ),
        _kind(
            "agent.state",
            _INSIDE + " agent agent_state turn why",
            "unrecorded",
            "An agent began, waits, was paused or resumed, or has ended.",
        ),
        _kind(
            "agent.started",
            _INSIDE + " agent mode",
            "name cwd by asks otherwise conversation softlock",
            "An agent was started, or goes on after a start.",
        ),
        _kind(
            "agent.conversation",
            _INSIDE + " agent conversation",
            "",
            "An agent named the conversation it has.",
        ),
        _kind(
            "agent.instructed",
            _INSIDE + " agent",
            "instructions_id",
            "An agent received the sandbox's instructions.",
        ),
        _kind(
            "agent.ended", _INSIDE + " agent why", "", "An agent ended by itself, or was stopped."
        ),
        _kind(
            "agent.tool",
            _INSIDE + " agent card card_kind",
            "unrecorded",
            "An agent began to use a tool; its card says which and how.",
        ),
        _kind("agent.reported", "sandbox_id generation n", "*", "An agent told its state."),
        _kind(
            "safety.sudo",
            "sandbox_id generation n argv exit",
            "why",
            "A command of the sudo list was run, or with `why` could not be.",
        ),
        _kind("profile.saved", "profile_id version", "", "A profile was saved."),
        _kind("profile.deleted", "profile_id", "version", "A profile was deleted."),
        _kind("repository.fetched", "key", "repo_url bytes", "A shared repository was freshened."),
        _kind("auth.login", "how", "", "Somebody logged in."),
        _kind("secret.set", _VALUED, "provider exposed", "A secret was set."),
        _kind("secret.rotated", _VALUED, "provider exposed", "A secret got another value."),
        _kind("secret.removed", _VALUED, "provider exposed", "A secret was removed."),
        _kind("vault.rotated", "key_id secrets", "retired", "The vault has another master key."),
        _kind(
            "approval.asked",
            _APPROVAL + " generation n",
            _ABOUT,
            "Something in a sandbox requested a person's approval.",
        ),
        _kind("approval.granted", _APPROVAL, _ABOUT + " reach until", "A person said yes."),
        _kind("approval.denied", _APPROVAL, _ABOUT + " until", "A person said no."),
        _kind("approval.used", _APPROVAL, _ABOUT, "A yes for one request was used up."),
        _kind(
            "approval.revoked", _APPROVAL, _ABOUT, "A yes was taken back, or its secret changed."
        ),
        _kind("approval.expired", _APPROVAL, _ABOUT, "Nobody decided in time."),
    )
)
"""Every kind, by name. `*` among the optional fields allows any."""


def check(event_type: str, payload: Mapping[str, Json]) -> EventKind:
    """Return the kind of `event_type`, after comparing its payload with it.

    Raises `ValueError`: an event that does not fit is a mistake in the program, never in a request.
    """
    kind = KINDS.get(event_type)
    if kind is None:
        raise ValueError(f"no event kind is called {event_type!r}: add it to domain.event.KINDS")
    missing = kind.fields - payload.keys()
    if missing:
        raise ValueError(f"{event_type} lacks {', '.join(sorted(missing))}")
    unknown = payload.keys() - kind.fields - kind.optional
    if unknown and "*" not in kind.optional:
        raise ValueError(f"{event_type} does not know {', '.join(sorted(unknown))}")
    return kind


def sandbox_stream(sandbox_id: str) -> str:
    """Return the name of one sandbox's stream."""
    return f"{SANDBOX_STREAMS}{sandbox_id}"
