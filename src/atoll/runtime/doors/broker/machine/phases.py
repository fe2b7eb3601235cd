"""The phases of a request and its response at the broker door, and the end of an exchange.

Pure: `step` takes the phases and a stimulus, and returns the new phases with the ending, if the
exchange ends. `exchange.Exchange` performs it. Bytes, sockets and keys are not known here.
"""

from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from itertools import product


class RequestPhase(Enum):
    """The progress of a request. Between two requests of a connection it is `IDLE`."""

    IDLE = "idle"
    BODY = "body"
    COMPLETE = "complete"


class ResponsePhase(Enum):
    """The progress of a response. After a 101 response both sides speak another protocol."""

    AWAITED = "awaited"
    STREAMING = "streaming"
    SWITCHED = "switched"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, eq=False)
class ExchangePhases:
    """A combination of phases. Each combination is one object, so that a step creates none."""

    request: RequestPhase
    response: ResponsePhase


class ExchangeStimulus(IntEnum):
    """An event that concerns the phases of an exchange."""

    REQUEST_ENDED = 0
    """The client sent the whole request."""
    HEAD_ACCEPTED = 1
    """The upstream's response head was checked and accepted."""
    SWITCH_ACCEPTED = 2
    """A response head of status 101 was checked and accepted."""
    RESPONSE_ENDED = 3
    """The upstream sent the whole response, or ended a switched connection."""
    UPSTREAM_LOST = 4
    """The upstream connection broke or stalled."""
    REFUSED = 5
    """The exchange must not go on."""
    REPLACED = 6
    """The door answers in place of the upstream: a refused push in git's own format."""
    CUT = 7
    """The exchange must end at once, without a response of the door's own."""
    CLIENT_LOST = 8
    """The client hung up."""


class Flush(Enum):
    """The bytes of a response that are sent when the exchange ends."""

    NOTHING = "nothing"
    BUFFERED = "what is buffered"
    COMPLETE = "what is buffered, and the last chunk"


class ClientEnding(Enum):
    """The end of a response on the client's connection."""

    NOTHING = "the client is gone"
    REPLY = "a response of the door's own"
    END = "the response is complete"
    DROP = "the connection is closed, since nothing else can say that a response is incomplete"


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of an exchange: the bytes to flush, the outcome to record, the upstream connection to
    release, which `reuse` keeps open, and the client's connection, in this order. The stimulus
    gives an outcome that is empty here."""

    flush: Flush
    outcome: str
    client: ClientEnding
    reuse: bool = False


Step = tuple[ExchangePhases, Ending | None]

_REPLY = Ending(Flush.NOTHING, "", ClientEnding.REPLY)
_CUT = Ending(Flush.BUFFERED, "", ClientEnding.DROP)
_CUT_SHORT = Ending(Flush.BUFFERED, "cut_short", ClientEnding.DROP)
_CLIENT_GONE = Ending(Flush.NOTHING, "client_gone", ClientEnding.NOTHING)
_ENDINGS: dict[ResponsePhase, dict[ExchangeStimulus, Ending]] = {
    # Until a head was accepted, the door can still send a response of its own.
    ResponsePhase.AWAITED: {
        ExchangeStimulus.RESPONSE_ENDED: _CUT_SHORT,
        ExchangeStimulus.UPSTREAM_LOST: _REPLY,
        ExchangeStimulus.REFUSED: _REPLY,
        ExchangeStimulus.REPLACED: _REPLY,
        ExchangeStimulus.CUT: _CUT,
        ExchangeStimulus.CLIENT_LOST: _CLIENT_GONE,
    },
    ResponsePhase.STREAMING: {
        ExchangeStimulus.RESPONSE_ENDED: Ending(Flush.COMPLETE, "passed", ClientEnding.END, True),
        ExchangeStimulus.UPSTREAM_LOST: _CUT_SHORT,
        ExchangeStimulus.REFUSED: _CUT,
        ExchangeStimulus.REPLACED: _CUT,
        ExchangeStimulus.CUT: _CUT,
        ExchangeStimulus.CLIENT_LOST: _CLIENT_GONE,
    },
    # Another protocol ends in order when either side hangs up.
    ResponsePhase.SWITCHED: {
        ExchangeStimulus.RESPONSE_ENDED: Ending(Flush.COMPLETE, "passed", ClientEnding.DROP),
        ExchangeStimulus.UPSTREAM_LOST: _CUT_SHORT,
        ExchangeStimulus.REFUSED: _CUT,
        ExchangeStimulus.REPLACED: _CUT,
        ExchangeStimulus.CUT: _CUT,
        ExchangeStimulus.CLIENT_LOST: Ending(Flush.NOTHING, "passed", ClientEnding.NOTHING),
    },
    ResponsePhase.ENDED: {},
}
_ACCEPTED = {
    ExchangeStimulus.HEAD_ACCEPTED: ResponsePhase.STREAMING,
    ExchangeStimulus.SWITCH_ACCEPTED: ResponsePhase.SWITCHED,
}
_PHASES = {
    (request, response): ExchangePhases(request, response)
    for request, response in product((RequestPhase.BODY, RequestPhase.COMPLETE), ResponsePhase)
}
UNSENT_REQUEST = _PHASES[RequestPhase.BODY, ResponsePhase.AWAITED]
"""The phases of a new exchange whose request has a body."""
SENT_REQUEST = _PHASES[RequestPhase.COMPLETE, ResponsePhase.AWAITED]
"""The phases of a new exchange whose request has no body."""


def step(phases: ExchangePhases, stimulus: ExchangeStimulus) -> Step:
    """Return the phases after a stimulus, and the ending when the exchange ends with it. After
    that only the end of the request changes the phases."""
    return _STEPS[phases][stimulus]


def _make_step(phases: ExchangePhases, stimulus: ExchangeStimulus) -> Step:
    request, response = phases.request, phases.response
    if stimulus is ExchangeStimulus.REQUEST_ENDED:
        return _PHASES[RequestPhase.COMPLETE, response], None
    if response is ResponsePhase.AWAITED and stimulus in _ACCEPTED:
        return _PHASES[request, _ACCEPTED[stimulus]], None
    ending = _ENDINGS[response].get(stimulus)
    if ending is None:
        return phases, None
    if request is not RequestPhase.COMPLETE:
        # An upstream that answered early may still read the rest of this request.
        ending = replace(ending, reuse=False)
    return _PHASES[request, ResponsePhase.ENDED], ending


_STEPS = {
    phases: tuple(_make_step(phases, stimulus) for stimulus in ExchangeStimulus)
    for phases in _PHASES.values()
}
"""Each step, made once: a look-up costs a fraction of deciding anew."""
