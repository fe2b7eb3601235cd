"""Services that bring work home from sandboxes: unpulled work, pushes, kept worktrees."""

from atoll.services.application import HomeServices
from atoll.services.ground import Ground
from atoll.services.inbox.end_reports import EndReports
from atoll.services.inbox.endings import Endings
from atoll.services.journals.events import Events
from atoll.services.library.kept import KeptWorktrees
from atoll.services.library.pull_orders import PullOrders
from atoll.services.library.pushes import HeldPushes
from atoll.services.library.repositories import Repositories
from atoll.services.library.unpulled import UnpulledWork
from atoll.services.settings import ServiceSettings
from atoll.services.terminals.runtime_calls import RuntimeCalls
from atoll.wiring.control.library import Library
from atoll.wiring.control.lifecycle.sandboxes import SandboxServices


def build_home(
    ground: Ground,
    within: SandboxServices,
    library: Library,
    *,
    calls: RuntimeCalls,
    events: Events,
    settings: ServiceSettings,
) -> HomeServices:
    """Return what brings work home, and what warns of work that is lost."""
    sandboxes = within.sandboxes
    unpulled = UnpulledWork(sandboxes, within.access)
    pushes = build_pushes(ground, within, library, settings=settings)
    return HomeServices(
        unpulled=unpulled,
        pushes=pushes,
        pulls=PullOrders(ground, sandboxes),
        kept=build_kept(ground, within, library, calls=calls, settings=settings),
        endings=Endings(ground, sandboxes, unpulled, pushes=pushes),
        end_reports=EndReports(
            ground, events, sandboxes, access=within.access, unpulled=unpulled, pushes=pushes
        ),
    )


def build_kept(
    ground: Ground,
    within: SandboxServices,
    library: Library,
    *,
    calls: RuntimeCalls,
    settings: ServiceSettings,
) -> KeptWorktrees:
    """Return what keeps worktrees of sandboxes that end."""
    return KeptWorktrees(
        within.sandboxes,
        library.workspaces,
        calls,
        library.ports.kept,
        access=within.access,
        clock=ground.clock,
        identifiers=ground.ids,
        settings=settings.kept,
    )


def build_pushes(
    ground: Ground, within: SandboxServices, library: Library, *, settings: ServiceSettings
) -> HeldPushes:
    """Return what takes out the branches pushed inside sandboxes."""
    return HeldPushes(
        ground,
        within.sandboxes,
        library.workspaces,
        access=within.access,
        shelf=library.ports.kept,
        notes=library.preparation.pushes,
        settings=settings.kept,
    )


def build_repositories(
    within: SandboxServices, library: Library, events: Events, *, settings: ServiceSettings
) -> Repositories:
    """Return the use cases on shared repositories."""
    return Repositories(
        library.ports.shelf,
        library.workspaces,
        sandboxes=within.sandboxes,
        access=within.access,
        events=events,
        allow_loopback=settings.repositories.allow_loopback_remotes,
    )
