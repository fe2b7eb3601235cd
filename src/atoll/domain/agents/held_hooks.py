"""Hooks that wait for an answer: the question lies in a file inside, the answer comes by a pipe.

Claude Code shows its dialog while the hook of a `PermissionRequest` waits: whoever answers first
wins. A hook that prints nothing leaves the dialog alone. Its name, and nothing else, goes to the
agent's report pipe; anybody inside can write one, so a name leads nowhere but beside that pipe.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from atoll.domain.agents.lenient_json import Message
from atoll.domain.agents.terminal_question import TerminalQuestion

MAX_QUESTION_BYTES: Final = 256 * 1024
MAX_HELD: Final = 8
"""The questions of one agent that wait at a time: more are answered at the terminal."""
HOLD_SECONDS: Final = 7 * 24 * 3600
"""The longest time that a hook waits."""

HOLD_COMMAND: Final = (
    '[ -p "$ATOLL_EAR" ] || exit 0; umask 077; '
    'd=$(mktemp -d "$ATOLL_EAR.XXXXXXXXXX") || exit 0; n=${d##*.}; '
    'trap \'rm -rf "$d"; echo "gone $n" 1<>"$ATOLL_EAR"\' EXIT; '
    "trap 'kill \"$!\"; exit 0' HUP INT TERM; "
    f'head -c {MAX_QUESTION_BYTES} >"$d/question"; mkfifo "$d/answer" || exit 0; '
    'printf \'%s\\nheld %s\\n\' "$(head -c 1500 "$d/question" | tr -d \'\\n\')" "$n" '
    '1<>"$ATOLL_EAR"; cat <"$d/answer" & wait "$!"'
)
"""The command of a hook that waits. It sends what other hooks send, then its name, and prints what
comes by its pipe. A signal ends it at once: a shell would wait for `cat` otherwise."""

RELAY_SCRIPT: Final = (
    f'exec 3>"$1/answer"; head -c {MAX_QUESTION_BYTES} "$1/question" | tr -d \'\\n\'; echo; '
    "head -n 1 >&3"
)
"""A program beside the hook: it prints the question, and passes one line on as the answer. Its end
without one ends the hook in silence."""

_SIGN = re.compile(r"(held|gone) ([A-Za-z0-9]{6,20})\Z")


class HoldPhase(StrEnum):
    """The phase of a hook that waits."""

    HELD = "held"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class HoldSign:
    """The sign of a hook that waits, or has ended."""

    phase: HoldPhase
    name: str


class HeldQuestions(Protocol):
    """The reader of the questions that one agent's hooks wait with. No method raises: the JSON may
    be anything."""

    def read(self, card_id: str, message: Message) -> TerminalQuestion | None:
        """Return the question in what a hook was given; None where it cannot be answered so."""
        ...

    def reply(self, message: Message, question: TerminalQuestion) -> Mapping[str, object]:
        """Return what the hook prints for a question that is answered."""
        ...

    def settles(self, message: Message, line: str) -> bool:
        """Report whether a later hook's line shows that the question was answered."""
        ...


def read_sign(line: str) -> HoldSign | None:
    """Return the sign in a line of a report pipe; None for any other line."""
    sign = _SIGN.match(line)
    return None if sign is None else HoldSign(HoldPhase(sign[1]), sign[2])
