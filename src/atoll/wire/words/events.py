"""Words and bounds of the event log."""

from enum import StrEnum
from typing import Final

MAX_POSITION: Final = 2**53
"""The largest position: every number up to it is exact in JSON."""

MAX_STREAM_NAME: Final = 300


class ActorKind(StrEnum):
    """The three kinds of actor of the design."""

    PERSON = "adm"
    AGENT = "agt"
    AUTOMATION = "atm"
