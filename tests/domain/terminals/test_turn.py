import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from atoll.domain.terminals.turn import (
    GRACE_SECONDS,
    IDLE_SECONDS,
    USING_SECONDS,
    Act,
    Change,
    Party,
    Turn,
    TurnRefusal,
)
from atoll.wire.words.terminals import Role
from tests.bounds import examples

OWNER = Party("ann", "Ann", "a1", Role.OWNER)
PHONE = Party("ann", "Ann", "a2", Role.OWNER)
BOB = Party("bob", "Bob", "b1", Role.CONTROLLER)
CYD = Party("cyd", "Cyd", "c1", Role.CONTROLLER)
EVE = Party("eve", "Eve", "e1", Role.VIEWER)
GUEST = Party("guest_g", "guest Gus", "g1", Role.CONTROLLER, given=True)


def turn_of(*parties: Party, creator: str | None = None) -> Turn:
    turn = Turn(creator)
    for party in parties:
        turn.joined(party, 0.0)
    turn.drain()
    return turn


def acts(turn: Turn) -> list[Act]:
    return [change.act for change in turn.drain()]


def code(refusal: TurnRefusal | None) -> str:
    assert refusal is not None
    return refusal.code


def driver(turn: Turn) -> Party | None:
    """Return who drives now, whatever was asserted before."""
    return turn.driver


def test_owner_at_a_free_terminal_drives_and_a_second_client_does_not() -> None:
    turn = Turn()
    turn.joined(OWNER, 0.0)
    turn.joined(PHONE, 1.0)
    assert turn.drain() == [Change(Act.GRANTED, 1, OWNER)]
    assert (turn.driver, turn.epoch, turn.present) == (OWNER, 1, (OWNER, PHONE))


def test_creator_with_the_role_of_a_controller_drives_at_first() -> None:
    assert turn_of(BOB, creator="bob").driver == BOB
    assert turn_of(BOB, creator="ann").driver is None


def test_viewer_never_drives_whatever_it_sends() -> None:
    turn = turn_of(EVE, creator="eve")
    for refusal in (turn.requested("e1", 1), turn.typed("e1", 1), turn.taken("e1", 1)):
        assert refusal is not None
        assert refusal.code == "viewer"
    assert code(turn.granted("e1", None, 1)) == "not_driver"
    assert code(turn.revoked("e1", 1)) == "not_driver"
    assert (turn.driver, turn.epoch) == (None, 0)


def test_request_at_a_free_terminal_is_granted_at_once() -> None:
    turn = turn_of(BOB, CYD)
    assert turn.requested("b1", 1.0) is None
    assert (turn.driver, turn.waiting) == (BOB, ())


def test_first_keystroke_at_a_free_terminal_asks_and_is_accepted() -> None:
    turn = turn_of(BOB, CYD)
    assert turn.typed("c1", 1.0) is None
    assert turn.driver == CYD
    assert code(turn.typed("b1", 2.0)) == "not_driver"
    assert turn.driver == CYD


def test_guest_of_a_dashboard_drives_only_what_it_is_given() -> None:
    turn = turn_of(GUEST, BOB, creator="guest_g")
    assert code(turn.typed("g1", 1.0)) == "not_driver"
    assert turn.requested("g1", 1.0) is None
    assert turn.taken("g1", 1.0) is None
    assert (turn.driver, turn.waiting) == (None, (GUEST,))
    assert code(turn.granted("g1", "g1", 1.0)) == "not_driver"
    assert turn.requested("b1", 2.0) is None
    assert turn.revoked("b1", 3.0) is None  # nobody drives, and the guest still waits
    assert (turn.driver, turn.waiting) == (None, (GUEST,))
    turn.joined(OWNER, 4.0)
    assert turn.granted("a1", None, 5.0) is None
    assert turn.driver == GUEST
    assert turn.typed("g1", 6.0) is None
    assert turn.revoked("a1", 7.0) is None
    assert driver(turn) == OWNER
    assert code(turn.typed("g1", 8.0)) == "not_driver"


def test_request_waits_for_the_driver_who_grants_it() -> None:
    turn = turn_of(OWNER, BOB, CYD)
    assert turn.requested("b1", 1.0) is None
    assert turn.requested("c1", 2.0) is None
    assert turn.requested("b1", 3.0) is None
    assert (turn.driver, turn.waiting) == (OWNER, (BOB, CYD))
    assert turn.granted("a1", "cyd", 4.0) is None
    assert (turn.driver, turn.waiting) == (CYD, (BOB,))
    assert turn.drain() == [Change(Act.GRANTED, 2, CYD, OWNER)]
    assert turn.granted("c1", None, 5.0) is None
    assert turn.driver == BOB


def test_grant_to_nobody_a_viewer_or_by_an_observer_is_refused() -> None:
    turn = turn_of(OWNER, BOB, EVE)
    assert code(turn.granted("a1", None, 1.0)) == "no_such_party"
    assert code(turn.granted("a1", "zoe", 1.0)) == "no_such_party"
    assert code(turn.granted("a1", "eve", 1.0)) == "no_such_party"
    assert code(turn.granted("b1", "bob", 1.0)) == "not_driver"
    assert code(turn.granted("zz", "bob", 1.0)) == "not_attached"
    assert turn.driver == OWNER


def test_grant_by_name_reaches_somebody_who_did_not_ask() -> None:
    turn = turn_of(OWNER, BOB)
    assert turn.granted("a1", "b1", 1.0) is None
    assert turn.driver == BOB


def test_owner_may_grant_while_another_drives() -> None:
    turn = turn_of(BOB, CYD, creator="bob")
    turn.joined(OWNER, 1.0)
    assert turn.granted("a1", "cyd", 2.0) is None
    assert turn.driver == CYD


def test_driver_that_asks_or_is_given_what_it_has_changes_nothing() -> None:
    turn = turn_of(OWNER, BOB)
    turn.drain()
    assert turn.requested("a1", 1.0) is None
    assert turn.granted("a1", "a1", 1.0) is None
    assert (turn.driver, turn.epoch, turn.drain()) == (OWNER, 1, [])


def test_driver_that_revokes_releases_to_nobody_or_to_who_waits() -> None:
    turn = turn_of(OWNER, BOB)
    assert turn.revoked("a1", 1.0) is None
    assert (turn.driver, acts(turn)) == (None, [Act.RELEASED])
    turn.requested("b1", 2.0)
    turn.joined(CYD, 2.0)
    turn.requested("c1", 3.0)
    assert turn.revoked("b1", 4.0) is None
    assert (turn.driver, acts(turn)) == (CYD, [Act.GRANTED, Act.RELEASED, Act.GRANTED])


def test_owner_that_revokes_takes_control_back() -> None:
    turn = turn_of(BOB, creator="bob")
    turn.joined(OWNER, 1.0)
    assert turn.revoked("a1", 2.0) is None
    assert (turn.driver, acts(turn)) == (OWNER, [Act.TAKEN])


def test_who_waits_withdraws_by_revoking_and_by_leaving() -> None:
    turn = turn_of(OWNER, BOB, CYD)
    turn.requested("b1", 1.0)
    turn.requested("c1", 1.0)
    assert turn.revoked("b1", 2.0) is None
    turn.left("c1", 2.0)
    assert turn.waiting == ()
    assert code(turn.revoked("b1", 3.0)) == "not_driver"


def test_take_is_an_owners_and_a_request_from_anybody_else() -> None:
    turn = turn_of(BOB, CYD, creator="bob")
    assert turn.taken("c1", 1.0) is None
    assert (turn.driver, turn.waiting) == (BOB, (CYD,))
    turn.joined(OWNER, 2.0)
    assert turn.taken("a1", 3.0) is None
    assert (turn.driver, turn.waiting) == (OWNER, (CYD,))


def test_other_client_of_the_drivers_person_gets_control_when_it_asks() -> None:
    turn = turn_of(OWNER, PHONE)
    assert code(turn.typed("a2", 1.0)) == "not_driver"
    assert turn.requested("a2", 2.0) is None
    assert turn.driver == PHONE


def test_driver_back_within_the_grace_keeps_its_very_lease() -> None:
    turn = turn_of(OWNER, BOB)
    turn.left("a1", 5.0)
    assert (turn.deadline, turn.left_at) == (15.0, 5.0)
    assert turn.requested("b1", 6.0) is None
    turn.joined(OWNER, 14.9)
    assert (turn.driver, turn.epoch, turn.left_at, turn.waiting) == (OWNER, 1, None, (BOB,))


def test_grace_over_frees_the_terminal_even_when_nobody_ticked() -> None:
    turn = turn_of(OWNER, BOB)
    turn.left("a1", 5.0)
    assert turn.typed("b1", 15.0) is None
    assert (turn.driver, acts(turn)) == (BOB, [Act.LAPSED, Act.GRANTED])
    turn.joined(OWNER, 16.0)
    assert turn.driver == BOB


def test_grace_over_with_nobody_waiting_leaves_no_driver() -> None:
    turn = turn_of(OWNER, BOB)
    turn.left("a1", 5.0)
    turn.tick(14.9)
    assert turn.driver == OWNER
    turn.tick(15.0)
    assert (driver(turn), turn.deadline, acts(turn)) == (None, None, [Act.LAPSED])


def test_same_persons_other_client_gets_control_within_the_grace_only_by_asking() -> None:
    turn = turn_of(OWNER)
    turn.left("a1", 5.0)
    turn.joined(PHONE, 6.0)
    assert turn.driver == OWNER
    assert turn.requested("a2", 7.0) is None
    assert (turn.driver, turn.left_at) == (PHONE, None)
    turn.joined(OWNER, 8.0)
    assert turn.driver == PHONE


def test_driver_that_comes_back_as_a_viewer_has_released() -> None:
    turn = turn_of(OWNER)
    turn.joined(Party("ann", "Ann", "a1", Role.VIEWER), 1.0)
    assert turn.driver is None


def test_idle_driver_loses_control_only_while_somebody_waits() -> None:
    turn = turn_of(OWNER, BOB)
    turn.typed("a1", 10.0)
    turn.tick(10 * IDLE_SECONDS)
    assert (turn.driver, turn.deadline) == (OWNER, None)
    assert turn.requested("b1", 10 * IDLE_SECONDS) is None
    assert (turn.driver, acts(turn)) == (BOB, [Act.IDLED, Act.GRANTED])


def test_driver_that_types_keeps_control_from_those_who_wait() -> None:
    turn = turn_of(OWNER, BOB)
    turn.requested("b1", 1.0)
    turn.typed("a1", 800.0)
    assert turn.deadline == 800.0 + IDLE_SECONDS
    turn.tick(IDLE_SECONDS + 1)
    assert turn.driver == OWNER


def test_client_id_of_another_principal_cannot_be_used_while_it_counts() -> None:
    thief = Party("bob", "Bob", "a1", Role.CONTROLLER)
    turn = turn_of(OWNER)
    turn.left("a1", 1.0)
    assert turn.claimed("a1", "bob")
    with pytest.raises(ValueError, match="another principal"):
        turn.joined(thief, 2.0)
    turn.tick(11.0)
    assert not turn.claimed("a1", "bob")


def test_agent_takes_without_asking_and_the_driver_types_again_when_it_yields() -> None:
    turn = turn_of(OWNER)
    turn.agent_took("codex")
    turn.agent_took("codex")
    assert code(turn.typed("a1", 1.0)) == "agent_running"
    assert turn.driver == OWNER
    turn.agent_yielded()
    turn.agent_yielded()
    assert turn.typed("a1", 2.0) is None
    assert acts(turn) == [Act.AGENT_TOOK, Act.AGENT_YIELDED]


def test_strangers_can_do_nothing() -> None:
    turn = turn_of(OWNER)
    for refusal in (
        turn.requested("zz", 1.0),
        turn.granted("zz", None, 1.0),
        turn.revoked("zz", 1.0),
        turn.taken("zz", 1.0),
        turn.typed("zz", 1.0),
    ):
        assert code(refusal) == "not_attached"
    turn.left("zz", 1.0)
    assert turn.driver == OWNER


PARTIES = {party.client: party for party in (OWNER, PHONE, BOB, CYD, EVE)}
CLIENTS = st.sampled_from(sorted(PARTIES))
NAMES = st.sampled_from([None, "ann", "bob", "cyd", "eve", "a2", "b1", "nobody"])


class Turns(RuleBasedStateMachine):
    """Any stimuli in any order, beside a plain account of who is there and since when."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = Turn("bob")
        self.now = 0.0
        self.here: set[str] = set()
        self.left_at: dict[str, float] = {}
        self.epoch = 0
        self.lease: tuple[int, str | None] = (0, None)

    @rule(seconds=st.floats(0, 8))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(seconds=st.floats(0, 2000))
    def wait_long_with_a_tick(self, seconds: float) -> None:
        self.now += seconds
        self.turn.tick(self.now)

    @rule(client=CLIENTS)
    def join(self, client: str) -> None:
        self.turn.joined(PARTIES[client], self.now)
        self.here.add(client)
        self.left_at.pop(client, None)

    @precondition(lambda self: self.here)
    @rule(client=CLIENTS)
    def leave(self, client: str) -> None:
        self.turn.left(client, self.now)
        if client in self.here:
            self.here.discard(client)
            self.left_at[client] = self.now

    @rule(client=CLIENTS, verb=st.sampled_from(["requested", "revoked", "taken"]))
    def ask(self, client: str, verb: str) -> None:
        getattr(self.turn, verb)(client, self.now)

    @rule(client=CLIENTS, to=NAMES)
    def grant(self, client: str, to: str | None) -> None:
        was = self.turn.driver
        refusal = self.turn.granted(client, to, self.now)
        if was is not None and was.client != client and PARTIES[client].role is not Role.OWNER:
            assert refusal is not None

    @rule(client=CLIENTS)
    def type(self, client: str) -> None:
        self.turn.tick(self.now)
        before, agent = self.turn.driver, self.turn.agent
        accepted = self.turn.typed(client, self.now) is None
        if accepted:
            assert client in self.here
            assert agent is None
            assert before is None or before.client == client
            assert self.turn.drives(client)
        else:
            assert self.turn.driver == before

    @rule(took=st.booleans())
    def agent(self, took: bool) -> None:
        if took:
            self.turn.agent_took("codex")
        else:
            self.turn.agent_yielded()

    @invariant()
    def only_one_who_may_drives_and_only_while_attached_or_in_its_grace(self) -> None:
        self.turn.tick(self.now)
        driver = self.turn.driver
        if driver is None:
            assert self.turn.waiting == ()
            return
        assert driver.role is not Role.VIEWER
        if driver.client not in self.here:
            assert self.now < self.left_at[driver.client] + GRACE_SECONDS
            assert self.turn.left_at == self.left_at[driver.client]
        assert driver not in self.turn.waiting
        assert {party.client for party in self.turn.waiting} <= self.here

    @invariant()
    def epoch_grows_with_every_lease_and_never_goes_back(self) -> None:
        changes = self.turn.drain()
        assert [change.epoch for change in changes] == list(
            range(self.epoch + 1, self.turn.epoch + 1)
        )
        self.epoch = self.turn.epoch
        driver = None if self.turn.driver is None else self.turn.driver.client
        if driver != self.lease[1]:
            assert self.turn.epoch > self.lease[0]
        self.lease = (self.turn.epoch, driver)


Turns.TestCase.settings = settings(max_examples=examples(40), stateful_step_count=40)
test_turn_under_any_stimuli_keeps_its_promises = Turns.TestCase


def test_driver_uses_the_terminal_for_a_minute_after_a_key() -> None:
    turn = Turn()
    assert not turn.in_use(0.0)
    turn.joined(OWNER, 0.0)
    assert turn.in_use(USING_SECONDS - 1) and not turn.in_use(USING_SECONDS)
    turn.typed(OWNER.client, 100.0)
    assert turn.in_use(100.0 + USING_SECONDS - 1) and not turn.in_use(100.0 + USING_SECONDS)
