"""The place of a worker, and why it is there, as events and answers spell it.

The messages are `WorkerSandbox`, `RouteDecision` and `Placement` of `proto/`.
"""

from datetime import UTC, datetime

from atoll.domain.event import Json
from atoll.domain.ids import SANDBOX_ID, DesktopId, SandboxId, WorkerKey
from atoll.domain.routes.policy import DESKTOP
from atoll.domain.routes.record import RouteRecord
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox, keeps_files
from atoll.domain.wall.isolation import Isolation
from atoll.domain.workers.create import WorkerId
from atoll.domain.workers.lifecycle import Died, Silent, Stimulus
from atoll.domain.workers.selection import backend_of
from atoll.domain.workers.snapshot import WorkerSandbox
from atoll.wire.words.routes import ExecutionMode
from atoll.wire.words.sandboxes import State


def sandbox_of(sandbox: Sandbox) -> WorkerSandbox:
    """Return a sandbox as the snapshot of its worker has it."""
    return WorkerSandbox(
        sandbox.id,
        sandbox.profile.extension,
        sandbox.attachment.isolation,
        sandbox.region or None,
        sandbox.host,
        f"sandbox:{sandbox.id}" if _has_files(sandbox) else None,
    )


def desktop_place(worker: WorkerKey, desktop: DesktopId) -> str:
    """Return the id of a worker's place on a desktop: no other worker there has it."""
    return f"{desktop}.{worker}"


def desktop_reference(desktop: str, worker: WorkerId) -> str:
    """Return the name of the place of a worker's files on a desktop of this name."""
    return f"desktop:{desktop}/{worker}"


def desktop_of(place: SandboxId) -> DesktopId | None:
    """Return the desktop that a worker's place is on, None for a sandbox."""
    if place.startswith(SANDBOX_ID):
        return None
    return DesktopId(place.partition(".")[0])


def started_facts(
    agent: str, sandbox: WorkerSandbox | None, route: RouteRecord | None
) -> dict[str, Json]:
    """Return the payload of `worker.started` about the place of a worker."""
    facts: dict[str, Json] = {"agent": agent}
    if sandbox is not None:
        own = sandbox.extension == DESKTOP
        mode = ExecutionMode.DESKTOP if own else ExecutionMode.SANDBOX
        facts |= {
            "backend": backend_of(sandbox.extension),
            "extension": sandbox.extension,
            "execution_mode": mode.value,
            "sandbox": sandbox_json(sandbox),
        }
    if route is not None:
        facts["route"] = route_json(route)
    return facts


def sandbox_json(sandbox: WorkerSandbox) -> dict[str, Json]:
    """Return a `WorkerSandbox`."""
    return {
        "id": sandbox.id,
        "isolation": None if sandbox.isolation is None else _isolation(sandbox.isolation),
        "region": sandbox.region,
        "host": sandbox.host,
    }


def route_json(record: RouteRecord) -> dict[str, Json]:
    """Return a `RouteDecision`: the reasons of every candidate, and the starts that failed."""
    decision, chosen = record.decision, record.decision.chosen
    return {
        "route_id": record.id,
        "at": _instant(record.at),
        "strategy": decision.request.strategy.value,
        "chosen": None if chosen is None else _place(chosen.extension, chosen.host, chosen.region),
        "candidates": [
            {
                "placement": _place(one.extension, one.host, one.region),
                "execution_mode": one.execution_mode.value,
                "fit": verdict.fit,
                "reasons": list(verdict.reasons),
            }
            for verdict in decision.verdicts
            for one in (verdict.candidate,)
        ],
        "attempts": [
            {
                "placement": _place(one.extension, one.host, one.region),
                "at": _instant(one.at),
                "reason": one.reason,
            }
            for one in record.attempts
            if one.reason is not None
        ],
    }


def counts_as_failure(sandbox: Sandbox, stimulus: Stimulus) -> bool:
    """Report whether the loss of a worker is a failure of its backend: its runtime died, or its
    host is silent. What its owner or its agent ended is none."""
    match stimulus:
        case Died():
            return sandbox.state is State.FAILED
        case Silent():
            return sandbox.state in RUNNING or sandbox.state is State.FAILED
        case _:
            return False


def place_of_sandbox(sandbox: Sandbox) -> tuple[str, str]:
    """Return the extension of a sandbox, and its host or its vendor's region."""
    return sandbox.profile.extension, sandbox.host or sandbox.region


def _has_files(sandbox: Sandbox) -> bool:
    begins = sandbox.state in {State.REQUESTED, State.PROVISIONING}
    return begins or sandbox.state in RUNNING or keeps_files(sandbox)


def _place(extension: str, host: str, region: str) -> dict[str, Json]:
    return {
        "backend": backend_of(extension),
        "extension": extension,
        "host": host,
        "region": region,
    }


def _isolation(isolation: Isolation) -> dict[str, Json]:
    return {
        "level": isolation.level.value,
        "mechanism": isolation.mechanism,
        "weak": isolation.weak,
        "degraded": list(isolation.degraded),
        "host_uid": isolation.host_uid,
        "init": isolation.init,
    }


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
