"""Adapters of a control plane: opened by its settings, handed to `wiring.control.graph`, closed
in reverse. Nothing here decides anything.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

import atoll
from atoll.adapters import profiles as profile_files
from atoll.adapters.agents.config_folder import ConfigFolder
from atoll.adapters.agents.layers import InstalledLayers
from atoll.adapters.agents.shelf import LayerShelf
from atoll.adapters.apart.installed import installed_names
from atoll.adapters.auth.audit_key import AuditKey
from atoll.adapters.auth.book_file import read_book
from atoll.adapters.auth.token_file import load_or_make_token
from atoll.adapters.clocks import SystemClock
from atoll.adapters.extensions.ssh.machines import ssh_machines
from atoll.adapters.forges.forges import Forges
from atoll.adapters.forges.http import ForgeHttp
from atoll.adapters.gateway.process import GatewayProcess
from atoll.adapters.kept import KeptFolder
from atoll.adapters.push.sender import HttpPushSender
from atoll.adapters.repos.copies import Copies
from atoll.adapters.repos.shelf import Settings as ShelfSettings
from atoll.adapters.repos.shelf import Shelf
from atoll.adapters.runtimes.http_clients import HttpRuntimeClients
from atoll.adapters.safety.layers import SafetyFolders
from atoll.adapters.storage.store import Settings as StoreSettings
from atoll.adapters.storage.store import open_store
from atoll.adapters.vaults.envelope import EnvelopeVault
from atoll.adapters.webhooks.sender import HttpWebhookSender
from atoll.adapters.workspaces.metadata_files import HomeMetadata
from atoll.adapters.zygote.importer import ZygoteImporter
from atoll.adapters.zygote.mount_grants import HomeGrants
from atoll.adapters.zygote.own_keys import OwnKeys
from atoll.domain.agents.agent import agents_by_name
from atoll.domain.agents.registry import allowed_agents
from atoll.ports import Store
from atoll.ports.extension import Extension, ExtensionSetup
from atoll.services.application import Application
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.lifecycle.vendor_keys import VendorKeys
from atoll.services.telemetry import OFF, Telemetry
from atoll.wire.zygote import messages as wire
from atoll.wiring.control.exchange import open_exchange
from atoll.wiring.control.extensions import load_extensions
from atoll.wiring.control.graph import build_application
from atoll.wiring.control.identity import open_identity
from atoll.wiring.control.library import LibraryPorts, build_library
from atoll.wiring.control.lifecycle.ports import SandboxPorts
from atoll.wiring.control.outside.contents import open_contents
from atoll.wiring.control.outside.drive import open_drive
from atoll.wiring.control.outside.hosts import hosts_in
from atoll.wiring.control.outside.issuers import open_issuers
from atoll.wiring.control.overview.machine import examine
from atoll.wiring.control.replicas import leadership_of
from atoll.wiring.control.settings import ControlSettings, extension_options
from atoll.wiring.control.telemetry import meter_store, watch_installation
from atoll.wiring.control.vaulting import lock_key, open_vault
from atoll.zygote.host.home import Home
from atoll.zygote.host.installation import read_installation

MAIN = "main"
"""The name of the control plane that `atoll up` starts without one."""


@asynccontextmanager
async def assemble(
    settings: ControlSettings,
    telemetry: Telemetry = OFF,
    *,
    replica: str = MAIN,
    sweep: bool = True,
    api_url: str | None = None,
) -> AsyncIterator[Application]:
    """Yield every service of a control plane, which is called `replica`; this machine's runtimes
    reach it at `api_url`. `sweep` removes what an interrupted one left: never while another one
    works. Raises `Failed`, `Unavailable` with what is missing."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(telemetry.tracer.running())
        storage = settings.storage
        stored = StoreSettings(
            storage.url_in(settings.home), storage.database_connections, storage.database_synced
        )
        opened = await stack.enter_async_context(open_store(stored))
        store = meter_store(opened, telemetry)
        leadership = leadership_of(storage, store, replica)
        exchange = await open_exchange(settings.bus, stack)
        ground = Ground(
            store,
            exchange.bus,
            SystemClock(),
            Identifiers(),
            telemetry,
            leadership,
            published_as="" if exchange.sink is None else exchange.sink.name,
        )
        own = settings.services
        vault = await asyncio.to_thread(open_vault, settings, os.environ)
        contents = await open_contents(settings.contents, settings.home, stack)
        ports = _ports(settings, vault, store, stack)
        ports = replace(ports, api_url=api_url, contents=contents)
        library = replace(
            await _library(settings, stack, ports.extensions, sweep=sweep),
            exchange=exchange,
            examine=partial(examine, settings.home),
            identity=await open_identity(own.auth, ground.clock, os.environ, stack),
        )
        application = build_application(
            ground, ports, build_library(ground, library, settings=own), settings=own
        )
        await _take_over_logins(application, settings.home / "logins.json")
        stack.enter_context(watch_installation(application, store, telemetry))
        yield application


async def _take_over_logins(application: Application, file: Path) -> None:
    """Load the logins, and remove the file in which earlier versions kept them: a session that
    ended since must not come back with it."""
    await application.logins.load(partial(read_book, file))
    await asyncio.to_thread(file.unlink, missing_ok=True)


def _ports(
    settings: ControlSettings, vault: EnvelopeVault, store: Store, stack: AsyncExitStack
) -> SandboxPorts:
    clients = HttpRuntimeClients()
    stack.push_async_callback(clients.close)
    keys = OwnKeys(settings.home / "run" / "zygote.sock")
    stack.push_async_callback(keys.close)
    grants = HomeGrants(settings.home)
    stack.push_async_callback(grants.close)
    loaded = load_extensions(
        _extension_setup(settings, store, vault), settings.backends.extensions, stack
    )
    return SandboxPorts(
        extensions=loaded.extensions,
        missing_extensions=loaded.missing_extensions,
        installed=installed_names(),
        clients=clients,
        agents=InstalledLayers(
            settings.home / "agents",
            settings.agents.agent_catalogue,
            further=(settings.home / "installed",),
        ),
        configs=ConfigFolder(settings.home / "agent-config"),
        safety=SafetyFolders(settings.home / "safety"),
        metadata=HomeMetadata(settings.home / "sandboxes"),
        grants=grants,
        vault=vault,
        shelf=LayerShelf(_own_layers(settings.home)),
        providers_with_key=keys.providers,
        issuers=open_issuers(settings.issuers, SystemClock(), stack),
    )


def _own_layers(home: Path) -> Path:
    """Return the directory of layers that this process may write: as root, the other one is the
    person's."""
    return home / "agents" if os.access(home / "agents", os.W_OK) else home / "installed"


async def _library(
    settings: ControlSettings,
    stack: AsyncExitStack,
    extensions: Mapping[str, Extension],
    *,
    sweep: bool,
) -> LibraryPorts:
    copies = Copies(extensions)
    stack.push_async_callback(copies.close)
    shelf = _shelf(settings, stack, copies)
    kept = KeptFolder(settings.home / "kept")
    if sweep:
        await asyncio.to_thread(shelf.sweep)
        await asyncio.to_thread(kept.sweep)
    token = await asyncio.to_thread(load_or_make_token, settings.home / "token")
    lock_key(token)
    push = HttpPushSender(settings.home / "push.key", SystemClock(), settings.push)
    stack.push_async_callback(push.close)
    webhooks = HttpWebhookSender(settings.webhooks)
    stack.push_async_callback(webhooks.close)
    http = ForgeHttp(settings.forges)
    stack.push_async_callback(http.close)
    forges = Forges(http)
    return LibraryPorts(
        shelf,
        kept,
        token,
        push,
        AuditKey(settings.home / "audit.key"),
        webhooks,
        forges,
        forges,
        ssh_machines(settings.home, Home(settings.home).tag),
        gateway_process(settings),
        bundled=profile_files.read_builtin_profiles(),
        personal=partial(profile_files.personal, settings.home / "profiles"),
        drive=await open_drive(settings.drive, SystemClock(), stack),
    )


def gateway_process(settings: ControlSettings) -> GatewayProcess:
    """Return the SSH gateway of a home, which is started where it is needed."""
    source = Path(atoll.__file__).parents[1]
    return GatewayProcess(settings.home, settings.ssh.ssh_address, source)


def _shelf(settings: ControlSettings, stack: AsyncExitStack, copies: Copies) -> Shelf:
    home = settings.home
    importer = ZygoteImporter(home / "run" / "zygote.sock")
    stack.push_async_callback(importer.close)
    return Shelf(
        ShelfSettings(
            repos=home / "repos",
            imports=home / "run" / "import",
            allow_loopback=settings.services.repositories.allow_loopback_remotes,
        ),
        importer,
        copies.refresh,
    )


def _extension_setup(
    settings: ControlSettings, store: Store, vault: EnvelopeVault
) -> ExtensionSetup:
    installation = read_installation(settings.home)
    return ExtensionSetup(
        home=settings.home,
        tag=installation.tag,
        installation=installation.id,
        agents=_agents(settings),
        upstreams=tuple(sorted(settings.backends.upstreams.items())),
        options=extension_options(settings),
        hosts=hosts_in(store),
        keys=VendorKeys(store, vault).find,
        machines_fd=settings.machines_fd,
        contents_shared=settings.contents.shared,
    )


def _agents(settings: ControlSettings) -> tuple[wire.Agent, ...]:
    """Return the agents as runtimes receive them, under every name they answer to."""
    known = agents_by_name(allowed_agents(settings.agents.agent_catalogue))
    told = ((name, msgspec.convert(one, wire.Agent, from_attributes=True)) for name, one in known)
    return tuple(msgspec.structs.replace(one, name=name) for name, one in told)
