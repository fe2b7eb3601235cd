"""The project of a sandbox: the approved content of its repository's file, and its set-up.

Pure. The content is what a person approved, as it was stored then: a later change of the file
changes no sandbox. `services.provisioning.steps.project_setup` opens the set-up's terminal.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from atoll.domain.ids import SnapshotId
from atoll.domain.network.network import Network
from atoll.domain.repository.project import DecidedProject, ProjectFile
from atoll.wire.words.sandboxes import SetupState

SETUP_TERMINAL = "setup"
"""The name of the terminal in which set-up commands run."""

SETUP_MARK = "/tmp/.atoll-setup"  # noqa: S108 - inside the sandbox, in its own memory
"""The file whose time says when the set-up began."""

_SERVE = 'exec "$(command -v bash || echo /bin/sh)" -c "$1"'
"""The script that starts a server. The command is an argument, no part of this text."""


@dataclass(frozen=True, slots=True)
class ProjectRequest:
    """A requested project: the digest of an approved one. `later`: the caller starts the set-up
    itself, after it sent its files; None is no."""

    digest: str
    later: bool | None = None


@dataclass(frozen=True, slots=True)
class Prebuilt:
    """The snapshot that a sandbox began as instead of running its set-up, and when it was taken."""

    snapshot: SnapshotId
    taken_at: datetime


@dataclass(frozen=True, slots=True)
class SandboxProject:
    """The approved project of a sandbox.

    `terminal_id` is the terminal of the set-up that began last, `reason` says why it failed.
    `awaits_servers`: the servers of this runtime are not started yet.
    `later` counts for the sandbox's first life: what its caller sent then is not sent again.
    `prebuild_key` is the key under which the disk may be kept once the set-up that waits or runs
    has succeeded, None where it may not. `prebuilt`: it began as such a snapshot.
    """

    repository: str
    digest: str
    content: ProjectFile
    later: bool = False
    state: SetupState = SetupState.NONE
    terminal_id: str | None = None
    reason: str | None = None
    awaits_servers: bool = False
    prebuild_key: str | None = None
    prebuilt: Prebuilt | None = None


def project_of(decided: DecidedProject, request: ProjectRequest) -> SandboxProject:
    """Return the project of a new sandbox."""
    state = SetupState.WAITING if decided.content.setup else SetupState.NONE
    later = bool(request.later)
    return SandboxProject(decided.repository, decided.digest, decided.content, later, state)


def widen(network: Network, content: ProjectFile) -> Network:
    """Return a profile's network with the approved presets and hosts. The mode stays as it is."""
    rules = (name if "." in name else f"preset:{name}" for name in content.network)
    return replace(network, egress=tuple(dict.fromkeys((*network.egress, *rules))))


def with_variables(
    own: tuple[tuple[str, str], ...], content: ProjectFile
) -> tuple[tuple[str, str], ...]:
    """Return the caller's variables and the approved ones; the caller's take precedence."""
    return tuple({**dict(content.env), **dict(own)}.items())


def mark_setup_begun(project: SandboxProject, terminal_id: str) -> SandboxProject:
    """Return the project while its set-up runs in a terminal."""
    return replace(project, state=SetupState.RUNNING, terminal_id=terminal_id, reason=None)


def mark_setup_ended(project: SandboxProject, reason: str | None) -> SandboxProject:
    """Return the project after its set-up; `reason` None means that every command succeeded."""
    if reason is None:
        return replace(project, state=SetupState.DONE, reason=None)
    return replace(project, state=SetupState.FAILED, reason=reason, prebuild_key=None)


def begin_prebuilt(project: SandboxProject, prebuilt: Prebuilt) -> SandboxProject:
    """Return the project of a sandbox that began as a snapshot of one whose set-up succeeded."""
    return replace(project, state=SetupState.DONE, prebuild_key=None, prebuilt=prebuilt)


def forget_prebuild(project: SandboxProject) -> SandboxProject:
    """Return the project of a sandbox whose disk is not kept for others, and that began as no such
    snapshot: a copy, or one in which the set-up is run again."""
    return replace(project, prebuild_key=None, prebuilt=None)


def awaits_prebuild(project: SandboxProject | None) -> bool:
    """Report whether the disk may have to be kept: the set-up runs, or has succeeded just now."""
    if project is None or project.prebuild_key is None:
        return False
    return project.state in (SetupState.RUNNING, SetupState.DONE)


def is_ready_for_agent(project: SandboxProject | None) -> bool:
    """Report whether an agent may begin: there is no set-up, or it succeeded."""
    return project is None or project.state in (SetupState.NONE, SetupState.DONE)


def interrupt_setup(project: SandboxProject) -> SandboxProject:
    """Return the project in a runtime that began anew: a set-up that ran was broken off."""
    if project.state is not SetupState.RUNNING:
        return project
    return mark_setup_ended(project, "The sandbox ended before its set-up did.")


def await_servers(project: SandboxProject) -> SandboxProject:
    """Return the project in a runtime that began anew, in which no server runs."""
    return replace(project, awaits_servers=bool(project.content.servers))


def server_argv(name: str, command: str) -> tuple[str, ...]:
    """Return the program of a server's terminal."""
    return ("/bin/sh", "-c", _SERVE, name, command)


def reset_setup(project: SandboxProject) -> SandboxProject:
    """Return the project in a fresh workspace, where the set-up has to run again by itself."""
    state = SetupState.WAITING if project.content.setup else SetupState.NONE
    return replace(forget_prebuild(project), state=state, terminal_id=None, reason=None)


def failure_of(end: Mapping[str, object]) -> str | None:
    """Return why a set-up with this end failed; None when it did not."""
    code, signal = end.get("code"), end.get("signal")
    if isinstance(signal, str):
        return f"It was ended by SIG{signal[:16]}."
    if isinstance(code, int) and code == 0:
        return None
    return f"A command ended with exit code {code if isinstance(code, int) else 'unknown'}."
