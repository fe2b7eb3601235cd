"""A change of what a profile watches, without a word of others.

Pure. An agent is told a kind of event, a URI and an outcome of a closed set. Titles, branches and
names of people stay in the event, which a tool shows as untrusted text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from atoll.domain.event import Event, Json, sandbox_stream
from atoll.domain.tools.uri import covers_path, family_of, paths_of
from atoll.wire.words.events import ActorKind

OUTCOMES: Final = frozenset(
    {
        *("requested", "started", "completed", "success", "failure", "neutral", "cancelled"),
        *("skipped", "timed_out", "action_required", "stale", "startup_failure"),
        *("opened", "updated", "reviewed", "merged", "closed"),
        *("reconciled", "progressing", "failed"),
        *("working", "needs_you", "done", "idle", "stopped"),
        *("building", "ready", "gone"),
    }
)
"""Every outcome that an agent may be told. GitHub's conclusions, and the states of our own."""

_PATH = re.compile(r"[A-Za-z0-9._/-]{1,300}\Z")
_OWN_WORK = frozenset({"agent.status", "agent.started", "agent.ended"})
"""The kinds of events of agents that count: all others accompany these."""


@dataclass(frozen=True, slots=True)
class WatchedChange:
    """A change: the path of its URI, the kind of its event, its outcome (empty where the kind says
    all), and the position in the log."""

    path: str
    kind: str
    outcome: str
    position: int

    def shown(self, scheme: str) -> str:
        """Return the line that an agent reads."""
        line = f"{self.kind} {scheme}://{self.path}"
        return f"{line}: {self.outcome}" if self.outcome else line


def changes_in(event: Event, watch: Sequence[str], sandbox_id: str) -> tuple[WatchedChange, ...]:
    """Return the changes by an event of what a sandbox watches. What its own agents did is no
    news to them."""
    if not _counts(event) or _is_own(event, sandbox_id):
        return ()
    found = [path for path in paths_of(event) if any(covers_path(one, path) for one in watch)]
    outcome = _outcome(event.payload)
    return tuple(
        WatchedChange(path, event.event_type, outcome, event.position)
        for path in found
        if _PATH.match(path)
    )


def kinds_watched(watch: Sequence[str], kinds: Sequence[str]) -> frozenset[str]:
    """Return those kinds of events of which one may change what is watched."""
    families = {family_of(path).replace("/", ".") for path in watch}
    begins = tuple(f"{one}." for one in families)
    return frozenset(one for one in kinds if one.startswith(begins) or one == "hook.tested")


def _counts(event: Event) -> bool:
    if event.event_type.startswith("agent."):
        return event.event_type in _OWN_WORK and event.payload.get("begins") is not False
    return True


def _is_own(event: Event, sandbox_id: str) -> bool:
    """Report whether an event is of the sandbox itself, and no person's act."""
    own = event.stream == sandbox_stream(sandbox_id)
    return own and event.actor_kind != ActorKind.PERSON


def _outcome(payload: Mapping[str, Json]) -> str:
    told = payload.get("state", payload.get("status"))
    return told if isinstance(told, str) and told in OUTCOMES else ""
