"""The next candidate for a worker whose agent did not start where the route had put it.

As with sandboxes there are never two walls for one worker: the sandbox that failed is torn down
first. Where it was there before this start, or may still stand, nothing is tried elsewhere.
"""

from dataclasses import replace

from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.domain.routes.health import Attempt, Outcome
from atoll.domain.routes.policy import DESKTOP
from atoll.domain.routes.record import RouteRecord
from atoll.domain.workers.placement import place_of_sandbox
from atoll.domain.workers.record import WorkerRecord, clear_place, mark_leaving
from atoll.ports import StoreUnavailable, Transaction
from atoll.ports.outside.worker_host import WorkerHost
from atoll.services.ground import Ground
from atoll.services.workers.fence import OutdatedWork, check_work


class WorkerFallback:
    """Moves of workers from a place where their agent did not start."""

    def __init__(self, ground: Ground, host: WorkerHost) -> None:
        self._ground = ground
        self._host = host

    async def failed(self, record: WorkerRecord, error: AtollError) -> bool:
        """Store that the agent of a worker did not start, with the decision and in the health of
        the place. Returns whether the next candidate tries. A fault of the request is nobody's
        failure, and fails everywhere."""
        if not isinstance(error, Failed | Unavailable):
            return False
        at = self._ground.clock.now()
        reason = f"its agent did not start: {error.message}"
        async with self._ground.store.begin() as rows:
            await check_work(self._ground, rows, record)
            now = await rows.workers.get(record.key)
            if now is None or now.made_in != now.worker.epoch:
                return False
            tried = await _add_failed_attempt(rows, now, Attempt("", "", at, reason))
            if tried is None:
                return False
            await rows.routes.put(tried)
            if not tried.left():
                return False
            await rows.workers.put(mark_leaving(now, tried.attempts))
        return True

    async def leave(self, record: WorkerRecord) -> str | None:
        """Tear down what stands where the agent did not start. Returns why nothing is tried
        elsewhere; None when the next candidate may try."""
        try:
            report = await self._host.teardown(record)
        except (StoreUnavailable, OutdatedWork):
            raise
        except AtollError as err:
            return _stays(record, err.message)
        if report.leftovers:
            return _stays(record, "; ".join(report.leftovers))
        async with self._ground.store.begin() as rows:
            await check_work(self._ground, rows, record)
            now = await rows.workers.get(record.key)
            if now is not None and now.leaves:
                await rows.workers.put(clear_place(now))
        return None


async def _add_failed_attempt(
    rows: Transaction, record: WorkerRecord, failed: Attempt
) -> RouteRecord | None:
    """Return the decision of a worker's place with an attempt that failed there, which counts in
    the health of the place. That of a person's own desktop is their own affair."""
    lease = await rows.host_leases.get(record.key, record.worker.epoch)
    if lease is not None:
        desktop = await rows.desktops.get(lease.desktop_id)
        route = None if lease.route is None else await rows.routes.get(lease.route)
        if desktop is None or route is None:
            return None
        return route.after(replace(failed, extension=DESKTOP, host=desktop.name))
    sandbox = None if record.sandbox_id is None else await rows.sandboxes.get(record.sandbox_id)
    if sandbox is None or sandbox.route is None:
        return None
    route = await rows.routes.get(sandbox.route)
    if route is None:
        return None
    await rows.routes.note(place_of_sandbox(sandbox), Outcome(failed.at, None))
    place = (sandbox.profile.extension, sandbox.host, failed.at, failed.reason, sandbox.region)
    return route.after(Attempt(*place))


def _stays(record: WorkerRecord, standing: str) -> str:
    reason = record.failed[-1].reason
    return f"{reason} It was tried nowhere else, as this may still stand: {standing}"
