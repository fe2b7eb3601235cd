"""The exchange machine: each stimulus in each phase, without sockets or a clock."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.runtime.doors.broker.machine.phases import (
    SENT_REQUEST,
    UNSENT_REQUEST,
    ClientEnding,
    Ending,
    ExchangePhases,
    ExchangeStimulus,
    Flush,
    RequestPhase,
    ResponsePhase,
    step,
)

HEAD_ACCEPTED = ExchangeStimulus.HEAD_ACCEPTED
SWITCH_ACCEPTED = ExchangeStimulus.SWITCH_ACCEPTED
RESPONSE_ENDED = ExchangeStimulus.RESPONSE_ENDED
UPSTREAM_LOST = ExchangeStimulus.UPSTREAM_LOST
CUT, CLIENT_LOST = ExchangeStimulus.CUT, ExchangeStimulus.CLIENT_LOST
REFUSED, REPLACED = ExchangeStimulus.REFUSED, ExchangeStimulus.REPLACED
AWAITED, ENDED = ResponsePhase.AWAITED, ResponsePhase.ENDED
STIMULI = st.lists(st.sampled_from(ExchangeStimulus))
REPLY = Ending(Flush.NOTHING, "", ClientEnding.REPLY)
DROPPED = Ending(Flush.BUFFERED, "", ClientEnding.DROP)
CUT_SHORT = Ending(Flush.BUFFERED, "cut_short", ClientEnding.DROP)


def after(*stimuli: ExchangeStimulus, phases: ExchangePhases = UNSENT_REQUEST) -> ExchangePhases:
    for stimulus in stimuli:
        phases, _ = step(phases, stimulus)
    return phases


@pytest.mark.parametrize(
    ("before", "stimulus", "ending"),
    [
        ((), UPSTREAM_LOST, REPLY),
        ((), REFUSED, REPLY),
        ((), REPLACED, REPLY),
        ((), CUT, DROPPED),
        ((), RESPONSE_ENDED, CUT_SHORT),
        ((), CLIENT_LOST, Ending(Flush.NOTHING, "client_gone", ClientEnding.NOTHING)),
        ((HEAD_ACCEPTED,), RESPONSE_ENDED, Ending(Flush.COMPLETE, "passed", ClientEnding.END)),
        ((HEAD_ACCEPTED,), UPSTREAM_LOST, CUT_SHORT),
        ((HEAD_ACCEPTED,), REFUSED, DROPPED),
        ((HEAD_ACCEPTED,), REPLACED, DROPPED),
        (
            (HEAD_ACCEPTED,),
            CLIENT_LOST,
            Ending(Flush.NOTHING, "client_gone", ClientEnding.NOTHING),
        ),
        ((SWITCH_ACCEPTED,), RESPONSE_ENDED, Ending(Flush.COMPLETE, "passed", ClientEnding.DROP)),
        ((SWITCH_ACCEPTED,), UPSTREAM_LOST, CUT_SHORT),
        ((SWITCH_ACCEPTED,), CUT, DROPPED),
        ((SWITCH_ACCEPTED,), CLIENT_LOST, Ending(Flush.NOTHING, "passed", ClientEnding.NOTHING)),
    ],
)
def test_stimulus_that_ends_an_exchange_says_how(
    before: tuple[ExchangeStimulus, ...], stimulus: ExchangeStimulus, ending: Ending
) -> None:
    phases, found = step(after(*before), stimulus)
    assert found == ending
    assert (phases.request, phases.response) == (RequestPhase.BODY, ENDED)


@pytest.mark.parametrize(
    ("stimulus", "phase"),
    [(HEAD_ACCEPTED, ResponsePhase.STREAMING), (SWITCH_ACCEPTED, ResponsePhase.SWITCHED)],
)
def test_accepted_head_begins_the_response(
    stimulus: ExchangeStimulus, phase: ResponsePhase
) -> None:
    phases, ending = step(UNSENT_REQUEST, stimulus)
    assert (phases.request, phases.response, ending) == (RequestPhase.BODY, phase, None)


@pytest.mark.parametrize(("start", "reuse"), [(UNSENT_REQUEST, False), (SENT_REQUEST, True)])
def test_connection_is_reused_only_after_a_complete_request(
    start: ExchangePhases, reuse: bool
) -> None:
    _, ending = step(after(HEAD_ACCEPTED, phases=start), RESPONSE_ENDED)
    assert ending is not None
    assert ending.reuse is reuse


@given(STIMULI)
def test_exchange_ends_once_whatever_happens(stimuli: list[ExchangeStimulus]) -> None:
    phases, ended = UNSENT_REQUEST, False
    for stimulus in stimuli:
        phases, ending = step(phases, stimulus)
        assert not (ended and ending)
        ended = ended or ending is not None
        assert ended is (phases.response is ENDED)


@given(STIMULI)
def test_own_response_is_never_sent_behind_a_head_of_the_upstream(
    stimuli: list[ExchangeStimulus],
) -> None:
    phases = UNSENT_REQUEST
    for stimulus in stimuli:
        begun = phases.response is not AWAITED
        phases, ending = step(phases, stimulus)
        assert not (begun and ending is not None and ending.client is ClientEnding.REPLY)
