"""The place of a worker as its events and answers spell it, and losses that are a backend's."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf import json_format

from atoll.domain.ids import (
    PERSONAL_ORG,
    DesktopId,
    PrincipalId,
    RouteId,
    SandboxId,
    WorkerKey,
)
from atoll.domain.profile.profile import Profile
from atoll.domain.routes.candidate import Candidate
from atoll.domain.routes.decision import RouteRequest, decide
from atoll.domain.routes.health import Attempt
from atoll.domain.routes.policy import DESKTOP
from atoll.domain.routes.record import RouteRecord
from atoll.domain.sandboxes.sandbox import Attachment, Sandbox
from atoll.domain.wall.isolation import Isolation
from atoll.domain.workers.create import WorkerId
from atoll.domain.workers.lifecycle import Died, Reattach, Silent, Stimulus
from atoll.domain.workers.placement import (
    counts_as_failure,
    desktop_of,
    desktop_place,
    desktop_reference,
    place_of_sandbox,
    sandbox_json,
    sandbox_of,
    started_facts,
)
from atoll.protocol.v1 import codex_events_pb2 as events_pb2
from atoll.wire.words.routes import Strategy
from atoll.wire.words.sandboxes import Scope, State
from atoll.wire.words.walls import IsolationLevel

NOW = datetime(2026, 1, 2, tzinfo=UTC)
WALL = Isolation(IsolationLevel.CONTAINER, "bubblewrap", ("memory: no cgroup",), 100, "c")
SANDBOX = Sandbox(
    SandboxId("sb_1"), PERSONAL_ORG, PrincipalId("ada"), "one",
    Profile("p", "1.0.0", extension="ext.docker"), Scope.SESSION,
    60, NOW, NOW, NOW, NOW, State.READY, host="box",
)  # fmt: skip
ROUTE = RouteRecord(
    RouteId("rt_1"),
    SANDBOX.id,
    PERSONAL_ORG,
    PrincipalId("ada"),
    NOW,
    decide(
        RouteRequest(Strategy.PREFER_SELF_HOSTED, among=("ext.docker",)),
        (Candidate("ext.docker", "box"), Candidate("ext.cloudflare", region="eu")),
    ),
    (
        Attempt("ext.docker", "old", NOW, "its agent did not start: no"),
        Attempt("ext.docker", "box", NOW),
    ),
)


def test_started_event_says_where_and_why_as_its_message_has_it() -> None:
    placed = sandbox_of(replace(SANDBOX, attachment=Attachment(isolation=WALL)))
    facts = started_facts("codex", placed, ROUTE)
    parsed = json_format.ParseDict(facts, events_pb2.WorkerStarted())
    assert (parsed.agent, parsed.extension, parsed.sandbox.id) == ("codex", "ext.docker", "sb_1")
    assert parsed.sandbox.isolation.host_uid == 100
    assert parsed.route.chosen.host == "box"
    assert [(one.fit, list(one.reasons)) for one in parsed.route.candidates] == [
        (True, []),
        (False, ["the request does not allow it"]),
    ]
    assert [one.reason for one in parsed.route.attempts] == ["its agent did not start: no"]


def test_started_event_of_a_worker_without_a_sandbox_of_ours_has_its_agent() -> None:
    assert started_facts("codex", None, None) == {"agent": "codex"}
    nowhere = decide(RouteRequest(Strategy.EXPLICIT), ())
    facts = started_facts("codex", None, replace(ROUTE, decision=nowhere))
    assert facts["route"] and json_format.ParseDict(facts, events_pb2.WorkerStarted())


def test_own_machine_is_of_the_desktop_mode_and_a_wall_may_be_unknown() -> None:
    own = replace(sandbox_of(SANDBOX), extension=DESKTOP)
    assert started_facts("codex", own, None)["execution_mode"] == "desktop"
    assert sandbox_json(own)["isolation"] is None


@pytest.mark.parametrize(
    ("state", "stimulus", "counts"),
    [
        (State.FAILED, Died("its runtime ended"), True),
        (State.READY, Died("Its agent has ended."), False),
        (State.STOPPED, Died("Its sandbox is stopped."), False),
        (State.DESTROYED, Died("Its sandbox is gone."), False),
        (State.ACTIVE, Silent("no heartbeat"), True),
        (State.FAILED, Silent("no heartbeat"), True),
        (State.STOPPED, Silent("no heartbeat"), False),
        (State.FAILED, Reattach(), False),
    ],
)
def test_loss_counts_where_nobody_ended_the_sandbox(
    state: State, stimulus: Stimulus, counts: bool
) -> None:
    assert counts_as_failure(replace(SANDBOX, state=state), stimulus) is counts


def test_place_is_the_host_or_the_region() -> None:
    assert place_of_sandbox(SANDBOX) == ("ext.docker", "box")
    rented = replace(SANDBOX, host="", region="eu", updated_at=NOW + timedelta(seconds=1))
    assert place_of_sandbox(rented) == ("ext.docker", "eu")


def test_place_on_a_desktop_is_the_workers_alone() -> None:
    desktop = DesktopId("dt_1")
    first, second = (desktop_place(WorkerKey(key), desktop) for key in ("wk_1", "wk_2"))
    assert first != second
    assert desktop_of(SandboxId(first)) == desktop_of(SandboxId(second)) == desktop
    assert desktop_of(SANDBOX.id) is None
    assert desktop_reference("ada", WorkerId("w")) == "desktop:ada/w"
