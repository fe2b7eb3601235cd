"""A preview: an app inside a sandbox, built by the project's set-up and served at one port.

Pure. `step` takes what happened and returns the preview and the event to append;
`services.previews` runs the set-up and looks at it.
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NewType

from atoll.domain.errors import Invalid
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.network.forwarded_port import check_port
from atoll.domain.previews.origin import port_label, pull_request_label, read_app
from atoll.wire.words.previews import MAX_NUMBER, PreviewState
from atoll.wire.words.sandboxes import SetupState

PreviewId = NewType("PreviewId", str)

MAX_PREVIEWS: Final = 64
"""The previews of one sandbox, those that are gone included."""

MAX_REASON: Final = 500
_SHA = re.compile(r"[0-9a-f]{7,64}")


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """A requested preview. `sha` is the commit that it is meant to show: it is recorded, and not
    checked out. Raises `Invalid`, and `Forbidden` for a port that is never shown."""

    app: str
    port: int
    pr_number: int | None = None
    sha: str | None = None

    def __post_init__(self) -> None:
        read_app(self.app)
        check_port(self.port)
        if self.pr_number is not None and not 1 <= self.pr_number <= MAX_NUMBER:
            raise Invalid(f"pr_number must lie between 1 and {MAX_NUMBER}", field="pr_number")
        if self.sha is not None and _SHA.fullmatch(self.sha) is None:
            raise Invalid("sha must be 7 to 64 hexadecimal digits in small letters", field="sha")


@dataclass(frozen=True, slots=True)
class Preview:
    """A preview of an app in a sandbox. `terminal_id` is the terminal of the set-up that built it,
    `reason` says why that failed."""

    id: PreviewId
    org_id: OrgId
    owner: PrincipalId
    sandbox_id: SandboxId
    app: str
    port: int
    pr_number: int | None
    sha: str | None
    created_at: datetime
    updated_at: datetime
    state: PreviewState = PreviewState.BUILDING
    reason: str | None = None
    terminal_id: str | None = None

    @property
    def label(self) -> str:
        """The part of its name before the domain."""
        if self.pr_number is None:
            return port_label(self.port, self.sandbox_id)
        return pull_request_label(self.pr_number, self.app)

    def shows(self, request: PreviewRequest) -> bool:
        """Report whether a request is for this preview: the same app, port and pull request."""
        own = (self.app, self.port, self.pr_number)
        return own == (request.app, request.port, request.pr_number)


@dataclass(frozen=True, slots=True)
class Build:
    """A build begins: for the first time, or again. `sha` replaces the commit where one is
    given."""

    sha: str | None = None


@dataclass(frozen=True, slots=True)
class SetupSeen:
    """The set-up of the sandbox's project was found in this state."""

    state: SetupState
    terminal_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class BuildRefused:
    """The set-up could not be started."""

    reason: str


@dataclass(frozen=True, slots=True)
class PreviewRemoved:
    """A person removed the preview, or its sandbox is destroyed."""


Stimulus = Build | SetupSeen | BuildRefused | PreviewRemoved


def step(preview: Preview, stimulus: Stimulus, now: datetime) -> tuple[Preview, str | None]:
    """Return the preview after what happened, and the kind of event that says so, None where it
    stays in its state. A preview that does not build is not changed by a set-up."""
    match stimulus:
        case Build(sha):
            built = replace(preview, sha=sha or preview.sha, reason=None, terminal_id=None)
            return _enter_state(built, PreviewState.BUILDING, now)
        case PreviewRemoved():
            if preview.state is PreviewState.GONE:
                return preview, None
            return _enter_state(replace(preview, reason=None), PreviewState.GONE, now)
        case BuildRefused(reason):
            return _fail_build(preview, reason, now)
        case SetupSeen(state, terminal_id, reason):  # pragma: no branch - the cases are all
            return _step_setup(
                preview, state, replace(preview, terminal_id=terminal_id), reason, now
            )


def _step_setup(
    preview: Preview, state: SetupState, after: Preview, reason: str | None, now: datetime
) -> tuple[Preview, str | None]:
    """Return the preview after its set-up reported a state, and the event to append."""
    if preview.state is not PreviewState.BUILDING:
        return preview, None
    match state:
        case SetupState.NONE | SetupState.DONE:
            return _enter_state(after, PreviewState.READY, now)
        case SetupState.FAILED:
            return _fail_build(after, reason or "The set-up failed.", now)
        case SetupState.WAITING | SetupState.RUNNING:  # pragma: no branch - the cases are all
            return after, None


def _fail_build(preview: Preview, reason: str, now: datetime) -> tuple[Preview, str | None]:
    if preview.state is not PreviewState.BUILDING:
        return preview, None
    return _enter_state(replace(preview, reason=reason[:MAX_REASON]), PreviewState.FAILED, now)


def _enter_state(preview: Preview, state: PreviewState, now: datetime) -> tuple[Preview, str]:
    """Return the preview in a state, and the kind of its event."""
    return replace(preview, state=state, updated_at=now), f"preview.{state}"
