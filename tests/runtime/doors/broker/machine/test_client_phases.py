"""The client machine: any order of stimuli keeps what a connection must never do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.runtime.doors.broker.machine.client_phases import (
    START,
    ClientInstruction,
    ClientPhases,
    ClientStimulus,
    InputPhase,
    step,
)
from atoll.runtime.doors.broker.machine.phases import RequestPhase, ResponsePhase

Stimulus, Instruction = ClientStimulus, ClientInstruction
STIMULI = st.lists(st.sampled_from(ClientStimulus))


def run(*stimuli: ClientStimulus) -> tuple[ClientPhases, list[ClientInstruction]]:
    phases, done = START, list[ClientInstruction]()
    for stimulus in stimuli:
        phases, instructions = step(phases, stimulus)
        done += instructions
    return phases, done


@pytest.mark.parametrize(
    ("stimuli", "instructions"),
    [
        ([Stimulus.COMPLETE_REQUEST_STARTED, Stimulus.REPLY_ENDED], [Instruction.ADVANCE]),
        ([Stimulus.COMPLETE_REQUEST_STARTED, Stimulus.LAST_REPLY_ENDED], [Instruction.CLOSE]),
        ([Stimulus.COMPLETE_REQUEST_STARTED, Stimulus.CLOSING_REPLY_ENDED], [Instruction.CLOSE]),
        (
            [Stimulus.REQUEST_STARTED, Stimulus.REQUEST_ENDED, Stimulus.REPLY_ENDED],
            [Instruction.END_BODY, Instruction.ADVANCE],
        ),
        (
            [Stimulus.REQUEST_STARTED, Stimulus.REPLY_ENDED, Stimulus.REQUEST_ENDED],
            [Instruction.READ_ON, Instruction.ADVANCE],
        ),
        (
            [Stimulus.REQUEST_STARTED, Stimulus.REPLY_ENDED, Stimulus.LAST_REQUEST_ENDED],
            [Instruction.READ_ON, Instruction.CLOSE],
        ),
        ([Stimulus.INPUT_BROKEN], [Instruction.WRITE_UNREADABLE]),
        ([Stimulus.LATER_INPUT_BROKEN], []),
        (
            [Stimulus.REQUEST_STARTED, Stimulus.INPUT_BROKEN],
            [Instruction.ABANDON, Instruction.WRITE_UNREADABLE],
        ),
        (
            [Stimulus.REQUEST_STARTED, Stimulus.REPLY_ENDED, Stimulus.INPUT_BROKEN],
            [Instruction.READ_ON, Instruction.ABANDON],
        ),
        ([Stimulus.COMPLETE_REQUEST_STARTED, Stimulus.INPUT_BROKEN], []),
        ([Stimulus.COMPLETE_REQUEST_STARTED, Stimulus.UPGRADE_REQUESTED], []),
        (
            [Stimulus.COMPLETE_REQUEST_STARTED, Stimulus.UPGRADE_RUSHED],
            [Instruction.DROP],
        ),
    ],
)
def test_stimuli_give_their_instructions_in_order(
    stimuli: list[ClientStimulus], instructions: list[ClientInstruction]
) -> None:
    assert run(*stimuli)[1] == instructions


@given(STIMULI)
def test_input_that_was_given_up_is_never_parsed_again(stimuli: list[ClientStimulus]) -> None:
    phases = START
    for stimulus in stimuli:
        before = phases
        phases, _ = step(phases, stimulus)
        if before.input is not InputPhase.PARSED:
            assert phases.input is not InputPhase.PARSED


@given(STIMULI)
def test_next_request_starts_only_behind_a_complete_one_that_was_answered(
    stimuli: list[ClientStimulus],
) -> None:
    phases = START
    for stimulus in stimuli:
        phases, instructions = step(phases, stimulus)
        if ClientInstruction.ADVANCE in instructions:
            assert phases.request is RequestPhase.IDLE
        if phases.request is RequestPhase.IDLE:
            assert phases.response is ResponsePhase.ENDED


@given(STIMULI)
def test_bytes_are_passed_on_unparsed_only_while_a_switched_response_lasts(
    stimuli: list[ClientStimulus],
) -> None:
    phases, _ = run(*stimuli)
    switched = phases.response is ResponsePhase.SWITCHED
    assert switched is (phases.input is InputPhase.SWITCHED)
