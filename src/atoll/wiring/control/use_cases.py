"""Every use case a surface may call, over one set of sandboxes; made in one place, so that a
server and the tests' worlds never differ in what they have.

The caller chooses store, vault and extensions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from atoll.ports import Extension, Masters, Vault
from atoll.services.agents.agents import Agents
from atoll.services.application import Application, Readiness
from atoll.services.approvals.approvals import Approvals
from atoll.services.ground import Ground
from atoll.services.journals.events import Events
from atoll.services.library.kept import KeptWorktrees
from atoll.services.library.profiles import Profiles
from atoll.services.library.repositories import Repositories
from atoll.services.library.unpulled import Unpulled
from atoll.services.people.logins import Logins
from atoll.services.people.shares import Shares
from atoll.services.sandboxes.background import Background
from atoll.services.sandboxes.consumers import Consumers
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.secrets.secrets import Secrets
from atoll.services.terminals.execs import Execs
from atoll.services.terminals.files import Files
from atoll.services.terminals.recordings import Recordings
from atoll.services.terminals.terminals import Terminals


class OwnVault(Vault, Masters, Protocol):
    """A vault that looks after its master keys itself."""


@dataclass(frozen=True, slots=True)
class Core:
    """Services that others are built from."""

    ground: Ground
    sandboxes: Sandboxes
    background: Background
    profiles: Profiles
    events: Events
    logins: Logins
    vault: OwnVault
    extensions: Mapping[str, Extension]
    kept: KeptWorktrees


def services_over(core: Core, repositories: Repositories, *, readiness: Readiness) -> Application:
    """Return the services of a control plane."""
    sandboxes, ground = core.sandboxes, core.ground
    terminals = Terminals(sandboxes)
    return Application(
        sandboxes=sandboxes,
        background=core.background,
        terminals=terminals,
        recordings=Recordings(sandboxes, terminals),
        agents=Agents(sandboxes, terminals),
        consumers=Consumers(ground.store, sandboxes),
        shares=Shares(ground, sandboxes, wrong=core.logins.wrong),
        execs=Execs(sandboxes),
        files=Files(sandboxes),
        unpulled=Unpulled(sandboxes),
        kept=core.kept,
        profiles=core.profiles,
        events=core.events,
        logins=core.logins,
        extensions=core.extensions,
        readiness=readiness,
        secrets=Secrets(ground, sandboxes, vault=core.vault, masters=core.vault),
        approvals=Approvals(ground, sandboxes),
        repositories=repositories,
    )
