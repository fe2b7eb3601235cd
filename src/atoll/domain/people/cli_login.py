"""Logins of a command line: a person confirms on the page the code that both show. Pure.

As the device grant of OAuth does (RFC 8628), with a personal access token at its end.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from atoll.domain.errors import LimitReached
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.person import printable_agent
from atoll.domain.people.rate_limit import client_block

LIFE = timedelta(minutes=10)
POLL_SECONDS = 2
MAX_PENDING = 300
"""The logins that wait at once. They cost nothing to begin, so that is bounded."""

MAX_OF_CLIENT = 30
"""The logins of one client's addresses that wait at once."""

CODE_BYTES = 8
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""Without vowels, no code is a word (RFC 8628 §6.1)."""


@dataclass(frozen=True, slots=True)
class CliLogin:
    """A login that waits. `mark` is the fingerprint of the secret that the command line holds;
    `address` and `machine` say where it runs. Once confirmed it has a `person` of `org_id`."""

    mark: str
    code: str
    address: str
    machine: str
    expires_at: datetime
    org_id: OrgId = OrgId("")  # noqa: RUF009 - a text
    person: PrincipalId = PrincipalId("")  # noqa: RUF009 - a text

    @property
    def confirmed(self) -> bool:
        """True once a person has confirmed it."""
        return self.person != ""


def spell_code(entropy: bytes) -> str:
    """Return a code of 8 letters for people (`BCDF-GHJK`); `entropy` is 8 random bytes."""
    letters = "".join(_LETTERS[byte % len(_LETTERS)] for byte in entropy[:CODE_BYTES])
    return f"{letters[:4]}-{letters[4:]}"


def read_code(text: str) -> str:
    """Return a code as it is stored, however a person typed it."""
    letters = "".join(char for char in text.upper() if char in _LETTERS)
    return f"{letters[:4]}-{letters[4:8]}"


def printable_machine(text: str) -> str:
    """Return the name of a machine, as it may be shown."""
    return printable_agent(text)[:60] or "a command line"


def find_displaced(waiting: Sequence[CliLogin], address: str) -> CliLogin | None:
    """Return the login that gives way to a new one from `address`, None where there is room.

    Past the bound of all it is the oldest unconfirmed one of the client that has most of them, so
    that whoever fills the bound keeps nobody else out. Raises `LimitReached` past the bound of a
    client, and where a person has confirmed all that wait.
    """
    blocks = Counter(client_block(one.address) for one in waiting)
    full = "Too many logins wait to be confirmed: try again in a while."
    if blocks[client_block(address)] >= MAX_OF_CLIENT:
        raise LimitReached(full)
    if len(waiting) < MAX_PENDING:
        return None
    open_ones = [one for one in waiting if not one.confirmed]
    if not open_ones:
        raise LimitReached(full)
    return min(open_ones, key=lambda one: (-blocks[client_block(one.address)], one.expires_at))
