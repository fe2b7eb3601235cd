"""The taking of an environment from a pool, in the transaction that stores its sandbox."""

from dataclasses import replace
from datetime import datetime

from atoll.domain.pools.pool import demanded, may_be_pooled, wall_of
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.snapshots.prebuild import awaits_snapshot
from atoll.ports import Transaction


async def take_pooled(rows: Transaction, sandbox: Sandbox, now: datetime) -> Sandbox:
    """Return a placed sandbox under the id of an environment that waits for one like it, which is
    its own from then on; as it is where none does. Writing transactions are serialised, so none is
    given twice. One that is likely to begin as what a set-up left takes none: its disk is that of
    the snapshot, and what waited would end unused."""
    pool = await rows.pools.get(sandbox.org_id, sandbox.profile.id)
    if pool is None or not may_be_pooled(sandbox):
        return sandbox
    if sandbox.project is not None and awaits_snapshot(
        sandbox, await rows.snapshots.prebuilds(sandbox.org_id, sandbox.owner), now
    ):
        return sandbox
    waiting = await rows.pooled.oldest_ready(
        sandbox.org_id, sandbox.profile.id, sandbox.host, wall_of(sandbox.profile)
    )
    taken = waiting is not None and waiting.region == sandbox.region
    await rows.pools.put(demanded(pool, now, taken=taken))
    if waiting is None or not taken:
        return sandbox
    await rows.pooled.remove(waiting.id)
    return replace(sandbox, id=waiting.id)
