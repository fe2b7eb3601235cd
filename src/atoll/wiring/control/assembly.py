"""Composition of the control plane: from settings to services.

Nothing here decides anything; it opens what is needed and closes it in reverse.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import msgspec

from atoll.adapters.agents.config_folder import ConfigFolder
from atoll.adapters.agents.layers import InstalledLayers
from atoll.adapters.auth.book_file import BookFile
from atoll.adapters.auth.token_file import load_or_make_token
from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.clocks.system import SystemClock
from atoll.adapters.kept.folder import KeptFolder
from atoll.adapters.profiles import folder as profile_files
from atoll.adapters.repos.shelf import Settings as ShelfSettings
from atoll.adapters.repos.shelf import Shelf
from atoll.adapters.runtimes.http_clients import HttpRuntimeClients
from atoll.adapters.safety.layers import SafetyFolders
from atoll.adapters.storage.store import Settings as StoreSettings
from atoll.adapters.storage.store import SqlStore, open_store, sqlite_url
from atoll.adapters.vaults.envelope import EnvelopeVault
from atoll.adapters.workspaces.metadata_files import HomeMetadata
from atoll.adapters.zygote.importer import ZygoteImporter
from atoll.domain.agent.agent import named
from atoll.domain.agent.registry import allowed
from atoll.domain.people.principal import Principal
from atoll.ports import Clock
from atoll.ports.extension import ExtensionSetup
from atoll.services.application import Application, Readiness
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.journals.events import Events, Note
from atoll.services.library.kept import KeptWorktrees
from atoll.services.library.profiles import Profiles
from atoll.services.library.repositories import Repositories
from atoll.services.library.saved_work import Keeping, SavedWork
from atoll.services.library.workspaces import Workspaces
from atoll.services.people.logins import Logins
from atoll.services.policies.policies import DoorRules
from atoll.services.sandboxes.admission import Settings as SandboxSettings
from atoll.services.sandboxes.background import Background
from atoll.wire.zygote import messages as wire
from atoll.wiring.control.extensions import load_extensions
from atoll.wiring.control.graph import SandboxPorts, build_sandboxes
from atoll.wiring.control.settings import ControlSettings, event_retention
from atoll.wiring.control.use_cases import Core, services_over
from atoll.wiring.control.vaulting import door_limits, held, open_vault
from atoll.zygote.records.home import Home


@dataclass(frozen=True, slots=True)
class _Trees:
    """Adapters that fill working trees, and those that save their work."""

    workspaces: Workspaces
    saver: SavedWork


@asynccontextmanager
async def assembled(settings: ControlSettings) -> AsyncIterator[Application]:
    """Yield every service of a control plane. Raises `Failed`, `Unavailable` with what is
    missing."""
    async with AsyncExitStack() as stack:
        url = settings.database_url or sqlite_url(settings.home / "atoll.db")
        store = await stack.enter_async_context(open_store(StoreSettings(url)))
        ground = Ground(store, InProcessBus(), SystemClock(), Identifiers())
        shelf = await _shelf(settings, stack)
        workspaces = Workspaces(shelf, ground.clock)
        vault = await asyncio.to_thread(open_vault, settings, os.environ)
        keeping = await _keeping(settings, ground)
        ports = _ports(
            settings,
            ground,
            _Trees(workspaces, SavedWork(workspaces, keeping)),
            vault=vault,
            stack=stack,
        )
        profiles = _profiles(ground, settings.home / "profiles")
        sandboxes, background = build_sandboxes(ground, ports, profiles, settings=_rules(settings))
        events = Events(store, ground.bus, clock=ground.clock, identifiers=ground.ids)
        logins = await _logins(settings.home, ground.clock, events)
        repositories = Repositories(
            shelf,
            workspaces,
            sandboxes=sandboxes,
            events=events,
            allow_loopback=settings.allow_loopback_remotes,
        )
        kept = KeptWorktrees(sandboxes, workspaces, keeping)
        core = Core(
            ground, sandboxes, background, profiles, events, logins, vault, ports.extensions, kept
        )
        yield services_over(core, repositories, readiness=_readiness(store, background))


def _rules(settings: ControlSettings) -> SandboxSettings:
    return SandboxSettings(
        max_sandboxes=settings.max_sandboxes,
        allow_loopback_repositories=settings.allow_loopback_remotes,
        mount_roots=settings.mount_roots,
        away_seconds=settings.away_seconds,
        require_isolation=settings.require_isolation,
        events=event_retention(settings),
    )


def _ports(
    settings: ControlSettings,
    ground: Ground,
    trees: _Trees,
    *,
    vault: EnvelopeVault,
    stack: AsyncExitStack,
) -> SandboxPorts:
    clients = HttpRuntimeClients()
    stack.push_async_callback(clients.close)
    return SandboxPorts(
        extensions=load_extensions(_extension_setup(settings), settings.extensions, stack),
        clients=clients,
        workspaces=trees.workspaces,
        saver=trees.saver,
        agents=InstalledLayers(settings.home / "agents", settings.agent_catalogue),
        configs=ConfigFolder(settings.home / "agent-config"),
        safety=SafetyFolders(settings.home / "safety"),
        metadata=HomeMetadata(settings.home / "sandboxes"),
        vault=vault,
        rules=DoorRules(limits=door_limits(settings), dev=settings.allow_loopback_remotes),
    )


def _readiness(store: SqlStore, background: Background) -> Readiness:
    async def reason() -> str | None:
        async with store.read() as rows:
            await rows.events.last_position()
        try:
            async with asyncio.timeout(0):
                await background.adopted()
        except TimeoutError:
            return "sandboxes of an earlier run are being taken up again"
        return None

    return reason


async def _logins(home: Path, clock: Clock, events: Events) -> Logins:
    async def record(caller: Principal, how: str) -> None:
        await events.record(caller, Note("auth", "auth.login", {"how": how}))

    token = await asyncio.to_thread(load_or_make_token, home / "token")
    held(token)
    logins = Logins(BookFile(home / "logins.json"), clock, token=token, record=record)
    await logins.load()
    return logins


def _profiles(ground: Ground, folder: Path) -> Profiles:
    return Profiles(
        ground.store,
        ground.bus,
        clock=ground.clock,
        identifiers=ground.ids,
        bundled=profile_files.bundled(),
        personal=lambda: profile_files.personal(folder),
    )


async def _shelf(settings: ControlSettings, stack: AsyncExitStack) -> Shelf:
    home = settings.home
    importer = ZygoteImporter(home / "run" / "zygote.sock")
    stack.push_async_callback(importer.close)
    shelf = Shelf(
        ShelfSettings(
            repos=home / "repos",
            imports=home / "run" / "import",
            allow_loopback=settings.allow_loopback_remotes,
        ),
        importer,
    )
    await asyncio.to_thread(shelf.sweep)
    return shelf


async def _keeping(settings: ControlSettings, ground: Ground) -> Keeping:
    folder = KeptFolder(settings.home / "kept")
    await asyncio.to_thread(folder.sweep)
    return Keeping(folder, ground.clock, ground.ids, retention=timedelta(days=settings.kept_days))


def _extension_setup(settings: ControlSettings) -> ExtensionSetup:
    return ExtensionSetup(
        home=settings.home,
        tag=Home(settings.home).tag,
        agents=_agents(settings),
        upstreams=tuple(sorted(settings.upstreams.items())),
        options={"docker_host": settings.docker_host, "builds": settings.builds},
    )


def _agents(settings: ControlSettings) -> tuple[wire.Agent, ...]:
    """Return the agents as runtimes receive them, under every name they answer to."""
    known = named(allowed(settings.agent_catalogue))
    told = ((name, msgspec.convert(one, wire.Agent, from_attributes=True)) for name, one in known)
    return tuple(msgspec.structs.replace(one, name=name) for name, one in told)
