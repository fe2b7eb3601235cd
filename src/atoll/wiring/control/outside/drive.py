"""Drives of people: the one that the settings name, and the use cases over it.

Without a client at Google there is no drive, and nothing of it is loaded.
"""

import asyncio
from contextlib import AsyncExitStack

from atoll.adapters.drive.settings import DriveSettings
from atoll.ports import Vault
from atoll.ports.clock import Clock
from atoll.ports.outside.drive import CloudDrive
from atoll.services.application import DriveServices
from atoll.services.drive.connections import DriveConnections
from atoll.services.drive.transfers import DriveTransfers
from atoll.services.ground import Ground
from atoll.services.journals.events import Events
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.terminals.runtime_calls import RuntimeCalls
from atoll.wiring.control.vaulting import lock_key


async def open_drive(
    settings: DriveSettings, clock: Clock, stack: AsyncExitStack
) -> CloudDrive | None:
    """Return Google Drive, None where no client is set. Raises `Failed` for a secret that cannot be
    read."""
    if settings.drive_client_id is None:
        return None
    from atoll.adapters.drive.google import GoogleDrive
    from atoll.adapters.drive.http import DriveHttp

    secret = await asyncio.to_thread(settings.client_secret)
    if secret:
        lock_key(secret)
    http = DriveHttp()
    stack.push_async_callback(http.close)
    return GoogleDrive((settings.drive_client_id, secret), http, clock)


def build_drive(
    ground: Ground,
    sandboxes: Sandboxes,
    calls: RuntimeCalls,
    drive: CloudDrive | None,
    *,
    runtimes: RuntimeAccess,
    vault: Vault,
    events: Events,
) -> DriveServices:
    """Return the use cases of drives."""
    connections = DriveConnections(ground, drive, vault=vault)
    transfers = DriveTransfers(sandboxes, calls, connections, runtimes=runtimes, events=events)
    return DriveServices(connections, transfers)
