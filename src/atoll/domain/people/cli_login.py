"""Logins of a command line: a person confirms on the page the code that both show. Pure.

As the device grant of OAuth does (RFC 8628), with a personal access token at its end.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.person import shown_agent

LIFE = timedelta(minutes=10)
POLL_SECONDS = 2
MAX_PENDING = 300
"""The logins that wait at once. They cost nothing to begin, so that is bounded."""

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


def shown_machine(text: str) -> str:
    """Return the name of a machine, as it may be shown."""
    return shown_agent(text)[:60] or "a command line"
