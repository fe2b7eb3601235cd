"""Oversight: every worker of an organization, without what its agent says, and the backends that
they are on.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.workers.workers import (
    WorkerPlace,
    WorkerRemoval,
    WorkerRoute,
    WorkerSandbox,
    WorkerTeardown,
)

WorkerStatus = Literal["starting", "running", "stopping", "stopped", "failed"]

HeartbeatState = Literal["fresh", "stale", "missing", "stopped", "failed"]


class OverseenWorker(Shape):
    """A worker as administrators of its organization see it: whose it is, where and why, and
    what became of it. What its agent says is its owner's alone."""

    worker_id = fields.text()
    owner = fields.text()
    agent = fields.text()
    backend = fields.text()
    extension = fields.text()
    status: Field[WorkerStatus] = fields.word()
    reason = fields.text()
    heartbeat_state: Field[HeartbeatState] = fields.word()
    heartbeat_age_ms = fields.number()
    held_by_person = fields.flag()
    sandbox = fields.one(WorkerSandbox)
    route = fields.one(WorkerRoute)
    teardown = fields.one(WorkerTeardown)
    created_at = fields.text()
    remove_at = fields.text()
    torn_down = fields.one(WorkerRemoval)


class OverseenWorkerPage(Shape):
    """A page of an organization's workers, newest first."""

    workers = fields.many(OverseenWorker)
    next = fields.text()


class BackendHealth(Shape):
    """A place of workers: `workers` run there now, `lost` were lost in the last day, both of
    this organization. The health is null where nothing was started, and to who does not run the
    installation. `success` is from 0 to 1."""

    placement = fields.one(WorkerPlace)
    attempts = fields.number()
    success = fields.decimal()
    p50_ms = fields.number(-1)
    p95_ms = fields.number(-1)
    breaker: Field[Literal["closed", "open", "half_open"]] = fields.word()
    workers = fields.number()
    lost = fields.number()


class BackendHealthList(Shape):
    """The places of an organization's workers, by name."""

    backends = fields.many(BackendHealth)
