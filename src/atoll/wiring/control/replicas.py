"""Builders for one of several control planes on a database, or for the only one."""

import asyncio

from atoll.adapters.storage.engines.settings import StorageSettings
from atoll.ports import Store
from atoll.ports.leadership import Leadership
from atoll.services.application import Readiness
from atoll.services.ground import Ground, SoleLeader
from atoll.services.sandboxes.background import Background


def leadership_of(storage: StorageSettings, store: Store, name: str) -> Leadership:
    """Return the part of the control plane called `name` in the election of a leader."""
    if not storage.shared or storage.database_url is None:
        return SoleLeader()
    # Loaded late: a home with SQLite needs no driver of PostgreSQL.
    from atoll.adapters.leadership import PostgresLeadership
    from atoll.adapters.storage.store import parse_url

    url = parse_url(storage.database_url).set(drivername="postgresql")
    return PostgresLeadership(url.render_as_string(hide_password=False), store, name)


def readiness(ground: Ground, background: Background) -> Readiness:
    """Return what says why a control plane is not ready yet."""

    async def reason() -> str | None:
        async with ground.store.read() as rows:
            await rows.events.last_position()
        try:
            async with asyncio.timeout(0):
                await background.adopted()
        except TimeoutError:
            return "sandboxes of an earlier run are being taken up again"
        return None

    return reason
