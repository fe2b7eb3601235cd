"""Routes through admission and start: decisions, fallbacks, refusals, and what is stored."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.adapters.extensions.in_memory import FailurePoint, InMemory
from atoll.domain.errors import Conflict, Failed, Forbidden, Invalid, NotFound, Unavailable
from atoll.domain.hosts.host import LOCAL_HOST, Host, HostId, HourlyCost
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.routes.health import PAUSE, TRIP
from atoll.domain.routes.policy import (
    DESKTOP,
    NO_OPTIONS,
    Constraints,
    RouteOptions,
    RoutePolicy,
    RouteRules,
)
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox
from atoll.domain.wall.resources import Resources
from atoll.ports import Capabilities
from atoll.services.lifecycle.host_room import HostRoom
from atoll.services.routes.candidates import NOT_LINKED, WALL_ALONE
from atoll.services.routes.routes import STREAM, Routes
from atoll.services.sandboxes.settings import AdmissionSettings
from atoll.testing.fakes.runtime import CLOSED_WALL, probe_answer
from atoll.wire.words.hosts import HostKind, HostState
from atoll.wire.words.routes import Breaker, ExecutionMode, Strategy
from atoll.wire.words.sandboxes import State
from atoll.wire.words.walls import IsolationLevel
from atoll.wiring.control.outside.hosts import build_routing
from tests.services.scene import BARE, Scene, scene

ROUTED = BARE.replace("bare", "routed").replace(
    "extension: ext.in-memory", "route: {fallback: [ext.in-memory, ext.second, ext.vendor]}"
)
OPEN = BARE.replace("bare", "open").replace("extension: ext.in-memory\n", "")
EXPLICIT = BARE.replace("bare", "second").replace("in-memory", "second")


def vendor() -> InMemory:
    """A backend on machines of others."""
    able = Capabilities(
        IsolationLevel.MICROVM,
        regions=("eu-1", "us-1"),
        host_kind=None,
        pricing="per second",
        cost_per_hour=HourlyCost(200_000),
        gpus=frozenset({"h100"}),
        limits=Resources(cpu=4),
    )
    return InMemory(called="ext.vendor", able=able)


@asynccontextmanager
async def routed(*, run: bool = True) -> AsyncIterator[tuple[Scene, InMemory, InMemory]]:
    """A scene with three backends, and profiles that name them."""
    second, third = InMemory(called="ext.second"), vendor()
    async with scene(run=run, others=(second, third)) as s:
        for name, text in (("routed", ROUTED), ("open", OPEN), ("second", EXPLICIT)):
            await s.profiles.save(LOCAL_PERSON, name, text)
        yield s, second, third


def routes(s: Scene) -> Routes:
    there = (s.extension, InMemory(called="ext.second"), vendor())
    return Routes(s.ground, s.sandboxes, {one.name: one for one in there}, ("ext.off",))


async def create(s: Scene, profile: str = "routed", **options: object) -> Sandbox:
    request = CreateSandbox(profile=profile, route=RouteOptions(**options))  # type: ignore[arg-type]
    explained = await s.within.admission.explain(LOCAL_PERSON, request)
    made = await s.sandboxes.create(LOCAL_PERSON, request)
    chosen = explained.chosen
    assert chosen is not None
    assert (chosen.extension, chosen.host) == (made.profile.extension, made.host)
    return await s.sandboxes.wait(LOCAL_PERSON, made.id)


async def refused(s: Scene, profile: str = "routed", **options: object) -> Conflict:
    request = CreateSandbox(profile=profile, route=RouteOptions(**options))  # type: ignore[arg-type]
    assert (await s.within.admission.explain(LOCAL_PERSON, request)).chosen is None
    with pytest.raises(Conflict) as found:
        await s.sandboxes.create(LOCAL_PERSON, request)
    return found.value


async def test_first_declared_backend_takes_it_and_the_decision_is_stored() -> None:
    async with routed() as (s, _second, _third):
        made = await create(s)
        assert (made.profile.extension, made.host) == ("ext.in-memory", "local")
        record = await routes(s).get(LOCAL_PERSON, made.route or "")
        assert record.sandbox_id == made.id
        assert [one.extension for one in record.decision.fit] == [
            *("ext.in-memory", "ext.second", "ext.vendor", "ext.vendor")
        ]
        (attempt,) = record.attempts
        assert (attempt.extension, attempt.reason) == ("ext.in-memory", None)
        (event, *_) = await s.events.list(LOCAL_PERSON, stream=f"sandbox:{made.id}")
        assert event.payload["route_id"] == made.route
        assert event.payload["extension"] == "ext.in-memory"
        with pytest.raises(NotFound):
            await routes(s).get(LOCAL_PERSON, "rt_none")


async def test_a_dead_first_backend_falls_back_and_nothing_stands_there() -> None:
    async with routed() as (s, second, _third):
        s.extension.fail(FailurePoint.WAIT_READY, Failed("the machine is on fire"))
        made = await create_dead(s)
        assert (made.state, made.profile.extension) == (State.READY, "ext.second")
        assert not s.extension.kept(made.id)
        assert second.lives(made.id)
        record = await routes(s).get(LOCAL_PERSON, made.route or "")
        assert [(one.extension, one.reason) for one in record.attempts] == [
            ("ext.in-memory", "the machine is on fire"),
            ("ext.second", None),
        ]
        assert "sandbox.rerouted" in await s.kinds(made)
        lines = await s.sandboxes.logs(LOCAL_PERSON, made.id)
        told = " ".join(line.text for line in lines)
        assert "the machine is on fire ext.second on local tries next." in told
        # Later lives stay where the files are.
        await s.sandboxes.stop(LOCAL_PERSON, made.id)
        second.fail(FailurePoint.PROVISION, Failed("no"))
        await s.sandboxes.start(LOCAL_PERSON, made.id)
        assert (await s.sandboxes.wait(LOCAL_PERSON, made.id)).state is State.FAILED


async def start_dead(s: Scene, changed: Host) -> Sandbox:
    """Create a sandbox whose first backend fails, once a host has changed since its decision."""
    s.extension.gate = asyncio.Event()
    s.extension.fail(FailurePoint.PROVISION, Failed("the machine is on fire."))
    made = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="routed"))
    async with s.store.begin() as rows:
        await rows.hosts.put(changed)
    s.extension.gate.set()
    return await s.sandboxes.wait(LOCAL_PERSON, made.id)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"state": HostState.DRAINING}, "it is drained"),
        ({"organization": OrgId("org_other")}, "it is dedicated to another organization"),
    ],
)
async def test_fallback_skips_a_host_that_takes_nothing_new_since_the_decision(
    changed: dict[str, object], why: str
) -> None:
    async with routed() as (s, second, _third):
        made = await start_dead(s, replace(LOCAL_HOST, **changed))  # type: ignore[arg-type]
        assert (made.state, made.profile.extension) == (State.READY, "ext.vendor")
        assert not second.provisioned
        (line,) = [
            line.text
            for line in await s.sandboxes.logs(LOCAL_PERSON, made.id)
            if "tries next" in line.text
        ]
        assert line == (
            f"the machine is on fire. ext.second on local was skipped: {why}. "
            "ext.vendor in eu-1 tries next."
        )
        record = await routes(s).get(LOCAL_PERSON, made.route or "")
        assert [one.extension for one in record.attempts] == ["ext.in-memory", "ext.vendor"]


async def test_failure_names_the_candidates_that_were_skipped() -> None:
    async with routed() as (s, second, third):
        third.fail(FailurePoint.PROVISION, Failed("no power."), times=2)
        made = await start_dead(s, replace(LOCAL_HOST, state=HostState.DRAINING))
        assert made.state is State.FAILED
        assert made.reason == "no power. ext.second on local was skipped: it is drained."
        assert not second.provisioned


async def create_dead(s: Scene, profile: str = "routed") -> Sandbox:
    made = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile=profile))
    return await s.sandboxes.wait(LOCAL_PERSON, made.id)


async def test_a_dead_explicit_one_fails() -> None:
    async with routed() as (s, second, _third):
        second.fail(FailurePoint.PROVISION, Failed("no power"))
        made = await create_dead(s, "second")
        assert (made.state, made.reason) == (State.FAILED, "no power")
        assert made.profile.extension == "ext.second"
        assert not s.extension.provisioned
        s.extension.fail(FailurePoint.PROVISION, Failed("no power"))
        request = CreateSandbox(profile="routed", route=RouteOptions(extension="ext.in-memory"))
        named = await s.sandboxes.create(LOCAL_PERSON, request)
        assert (await s.sandboxes.wait(LOCAL_PERSON, named.id)).state is State.FAILED


async def test_never_two_walls_what_cannot_be_taken_down_is_named() -> None:
    async with routed() as (s, second, _third):
        s.extension.fail(FailurePoint.WAIT_READY, Failed("it hangs"))
        s.extension.left = ("machine m-1 still runs",)
        made = await create_dead(s)
        assert made.state is State.FAILED
        assert "m-1 still runs" in (made.reason or "")
        assert not second.provisioned
    async with routed() as (s, second, _third):
        s.extension.fail(FailurePoint.WAIT_READY, Failed("it hangs"))
        s.extension.fail(FailurePoint.TEARDOWN, Failed("it does not answer"))
        made = await create_dead(s)
        assert made.state is State.FAILED
        assert "it does not answer" in (made.reason or "")
        assert not second.provisioned


async def test_a_fault_of_the_request_burns_no_candidate() -> None:
    async with routed() as (s, second, _third):
        s.extension.fail(FailurePoint.PROVISION, Invalid("no such image", field="image"))
        made = await create_dead(s)
        assert (made.state, made.reason) == (State.FAILED, "no such image")
        assert not second.provisioned
        assert await routes(s).health() == []


async def test_every_candidate_fails_and_the_last_reason_is_told() -> None:
    async with routed() as (s, second, third):
        for one in (s.extension, second, third):
            one.fail(FailurePoint.PROVISION, Failed(f"{one.name} is down"), times=2)
        made = await create_dead(s)
        assert made.state is State.FAILED
        assert "ext.vendor is down" in (made.reason or "")
        record = await routes(s).get(LOCAL_PERSON, made.route or "")
        assert [one.extension for one in record.attempts] == [
            *("ext.in-memory", "ext.second", "ext.vendor", "ext.vendor")
        ]


async def test_region_of_a_vendor_is_told_and_the_next_one_is_another_place() -> None:
    async with routed() as (s, _second, third):
        third.fail(FailurePoint.PROVISION, Failed("eu-1 is down"))
        only = RouteOptions(constraints=Constraints(gpu="h100"))
        request = CreateSandbox(profile="routed", route=only)
        made = await s.sandboxes.create(LOCAL_PERSON, request)
        assert (made.host, made.region) == ("", "eu-1")
        made = await s.sandboxes.wait(LOCAL_PERSON, made.id)
        assert (made.state, made.region) == (State.READY, "us-1")
        record = await routes(s).get(LOCAL_PERSON, made.route or "")
        assert [(one.region, one.reason) for one in record.attempts] == [
            ("eu-1", "eu-1 is down"),
            ("us-1", None),
        ]
        assert [one.place for one in await routes(s).health()] == ["eu-1", "us-1"]
        told = (await s.events.list(LOCAL_PERSON, stream=f"sandbox:{made.id}"))[::-1]
        assert next(one for one in told if "rerouted" in one.event_type).payload["region"] == "us-1"
        direct = await create(s, constraints=Constraints(region="us"))
        assert [one.region for one in third.provisioned] == ["us-1", "us-1"]
        await s.sandboxes.stop(LOCAL_PERSON, direct.id)
        await s.sandboxes.start(LOCAL_PERSON, direct.id)
        await s.sandboxes.wait(LOCAL_PERSON, direct.id)
        assert third.provisioned[-1].region == "us-1"
        assert (await create(s)).region == ""


async def test_an_unexpected_error_of_a_backend_is_a_failure_like_any_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with routed() as (s, _second, _third):

        async def broken(*_args: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(InMemory, "wait_ready", broken)
        made = await create_dead(s)
        assert "broke unexpectedly (ZeroDivisionError)" in (made.reason or "")
        record = await routes(s).get(LOCAL_PERSON, made.route or "")
        assert len(record.attempts) == 4


async def test_open_network_is_refused_at_ready_and_the_next_candidate_tries() -> None:
    leaking = CLOSED_WALL.replace("dev lo: 0", "dev lo: 0\ndev eth0: 0")
    constraints = Constraints(region="eu")
    async with routed() as (s, _second, third):
        s.runtime.wall = probe_answer(leaking)
        request = CreateSandbox(profile="routed", route=RouteOptions(constraints=constraints))
        refused = await s.sandboxes.create(LOCAL_PERSON, request)
        refused = await s.sandboxes.wait(LOCAL_PERSON, refused.id)
        assert refused.state is State.FAILED
        assert "its network is not closed (its routes could not" in (refused.reason or "")
        accepted = await create(s, constraints=constraints, accept_open_network=True)
        assert accepted.state is State.READY
        isolation = accepted.attachment.isolation
        assert isolation is not None
        assert [note.partition(":")[0] for note in isolation.degraded] == ["network"]
        # Our own walls are not asked.
        assert (await create(s)).profile.extension == "ext.in-memory"
        assert third.provisioned


def desktop() -> InMemory:
    """A backend on people's own machines."""
    able = Capabilities(IsolationLevel.NONE, host_kind=HostKind.DESKTOP)
    return InMemory(called=DESKTOP, able=able)


PREFERRING = BARE.replace("bare", "preferring").replace(
    "extension: ext.in-memory",
    "route: {strategy: desktop_preferred, fallback: [ext.in-memory, ext.desktop]}",
)


async def test_desktop_is_refused_with_a_sentence_while_nothing_is_linked() -> None:
    async with routed() as (s, _second, _third):
        await s.profiles.save(LOCAL_PERSON, "preferring", PREFERRING)
        made = await create(s, "preferring")
        assert made.profile.extension == "ext.in-memory"
        record = await routes(s).get(LOCAL_PERSON, made.route or "")
        (desk,) = (one for one in record.decision.verdicts if one.candidate.extension == DESKTOP)
        assert desk.reasons == (NOT_LINKED,)
        only = Constraints(execution_mode=ExecutionMode.DESKTOP)
        error = await refused(s, "preferring", constraints=only)
        assert error.code == "no_route" and NOT_LINKED in error.message
        assert NOT_LINKED in (await refused(s, extension=DESKTOP)).message


async def test_linked_desktop_is_its_persons_alone_and_gone_when_it_is_not_linked() -> None:
    owned: dict[str, list[Host]] = {}

    async def linked(_org: OrgId, owner: PrincipalId) -> list[Host]:
        return owned.get(owner, [])

    laptop = Host(HostId("ho_laptop"), "laptop", HostKind.DESKTOP, LOCAL_HOST.created_at)
    async with scene(run=False) as s:
        room = HostRoom(Resources())
        extensions = {one.name: one for one in (s.extension, desktop())}
        settings = AdmissionSettings(50)
        routing = build_routing(s.ground, extensions, room, settings=settings, linked=linked)
        await s.profiles.save(LOCAL_PERSON, "preferring", PREFERRING)
        made = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="preferring"))

        async def chosen() -> tuple[str, str]:
            async with s.store.read() as rows:
                found = (await routing.decide(rows, made, NO_OPTIONS, host=None)).chosen
            assert found is not None
            return found.extension, found.host

        assert await chosen() == ("ext.in-memory", "local")
        owned["somebody-else"] = [laptop]
        assert await chosen() == ("ext.in-memory", "local")
        owned[LOCAL_PERSON.id] = [laptop]
        assert await chosen() == (DESKTOP, "laptop")
        made = replace(made, profile=replace(made.profile, isolation=IsolationLevel.CONTAINER))
        async with s.store.read() as rows:
            found = await routing.decide(rows, made, NO_OPTIONS, host=None)
        reasons = {one.candidate.extension: one.reasons for one in found.verdicts}
        assert reasons[DESKTOP] == ("its isolation is none, and container is needed",)


async def test_desktop_takes_no_worker_whose_named_profile_asks_for_more_than_isolation() -> None:
    async def linked(_org: OrgId, _owner: PrincipalId) -> list[Host]:
        return [Host(HostId("ho_laptop"), "laptop", HostKind.DESKTOP, LOCAL_HOST.created_at)]

    async with scene(run=False) as s:
        extensions, settings = {s.extension.name: s.extension}, AdmissionSettings(50)
        room = HostRoom(Resources())
        routing = build_routing(s.ground, extensions, room, settings=settings, linked=linked)
        await s.profiles.save(LOCAL_PERSON, "preferring", PREFERRING + "env: {A: b}\n")
        made = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="preferring"))
        chosen = {}
        for named in (True, False):
            async with s.store.read() as rows:
                found = await routing.decide(
                    *(rows, made, NO_OPTIONS), host=None, worker=True, names_profile=named
                )
            assert found.chosen is not None
            chosen[named] = found.chosen.extension
            reasons = {one.candidate.extension: one.reasons for one in found.verdicts}
            assert reasons[DESKTOP] == ((f"it cannot act on env: {WALL_ALONE}",) if named else ())
        assert chosen == {True: "ext.in-memory", False: DESKTOP}


async def test_options_narrow_and_what_nobody_keeps_is_refused_with_every_reason() -> None:
    async with routed() as (s, _second, _third):
        assert (await create(s, extension="ext.second")).profile.extension == "ext.second"
        rented = await create(s, constraints=Constraints(region="eu"))
        assert (rented.profile.extension, rented.host) == ("ext.vendor", "")
        gpu = Constraints(gpu="h100", max_cost_per_hour=HourlyCost(100_000))
        error = await refused(s, constraints=gpu)
        assert error.code == "no_route"
        assert "ext.second on local: its price is not declared, it has no GPU h100" in error.message
        assert "an hour costs 0.2 USD, and at most 0.1 USD is allowed" in error.message
        error = await refused(s, extension="ext.other")
        assert "ext.other: the route does not name it, this Atoll does not have it" in error.message
        error = await refused(s, "second", constraints=Constraints(region="eu"))
        assert error.code == "no_route"


class Away(InMemory):
    """A backend that does not answer."""

    def capabilities(self) -> Capabilities:
        raise Unavailable("no daemon answers")


async def test_backend_that_does_not_answer_is_left_out_for_that_alone() -> None:
    async with scene(run=False, others=(Away(called="ext.away"),)) as s:
        names = "route: {fallback: [ext.away]}"
        text = BARE.replace("bare", "away").replace("extension: ext.in-memory", names)
        await s.profiles.save(LOCAL_PERSON, "away", text)
        request = CreateSandbox(
            profile="away", route=RouteOptions(constraints=Constraints(region="eu", gpu="any"))
        )
        (verdict,) = (await s.within.admission.explain(LOCAL_PERSON, request)).verdicts
        assert verdict.reasons == ("no daemon answers",)
        with pytest.raises(Conflict) as found:
            await s.sandboxes.create(LOCAL_PERSON, request)
        assert found.value.code == "no_route"
        assert found.value.message == (
            "no backend takes this sandbox (ext.away: no daemon answers)"
        )


async def test_price_of_a_host_counts_and_the_cheapest_is_taken() -> None:
    async with routed() as (s, _second, _third):
        async with s.store.begin() as rows:
            await rows.hosts.put(replace(LOCAL_HOST, cost_per_hour=HourlyCost(300_000)))
        cheap = await create(s, strategy=Strategy.LOWEST_COST)
        assert cheap.profile.extension == "ext.vendor"
        with pytest.raises(Invalid, match="is explicit"):
            await create(s, "second", strategy=Strategy.LOWEST_COST)


async def test_default_route_counts_where_a_profile_says_nothing() -> None:
    async with routed() as (s, _second, _third):
        # Nobody set one: our own machines first, among all that are on.
        route = (await create(s, "open")).route or ""
        of = routes(s)
        usual = (await of.get(LOCAL_PERSON, route)).decision
        assert usual.request.strategy is Strategy.PREFER_SELF_HOSTED
        assert [one.extension for one in usual.fit] == [
            *("ext.in-memory", "ext.second", "ext.vendor", "ext.vendor")
        ]
        await of.put_rules(
            LOCAL_PERSON, RouteRules(RoutePolicy(extensions=("second",))), installation=True
        )
        assert (await create(s, "open")).profile.extension == "ext.second"
        rules = await of.put_rules(
            LOCAL_PERSON,
            RouteRules(RoutePolicy(extensions=("ext.in-memory",)), ("in-memory", "vendor")),
            installation=False,
        )
        assert rules.default.extensions == ("ext.in-memory",)
        assert (await create(s, "open")).profile.extension == "ext.in-memory"
        assert "ext.second on local: it is not allowed here" in (await refused(s, "second")).message
        found = await s.events.list(LOCAL_PERSON, stream=STREAM)
        assert [one.payload["scope"] for one in found] == ["installation", "organization"]
        member = replace(LOCAL_PERSON, capabilities=frozenset())
        with pytest.raises(Forbidden):
            await of.put_rules(member, RouteRules(), installation=True)
        for wrong in (
            RouteRules(RoutePolicy(Strategy.EXPLICIT)),
            RouteRules(allow=("UP",)),
            RouteRules(allow=("ext.a",) * 40),
            RouteRules(allow=("in-memory", "vendro")),
            RouteRules(RoutePolicy(extensions=("in-memory", "vendro"))),
        ):
            with pytest.raises(Invalid):
                await of.put_rules(LOCAL_PERSON, wrong, installation=False)
        known = RouteRules(allow=("off", DESKTOP, "in_memory"))
        assert (await of.put_rules(LOCAL_PERSON, known, installation=False)).organization.allow == (
            *("ext.off", DESKTOP, "ext.in-memory"),
        )


async def test_breaker_leaves_a_failing_backend_alone_and_one_start_tries_it_again() -> None:
    async with routed() as (s, second, _third):
        s.extension.fail(FailurePoint.PROVISION, Failed("down"), times=TRIP)
        for _ in range(TRIP):
            assert (await create_dead(s)).profile.extension == "ext.second"
        (first, other) = await routes(s).health()
        assert (first.extension, first.place, first.health.success) == ("ext.in-memory", "local", 0)
        assert first.health.breaker is Breaker.OPEN
        assert (other.health.success, other.health.attempts) == (1.0, TRIP)
        await create(s)
        assert len(second.provisioned) == TRIP + 1
        s.clock.turn(PAUSE.total_seconds())
        s.extension.gate = gate = asyncio.Event()
        trial = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="routed"))
        assert trial.profile.extension == "ext.in-memory"
        beside = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="routed"))
        assert beside.profile.extension == "ext.second"
        gate.set()
        assert (await s.sandboxes.wait(LOCAL_PERSON, trial.id)).state is State.READY
        (first, _) = await routes(s).health()
        assert first.health.breaker is Breaker.CLOSED


async def test_open_network_is_taken_only_where_its_caller_accepts_it() -> None:
    able = Capabilities(IsolationLevel.NONE, closes_network=False)
    async with scene(others=(InMemory(called="ext.second", able=able),)) as s:
        await s.profiles.save(LOCAL_PERSON, "second", EXPLICIT)
        assert "it cannot close its network" in (await refused(s, "second")).message
        made = await create(s, "second", accept_open_network=True)
        assert made.state is State.READY


prices = st.none() | st.sampled_from([50_000, 200_000]).map(HourlyCost)
asked = st.builds(
    RouteOptions,
    st.none() | st.sampled_from([one for one in Strategy if one is not Strategy.EXPLICIT]),
    st.none() | st.sampled_from(["ext.in-memory", "ext.second", "ext.vendor", "ext.none"]),
    st.builds(
        Constraints,
        prices,
        st.none() | st.sampled_from(IsolationLevel),
        st.none() | st.sampled_from(["eu", "us-1", "local"]),
        st.none() | st.sampled_from(["any", "h100", "a100"]),
        st.none() | st.just(60_000),
        st.none() | st.just(0.5),
        st.none() | st.sampled_from(ExecutionMode),
    ),
    st.booleans(),
)


requests = st.tuples(st.sampled_from(["routed", "open", "second"]), asked)


@settings(max_examples=3, deadline=None)
@given(st.lists(requests, min_size=10, max_size=20))
def test_explanation_names_what_a_create_then_chooses_or_both_are_refused(
    wanted: list[tuple[str, RouteOptions]],
) -> None:
    async def compared() -> None:
        async with routed(run=False) as (s, _second, _third):
            for profile, options in wanted:
                await explained_as_created(s, CreateSandbox(profile=profile, route=options))

    asyncio.run(compared())


async def explained_as_created(s: Scene, request: CreateSandbox) -> None:
    try:
        chosen = (await s.within.admission.explain(LOCAL_PERSON, request)).chosen
    except Invalid as refused:
        with pytest.raises(Invalid, match=re.escape(refused.message)):
            await s.sandboxes.create(LOCAL_PERSON, request)
        return
    if chosen is None:
        with pytest.raises(Conflict):
            await s.sandboxes.create(LOCAL_PERSON, request)
        return
    made = await s.sandboxes.create(LOCAL_PERSON, request)
    placed = (made.profile.extension, made.host, made.region)
    assert placed == (chosen.extension, chosen.host, chosen.rented_in)
