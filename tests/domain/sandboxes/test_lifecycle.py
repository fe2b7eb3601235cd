from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from atoll.domain.errors import Conflict, Forbidden, LimitReached
from atoll.domain.event import Json
from atoll.domain.event_kind import KINDS
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId, SandboxId
from atoll.domain.network.switch import NetworkChange
from atoll.domain.people.capability import capabilities_of
from atoll.domain.people.principal import Principal
from atoll.domain.profile.profile import Profile, Ttl
from atoll.domain.sandboxes.instruction import Append, Instruction, Provision, Teardown
from atoll.domain.sandboxes.lifecycle import step
from atoll.domain.sandboxes.lifetime import (
    deadline,
    end_waits,
    ends_soon,
    extension_of,
    idle_deadline,
    warning_at,
)
from atoll.domain.sandboxes.owed import is_passing
from atoll.domain.sandboxes.sandbox import (
    Attachment,
    LifecycleWebhook,
    PulledTip,
    Sandbox,
    SandboxRepo,
    check_may_manage,
    check_not_gone,
    keeps_files,
    may_manage,
    may_see,
)
from atoll.domain.sandboxes.steps.notes import MAX_PULLED
from atoll.domain.sandboxes.stimulus import (
    AcceptEnd,
    Broke,
    Destroy,
    Due,
    Exposed,
    ExtendTtl,
    Give,
    Idle,
    Pulled,
    Reached,
    Recreate,
    Renewed,
    Requested,
    Rerouted,
    Start,
    Stimulus,
    Stop,
    SwitchNetwork,
    TeardownFailed,
    TornDown,
    Touched,
)
from atoll.domain.sandboxes.task import Task, mark_given
from atoll.wire.words.events import ActorKind
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.people import OrgRole
from atoll.wire.words.sandboxes import Scope, State
from tests.bounds import examples

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
UNMOVING = {
    "sandbox.exposed",
    "sandbox.ttl_extended",
    "sandbox.ends_soon",
    "network.switched",
    "sandbox.pulled",
}

EDGES = {
    (State.REQUESTED, State.PROVISIONING),
    (State.PROVISIONING, State.READY),
    (State.READY, State.ACTIVE),
    (State.READY, State.STOPPED),
    (State.ACTIVE, State.STOPPED),
    (State.STOPPED, State.PROVISIONING),
    *(
        (state, end)
        for state in (State.REQUESTED, State.PROVISIONING, State.READY, State.ACTIVE)
        for end in (State.EXPIRED, State.FAILED)
    ),
    (State.STOPPED, State.EXPIRED),
    *(
        (state, State.PROVISIONING)
        for state in (State.READY, State.ACTIVE, State.STOPPED, State.FAILED, State.EXPIRED)
    ),
    *((state, State.DESTROYING) for state in State if state is not State.DESTROYED),
    (State.DESTROYING, State.DESTROYED),
}


def new_sandbox(*, idle: int | None = None, stop: int | None = None) -> Sandbox:
    profile = Profile("profile.x", "1.0.0", ttl=Ttl(3600, 4 * 3600, idle, 1800, stop))
    return Sandbox(
        id=SandboxId("sb_a"),
        org_id=PERSONAL_ORG,
        owner=PrincipalId("p"),
        name="x",
        profile=profile,
        scope=Scope.SESSION,
        ttl_seconds=3600,
        created_at=NOW,
        updated_at=NOW,
        expires_at=NOW + HOUR,
        max_expires_at=NOW + 4 * HOUR,
    )


def after(sandbox: Sandbox, *stimuli: Stimulus, now: datetime = NOW) -> Sandbox:
    for stimulus in stimuli:
        sandbox, _ = step(sandbox, stimulus, now)
    return sandbox


PROVISIONING = after(new_sandbox(), Requested())
READY = after(new_sandbox(), Requested(), Reached(1, Attachment(address="unix:/x")))
ACTIVE = after(READY, Touched())
STOPPED = after(READY, Stop())
FAILED = after(READY, Broke(1, "it broke"))
EXPIRED = after(READY, Due(), now=NOW + HOUR)
NEVER_READY = after(new_sandbox(), Requested(), Broke(1, "no"))
DESTROYING = after(READY, Destroy())
DESTROYED = after(DESTROYING, TornDown(1))


def test_requested_begins_to_provision() -> None:
    sandbox, instructions = step(new_sandbox(), Requested(), NOW)
    assert sandbox.state is State.PROVISIONING
    assert instructions == (Append("sandbox.provisioning"), Provision(1))
    assert step(sandbox, Requested(), NOW) == (sandbox, ())


def test_reached_remembers_how_repositories_were_laid_out() -> None:
    begun = SandboxRepo("https://h.example/o/r", "b", None, "/workspace", began_from="main")
    report = Reached(1, Attachment(address="unix:/x"), (begun,))
    assert after(new_sandbox(), Requested(), report).repos == (begun,)


def test_reached_makes_ready_with_the_way_in() -> None:
    assert READY.state is State.READY
    assert READY.attachment.address == "unix:/x"
    assert READY.ready_at == NOW


@pytest.mark.parametrize(
    ("sandbox", "late"),
    [
        (READY, Reached(1, Attachment())),
        (after(new_sandbox(), Requested()), Reached(2, Attachment())),
        (READY, Broke(2, "late")),
        (READY, Rerouted(1, "ext.b", "box", "late")),
        (PROVISIONING, Rerouted(2, "ext.b", "box", "late")),
        (STOPPED, Broke(1, "late")),
        (READY, TornDown(1)),
        (DESTROYING, TornDown(2)),
        (DESTROYING, TornDown(1, kept=True)),
        (STOPPED, TornDown(1, kept=True)),
        (FAILED, TeardownFailed(1, "late")),
        (READY, TeardownFailed(1, "late")),
        (DESTROYING, TeardownFailed(2, "late")),
        (READY, Renewed(1)),
        (STOPPED, Touched()),
        (STOPPED, Idle(10**9, 10**9)),
        (READY, Idle(10**9, 10**9)),
        (READY, Due()),
        (FAILED, Due()),
        (DESTROYED, Due()),
        (DESTROYED, Destroy()),
        (DESTROYING, Destroy()),
    ],
)
def test_late_or_idle_word_changes_nothing(sandbox: Sandbox, late: Stimulus) -> None:
    assert step(sandbox, late, NOW) == (sandbox, ())


def test_touch_makes_active_and_writes_at_most_every_thirty_seconds() -> None:
    assert (ACTIVE.state, ACTIVE.last_active_at) == (State.ACTIVE, NOW)
    assert after(ACTIVE, Touched(), now=NOW + timedelta(seconds=29)) is ACTIVE
    later = NOW + timedelta(seconds=30)
    assert after(ACTIVE, Touched(), now=later).last_active_at == later
    assert after(replace(ACTIVE, last_active_at=None), Touched()).last_active_at == NOW


def test_stop_keeps_state_and_start_provisions_the_same_generation() -> None:
    sandbox, instructions = step(READY, Stop(), NOW)
    assert instructions == (Append("sandbox.stopped"), Teardown(1, keep_state=True))
    sandbox, instructions = step(sandbox, Start(), NOW)
    assert (sandbox.state, sandbox.generation) == (State.PROVISIONING, 1)
    assert instructions[1:] == (Provision(1),)


def test_start_after_a_failure_takes_up_the_workspace_that_was_kept() -> None:
    sandbox, instructions = step(FAILED, Start(), NOW)
    assert (sandbox.state, sandbox.generation) == (State.PROVISIONING, 1)
    assert (sandbox.reason, sandbox.retained_until) == (None, None)
    assert instructions[1:] == (Provision(1),)
    with pytest.raises(Conflict, match="failed after it was ready"):
        step(NEVER_READY, Start(), NOW)


@pytest.mark.parametrize("sandbox", [EXPIRED, FAILED])
def test_start_of_an_ended_one_gives_it_its_whole_time_again(sandbox: Sandbox) -> None:
    later = NOW + 100 * HOUR
    started, _ = step(sandbox, Start(), later)
    assert (started.state, started.generation) == (State.PROVISIONING, 1)
    assert (started.expires_at, started.max_expires_at) == (later + HOUR, later + 4 * HOUR)
    assert started.retained_until is None
    stopped, _ = step(STOPPED, Start(), NOW + HOUR / 4)
    assert stopped.expires_at == STOPPED.expires_at


def test_start_after_a_recreate_that_failed_takes_up_the_workspace_it_left() -> None:
    failed = after(STOPPED, Recreate(), Broke(2, "not saved"))
    assert failed.renewing
    started, instructions = step(failed, Start(), NOW)
    assert (started.renewing, started.generation) == (False, 2)
    assert instructions[-1] == Provision(2)


def test_files_are_kept_by_what_ended_after_it_had_some() -> None:
    kept = [STOPPED, EXPIRED, FAILED, READY, NEVER_READY, DESTROYED]
    assert [keeps_files(one) for one in kept] == [True, True, True, False, False, False]


def test_first_start_goes_on_elsewhere_when_a_backend_cannot_bring_it_up() -> None:
    moved, instructions = step(PROVISIONING, Rerouted(1, "ext.b", "", "it broke", "eu"), NOW)
    assert (moved.state, moved.generation) == (State.PROVISIONING, 1)
    assert (moved.profile.extension, moved.host, moved.region) == ("ext.b", "", "eu")
    assert moved.attachment == Attachment()
    extra: dict[str, Json] = {"extension": "ext.b", "host": "", "region": "eu"}
    told = Append("sandbox.rerouted", "it broke", extra)
    assert instructions == (told, Provision(1))


def test_broke_keeps_reason_and_workspace_until_retention() -> None:
    failed, instructions = step(READY, Broke(1, "no loop device"), NOW)
    assert (failed.state, failed.reason) == (State.FAILED, "no loop device")
    assert failed.retained_until == NOW + HOUR / 2
    assert instructions[1] == Teardown(1, keep_state=True)
    gone, instructions = step(failed, Due(), NOW + HOUR)
    assert gone.state is State.DESTROYING
    assert gone.reason == "no loop device"
    assert instructions[-1] == Teardown(1, keep_state=False)


def test_expiry_at_its_moment() -> None:
    assert after(STOPPED, Due(), now=NOW + HOUR).state is State.EXPIRED


def test_idle_long_enough_expires_else_notes_the_last_activity() -> None:
    sandbox = after(new_sandbox(idle=600), Requested(), Reached(1, Attachment()))
    assert idle_deadline(sandbox) == NOW + timedelta(seconds=600)
    assert deadline(sandbox) == NOW + timedelta(seconds=600)
    later = NOW + timedelta(seconds=600)
    noted = after(sandbox, Idle(10, 5), now=later)
    assert noted.last_used_at == later - timedelta(seconds=5)
    assert noted.last_active_at == later - timedelta(seconds=10)
    assert after(sandbox, Idle(600, 0), now=later).state is State.EXPIRED


def test_unused_long_enough_stops_and_does_not_expire() -> None:
    sandbox = after(new_sandbox(stop=600), Requested(), Reached(1, Attachment()))
    later = NOW + timedelta(seconds=600)
    assert idle_deadline(sandbox) == later
    used = after(sandbox, Idle(600, 10), now=later)
    assert (used.state, idle_deadline(used)) == (State.READY, later + timedelta(seconds=590))
    stopped, instructions = step(sandbox, Idle(600, 600), later)
    assert (stopped.state, stopped.reason) == (State.STOPPED, "Nobody used it for 10m.")
    assert instructions == (
        Append("sandbox.stopped", "Nobody used it for 10m."),
        Teardown(1, keep_state=True),
    )
    assert deadline(stopped) == warning_at(stopped)
    both = after(new_sandbox(idle=900, stop=600), Requested(), Reached(1, Attachment()))
    assert idle_deadline(replace(both, last_used_at=later)) == NOW + timedelta(seconds=900)


def test_sandbox_says_once_that_it_ends_soon_and_again_after_more_time() -> None:
    half = NOW + HOUR / 2
    assert warning_at(READY) == deadline(READY) == half
    assert warning_at(replace(READY, ttl_seconds=86400)) == NOW
    assert step(READY, Due(), half - timedelta(seconds=1)) == (READY, ())
    warned, (told,) = step(READY, Due(), half)
    assert told == Append("sandbox.ends_soon", None, {"expires_at": READY.expires_at.isoformat()})
    assert ends_soon(warned) and not ends_soon(READY)
    assert end_waits(warned) and not end_waits(READY)
    assert step(READY, AcceptEnd(), half) == (READY, ())
    accepted, (said,) = step(warned, AcceptEnd(), half)
    assert said == replace(told, event_type="sandbox.end_accepted")
    assert ends_soon(accepted) and not end_waits(accepted)
    assert (warned.state, deadline(warned)) == (State.READY, READY.expires_at)
    assert step(warned, Due(), half) == (warned, ())
    longer = after(warned, ExtendTtl(3600))
    assert not ends_soon(longer)
    assert end_waits(after(replace(longer, end_accepted=READY.expires_at), Due(), now=half + HOUR))
    assert deadline(longer) == half + HOUR
    assert not ends_soon(after(warned, Due(), now=NOW + HOUR))


def test_warning_comes_when_the_profile_says_at_the_earliest_at_half() -> None:
    late = replace(READY.profile, ttl=replace(READY.profile.ttl, warning_seconds=600))
    assert warning_at(replace(READY, profile=late)) == READY.expires_at - timedelta(minutes=10)
    short = replace(READY, profile=late, ttl_seconds=60)
    assert warning_at(short) == READY.expires_at - timedelta(seconds=30)


def test_kept_sandbox_warns_before_its_files_are_removed() -> None:
    quarter = timedelta(minutes=15)  # half of what it is kept for
    expired = after(READY, Due(), now=READY.expires_at)
    until = expired.retained_until
    assert until is not None and not end_waits(expired)
    assert deadline(expired) == warning_at(expired) == until - quarter
    warned, (told,) = step(expired, Due(), until - quarter)
    assert told == Append("sandbox.ends_soon", None, {"expires_at": until.isoformat()})
    assert end_waits(warned) and not ends_soon(warned) and deadline(warned) == until
    accepted, _ = step(warned, AcceptEnd(), until)
    assert not end_waits(accepted)
    more = extension_of(warned)
    assert more == warned.profile.ttl.retention_seconds
    assert not end_waits(step(warned, ExtendTtl(more), until - quarter)[0])
    bare = replace(expired, state=State.FAILED, ready_at=None)
    assert warning_at(bare) == deadline(bare) == until
    assert step(replace(expired, retained_until=None), Due(), until)[1] == ()
    gone = replace(expired, state=State.DESTROYED)
    assert deadline(gone) is None and warning_at(gone) <= gone.expires_at
    assert not end_waits(gone)


def test_extension_is_the_whole_time_again_or_what_fits() -> None:
    room = READY.expires_at + timedelta(seconds=90)
    assert extension_of(READY) == READY.ttl_seconds
    assert extension_of(replace(READY, max_expires_at=room)) == 90
    assert extension_of(replace(READY, max_expires_at=READY.expires_at)) == 0


def test_recreate_of_one_that_was_ready_renews_first() -> None:
    sandbox, instructions = step(STOPPED, Recreate(), NOW)
    assert (sandbox.generation, sandbox.renewing) == (2, True)
    assert instructions[1:] == (Provision(2, renew=True),)
    renewed = after(sandbox, Renewed(2))
    assert (renewed.renewing, renewed.ready_at) == (False, None)


def test_recreate_of_one_that_never_was_ready_has_nothing_to_save() -> None:
    failed = after(new_sandbox(), Requested(), Broke(1, "no"))
    sandbox, instructions = step(failed, Recreate(), NOW + HOUR)
    assert instructions[1:] == (Provision(2),)
    assert sandbox.reason is None
    assert sandbox.retained_until is None
    assert sandbox.expires_at == NOW + 2 * HOUR


def test_destroy_says_where_the_files_were_kept_and_leaves_nothing_itself() -> None:
    sandbox, (told, teardown) = step(READY, Destroy(kept_at="/home/kept/x"), NOW)
    assert sandbox.kept_at == "/home/kept/x"
    assert isinstance(told, Append) and told.extra == {"kept_at": "/home/kept/x"}
    assert teardown == Teardown(1, keep_state=False)
    _, (plain, _) = step(STOPPED, Destroy(), NOW)
    assert isinstance(plain, Append) and plain.extra == {}


def test_pulled_commits_are_remembered_once_and_forgotten_by_the_next_life() -> None:
    once, (told,) = step(READY, Pulled(0, "a" * 40), NOW)
    assert once.pulled == (PulledTip(0, "a" * 40),)
    assert isinstance(told, Append) and told.extra == {"repo": 0, "commit": "a" * 40}
    assert step(once, Pulled(0, "a" * 40), NOW) == (once, ())
    assert step(DESTROYING, Pulled(0, "a" * 40), NOW) == (DESTROYING, ())
    many = after(once, *(Pulled(1, f"{n:040x}") for n in range(MAX_PULLED)))
    assert len(many.pulled) == MAX_PULLED and PulledTip(0, "a" * 40) not in many.pulled
    assert after(once, Recreate()).pulled == ()


@pytest.mark.parametrize("sandbox", [STOPPED, PROVISIONING])
def test_what_may_still_stand_is_told_until_it_is_gone(sandbox: Sandbox) -> None:
    standing = after(sandbox, TeardownFailed(1, "busy"))
    assert (standing.state, standing.reason) == (sandbox.state, "busy")
    assert after(standing, TornDown(1)).reason == "busy"
    assert after(standing, TornDown(1, kept=True)).reason is None


def test_reason_of_a_stop_stays_when_its_machine_is_gone() -> None:
    idle = after(new_sandbox(stop=600), Requested(), Reached(1, Attachment()), Idle(600, 600))
    assert idle.reason == "Nobody used it for 10m."
    assert after(idle, TornDown(1, kept=True)).reason == idle.reason


def test_destruction_on_a_host_that_is_not_trusted_rests_and_may_be_requested_again() -> None:
    stands = ("files on host box",)
    held, told = step(DESTROYING, TeardownFailed(1, "another key", stands), NOW)
    assert (held.state, held.reason, held.leftovers) == (State.DESTROYING, "another key", stands)
    assert told == (Append("sandbox.destroy_held", "another key", {"leftovers": [*stands]}),)
    assert step(held, TeardownFailed(1, "another key", stands), NOW) == (held, ())
    again, told = step(held, TeardownFailed(1, "a third key", stands), NOW)
    assert (again.reason, told) == ("a third key", ())
    assert is_passing(DESTROYING) and not is_passing(held)
    assert step(DESTROYING, Destroy(None), NOW) == (DESTROYING, ())
    assert step(held, Destroy(None), NOW) == (held, (Teardown(1, keep_state=False),))
    assert not after(held, TeardownFailed(1, "cannot be reached")).leftovers
    assert not after(held, TornDown(1)).leftovers


def test_teardown_failure_is_told_and_destroyed_lists_what_went() -> None:
    assert after(DESTROYING, TeardownFailed(1, "busy")).reason == "busy"
    gone, (told,) = step(DESTROYING, TornDown(1, ("a",), ("b",)), NOW)
    assert gone.state is State.DESTROYED
    assert gone.attachment == Attachment()
    assert isinstance(told, Append)
    assert told.extra == {"removed": ["a"], "leftovers": ["b"]}


def test_extend_adds_up_to_the_maximum_and_names_the_longest_that_fits() -> None:
    assert after(READY, ExtendTtl(60)).expires_at == NOW + HOUR + timedelta(seconds=60)
    with pytest.raises(LimitReached, match="3h is the longest that fits"):
        step(READY, ExtendTtl(3 * 3600 + 1), NOW)
    most = after(READY, ExtendTtl(3 * 3600))
    assert most.expires_at == READY.max_expires_at
    with pytest.raises(LimitReached, match="nothing more fits"):
        step(most, ExtendTtl(60), NOW)
    with pytest.raises(Conflict, match="only be given more time"):
        step(READY, ExtendTtl(0), NOW)


def test_extend_of_an_ended_one_prolongs_what_is_kept() -> None:
    assert EXPIRED.retained_until == NOW + 1.5 * HOUR
    longer, (told,) = step(EXPIRED, ExtendTtl(3600), NOW + HOUR)
    assert (longer.state, longer.retained_until) == (State.EXPIRED, NOW + 2.5 * HOUR)
    assert longer.expires_at == EXPIRED.expires_at
    assert told == Append(
        "sandbox.ttl_extended", None, {"retained_until": (NOW + 2.5 * HOUR).isoformat()}
    )
    with pytest.raises(LimitReached, match="4h is the longest"):
        step(EXPIRED, ExtendTtl(5 * 3600), NOW + HOUR)


@pytest.mark.parametrize(
    ("sandbox", "act"),
    [
        (STOPPED, Stop()),
        (READY, Start()),
        (new_sandbox(), Recreate()),
        (DESTROYED, Recreate()),
        (DESTROYED, ExtendTtl(60)),
    ],
)
def test_act_out_of_place_is_refused_in_a_sentence(sandbox: Sandbox, act: Stimulus) -> None:
    with pytest.raises(Conflict, match=r"Sandbox x \(sb_a\) (is|can)"):
        step(sandbox, act, NOW)


def test_network_is_switched_while_it_lives_or_is_kept_and_told_once() -> None:
    change = NetworkChange(deny=("a.example",))
    switched, (told,) = step(READY, SwitchNetwork(change), NOW + HOUR)
    assert switched.profile.network.denied == ("a.example",)
    assert isinstance(told, Append) and told.event_type == "network.switched"
    assert switched.updated_at == NOW + HOUR
    assert step(switched, SwitchNetwork(change), NOW + 2 * HOUR) == (switched, ())
    assert step(STOPPED, SwitchNetwork(change), NOW)[0].profile.network.denied
    with pytest.raises(Conflict, match="going away"):
        step(DESTROYING, SwitchNetwork(change), NOW)


def test_exposed_secrets_stay_known_until_the_next_life() -> None:
    once, instructions = step(READY, Exposed(("b", "a")), NOW)
    assert once.exposed_secrets == ("a", "b")
    assert instructions == (Append("sandbox.exposed", None, {"names": ["a", "b"]}),)
    more = after(once, Exposed(("c",)), Exposed(("a",)))
    assert more.exposed_secrets == ("a", "b", "c")
    again = after(more, Recreate(), Renewed(2))
    assert again.exposed_secrets == ()


def test_deadline_follows_the_state() -> None:
    assert deadline(READY) == warning_at(READY)
    assert deadline(FAILED) == warning_at(FAILED)
    assert deadline(replace(FAILED, warned_of=FAILED.retained_until)) == FAILED.retained_until
    assert deadline(DESTROYED) is None
    assert idle_deadline(STOPPED) is None


class Life(RuleBasedStateMachine):
    """Any sequence of stimuli stays on the edges of the table."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.sandbox = new_sandbox(idle=600, stop=900)

    @rule(seconds=st.integers(0, 7200))
    def time_goes_by(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(
        stimulus=st.one_of(
            st.sampled_from(
                [Requested(), Touched(), Due(), Stop(), Start(), Recreate(), Destroy()]
            ),
            st.builds(Destroy, st.sampled_from([None, "/kept"])),
            st.builds(Pulled, st.integers(0, 1), st.sampled_from(["a" * 40, "b" * 40])),
            st.builds(ExtendTtl, st.integers(-5, 10**6)),
            st.builds(
                SwitchNetwork,
                st.builds(NetworkChange, st.sampled_from([None, *NetworkMode])),
            ),
            st.builds(Exposed, st.tuples(st.sampled_from("abc"))),
            st.builds(Idle, st.floats(-1, 10**4), st.floats(-1, 10**4)),
        )
    )
    def somebody_or_time_acts(self, stimulus: Stimulus) -> None:
        self.take(stimulus)

    @rule(late=st.integers(0, 1), kind=st.integers(0, 4))
    def the_shell_reports(self, late: int, kind: int) -> None:
        generation = self.sandbox.generation - late
        reports: list[Stimulus] = [
            Reached(generation, Attachment(address="unix:/x")),
            Renewed(generation),
            Broke(generation, "it broke"),
            TornDown(generation),
            TeardownFailed(generation, "busy"),
        ]
        self.take(reports[kind])

    def take(self, stimulus: Stimulus) -> None:
        before = self.sandbox
        try:
            self.sandbox, instructions = step(before, stimulus, self.now)
        except (Conflict, LimitReached) as err:
            assert before.name in err.message
            return
        self.check_edge(before, stimulus, instructions)

    def check_edge(
        self, before: Sandbox, stimulus: Stimulus, instructions: tuple[Instruction, ...]
    ) -> None:
        told = [one for one in instructions if isinstance(one, Append)]
        assert all(one.event_type in KINDS for one in told)
        if self.sandbox.state is before.state:
            assert {one.event_type for one in told} <= UNMOVING
        else:
            assert (before.state, self.sandbox.state) in EDGES
            assert [one.event_type for one in told] == [f"sandbox.{self.sandbox.state}"]
        grown = self.sandbox.generation - before.generation
        assert grown == (1 if isinstance(stimulus, Recreate) else 0)

    @invariant()
    def it_never_outlives_its_maximum(self) -> None:
        assert self.sandbox.expires_at <= self.sandbox.max_expires_at

    @invariant()
    def what_ended_says_until_when_it_is_kept(self) -> None:
        if self.sandbox.state in (State.EXPIRED, State.FAILED):
            assert self.sandbox.reason
            assert self.sandbox.retained_until is not None

    @invariant()
    def a_living_sandbox_always_has_a_deadline(self) -> None:
        gone = self.sandbox.state in (State.DESTROYING, State.DESTROYED)
        assert (deadline(self.sandbox) is None) == gone


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=examples(40), stateful_step_count=40)


def test_reached_records_what_became_of_the_task() -> None:
    begun = after(replace(new_sandbox(), task=Task("Go.")), Requested())
    told = mark_given(Task("Go."))
    ready, instructions = step(begun, Reached(1, Attachment(), task=told), NOW)
    assert ready.task == told
    assert Append("task.given") in instructions


def test_sandbox_that_does_not_run_is_given_with_an_event_of_both_owners() -> None:
    for state in (State.STOPPED, State.EXPIRED, State.FAILED):
        before = replace(new_sandbox(), state=state)
        hooked = replace(before, lifecycle_webhook=LifecycleWebhook("https://a.example", "KEY"))
        assert step(hooked, Give(PrincipalId("bob")), NOW)[0].lifecycle_webhook is None
        after, told = step(before, Give(PrincipalId("bob")), NOW)
        assert (after.owner, after.state) == ("bob", state)
        assert told == (Append("sandbox.given", None, {"from": before.owner, "to": "bob"}),)
        assert step(after, Give(PrincipalId("bob")), NOW) == (after, ())


@pytest.mark.parametrize(
    "state",
    [
        State.REQUESTED,
        State.PROVISIONING,
        State.READY,
        State.ACTIVE,
        State.DESTROYING,
        State.DESTROYED,
    ],
)
def test_sandbox_that_runs_or_goes_is_not_given(state: State) -> None:
    with pytest.raises(Conflict, match="does not run"):
        step(replace(new_sandbox(), state=state), Give(PrincipalId("bob")), NOW)


def _member(name: str, role: OrgRole, org: str = PERSONAL_ORG) -> Principal:
    return Principal(
        OrgId(org),
        PrincipalId(name),
        ActorKind.PERSON,
        capabilities=capabilities_of(role),
    )


@pytest.mark.parametrize("scope", list(Scope))
def test_sandbox_is_seen_by_its_owner_and_shared_with_the_organization(scope: Scope) -> None:
    box = replace(new_sandbox(), scope=scope)
    owner = _member(box.owner, OrgRole.VIEWER)
    others = [_member("other", role) for role in OrgRole]
    assert may_see(owner, box)
    assert {may_see(one, box) for one in others} == {scope is Scope.SHARED}
    assert not may_see(_member(box.owner, OrgRole.OWNER, "else"), box)


def test_sandbox_is_managed_by_its_owner_and_by_administrators() -> None:
    box = new_sandbox()
    assert may_manage(_member(box.owner, OrgRole.MEMBER), box)
    managing = {role for role in OrgRole if may_manage(_member("other", role), box)}
    assert managing == {OrgRole.OWNER, OrgRole.ADMIN}
    assert not may_manage(_member(box.owner, OrgRole.OWNER, "else"), box)
    check_may_manage(_member("other", OrgRole.ADMIN), box)
    with pytest.raises(Forbidden, match="shared with you"):
        check_may_manage(_member("other", OrgRole.MEMBER), box)


@pytest.mark.parametrize("state", [State.DESTROYING, State.DESTROYED])
def test_nothing_more_is_done_to_a_sandbox_that_is_gone(state: State) -> None:
    check_not_gone(READY, "shared")
    with pytest.raises(Conflict, match=f"is {state} and cannot be shared"):
        check_not_gone(replace(READY, state=state), "shared")
