"""The phases of a client's connection at the broker door: one request and its response at a time.

Pure: `step` takes the phases and a stimulus, and returns the new phases with the instructions to
perform. `inbound.Inbound` performs them. The content of requests is not known here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import partial
from itertools import product

from atoll.runtime.doors.broker.machine.phases import RequestPhase, ResponsePhase


class InputPhase(Enum):
    """The use of received bytes: parsed as requests, ignored, or passed on unparsed after a 101
    response."""

    PARSED = "parsed"
    IGNORED = "ignored"
    SWITCHED = "switched"


@dataclass(frozen=True, slots=True, eq=False)
class ClientPhases:
    """A combination of the phases of the current request, of its response, and of the input. Each
    combination is one object, so that a step creates none."""

    request: RequestPhase
    response: ResponsePhase
    input: InputPhase


class ClientStimulus(IntEnum):
    """An event that concerns the phases of a client's connection."""

    REQUEST_STARTED = 0
    """The next request became the current one, and its body is still coming."""
    COMPLETE_REQUEST_STARTED = 1
    """The next request became the current one, and its whole body came already."""
    REQUEST_ENDED = 2
    """The rest of the current request came."""
    LAST_REQUEST_ENDED = 3
    """The rest of the current request came, and its client expects no further response."""
    REPLY_ENDED = 4
    """The response to the current request was sent."""
    LAST_REPLY_ENDED = 5
    """The response was sent, and the client expects no further one."""
    CLOSING_REPLY_ENDED = 6
    """The response was sent, and ends with the connection."""
    REPLY_SWITCHED = 7
    """The response is a 101: no further byte is HTTP."""
    INPUT_BROKEN = 8
    """Bytes came that cannot be read as a request. No request waits for its turn."""
    LATER_INPUT_BROKEN = 9
    """Bytes came that cannot be read as a request, behind requests that wait for their turn."""
    UPGRADE_REQUESTED = 10
    """A head asked for another protocol."""
    UPGRADE_RUSHED = 11
    """A head asked for another protocol, and bytes of it came before the response."""


class ClientInstruction(Enum):
    """An action on the connection or on the current exchange."""

    END_BODY = "end the body of the current exchange"
    ADVANCE = "start the next request"
    READ_ON = "read the rest of an answered request"
    CLOSE = "close the connection after what was written"
    DROP = "close the connection at once"
    ABANDON = "end the current exchange, whose request is broken"
    WRITE_UNREADABLE = "write a 400 response"


Step = tuple[ClientPhases, tuple[ClientInstruction, ...]]

_PHASES: dict[tuple[RequestPhase, ResponsePhase, InputPhase], ClientPhases] = {
    (request, response, use): ClientPhases(request, response, use)
    for request, response, use in product(RequestPhase, ResponsePhase, InputPhase)
    if (request is not RequestPhase.IDLE or response is ResponsePhase.ENDED)
    and response is not ResponsePhase.STREAMING
    and (response is ResponsePhase.SWITCHED) is (use is InputPhase.SWITCHED)
}
"""The possible combinations: a response has a request, and streams in the exchange, not here."""

START = _PHASES[RequestPhase.IDLE, ResponsePhase.ENDED, InputPhase.PARSED]
"""The phases of a new connection."""


def step(phases: ClientPhases, stimulus: ClientStimulus) -> Step:
    """Return the phases after a stimulus and the instructions to perform, in order."""
    return _STEPS[phases][stimulus]


def _start(phases: ClientPhases, *, request: RequestPhase) -> Step:
    if phases.request is not RequestPhase.IDLE:
        return phases, ()
    return _PHASES[request, ResponsePhase.AWAITED, phases.input], ()


def _end_request(phases: ClientPhases, *, last: bool) -> Step:
    if phases.request is not RequestPhase.BODY:
        return phases, ()
    if phases.response is ResponsePhase.ENDED:
        return _leave(phases, last=last)
    complete = _PHASES[RequestPhase.COMPLETE, phases.response, phases.input]
    return complete, (ClientInstruction.END_BODY,)


def _end_reply(phases: ClientPhases, *, last: bool) -> Step:
    match phases.request:
        case RequestPhase.IDLE:
            return phases, ()
        case RequestPhase.BODY:
            # A client that still sends may not read yet, so the rest is read before anything else.
            return _answer(phases, RequestPhase.BODY), (ClientInstruction.READ_ON,)
        case RequestPhase.COMPLETE:
            return _leave(phases, last=last)


def _leave(phases: ClientPhases, *, last: bool) -> Step:
    """Leave a current request that is complete and answered."""
    if last:
        return _answer(phases, RequestPhase.COMPLETE), (ClientInstruction.CLOSE,)
    return _answer(phases, RequestPhase.IDLE), (ClientInstruction.ADVANCE,)


def _close(phases: ClientPhases) -> Step:
    if phases.request is RequestPhase.IDLE:
        return phases, ()
    return _answer(phases, phases.request), (ClientInstruction.CLOSE,)


def _answer(phases: ClientPhases, request: RequestPhase) -> ClientPhases:
    """Return the phases after a response. Bytes behind another protocol are not HTTP either."""
    switched = phases.input is InputPhase.SWITCHED
    use = InputPhase.IGNORED if switched else phases.input
    return _PHASES[request, ResponsePhase.ENDED, use]


def _switch(phases: ClientPhases) -> Step:
    if phases.response is not ResponsePhase.AWAITED:
        return phases, ()
    return _PHASES[phases.request, ResponsePhase.SWITCHED, InputPhase.SWITCHED], ()


def _break(phases: ClientPhases, *, waiting: bool) -> Step:
    """Ignore all further input. Requests before it are still answered."""
    if phases.input is not InputPhase.PARSED:
        return phases, ()
    answered = phases.response is ResponsePhase.ENDED
    match phases.request:
        case RequestPhase.BODY:
            idle = _PHASES[RequestPhase.IDLE, ResponsePhase.ENDED, InputPhase.IGNORED]
            abandon = (ClientInstruction.ABANDON,)
            return idle, abandon if answered else (*abandon, ClientInstruction.WRITE_UNREADABLE)
        case RequestPhase.IDLE if not waiting:
            ignored = _PHASES[RequestPhase.IDLE, phases.response, InputPhase.IGNORED]
            return ignored, (ClientInstruction.WRITE_UNREADABLE,)
        case RequestPhase.IDLE | RequestPhase.COMPLETE:
            return _PHASES[phases.request, phases.response, InputPhase.IGNORED], ()


def _ignore(phases: ClientPhases, *, rushed: bool) -> Step:
    """Ignore bytes of another protocol, to which no response has agreed."""
    if phases.input is not InputPhase.PARSED:
        return phases, ()
    ignored = _PHASES[phases.request, phases.response, InputPhase.IGNORED]
    drops = rushed and phases.response is ResponsePhase.AWAITED
    return ignored, ((ClientInstruction.DROP,) if drops else ())


_RULES: dict[ClientStimulus, Callable[[ClientPhases], Step]] = {
    ClientStimulus.REQUEST_STARTED: partial(_start, request=RequestPhase.BODY),
    ClientStimulus.COMPLETE_REQUEST_STARTED: partial(_start, request=RequestPhase.COMPLETE),
    ClientStimulus.REQUEST_ENDED: partial(_end_request, last=False),
    ClientStimulus.LAST_REQUEST_ENDED: partial(_end_request, last=True),
    ClientStimulus.REPLY_ENDED: partial(_end_reply, last=False),
    ClientStimulus.LAST_REPLY_ENDED: partial(_end_reply, last=True),
    ClientStimulus.CLOSING_REPLY_ENDED: _close,
    ClientStimulus.REPLY_SWITCHED: _switch,
    ClientStimulus.INPUT_BROKEN: partial(_break, waiting=False),
    ClientStimulus.LATER_INPUT_BROKEN: partial(_break, waiting=True),
    ClientStimulus.UPGRADE_REQUESTED: partial(_ignore, rushed=False),
    ClientStimulus.UPGRADE_RUSHED: partial(_ignore, rushed=True),
}
_STEPS = {
    phases: tuple(_RULES[stimulus](phases) for stimulus in ClientStimulus)
    for phases in _PHASES.values()
}
"""Each step, made once: a look-up costs a fraction of deciding anew."""
