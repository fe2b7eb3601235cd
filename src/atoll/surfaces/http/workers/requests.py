"""Requests for workers, from their bodies (docs/program/workers.md)."""

from atoll.domain.hosts.reading import read_cost
from atoll.domain.routes.policy import Constraints
from atoll.domain.workers.create import CreateWorker, WorkerId, WorkerTeardown
from atoll.domain.workers.selection import Selection
from atoll.surfaces.http.sandboxes.requests import repo_request
from atoll.wire.api.workers.workers import SelectionBody, WorkerBody


def create_request(body: WorkerBody) -> CreateWorker:
    """Return the requested worker. Raises `Invalid`."""
    retain_for = body.teardown.retain_for
    return CreateWorker(
        WorkerId(body.worker_id),
        body.agent,
        body.backend,
        body.execution_mode,
        body.profile,
        tuple(repo_request(one) for one in body.repos),
        body.workspace_ref,
        body.codex_home_ref,
        body.thread_id,
        body.permissions,
        WorkerTeardown(body.teardown.policy, None if retain_for is None else int(retain_for)),
        body.metadata,
        _selection(body.selection),
    )


def _selection(body: SelectionBody) -> Selection:
    cost = body.max_cost_per_hour
    return Selection(
        body.allow,
        body.strategy,
        Constraints(
            None if cost is None else read_cost(f"{cost.amount} {cost.currency}"),
            body.require_isolation,
            body.region,
            max_ready_ms=body.max_ready_ms,
            min_success=body.min_success,
        ),
        body.accept_open_network,
    )
