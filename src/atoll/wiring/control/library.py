"""Services of the library: repositories, profiles, kept work, and the ways by which work leaves.

`wiring.control.graph` calls these; tests choose other ports.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from atoll.ports import (
    WorkSaver,
    WorkspacePreparer,
)
from atoll.ports.kept import KeptShelf
from atoll.ports.outside.drive import CloudDrive
from atoll.ports.outside.forge import Forge
from atoll.ports.outside.identity import IdentityProvider
from atoll.ports.outside.issues import IssueReader
from atoll.ports.outside.ssh import SshMachines
from atoll.ports.outside.ssh_gateway import SshGateway
from atoll.ports.senders.push import PushSender
from atoll.ports.senders.webhooks import WebhookSender
from atoll.ports.signer import AuditSigner
from atoll.services.ground import Ground
from atoll.services.journals.push_notes import PushNotes
from atoll.services.library.profiles import Documents, Profiles
from atoll.services.library.projects import Projects
from atoll.services.library.repositories import Shelf
from atoll.services.library.saved_work import SavedWork
from atoll.services.library.workspaces import Workspaces
from atoll.services.overview.machine import Examination, refuse_examination
from atoll.services.policies.network_boundary import NetworkBoundary
from atoll.services.provisioning.steps.prebuild import PrebuiltTrees
from atoll.services.settings import ServiceSettings
from atoll.services.snapshots.kept_trees import KeptTrees
from atoll.wiring.control.exchange import Exchange


@dataclass(frozen=True, slots=True)
class LibraryPorts:
    """The ports of repositories, kept worktrees, notifications, profiles and other
    replicas; `token` is the person's, `personal` reads the profiles in their directory. `identity`
    logs people in, None in single-person mode; `forge` and `issues` are the sites of their
    repositories, `drive` is None where no client is set. `examine` looks at this machine,
    `machines` at others; `gateway` lets
    SSH in."""

    shelf: Shelf
    kept: KeptShelf
    token: str = field(repr=False)
    push: PushSender
    audit: AuditSigner
    webhooks: WebhookSender
    forge: Forge
    issues: IssueReader
    machines: SshMachines
    gateway: SshGateway
    bundled: Documents
    personal: Callable[[], Documents] = dict
    exchange: Exchange | None = None
    identity: IdentityProvider | None = None
    drive: CloudDrive | None = None
    examine: Examination = refuse_examination


@dataclass(frozen=True, slots=True)
class Preparation:
    """The services that prepare a sandbox: profiles, workspaces, and the work saved from earlier
    workspaces. `pushes` notes which of them pushed. Without `prebuilt_trees` no set-up is kept."""

    profiles: Profiles
    workspaces: WorkspacePreparer
    saver: WorkSaver
    pushes: PushNotes = field(default_factory=PushNotes)
    prebuilt_trees: PrebuiltTrees | None = None


@dataclass(frozen=True, slots=True)
class Library:
    """Services of the library. `preparation` is what sandboxes use of it."""

    ports: LibraryPorts
    workspaces: Workspaces
    preparation: Preparation


def build_library(ground: Ground, ports: LibraryPorts, *, settings: ServiceSettings) -> Library:
    """Return the services of the library. Raises `Invalid` for a broken bundled profile."""
    store, bus, clock, ids = ground.store, ground.bus, ground.clock, ground.ids
    workspaces = Workspaces(ports.shelf, clock)
    return Library(
        ports,
        workspaces,
        Preparation(
            Profiles(
                store,
                bus,
                clock=clock,
                identifiers=ids,
                boundary=NetworkBoundary(settings.policies),
                bundled=ports.bundled,
                personal=ports.personal,
                reachability=settings.reachability,
            ),
            workspaces,
            SavedWork(workspaces, ports.kept, clock=clock, identifiers=ids, settings=settings.kept),
            prebuilt_trees=KeptTrees(workspaces, ports.shelf),
        ),
    )


def build_projects(ground: Ground, library: Library, *, settings: ServiceSettings) -> Projects:
    """Return the use cases on project files."""
    loopback = settings.repositories.allow_loopback_remotes
    return Projects(ground, library.workspaces, library.ports.shelf, allow_loopback=loopback)
