"""Views of workers, receipts and events, as `proto/` has them: its classes parse them strictly."""

from datetime import timedelta

import msgspec

from atoll.domain.duration import spell_duration
from atoll.domain.event import Json
from atoll.domain.workers.ledger import Receipt, RequestRefusal, Response
from atoll.domain.workers.lifecycle import Holder
from atoll.domain.workers.placement import route_json, sandbox_json
from atoll.domain.workers.record import WorkerEvent
from atoll.domain.workers.selection import backend_of, extension_of
from atoll.domain.workers.snapshot import OpenItems, WorkerSnapshot
from atoll.surfaces.http.body.answers import instant
from atoll.surfaces.http.serving.answers import answer_of
from atoll.wire.api.workers import workers as api


def worker_view(shown: WorkerSnapshot) -> api.WorkerView:
    """Return the snapshot of a worker."""
    created, worker, observed = shown.created, shown.worker, shown.observed
    sandbox, route, gone = observed.sandbox, observed.route, worker.torn_down
    return answer_of(
        api.WorkerView,
        created,
        **_backend(shown),
        execution_mode=shown.execution_mode,
        workspace_ref=shown.workspace_ref,
        codex_home_ref=shown.codex_home_ref,
        teardown=api.WorkerTeardownView(
            policy=created.teardown.policy,
            retain_for=spell_duration(created.teardown.kept_seconds),
        ),
        metadata=dict(created.metadata),
        status=worker.status,
        reason=worker.reason,
        latest_seq=observed.latest_seq,
        sandbox=None if sandbox is None else _sandbox(sandbox_json(sandbox)),
        heartbeat_state=shown.heartbeat_state,
        heartbeat_age_ms=shown.heartbeat_age_ms,
        heartbeat_stale_after_ms=shown.heartbeat_stale_after_ms,
        threads=[answer_of(api.WorkerThreadView, one) for one in observed.threads],
        pending=_pending(observed.pending),
        usage=answer_of(api.WorkerUsageView, observed.usage),
        artifacts=[answer_of(api.WorkerArtifactView, one) for one in observed.artifacts],
        route=None if route is None else _route(route_json(route)),
        held_by_person=worker.holder is Holder.PERSON,
        created_at=instant(shown.created_at),
        remove_at=instant(worker.remove_at),
        torn_down=None if gone is None else answer_of(api.WorkerRemovalView, gone),
    )


def created_view(
    shown: WorkerSnapshot, *, reattached: bool, kept_for: timedelta | None
) -> api.WorkerCreatedView:
    """Return a worker after its create. `kept_for` is how long its events are kept, None for
    good."""
    kept = None if kept_for is None else spell_duration(int(kept_for.total_seconds()))
    return api.WorkerCreatedView(
        reattached=reattached, worker=worker_view(shown), events_kept_for=kept
    )


def stop_view(shown: WorkerSnapshot) -> api.WorkerStopView:
    """Return a worker that stops."""
    markers = shown.worker.markers
    return api.WorkerStopView(
        worker_id=shown.created.worker_id,
        status=shown.worker.status,
        markers=None if markers is None else answer_of(api.WorkerMarkersView, markers),
    )


def receipt_view(worker_id: str, request_id: str, receipt: Receipt | None) -> api.WorkerReceiptView:
    """Return the receipt of a request; None is pending."""
    shown = api.WorkerReceiptView(worker_id=worker_id, request_id=request_id)
    match receipt:
        case Response(result):
            shown.response = api.WorkerResultView(result=result)
        case RequestRefusal():
            shown.error = answer_of(api.WorkerErrorView, receipt)
        case None:
            pass
    return shown


def event_view(worker_id: str, event: WorkerEvent) -> dict[str, Json]:
    """Return an event as a frame of the stream: its payload has one member, named as its type."""
    member = event.event_type.removeprefix("worker.").replace(".", "_")
    said = {name: value for name, value in event.payload.items() if name != "worker_id"}
    return {
        "worker_id": worker_id,
        "seq": event.seq,
        "event_type": event.event_type,
        "event_version": event.event_version,
        "at": instant(event.at),
        "payload": {member: said},
    }


def _backend(shown: WorkerSnapshot) -> dict[str, str | None]:
    """Return the backend that the worker is on, or that it was requested for."""
    sandbox, asked = shown.observed.sandbox, shown.created.backend
    if sandbox is not None:
        return {"backend": backend_of(sandbox.extension), "extension": sandbox.extension}
    if asked is None:
        return {"backend": None, "extension": None}
    return {"backend": backend_of(extension_of(asked)), "extension": extension_of(asked)}


def _pending(pending: OpenItems) -> api.WorkerPendingView:
    questions = [answer_of(api.ServerRequestView, one) for one in pending.server_requests]
    return api.WorkerPendingView(request_ids=[*pending.request_ids], server_requests=questions)


def _sandbox(spelled: dict[str, Json]) -> api.WorkerSandboxView:
    return msgspec.convert(spelled, api.WorkerSandboxView)


def _route(spelled: dict[str, Json]) -> api.WorkerRouteView:
    return msgspec.convert(spelled, api.WorkerRouteView)
