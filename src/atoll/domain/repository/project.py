"""A project: what a repository's own file asks of the sandboxes made from it, and what a person
decided about that.

A repository is hostile until its person read it. So what widens anything (commands that run, hosts,
variables, ports, files of the person) is a proposal: it is shown word for word and applied only
after a decision, which is bound to the digest of exactly those words. Pure.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime

import msgspec

from atoll.domain.approvals.approval import spelled_out
from atoll.domain.ids import OrgId, PrincipalId
from atoll.wire.words.library import ProjectDecision, ProposalKind

MAX_DECISIONS = 50
"""The decisions remembered for one person and repository; the oldest is dropped."""

MAX_SHOWN = 2500
"""A bound above the longest text that a project file may hold, so that nothing shown is cut."""


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """The content of a project file.

    `setup` are shell commands, in order; `servers` are the commands that run as long as the sandbox
    does, by the name of their terminal; `copies` are paths of the person's checkout; `network`
    names presets and hosts. `ignored` says which entries have no effect here, and why.
    """

    source: str
    setup: tuple[str, ...] = ()
    servers: tuple[tuple[str, str], ...] = ()
    copies: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    agent: str | None = None
    profile: str | None = None
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """A request of a project file that a person decides on. `text` is exact; characters that show
    nothing are spelled out."""

    kind: ProposalKind
    text: str


@dataclass(frozen=True, slots=True)
class DecidedProject:
    """A decision on a project file, with the content it was about. `repository` is the key of the
    shared repository."""

    org_id: OrgId
    owner: PrincipalId
    repository: str
    digest: str
    decision: ProjectDecision
    content: ProjectFile
    decided_at: datetime
    decided_by: str


@dataclass(frozen=True, slots=True)
class ProjectChanges:
    """The difference between the proposals decided last and those of now."""

    added: tuple[Proposal, ...] = ()
    removed: tuple[Proposal, ...] = ()


@dataclass(frozen=True, slots=True)
class Project:
    """A repository's project file at a commit, and the caller's decision on it.

    `problem` says why the file cannot be used; then nothing of it is. `changes` compare it with
    what was decided last.
    """

    repository: str
    commit: str
    content: ProjectFile
    digest: str
    decision: ProjectDecision | None = None
    changes: ProjectChanges = ProjectChanges()
    problem: str | None = None


def proposals(content: ProjectFile) -> tuple[Proposal, ...]:
    """Return everything that a person has to decide, set-up commands in the order they run."""
    return (
        *(_proposal(ProposalKind.SETUP, command) for command in content.setup),
        *(
            _proposal(ProposalKind.SERVER, f"{name}: {command}")
            for name, command in content.servers
        ),
        *(_proposal(ProposalKind.COPY, path) for path in content.copies),
        *(_proposal(ProposalKind.NETWORK, name) for name in content.network if "." not in name),
        *(_proposal(ProposalKind.HOST, name) for name in content.network if "." in name),
        *(_proposal(ProposalKind.PORT, str(port)) for port in content.ports),
        *(_proposal(ProposalKind.ENV, f"{name}={value}") for name, value in content.env),
        *(_proposal(ProposalKind.PROFILE, name) for name in filter(None, (content.profile,))),
    )


def _proposal(kind: ProposalKind, text: str) -> Proposal:
    return Proposal(kind, spelled_out(text, MAX_SHOWN))


def project_digest(content: ProjectFile) -> str:
    """Return the digest that binds a decision to what is proposed: 64 hex digits.

    The file's name and its agent are not part of it: they widen nothing. A profile may open the
    network or name secrets.
    """
    proposed = (
        content.setup,
        content.copies,
        sorted(content.network),
        sorted(content.ports),
        sorted(content.env),
        content.profile,
        # What was decided before there were servers stays decided.
        *((sorted(content.servers),) if content.servers else ()),
    )
    return hashlib.sha256(b"atoll project 1\n" + msgspec.json.encode(proposed)).hexdigest()


def project_changes(before: ProjectFile | None, now: ProjectFile) -> ProjectChanges:
    """Return what was added and removed since a decision; nothing without one."""
    if before is None:
        return ProjectChanges()
    old, new = proposals(before), proposals(now)
    return ProjectChanges(
        tuple(one for one in new if one not in old), tuple(one for one in old if one not in new)
    )
